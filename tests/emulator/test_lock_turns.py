"""Channels that share a lock: each that waits for it has its turn before one that had it comes again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from aiepipe.emulator.machine import Machine
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.npu.topology import TileAddress

from .core.bench import Engine
from .designs import MM2S, OWN, S2MM, Ddr, Design, compute, dma, memtile, memtile_bd, north, south, words
from .programs import OWN_LOCK, OWN_MEMORY, acquire, load, program, release, store

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


def column(design: Design, part: int, *, up: bool, channel: int | None = None) -> None:
    """Between the memory tile's channel (of the part's number) and the core tile of the part."""
    hops = [
        (memtile(), dma(part if channel is None else channel), north(part)),
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


IN, OUT = 0x1000, 0x3000
"""A core's two buffers each, 0x800 bytes apart; with them its locks 0 (free) and 1 (full), 2 and 3."""


def ring(design: Design, tile: TileAddress, first: int, make: Callable[[int], BufferDescriptor]) -> None:
    """Two BDs that follow each other."""
    for half in range(2):
        design.bd(tile, first + half, dataclasses.replace(make(half), next_bd=first + 1 - half))


def adds_five(design: Design, core: TileAddress, cycles: int) -> None:
    """Round by round: the first word of what came, plus 5, goes out; it takes some `cycles`."""
    lines = ["again:"]
    for half in range(2):
        lines += [
            *acquire(OWN_LOCK + 1), *acquire(OWN_LOCK + 2), *load(OWN_MEMORY + IN + 0x800 * half),
            f"movxm r11, #{cycles}", f"wait{half}:", "add r11, r11, #-1", f"jnz r11, wait{half}",
            "add r0, r0, #5", *store(OWN_MEMORY + OUT + 0x800 * half),
            *release(OWN_LOCK), *release(OWN_LOCK + 3),
        ]  # fmt: skip
    program(design, core, *lines, "j #again", *["nopx"] * 5)


@pytest.mark.parametrize("slower", [0, 30])
@pytest.mark.parametrize("cycles", [1, 20000])
@pytest.mark.parametrize("size", [8, 300])
@pytest.mark.parametrize("parts", [2, 4])
def test_two_buffers_that_share_a_lock_are_distributed_and_joined(
    parts: int, size: int, cycles: int, slower: int
) -> None:
    """mlir-aie's link of object fifos of two buffers, twice in one context. Small parts fit into the streams,
    and more of them into those that go further."""
    rounds, engine = 10, cast("Engine", "jit")
    design, ddr, tile = Design(), Ddr(), memtile()
    design.shim_in(0, 0, north(0))
    design.connect(tile, south(0), dma(0))
    design.connect(tile, dma(5), south(0))
    design.shim_out(0, 0, north(0))
    for number in (0, 2):
        design.lock(tile, number, 2 * parts)
    gathered = OWN + 0x20000

    def wholes(base: int, locks: tuple[int, int]) -> Callable[[int], BufferDescriptor]:
        return lambda half: memtile_bd(
            base + 4 * parts * size * half, parts * size, **lock(locks[0], locks[1], parts)
        )

    def pieces(base: int, part: int, locks: tuple[int, int]) -> Callable[[int], BufferDescriptor]:
        return lambda half: memtile_bd(
            base + 4 * size * (parts * half + part), size, **lock(locks[0], locks[1], 1)
        )

    def in_core(base: int, locks: tuple[int, int]) -> Callable[[int], BufferDescriptor]:
        return lambda half: BufferDescriptor(base + 0x800 * half, size, **lock(locks[0], locks[1], 1))

    ring(design, tile, 0, wholes(OWN, (FREE, FULL)))
    ring(design, tile, 46, wholes(gathered, (FULL + 2, FREE + 2)))
    design.start(tile, S2MM, 0, 0)
    design.start(tile, MM2S, 5, 46)
    for part in range(parts):
        core, odd = compute(row=2 + part), part & 1
        out, back = 4 + 2 * part + 24 * odd, 14 + 2 * part + 24 * (1 - odd)
        ring(design, tile, out, pieces(OWN, part, (FULL, FREE)))
        ring(design, tile, back, pieces(gathered, part, (FREE + 2, FULL + 2)))
        column(design, part, up=True)
        column(design, part, up=False, channel=part + 1)
        design.lock(core, 0, 2)
        design.lock(core, 2, 2)
        ring(design, core, 0, in_core(IN, (0, 1)))
        ring(design, core, 2, in_core(OUT, (3, 2)))
        for at, direction, channel, first in (
            (core, S2MM, 0, 0), (core, MM2S, 0, 2), (tile, MM2S, part, out), (tile, S2MM, part + 1, back),
        ):  # fmt: skip
            design.start(at, direction, channel, first)
        adds_five(design, core, cycles + cycles * slower * part // 100)
    length = rounds * parts * size
    design.transfer(S2MM, 1, length)
    design.transfer(MM2S, 0, length)
    design.sync()
    design.tokens()
    made = Machine(1, ddr, engine=engine)
    made.load(design.cdo)
    for _ in range(2):
        given, got = np.arange(length, dtype=np.uint32), ddr.add(words([0] * length))
        made.run(design.stream, [ddr.add(given), got])
        assert np.array_equal(ddr.get(got)[::size], given[::size] + 5)


@pytest.mark.parametrize("spins", [False, True])
def test_who_is_ahead_goes_on_when_nothing_else_does(*, spins: bool) -> None:
    """One channel's receiver is started only when the other has sent all that is left. A core that runs in a
    loop keeps nobody waiting for ever."""
    design, ahead, behind = Design(), compute(row=2), compute(row=3)
    design.lock(memtile(), 1, PARTS)
    for part, core in enumerate((ahead, behind)):
        design.bd(memtile(), part_bd(part), memtile_bd(OWN, 64, **lock(FULL, FREE, 1), next_bd=part_bd(part)))
        design.start(memtile(), MM2S, part, part_bd(part))
        column(design, part, up=True)
        design.bd(core, 0, BufferDescriptor(0x400, 64, release_lock=5, release_value=1, next_bd=0))
    design.start(ahead, S2MM, 0, 0)
    since = len(design.commands)
    design.start(behind, S2MM, 0, 0)
    value = ahead.address(0x1F050)
    design.ops.append(design.poll(value, PARTS - 1, 0x3F))
    design.in_stream(since)
    design.ops.append(design.poll(behind.address(0x1F050), 1, 0x3F))
    if spins:
        program(design, compute(row=4), "again:", "j #again", *["nopx"] * 5)
    made = Machine(1, Ddr(), engine=cast("Engine", "jit"))
    made.load(design.cdo)
    made.run(design.stream, [])
    assert made.array.tiles[memtile()].locks.values[:2] == [PARTS, 0]
