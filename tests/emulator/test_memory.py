"""What DMA channels read and write: DDR in runs, memory tiles side by side, observers."""

from __future__ import annotations

import numpy as np
import pytest

from aiepipe.emulator.addressing import Piece, pattern_of
from aiepipe.emulator.checks import Checks
from aiepipe.emulator.memory import DdrStore, LocalMemory, MemoryTileStore, TileStore
from aiepipe.emulator.transfers import Transfer, TransferLog
from aiepipe.errors import EmulationError
from aiepipe.npu.descriptors import BufferDescriptor

from .designs import Ddr, words


def ramp(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.arange(count, dtype=np.uint32)


def test_a_strided_read_may_step_over_a_gap_between_buffers() -> None:
    """Two words of one buffer, two of the next: only what is wanted is read."""
    ddr, log = Ddr(), TransferLog()
    first = ddr.add(ramp(16))
    second = ddr.add(ramp(16) + 100)
    step = (second - first) // 4
    pattern = pattern_of(BufferDescriptor(0, 4, steps=(1, step, 1), wraps=(2, 0)))
    got = DdrStore(ddr, log, Checks()).gather(pattern.piece(first // 4, 0, 4))
    assert got.tolist() == [0, 1, 100, 101]
    assert log.transfers() == (Transfer("read", first, 8), Transfer("read", second, 8))


def test_a_strided_write_touches_only_its_words() -> None:
    ddr, log = Ddr(), TransferLog()
    buffer = ddr.add(np.full(12, 9, np.uint32))
    pattern = pattern_of(BufferDescriptor(0, 4, steps=(3, 1, 1), wraps=(4, 0)))
    DdrStore(ddr, log, Checks()).scatter(pattern.piece(buffer // 4, 0, 4), words([1, 2, 3, 4]))
    assert ddr.get(buffer).tolist() == [1, 9, 9, 2, 9, 9, 3, 9, 9, 4, 9, 9]


def test_a_memory_tiles_pattern_may_cross_into_the_neighbour() -> None:
    own, east = LocalMemory("own", 0x80000), LocalMemory("east", 0x80000)
    store = MemoryTileStore([None, own, east], local_only=False)
    size = 0x20000
    piece = Piece(2 * size - 2, 2 * size + 1, 4)
    store.scatter(piece, words([1, 2, 3, 4]))
    assert own.words[-2:].tolist() == [1, 2]
    assert east.words[:2].tolist() == [3, 4]
    assert store.gather(piece).tolist() == [1, 2, 3, 4]
    with pytest.raises(EmulationError, match="neighbour that the array does not have"):
        store.gather(Piece(0, 0, 1))
    with pytest.raises(EmulationError, match="channels 4 and 5"):
        MemoryTileStore([None, own, east], local_only=True).gather(Piece(2 * size, 2 * size, 1))


def test_an_observer_sees_what_a_dma_does() -> None:
    class Observer:
        def __init__(self) -> None:
            self.seen: list[tuple[str, str, int]] = []

        def dma_read(self, memory: LocalMemory, piece: Piece) -> None:
            self.seen.append(("read", memory.name, piece.count))

        def dma_write(self, memory: LocalMemory, piece: Piece) -> None:
            self.seen.append(("write", memory.name, piece.count))

    memory = LocalMemory("core (0,2)", 0x10000)
    observer = Observer()
    memory.observer = observer
    store = TileStore(memory)
    store.scatter(Piece(0, 3, 4), words([1, 2, 3, 4]))
    assert store.gather(Piece(2, 3, 2)).tolist() == [3, 4]
    assert observer.seen == [("write", "core (0,2)", 4), ("read", "core (0,2)", 2)]


def test_a_compute_tiles_memory_ends_at_64_kib() -> None:
    store = TileStore(LocalMemory("core (0,2)", 0x10000))
    with pytest.raises(EmulationError, match="address 0x10000 lies past the 0x10000 bytes of core"):
        store.gather(Piece(0x3FFF, 0x4000, 2))
