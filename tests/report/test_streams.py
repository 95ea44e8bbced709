"""Streams that are closed or left early, as a shell does it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MATMUL = str(Path(__file__).parents[2] / "mlir" / "matmul.mlir")
WRONG = (
    "build-run", MATMUL, "--input=64x16xi32=1", "--input=16x64xi32=2", "--expected-output=64x64xi32=40"
)  # fmt: skip


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/bash", "-c", line], capture_output=True, text=True, check=False, timeout=120)


AIEPIPE = f"{sys.executable} -m aiepipe"


def test_a_reader_that_leaves_does_not_change_the_exit_code() -> None:
    done = shell(f"{AIEPIPE} --help | true; echo ${{PIPESTATUS[0]}}")
    assert done.stdout == "0\n"
    assert done.stderr == ""


def test_wrong_numbers_stay_wrong_without_a_reader() -> None:
    done = shell(f"{AIEPIPE} {' '.join(WRONG)} | head -n 1; echo ${{PIPESTATUS[0]}}")
    assert done.stdout.splitlines()[-1] == "1"
    assert done.stderr == ""


def test_closed_streams_are_no_fault() -> None:
    assert shell(f"{AIEPIPE} {' '.join(WRONG)} >&-").returncode == 1
    assert shell(f"{AIEPIPE} {' '.join(WRONG)} <&- >&- 2>&-").returncode == 1
    assert shell(f"{AIEPIPE} build-run no-such-file.mlir 2>&-").returncode == 2
