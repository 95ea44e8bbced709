"""Which bytes of its buffers an instruction stream makes the shim DMAs read and write.

Follows the stream's writes to shim BDs, the patches of their addresses and the starts of tasks. What a
core program does is not needed for that: DDR is reached through shims only. Where a BD was set up by the
configuration and not by the stream, its length is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..npu.descriptors import BufferDescriptor, decode, descriptor_offset, descriptor_words
from ..npu.registers import locate
from ..npu.topology import COLUMN_SHIFT, OFFSET_MASK, ROW_SHIFT, SHIM_ROW, Direction, TileKind
from . import lx6
from .lx6 import Lx6Stream
from .txn import Transaction
from .txn_operations import BlockWrite, DdrPatch, MaskWrite32, Write32

WORD_BYTES = 4

DDR_APERTURE = 0x8000_0000
"""npu1's firmware adds it to the addresses of arguments 0 to 4; for the others compilers put it in the
stream's offset (as in emulator/controller.py)."""

FIRST_FOLDED_ARGUMENT = 5

_LARGEST_TRANSFER_WORDS = 1 << 26
"""Beyond 256 MiB a strided transfer is described by its extent alone."""


@dataclass(frozen=True, slots=True)
class StreamAccess:
    """One task's access to a data buffer (`argument` counts from 0): `ranges` are its bytes as (offset,
    length), joined and in order; None where the stream does not say how many. `column` and `channel` are
    those of the shim DMA that does it."""

    argument: int
    writes: bool
    ranges: tuple[tuple[int, int], ...] | None
    column: int = 0
    channel: int = 0


def stream_accesses(stream: Transaction | Lx6Stream) -> tuple[StreamAccess, ...]:
    """In the order in which the tasks are started."""
    state = _Shims()
    return tuple(state.lx6(stream) if isinstance(stream, Lx6Stream) else state.txn(stream))


@dataclass(slots=True)
class _Shims:
    """Registers of the shims as the stream has written them; `patches` maps (column, BD) to (argument,
    offset in bytes)."""

    words: dict[int, int] = field(default_factory=dict[int, int])
    patches: dict[tuple[int, int], tuple[int, int]] = field(
        default_factory=dict[tuple[int, int], tuple[int, int]]
    )

    def txn(self, stream: Transaction) -> Iterator[StreamAccess]:
        for op in stream.ops:
            match op:
                case Write32():
                    yield from self._write(op.address, op.value)
                case MaskWrite32():
                    old = self.words.get(op.address, 0)
                    yield from self._write(op.address, old & ~op.mask | op.value & op.mask)
                case BlockWrite():
                    for at, value in enumerate(op.words):
                        yield from self._write(op.address + WORD_BYTES * at, value)
                case DdrPatch():
                    folded = op.argument >= FIRST_FOLDED_ARGUMENT and op.offset_bytes >= DDR_APERTURE
                    offset = op.offset_bytes - DDR_APERTURE if folded else op.offset_bytes
                    self._patch(op.address, op.argument, offset)
                case _:
                    continue

    def lx6(self, stream: Lx6Stream) -> Iterator[StreamAccess]:
        for op in stream.ops:
            match op:
                case lx6.Write32():
                    tile = op.column << COLUMN_SHIFT | op.row << ROW_SHIFT
                    yield from self._write(tile | op.address & OFFSET_MASK, op.value)
                case lx6.WriteBd():
                    for column in range(op.column, op.column + max(1, op.columns)):
                        start = (column << COLUMN_SHIFT) + descriptor_offset(TileKind.SHIM, op.bd)
                        for at, value in enumerate(op.words):
                            self.words[start + WORD_BYTES * at] = value
                        self.patches[column, op.bd] = op.argument, op.words[1]
                case _:
                    continue

    def _write(self, address: int, value: int) -> Iterator[StreamAccess]:
        if address >> ROW_SHIFT & 0x1F != SHIM_ROW:
            return
        self.words[address] = value
        found = locate(TileKind.SHIM, address & OFFSET_MASK)
        if found is None or found.byte:
            return
        column = address >> COLUMN_SHIFT
        if found.register.name == "DMA_BD_WORD_1":
            self.patches.pop((column, found.index), None)  # an address of its own, until it is patched
            return
        for direction in Direction:
            if found.register.name == f"DMA_{direction.name}_START_QUEUE":
                fields = found.register.decode(value)
                repeats = fields["REPEAT_COUNT"] + 1
                place = column, found.index
                yield from self._started(place, fields["START_BD_ID"], direction, repeats)

    def _patch(self, address: int, argument: int, offset: int) -> None:
        found = locate(TileKind.SHIM, address & OFFSET_MASK)
        if found is not None and found.register.name == "DMA_BD_WORD_1":
            self.patches[address >> COLUMN_SHIFT, found.index] = argument, offset

    def _started(
        self, place: tuple[int, int], number: int, direction: Direction, repeats: int
    ) -> Iterator[StreamAccess]:
        """The task's BD and those that it is chained to; `place` is column and channel."""
        column, channel = place
        seen: set[int] = set()
        at: int | None = number
        while at is not None and at not in seen:
            seen.add(at)
            patch, descriptor = self.patches.get((column, at)), self._descriptor(column, at)
            if patch is not None:
                ranges = None if descriptor is None else _ranges(descriptor, patch[1], repeats)
                yield StreamAccess(patch[0], direction is Direction.S2MM, ranges, column, channel)
            at = None if descriptor is None else descriptor.next_bd

    def _descriptor(self, column: int, number: int) -> BufferDescriptor | None:
        try:
            start = (column << COLUMN_SHIFT) + descriptor_offset(TileKind.SHIM, number)
        except IndexError:
            return None
        words = [self.words.get(start + WORD_BYTES * at) for at in range(descriptor_words(TileKind.SHIM))]
        known = [word for word in words if word is not None]
        return decode(TileKind.SHIM, known) if len(known) == len(words) else None


def _ranges(bd: BufferDescriptor, offset: int, repeats: int) -> tuple[tuple[int, int], ...]:
    """The bytes of `repeats` executions, joined."""
    if bd.length_words == 0:
        return ()
    starts = {
        bd.iteration_step * ((bd.iteration_current + n) % max(1, bd.iteration_wrap)) for n in range(repeats)
    }
    first, second = bd.wraps
    contiguous = bd.steps[0] == 1 and (first == 0 or bd.length_words <= first)
    words: list[tuple[int, int]] = []
    for start in sorted(starts):
        if contiguous or bd.length_words > _LARGEST_TRANSFER_WORDS:
            words.append((start, bd.length_words))
            continue
        index = np.arange(bd.length_words, dtype=np.int64)
        place = start + bd.steps[0] * (index % first if first else index)
        if first:
            rows = index // first
            place += bd.steps[1] * (rows % second if second else rows)
            place += bd.steps[2] * (rows // second) if second else 0
        unique = np.unique(place)
        breaks = np.flatnonzero(np.diff(unique) != 1) + 1
        words += [(int(run[0]), int(run.size)) for run in np.split(unique, breaks)]
    return _joined([(offset + WORD_BYTES * at, WORD_BYTES * count) for at, count in words])


def _joined(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for low, length in sorted(ranges):
        if found and low <= sum(found[-1]):
            found[-1] = found[-1][0], max(sum(found[-1]), low + length) - found[-1][0]
        else:
            found.append((low, length))
    return tuple(found)
