"""What happened when, as plain data: made by emulator/ and xrt/, shown by report/ (`--trace`).

Times are cycles of the array as the emulator estimates them. A track belongs to a process (a tile, the
host); spans of one track nest or follow each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

TrackKind = Literal["host", "controller", "core", "instructions", "dma", "lock"]


@dataclass(frozen=True, slots=True)
class Track:
    """One line of the picture: `process` "core (0,2)", `name` "S2MM 0"."""

    process: str
    name: str
    kind: TrackKind


Details = tuple[tuple[str, str | int], ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Something that lasted from `start` to `end`."""

    track: Track
    name: str
    start: int
    end: int
    details: Details = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at one time."""

    track: Track
    name: str
    time: int
    details: Details = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A counter (a lock) changed by `delta`; its value is the sum of the changes in order of time."""

    track: Track
    time: int
    delta: int


@dataclass(slots=True)
class Timeline:
    """Events in the order in which they were recorded. `cut`: there were more than are kept."""

    limit: int = 1_000_000
    spans: list[Span] = field(default_factory=list[Span])
    marks: list[Mark] = field(default_factory=list[Mark])
    changes: list[Change] = field(default_factory=list[Change])
    cut: bool = False
    end: int = 0
    """The latest time of all."""

    def add(self, event: Span | Mark | Change) -> None:
        """Keeps the event while there is room."""
        if len(self.spans) + len(self.marks) + len(self.changes) >= self.limit:
            self.cut = True
            return
        match event:
            case Span():
                self.spans.append(event)
                self.end = max(self.end, event.end)
            case Mark():
                self.marks.append(event)
                self.end = max(self.end, event.time)
            case Change():
                self.changes.append(event)
                self.end = max(self.end, event.time)
