"""What is judged when a run ends: what it wrote and should not have, and what it did not write; and calls
that are wrong whatever the bytes are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..verdict import AccessRecord, Confidence
from .events import BoundArgument, Misused, Site
from .findings import Findings
from .flights import Flight, Flights
from .memory import LINE_BYTES
from .shadow import Shadow, ranges_of


class Completion:
    """`has_views` tells whether the host program holds a view of an allocation."""

    def __init__(
        self,
        found: Findings,
        flights: Flights,
        shadows: Mapping[int, Shadow],
        has_views: Callable[[int], bool],
    ) -> None:
        self._found = found
        self._flights = flights
        self._shadows = shadows
        self._has_views = has_views
        self._spoiled: set[int] = set()
        self._idle: dict[int, Flight] = {}
        self._unreached: dict[int, Flight] = {}

    def misused(self, event: Misused) -> None:
        """A wrong call; what its run does not write is no news then."""
        self._spoiled.add(event.run)
        current = AccessRecord("call", str(event.site), event.run or None)
        self._found.misused(event.hazard, event.of, f"{event.detail} ({event.site})", current, event.argument)

    def finished(self, run: int, *, completed: bool) -> None:
        """The device is done with a run."""
        flight = self._flights.get(run)
        if flight is None:
            return
        self._reached(flight, completed=completed)
        if completed:
            self._unwritten(flight)
            self._nothing_written(flight)
        self._shared_lines(flight)

    def _shared_lines(self, flight: Flight) -> None:
        """Arguments of one run that overlap, or share a line, where the device wrote."""
        flight.finished = True
        for number, one in enumerate(flight.arguments):
            for other in flight.arguments[number + 1 :]:
                if one.allocation == other.allocation:
                    self._shared_between(flight, one, other)
        for allocation, _, _ in flight.wrote:
            shadow = self._shadows.get(allocation)
            if shadow is not None and shadow.mapped is not None and self._has_views(allocation):
                shadow.view = shadow.mapped[1]
            if shadow is not None:
                shadow.racing = type(shadow.racing)()

    def _unwritten(self, flight: Flight) -> None:
        """Bytes that the run was said to write, and did not."""
        for argument in flight.arguments:
            shadow = self._shadows.get(argument.allocation)
            if shadow is None:
                continue
            end = argument.offset_bytes + argument.length_bytes
            declared, shadow.declared = sorted(shadow.declared), set()
            for low, length in declared:
                if low < argument.offset_bytes or low + length > end:
                    continue
                missing = np.ones(length, np.bool_)
                for allocation, offset, size in flight.wrote:
                    if allocation == argument.allocation and offset + size > low:
                        missing[max(offset - low, 0) : offset + size - low] = False
                if missing.any():
                    current = AccessRecord("run completed", str(flight.site), flight.number)
                    ranges = ranges_of(missing, low)
                    self._found.report("S015", shadow, ranges, current=current, argument=argument.index)

    def _nothing_written(self, flight: Flight) -> None:
        """Remembers a run that completed, and left every byte of its buffers as it was."""
        for allocation, _, _ in flight.wrote:
            self._idle.pop(allocation, None)
        if flight.wrote or flight.number in self._spoiled:
            return
        for argument in flight.arguments:
            if not argument.instructions:
                self._idle[argument.allocation] = flight

    def _reached(self, flight: Flight, *, completed: bool) -> None:
        """Remembers which buffers a run that failed has left as they were: their results never came."""
        wrote = {allocation for allocation, _, _ in flight.wrote}
        for argument in flight.arguments:
            self._unreached.pop(argument.allocation, None)
            if not completed and not argument.instructions and argument.allocation not in wrote:
                self._unreached[argument.allocation] = flight

    def read_back(self, allocation: int, offset: int, length: int, site: Site) -> None:
        """The host syncs a buffer from the device: S012 where its last run failed before it wrote there."""
        flight, shadow = self._unreached.get(allocation), self._shadows.get(allocation)
        if flight is not None and shadow is not None:
            self._found.report(
                "S012",
                shadow,
                ((offset, length),),
                prior=AccessRecord("start", str(flight.site), flight.number),
                current=AccessRecord("sync from device", str(site)),
                confidence=Confidence.POSSIBLE,
            )

    def looked_at(self, allocation: int, site: Site) -> None:
        """The host reads a buffer, or syncs it to read it: it expects a result there."""
        flight = self._idle.pop(allocation, None)
        if flight is None:
            return
        self._idle = {other: idle for other, idle in self._idle.items() if idle is not flight}
        started = f"a run of '{flight.kernel}' (started at {flight.site})"
        detail = f"{started} completed, and the device wrote to none of its buffers"
        current = AccessRecord("host looks for a result", str(site), flight.number)
        self._found.misused("D001", flight.kernel, detail, current, None)

    def _shared_between(self, flight: Flight, one: BoundArgument, other: BoundArgument) -> None:
        shadow = self._shadows.get(one.allocation)
        if shadow is None:
            return
        first = max(one.offset_bytes, other.offset_bytes)
        last = min(one.offset_bytes + one.length_bytes, other.offset_bytes + other.length_bytes)
        overlap = first < last
        if not overlap:  # the lines between the end of one and the begin of the other
            first, last = last - 1, first + 1
            if first // LINE_BYTES != (last - 1) // LINE_BYTES:
                return
            first = first // LINE_BYTES * LINE_BYTES
            last = first + LINE_BYTES
        written = any(
            allocation == one.allocation and offset < last and first < offset + length
            for allocation, offset, length in flight.wrote
        )
        if written:
            self._found.report(
                "S016" if overlap else "S013",
                shadow,
                ((first, last - first),),
                current=AccessRecord("start", str(flight.site), flight.number),
                argument=other.index,
            )
