"""The core's stream input: a sink of the fabric."""

from __future__ import annotations

from .core.fast_port import IN_COUNT, IN_FIRST, IN_LAST, IN_READY, IN_WORDS, WORDS, Cells
from .streams import Fifo, Words


class CoreInput:
    """Holds words until the core takes them one by one. `name` is the core's.

    The words of the chunk that it is taking stand in `cells`, where its compiled code gets at them.
    """

    def __init__(self, name: str, cells: Cells) -> None:
        self.fifo = Fifo()
        self._view = cells.view
        self._name = name

    @property
    def taking(self) -> int:
        """How many words of the chunk there are still."""
        return self._view[IN_COUNT]

    def take_chunk(self) -> tuple[int, int]:
        """Fetches the next words; only when the FIFO has any. Gives how many, and the last one's time."""
        words, last, time = self.fifo.take(min(self.fifo.capacity, WORDS))
        view = self._view
        view[IN_FIRST], view[IN_COUNT], view[IN_LAST] = 0, words.size, int(last)
        for number, word in enumerate(words.tolist(), IN_WORDS):
            view[number] = word
        return words.size, time

    def take(self, now: int) -> tuple[int, bool]:
        """The next word, with its TLAST; only when there is one."""
        view = self._view
        word = view[IN_WORDS + view[IN_FIRST]]
        view[IN_FIRST] += 1
        view[IN_COUNT] -= 1
        view[IN_READY] = now
        return word, bool(view[IN_LAST]) and not view[IN_COUNT]

    def forget(self) -> None:
        """Drops the chunk."""
        self._view[IN_COUNT] = 0

    def room(self) -> int:
        return max(0, self.fifo.free - self.taking)

    def push(self, words: Words, last: bool, time: int) -> None:
        self.fifo.put(words, last, time)

    def ready_time(self) -> int:
        """When the core last took a word."""
        return self._view[IN_READY]

    def connect(self, switches: int) -> None:
        self.fifo.connect(switches)

    def describe(self) -> str:
        return f"the stream input of {self._name}"

    def holder(self) -> str:
        return self._name
