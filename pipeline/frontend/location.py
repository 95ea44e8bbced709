"""MLIR locations to places in the user's file.

The parser calls the text "-"; that is the file we were given. Passes fuse locations and IREE wraps them in
call sites; the first place found inside counts. Source: mlir/lib/IR/Location.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from ..program import SourceLocation
from .mlir import Location, LocationKind, Operation, location_kind

PARSER_NAME = "-"


def locations(location: Location, file: str) -> Iterator[SourceLocation]:
    """All places that `location` is made of, outer first."""
    found = cast("Any", location)
    kind = location_kind(location)
    if kind is LocationKind.FILE:
        name = cast("str", found.filename)
        yield SourceLocation(
            file if name == PARSER_NAME else name, cast("int", found.start_line), cast("int", found.start_col)
        )
    elif kind is LocationKind.FUSED:
        for part in cast("Iterable[Location]", found.locations):
            yield from locations(part, file)
    elif kind is LocationKind.CALL_SITE:
        yield from locations(cast("Location", found.callee), file)
        yield from locations(cast("Location", found.caller), file)
    elif kind is LocationKind.NAME:
        yield from locations(cast("Location", found.child_loc), file)


def place(op: Operation, file: str) -> SourceLocation:
    """Where `op` comes from; line 0 of the file where a pass made it from nothing."""
    return next(locations(op.location, file), SourceLocation(file, 0, 0))
