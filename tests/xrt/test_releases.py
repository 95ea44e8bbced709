"""The pyxrt of each XRT release: names, constructors, warnings; and what a lenient emulation lets pass.

Names by release: pyxrt.cpp at XRT's tags (releases.py). Lenient: docs/syncs.md.
"""

from __future__ import annotations

import gc
import struct
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from aiepipe.errors import UsageError
from aiepipe.xrt import emulated_pyxrt
from aiepipe.xrt.emulation import ProcessAborted, Settings
from aiepipe.xrt.hosting import EXIT_ABORTED, Host, run_script
from aiepipe.xrt.releases import RELEASES, SPANS
from aiepipe.xrt.surface import pyxrt_module

from .fake_silicon import fake_stream, fake_xclbin
from .programs import silicon


def surface(release: str) -> Any:
    """pyxrt is untyped, and here it changes with the release."""
    return cast("Any", pyxrt_module(release))


@pytest.fixture
def xclbin_path(tmp_path: Path) -> str:
    path = tmp_path / "final.xclbin"
    path.write_bytes(fake_xclbin("MLIR_AIE", buffers=5))
    return str(path)


def opened(host: Host, xclbin_path: str) -> tuple[Any, Any, Any]:
    """(module, device, kernel)"""
    pyxrt = cast("Any", host.module)
    device = pyxrt.device(0)
    binary = pyxrt.xclbin(xclbin_path)
    device.register_xclbin(binary)
    return pyxrt, device, pyxrt.kernel(pyxrt.hw_context(device, binary.get_uuid()), "MLIR_AIE")


def buffers(pyxrt: Any, device: Any, kernel: Any, stream: bytes) -> tuple[Any, Any, Any]:
    """(instructions, source, target), written and synced."""
    to = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
    instructions = pyxrt.bo(device, len(stream), pyxrt.bo.cacheable, kernel.group_id(1))
    source, target = (pyxrt.bo(device, 16, pyxrt.bo.host_only, kernel.group_id(3)) for _ in range(2))
    instructions.write(np.frombuffer(stream, np.uint8), 0)
    source.write(np.arange(4, dtype=np.int32), 0)
    for buffer in (instructions, source, target):
        buffer.sync(to)
    return instructions, source, target


class TestNames:
    @pytest.mark.parametrize("release", RELEASES)
    def test_each_name_is_there_in_its_releases_only(self, release: str) -> None:
        module = surface(release)
        for path, span in SPANS.items():
            owner = module
            *parents, name = path.split(".")
            for parent in parents:
                owner = getattr(owner, parent, None)
            if owner is not None:
                assert hasattr(owner, name) == span.has(release), (release, path)

    @pytest.mark.parametrize(
        ("name", "lacking", "having"),
        [
            ("enumerate_devices", "2.16", "2.17"),
            ("elf", "2.18", "2.19"),
            ("runlist", "2.19", "2.20"),
            ("run.wait2", "2.19", "2.20"),
            ("hw_context.get_mode", "2.21.75", "2.23"),
            ("module.get_cfg_uuid", "2.23", "2.21"),
            ("ext.access_mode", "2.21", "2.23"),
            ("ext.bo.access_mode", "2.23", "2.21"),
            ("run.get_ctrl_scratchpad_bo", "2.23", "2.21-branch"),
            ("graph", "2.25", "2.26"),
        ],
    )
    def test_when_it_came_or_went(self, name: str, lacking: str, having: str) -> None:
        def has(release: str) -> bool:
            value = surface(release)
            for part in name.split("."):
                value = getattr(value, part, None)
            return value is not None

        assert (has(lacking), has(having)) == (False, True)

    def test_ours_are_not_there(self) -> None:
        assert not hasattr(surface("2.26"), "reseed")
        assert not hasattr(surface("2.26"), "emulation")

    def test_an_unknown_release_is_a_usage_error(self) -> None:
        with pytest.raises(UsageError, match=r"no XRT release '3\.0'"):
            pyxrt_module("3.0")

    def test_runs_of_a_kernel_call_are_of_the_release_too(self, xclbin_path: str) -> None:
        with emulated_pyxrt(Settings(silicon=silicon(), release="2.18")) as host:
            pyxrt, device, kernel = opened(host, xclbin_path)
            instructions, source, target = buffers(pyxrt, device, kernel, fake_stream("add_one", [0, 1]))
            run = kernel(3, instructions, 1, source, target)
            assert not hasattr(run, "wait2")
            assert isinstance(run, pyxrt.run)
            run.wait()


class TestConstructors:
    def test_contexts_of_an_xclbin_or_its_path_and_by_name_came_with_2_23(self, xclbin_path: str) -> None:
        for release, there in (("2.21.75", False), ("2.23", True)):
            with emulated_pyxrt(Settings(silicon=silicon(), release=release)) as host:
                pyxrt = cast("Any", host.module)
                device = pyxrt.device(0)
                if there:
                    context = pyxrt.hw_context(device=device, xclbin_path=xclbin_path)
                    assert context.get_mode() == pyxrt.hw_context.shared
                    binary = pyxrt.xclbin(xclbin_path)
                    mode = pyxrt.hw_context.access_mode.exclusive
                    assert pyxrt.hw_context(device, binary, mode).get_mode() == mode
                    assert pyxrt.hw_context(device, binary, {"priority": 1})
                    assert pyxrt.bo(context, 64, 0).size() == 64
                else:
                    with pytest.raises(TypeError, match=r"2\. pyxrt.hw_context\(arg0: pyxrt.device, arg1"):
                        pyxrt.hw_context(device, xclbin_path)
                    with pytest.raises(TypeError):
                        pyxrt.hw_context(device=device, uuid=pyxrt.uuid("x"))

    def test_the_old_forms_warn_from_2_23_on(self, xclbin_path: str) -> None:
        for release, warns in (("2.21", False), ("2.23", True)):
            with emulated_pyxrt(Settings(silicon=silicon(), release=release)) as host:
                pyxrt = cast("Any", host.module)
                device = pyxrt.device(0)
                uuid = device.register_xclbin(pyxrt.xclbin(xclbin_path))
                if warns:
                    with pytest.warns(DeprecationWarning, match="hw_context"):
                        pyxrt.kernel(device, uuid, "MLIR_AIE")
                    with (
                        pytest.warns(DeprecationWarning, match="register_xclbin"),
                        pytest.raises(RuntimeError, match="not supported"),
                    ):
                        device.load_xclbin(xclbin_path)
                else:
                    pyxrt.kernel(device, uuid, "MLIR_AIE", pyxrt.kernel.shared)

    def test_group_id_past_the_table(self, xclbin_path: str) -> None:
        with emulated_pyxrt(Settings(silicon=silicon(), release="2.23")) as host:
            _, _, kernel = opened(host, xclbin_path)
            with pytest.raises(IndexError, match="_M_range_check"):
                kernel.group_id(99)
        with emulated_pyxrt(Settings(silicon=silicon(), release="2.25")) as host:
            _, _, kernel = opened(host, xclbin_path)
            assert kernel.group_id(99) & 0xFFFF == 0xFFFF


class TestExtensions:
    def test_buffers_are_of_bank_0_and_modes_combine(self, xclbin_path: str) -> None:
        with emulated_pyxrt(Settings(silicon=silicon())) as host:
            pyxrt, device, kernel = opened(host, xclbin_path)
            mode = pyxrt.ext.access_mode
            buffer = pyxrt.ext.bo(device, 64, mode.read | mode.write)
            assert isinstance(buffer, pyxrt.bo)
            assert (mode.read | mode.write) == mode.read_write
            assert mode.read & mode.write == mode.none
            pyxrt.run(kernel).set_arg(3, buffer)
            with pytest.raises(TypeError, match="capsule"):
                pyxrt.ext.bo(device, object(), 64)

    def test_control_code_of_an_elf_needs_no_instruction_buffer(
        self, xclbin_path: str, tmp_path: Path
    ) -> None:
        path = tmp_path / "control.elf"
        path.write_bytes(elf_with(".ctrltext", fake_stream("add_one", [0, 1])))
        with emulated_pyxrt(Settings(silicon=silicon())) as host:
            pyxrt, device, plain = opened(host, xclbin_path)
            _, source, target = buffers(pyxrt, device, plain, fake_stream("add_one", [0, 1]))
            module = pyxrt.module(pyxrt.elf(str(path)))
            kernel = pyxrt.ext.kernel(pyxrt.hw_context(device, xclbin_path), module, "MLIR_AIE")
            run = pyxrt.run(kernel)
            for index, value in enumerate((3, 0, 0, source, target)):
                run.set_arg(index, value)
            run.start()
            run.wait2()
            target.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE)
            assert target.read(16, 0).view(np.int32).tolist() == [1, 2, 3, 4]
            with pytest.raises(RuntimeError, match="npu2 and later"):
                pyxrt.hw_context(device, pyxrt.elf(str(path)))
            with pytest.raises(RuntimeError, match="not a valid ELF"):
                pyxrt.elf(xclbin_path)

    def test_what_is_for_versal_says_so(self) -> None:
        with emulated_pyxrt() as host, pytest.raises(RuntimeError, match="Versal"):
            cast("Any", host.module).graph()


def elf_with(name: str, data: bytes) -> bytes:
    """A 32-bit ELF file with one section and the section names (System V ABI)."""
    names = b"\0" + name.encode() + b"\0.shstrtab\0"
    start = 52 + len(data) + len(names)
    header = b"\x7fELF\x01\x01\x01" + bytes(9)
    header += struct.pack("<HHIIIIIHHHHHH", 2, 69, 1, 0, 0, start, 0, 52, 0, 0, 40, 3, 2)
    rows = [
        bytes(40),
        struct.pack("<IIIIIIIIII", 1, 1, 0, 0, 52, len(data), 0, 0, 1, 0),
        struct.pack("<IIIIIIIIII", 2 + len(name), 3, 0, 0, 52 + len(data), len(names), 0, 0, 1, 0),
    ]
    return header + data + names + b"".join(rows)


class TestLenient:
    def test_a_swallowed_argument_is_that_of_an_earlier_run(self, xclbin_path: str) -> None:
        """kernel(3, instr, n, array): pyxrt ignores the array and the command still holds the old buffer."""
        with emulated_pyxrt(Settings(silicon=silicon(), lenient=True)) as host:
            pyxrt, device, kernel = opened(host, xclbin_path)
            instructions, source, target = buffers(pyxrt, device, kernel, fake_stream("add_one", [0, 1]))
            kernel(3, instructions, 1, source, target).wait()
            gc.collect()
            other = pyxrt.bo(device, 16, pyxrt.bo.host_only, kernel.group_id(4))
            run = kernel(3, instructions, 1, np.zeros(4, np.int32), other)
            assert run.wait().name == "ERT_CMD_STATE_COMPLETED"
            other.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE)
            assert other.read(16, 0).view(np.int32).tolist() == [1, 2, 3, 4]
            notes = host.emulation.notes
        assert any("argument 3 of kernel 'MLIR_AIE' was swallowed" in note for note in notes)
        assert any("A006: argument 3" in note and __file__ in note for note in notes)

    def test_strict_refuses_the_same(self, xclbin_path: str) -> None:
        with emulated_pyxrt(Settings(silicon=silicon())) as host:
            pyxrt, device, kernel = opened(host, xclbin_path)
            instructions, _, target = buffers(pyxrt, device, kernel, fake_stream("add_one", [0, 1]))
            with pytest.raises(TypeError, match="pyxrt would ignore this"):
                kernel(3, instructions, 1, np.zeros(4, np.int32), target)

    def test_a_strided_write_takes_the_memory_as_it_lies(self, xclbin_path: str) -> None:
        with emulated_pyxrt(Settings(silicon=silicon(), lenient=True)) as host:
            pyxrt, device, kernel = opened(host, xclbin_path)
            buffer = pyxrt.bo(device, 16, pyxrt.bo.host_only, kernel.group_id(3))
            buffer.write(np.arange(8, dtype=np.int32)[::2], 0)
            assert buffer.read(16, 0).view(np.int32).tolist() == [0, 1, 2, 3]
            with pytest.raises(ValueError, match="ignores strides"):
                buffer.write(np.arange(4, dtype=np.int32)[::-1], 0)


class TestAborts:
    def test_a_dropped_run_ends_the_process_from_2_23_on(self, xclbin_path: str) -> None:
        for release, aborts in (("2.21.75", False), ("2.23", True)):
            with emulated_pyxrt(Settings(silicon=silicon(), release=release)) as host:
                pyxrt, device, kernel = opened(host, xclbin_path)
                instructions, source, target = buffers(pyxrt, device, kernel, fake_stream("add_one", [0, 1]))
                run = kernel(3, instructions, 1, source, target)
                del run
                gc.collect()
                if aborts:
                    with pytest.raises(ProcessAborted, match="L002: a run of 'MLIR_AIE' was dropped"):
                        target.map()
                else:
                    target.map()

    def test_a_script_that_does_so_has_the_exit_code_of_an_abort(
        self, xclbin_path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "drops.py"
        path.write_text(
            "import pyxrt, sys\n"
            "context = pyxrt.hw_context(pyxrt.device(0), sys.argv[1])\n"
            "kernel = pyxrt.kernel(context, 'MLIR_AIE')\n"
            "def go():\n"
            "    kernel(3)\n"
            "try:\n"
            "    go()\n"
            "    pyxrt.bo(context, 64, 0)\n"
            "except Exception:\n"
            "    print('survived')\n"
        )
        with emulated_pyxrt(Settings(silicon=silicon(), lenient=True)) as host:
            assert run_script(str(path), [xclbin_path], host) == EXIT_ABORTED
        told = capsys.readouterr()
        assert told.out == ""
        assert f"Aborted: {path}:5: L002" in told.err

    def test_a_run_that_the_emulator_failed_is_no_abort(self, xclbin_path: str) -> None:
        """A stopped run leaves the device usable, though nobody saw its end."""

        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        machine = silicon()
        machine.behaviours["add_one"] = stop
        with emulated_pyxrt(Settings(silicon=machine)) as host:
            pyxrt, device, kernel = opened(host, xclbin_path)
            instructions, source, target = buffers(pyxrt, device, kernel, fake_stream("add_one", [0, 1]))
            with pytest.raises(KeyboardInterrupt):
                kernel(3, instructions, 1, source, target).wait()
            gc.collect()
            target.map()
            assert host.aborted is None
