"""Where commands of the docs run: a folder with the samples, and the programs of this Python."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "aiepipe": "-m aiepipe",
    "filecheck": "-m filecheck",
    "lit": "-c 'import lit.main; lit.main.main()'",
    "pytest": "-m pytest -p no:cacheprovider",
    "python": "",
}
"""Programs that pages call, as arguments of the Python that runs the tests."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a reader has who stands in a checkout: the samples. They are copies, as pages write files."""
    shutil.copytree(ROOT / "mlir", tmp_path / "work" / "mlir")
    return tmp_path / "work"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return environment_below(tmp_path)


def environment_below(folder: Path) -> dict[str, str]:
    """No colour, no configuration of the user, and the programs of this Python first."""
    programs = folder / "bin"
    programs.mkdir()
    for name, arguments in PROGRAMS.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIEPIPE_", "PYTEST_"))}
    cache = os.environ.get("AIEPIPE_CACHE_DIR", str(folder / "cache"))
    path = f"{programs}:{os.environ['PATH']}"
    return kept | {"PATH": path, "HOME": str(folder), "NO_COLOR": "1", "AIEPIPE_CACHE_DIR": cache}
