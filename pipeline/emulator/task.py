"""What a DMA channel is given to do, what it may be doing, and what it needs from its tile."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from ..npu.descriptors import BufferDescriptor
from ..npu.topology import TileAddress
from .fabric import Fabric
from .locks import LockBank
from .packets import Token
from .races import Clock


@dataclass(frozen=True, slots=True)
class Task:
    """An entry of the start queue. `clock`: what its author knew, in check mode."""

    descriptor: int
    repeats: int
    token: bool
    clock: Clock | None = None


class State(enum.Enum):
    """What a channel is doing."""

    IDLE = 0
    SELECT = 1
    """An out-of-order channel waits for the header that names its BD."""
    ACQUIRE = 2
    HEADER = 3
    TRANSFER = 4
    TOKEN = 5


class Host(Protocol):
    """What a channel needs from its tile."""

    address: TileAddress
    fabric: Fabric

    def descriptor(self, number: int) -> BufferDescriptor:
        """BD `number` as the registers hold it now."""
        ...

    def iterate(self, number: int, current: int) -> None:
        """Writes the iteration counter of BD `number`."""
        ...

    def dma_lock(self, lock: int, channel: int) -> tuple[LockBank, int]:
        """The lock that a BD means by this id. Raises EmulationError where there is none."""
        ...

    def send_token(self, token: Token, controller: int, time: int) -> bool:
        """Offers a token to the tile's control port. True when taken."""
        ...


@dataclass(slots=True)
class ChannelCycles:
    """What a channel's clock was spent on: a cycle for each of its words, requests of locks and headers, and
    what it waited."""

    words: int = 0
    requests: int = 0
    lock_wait: int = 0
    stream_wait: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.words + self.requests + self.lock_wait + self.stream_wait

    def plus(self, other: ChannelCycles) -> ChannelCycles:
        """The sum."""
        return ChannelCycles(
            self.words + other.words,
            self.requests + other.requests,
            self.lock_wait + other.lock_wait,
            self.stream_wait + other.stream_wait,
        )

    def since(self, before: ChannelCycles) -> ChannelCycles:
        """The difference."""
        return ChannelCycles(
            self.words - before.words,
            self.requests - before.requests,
            self.lock_wait - before.lock_wait,
            self.stream_wait - before.stream_wait,
        )
