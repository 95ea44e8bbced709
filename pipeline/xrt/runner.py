"""Runs a program, or a bare kernel, on a pyxrt-like device under a sync policy, as often as asked.

`run_program` executes what IREE made of a function: its host commands in order, its dispatches by their
artifacts. `run_kernel` runs one xclbin and instruction stream from anybody. Both give the results of
every repeat and the log of what the host did. Nothing is compared here, and nothing is returned from a
run that did not complete.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import UsageError
from ..program import (
    Access,
    Artifact,
    Binding,
    Buffer,
    BufferKind,
    BufferSlice,
    CpuKernel,
    Dispatch,
    DispatchCommand,
    HostFunction,
    Program,
    Result,
    SourceLocation,
    SourceModule,
    TensorType,
)
from .api import DeviceModule
from .child_device import ChildDevice
from .execution import Execution
from .policy import DEFAULT, SyncPolicy
from .results import POISON, Array, Repeat, RunOptions, RunResult
from .session import Session
from .silicon import InstructionStream, KernelImage, Silicon

__all__ = [
    "POISON",
    "BufferDirection",
    "KernelBuffer",
    "Repeat",
    "RunResult",
    "kernel_as_program",
    "run_kernel",
    "run_program",
]


def run_program(
    program: Program,
    function: HostFunction,
    artifacts: Mapping[str, Artifact],
    inputs: Sequence[Array],
    *,
    device: DeviceModule | ChildDevice,
    policy: SyncPolicy = DEFAULT,
    repeat: int = 1,
    seed: int | None = None,
    timeout_s: float | None = None,
    poison: bytes | None = POISON,
    keep: int = 1024,
    on_repeat: Callable[[Repeat], None] | None = None,
    poll_ms: int | None = None,
    cpu_kernels: Mapping[str, CpuKernel] | None = None,
) -> RunResult:
    """Runs `function` `repeat` times on `inputs` (one array per argument) and returns every result.

    `cpu_kernels` are dispatches that the host's CPU does, by name; all others need an artifact.

    `seed` restarts the emulated device's draws; hardware has no seed. `on_repeat` is called after each
    execution, with all of it. `device` may live in a child process. Raises UsageError (inputs that do not
    fit), DeviceError, RunFailed.
    """
    _check_inputs(function, inputs)
    options = RunOptions(policy, repeat, timeout_s, poison, keep, poll_ms)
    if isinstance(device, ChildDevice):
        return device.run_program(
            program,
            function,
            artifacts,
            inputs,
            options=options,
            seed=seed,
            on_repeat=on_repeat,
            cpu_kernels=cpu_kernels,
        )
    if seed is not None:
        reseed = getattr(device, "reseed", None)
        if reseed is not None:
            reseed(seed)
    with Session(device, timeout_s=timeout_s, poll_ms=poll_ms) as session:
        execution = Execution(
            session, program, function, artifacts, inputs=inputs, options=options, cpu_kernels=cpu_kernels
        )
        return execution.repeat(on_repeat)


class BufferDirection(enum.Enum):
    """What a bare kernel does with a buffer, as its caller says."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"

    @property
    def access(self) -> Access:
        return _ACCESS[self]


_ACCESS = {
    BufferDirection.IN: Access.READ,
    BufferDirection.OUT: Access.WRITE,
    BufferDirection.INOUT: Access.READ_WRITE,
}


@dataclass(frozen=True, slots=True)
class KernelBuffer:
    """One data buffer of a bare kernel, in the kernel's order. `data` is there for IN and INOUT."""

    direction: BufferDirection
    type: TensorType
    data: Array | None = None


def run_kernel(
    xclbin: bytes,
    instructions: bytes,
    arguments: Sequence[KernelBuffer],
    *,
    kernel: str | None = None,
    device: DeviceModule | ChildDevice,
    policy: SyncPolicy = DEFAULT,
    repeat: int = 1,
    seed: int | None = None,
    timeout_s: float | None = None,
    poison: bytes | None = POISON,
    keep: int = 1024,
    on_repeat: Callable[[Repeat], None] | None = None,
    silicon: Silicon | None = None,
) -> RunResult:
    """Runs one kernel on the caller's buffers; the results are its OUT and INOUT buffers, in order.

    `instructions` may be text or binary. `kernel` is needed only where the xclbin has several. `silicon`
    reads the artifacts (tests put a fake there). Raises UsageError, ArtifactError, DeviceError, RunFailed.
    """
    if silicon is None:
        from .emulated_silicon import EmulatedSilicon  # noqa: PLC0415 (imports the emulator)

        silicon = EmulatedSilicon()
    image = _choose(silicon.open(xclbin).kernels, kernel)
    stream = silicon.decode(instructions)
    _check_arguments(image, stream, arguments)
    program, function = kernel_as_program(image.name, arguments)
    artifact = Artifact(
        dispatch=image.name,
        entry=image.name,
        kernel=image.name,
        xclbin=xclbin,
        instructions=silicon.binary(instructions),
        bindings=program.dispatches[0].bindings,
        convention=image.convention,
        backend="given",
        files={},
    )
    return run_program(
        program,
        function,
        {image.name: artifact},
        [argument.data for argument in arguments if argument.data is not None],
        device=device,
        policy=policy,
        repeat=repeat,
        seed=seed,
        timeout_s=timeout_s,
        poison=poison,
        keep=keep,
        on_repeat=on_repeat,
    )


def _choose(kernels: Sequence[KernelImage], wanted: str | None) -> KernelImage:
    names = ", ".join(kernel.name for kernel in kernels)
    if wanted is None:
        if len(kernels) == 1:
            return kernels[0]
        raise UsageError(
            f"the xclbin has {len(kernels)} kernels", remedy=f"choose one with --kernel: {names}"
        )
    for kernel in kernels:
        if wanted in (kernel.name, f"{kernel.name}:{kernel.instance}"):
            return kernel
    raise UsageError(f"the xclbin has no kernel '{wanted}'", remedy=f"it has: {names}")


def _check_arguments(
    image: KernelImage, stream: InstructionStream, arguments: Sequence[KernelBuffer]
) -> None:
    room = len(image.parameters) - image.first_data_index
    used = max(stream.arguments, default=-1) + 1
    if len(arguments) > room:
        raise UsageError(
            f"kernel '{image.name}' declares {room} buffers, {len(arguments)} given",
            remedy=f"give one --arg for each; the instruction stream uses {used}",
        )
    if used > len(arguments):
        raise UsageError(
            f"the instruction stream uses {used} buffers, {len(arguments)} given",
            remedy="give one --arg for each, in the kernel's buffer order",
        )
    for number, argument in enumerate(arguments):
        if (argument.data is None) is not (argument.direction is BufferDirection.OUT):
            want = "takes no data" if argument.data is not None else "needs data"
            raise UsageError(f"argument {number} ({argument.direction.value}) {want}")


def kernel_as_program(name: str, arguments: Sequence[KernelBuffer]) -> tuple[Program, HostFunction]:
    """The program that consists of this one dispatch; its results are the OUT and INOUT buffers."""
    nowhere = SourceLocation(name, 0, 0)
    bindings = tuple(
        Binding(index, argument.type, argument.direction.access) for index, argument in enumerate(arguments)
    )
    slices = tuple(
        BufferSlice(f"arg{index}", 0, argument.type.size_bytes) for index, argument in enumerate(arguments)
    )
    buffers: list[Buffer] = []
    types: list[TensorType] = []
    for part, argument in zip(slices, arguments, strict=True):
        if argument.data is None:
            buffers.append(Buffer(part.buffer, BufferKind.RESULT, part.length_bytes))
        else:
            buffers.append(Buffer(part.buffer, BufferKind.ARGUMENT, part.length_bytes, argument=len(types)))
            types.append(argument.type)
    results = tuple(
        Result(argument.type, part)
        for part, argument in zip(slices, arguments, strict=True)
        if argument.direction.access.writes
    )
    function = HostFunction(
        name, tuple(types), tuple(buffers), (DispatchCommand(name, slices, nowhere),), results, nowhere
    )
    dispatch = Dispatch(name, bindings, (), "", nowhere)
    program = Program(SourceModule(name, "", ()), (dispatch,), (), (), (function,), compiler="none")
    return program, function


def _check_inputs(function: HostFunction, inputs: Sequence[Array]) -> None:
    if len(inputs) != len(function.arguments):
        raise UsageError(
            f"function '{function.name}' takes {len(function.arguments)} arguments, {len(inputs)} given",
            location=function.location,
        )
    for number, (array, wanted) in enumerate(zip(inputs, function.arguments, strict=True)):
        if array.shape != wanted.shape or not _fits(array.dtype, wanted.element):
            raise UsageError(
                f"argument {number} of '{function.name}' is {wanted}, the input has shape {array.shape} "
                f"and type {array.dtype}",
                location=function.location,
            )


def _fits(given: np.dtype[Any], element: str) -> bool:
    """Whether arrays of this dtype hold the MLIR type: the same, or its unsigned twin."""
    wanted = dtypes.numpy_dtype(element)
    if given == wanted:
        return True
    return given.kind == "u" and wanted.kind == "i" and given.itemsize == wanted.itemsize
