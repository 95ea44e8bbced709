"""What may be where: for each byte of an allocation its last writer and who can see it, for each line
whether the host's cache may hold it, clean or dirty. Values play no part.

The sanitizer's memory (docs/syncs.md): a may-analysis, so one clean run shows what another run may
lose. All operations are over numpy arrays, one element per byte or line.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .events import Direction, Site
from .intervals import Intervals
from .memory import ABSENT, CLEAN, DIRTY, LINE_BYTES, line_range

Mask = npt.NDArray[np.bool_]
Ranges = tuple[tuple[int, int], ...]

NOBODY, HOST, DEVICE = 0, 1, 2
"""Owner of a byte: who wrote it last."""

TO_HOST, TO_DEVICE, WRONG_WAY = 1, 2, 4
"""Bits of `seen`: the last write is visible to the host, to the device; it got across by a sync of the
other direction."""

_REMEMBERED_SYNCS = 8


@dataclass(frozen=True, slots=True)
class PastSync:
    """A sync of this allocation; `sequence` orders it among the events."""

    sequence: int
    direction: Direction
    offset: int
    length: int
    site: Site


class Shadow:
    """One allocation. Arrays cover whole lines, as the cache does.

    `origin` is the number of the record of who wrote a byte, `run` the run that did (0: the host);
    `written` says when each origin last wrote here, `racing` what the host touched during a run.
    """

    def __init__(self, size_bytes: int, label: str) -> None:
        lines = line_range(0, size_bytes)[1]
        self.label = label
        self.size_bytes = size_bytes
        self.line = np.zeros(lines, np.uint8)
        self.owner = np.zeros(lines * LINE_BYTES, np.uint8)
        self.seen = np.zeros(lines * LINE_BYTES, np.uint8)
        self.origin = np.zeros(lines * LINE_BYTES, np.int32)
        self.run = np.zeros(lines * LINE_BYTES, np.int32)
        self.written: dict[int, int] = {}
        self.syncs: deque[PastSync] = deque(maxlen=_REMEMBERED_SYNCS)
        self.racing = Intervals()
        self.declared: set[tuple[int, int]] = set()
        """Ranges that the next kernel is said to write whole, as (offset, length)."""
        self.mapped: tuple[int, Site] | None = None
        self.view: Site | None = None
        """Where a view was taken that could read what the device wrote last."""

    # ----------------------------------------------------------------- questions

    def unsynced_to_device(self, offset: int, length: int) -> Mask:
        """Bytes that the host wrote last and the device may not see."""
        window = slice(offset, offset + length)
        return (self.owner[window] == HOST) & (self.seen[window] & TO_DEVICE == 0)

    def unsynced_to_host(self, offset: int, length: int) -> Mask:
        """Bytes that the device wrote last and the host may not see."""
        window = slice(offset, offset + length)
        return (self.owner[window] == DEVICE) & (self.seen[window] & TO_HOST == 0)

    def dirty(self, offset: int, length: int) -> Mask:
        """Bytes whose line may be dirty in the cache."""
        first, end = line_range(offset, length)
        start = first * LINE_BYTES
        return np.repeat(self.line[first:end] == DIRTY, LINE_BYTES)[offset - start : offset - start + length]

    def dirty_origin(self, offset: int) -> int | None:
        """A host-written byte of the line at `offset` that the device may not see: the cause of its dirt."""
        start = offset // LINE_BYTES * LINE_BYTES
        found = np.flatnonzero(self.unsynced_to_device(start, LINE_BYTES))
        if not found.size:
            found = np.flatnonzero(self.owner[start : start + LINE_BYTES] == HOST)
        return start + int(found[0]) if found.size else None

    def without_racing(self, mask: Mask, offset: int) -> Mask:
        """The mask without bytes of lines that the host touched while the run was in flight."""
        if not self.racing:
            return mask
        kept = mask.copy()
        for low, high in self.racing:
            first, end = line_range(low, high - low)
            start, stop = first * LINE_BYTES - offset, end * LINE_BYTES - offset
            if stop > 0:
                kept[max(start, 0) : stop] = False
        return kept

    # ----------------------------------------------------------------- transitions

    def host_wrote(self, offset: int, length: int, origin: int) -> None:
        """The lines may be dirty; the bytes are the host's."""
        first, end = line_range(offset, length)
        self.line[first:end] = DIRTY
        self._own(offset, length, HOST, TO_HOST, origin, 0)

    def host_read(self, offset: int, length: int) -> None:
        """Absent lines may now be cached."""
        first, end = line_range(offset, length)
        states = self.line[first:end]
        states[states == ABSENT] = CLEAN

    def device_wrote(self, offset: int, length: int, origin: int, run: int) -> None:
        """The bytes are the device's, and no line of the host's cache knows."""
        self._own(offset, length, DEVICE, TO_DEVICE, origin, run)

    def synced(self, direction: Direction, offset: int, length: int) -> None:
        """x86: dirty lines go to DDR, all lines leave the cache, whatever the direction."""
        first, end = line_range(offset, length)
        window = slice(first * LINE_BYTES, end * LINE_BYTES)
        owner, seen = self.owner[window], self.seen[window]
        pushed = (owner == HOST) & (seen & TO_DEVICE == 0)
        pulled = (owner == DEVICE) & (seen & TO_HOST == 0)
        seen[pushed] |= TO_DEVICE
        seen[pulled] |= TO_HOST
        seen[pushed if direction is Direction.FROM_DEVICE else pulled] |= WRONG_WAY
        # a sync of the right direction makes up for an earlier one of the wrong direction
        settled = owner == (HOST if direction is Direction.TO_DEVICE else DEVICE)
        seen[settled] &= ~np.uint8(WRONG_WAY)
        self.line[first:end] = ABSENT

    def mark_seen(self, offset: int, mask: Mask, bits: int) -> None:
        """Bytes that have been reported count as synced: one fault gives one finding."""
        self.seen[offset : offset + mask.size][mask] |= bits

    def _own(self, offset: int, length: int, owner: int, seen: int, origin: int, run: int) -> None:
        window = slice(offset, offset + length)
        self.owner[window] = owner
        self.seen[window] = seen
        self.origin[window] = origin
        self.run[window] = run


def ranges_of(mask: Mask, offset: int) -> Ranges:
    """The set bytes of a mask as (offset, length), `offset` being that of its first element."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return tuple(
        (offset + int(low), int(high - low)) for low, high in zip(edges[::2], edges[1::2], strict=True)
    )


def lines_of(ranges: Ranges) -> Ranges:
    """The lines around byte ranges, as (first, count), joined."""
    intervals = Intervals()
    for offset, length in ranges:
        intervals.add(*line_range(offset, length))
    return tuple((low, high - low) for low, high in intervals)
