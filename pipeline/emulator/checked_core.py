"""Looks at what a core's code did to memory, where the array is checked in full.

The engine marks each byte that the core touches in the memory's shadow (`memory.LOADED`, `STORED`) and keeps
the extent of the stack; before the core meets others (locks, streams, cascade, the end of its turn) the
marks are taken and compared with what others did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..npu.descriptors import BufferDescriptor
from ..npu.limits import LIMITS, WORD_BYTES
from ..npu.topology import TileKind
from .addressing import pattern_of
from .checks import Checks
from .memory import LocalMemory

OWN_MEMORY = 0x70000
"""Where a core sees its own data memory (facts/aie2-isa.md section 6)."""

_QUADRANT_SHIFT = 16


class StackExtent(Protocol):
    """What a checked engine knows of the stack pointer: lowest, highest, and the pc of the latter."""

    @property
    def stack(self) -> tuple[int, int, int] | None: ...


class CheckedCore:
    """Implements `core_unit.CoreWatch` and `emulator.core`'s `CoreChecks`.

    `memories` are South, West, North and own; `descriptors` are the BDs that its DMA has
    executed, as they were then.
    """

    def __init__(
        self,
        name: str,
        checks: Checks,
        memories: tuple[LocalMemory | None, LocalMemory | None, LocalMemory | None, LocalMemory | None],
        descriptors: Mapping[int, BufferDescriptor],
    ) -> None:
        self.name = name
        self.engine: StackExtent | None = None
        self._descriptors = descriptors
        self._checks = checks
        self._memories = memories
        self._present = [memory for memory in memories if memory is not None]
        self._pc = 0
        self._reached: tuple[int, int, int] | None = None

    def unwritten_load(self, pc: int, address: int, size: int) -> None:
        """The core loads bytes of which not all were written."""
        quadrant, offset = (address >> _QUADRANT_SHIFT) - 4, address & 0xFFFF
        memory = self._memories[quadrant]
        if memory is not None:
            self._checks.core_read(self.name, pc, memory, offset, size)

    def meets_others(self, pc: int) -> None:
        """The core is at `pc`; what it did since the last time is compared."""
        self._checks.core_segment(self.name, self._present, self._pc, pc)
        self._pc = pc
        extent = None if self.engine is None else self.engine.stack
        if extent is not None and extent != self._reached:
            self._reached = extent
            low, high, at = extent
            if OWN_MEMORY <= low < high:
                own = self._memories[3]
                size = LIMITS[TileKind.COMPUTE].data_memory_bytes if own is None else own.bytes.size
                buffers = [
                    (number, start, end)
                    for number, bd in self._descriptors.items()
                    for start, end in [_extent(bd)]
                ]
                self._checks.stack(self.name, low - OWN_MEMORY, min(high - OWN_MEMORY, size), at, buffers)


def _extent(bd: BufferDescriptor) -> tuple[int, int]:
    """The bytes from the first to behind the last word of a BD's buffer."""
    if not bd.length_words:
        return bd.address, bd.address
    try:
        piece = pattern_of(bd).piece(bd.address // WORD_BYTES, 0, bd.length_words)
    except ValueError:
        return bd.address, bd.address
    return piece.lowest * WORD_BYTES, (piece.highest + 1) * WORD_BYTES
