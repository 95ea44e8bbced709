"""How the core's 64 KiB of data memory and its locks are used; the numbers that hardware gives no name.

The first KiB is left to the stack as the linker scripts of Peano's programs do (facts: `_sp_start_value`
0x70000, stack 0x400), although our programs keep everything in registers. Then the ring of step records,
which the instruction stream writes, and the buffers.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ..npu.limits import LIMITS
from ..npu.topology import OWN_LOCK_BASE, TileKind

STACK_BYTES = 0x400
RECORD_OFFSET = STACK_BYTES

RECORD_WORDS = 11
"""At most: eight fixed words and a count for each of three widths of blocks."""
RECORD_SLOTS = 48
"""Steps that the instruction stream may be ahead of the core."""

ALIGNMENT_BYTES = 32
"""Width of the core's widest load (256 bits)."""

_BUFFERS = -(-(RECORD_OFFSET + 4 * RECORD_WORDS * RECORD_SLOTS) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
BUFFER_BYTES = LIMITS[TileKind.COMPUTE].data_memory_bytes - _BUFFERS
"""What is left for the buffers."""

FIRST_CHAIN_BD = 2
INITIAL_CHAIN_STEPS = LIMITS[TileKind.COMPUTE].descriptors - FIRST_CHAIN_BD - 1
"""Steps per tile where the accumulator comes from memory: it and the right operand share a channel, whose
BDs form a ring of one BD for the accumulator and one per step."""


class Lock(enum.IntEnum):
    """The core's locks. Each buffer is handed to and fro by a pair (three with an incoming accumulator)."""

    LEFT_FREE = 0
    LEFT_FULL = 1
    RIGHT_FREE = 2
    RIGHT_FULL = 3
    RESULT_FREE = 4
    RESULT_FULL = 5
    RESULT_LOADED = 6
    COLUMNS_FREE = 7
    COLUMNS_FULL = 8

    @property
    def core_id(self) -> int:
        """The number by which the core itself knows the lock."""
        return OWN_LOCK_BASE + self.value


@dataclass(frozen=True, slots=True)
class EpiloguePlaces:
    """What the code of an epilogue is given: addresses of the sums and of what comes for the columns, the
    register with the result's address, and the registers that it leaves alone."""

    sums: int
    columns: tuple[int, ...]
    result: str
    kept: tuple[str, ...]


def initial_locks() -> dict[int, int]:
    """The values that locks start with: all buffers are free."""
    return {lock.value: 1 for lock in (Lock.LEFT_FREE, Lock.RIGHT_FREE, Lock.RESULT_FREE)}


@dataclass(frozen=True, slots=True)
class Layout:
    """Offsets of the buffers in the core's data memory, in bytes."""

    left: int
    right: int
    result: int


def layout(left_bytes: int, right_bytes: int, result_bytes: int) -> Layout:
    """Places the three buffers one after another. Raises ValueError where they do not fit."""
    left = _BUFFERS
    right = left + aligned(left_bytes)
    result = right + aligned(right_bytes)
    if result + aligned(result_bytes) > LIMITS[TileKind.COMPUTE].data_memory_bytes:
        raise ValueError("the buffers do not fit into the core's data memory")
    return Layout(left, right, result)


def aligned(size_bytes: int) -> int:
    """`size_bytes` rounded up to the alignment of buffers."""
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
