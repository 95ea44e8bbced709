"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from .sampling import mark_the_rest_slow

REPOSITORY = Path(__file__).resolve().parent.parent
# a time is no part of any test's answer, and the first draw may import or translate
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

GOLDEN = Path(__file__).resolve().parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the files in tests/golden anew; look at the diff"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_the_rest_slow(items)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: the text is that of tests/golden/NAME, a file that people read."""

    def check(name: str, text: str) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"{file} is not there; run once with --update-golden"
        assert text == file.read_text(encoding="utf-8"), "if the new text is right: --update-golden"

    return check


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
