"""What the runner refuses, kernels of many contexts, and kernels that come without a program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from aiepipe.errors import DeviceError, EmulationError, RunFailed, UsageError
from aiepipe.program import (
    Access,
    Binding,
    Buffer,
    BufferKind,
    CallingConvention,
    Dispatch,
    DispatchCommand,
    HostFunction,
    Result,
    TensorType,
)
from aiepipe.xrt import emulated
from aiepipe.xrt.emulation import Emulation, Settings, emulation
from aiepipe.xrt.memory import CacheModel
from aiepipe.xrt.policy import named
from aiepipe.xrt.runner import BufferDirection, KernelBuffer, RunResult, run_kernel, run_program
from aiepipe.xrt.silicon import DeviceMemory

from .fake_silicon import FakeSilicon, fake_stream, fake_xclbin
from .programs import (
    A_TYPE,
    B_TYPE,
    C_TYPE,
    HERE,
    artifact,
    program_of,
    seed_inputs,
    seed_program,
    silicon,
    whole,
)
from .test_runner import run_seed

POISON_I32 = np.frombuffer(b"\xa5" * 4, np.int32)[0]
SMALL = TensorType((4,), "i32")


@pytest.mark.usefixtures("emulated_device")
class TestRefusals:
    def test_inputs_that_do_not_fit(self) -> None:
        program, function, artifacts = seed_program()
        a, b = seed_inputs()
        with pytest.raises(UsageError, match="takes 2 arguments, 1 given"):
            run_program(program, function, artifacts, [a], device=emulated)
        with pytest.raises(
            UsageError, match=r"argument 1 of 'main' is 16x64xi32, the input has shape \(64, 16\)"
        ):
            run_program(program, function, artifacts, [a, a], device=emulated)
        with pytest.raises(UsageError, match="and type float32"):
            run_program(program, function, artifacts, [a.astype(np.float32), b], device=emulated)

    def test_a_run_that_does_not_complete_gives_no_result(self) -> None:
        def deadlock(memory: DeviceMemory, addresses: Sequence[int]) -> None:
            memory.write(addresses[2], np.zeros(64, np.uint8))
            raise EmulationError("core (0,2) waits for lock 49", kind="deadlock", tile="core (0,2)", pc=0x2A0)

        program, function, artifacts = seed_program()
        with (
            emulation(Settings(silicon=FakeSilicon({"filled_matmul": deadlock}))),
            pytest.raises(RunFailed) as caught,
        ):
            run_program(program, function, artifacts, seed_inputs(), device=emulated)
        error = caught.value
        assert error.state == "ERT_CMD_STATE_TIMEOUT"
        assert error.dispatch == "filled_matmul"
        assert isinstance(error.reason, EmulationError)
        assert error.where() == "core (0,2), pc 0x02a0"
        assert str(error) == (
            "the run of filled_matmul ended TIMEOUT: core (0,2) waits for lock 49. "
            "Its output is partial and was not compared."
        )
        assert error.exit_code == 4

    def test_an_access_outside_of_every_buffer_names_the_nearest(self) -> None:
        def too_far(memory: DeviceMemory, addresses: Sequence[int]) -> None:
            memory.read(addresses[0] + 4090, 16)

        program, function, artifacts = seed_program()
        with (
            emulation(Settings(silicon=FakeSilicon({"filled_matmul": too_far}))),
            pytest.raises(RunFailed, match=r"ended ERROR: .* runs 10 bytes past the end of A \(4096 bytes"),
        ):
            run_program(program, function, artifacts, seed_inputs(), device=emulated)

    def test_unsynced_instructions_are_found_out(self) -> None:
        with (
            emulation(Settings(silicon=silicon(), cache=CacheModel(evict=0.0))),
            pytest.raises(RunFailed, match="written but not synced to the device before the run"),
        ):
            run_seed("no-instruction-sync", 1)

    def test_more_buffers_than_the_kernel_declares(self) -> None:
        program, function, artifacts = seed_program()
        small = fake_xclbin("filled_matmul", buffers=2)
        broken = {
            name: type(made)(
                made.dispatch,
                made.entry,
                made.kernel,
                small,
                made.instructions,
                made.bindings,
                made.convention,
                made.backend,
                made.files,
            )
            for name, made in artifacts.items()
        }
        with pytest.raises(DeviceError, match="declares 2 buffers, 3 are to be bound"):
            run_program(program, function, broken, seed_inputs(), device=emulated)

    def test_a_policy_without_a_name(self) -> None:
        with pytest.raises(UsageError, match="no sync policy is called 'seed'"):
            named("seed")


class TestManyKernels:
    def test_more_dispatches_than_the_device_has_contexts(self) -> None:
        """npu1 has six contexts: the runner lets all go rather than one (docs/syncs.md)."""
        count = 9
        fake = silicon()
        dispatches: list[Dispatch] = []
        for index in range(count):
            fake.behaviours[f"add_{index}"] = fake.behaviours["add_one"]
            dispatches.append(
                Dispatch(
                    f"add_{index}",
                    (Binding(0, SMALL, Access.READ), Binding(1, SMALL, Access.WRITE)),
                    (),
                    "",
                    HERE,
                )
            )
        names = ["X", *(f"T{index}" for index in range(count))]
        buffers = tuple(
            Buffer(
                name,
                BufferKind.ARGUMENT if index == 0 else BufferKind.TRANSIENT,
                16,
                argument=0 if index == 0 else None,
            )
            for index, name in enumerate(names)
        )
        commands = tuple(
            DispatchCommand(f"add_{i}", (whole(names[i], SMALL), whole(names[i + 1], SMALL)), HERE)
            for i in range(count)
        )
        function = HostFunction(
            "main", (SMALL,), buffers, commands, (Result(SMALL, whole(names[-1], SMALL)),), HERE
        )
        program, function, artifacts = program_of(dispatches, function)
        with emulation(Settings(silicon=fake)):
            result = run_program(
                program, function, artifacts, [np.zeros(4, np.int32)], device=emulated, repeat=2
            )
        assert [o[0].tolist() for o in result.variants] == [[9, 9, 9, 9]]


class TestBareKernel:
    @pytest.mark.parametrize("convention", list(CallingConvention))
    def test_both_calling_conventions(
        self, convention: CallingConvention, emulated_device: Emulation
    ) -> None:
        a, b = seed_inputs()
        result = run_kernel(
            fake_xclbin("filled_matmul", convention=convention.value),
            fake_stream("filled_matmul", range(3)),
            [
                KernelBuffer(BufferDirection.IN, A_TYPE, a),
                KernelBuffer(BufferDirection.IN, B_TYPE, b),
                KernelBuffer(BufferDirection.OUT, C_TYPE),
            ],
            device=emulated,
            silicon=emulated_device.settings.silicon,
        )
        assert (result.outputs[0] == 39).all()

    def test_inout_gives_a_result_too(self, emulated_device: Emulation) -> None:
        a, b = seed_inputs()
        result = run_kernel(
            fake_xclbin("accumulate"),
            fake_stream("accumulate", range(3)),
            [
                KernelBuffer(BufferDirection.IN, A_TYPE, a),
                KernelBuffer(BufferDirection.IN, B_TYPE, b),
                KernelBuffer(BufferDirection.INOUT, C_TYPE, np.full((64, 64), 1, np.int32)),
            ],
            device=emulated,
            repeat=2,
            silicon=emulated_device.settings.silicon,
        )
        assert [(o[0] == 33).all() for o in result.variants] == [True]

    def test_what_the_caller_got_wrong(self, emulated_device: Emulation) -> None:
        def run(buffers: Sequence[KernelBuffer], kernel: str | None = None) -> RunResult:
            return run_kernel(
                fake_xclbin("filled_matmul"),
                fake_stream("filled_matmul", range(3)),
                buffers,
                kernel=kernel,
                device=emulated,
                silicon=emulated_device.settings.silicon,
            )

        a = KernelBuffer(BufferDirection.IN, A_TYPE, seed_inputs()[0])
        with pytest.raises(UsageError, match="the instruction stream uses 3 buffers, 2 given"):
            run([a, a])
        with pytest.raises(UsageError, match="declares 3 buffers, 4 given") as caught:
            run([a, a, a, a])
        assert caught.value.remedy == "give one --arg for each; the instruction stream uses 3"
        with pytest.raises(UsageError, match="has no kernel 'other'"):
            run([a, a, a], "other")
        with pytest.raises(UsageError, match=r"argument 2 \(in\) needs data"):
            run([a, a, KernelBuffer(BufferDirection.IN, C_TYPE)])


def test_an_unused_declared_argument_is_bound_to_a_spare(emulated_device: Emulation) -> None:
    """mlir-aie declares five buffers always; an unset one would hold an old address."""
    seen: list[Sequence[int]] = []
    program, function, artifacts = seed_program()
    fake = silicon()
    original = fake.behaviours["filled_matmul"]

    def spy(memory: DeviceMemory, addresses: Sequence[int]) -> None:
        seen.append(tuple(addresses))
        original(memory, addresses)

    fake.behaviours["filled_matmul"] = spy
    with emulation(Settings(silicon=fake)):
        run_program(program, function, artifacts, seed_inputs(), device=emulated)
    assert len(seen[0]) == 5
    assert 0 not in seen[0]
    assert seen[0][3] == seen[0][4]


def test_the_artifact_of_a_dispatch_may_be_missing(emulated_device: Emulation) -> None:
    program, function, _ = seed_program()
    with pytest.raises(DeviceError, match="no artifact for dispatch 'filled_matmul'"):
        run_program(program, function, {}, seed_inputs(), device=emulated)
    assert artifact(program.dispatches[0]).dispatch == "filled_matmul"
