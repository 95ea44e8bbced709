"""The emulated pyxrt against what the real one does (docs/syncs.md)."""

from __future__ import annotations

import gc
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from aiepipe.errors import EmulationError
from aiepipe.xrt import emulated as pyxrt
from aiepipe.xrt.emulation import Emulation, Settings, emulation
from aiepipe.xrt.memory import CacheModel
from aiepipe.xrt.runs import EmulatorFault
from aiepipe.xrt.silicon import DeviceMemory
from aiepipe.xrt.values import BoundEnum

from .fake_silicon import FakeSilicon, fake_stream, fake_xclbin
from .programs import silicon

TO = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
FROM = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE
COMPLETED = pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED

pytestmark = pytest.mark.usefixtures("emulated_device")


@pytest.fixture
def xclbin_path(tmp_path: Path) -> str:
    path = tmp_path / "final.xclbin"
    path.write_bytes(fake_xclbin("MLIR_AIE", buffers=5))
    return str(path)


@pytest.fixture
def kernel(xclbin_path: str) -> pyxrt.kernel:
    device = pyxrt.device(0)
    binary = pyxrt.xclbin(xclbin_path)
    device.register_xclbin(binary)
    return pyxrt.kernel(pyxrt.hw_context(device, binary.get_uuid()), "MLIR_AIE")


def instruction_bo(kernel: pyxrt.kernel, stream: bytes, *, sync: bool = True) -> pyxrt.bo:
    made = pyxrt.bo(kernel.context.get_device(), len(stream), pyxrt.bo.cacheable, kernel.group_id(1))
    np.frombuffer(made.map(), np.uint8)[:] = np.frombuffer(stream, np.uint8)
    if sync:
        made.sync(TO)
    return made


def data_bo(kernel: pyxrt.kernel, size: int, index: int = 3) -> pyxrt.bo:
    return pyxrt.bo(kernel.context.get_device(), size, pyxrt.bo.host_only, kernel.group_id(index))


def ready_run(kernel: pyxrt.kernel, behaviour: str, data: Sequence[pyxrt.bo]) -> pyxrt.run:
    stream = fake_stream(behaviour, range(len(data)))
    made = pyxrt.run(kernel)
    made.set_arg(0, 3)
    made.set_arg(1, instruction_bo(kernel, stream))
    made.set_arg(2, len(stream) // 4)
    for index, buffer in enumerate(data):
        made.set_arg(3 + index, buffer)
    return made


class TestTheRecipe:
    def test_section_2_1_as_it_stands(self, kernel: pyxrt.kernel) -> None:
        source, target = data_bo(kernel, 16), data_bo(kernel, 16, 4)
        np.frombuffer(source.map(), np.int32)[:] = [1, 2, 3, 4]
        source.sync(TO)
        target.sync(TO)
        run = ready_run(kernel, "add_one", [source, target])
        run.start()
        assert run.wait() == COMPLETED
        target.sync(FROM)
        assert np.frombuffer(target.map(), np.int32).tolist() == [2, 3, 4, 5]

    def test_the_call_form(self, kernel: pyxrt.kernel) -> None:
        stream = fake_stream("add_one", range(2))
        source, target = data_bo(kernel, 16), data_bo(kernel, 16)
        run = kernel(3, instruction_bo(kernel, stream), len(stream), source, target)
        run.wait2()
        target.sync(FROM)
        assert target.read(16, 0).view(np.int32).tolist() == [1, 1, 1, 1]

    def test_results_are_not_there_before_the_wait(self, kernel: pyxrt.kernel) -> None:
        source, target = data_bo(kernel, 16), data_bo(kernel, 16)
        run = ready_run(kernel, "add_one", [source, target])
        run.start()
        target.sync(FROM)
        assert target.read(16, 0).view(np.int32).tolist() == [0, 0, 0, 0]
        run.wait()
        target.sync(FROM)
        assert target.read(16, 0).view(np.int32).tolist() == [1, 1, 1, 1]

    def test_runs_of_a_context_execute_in_the_order_of_their_starts(self, kernel: pyxrt.kernel) -> None:
        first, second, third = (data_bo(kernel, 16) for _ in range(3))
        one, two = (
            ready_run(kernel, "add_one", [first, second]),
            ready_run(kernel, "add_one", [second, third]),
        )
        one.start()
        two.start()
        assert two.wait() == COMPLETED
        third.sync(FROM)
        assert third.read(16, 0).view(np.int32).tolist() == [2, 2, 2, 2]

    def test_an_array_over_the_map_sees_the_device_and_is_seen(self, kernel: pyxrt.kernel) -> None:
        """A program that keeps its views, as most do."""
        source, target = data_bo(kernel, 16), data_bo(kernel, 16)
        inputs, outputs = np.frombuffer(source.map(), np.int32), np.frombuffer(target.map(), np.int32)
        run = ready_run(kernel, "add_one", [source, target])
        for value in (5, 6):
            inputs[:] = value
            source.sync(TO)
            outputs[:] = -1
            target.sync(TO)
            run.start()
            run.wait()
            target.sync(FROM)
            assert outputs.tolist() == [value + 1] * 4

    def test_without_evictions_an_unsynced_output_keeps_the_host_bytes(self, xclbin_path: str) -> None:
        with emulation(Settings(silicon=silicon(), cache=CacheModel(evict=0.0))):
            device = pyxrt.device(0)
            binary = pyxrt.xclbin(xclbin_path)
            context = pyxrt.hw_context(device, device.register_xclbin(binary))
            kernel = pyxrt.kernel(context, "MLIR_AIE")
            source, target = data_bo(kernel, 16), data_bo(kernel, 16)
            np.frombuffer(target.map(), np.int32)[:] = -1
            run = ready_run(kernel, "add_one", [source, target])
            run.start()
            run.wait()
            target.sync(FROM)
            assert np.frombuffer(target.map(), np.int32).tolist() == [-1] * 4


class TestNames:
    def test_the_module_has_what_pyxrt_has(self) -> None:
        for name in ("device", "hw_context", "kernel", "run", "runlist", "bo", "xclbin", "uuid"):
            assert isinstance(getattr(pyxrt, name), type)
        assert pyxrt.XCL_BO_FLAGS_NONE == 0
        assert pyxrt.enumerate_devices() == 1
        assert pyxrt.error is pyxrt.xrt_msg_level.error

    def test_states_and_directions_are_not_exported_to_the_module(self) -> None:
        assert not hasattr(pyxrt, "XCL_BO_SYNC_BO_TO_DEVICE")
        assert not hasattr(pyxrt, "ERT_CMD_STATE_COMPLETED")

    def test_flags_are_exported_to_the_class(self) -> None:
        assert pyxrt.bo.host_only is pyxrt.bo.flags.host_only
        assert int(pyxrt.bo.cacheable) == 1 << 24
        assert {flag.name: int(flag) for flag in pyxrt.bo.flags} == {
            "normal": 0,
            "cacheable": 1 << 24,
            "device_only": 1 << 28,
            "host_only": 1 << 29,
            "p2p": 1 << 30,
            "svm": 1 << 27,
        }
        assert pyxrt.hw_context.exclusive is pyxrt.hw_context.access_mode.exclusive

    def test_states(self) -> None:
        states = {state.name.removeprefix("ERT_CMD_STATE_"): int(state) for state in pyxrt.ert_cmd_state}
        assert states == {
            "NEW": 1,
            "QUEUED": 2,
            "COMPLETED": 4,
            "ERROR": 5,
            "ABORT": 6,
            "SUBMITTED": 7,
            "TIMEOUT": 8,
            "NORESPONSE": 9,
            "SKERROR": 10,
            "SKCRASHED": 11,
        }

    def test_the_running_state_has_no_name(self) -> None:
        running = pyxrt.ert_cmd_state(3)
        assert running.name == "???"
        assert int(running) == 3
        assert running == pyxrt.ert_cmd_state(3)

    def test_enums_are_equal_only_to_their_own(self) -> None:
        assert COMPLETED != 4
        assert pyxrt.ert_cmd_state(5) != pyxrt.xrt_info_device(5)
        assert str(TO) == "xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE"
        assert len({COMPLETED, pyxrt.ert_cmd_state(4)}) == 1

    def test_messages_go_to_the_log(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING):
            pyxrt.log_message(pyxrt.warning, "mine", "careful")
        assert ("xrt.mine", logging.WARNING, "careful") in caplog.record_tuples


class TestDevice:
    def test_there_is_one(self) -> None:
        assert pyxrt.device(0).get_info(pyxrt.xrt_info_device["name"]) == "RyzenAI-npu1"
        with pytest.raises(RuntimeError, match="opened no device"):
            pyxrt.device().get_info(pyxrt.xrt_info_device["name"])
        assert pyxrt.device("0000:c6:00.1").get_info(pyxrt.xrt_info_device.bdf) == "0000:c6:00.1"
        assert pyxrt.device(0).get_info(pyxrt.xrt_info_device.thermal) == "NA"
        with pytest.raises(RuntimeError, match=r"^ No such device with index '1'$"):
            pyxrt.device(1)
        with pytest.raises(RuntimeError, match=r"^No such device '0000:00:00.0'$"):
            pyxrt.device("0000:00:00.0")

    def test_a_context_needs_a_registered_xclbin(self, xclbin_path: str) -> None:
        binary = pyxrt.xclbin(xclbin_path)
        with pytest.raises(RuntimeError, match=r"^No xclbin with uuid '.*': Invalid argument$"):
            pyxrt.hw_context(pyxrt.device(0), binary.get_uuid())

    def test_contexts_run_out_and_come_back(self, xclbin_path: str) -> None:
        device = pyxrt.device(0)
        uuid = device.register_xclbin(pyxrt.xclbin(xclbin_path))
        held = [pyxrt.hw_context(device, uuid) for _ in range(6)]
        with pytest.raises(RuntimeError, match="0x2000003"):
            pyxrt.hw_context(device, uuid)
        held.pop()
        gc.collect()
        assert pyxrt.hw_context(device, uuid).get_xclbin_uuid().to_string() == uuid.to_string()

    def test_more_columns_than_there_are(self, tmp_path: Path) -> None:
        path = tmp_path / "wide.xclbin"
        path.write_bytes(fake_xclbin(columns=8))
        device = pyxrt.device(0)
        uuid = device.register_xclbin(pyxrt.xclbin(str(path)))
        with pytest.raises(RuntimeError, match=r"CREATE_HWCTX IOCTL failed \(err=-22\).*wants 8 columns"):
            pyxrt.hw_context(device, uuid)

    def test_what_is_in_an_xclbin(self, xclbin_path: str) -> None:
        binary = pyxrt.xclbin(xclbin_path)
        kernels = binary.get_kernels()
        assert [(k.get_name(), k.get_num_args()) for k in kernels] == [("MLIR_AIE", 8)]
        assert [(m.get_tag(), m.get_index(), m.get_used()) for m in binary.get_mems()] == [
            ("HOST", 0, True),
            ("SRAM", 1, True),
        ]
        assert binary.get_uuid() != binary.get_uuid()  # pyxrt's uuid has no __eq__

    def test_a_file_that_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"nothing")
        with pytest.raises(RuntimeError, match="not an xclbin"):
            pyxrt.xclbin(str(tmp_path / "x"))
        with pytest.raises(RuntimeError, match="Failed to open file"):
            pyxrt.xclbin(str(tmp_path / "y"))

    def test_no_such_kernel(self, kernel: pyxrt.kernel) -> None:
        with pytest.raises(RuntimeError, match=r"^No such kernel 'DPU': Invalid argument$"):
            pyxrt.kernel(kernel.context, "DPU")


class TestGroupIds:
    def test_bank_with_the_slot_above(self, kernel: pyxrt.kernel) -> None:
        """0x10000 is bank 0 of slot 1, not an invalid group (docs/syncs.md)."""
        assert [kernel.group_id(index) for index in (0, 1, 2, 3)] == [0x1FFFF, 0x10001, 0x1FFFF, 0x10000]

    def test_past_the_table(self, kernel: pyxrt.kernel) -> None:
        assert kernel.group_id(99) == 0x1FFFF

    def test_a_buffer_of_another_bank_is_refused_and_another_slot_is_not(self, kernel: pyxrt.kernel) -> None:
        device = kernel.context.get_device()
        run = pyxrt.run(kernel)
        run.set_arg(3, pyxrt.bo(device, 64, pyxrt.bo.host_only, 0x20000))
        with pytest.raises(
            RuntimeError, match=r"^No host side buffer in destination buffer: Invalid argument"
        ):
            run.set_arg(3, pyxrt.bo(device, 64, pyxrt.bo.host_only, 1))


class TestBuffers:
    @pytest.mark.parametrize(
        ("flag", "text"),
        [
            (pyxrt.bo.normal, r"unsupported buffer type: none flag \(err=95\): Operation not supported"),
            (pyxrt.bo.device_only, r"Bad BO type. \(err=22\): Invalid argument"),
            (pyxrt.bo.p2p, r"Bad BO type. \(err=22\): Invalid argument"),
            (pyxrt.bo.svm, r"Bad BO type. \(err=22\): Invalid argument"),
        ],
    )
    def test_kinds_that_an_npu_does_not_have(self, flag: BoundEnum, text: str) -> None:
        with pytest.raises(RuntimeError, match=text):
            pyxrt.bo(pyxrt.device(0), 64, flag, 0)

    def test_the_flags_are_no_ints(self) -> None:
        with pytest.raises(TypeError, match="incompatible constructor arguments"):
            pyxrt.bo(pyxrt.device(0), 64, pyxrt.XCL_BO_FLAGS_NONE, 0)

    def test_sizes_and_bounds(self, kernel: pyxrt.kernel) -> None:
        buffer = data_bo(kernel, 100)
        assert buffer.size() == 100
        assert buffer.address() % 4096 == 0
        with pytest.raises(RuntimeError, match=r"^attempting to write past buffer size: Invalid argument$"):
            buffer.write(np.zeros(101, np.uint8), 0)
        with pytest.raises(RuntimeError, match=r"^attempting to read past buffer size: Invalid argument$"):
            buffer.read(1, 100)
        with pytest.raises(RuntimeError, match=r"^Invalid BO offset and size for sync'ing: .* \(err=22\)"):
            buffer.sync(TO, 1, 100)
        with pytest.raises(RuntimeError, match=r"^sub buffer size and offset: Invalid argument$"):
            pyxrt.bo(buffer, 64, 64)

    def test_there_are_no_defaults(self, kernel: pyxrt.kernel) -> None:
        buffer = data_bo(kernel, 64)
        for name, given in (("write", (b"x",)), ("read", ()), ("sync", (TO, 64))):
            with pytest.raises(TypeError):
                getattr(buffer, name)(*given)

    def test_a_read_is_a_copy_of_int8(self, kernel: pyxrt.kernel) -> None:
        buffer = data_bo(kernel, 4)
        buffer.write(bytes([1, 255, 3, 4]), 0)
        read = buffer.read(4, 0)
        assert read.dtype == np.int8
        assert read.tolist() == [1, -1, 3, 4]
        read[0] = 9
        assert buffer.read(1, 0).tolist() == [1]

    def test_the_map_is_writable_bytes(self, kernel: pyxrt.kernel) -> None:
        view = data_bo(kernel, 8).map()
        assert (view.format, view.readonly, view.nbytes) == ("B", False, 8)

    def test_strides_are_refused_where_pyxrt_writes_wrong_bytes(self, kernel: pyxrt.kernel) -> None:
        with pytest.raises(ValueError, match="pyxrt ignores strides"):
            data_bo(kernel, 64).write(np.zeros((8, 8), np.uint8)[:, ::2], 0)

    def test_a_window_shares_its_parent(self, kernel: pyxrt.kernel) -> None:
        parent = data_bo(kernel, 256)
        window = pyxrt.bo(parent, 64, 64)
        window.write(b"\x07" * 64, 0)
        assert parent.read(2, 63).tolist() == [0, 7]
        assert window.address() == parent.address() + 64
        with pytest.raises(RuntimeError, match=r"^Invalid offset and size when syncing sub buffer"):
            window.sync(TO, 256, 0)
        window.sync(TO, 128, 0)  # past the window, inside the parent: XRT lets it

    def test_a_window_of_a_window_has_the_wrong_device_address(self, kernel: pyxrt.kernel) -> None:
        """XRT adds only the innermost offset (docs/syncs.md)."""
        parent = data_bo(kernel, 256)
        inner = pyxrt.bo(pyxrt.bo(parent, 128, 128), 64, 64)
        inner.write(b"\x07", 0)
        assert parent.read(1, 192).tolist() == [7]
        assert inner.address() == parent.address() + 64

    def test_memory_goes_with_the_last_handle(self, kernel: pyxrt.kernel, emulated_device: Emulation) -> None:
        before = len(list(emulated_device.space))
        parent = data_bo(kernel, 256)
        window = pyxrt.bo(parent, 64, 0)
        del parent
        gc.collect()
        assert len(list(emulated_device.space)) == before + 1
        del window
        gc.collect()
        assert len(list(emulated_device.space)) == before


class TestArguments:
    def test_ints_as_pybind_takes_them(self, kernel: pyxrt.kernel) -> None:
        run = pyxrt.run(kernel)
        for value in (3, True, np.int64(9), np.array(5), -(2**31)):
            run.set_arg(0, value)
        for value in (3.0, 1 << 31, np.zeros(4, np.int32), None, "3"):
            with pytest.raises(TypeError, match="incompatible function arguments"):
                run.set_arg(0, value)

    def test_beyond_the_table(self, kernel: pyxrt.kernel) -> None:
        run = pyxrt.run(kernel)
        with pytest.raises(IndexError, match="_M_range_check"):
            run.set_arg(8, 1)
        with pytest.raises(IndexError, match="there is no argument 8"):
            run.set_arg(8, data_bo(kernel, 64))
        with pytest.raises(IndexError, match="is a scalar"):
            run.set_arg(0, data_bo(kernel, 64))

    def test_what_the_call_form_would_swallow_is_an_error(self, kernel: pyxrt.kernel) -> None:
        with pytest.raises(TypeError, match="argument 2 of kernel 'MLIR_AIE'"):
            kernel(3, data_bo(kernel, 64, 1), 3.0)

    def test_an_unset_argument_is_refused(self, kernel: pyxrt.kernel) -> None:
        stream = fake_stream("add_one", range(2))
        run = pyxrt.run(kernel)
        run.set_arg(1, instruction_bo(kernel, stream))
        run.set_arg(2, len(stream) // 4)
        with pytest.raises(RuntimeError, match=r"argument 0 \('opcode'\) of kernel 'MLIR_AIE' was never set"):
            run.start()
        run.set_arg(0, 3)
        run.set_arg(3, data_bo(kernel, 16))
        with pytest.raises(RuntimeError, match=r"argument 4 \('bo1'\)"):
            run.start()
        run.set_arg(4, data_bo(kernel, 16))
        run.start()  # 5 to 7 are declared and not used by the stream
        assert run.wait() == COMPLETED


class TestRuns:
    def test_calls_that_python_cannot_make(self, kernel: pyxrt.kernel) -> None:
        run = ready_run(kernel, "add_one", [data_bo(kernel, 16), data_bo(kernel, 16)])
        with pytest.raises(TypeError):
            run.wait2(100)
        with pytest.raises(TypeError):
            run.add_callback(COMPLETED, print, None)
        with pytest.raises(TypeError):
            pyxrt.runlist(kernel.context).wait(100)

    def test_no_second_start_before_the_wait(self, kernel: pyxrt.kernel) -> None:
        run = ready_run(kernel, "add_one", [data_bo(kernel, 16), data_bo(kernel, 16)])
        run.start()
        with pytest.raises(RuntimeError, match=r"^bad command state, can't launch$"):
            run.start()
        run.wait()
        run.start()
        assert run.state() == COMPLETED

    def test_states_on_the_way(self, kernel: pyxrt.kernel) -> None:
        run = ready_run(kernel, "add_one", [data_bo(kernel, 16), data_bo(kernel, 16)])
        assert run.state() == pyxrt.ert_cmd_state.ERT_CMD_STATE_NEW
        run.start()
        assert run.wait(1000) == COMPLETED

    def test_no_instructions_do_nothing_and_complete(self, kernel: pyxrt.kernel) -> None:
        target = data_bo(kernel, 16)
        run = ready_run(kernel, "add_one", [target, target])
        run.set_arg(2, 0)
        run.start()
        assert run.wait() == COMPLETED
        assert run.summary is not None
        assert run.summary.warnings == ("no instruction stream: the kernel did nothing",)

    def test_another_opcode(self, kernel: pyxrt.kernel) -> None:
        run = ready_run(kernel, "add_one", [data_bo(kernel, 16), data_bo(kernel, 16)])
        run.set_arg(0, 5)
        run.start()
        assert run.wait() == pyxrt.ert_cmd_state.ERT_CMD_STATE_ERROR
        assert isinstance(run.failure, EmulationError)

    def test_a_runlist(self, kernel: pyxrt.kernel) -> None:
        first, second, third = (data_bo(kernel, 16) for _ in range(3))
        runs = [ready_run(kernel, "add_one", pair) for pair in ([first, second], [second, third])]
        together = pyxrt.runlist(kernel.context)
        for run in runs:
            together.add(run)
        with pytest.raises(RuntimeError, match="belongs to a runlist and cannot be explicitly started"):
            runs[0].start()
        together.execute()
        together.wait()
        third.sync(FROM)
        assert third.read(16, 0).view(np.int32).tolist() == [2, 2, 2, 2]


class TestFailures:
    @pytest.mark.parametrize(
        ("kind", "state"),
        [("deadlock", "ERT_CMD_STATE_TIMEOUT"), ("step-limit", "ERT_CMD_STATE_TIMEOUT"),
         ("unknown-instruction", "ERT_CMD_STATE_ERROR")],
    )  # fmt: skip
    def test_a_failed_run_has_its_state_its_reason_and_a_fresh_array_after_it(
        self, xclbin_path: str, kind: str, state: str
    ) -> None:
        failing = [True]

        def behave(memory: DeviceMemory, addresses: Sequence[int]) -> None:
            if failing[0]:
                raise EmulationError("what it met", kind=kind, tile="core (0,2)")

        fake = FakeSilicon({"behave": behave})
        with emulation(Settings(silicon=fake)):
            device = pyxrt.device(0)
            context = pyxrt.hw_context(device, device.register_xclbin(pyxrt.xclbin(xclbin_path)))
            kernel = pyxrt.kernel(context, "MLIR_AIE")
            run = ready_run(kernel, "behave", [])
            run.start()
            assert run.wait().name == state
            assert run.state().name == state
            assert isinstance(run.failure, EmulationError)
            with pytest.raises(RuntimeError, match=rf"^Command failed to complete successfully \({state}\)$"):
                run.wait2()
            failing[0] = False
            run.start()
            assert run.wait() == COMPLETED
            assert run.failure is None
            assert fake.configured == 2

    def test_a_fault_of_the_emulator_is_not_taken_for_the_devices(self, xclbin_path: str) -> None:
        """Programs handle RuntimeError; this one is for us to hear of (exit 70)."""

        def broken(memory: DeviceMemory, addresses: Sequence[int]) -> None:
            raise TypeError("ours")

        with emulation(Settings(silicon=FakeSilicon({"broken": broken}))):
            device = pyxrt.device(0)
            context = pyxrt.hw_context(device, device.register_xclbin(pyxrt.xclbin(xclbin_path)))
            run = ready_run(pyxrt.kernel(context, "MLIR_AIE"), "broken", [])
            run.start()
            with pytest.raises(EmulatorFault, match="the emulator failed: TypeError: ours"):
                run.wait()
            assert run.state() == pyxrt.ert_cmd_state.ERT_CMD_STATE_ABORT

    def test_ctrl_c_stops_the_run_and_leaves_the_device_usable(self, xclbin_path: str) -> None:
        stopping = [True]

        def behave(memory: DeviceMemory, addresses: Sequence[int]) -> None:
            if stopping[0]:
                raise KeyboardInterrupt

        with emulation(Settings(silicon=FakeSilicon({"behave": behave}))):
            device = pyxrt.device(0)
            context = pyxrt.hw_context(device, device.register_xclbin(pyxrt.xclbin(xclbin_path)))
            run = ready_run(pyxrt.kernel(context, "MLIR_AIE"), "behave", [])
            run.start()
            with pytest.raises(KeyboardInterrupt):
                run.wait()
            stopping[0] = False
            run.start()
            assert run.wait() == COMPLETED

    def test_failed_runs_do_not_use_up_the_contexts(self, xclbin_path: str) -> None:
        def behave(memory: DeviceMemory, addresses: Sequence[int]) -> None:
            raise EmulationError("what it met", kind="deadlock")

        with emulation(Settings(silicon=FakeSilicon({"behave": behave}))):
            for _ in range(20):
                device = pyxrt.device(0)
                context = pyxrt.hw_context(device, device.register_xclbin(pyxrt.xclbin(xclbin_path)))
                run = ready_run(pyxrt.kernel(context, "MLIR_AIE"), "behave", [])
                run.start()
                assert run.wait() == pyxrt.ert_cmd_state.ERT_CMD_STATE_TIMEOUT
