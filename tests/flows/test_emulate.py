"""`aiepipe emulate` as a command: streams, exit codes, JSON, options before, arguments after."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from aiepipe.cli import run_command

DIRTY = """
import sys
import numpy as np
import pyxrt

print("hello", sys.argv[1:])
device = pyxrt.device(0)
context = pyxrt.hw_context(device, sys.argv[1])
kernel = pyxrt.kernel(context, "MLIR_AIE")
words = np.fromfile(sys.argv[2], np.uint32)
stream = pyxrt.bo(device, words.nbytes, pyxrt.bo.cacheable, kernel.group_id(1))
stream.write(words, 0)
stream.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE)
data = [pyxrt.bo(device, 8192, pyxrt.bo.host_only, kernel.group_id(3 + i)) for i in range(3)]
data[2].write(np.zeros(8192, np.uint8), 0)
kernel(3, stream, words.size, *data).wait2()
sys.exit(int(sys.argv[3]))
"""


@pytest.fixture
def dirty(corpus: Path, tmp_path: Path) -> list[str]:
    """A program that clears its output and syncs nothing: the seed bug."""
    path = tmp_path / "dirty.py"
    path.write_text(DIRTY)
    case = corpus / "add-bf16"
    return [str(path), str(case / "final.xclbin"), str(case / "insts.bin")]


def test_findings_on_stderr_and_the_programs_own_exit_code(
    dirty: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["emulate", *dirty, "7", "--json"]) == 7
    told = capfd.readouterr()
    assert told.out.startswith("hello [")
    assert "--json" in told.out
    assert "S002 error DIRTY_OUTPUT_LINE" in told.err
    assert f"{dirty[0]}:15" in told.err
    assert "repeat with: aiepipe emulate" in told.err


def test_json_is_all_of_stdout(dirty: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["emulate", "--json", "--xrt-version", "2.23", *dirty, "0"]) == 0
    told = capfd.readouterr()
    document = json.loads(told.out)
    assert document["command"] == "emulate"
    assert "S002" in [finding["hazard"] for finding in document["findings"]]
    assert "pyxrt 2.23" in document["device"]["detail"]
    assert "hello" in told.err


def test_sarif_names_the_line_of_the_program(dirty: list[str], tmp_path: Path) -> None:
    path = tmp_path / "found.sarif"
    assert run_command(["emulate", "--sarif", str(path), *dirty, "0"]) == 0
    (run,) = json.loads(path.read_text())["runs"]
    (found,) = [result for result in run["results"] if result["ruleId"] == "S002"]
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("dirty.py")


ENDINGS = {
    "opcode": (
        "run = kernel(1, stream, words.size, *data)\nprint(run.wait().name)\n",
        0,
        ["run 1 of 'MLIR_AIE' ended ERT_CMD_STATE_ERROR", "the firmware knows 3"],
    ),
    "dropped": (
        "run = kernel(3, stream, words.size, *data)\nsys.exit('bye')\n",
        1,
        ["L002 error RUN_DROPPED", "dirty.py:16)"],
    ),
    "unset": (
        "kernel(3, stream, words.size, *data[:2]).wait()\n",
        1,
        ["A006 error ARGUMENT_NEVER_SET", "dirty.py:16)"],
    ),
    "float": (
        "kernel(3, stream, words.size, *data, 3.5).wait()\n",
        1,
        ["A005 error WRONG_VALUE", "set to float 3.5"],
    ),
    "threads": (
        "import threading\n"
        "def work():\n"
        "    run = kernel(3, stream, words.size, *data)\n"
        "    run.wait()\n"
        "    data[2].sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE)\n"
        "both = [threading.Thread(target=work) for _ in range(2)]\n"
        "[one.start() for one in both]\n"
        "[one.join() for one in both]\n",
        0,
        ["S002 error DIRTY_OUTPUT_LINE"],
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_how_a_program_may_end(dirty: list[str], capfd: pytest.CaptureFixture[str], ending: str) -> None:
    rest, code, told = ENDINGS[ending]
    head = DIRTY.partition("kernel(3,")[0]
    Path(dirty[0]).write_text(head + rest)
    assert run_command(["emulate", *dirty]) == code
    error = capfd.readouterr().err
    assert all(part in error for part in told), error
    assert "contexts.py" not in error  # pyxrt has no frames
    assert "D001" not in error


def test_a_hazard_can_fail_the_command(dirty: list[str]) -> None:
    assert run_command(["emulate", "--fail-on", "hazard", *dirty, "0"]) == 5
    assert run_command(["emulate", "--fail-on", "hazard", "--suppress", "S002", *dirty, "0"]) == 0
    assert run_command(["emulate", "--fail-on", "hazard", "--coherency", "coherent", *dirty, "0"]) == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--coherency", "magic"], "no coherency policy is called 'magic'"),
        (["--xrt-version", "1.0"], "no XRT release '1.0'"),
        (["--engine", "steam"], "no engine is called 'steam'"),
        (["--fail-on", "rain"], "is no condition of a run"),
        ([], "cannot be read"),
    ],
)
def test_usage(options: list[str], told: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["emulate", *options, "/nowhere.py"]) == 2
    assert told in capfd.readouterr().err


@pytest.mark.slow
def test_the_module_is_the_same_command(tmp_path: Path) -> None:
    program = "import pyxrt; print(pyxrt.enumerate_devices())"
    done = subprocess.run(
        [sys.executable, "-m", "aiepipe.xrt", "-"], input=program, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "no sync hazard found" in done.stderr
