"""`inspect --diff-compiler`: another IREE answers the same questions."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from aiepipe.errors import CompileError, UsageError
from aiepipe.flows.compiler_wheels import Tools
from aiepipe.flows.inspect import InspectOptions, inspect
from aiepipe.flows.other_compiler import packages

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"
FILL = str(SAMPLES / "fill.mlir")


def installed() -> Path:
    """The folder of packages that has the compiler of this environment."""
    spec = importlib.util.find_spec("iree.compiler")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parents[2]


class Shelf:
    """Releases that are below a folder, and nowhere else."""

    def __init__(self, *ready: str, folder: Path = Path("nowhere")) -> None:
        self._ready = ready
        self._folder = folder

    def versions(self) -> list[str]:
        return list(self._ready)

    def is_ready(self, version: str) -> bool:
        return version in self._ready

    def tools(self, version: str) -> Tools:
        return Tools(self._folder / "bin" / "iree-compile", None)


def refuses(question: str) -> bool:
    assert "MB to download" in question
    return False


def a_package(folder: Path, text: str) -> Path:
    package = folder / "iree" / "compiler"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(text)
    return folder


def test_a_folder_with_the_same_compiler_says_the_same() -> None:
    report = inspect(InspectOptions(FILL, diff_compiler=str(installed())))
    assert report.difference is not None
    assert report.difference.changes == ()
    assert report.difference.questions > 4
    assert report.difference.after == f"{FILL} (iree-base-compiler {installed()})"


def test_a_release_is_asked_for_before_it_is_fetched() -> None:
    with pytest.raises(UsageError, match="nothing was fetched"):
        packages("3.8.0", Shelf(), refuses)


def test_a_release_that_is_here_is_not_asked_for(tmp_path: Path) -> None:
    """An environment has its packages below lib; what is found there must be what is loaded."""
    folder = tmp_path / "lib" / "python3.99" / "site-packages"
    a_package(folder, "")
    (folder / "iree" / "compiler" / "ir.py").write_text("")
    assert packages("3.8.0", Shelf("3.8.0", folder=tmp_path), refuses) == folder


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise ImportError('built for Python 2')", "cannot be loaded: ImportError: built for Python 2"),
        ("", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_package_that_cannot_be_loaded_is_told(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        packages(str(a_package(tmp_path, text)), Shelf(), refuses)
    assert "Python" in str(caught.value.remedy)


def test_a_folder_without_a_compiler_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither a release nor a folder with iree/compiler"):
        packages(str(tmp_path), Shelf(), refuses)


def test_a_report_has_been_compiled_already(tmp_path: Path) -> None:
    path = tmp_path / "earlier.json"
    path.write_text("{}")
    with pytest.raises(UsageError, match="--diff-compiler compiles"):
        inspect(InspectOptions(FILL, diff=str(path), diff_compiler=str(installed())))


def test_an_error_says_which_compiler_had_it(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mlir"
    broken.write_text("func.func @f() -> tensor<4xi32> { return }")
    with pytest.raises(CompileError) as caught:
        inspect(InspectOptions(FILL, diff=str(broken), diff_compiler=str(installed())))
    assert caught.value.message.startswith(f"with iree-base-compiler {installed()}: 'func.return'")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    os.environ.get("AIEPIPE_TEST_BISECT") != "1",
    reason="fetches compiler releases of 0.5 GB each; set AIEPIPE_TEST_BISECT=1",
)
def test_a_lone_fill_ran_at_each_call_up_to_3_8() -> None:
    """The answer is public: iree-base-compiler hoists a constant fill to start-up from 3.9 on."""
    found: dict[str, str | None] = {}
    for release in ("3.8.0", "3.9.0"):
        report = inspect(InspectOptions(FILL, diff_compiler=release, yes=True))
        assert report.difference is not None
        changes = {change.question: change.after for change in report.difference.changes}
        found[release] = changes.get("result 0 of @fill")
    assert found == {"3.8.0": "fill by hal.device.queue.fill at each call", "3.9.0": None}
