"""The sanitizer around a real pyxrt; the emulated one stands for it, as it has the same names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from aiepipe.formats.instructions import parse_instructions
from aiepipe.formats.stream_accesses import stream_accesses
from aiepipe.verdict import SyncFinding
from aiepipe.xrt import emulated
from aiepipe.xrt.emulation import Settings, emulation
from aiepipe.xrt.events import DeviceRead, DeviceWrite, Event, RunStarted
from aiepipe.xrt.hosting import run_script
from aiepipe.xrt.sanitized import sanitized_module, sanitized_pyxrt
from aiepipe.xrt.surface import pyxrt_module

from .fake_silicon import fake_stream, fake_xclbin
from .programs import silicon

HOST_PROGRAMS = Path(__file__).parent / "host_programs"

ADD = "mlir_aie_add.py", "add-bf16", "insts.bin", ("-x", "-i")
SUM = "triton_xdna_launcher.py", "reduce-add-i32", "insts.txt", ()


def run(
    corpus: Path, program: tuple[str, str, str, tuple[str, ...]], folder: Path, removed: str = ""
) -> tuple[int, tuple[SyncFinding, ...], Path]:
    name, case, insts, options = program
    text = (HOST_PROGRAMS / name).read_text()
    path = folder / name
    if removed:
        text = text.replace(removed, removed[: len(removed) - len(removed.lstrip())] + "pass", 1)
    path.write_text(text)
    files = [str(corpus / case / "final.xclbin"), str(corpus / case / insts)]
    arguments = [w for pair in zip(options, files, strict=True) for w in pair] if options else files
    with emulation(Settings(seed=1)), sanitized_pyxrt(pyxrt_module()) as watch:
        code = run_script(str(path), arguments, watch)
    return code, watch.findings, path


@pytest.mark.parametrize("program", [ADD, SUM], ids=lambda program: program[0])
def test_nothing_is_found_in_programs_that_sync(
    corpus: Path, tmp_path: Path, program: tuple[str, str, str, tuple[str, ...]]
) -> None:
    code, findings, _ = run(corpus, program, tmp_path)
    assert code == 0
    assert [f for f in findings if f.severity.value == "error"] == []


@pytest.mark.parametrize(
    ("program", "removed", "hazard", "buffer"),
    [
        (ADD, "        a.to_npu()", "S001", "argument 3"),
        (ADD, "        c.to_npu()", "S002", "argument 5"),
        (ADD, "    bo_instr.sync(TO)", "S001", "instructions"),
        (ADD, "        self.bo.sync(FROM)", "S003", "argument 5"),
        (SUM, "            buffer.sync(TO_DEVICE)", "S002", "argument 4"),
    ],
)
def test_a_missing_sync_is_found_at_a_line_of_the_program(
    corpus: Path,
    tmp_path: Path,
    program: tuple[str, str, str, tuple[str, ...]],
    removed: str,
    hazard: str,
    buffer: str,
) -> None:
    _, findings, path = run(corpus, program, tmp_path, removed)
    found = [f for f in findings if f.hazard == hazard and f"({buffer} of" in f.buffer]
    assert found, [(f.hazard, f.buffer) for f in findings]
    assert (found[0].current.site or "").startswith(f"{path}:")


@pytest.mark.parametrize(
    ("case", "insts", "sizes"),
    [
        ("add-bf16", "insts.bin", (8192, 8192, 8192)),
        ("reduce-add-i32", "insts.txt", (4096, 4)),
        pytest.param("gemm256-i16-1core", "insts.bin", (131072, 131072, 262144), marks=pytest.mark.slow),
        ("iree-seed-matmul-i32", "insts.txt", (16384, 16384, 16384)),
    ],
)
def test_what_the_stream_says_is_what_the_array_does(
    corpus: Path, case: str, insts: str, sizes: tuple[int, ...]
) -> None:
    """The ranges that the emulated array touched, byte for byte."""
    data = (corpus / case / insts).read_bytes()
    declared: dict[tuple[int, bool], set[int]] = {}
    for access in stream_accesses(parse_instructions(data)):
        assert access.ranges is not None
        touched = declared.setdefault((access.argument, access.writes), set())
        for low, length in access.ranges:
            touched.update(range(low, low + length))
    assert touched_by_the_array(corpus / case / "final.xclbin", data, sizes) == declared


def touched_by_the_array(
    xclbin: Path, data: bytes, sizes: tuple[int, ...]
) -> dict[tuple[int, bool], set[int]]:
    events: list[Event] = []
    with emulation(Settings(seed=1)) as current:
        current.events.observers.append(events.append)
        device = emulated.device(0)
        context = emulated.hw_context(device, emulated.xclbin(str(xclbin)))
        kernel = emulated.kernel(context, context.image.kernels[0].name)
        image = kernel.image
        words = np.frombuffer(current.silicon.binary(data), np.uint32)
        to = emulated.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
        stream = emulated.bo(
            device, words.nbytes, emulated.bo.cacheable, kernel.group_id(image.instruction_index)
        )
        stream.write(words, 0)
        stream.sync(to)
        run = emulated.run(kernel)
        if image.instruction_index:
            run.set_arg(0, 3)
        run.set_arg(image.instruction_index, stream)
        run.set_arg(image.count_index, words.size)
        for number, size in enumerate(sizes):
            index = image.first_data_index + number
            run.set_arg(index, emulated.bo(device, size, emulated.bo.host_only, kernel.group_id(index)))
        run.start()
        run.wait2()
    started = next(event for event in events if isinstance(event, RunStarted))
    of = {a.allocation: a.index - image.first_data_index for a in started.arguments if not a.instructions}
    found: dict[tuple[int, bool], set[int]] = {}
    for event in events:
        if isinstance(event, (DeviceRead, DeviceWrite)) and event.allocation in of:
            key = of[event.allocation], isinstance(event, DeviceWrite)
            where = range(event.offset_bytes, event.offset_bytes + event.length_bytes)
            found.setdefault(key, set()).update(where)
    return found


def test_the_module_has_the_real_names_and_passes_the_rest_on(tmp_path: Path) -> None:
    path = tmp_path / "final.xclbin"
    path.write_bytes(fake_xclbin("MLIR_AIE", buffers=5))
    with emulation(Settings(silicon=silicon())):
        made, watch = sanitized_module(pyxrt_module())
        pyxrt = cast("Any", made)
        assert {name for name in dir(pyxrt_module()) if name[0] != "_"} <= set(dir(pyxrt))
        assert pyxrt.bo.host_only is emulated.bo.host_only
        device = pyxrt.device(0)
        context = pyxrt.hw_context(device, str(path))
        kernel = pyxrt.kernel(context, "MLIR_AIE")
        buffer = pyxrt.bo(device, 256, pyxrt.bo.host_only, kernel.group_id(3))
        window = pyxrt.bo(buffer, 64, 128)
        assert (buffer.size(), window.address() - buffer.address()) == (256, 128)
        stream = fake_stream("add_one", [0, 1])
        instructions = pyxrt.ext.bo(device, len(stream))
        with pytest.raises(RuntimeError, match="needs memory bank 1"):
            pyxrt.run(kernel).set_arg(1, instructions)
        together = pyxrt.runlist(context)
        with pytest.raises(RuntimeError, match="empty"):
            together.execute()
        assert watch.findings == ()


@pytest.mark.parametrize("waits", [True, False])
def test_a_run_that_is_started_twice_or_dropped_is_told_of_the_real_device_too(
    tmp_path: Path, *, waits: bool
) -> None:
    path = tmp_path / "final.xclbin"
    path.write_bytes(fake_xclbin("MLIR_AIE", buffers=2))
    with emulation(Settings(silicon=silicon())):
        made, watch = sanitized_module(pyxrt_module())
        pyxrt = cast("Any", made)
        device = pyxrt.device(0)
        uuid = device.register_xclbin(pyxrt.xclbin(str(path)))
        kernel = pyxrt.kernel(pyxrt.hw_context(device, uuid), "MLIR_AIE")
        stream = fake_stream("add_one", [0, 1])
        instructions = pyxrt.bo(device, len(stream), pyxrt.bo.cacheable, kernel.group_id(1))
        instructions.write(stream, 0)
        instructions.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE)
        run = pyxrt.run(kernel)
        data = [pyxrt.bo(device, 64, pyxrt.bo.host_only, kernel.group_id(3)) for _ in range(2)]
        for index, value in enumerate((3, instructions, len(stream) // 4, *data)):
            run.set_arg(index, value)
        run.start()
        if waits:
            run.wait()
        else:
            with pytest.raises(RuntimeError, match="bad command state"):
                run.start()
        del run
        found = {finding.hazard for finding in watch.findings} & {"L002", "L005"}
        assert found == (set() if waits else {"L002", "L005"})
