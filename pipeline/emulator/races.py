"""Accesses of the same bytes by two agents, at least one of them a write, with nothing that orders them.

Vector clocks, as in race detectors for threads: each agent (core, DMA channel, the controller) counts its
own steps, and knows of each other one up to which step what that did comes before its own. Knowledge goes
along what orders things: a lock from its releases to its acquires, words of a stream and of the cascade from
sender to receiver, tokens to the controller, and register writes from the controller. Of every byte it is
known who wrote it and who read it last. What waits without a lock, by chance long enough, is found too;
what a lock orders by chance is not (an acquire learns from all earlier releases of its lock). In DDR what
happens within one run counts: the host orders runs.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..npu.limits import WORD_BYTES
from .addressing import Piece
from .findings import Finding, FindingLog
from .memory import LocalMemory

Clock = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]

MAXIMUM_AGENTS = 192
"""Five columns have 180 cores and DMA channels."""

_WORD_GRANULES = 0x10000
"""Memories larger than a compute tile's are used by DMAs only, which take whole words."""


DDR = "DDR"
_DDR_PAGE_WORDS = 0x10000


class Actor:
    """Names of agents that are neither core nor channel."""

    CONTROLLER = "the controller"


@dataclass(frozen=True, slots=True)
class _Access:
    agent: int
    place: int | tuple[int, int] | None
    """The BD of a channel, the first and last pc of a core."""


class _History:
    """Of each byte (word, in a memory tile and DDR) of memory `name` from address `base` on: the number of
    the access that wrote it last, and read it."""

    def __init__(self, name: str, size_bytes: int, base: int = 0) -> None:
        self.name = name
        self.base = base
        self.granule = WORD_BYTES if size_bytes > _WORD_GRANULES else 1
        granules = size_bytes // self.granule
        self.written = np.zeros(granules, np.int32)
        self.read = np.zeros(granules, np.int32)


class Races:
    """One array's agents, what each knows, and who touched what."""

    def __init__(self, log: FindingLog) -> None:
        self._log = log
        self._numbers: dict[str, int] = {Actor.CONTROLLER: 0}
        self._names = [Actor.CONTROLLER]
        self._clocks = np.zeros((MAXIMUM_AGENTS, MAXIMUM_AGENTS), np.int64)
        self._clocks[0, 0] = 1
        self._locks: dict[Hashable, Clock] = {}
        self._histories: dict[str, _History] = {}
        self._ddr: dict[int, _History] = {}
        """Of DDR, by the number of the page of _DDR_PAGE_WORDS."""
        # accesses by number; 0 stands for none
        self._accesses = [_Access(0, None)]
        self._agent_of = np.zeros(1024, np.int32)
        self._step_of = np.zeros(1024, np.int64)
        self._last: dict[int, int] = {}

    # ----------------------------------------------------------------- order

    def acquired(self, agent: str, lock: Hashable) -> None:
        """`agent` was granted the lock."""
        known = self._locks.get(lock)
        if known is not None:
            self._learn(self._number(agent), known)

    def released(self, agent: str, lock: Hashable) -> None:
        """`agent` added to the lock."""
        number = self._number(agent)
        known = self._locks.get(lock)
        if known is None:
            self._locks[lock] = self._clocks[number].copy()
        else:
            np.maximum(known, self._clocks[number], out=known)
        self._clocks[number, number] += 1

    def sent(self, agent: str) -> Clock:
        """What `agent` knows as it sends something."""
        number = self._number(agent)
        clock = self._clocks[number].copy()
        self._clocks[number, number] += 1
        return clock

    def received(self, agent: str, clock: Clock) -> None:
        """Something that was sent with `clock` arrived."""
        self._learn(self._number(agent), clock)

    def _learn(self, number: int, clock: Clock) -> None:
        np.maximum(self._clocks[number], clock, out=self._clocks[number])

    def _number(self, agent: str) -> int:
        found = self._numbers.get(agent)
        if found is None:
            found = self._numbers[agent] = len(self._names)
            self._names.append(agent)
            self._clocks[found, found] = 1
        return found

    # ----------------------------------------------------------------- accesses

    def dma_access(self, agent: str, bd: int, memory: LocalMemory, piece: Piece, *, writes: bool) -> None:
        """A channel reads or writes these words."""
        history = self._history(memory)
        scale = WORD_BYTES // history.granule
        where: Indices | slice
        if piece.index is None:
            where = slice(piece.lowest * scale, (piece.highest + 1) * scale)
        else:
            words = piece.index[piece.index >= 0] if piece.padded else piece.index
            where = words if scale == 1 else (words[:, None] * scale + np.arange(scale)).reshape(-1)
        self._access(agent, bd, history, where, writes=writes)

    def ddr_access(self, agent: str, bd: int, piece: Piece, *, writes: bool) -> None:
        """A shim's channel reads or writes these words of DDR."""
        first, last = piece.lowest // _DDR_PAGE_WORDS, piece.highest // _DDR_PAGE_WORDS
        for page in range(first, last + 1):
            start, end = page * _DDR_PAGE_WORDS, (page + 1) * _DDR_PAGE_WORDS
            where: Indices | slice
            if piece.index is None:
                where = slice(max(piece.lowest, start) - start, min(piece.highest + 1, end) - start)
            else:
                where = piece.index[(piece.index >= start) & (piece.index < end)] - start
                if not where.size:
                    continue
            history = self._ddr.get(page)
            if history is None:
                size = _DDR_PAGE_WORDS * WORD_BYTES
                history = self._ddr[page] = _History(DDR, size, start * WORD_BYTES)
            self._access(agent, bd, history, where, writes=writes)

    def forget(self) -> None:
        """Whatever was done before is over."""
        self._ddr.clear()
        self._histories.clear()

    def begin_run(self) -> None:
        """A run begins: whatever was done to DDR before is over."""
        self._ddr.clear()

    def core_access(
        self, agent: str, pcs: tuple[int, int], memory: LocalMemory, offsets: Indices, *, writes: bool
    ) -> None:
        """A core loaded or stored these bytes somewhere between two pcs."""
        if offsets.size:
            self._access(agent, pcs, self._history(memory), offsets, writes=writes)

    def range_access(self, agent: str, memory: LocalMemory, start: int, end: int) -> None:
        """A write of the bytes from `start` to before `end`."""
        history = self._history(memory)
        where = slice(start // history.granule, end // history.granule)
        self._access(agent, None, history, where, writes=True)

    def _history(self, memory: LocalMemory) -> _History:
        found = self._histories.get(memory.name)
        if found is None:
            found = self._histories[memory.name] = _History(memory.name, memory.bytes.size)
        return found

    def _access(
        self,
        agent: str,
        place: int | tuple[int, int] | None,
        history: _History,
        where: Indices | slice,
        *,
        writes: bool,
    ) -> None:
        number = self._number(agent)
        self._compare(number, place, history, where, history.written, "write" if writes else "read")
        if writes:
            self._compare(number, place, history, where, history.read, "overwrite")
        (history.written if writes else history.read)[where] = self._entry(number, place)

    def _compare(
        self,
        number: int,
        place: int | tuple[int, int] | None,
        history: _History,
        where: Indices | slice,
        earlier: npt.NDArray[np.int32],
        how: str,
    ) -> None:
        entries = earlier[where]
        unordered = self._step_of[entries] > self._clocks[number][self._agent_of[entries]]
        if not unordered.any():
            return
        at = int(np.flatnonzero(unordered)[0])
        granule = where.start + at if isinstance(where, slice) else int(where[at])
        other = self._accesses[int(entries[at])]
        now = self._describe(_Access(number, place))
        before = self._describe(other)
        size = int(np.count_nonzero(unordered)) * history.granule
        address = history.base + granule * history.granule
        does, did = {
            "write": ("writes", "wrote"),
            "read": ("reads", "wrote"),
            "overwrite": ("writes", "read"),
        }[how]
        key = ("race", history.name, number, place if isinstance(place, int) else None, other.agent, how)
        # a channel's name begins with its tile's: "shim (0,0) S2MM 1"
        tile = f"{self._names[number].partition(')')[0]})" if history.name == DDR else history.name
        self._log.add(
            key,
            Finding(
                "race",
                tile,
                f"{now} {does} {size} bytes of {history.name}, the first at {address:#x},"
                f" that {before} {did}; no lock, stream or token orders the two",
                pc=place[0] if isinstance(place, tuple) else None,
                channel=self._channel(number, tile) if isinstance(place, int) else None,
                descriptor=place if isinstance(place, int) else None,
                address=address,
            ),
        )

    def _channel(self, number: int, tile: str) -> str:
        """A channel's name without its tile, where that is `tile`."""
        return self._names[number].removeprefix(f"{tile} ")

    def _describe(self, access: _Access) -> str:
        name = self._names[access.agent]
        match access.place:
            case None:
                return name
            case int(bd):
                return f"{name} BD {bd}"
            case (first, last):
                return f"{name} (between pc {first:#06x} and {last:#06x})"

    def _entry(self, number: int, place: int | tuple[int, int] | None) -> int:
        """The number of this access; one that differs from the agent's last in nothing is the same."""
        step = int(self._clocks[number, number])
        last = self._last.get(number)
        if last is not None and self._step_of[last] == step and self._accesses[last].place == place:
            return last
        entry = len(self._accesses)
        self._accesses.append(_Access(number, place))
        if entry == self._agent_of.size:
            self._agent_of = np.concatenate((self._agent_of, np.zeros_like(self._agent_of)))
            self._step_of = np.concatenate((self._step_of, np.zeros_like(self._step_of)))
        self._agent_of[entry] = number
        self._step_of[entry] = step
        self._last[number] = entry
        return entry
