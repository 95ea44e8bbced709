"""What happens to buffers in a HAL program: ops that change one, dispatches, results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..frontend.arithmetic import Number
from ..program import SourceLocation
from .values import BufferRange, HalBuffer


@dataclass(frozen=True, slots=True)
class Place:
    """A byte range of a buffer that an op touches; `slot` where the buffer is not known."""

    buffer: HalBuffer | None
    offset_bytes: int | None
    length_bytes: int | None
    slot: int | None = None


@dataclass(frozen=True, slots=True)
class Touch:
    """An op that changes a buffer."""

    form: str
    kind: str
    target: Place
    source: Place | None
    pattern: Number | None
    pattern_type: str | None
    location: SourceLocation
    places: frozenset[SourceLocation]


@dataclass(frozen=True, slots=True)
class DispatchRun:
    """A dispatch: its entry point, push constants and bindings."""

    name: str
    constants: tuple[Number | None, ...]
    bindings: tuple[Place, ...]
    location: SourceLocation
    places: frozenset[SourceLocation]


Recorded = Touch | DispatchRun


@dataclass(frozen=True, slots=True)
class Happening:
    """What happens to buffers, where in the program, and when."""

    what: Recorded
    function: str
    when: str


@dataclass(frozen=True, slots=True)
class Returned:
    """A result of a function and the range it lives in."""

    function: str
    index: int
    range: BufferRange


def sum_known(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def resolved(what: Recorded, slots: Sequence[Place]) -> Recorded:
    """The record with slots replaced by the buffers of one submission."""

    def fill_in(part: Place) -> Place:
        if part.slot is None or part.slot >= len(slots):
            return part
        slot = slots[part.slot]
        return Place(slot.buffer, sum_known(slot.offset_bytes, part.offset_bytes), part.length_bytes)

    if isinstance(what, DispatchRun):
        bindings = tuple(fill_in(part) for part in what.bindings)
        return DispatchRun(what.name, what.constants, bindings, what.location, what.places)
    return Touch(
        what.form,
        what.kind,
        fill_in(what.target),
        what.source and fill_in(what.source),
        what.pattern,
        what.pattern_type,
        what.location,
        what.places,
    )
