"""How much of everything an npu1 (Phoenix) tile has.

Source: aie-rt's register header (MIT) for counts and address ranges, AMD's AIE-ML documentation for
memory sizes (docs: see NOTICE). Lengths are in bytes where a name says so, else in units of the thing.
"""

from __future__ import annotations

from dataclasses import dataclass

from .topology import TileKind

WORD_BYTES = 4
"""Streams are 32 bits wide; DMA lengths and steps count these words."""

COLUMNS = 4
"""Columns that have a shim DMA (physical columns 1 to 4)."""

PROGRAM_MEMORY_BYTES = 0x4000
PROGRAM_MEMORY_OFFSET = 0x20000
"""Where program memory stands in a compute tile's address space; the core sees it at 0."""

LOCK_MINIMUM, LOCK_MAXIMUM = -64, 63
"""Locks are counters; six value bits in the lock register, seven with the sign in a BD or request."""

PACKET_IDS = 32
"""Five bits of packet id."""

MAXIMUM_TASK_REPEAT = 256
"""The start queue's repeat field has eight bits and holds the count minus one."""

TASK_QUEUE_DEPTH = 4
"""Tasks that one channel's start queue holds."""

ITERATION_MAXIMUM = 64
"""Six bits of iteration wrap, stored minus one."""

BURST_BYTES = (64, 128, 256)
"""Burst lengths of a shim DMA by the BD's two-bit code; code 3 is not used."""


@dataclass(frozen=True, slots=True)
class TileLimits:
    """Counts of one kind of tile."""

    data_memory_bytes: int
    locks: int
    descriptors: int
    channels: int
    """DMA channels in each direction."""


LIMITS = {
    TileKind.SHIM: TileLimits(data_memory_bytes=0, locks=16, descriptors=16, channels=2),
    TileKind.MEMORY: TileLimits(data_memory_bytes=0x80000, locks=64, descriptors=48, channels=6),
    TileKind.COMPUTE: TileLimits(data_memory_bytes=0x10000, locks=16, descriptors=16, channels=2),
}


def usable_descriptors(kind: TileKind, channel: int) -> range:
    """BDs that a DMA channel may use: a memory tile's even channels 0 to 23, its odd ones 24 to 47."""
    count = LIMITS[kind].descriptors
    if kind is not TileKind.MEMORY:
        return range(count)
    return range(count // 2) if channel % 2 == 0 else range(count // 2, count)
