"""The sync sanitizer: an observer of the event stream that says what may go wrong, from one clean run.

It does not look at values. For every byte it knows who wrote it last and who can see that, for every
line whether the host's cache may hold it (shadow.py), and at each access asks whether the right party
can see the right bytes. A run that happened to be right is judged as one that was not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..verdict import AccessRecord, Confidence, SyncFinding
from .completion import Completion
from .emulation import Emulation
from .events import (
    Allocated,
    Declared,
    DeviceRead,
    DeviceWrite,
    Direction,
    Event,
    Freed,
    HostRead,
    HostWrite,
    Labelled,
    Mapped,
    Misused,
    Nested,
    RunFinished,
    RunObserved,
    RunStarted,
    Site,
    Synced,
)
from .findings import Findings
from .flights import FINAL_STATES, Flight, Flights, intersection
from .lifetimes import Alive, Lifetimes
from .memory import LINE_BYTES, Coherency, line_range
from .origins import Origins, syncs_since
from .redundancy import judge_sync
from .shadow import (
    DEVICE,
    HOST,
    NOBODY,
    TO_DEVICE,
    TO_HOST,
    WRONG_WAY,
    Mask,
    PastSync,
    Ranges,
    Shadow,
    ranges_of,
)

_COMPLETED = "ERT_CMD_STATE_COMPLETED"


class Sanitizer:
    """Observes one emulation. `suppress` takes "S013" or "S013@*/driver.py:12" (a pattern of the site).

    `has_views` tells whether the host program holds a view of an allocation; reads through views are
    invisible, so it decides whether results that were never synced may have been read.
    """

    def __init__(
        self,
        coherency: Coherency = Coherency.X86_CLFLUSH,
        *,
        suppress: Sequence[str] = (),
        has_views: Callable[[int], bool] = lambda _: False,
        outliving: Callable[[int], Alive | None] = lambda _: None,
    ) -> None:
        self._cached = coherency is not Coherency.COHERENT
        self._has_views = has_views
        self._outliving = outliving
        self._shadows: dict[int, Shadow] = {}
        self._flights = Flights()
        self._failed: dict[int, str] = {}
        self._origins = Origins()
        self._found = Findings(suppress)
        self._lifetimes = Lifetimes(self._found, self._flights)
        self._completion = Completion(self._found, self._flights, self._shadows, has_views)
        self._time = 0

    @classmethod
    def attach(cls, emulation: Emulation, *, suppress: Sequence[str] = ()) -> Sanitizer:
        """A sanitizer that observes `emulation` from now on."""

        def has_views(allocation: int) -> bool:
            return any(a.id == allocation and a.memory.has_views for a in emulation.space)

        def outliving(allocation: int) -> Alive | None:
            memory = next((a.memory for a in emulation.space if a.id == allocation), None)
            return None if memory is None else lambda: memory.has_views

        coherency = emulation.settings.cache.coherency
        sanitizer = cls(coherency, suppress=suppress, has_views=has_views, outliving=outliving)
        emulation.events.observers.append(sanitizer.observe)
        return sanitizer

    @property
    def findings(self) -> tuple[SyncFinding, ...]:
        """What was found, in the order of the first occurrence; the rest is counted."""
        return self._found.all

    @property
    def suppressed(self) -> int:
        """How often a finding was suppressed."""
        return self._found.suppressed

    def finish(self) -> tuple[SyncFinding, ...]:
        """The program is over: what it holds was read as it stands. Returns all findings."""
        for allocation in tuple(self._shadows):
            self._results_left(allocation)
        for flight in self._flights.all:
            for allocation, offset, length, site in flight.reads:
                self._racing_read(flight, allocation, (offset, length), site, Confidence.POSSIBLE)
        return self.findings

    def observe(self, event: Event) -> None:
        """Takes one event of the stream."""
        self._time += 1
        if not isinstance(event, Freed):
            self._lifetimes.look()
        match event:
            case Allocated() | Labelled() | Freed() | Nested() | Declared():
                self._buffer_event(event)
            case Mapped():
                self._mapped(event)
            case HostWrite():
                self._host_write(event)
            case HostRead():
                self._completion.looked_at(event.allocation, event.site)
                self._host_read(event)
            case Synced():
                if event.direction is Direction.FROM_DEVICE:
                    self._completion.looked_at(event.allocation, event.site)
                    at = event.offset_bytes, event.length_bytes
                    self._completion.read_back(event.allocation, *at, event.site)
                self._synced(event)
            case RunStarted():
                self._flights.add(Flight(event.run, event.arguments, event.site, event.kernel))
            case DeviceRead():
                self._device_read(event)
            case DeviceWrite():
                self._device_write(event)
            case RunFinished():
                self._completion.finished(event.run, completed=event.state == _COMPLETED)
            case RunObserved():
                self._observed(event)
            case Misused():
                self._completion.misused(event)

    def _buffer_event(self, event: Allocated | Labelled | Freed | Nested | Declared) -> None:
        """What a buffer is, not what it holds."""
        if isinstance(event, Allocated):
            self._shadows[event.allocation] = Shadow(event.size_bytes, event.label)
            return
        shadow = self._shadows.get(event.allocation)
        if shadow is None:
            return
        match event:
            case Labelled():
                shadow.label = event.label
            case Freed():
                self._results_left(event.allocation)
                del self._shadows[event.allocation]
                self._lifetimes.freed(event.allocation, shadow, self._outliving(event.allocation))
            case Nested():
                self._lifetimes.nested(shadow, event)
            case Declared():
                shadow.declared.add((event.offset_bytes, event.length_bytes))

    # ----------------------------------------------------------------- the host

    def _host_write(self, event: HostWrite) -> None:
        shadow = self._shadows.get(event.allocation)
        if shadow is None:
            return
        low, length = event.offset_bytes, event.length_bytes
        current = AccessRecord("host write", str(event.site))
        for flight, argument in self._flights.using(event.allocation, low, length):
            self._found.report(
                "S019" if argument.instructions else "S005",
                shadow,
                intersection(argument, low, length),
                prior=AccessRecord("start", str(flight.site), flight.number),
                current=current,
                argument=argument.index,
            )
            shadow.racing.add(low, low + length)
        if self._cached:
            self._partial_write(shadow, low, length, current)
        shadow.host_wrote(low, length, self._origins.number(shadow, self._time, "host write", event.site))

    def _partial_write(self, shadow: Shadow, low: int, length: int, current: AccessRecord) -> None:
        first, end = line_range(low, length)
        start = first * LINE_BYTES
        around = shadow.unsynced_to_host(start, (end - first) * LINE_BYTES)
        around[low - start : low - start + length] = False
        if around.any():
            ranges = ranges_of(around, start)
            self._found.report(
                "S006", shadow, ranges, prior=self._origins.writer(shadow, ranges), current=current
            )

    def _host_read(self, event: HostRead) -> None:
        shadow = self._shadows.get(event.allocation)
        if shadow is None:
            return
        low, length = event.offset_bytes, event.length_bytes
        for flight, _ in self._flights.using(event.allocation, low, length):
            flight.reads.append((event.allocation, low, length, event.site))
        current = AccessRecord("host read", str(event.site))
        if self._failed:
            self._failed_bytes(shadow, low, length, current)
        if self._cached:
            missing = shadow.unsynced_to_host(low, length)
            if missing.any():
                self._stale_read(shadow, low, missing, current, Confidence.DEFINITE)
            self._wrong_way(shadow, low, length, DEVICE, current)
            shadow.host_read(low, length)

    def _stale_read(
        self, shadow: Shadow, low: int, missing: Mask, current: AccessRecord, confidence: Confidence
    ) -> None:
        ranges = ranges_of(missing, low)
        prior = self._origins.writer(shadow, ranges)
        syncs = syncs_since(shadow, ranges)
        self._found.report(
            "S003", shadow, ranges, prior=prior, current=current, syncs=syncs, confidence=confidence
        )
        if any(sync.direction == Direction.FROM_DEVICE.value for sync in syncs):
            self._found.report(
                "S008", shadow, ranges, prior=prior, current=current, syncs=syncs, confidence=confidence
            )
        shadow.mark_seen(low, missing, TO_HOST)

    def _mapped(self, event: Mapped) -> None:
        shadow = self._shadows.get(event.allocation)
        if shadow is not None:
            shadow.mapped = self._time, event.site
            if (shadow.owner == DEVICE).any():
                shadow.view = event.site

    def _synced(self, event: Synced) -> None:
        shadow = self._shadows.get(event.allocation)
        if shadow is None or not self._cached:
            return
        first, end = line_range(event.offset_bytes, event.length_bytes)
        low, length = first * LINE_BYTES, (end - first) * LINE_BYTES
        current = AccessRecord(f"sync {event.direction.value}", str(event.site))
        judge_sync(self._found, shadow, event, unseen_stores=self._has_views(event.allocation))
        if event.window is not None:
            past, window_end = event.offset_bytes + event.length_bytes, sum(event.window)
            if past > window_end:
                self._found.report("S018", shadow, ((window_end, past - window_end),), current=current)
        for flight, argument in self._flights.using(event.allocation, low, length):
            self._found.report(
                "S010",
                shadow,
                intersection(argument, low, length),
                prior=AccessRecord("start", str(flight.site), flight.number),
                current=current,
                argument=argument.index,
            )
            shadow.racing.add(low, low + length)
        if self._failed and event.direction is Direction.FROM_DEVICE:
            self._failed_bytes(shadow, low, length, current)
        self._written_back(shadow, low, length, event.direction, current)
        shadow.syncs.append(
            PastSync(self._time, event.direction, event.offset_bytes, event.length_bytes, event.site)
        )
        shadow.synced(event.direction, event.offset_bytes, event.length_bytes)

    def _written_back(
        self, shadow: Shadow, low: int, length: int, direction: Direction, current: AccessRecord
    ) -> None:
        dirty = shadow.dirty(low, length)
        lost = dirty & shadow.unsynced_to_host(low, length)
        if lost.any():
            ranges = ranges_of(lost, low)
            self._found.report(
                "S009", shadow, ranges, prior=self._origins.writer(shadow, ranges), current=current
            )
            shadow.mark_seen(low, lost, TO_HOST)
        if direction is Direction.FROM_DEVICE:
            thrown = dirty & shadow.unsynced_to_device(low, length) & ~_line_has(lost)
            if thrown.any():
                ranges = ranges_of(thrown, low)
                self._found.report(
                    "S011", shadow, ranges, prior=self._origins.writer(shadow, ranges), current=current
                )

    # ----------------------------------------------------------------- the device

    def _device_read(self, event: DeviceRead) -> None:
        shadow, flight = self._shadows.get(event.allocation), self._flights.get(event.run)
        if shadow is None or flight is None:
            return
        low, length = event.offset_bytes, event.length_bytes
        current = AccessRecord("device read", str(flight.site), event.run)
        bound = flight.bound(event.allocation, low, length)
        argument = None if bound is None else bound.index
        unwritten = shadow.owner[low : low + length] == NOBODY
        if unwritten.any() and shadow.mapped is None:  # a view's stores of zeros cannot all be seen
            self._found.report("S014", shadow, ranges_of(unwritten, low), current=current, argument=argument)
        if not self._cached:
            return
        missing = shadow.without_racing(shadow.unsynced_to_device(low, length), low)
        if missing.any():
            ranges = ranges_of(missing, low)
            self._report_with_sync(
                "S001", shadow, ranges, self._origins.writer(shadow, ranges), current, argument
            )
            shadow.mark_seen(low, missing, TO_DEVICE)
        self._wrong_way(shadow, low, length, HOST, current)

    def _device_write(self, event: DeviceWrite) -> None:
        shadow, flight = self._shadows.get(event.allocation), self._flights.get(event.run)
        if shadow is None or flight is None:
            return
        low, length = event.offset_bytes, event.length_bytes
        flight.wrote.append((event.allocation, low, length))
        if self._cached:
            dirty = shadow.without_racing(shadow.dirty(low, length), low)
            if dirty.any():
                ranges = ranges_of(dirty, low)
                at = shadow.dirty_origin(ranges[0][0])
                prior = None if at is None else self._origins.record(shadow, at)
                bound = flight.bound(event.allocation, low, length)
                current = AccessRecord("device write", str(flight.site), event.run)
                argument = None if bound is None else bound.index
                self._report_with_sync("S002", shadow, ranges, prior, current, argument)
        for allocation, offset, size, site in flight.reads:
            shared = max(offset, low), min(offset + size, low + length)
            if allocation == event.allocation and shared[0] < shared[1]:
                where = shared[0], shared[1] - shared[0]
                self._racing_read(flight, allocation, where, site, Confidence.DEFINITE)
        shadow.device_wrote(
            low, length, self._origins.number(shadow, self._time, "device write", flight.site), event.run
        )
        shadow.view = None

    def _racing_read(
        self, flight: Flight, allocation: int, where: tuple[int, int], site: Site, confidence: Confidence
    ) -> None:
        shadow = self._shadows.get(allocation)
        if shadow is None:
            return
        self._found.report(
            "S004",
            shadow,
            (where,),
            prior=AccessRecord("start", str(flight.site), flight.number),
            current=AccessRecord("host read", str(site)),
            confidence=confidence,
        )

    def _observed(self, event: RunObserved) -> None:
        if event.state not in FINAL_STATES:
            return
        self._flights.ended(event.run)
        if event.state != _COMPLETED:
            self._failed[event.run] = event.state

    # ----------------------------------------------------------------- shared questions

    def _failed_bytes(self, shadow: Shadow, low: int, length: int, current: AccessRecord) -> None:
        window = slice(low, low + length)
        failed = (shadow.owner[window] == DEVICE) & np.isin(shadow.run[window], list(self._failed))
        if failed.any():
            ranges = ranges_of(failed, low)
            self._found.report(
                "S012", shadow, ranges, prior=self._origins.writer(shadow, ranges), current=current
            )
            shadow.mark_seen(low, failed, TO_HOST)

    def _wrong_way(self, shadow: Shadow, low: int, length: int, owner: int, current: AccessRecord) -> None:
        window = slice(low, low + length)
        crossed = (shadow.owner[window] == owner) & (shadow.seen[window] & WRONG_WAY != 0)
        if crossed.any():
            ranges = ranges_of(crossed, low)
            syncs = syncs_since(shadow, ranges)
            prior = self._origins.writer(shadow, ranges)
            self._found.report("S017", shadow, ranges, prior=prior, current=current, syncs=syncs)

    def _results_left(self, allocation: int) -> None:
        """Results that were never synced, while the program had a view to read them through."""
        shadow = self._shadows.get(allocation)
        if shadow is None or shadow.view is None or not self._cached:
            return
        missing = shadow.unsynced_to_host(0, shadow.size_bytes)
        if missing.any():
            current = AccessRecord("view that the host may read", str(shadow.view))
            self._stale_read(shadow, 0, missing, current, Confidence.POSSIBLE)

    def _report_with_sync(
        self,
        hazard: str,
        shadow: Shadow,
        ranges: Ranges,
        prior: AccessRecord | None,
        current: AccessRecord,
        argument: int | None,
    ) -> None:
        """Reports, and says beside it when a sync was there and left these bytes out."""
        syncs = syncs_since(shadow, ranges)
        self._found.report(
            hazard, shadow, ranges, prior=prior, current=current, argument=argument, syncs=syncs
        )
        if any(sync.direction == Direction.TO_DEVICE.value for sync in syncs):
            self._found.report(
                "S007", shadow, ranges, prior=prior, current=current, argument=argument, syncs=syncs
            )


def _line_has(mask: Mask) -> Mask:
    """For a mask of whole lines: all bytes of each line that has any."""
    return np.repeat(mask.reshape(-1, LINE_BYTES).any(axis=1), LINE_BYTES)
