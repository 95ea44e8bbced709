"""What the emulated array showed: findings, and where its cycles went."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArrayFinding:
    """Something that a run did inside the emulated array and hardware would not tell.

    `kind` is a short stable name ("unwritten-read", "outside-read", "race", "stack-overflow", "lock-left",
    "queue-left", "descriptor-left", "words-left"), `message` a whole sentence. `pc` is a byte address in
    program memory, `channel` "S2MM 0", `descriptor` a BD, `address` a byte offset in data memory; None where
    the finding has none. `count` is how often it was met.
    """

    kind: str
    tile: str
    message: str
    pc: int | None = None
    channel: str | None = None
    descriptor: int | None = None
    address: int | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class ChannelCycles:
    """What a DMA channel's cycles went to; `bytes_per_cycle` over the time that it was not idle."""

    name: str
    words: int
    lock_wait: int
    stream_wait: int
    bytes_per_cycle: float


@dataclass(frozen=True, slots=True)
class TileCycles:
    """What a tile's cycles went to in one execution, as docs/emulator.md estimates them."""

    tile: str
    bundles: int
    bank_conflicts: int
    lock_wait: int
    stream_wait: int
    cascade_wait: int
    channels: tuple[ChannelCycles, ...]
