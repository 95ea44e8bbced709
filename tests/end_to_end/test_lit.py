"""lit tests with FileCheck: the files under lit/, run as LLVM's lit would run them.

lit itself is not needed: a RUN line is a shell command in which %s is the file and %t a scratch name.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parent / "lit").iterdir())
_RUN = re.compile(r"^(?://|#) RUN: (.*)$", re.MULTILINE)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_the_run_lines_of_a_lit_test_succeed(file: Path, tmp_path: Path) -> None:
    commands = _RUN.findall(file.read_text())
    assert commands
    # `aiepipe` and `filecheck` of this environment
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for command in commands:
        line = command.replace("%s", str(file)).replace("%t", str(tmp_path / "t"))
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            env={**os.environ, "PATH": tools}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
