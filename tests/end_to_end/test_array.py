"""--check, --fail-on array and --trace through the command line, on somebody else's binary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aiepipe.formats import pdi, xclbin
from aiepipe.npu.descriptors import BufferDescriptor

from ..emulator.designs import MM2S, S2MM, Design, compute, dma, memtile, north, south
from ..emulator.programs import OWN_LOCK, program, release
from ..report.test_trace_json import check_nesting, load
from .conftest import Cli


def arguments(corpus: Path, tmp_path: Path) -> list[str]:
    """reduce-add-i32 of the corpus: 1024 numbers in, their sum out."""
    case = next(
        c for c in json.loads((corpus / "cases.json").read_text())["cases"] if c["name"] == "reduce-add-i32"
    )
    np.save(tmp_path / "a.npy", np.arange(1024, dtype=np.int32))
    return [
        "run", "--xclbin", str(corpus / case["xclbin"]), "--insts", str(corpus / case["insts"]),
        "--arg", f"in:1024xi32=@{tmp_path}/a.npy", "--arg", "out:1xi32",
    ]  # fmt: skip


@pytest.mark.parametrize("instructions", [False, True])
def test_the_trace_of_a_binary(cli: Cli, corpus: Path, tmp_path: Path, instructions: bool) -> None:
    file = tmp_path / "trace.json"
    options = ["--trace", str(file), *(["--trace-instructions"] if instructions else []), "--check"]
    done = cli(*arguments(corpus, tmp_path), *options, "--fail-on", "array,hazard", "--json")
    assert done.code == 0, done.err
    assert done.document["array_findings"] == []
    events = load(file.read_text())
    check_nesting(events)
    processes = {e["args"]["name"]: e["pid"] for e in events if e["name"] == "process_name"}
    assert {"host", "controller", "shim (0,0)", "core (0,2)"} <= set(processes)
    names = {e["name"] for e in events if e["pid"] == processes["host"]}
    assert any(name.startswith("sync to device") for name in names)
    assert any(e["ph"] == "X" and e["pid"] == processes["controller"] for e in events)
    threads = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {"core", "S2MM 0", "MM2S 0", "runs", "calls"} <= threads
    assert ("instructions" in threads) is instructions


def built(design: Design, folder: Path, buffers: int) -> list[str]:
    file = xclbin.build(pdi.from_files([design.cdo]).encode(), kernel="K", buffers=buffers).encode()
    (folder / "k.xclbin").write_bytes(file)
    (folder / "k.insts").write_bytes(design.stream.encode())
    return ["run", "--xclbin", str(folder / "k.xclbin"), "--insts", str(folder / "k.insts")]


def sending(*, lock: int) -> Design:
    """A core gives a lock, whereupon its DMA sends four words that nobody wrote."""
    design = Design()
    design.shim_out(0, 0, north(0))
    design.tokens()
    design.connect(memtile(), north(0), south(0))
    design.connect(compute(), dma(0), south(0))
    design.bd(compute(), 0, BufferDescriptor(0x400, 4, acquire_enable=True, acquire_lock=0, acquire_value=-1))
    design.start(compute(), MM2S, 0, 0)
    program(design, compute(), *release(OWN_LOCK + lock))
    design.transfer(S2MM, 0, 4)
    design.sync()
    return design


def test_a_finding_is_shown_and_can_fail_the_command(cli: Cli, tmp_path: Path) -> None:
    command = [*built(sending(lock=0), tmp_path, 1), "--arg", "out:4xi32"]
    done = cli(*command)
    assert done.code == 0
    assert "unwritten" not in done.out
    done = cli(*command, "--check")
    assert done.code == 0
    says = "unwritten-read core (0,2) MM2S 0 BD 0 reads 4 words that nobody wrote, the first at 0x400"
    assert f"array\n  {says}\n" in done.out
    done = cli(*command, "--check", "--fail-on", "array", "--json")
    assert done.code == 5
    assert done.err.splitlines()[-1] == "--fail-on array: unwritten-read (core (0,2))"
    found: dict[str, Any] = done.document["array_findings"][0]
    assert (found["kind"], found["tile"], found["descriptor"]) == ("unwritten-read", "core (0,2)", 0)
    assert "--check" in done.document["repeat_with"]


def test_a_deadlock_leaves_its_trace_and_its_picture(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    done = cli(*built(sending(lock=1), tmp_path, 1), "--arg", "out:4xi32", "--trace", str(file))
    assert done.code == 4
    assert "core (0,2) MM2S 0 BD 0 waits for lock 0 of core (0,2) >= 1, which is 0" in done.err
    assert "chain of waiting: shim (0,0) S2MM 0 -> core (0,2) MM2S 0" in done.err
    assert any(event["name"] == "lock 1" for event in load(file.read_text()))


def test_a_run_that_never_ends_is_stopped_by_timeout_with_the_picture(cli: Cli, tmp_path: Path) -> None:
    design = sending(lock=1)
    program(design, compute(), "again:", "j again")
    done = cli(*built(design, tmp_path, 1), "--arg", "out:4xi32", "--timeout", "0.5")
    assert done.code == 4
    assert "the run was stopped at its time limit" in done.err
    assert "core (0,2) MM2S 0 BD 0 waits for lock 0 of core (0,2) >= 1, which is 0" in done.err
    assert "core (0,2) at pc 0x" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fail-on", "weather"], "--fail-on weather is no condition of a run"),
        (["--trace-instructions"], "--trace-instructions belongs to --trace"),
    ],
)
def test_options_that_make_no_sense(cli: Cli, tmp_path: Path, options: list[str], message: str) -> None:
    done = cli(*built(sending(lock=0), tmp_path, 1), "--arg", "out:4xi32", *options)
    assert done.code == 2
    assert message in done.err


HOST = """
import sys
import numpy as np
import pyxrt

device = pyxrt.device(0)
context = pyxrt.hw_context(device, sys.argv[1])
kernel = pyxrt.kernel(context, "K")
words = np.fromfile(sys.argv[2], np.uint32)
stream = pyxrt.bo(device, words.nbytes, pyxrt.bo.cacheable, kernel.group_id(1))
stream.write(words, 0)
stream.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE)
out = pyxrt.bo(device, 16, pyxrt.bo.host_only, kernel.group_id(3))
kernel(3, stream, words.size, out).wait()
out.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE)
"""


def test_a_pyxrt_program_is_watched_and_traced_too(cli: Cli, tmp_path: Path) -> None:
    built(sending(lock=0), tmp_path, 1)
    (tmp_path / "host.py").write_text(HOST)
    program = [str(tmp_path / name) for name in ("host.py", "k.xclbin", "k.insts")]
    trace = tmp_path / "trace.json"
    done = cli("emulate", "--check", "--fail-on", "hazard,array", "--trace", str(trace), *program)
    assert done.code == 5
    assert "aiepipe: 1 finding in the array\nunwritten-read core (0,2) MM2S 0 BD 0 reads 4 words" in done.err
    assert "--fail-on hazard,array: unwritten-read (core (0,2))" in done.err
    assert "repeat with: aiepipe emulate --xrt-version 2.26 --coherency-seed 0 --check " in done.err
    events = load(trace.read_text())
    check_nesting(events)
    assert {"core (0,2)", "host"} <= {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert any("host.py:14" in str(e.get("args")) for e in events if e["name"] == "start")
    done = cli("emulate", "--check", "--json", *program)
    assert done.code == 0
    assert [found["kind"] for found in done.document["array_findings"]] == ["unwritten-read"]
    assert cli("emulate", "--fail-on", "array", *program).code == 0


def test_what_only_the_emulated_array_tells_is_refused_on_hardware(cli: Cli, tmp_path: Path) -> None:
    for option in (["--check"], ["--trace", str(tmp_path / "t.json")]):
        done = cli("emulate", "--hardware", *option, "host.py")
        assert done.code == 2
        assert f"{option[0]} watches the emulated device" in done.err


def test_a_timeline_that_cannot_be_written_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    design = sending(lock=0)
    done = cli(*built(design, tmp_path, 1), "--arg", "out:4xi32", "--trace", f"{tmp_path}/file/run.json")
    assert done.code == 2
    assert "cannot write" in done.err
    assert "choose a place that can be written to" in done.err
