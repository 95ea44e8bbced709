"""What the array watches itself for while it runs: reads of memory nobody wrote, and more when asked.

One `Checks` belongs to an array; DMA channels, cores, locks and registers tell it what they do. Always on is
what costs next to nothing: DMAs that read words of a memory tile that nobody wrote. `full` adds the memory of
compute tiles and accesses of cores (whose code then marks each byte, see emulator/core), races (races.py; in
DDR, too) and the stack. Of buffers in DDR that nobody wrote the sync sanitizer tells (S014).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..npu.limits import WORD_BYTES
from .addressing import Piece
from .findings import Finding, FindingLog
from .memory import ALL_WRITTEN, LOADED, STORED, WRITTEN, Bytes, LocalMemory
from .races import Actor, Races

ACCESSES_PER_CORE = 50
"""Unwritten reads of a core that are told; each stops compiled code, so the rest is taken as written."""


class DmaAgent(Protocol):
    """What a DMA channel shows of itself."""

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str:
        """Without its tile: "S2MM 0"."""
        ...

    @property
    def number(self) -> int:
        """The BD that it executes."""
        ...


class Checks:
    """Implements `memory.MemoryObserver`; `dma` is the channel that acts next."""

    def __init__(self, *, full: bool = False) -> None:
        self.log = FindingLog()
        self.races = Races(self.log) if full else None
        self.dma: DmaAgent | None = None
        self._told: dict[str, int] = {}

    @property
    def full(self) -> bool:
        """Cores and compute tiles are watched too."""
        return self.races is not None

    def begin_run(self) -> None:
        """A run begins."""
        if self.races is not None:
            self.races.begin_run()

    def outside_load(self, core: str, pc: int) -> None:
        """A core's bundle at `pc` loaded from where it has no data memory."""
        message = (
            f"{core} loads at pc {pc:#x} from where it has no data memory; it gets zeros here, on hardware "
            "nobody says what"
        )
        self.log.add(("outside", core, pc), Finding("outside-read", core, message, pc=pc))

    # ----------------------------------------------------------------- DMAs

    def dma_read(self, memory: LocalMemory, piece: Piece) -> None:
        """Before a DMA reads these words."""
        marks = memory.shadow_words
        if piece.index is None:
            marks = marks[piece.lowest : piece.highest + 1]
            if not (marks & ALL_WRITTEN == ALL_WRITTEN).all():
                self._unwritten(memory, np.arange(piece.lowest, piece.highest + 1))
        else:
            index = piece.index[piece.index >= 0] if piece.padded else piece.index
            if not (marks[index] & ALL_WRITTEN == ALL_WRITTEN).all():
                self._unwritten(memory, index)
        if self.races is not None and self.dma is not None:
            self.races.dma_access(self.dma.name, self.dma.number, memory, piece, writes=False)

    def dma_write(self, memory: LocalMemory, piece: Piece) -> None:
        """Before a DMA writes these words."""
        if piece.index is None:
            memory.shadow_words[piece.lowest : piece.highest + 1] |= ALL_WRITTEN
        else:
            memory.shadow_words[piece.index] |= ALL_WRITTEN
        if self.races is not None and self.dma is not None:
            self.races.dma_access(self.dma.name, self.dma.number, memory, piece, writes=True)

    def ddr_access(self, piece: Piece, *, writes: bool) -> None:
        """Before a DMA reads or writes these words of DDR."""
        if self.races is not None and self.dma is not None:
            self.races.ddr_access(self.dma.name, self.dma.number, piece, writes=writes)

    def _unwritten(self, memory: LocalMemory, index: np.typing.NDArray[np.int64]) -> None:
        marks = memory.shadow_words
        missing = np.unique(index[marks[index] & ALL_WRITTEN != ALL_WRITTEN])
        marks[missing] |= ALL_WRITTEN  # told once
        if self.dma is None:
            return
        first = int(missing[0]) * WORD_BYTES
        name, number = self.dma.name, self.dma.number
        whose = "" if name.startswith(memory.name) else f" of {memory.name}"
        self.log.add(
            ("unwritten", name, number, memory.name),
            Finding(
                "unwritten-read",
                name.removesuffix(f" {self.dma.label}"),
                f"{name} BD {number} reads {_count(missing.size, 'word')}{whose} that nobody wrote,"
                f" the first at {first:#x}",
                channel=self.dma.label,
                descriptor=number,
                address=first,
            ),
        )

    # ----------------------------------------------------------------- cores

    def core_read(self, core: str, pc: int, memory: LocalMemory, offset: int, size: int) -> None:
        """A core loads bytes of which not all were written; they count as written from now on."""
        shadow = memory.shadow[offset : offset + size]
        missing = np.flatnonzero(shadow & WRITTEN == 0)
        told = self._told[core] = self._told.get(core, 0) + 1
        if told > ACCESSES_PER_CORE:
            memory.mark(0, memory.bytes.size)
            return
        memory.mark(offset, offset + size)
        first = offset + int(missing[0])
        whose = "its own memory" if memory.name == core else f"the memory of {memory.name}"
        self.log.add(
            ("unwritten", core, pc, memory.name),
            Finding(
                "unwritten-read",
                core,
                f"{core} at pc {pc:#06x} loads {_count(missing.size, 'byte')} of {whose} that nobody wrote,"
                f" the first at {first:#x}",
                pc=pc,
                address=first,
            ),
        )

    def core_segment(self, core: str, memories: list[LocalMemory], first_pc: int, pc: int) -> None:
        """What a core loaded and stored since the last time, before it meets others."""
        if self.races is None:
            return
        for memory in memories:
            marks = memory.shadow.view(np.uint64)
            touched = np.flatnonzero(marks & _ACCESSED)
            if not touched.size:
                continue
            low, high = int(touched[0]) * 8, int(touched[-1]) * 8 + 8
            shadow = memory.shadow[low:high]
            self.races.core_access(core, (first_pc, pc), memory, _where(shadow, LOADED, low), writes=False)
            self.races.core_access(core, (first_pc, pc), memory, _where(shadow, STORED, low), writes=True)
            shadow &= WRITTEN

    def stack(self, core: str, low: int, high: int, pc: int, buffers: list[tuple[int, int, int]]) -> None:
        """The stack of `core` reached from `low` to `high` (offsets in its own memory), at `pc` the highest.

        `buffers` are (BD, start, end) of its DMA's buffers.
        """
        for number, start, end in buffers:
            if start < high and low < end:
                self.log.add(
                    ("stack", core, number),
                    Finding(
                        "stack-overflow",
                        core,
                        f"the stack of {core} grows from {low:#x} to {high:#x} at pc {pc:#06x}, into the"
                        f" buffer of BD {number} at {start:#x}",
                        pc=pc,
                        descriptor=number,
                        address=start,
                    ),
                )

    # ----------------------------------------------------------------- who knows what of whom

    def controller_writes(self, memory: LocalMemory, start: int, end: int) -> None:
        """A register write or configuration fills data memory."""
        memory.mark(start, end)
        if self.races is not None:
            self.races.range_access(Actor.CONTROLLER, memory, start, end)


_ACCESSED = np.uint64(0x0101010101010101 * (LOADED | STORED))


def _where(shadow: Bytes, bit: int, base: int) -> np.typing.NDArray[np.int64]:
    return np.flatnonzero(shadow & bit) + base


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
