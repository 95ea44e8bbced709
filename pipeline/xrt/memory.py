"""Host memory as the NPU's driver sees it: DDR behind a write-back CPU cache of 64-byte lines.

`CachedMemory` is one allocation: what the host sees, what DDR (and so the device) holds, and for each
line whether the cache has it. Only a sync, or an eviction that the seed chooses, moves a dirty line to
DDR. Facts: xdna-driver `src/shim/buffer.cpp` (`buffer::sync` is CLFLUSH over the lines touched, whatever
the direction) and `drivers/accel/amdxdna` ("NPU is not cache coherent device").

Invariant: the host bytes of an absent line equal its DDR bytes, so a fill changes only the line's state.
"""

from __future__ import annotations

import enum
import weakref
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from .events import Direction
from .pages import PAGE_BYTES, FreshPages
from .write_ids import WriteIds

Bytes = npt.NDArray[np.uint8]

LINE_BYTES = 64
"""sysconf(_SC_LEVEL1_DCACHE_LINESIZE) on every x86-64 that carries an XDNA NPU."""

SEED_EVICTION = 0.997
"""Chance that a dirty line has left the cache before a run starts. With it, 256 unsynced lines lose at
least one line in 1 - 0.997**256 = 54 % of the runs: the seed report counted 536 of 1000."""

ELEMENT_BYTES = 8
"""What a store through a view is rounded outwards to: an int that becomes 1 changes one byte of its eight."""

ABSENT, CLEAN, DIRTY = 0, 1, 2
"""State of a line in the cache."""


class Coherency(enum.Enum):
    """What a sync does to the lines it touches."""

    X86_CLFLUSH = "x86-clflush"  # npu1, npu4-6: both directions write back and invalidate
    INVALIDATE_ON_FROM = "inv-on-from"  # dma_sync builds: TO cleans, FROM throws dirty lines away
    COHERENT = "coherent"  # UMQ devices (npu3, AIE4): the device snoops, a sync is a no-op


class Modifier(enum.Enum):
    """What some driver versions do otherwise."""

    UNFENCED = "unfenced"  # FROM returns before the last line is invalidated (shims before 2026-07, 49fbb59c)
    WHOLE_BUFFER = "whole-bo"  # a ranged sync flushes the whole buffer (drivers before 2024-09, 8680ba1f)


UNFENCED_PREFETCH = 0.1
"""With `unfenced` a line shows only where the cache holds it, so lines are fetched ahead with this chance."""


@dataclass(frozen=True, slots=True)
class CacheModel:
    """The coherency policy, its modifiers and its chances.

    `evict`: chance per dirty line to be written back before a run starts. `prefetch`: chance per absent
    line to be in the cache, clean, when a run starts (and so to be stale after it). `write_ids`: every
    byte remembers its last write, so that a lost one is told though the values are equal.
    """

    coherency: Coherency = Coherency.X86_CLFLUSH
    evict: float = SEED_EVICTION
    prefetch: float = 0.0
    modifiers: frozenset[Modifier] = frozenset()
    write_ids: bool = False

    @property
    def name(self) -> str:
        """As `parse_coherency` reads it."""
        return "+".join([self.coherency.value, *sorted(m.value for m in self.modifiers)])


def parse_coherency(text: str) -> tuple[Coherency, frozenset[Modifier]]:
    """ "x86-clflush+unfenced" as a policy and its modifiers. Raises UsageError."""
    name, *rest = text.split("+")
    policies = {policy.value: policy for policy in Coherency}
    modifiers = {modifier.value: modifier for modifier in Modifier}
    if name not in policies or any(word not in modifiers for word in rest):
        raise UsageError(
            f"no coherency policy is called {text!r}",
            remedy=f"one of: {', '.join(policies)}; with + and a modifier: {', '.join(modifiers)}",
        )
    return policies[name], frozenset(modifiers[word] for word in rest)


def cache_model(text: str, *, evict: float = SEED_EVICTION, write_ids: bool = False) -> CacheModel:
    """The model that a user names by its policy and modifiers. Raises UsageError."""
    coherency, modifiers = parse_coherency(text)
    prefetch = UNFENCED_PREFETCH if Modifier.UNFENCED in modifiers else 0.0
    return CacheModel(coherency, evict, prefetch, modifiers, write_ids)


def line_range(offset: int, length: int) -> tuple[int, int]:
    """First line and one past the last line that `[offset, offset + length)` touches.

    A length of 0 touches one line: the driver's flush is a do-while loop.
    """
    return offset // LINE_BYTES, (offset + max(length, 1) - 1) // LINE_BYTES + 1


class CachedMemory:
    """One allocation of `size_bytes`, its lines all absent and zero: the driver flushes new buffers.

    `host` and `ddr` are uint8 arrays of whole lines, one array where the device is coherent.
    """

    def __init__(
        self,
        size_bytes: int,
        coherency: Coherency,
        *,
        modifiers: frozenset[Modifier] = frozenset(),
        write_ids: bool = False,
    ) -> None:
        lines = line_range(0, size_bytes)[1]
        self.size_bytes = size_bytes
        self.coherency = coherency
        self._pages = FreshPages(lines * LINE_BYTES)
        self.host: Bytes = self._pages.bytes
        self.ddr: Bytes = self.host if coherency is Coherency.COHERENT else np.zeros_like(self.host)
        self._state: Bytes = np.zeros(lines, np.uint8)
        self._expected: Bytes | None = None
        self._views: list[weakref.ref[Bytes]] = []
        self._modifiers = modifiers
        self._late: int | None = None
        cached = coherency is not Coherency.COHERENT
        self.ids: WriteIds | None = WriteIds(self.host.size) if write_ids and cached else None

    # ----------------------------------------------------------------- what the host does

    def write(self, offset: int, data: Bytes) -> None:
        """The host stores `data`: the lines are fetched whole, then changed, then dirty."""
        self.host[offset : offset + data.size] = data
        self._pages.note(offset, data.size)
        self.mark_dirty(offset, data.size)

    def mark_dirty(self, offset: int, length: int) -> None:
        """The host stored something in this range, perhaps the value that stood there."""
        if length and self.coherency is not Coherency.COHERENT:
            first, end = line_range(offset, length)
            self._settle()
            self._state[first:end] = DIRTY
            self._agree(first, end)
            if self.ids is not None:
                self.ids.host_wrote(offset, length)

    def read(self, offset: int, length: int) -> Bytes:
        """A copy of what the host sees; absent lines are filled and stay, clean."""
        self.mark_read(offset, length)
        return self.host[offset : offset + length].copy()

    def mark_read(self, offset: int, length: int) -> None:
        """The host loaded this range."""
        if length and self.coherency is not Coherency.COHERENT:
            first, end = line_range(offset, length)
            states = self._state[first:end]
            states[states == ABSENT] = CLEAN
            if self.ids is not None:
                self.ids.host_read(offset, length)

    def view(self, offset: int, length: int) -> Bytes:
        """The host's bytes themselves. What is stored through the view is found by `observe`."""
        window = self.host[offset : offset + length]
        if self.coherency is not Coherency.COHERENT:
            if self._expected is None:
                self._expected = self.host.copy()
            self._views.append(weakref.ref(window))
        return window

    @property
    def watched(self) -> bool:
        """Whether somebody may have stored through a view since the last `observe`."""
        return self._expected is not None

    @property
    def has_views(self) -> bool:
        """Whether a view, or an array made from one, is still alive."""
        self._views = [view for view in self._views if view() is not None]
        return bool(self._views)

    def observe(self) -> list[tuple[int, int]]:
        """Finds what was stored through views since the last call, and marks those lines dirty.

        Returns (offset, length) of ranges. What differs counts with all between the first and the last
        difference: a bulk store that leaves some bytes as they were is one store. A store of zeros into a
        page that was fresh counts for the whole page. Another store of just what stood there is not seen.
        """
        if self._expected is None:
            return []
        found: list[tuple[int, int]] = []
        if not np.array_equal(self.host, self._expected):
            changed = np.flatnonzero(self.host != self._expected)
            low = int(changed[0]) // ELEMENT_BYTES * ELEMENT_BYTES
            high = min(-(-(int(changed[-1]) + 1) // ELEMENT_BYTES) * ELEMENT_BYTES, self.size_bytes)
            found.append((low, high - low))
        for page in self._pages.stored():
            if not found or page + PAGE_BYTES <= found[0][0] or page >= sum(found[0]):
                found.append((page, min(PAGE_BYTES, self.size_bytes - page)))
        for offset, length in found:
            self.mark_dirty(offset, length)
        if not self.has_views:
            self._expected = None
        return found

    # ----------------------------------------------------------------- what moves lines

    def sync(self, direction: Direction, offset: int, length: int) -> None:
        """A sync of the range, rounded outwards to whole lines."""
        if self.coherency is Coherency.COHERENT:
            return
        self._settle()
        first, end = line_range(offset, length)
        if Modifier.WHOLE_BUFFER in self._modifiers:
            first, end = 0, self._state.size
        if self.coherency is Coherency.X86_CLFLUSH or direction is Direction.TO_DEVICE:
            self._write_back(first + np.flatnonzero(self._state[first:end] == DIRTY))
        if self.coherency is Coherency.X86_CLFLUSH or direction is Direction.FROM_DEVICE:
            unfenced = direction is Direction.FROM_DEVICE and Modifier.UNFENCED in self._modifiers
            if unfenced and self._state[end - 1] != ABSENT:
                end -= 1
                self._late = end
                self._state[end] = CLEAN
            self._state[first:end] = ABSENT
            self._show(first, end)
        else:
            states = self._state[first:end]
            states[states == DIRTY] = CLEAN
        self._agree(first, end)

    def evict(self, chance: float, random: np.random.Generator) -> int:
        """Writes back each dirty line with `chance`; such a line is then absent. Returns how many."""
        self._settle()
        dirty = np.flatnonzero(self._state == DIRTY)
        if not dirty.size:
            return 0
        gone = dirty[random.random(dirty.size) < chance]
        self._write_back(gone)
        self._state[gone] = ABSENT
        return int(gone.size)

    def prefetch(self, chance: float, random: np.random.Generator) -> None:
        """Fetches each absent line with `chance`."""
        absent = np.flatnonzero(self._state == ABSENT)
        self._state[absent[random.random(absent.size) < chance]] = CLEAN

    @property
    def dirty_lines(self) -> int:
        """How many lines differ, or may differ, from DDR."""
        return int(np.count_nonzero(self._state == DIRTY))

    def line_state(self, line: int) -> int:
        """ABSENT, CLEAN or DIRTY."""
        return int(self._state[line])

    def refresh(self) -> None:
        """The device changed DDR: lines that are not in the cache show it, the others stay stale."""
        if self.coherency is Coherency.COHERENT:
            return
        self._settle()
        if self._state.any():
            absent = self._state == ABSENT
            self._lines(self.host)[absent] = self._lines(self.ddr)[absent]
            if self.ids is not None:
                self.ids.shown(absent)
            self._pages.note(0, self.host.size)
        else:
            self._show(0, self._state.size)
        self._agree(0, self._state.size)

    # ----------------------------------------------------------------- inside

    def _write_back(self, lines: npt.NDArray[np.intp]) -> None:
        """These lines go from the cache to DDR; their state is the caller's."""
        if lines.size:
            self._lines(self.ddr)[lines] = self._lines(self.host)[lines]
            if self.ids is not None:
                self.ids.written_back(lines)

    def _settle(self) -> None:
        """The invalidation that an unfenced sync left on its way arrives."""
        late, self._late = self._late, None
        if late is not None:
            self._state[late] = ABSENT
            self._show(late, late + 1)
            self._agree(late, late + 1)

    def _show(self, first: int, end: int) -> None:
        """The host sees DDR in these lines."""
        if self.ids is not None:
            self.ids.shown(slice(first, end))
        window = slice(first * LINE_BYTES, end * LINE_BYTES)
        if not np.array_equal(self.host[window], self.ddr[window]):  # a fresh page stays fresh
            self.host[window] = self.ddr[window]
            self._pages.note(window.start, window.stop - window.start)

    @staticmethod
    def _lines(memory: Bytes, first: int = 0, end: int | None = None) -> Bytes:
        """The bytes as rows of 64."""
        return memory.reshape(-1, LINE_BYTES)[first:end]

    def _agree(self, first: int, end: int) -> None:
        """The host bytes of these lines are accounted for: no store through a view."""
        if self._expected is not None:
            window = slice(first * LINE_BYTES, end * LINE_BYTES)
            self._expected[window] = self.host[window]
