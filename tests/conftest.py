"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


def _outside(variable: str, name: str) -> Path:
    """A folder that is no part of the repository: named by `variable`, else beside the checkout."""
    named = os.environ.get(variable)
    folder = Path(named) if named else REPOSITORY.parent / "shared" / name
    if not folder.is_dir():
        pytest.skip(f"no {folder}: real artifacts are not part of the repository; set {variable}")
    return folder


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Real artifacts that other toolchains made. Skips where they are missing."""
    return _outside("AIEPIPE_CORPUS", "corpus")


@pytest.fixture(scope="session")
def reports() -> Path:
    """Small inputs from public reports. Skips where they are missing."""
    return _outside("AIEPIPE_REPORTS", "reports")
