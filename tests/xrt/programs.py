"""Small programs for the runner, and what the fake device does for each of their dispatches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aiepipe.program import (
    Access,
    Artifact,
    Binding,
    Buffer,
    BufferKind,
    BufferSlice,
    CallingConvention,
    Command,
    Dispatch,
    DispatchCommand,
    HostFunction,
    Program,
    Result,
    SourceLocation,
    SourceModule,
    TensorType,
)
from aiepipe.xrt.silicon import DeviceMemory

from .fake_silicon import FakeSilicon, fake_stream, fake_xclbin

HERE = SourceLocation("seed.mlir", 1, 1)
A_TYPE, B_TYPE, C_TYPE = TensorType((64, 16), "i32"), TensorType((16, 64), "i32"), TensorType((64, 64), "i32")

Int32 = npt.NDArray[np.int32]


def load(memory: DeviceMemory, address: int, shape: Sequence[int]) -> Int32:
    count = int(np.prod(shape))
    return memory.read(address, 4 * count).view(np.int32).reshape(shape)


def store(memory: DeviceMemory, address: int, array: Int32) -> None:
    memory.write(address, np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def filled_matmul(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """C = 7 + A @ B, the seed's dispatch."""
    a, b, c = addresses[:3]
    store(memory, c, load(memory, a, (64, 16)) @ load(memory, b, (16, 64)) + np.int32(7))


def accumulate(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """C = C + A @ B: C is read and written."""
    a, b, c = addresses[:3]
    store(memory, c, load(memory, a, (64, 16)) @ load(memory, b, (16, 64)) + load(memory, c, (64, 64)))


def two_outputs(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """Doubles and negates 64 numbers."""
    values = load(memory, addresses[0], (64,))
    store(memory, addresses[1], values * np.int32(2))
    store(memory, addresses[2], -values)


def add_one(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """Adds 1 to each of four numbers."""
    store(memory, addresses[1], load(memory, addresses[0], (4,)) + np.int32(1))


def silicon() -> FakeSilicon:
    return FakeSilicon(
        {
            "filled_matmul": filled_matmul,
            "accumulate": accumulate,
            "two_outputs": two_outputs,
            "add_one": add_one,
        }
    )


def artifact(dispatch: Dispatch, *, convention: CallingConvention = CallingConvention.TXN) -> Artifact:
    used = range(len(dispatch.bindings))
    return Artifact(
        dispatch=dispatch.name,
        entry=dispatch.name,
        kernel=dispatch.name,
        xclbin=fake_xclbin(dispatch.name, buffers=5, convention=convention.value),
        instructions=fake_stream(dispatch.name, used),
        bindings=dispatch.bindings,
        convention=convention,
        backend="fake",
        files={},
    )


def whole(name: str, kind: TensorType) -> BufferSlice:
    return BufferSlice(name, 0, kind.size_bytes)


def program_of(
    dispatches: Sequence[Dispatch],
    function: HostFunction,
    *,
    global_buffers: Sequence[Buffer] = (),
    startup: Sequence[Command] = (),
) -> tuple[Program, HostFunction, dict[str, Artifact]]:
    program = Program(
        SourceModule("seed.mlir", "", ()),
        tuple(dispatches),
        tuple(global_buffers),
        tuple(startup),
        (function,),
        compiler="none",
    )
    return program, function, {dispatch.name: artifact(dispatch) for dispatch in dispatches}


def seed_program() -> tuple[Program, HostFunction, dict[str, Artifact]]:
    """C = 7 + A @ B, 64x16 by 16x64, i32: one dispatch, its output is the result."""
    dispatch = Dispatch(
        "filled_matmul",
        (
            Binding(0, A_TYPE, Access.READ),
            Binding(1, B_TYPE, Access.READ),
            Binding(2, C_TYPE, Access.WRITE),
        ),
        (),
        "",
        HERE,
    )
    buffers = (
        Buffer("A", BufferKind.ARGUMENT, A_TYPE.size_bytes, argument=0),
        Buffer("B", BufferKind.ARGUMENT, B_TYPE.size_bytes, argument=1),
        Buffer("C", BufferKind.RESULT, C_TYPE.size_bytes),
    )
    run = DispatchCommand("filled_matmul", (whole("A", A_TYPE), whole("B", B_TYPE), whole("C", C_TYPE)), HERE)
    function = HostFunction(
        "main", (A_TYPE, B_TYPE), buffers, (run,), (Result(C_TYPE, whole("C", C_TYPE)),), HERE
    )
    return program_of([dispatch], function)


def seed_inputs() -> list[Int32]:
    """Ones and twos: 7 + 16 * 1 * 2 = 39 everywhere."""
    return [np.ones((64, 16), np.int32), np.full((16, 64), 2, np.int32)]
