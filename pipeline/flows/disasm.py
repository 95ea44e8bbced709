"""`aiepipe disasm`: the programs of cores in an ELF, xclbin, PDI, CDO or IREE module."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..description import Listing, Program
from ..errors import UsageError
from ..explain.artifact import kind_name
from ..explain.listing import list_programs
from .artifact_file import naming, read_artifact


@dataclass(frozen=True, slots=True)
class DisasmOptions:
    """`core` is "COLUMN,ROW", None for all."""

    file: str
    core: str | None = None


def disasm(options: DisasmOptions) -> Listing:
    """Reads the file and lists its programs.

    Raises UsageError: no such file or core; ArtifactError: a bad artifact, or one without programs.
    """
    wanted = None if options.core is None else _place(options.core)
    file, data = read_artifact(options.file)
    with naming(file):
        kind = kind_name(data)
        programs = list_programs(data, kind)
    return Listing(file, kind, programs if wanted is None else _only(programs, wanted, file))


def _place(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"\(?(\d{1,3}),\s*(\d{1,3})\)?", text)
    if match is None:
        raise UsageError(f"--core {text!r} is no place of a core", remedy="give COLUMN,ROW, for example 0,2")
    return int(match[1]), int(match[2])


def _only(programs: tuple[Program, ...], place: tuple[int, int], file: str) -> tuple[Program, ...]:
    there = [p for p in programs if p.core is not None]
    found = tuple(p for p in there if p.core is not None and (p.core.column, p.core.row) == place)
    if found:
        return found
    names = ", ".join(dict.fromkeys(str(p.core) for p in there))
    if programs and not there:
        raise UsageError(
            f"{file} is the program of one core and does not say of which", remedy="leave --core out"
        )
    raise UsageError(
        f"{file} has no program for core ({place[0]},{place[1]})", remedy=f"it has: {names or 'none at all'}"
    )
