"""Memories of the array: DDR as the device sees it, and the data memories of tiles.

DDR is reached through the `DeviceMemory` protocol only (the emulated device implements it over its buffer
objects). A `Store` is what one DMA channel reads and writes: the tile's own memory, three memory tiles
side by side, or DDR. All of them count 32-bit words, as the DMAs do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..errors import EmulationError
from ..npu.limits import WORD_BYTES
from .addressing import Piece
from .transfers import TransferLog

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]


class DeviceMemory(Protocol):
    """DDR by device address. Both raise EmulationError(kind="out-of-range") outside every buffer."""

    def read(self, address: int, length: int) -> Bytes:
        """`length` bytes from `address`; the caller does not write into the array."""
        ...

    def write(self, address: int, data: Bytes) -> None:
        """Puts `data` at `address`."""
        ...


class MemoryObserver(Protocol):
    """Is told what DMAs are about to do to a data memory. Words, not bytes."""

    def dma_read(self, memory: LocalMemory, piece: Piece) -> None:
        """A DMA reads these words."""
        ...

    def dma_write(self, memory: LocalMemory, piece: Piece) -> None:
        """A DMA writes these words."""
        ...


WRITTEN, LOADED, STORED = 1, 2, 4
"""Bits of a shadow byte: its byte was ever written; a core's accesses since they were last looked at."""

ALL_WRITTEN = 0x01010101
"""A word of shadow whose four bytes were all written."""


class LocalMemory:
    """The data memory of a tile: `bytes` (uint8) and `words` (uint32) are views of the same storage.

    Behind the bytes stands their shadow, a byte for each: `storage` is both. What writes by DMA or register
    marks it here; cores do so only where they are checked.
    """

    def __init__(self, name: str, size_bytes: int) -> None:
        self.name = name
        self.storage: Bytes = np.zeros(2 * size_bytes, np.uint8)
        self.bytes: Bytes = self.storage[:size_bytes]
        self.words: Words = self.bytes.view(np.uint32)
        self.shadow: Bytes = self.storage[size_bytes:]
        self.shadow_words: Words = self.shadow.view(np.uint32)
        self.observer: MemoryObserver | None = None

    def mark(self, start: int, end: int) -> None:
        """The bytes from `start` to before `end` were written."""
        self.shadow[start:end] |= WRITTEN


class Store(Protocol):
    """What a DMA channel transfers from or to. Raises EmulationError(kind="out-of-range")."""

    def gather(self, piece: Piece) -> Words:
        """The words of `piece` in order, as a new array."""
        ...

    def scatter(self, piece: Piece, words: Words) -> None:
        """Puts `words` at the places of `piece`, in order."""
        ...


class TileStore:
    """A compute tile's own data memory."""

    def __init__(self, memory: LocalMemory) -> None:
        self._memory = memory

    def gather(self, piece: Piece) -> Words:
        self._check(piece)
        if self._memory.observer is not None:
            self._memory.observer.dma_read(self._memory, piece)
        return take_words(self._memory.words, piece)

    def scatter(self, piece: Piece, words: Words) -> None:
        self._check(piece)
        if self._memory.observer is not None:
            self._memory.observer.dma_write(self._memory, piece)
        put_words(self._memory.words, piece, words)

    def _check(self, piece: Piece) -> None:
        if piece.highest >= self._memory.words.size:
            raise EmulationError(
                f"address {piece.highest * WORD_BYTES:#x} lies past the {self._memory.bytes.size:#x} bytes of"
                f" {self._memory.name}",
                kind="out-of-range",
            )


class MemoryTileStore:
    """What a memory tile's DMA sees: the west tile, its own and the east tile, one after another.

    `memories` has None where there is no neighbour; `local_only` channels (4 and 5) reach only the middle.
    """

    def __init__(self, memories: Sequence[LocalMemory | None], *, local_only: bool) -> None:
        self._memories = tuple(memories)
        self._local_only = local_only
        own = self._memories[1]
        if own is None:
            raise ValueError("a memory tile has its own memory")
        self._size = own.words.size

    def gather(self, piece: Piece) -> Words:
        if piece.lowest // self._size == piece.highest // self._size:
            memory, moved = self._single(piece)
            if memory.observer is not None:
                memory.observer.dma_read(memory, moved)
            return take_words(memory.words, moved)
        result = np.zeros(piece.count, np.uint32)
        for memory, moved, selected in self._parts(piece):
            if memory.observer is not None:
                memory.observer.dma_read(memory, moved)
            result[selected] = take_words(memory.words, moved)
        return result

    def scatter(self, piece: Piece, words: Words) -> None:
        if piece.lowest // self._size == piece.highest // self._size:
            memory, moved = self._single(piece)
            if memory.observer is not None:
                memory.observer.dma_write(memory, moved)
            put_words(memory.words, moved, words)
            return
        for memory, moved, selected in self._parts(piece):
            if memory.observer is not None:
                memory.observer.dma_write(memory, moved)
            put_words(memory.words, moved, words[selected])

    def _single(self, piece: Piece) -> tuple[LocalMemory, Piece]:
        number = piece.lowest // self._size
        return self._memory(number, piece.lowest), piece.moved(-number * self._size)

    def _parts(self, piece: Piece) -> list[tuple[LocalMemory, Piece, npt.NDArray[np.bool_]]]:
        index = piece.indices()
        parts: list[tuple[LocalMemory, Piece, npt.NDArray[np.bool_]]] = []
        for number in range(piece.lowest // self._size, piece.highest // self._size + 1):
            selected = (index >= number * self._size) & (index < (number + 1) * self._size)
            if selected.any():
                chosen = index[selected]
                memory = self._memory(number, int(chosen[0]))
                parts.append((memory, Piece.of(chosen - number * self._size), selected))
        return parts

    def _memory(self, number: int, word: int) -> LocalMemory:
        memory = self._memories[number] if number < len(self._memories) else None
        if memory is None:
            raise EmulationError(
                f"address {word * WORD_BYTES:#x} lies in a neighbour that the array does not have",
                kind="out-of-range",
            )
        if self._local_only and number != 1:
            raise EmulationError(
                f"address {word * WORD_BYTES:#x} lies in a neighbour, which channels 4 and 5 do not reach",
                kind="out-of-range",
            )
        return memory


class DdrObserver(Protocol):
    """Is told what DMAs are about to do to DDR. Words, not bytes."""

    def ddr_access(self, piece: Piece, *, writes: bool) -> None:
        """A DMA reads or writes these words."""
        ...


class DdrStore:
    """DDR through the `DeviceMemory` protocol; every access goes into the log."""

    def __init__(self, memory: DeviceMemory, log: TransferLog, observer: DdrObserver) -> None:
        self._memory = memory
        self._log = log
        self._observer = observer

    def gather(self, piece: Piece) -> Words:
        self._observer.ddr_access(piece, writes=False)
        if piece.index is None:
            self._log.read(piece.lowest * WORD_BYTES, piece.count * WORD_BYTES)
            return self._read(piece.lowest, piece.count)
        starts, lengths = piece.runs
        self._log.read_many(starts * WORD_BYTES, lengths * WORD_BYTES)
        span = piece.highest - piece.lowest + 1
        if span <= _SPARSE * piece.count:
            try:
                return self._read(piece.lowest, span)[piece.index - piece.lowest]
            except EmulationError:
                # the pattern may step over a gap between buffers: then only its runs may be read
                pass
        parts = [self._read(int(start), int(length)) for start, length in zip(starts, lengths, strict=True)]
        return np.concatenate(parts)

    def scatter(self, piece: Piece, words: Words) -> None:
        self._observer.ddr_access(piece, writes=True)
        data = words.view(np.uint8)
        if piece.index is None:
            self._log.wrote(piece.lowest * WORD_BYTES, piece.count * WORD_BYTES)
            self._memory.write(piece.lowest * WORD_BYTES, data)
            return
        starts, lengths = piece.runs
        self._log.wrote_many(starts * WORD_BYTES, lengths * WORD_BYTES)
        at = 0
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
            size = length * WORD_BYTES
            self._memory.write(start * WORD_BYTES, data[at : at + size])
            at += size

    def _read(self, word: int, count: int) -> Words:
        data = self._memory.read(word * WORD_BYTES, count * WORD_BYTES)
        return np.frombuffer(data.tobytes(), np.uint32)


_SPARSE = 8
"""Strided reads fetch the whole span at once while it is at most this many times the words wanted."""


def take_words(words: Words, piece: Piece) -> Words:
    """A copy of the words of `piece`; index -1 stands for a word of zeros (padding)."""
    if piece.index is None:
        return words[piece.lowest : piece.lowest + piece.count].copy()
    taken = words[piece.index]
    if piece.padded:
        taken[piece.index < 0] = 0
    return taken


def put_words(words: Words, piece: Piece, values: Words) -> None:
    """Writes `values`; where the pattern names a word twice, the later one stays, as in a real DMA."""
    if piece.index is None:
        words[piece.lowest : piece.lowest + piece.count] = values
    else:
        words[piece.index] = values
