"""Streams: bounded FIFOs, what takes words, and broadcasts.

Words move in slices. A sink says how many it takes now (`room`) and takes them (`push`); a FIFO stands at
the receiving end of each route and holds what the switches on the way would hold. Where the receiver is
certain to go on taking (a DMA in the middle of a BD, a packet on its way through an arbiter), its room is
counted on top of the FIFO, so that a whole transfer can move at once and the bound still holds for
whatever waits. A broadcast has the room of its fullest branch: nobody advances until all take the word.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]

WORDS_PER_SWITCH = 8
"""Words that each stream switch on a route buffers: 4 at its slave port and 4 at its master (AM020, "Stream
Switch Buffering and Latency")."""

CYCLES_PER_SWITCH = 4
"""Cycles from a switch's slave port to the outside of its master: 2 a port (AM020, the same place)."""

UNLIMITED = 1 << 30


class Stamp(int):
    """A time of sending that carries what the sender knew then (its clock of races.py): in check mode."""

    clock: npt.NDArray[np.int64]

    def __new__(cls, time: int, clock: npt.NDArray[np.int64]) -> Self:
        made = super().__new__(cls, time)
        made.clock = clock
        return made

    def __sub__(self, other: int, /) -> Stamp:
        return Stamp(int(self) - other, self.clock)

    def __add__(self, other: int, /) -> Stamp:
        return Stamp(int(self) + other, self.clock)


class Sink(Protocol):
    """What stands at the end of a route."""

    def room(self) -> int:
        """Words it takes now."""
        ...

    def push(self, words: Words, last: bool, time: int, /) -> None:
        """Takes `words`, at most `room()` of them. `last`: TLAST is on the final one."""
        ...

    def ready_time(self) -> int:
        """When (estimate, cycles) the room that there is came to be."""
        ...

    def connect(self, switches: int) -> None:
        """The route to here leads through so many stream switches."""
        ...

    def describe(self) -> str:
        """Who this is, for a deadlock report."""
        ...

    def holder(self) -> str:
        """The agent that has to act before there is room."""
        ...


class Fifo:
    """Chunks of words, each with TLAST at its end or not, and the time at which it is there."""

    def __init__(self, capacity: int = WORDS_PER_SWITCH) -> None:
        self.capacity = capacity
        self._own = capacity if capacity > WORDS_PER_SWITCH else 0
        self._latency = 0
        self.count = 0
        self.packets = 0
        """Chunks in here that end with TLAST."""
        self._chunks: deque[tuple[Words, bool, int]] = deque()

    @property
    def free(self) -> int:
        return max(0, self.capacity - self.count)

    def connect(self, switches: int) -> None:
        """The route to here leads through so many switches, which hold words and take their time."""
        self.capacity = max(self.capacity, self._own + switches * WORDS_PER_SWITCH)
        self._latency = max(self._latency, switches * CYCLES_PER_SWITCH)

    def put(self, words: Words, last: bool, time: int) -> None:
        """Appends what was sent at `time`; bounds are the sink's business."""
        self._chunks.append((words, last, time + self._latency))
        self.count += words.size
        self.packets += last

    def take(self, limit: int) -> tuple[Words, bool, int]:
        """At most `limit` (> 0) words of the first chunk. Only when `count` > 0."""
        words, last, time = self._chunks.popleft()
        if words.size > limit:
            self._chunks.appendleft((words[limit:], last, time))
            # a word a cycle: the front of a chunk came earlier than its end
            words, last, time = words[:limit], False, time - (words.size - limit)
        self.count -= words.size
        self.packets -= last
        return words, last, time

    def peek(self) -> int:
        """The next word. Only when `count` > 0."""
        return int(self._chunks[0][0][0])

    def clear(self) -> None:
        """Drops everything."""
        self._chunks.clear()
        self.count = 0
        self.packets = 0


class DeadEnd:
    """A route that leads nowhere: it takes nothing, and says why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def room(self) -> int:
        return 0

    def push(self, _words: Words, _last: bool, _time: int, /) -> None:
        raise AssertionError("a dead end takes no words")

    def ready_time(self) -> int:
        return 0

    def connect(self, switches: int) -> None:
        pass

    def describe(self) -> str:
        return self.reason

    def holder(self) -> str:
        return ""


class Route:
    """All ends of a circuit-switched route; words go to each of them."""

    __slots__ = ("sinks",)

    def __init__(self, sinks: tuple[Sink, ...]) -> None:
        self.sinks = sinks

    def room(self) -> int:
        """Words that all ends take now."""
        if len(self.sinks) == 1:
            return self.sinks[0].room()
        return min(sink.room() for sink in self.sinks)

    def push(self, words: Words, last: bool, time: int) -> None:
        """Gives the words, which nobody changes afterwards, to all ends."""
        for sink in self.sinks:
            sink.push(words, last, time)

    def ready_time(self) -> int:
        """When the room came to be."""
        return max(sink.ready_time() for sink in self.sinks)

    def full(self) -> list[Sink]:
        """The ends that take nothing."""
        return [sink for sink in self.sinks if sink.room() == 0]
