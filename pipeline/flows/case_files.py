"""From what the user names, folders and files, to the test cases in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import AiepipeError, UsageError
from ..testing.case import Case
from ..testing.header import MARKER, read_cases
from .source import read_source

ENDING = ".mlir"


@dataclass(frozen=True, slots=True)
class FoundCases:
    """Cases in the order of files and lines; `errors` are headers that cannot be read; `without` counts
    the files of folders that have no test header."""

    cases: tuple[Case, ...]
    errors: tuple[AiepipeError, ...]
    without: int


def find_cases(paths: Sequence[str]) -> FoundCases:
    """The cases of all files and, recursively, folders.

    Raises UsageError for a path that is not there and for a file named by itself that has no tests.
    """
    cases: list[Case] = []
    errors: list[AiepipeError] = []
    without = 0
    for name, asked_for in dict(_files(paths)).items():
        try:
            found = read_cases(name, read_source(name).text)
        except AiepipeError as error:
            errors.append(error)
            continue
        if not found and asked_for:
            raise UsageError(
                f"{name} has no test header",
                remedy=f"add // {MARKER} and directives; see docs/tests-in-mlir.md",
            )
        without += not found
        cases += found
    return FoundCases(tuple(cases), tuple(errors), without)


def _files(paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each file once, and whether it was named by itself."""
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise UsageError(f"there is no {name}", remedy="name .mlir files or folders of them")
        if path.is_dir():
            files = sorted(p for p in path.rglob(f"*{ENDING}") if p.is_file() and not _hidden(p, path))
            yield from ((str(p), False) for p in files)
        else:
            yield name, True


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)
