"""Channels that share a lock: each that waits for it has its turn before one that had it comes again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aiepipe.emulator.machine import Machine
from aiepipe.npu.descriptors import BufferDescriptor

from .designs import MM2S, OWN, S2MM, Ddr, Design, compute, dma, memtile, memtile_bd, north, south, words

FREE, FULL = 64, 65
"""The memory tile's own locks 0 and 1, as its BDs number them."""
PARTS, ROUNDS = 4, 3


def lock(acquire: int, release: int, count: int) -> dict[str, Any]:
    """Takes `count` of one lock and gives as many of the other."""
    return {
        "acquire_enable": True, "acquire_lock": acquire, "acquire_value": -count,
        "release_lock": release, "release_value": count,
    }  # fmt: skip


def part_bd(part: int) -> int:
    """Odd channels of a memory tile have BDs from 24 on."""
    return 4 + part + 24 * (part & 1)


def column(design: Design, part: int, *, up: bool) -> None:
    """Between the memory tile's channel `part` and the core tile of that number."""
    hops = [
        (memtile(), dma(part), north(part)),
        *((compute(row=row), south(part), north(part)) for row in range(2, 2 + part)),
        (compute(row=2 + part), south(part), dma(0)),
    ]
    for tile, below, above in hops:
        design.connect(tile, *((below, above) if up else (above, below)))


@pytest.mark.parametrize("size", [4, 32, 500])
def test_each_of_four_readers_sends_its_part_of_a_buffer_once(size: int) -> None:
    """mlir-aie's and IREE's way to distribute: who fills takes four of a lock, who sends a part takes one."""
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.connect(memtile(), south(0), dma(0))
    design.lock(memtile(), 0, PARTS)
    whole = memtile_bd(OWN, PARTS * size, **lock(FREE, FULL, PARTS), next_bd=0)
    design.bd(memtile(), 0, whole)
    design.start(memtile(), S2MM, 0, 0)
    for part in range(PARTS):
        sent = memtile_bd(OWN + 4 * size * part, size, **lock(FULL, FREE, 1), next_bd=part_bd(part))
        design.bd(memtile(), part_bd(part), sent)
        design.start(memtile(), MM2S, part, part_bd(part))
        column(design, part, up=True)
        design.bd(compute(row=2 + part), 0, BufferDescriptor(0x400, ROUNDS * size))
        design.start(compute(row=2 + part), S2MM, 0, 0)
    design.transfer(MM2S, 0, ROUNDS * PARTS * size)
    made = Machine(1, ddr)
    made.load(design.cdo)
    given = np.arange(ROUNDS * PARTS * size, dtype=np.uint32)
    report = made.run(design.stream, [ddr.add(given)])
    assert report.findings == ()
    for part in range(PARTS):
        memory = made.array.tiles[compute(row=2 + part)].memory
        assert memory is not None
        expected = given.reshape(ROUNDS, PARTS, size)[:, part].ravel()
        assert np.array_equal(memory.words[0x100 : 0x100 + ROUNDS * size], expected)


@pytest.mark.parametrize("size", [4, 32, 500])
def test_each_of_four_writers_fills_its_part_of_a_buffer_once(size: int) -> None:
    """The way back: who fills a part takes one of a lock, who sends the whole takes four."""
    design, ddr = Design(), Ddr()
    design.connect(memtile(), dma(5), south(0))
    design.shim_out(0, 0, north(0))
    design.lock(memtile(), 0, PARTS)
    given = np.arange(ROUNDS * PARTS * size, dtype=np.uint32).reshape(ROUNDS, PARTS, size)
    for part in range(PARTS):
        filled = memtile_bd(OWN + 4 * size * part, size, **lock(FREE, FULL, 1), next_bd=part_bd(part))
        design.bd(memtile(), part_bd(part), filled)
        design.start(memtile(), S2MM, part, part_bd(part))
        column(design, part, up=False)
        core = compute(row=2 + part)
        design.data(core, 0x400, np.ascontiguousarray(given[:, part]))
        design.bd(core, 0, BufferDescriptor(0x400, ROUNDS * size))
        design.start(core, MM2S, 0, 0)
    whole = memtile_bd(OWN, PARTS * size, **lock(FULL, FREE, PARTS), next_bd=30)
    design.bd(memtile(), 30, whole)
    design.start(memtile(), MM2S, 5, 30)
    design.transfer(S2MM, 0, given.size)
    design.sync()
    design.tokens()
    made = Machine(1, ddr)
    made.load(design.cdo)
    got = ddr.add(words([0] * given.size))
    made.run(design.stream, [got])
    assert np.array_equal(ddr.get(got), given.ravel())
