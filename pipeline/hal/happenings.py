"""What happens to buffers in a HAL program: ops that change one, dispatches, results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..frontend.arithmetic import Number
from ..program import SourceLocation
from .values import BufferRange, HalBuffer, alternatives, sum_known


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

    @property
    def place(self) -> Place:
        """The range as what writes touch."""
        return Place(self.range.buffer, self.range.offset_bytes, self.range.length_bytes)


def resolved(what: Recorded, slots: Sequence[Place]) -> Recorded:
    """The record with slots replaced by the buffers of one submission."""

    def fill_in(part: Place) -> Place:
        if part.slot is None or part.slot >= len(slots):
            return part
        slot = slots[part.slot]
        return Place(slot.buffer, sum_known(slot.offset_bytes, part.offset_bytes), part.length_bytes)

    return _mapped(what, fill_in)


def settled(what: Recorded) -> Recorded:
    """The record with choices that turned out to be none replaced by what they are."""
    return _mapped(what, _settled_place)


def one_by_one(place: Place) -> tuple[Place, ...]:
    """The places that one which a branch chooses may be; any other is just itself."""
    if place.buffer is None or not place.buffer.one_of:
        return (place,)
    found = alternatives(BufferRange(place.buffer, place.offset_bytes, place.length_bytes))
    return tuple(Place(part.buffer, part.offset_bytes, place.length_bytes) for part in found)


def _settled_place(part: Place) -> Place:
    found = one_by_one(part)
    return found[0] if len(found) == 1 else part


def _mapped(what: Recorded, place: Callable[[Place], Place]) -> Recorded:
    if isinstance(what, DispatchRun):
        return replace(what, bindings=tuple(place(part) for part in what.bindings))
    return replace(what, target=place(what.target), source=what.source and place(what.source))
