"""The core's stream input: a sink of the fabric."""

from __future__ import annotations

from .streams import Fifo, Words


class CoreInput:
    """Holds words until the core takes them one by one. `name` is the core's."""

    def __init__(self, name: str) -> None:
        self.fifo = Fifo()
        self.taken: list[int] = []
        """Words of a chunk that the core is taking, the next one last."""
        self.ready = 0
        """When the core last took a word."""
        self._name = name

    def room(self) -> int:
        return max(0, self.fifo.free - len(self.taken))

    def push(self, words: Words, last: bool, time: int) -> None:
        self.fifo.put(words, last, time)

    def ready_time(self) -> int:
        return self.ready

    def connect(self, switches: int) -> None:
        self.fifo.connect(switches)

    def describe(self) -> str:
        return f"the stream input of {self._name}"

    def holder(self) -> str:
        return self._name
