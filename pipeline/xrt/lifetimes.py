"""What outlives what: buffers freed while a run may use them, views that outlive their buffer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..verdict import AccessRecord, Confidence
from .events import Nested, Site
from .findings import Findings
from .flights import Flights
from .shadow import Shadow

Alive = Callable[[], bool]
"""Whether a view of a buffer that is gone is still held."""


@dataclass(frozen=True, slots=True)
class _Orphan:
    shadow: Shadow
    site: Site
    alive: Alive


class Lifetimes:
    """Watches the ends of buffers. A view and its buffer often go together, at the end of one function, in
    any order: so a view counts only when it is still there at the next thing that the program does."""

    def __init__(self, found: Findings, flights: Flights) -> None:
        self._found = found
        self._flights = flights
        self._orphans: list[_Orphan] = []

    def freed(self, allocation: int, shadow: Shadow, alive: Alive | None) -> None:
        """The last handle of the buffer is gone."""
        for flight, argument in self._flights.using(allocation, 0, shadow.size_bytes):
            if not flight.finished:
                self._found.report(
                    "L001",
                    shadow,
                    ((argument.offset_bytes, argument.length_bytes),),
                    prior=AccessRecord("start", str(flight.site), flight.number),
                    current=AccessRecord("buffer freed", None),
                    argument=argument.index,
                )
        if alive is not None and shadow.mapped is not None:
            self._orphans.append(_Orphan(shadow, shadow.mapped[1], alive))

    def look(self) -> None:
        """The program goes on: reports views that have outlived their buffer."""
        for orphan in self._orphans:
            if orphan.alive():
                self._found.report(
                    "L003",
                    orphan.shadow,
                    ((0, orphan.shadow.size_bytes),),
                    current=AccessRecord("view taken", str(orphan.site)),
                    confidence=Confidence.POSSIBLE,
                )
        self._orphans.clear()

    def nested(self, shadow: Shadow, event: Nested) -> None:
        """A sub-buffer of a sub-buffer was made."""
        self._found.report(
            "L004",
            shadow,
            ((event.offset_bytes, event.length_bytes),),
            current=AccessRecord("sub-buffer made", str(event.site)),
        )
