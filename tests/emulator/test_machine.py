"""DMA-only designs on the whole machine: what goes in by one way comes out by the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aiepipe.emulator.machine import Machine, RunReport
from aiepipe.emulator.transfers import Transfer
from aiepipe.errors import EmulationError
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.npu.topology import Bundle, Port

from .designs import (
    MM2S,
    OWN,
    S2MM,
    Array,
    Ddr,
    Design,
    compute,
    dma,
    memtile,
    memtile_bd,
    north,
    south,
    words,
)


def ramp(count: int) -> Array:
    return np.arange(1, count + 1, dtype=np.uint32)


def machine(design: Design, ddr: Ddr, columns: int = 1) -> Machine:
    made = Machine(columns, ddr)
    made.load(design.cdo)
    return made


def run(design: Design, ddr: Ddr, *arguments: int, columns: int = 1, **limits: Any) -> RunReport:
    return machine(design, ddr, columns).run(design.stream, arguments, **limits)


def through_shim(design: Design, *, column: int = 0) -> None:
    """DDR in at North0 of the shim, DDR out from North0 of the shim, tokens to the controller."""
    design.shim_in(column, 0, north(0))
    design.shim_out(column, 0, north(0))
    design.tokens(column)


def memtile_buffer(design: Design, length: int, *, out: BufferDescriptor | None = None) -> None:
    """A memory tile that takes `length` words into one buffer, then sends it, under two locks."""
    tile = memtile()
    design.connect(tile, south(0), dma(0))
    design.connect(tile, dma(0), south(0))
    design.lock(tile, 0, 1)
    design.bd(
        tile,
        0,
        memtile_bd(
            OWN, length, acquire_enable=True,
            acquire_lock=64, acquire_value=-1, release_lock=65, release_value=1, next_bd=0,
        ),
    )  # fmt: skip
    sending = replace(
        out or memtile_bd(OWN, length),
        acquire_enable=True, acquire_lock=65, acquire_value=-1, release_lock=64, release_value=1, next_bd=1,
    )  # fmt: skip
    design.bd(tile, 1, sending)
    design.start(tile, S2MM, 0, 0)
    design.start(tile, MM2S, 0, 1)


def test_words_go_through_a_memory_tile_and_come_back() -> None:
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 256)
    design.transfer(S2MM, 1, 1024)
    design.transfer(MM2S, 0, 1024)
    design.sync()
    given, got = ddr.add(ramp(1024)), ddr.add(words([0] * 1024))
    report = run(design, ddr, given, got)
    assert np.array_equal(ddr.get(got), ramp(1024))
    assert report.transfers == (Transfer("read", given, 4096), Transfer("write", got, 4096))
    assert report.settled
    assert report.warnings == ()
    # one word a cycle; the buffer is filled and emptied in turn
    assert 2048 <= report.cycles <= 2300


def test_a_second_run_on_the_same_machine_needs_no_loading() -> None:
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 64)
    design.transfer(S2MM, 1, 64)
    design.transfer(MM2S, 0, 64)
    design.sync()
    made = machine(design, ddr)
    for scale in (1, 5):
        given, got = ddr.add(ramp(64) * scale), ddr.add(words([0] * 64))
        made.run(design.stream, [given, got])
        assert np.array_equal(ddr.get(got), ramp(64) * scale)


def test_a_stream_reaches_compute_tiles_by_broadcast() -> None:
    """Memory tile and two compute tiles take the same words; each sends its own back."""
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.connect(memtile(), south(0), dma(0), north(0))
    design.connect(compute(row=2), south(0), dma(0), north(0))
    design.connect(compute(row=3), south(0), dma(1))
    design.bd(memtile(), 0, memtile_bd(OWN, 100))
    design.start(memtile(), S2MM, 0, 0)
    for row, channel in ((2, 0), (3, 1)):
        design.bd(compute(row=row), 4, BufferDescriptor(address=0x400, length_words=100))
        design.start(compute(row=row), S2MM, channel, 4)
    design.transfer(MM2S, 0, 100)
    given = ddr.add(ramp(100))
    made = machine(design, ddr)
    report = made.run(design.stream, [given])
    assert report.settled
    for tile, start in ((memtile(), 0), (compute(row=2), 0x100), (compute(row=3), 0x100)):
        memory = made.array.tiles[tile].memory
        assert memory is not None
        assert np.array_equal(memory.words[start : start + 100], ramp(100)), tile


def test_a_broadcast_waits_for_the_slowest() -> None:
    """One branch never takes words: the other gets only what the switches hold."""
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.tokens()
    design.connect(memtile(), south(0), dma(0), dma(1))
    design.bd(memtile(), 0, memtile_bd(OWN, 4096))
    design.start(memtile(), S2MM, 0, 0)
    design.transfer(MM2S, 0, 4096)
    design.sync(direction=MM2S)
    with pytest.raises(EmulationError) as caught:
        run(design, ddr, ddr.add(ramp(4096)))
    assert caught.value.kind == "deadlock"
    assert "memory tile (0,1) S2MM 1" in str(caught.value)
    assert "shim (0,0) MM2S 0 BD 2 waits for its stream to take words" in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "wraps"),
    [
        ((1, 1, 1, 1), (0, 0, 0)),
        ((16, 1, 1, 1), (16, 0, 0)),  # transpose of 16x16
        ((1, 64, 4, 1), (4, 4, 0)),  # 4x4 tiles of ...
        ((2, 32, 1, 128), (8, 2, 2)),
    ],
)
def test_four_dimensions_are_walked_lowest_first(steps: tuple[int, ...], wraps: tuple[int, ...]) -> None:
    length = 256
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(
        design, 256, out=BufferDescriptor(address=OWN, length_words=length, steps=steps, wraps=wraps)
    )
    design.transfer(S2MM, 1, length)
    design.transfer(MM2S, 0, 256)
    design.sync()
    given, got = ddr.add(ramp(4096)), ddr.add(words([0] * length))
    made = machine(design, ddr)
    memory = made.array.tiles[memtile()].memory
    assert memory is not None
    memory.words[:4096] = ramp(4096)
    made.run(design.stream, [given, got])
    expected: list[int] = []
    for i in range(length):
        rest, offset = i, 0
        for step, wrap in zip(steps, (*wraps, 0), strict=True):
            if wrap == 0:
                offset += rest * step
                break
            offset += rest % wrap * step
            rest //= wrap
        expected.append(int(memory.words[offset]))
    assert ddr.get(got).tolist() == expected


def test_a_shim_reads_a_tile_of_a_matrix() -> None:
    """Rows 8 to 15, columns 16 to 31 of a 32x64 matrix."""
    matrix = ramp(32 * 64).reshape(32, 64)
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 128)
    design.transfer(S2MM, 1, 128)
    design.transfer(MM2S, 0, 128, offset_bytes=4 * (8 * 64 + 16), steps=(1, 64, 1), wraps=(16, 8))
    design.sync()
    given, got = ddr.add(matrix), ddr.add(words([0] * 128))
    report = run(design, ddr, given, got)
    assert np.array_equal(ddr.get(got).reshape(8, 16), matrix[8:16, 16:32])
    reads = [found for found in report.transfers if found.direction == "read"]
    assert reads == [Transfer("read", given + 4 * ((8 + r) * 64 + 16), 64) for r in range(8)]


def test_a_shim_writes_a_transposed_matrix() -> None:
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 48)
    design.transfer(S2MM, 1, 48, steps=(6, 1, 1), wraps=(8, 0))
    design.transfer(MM2S, 0, 48)
    design.sync()
    given, got = ddr.add(ramp(48)), ddr.add(words([0] * 48))
    run(design, ddr, given, got)
    assert np.array_equal(ddr.get(got).reshape(8, 6), ramp(48).reshape(6, 8).T)


def test_the_iteration_moves_the_start_at_each_execution_and_wraps() -> None:
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 8)
    # three starts 10 words apart, then from the beginning: 4 executions
    design.transfer(MM2S, 0, 8, iteration_step=10, iteration_wrap=3, repeat=4)
    design.transfer(S2MM, 1, 32)
    design.sync()
    given, got = ddr.add(ramp(64)), ddr.add(words([0] * 32))
    run(design, ddr, given, got)
    expected = [start + i for start in (1, 11, 21, 1) for i in range(8)]
    assert ddr.get(got).tolist() == expected


def test_one_token_comes_after_all_repeats() -> None:
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 8)
    design.transfer(MM2S, 0, 8, repeat=2)
    design.transfer(S2MM, 1, 8, repeat=2)
    design.sync()
    design.sync()
    with pytest.raises(EmulationError, match="a task token of shim \\(0,0\\) S2MM 0"):
        run(design, ddr, ddr.add(ramp(8)), ddr.add(words([0] * 8)))


def test_zeros_are_padded_around_a_matrix() -> None:
    """3x4 within 6x8: one row before, two after; one word before, three after (length counts them)."""
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(
        design,
        12,
        out=BufferDescriptor(
            address=OWN, length_words=48, steps=(1, 4, 1, 1), wraps=(4, 3, 0),
            zeros_before=(1, 1, 0), zeros_after=(3, 2, 0),
        ),
    )  # fmt: skip
    design.transfer(S2MM, 1, 48)
    design.transfer(MM2S, 0, 12)
    design.sync()
    given, got = ddr.add(ramp(12)), ddr.add(words([9] * 48))
    run(design, ddr, given, got)
    assert np.array_equal(ddr.get(got).reshape(6, 8), np.pad(ramp(12).reshape(3, 4), ((1, 2), (1, 3))))


def test_padding_is_for_channels_that_send() -> None:
    """A BD that receives takes its fields for zeros for nothing (AM020: MM2S channels insert them)."""
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.connect(memtile(), south(0), dma(0))
    design.bd(
        memtile(),
        0,
        memtile_bd(
            OWN, 16, steps=(1, 4, 1, 1), wraps=(4, 0, 0), zeros_before=(1, 0, 0), zeros_after=(0, 2, 0)
        ),
    )
    design.start(memtile(), S2MM, 0, 0)
    design.transfer(MM2S, 0, 16)
    made = machine(design, ddr)
    assert made.run(design.stream, [ddr.add(ramp(16))]).findings == ()
    memory = made.array.tiles[memtile()].memory
    assert memory is not None
    assert memory.words[:16].tolist() == ramp(16).tolist()
    assert memory.words[-1] == 0


def test_a_memory_tile_reaches_its_neighbours_memory_and_locks() -> None:
    """The DMA of (0,1) fills memory of (1,1), whose own DMA sends it away."""
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.shim_out(1, 0, north(0))
    design.tokens(1)
    design.connect(memtile(0), south(0), dma(0))
    design.connect(memtile(1), dma(0), south(0))
    east = 0x100000
    design.bd(
        memtile(0),
        0,
        memtile_bd(east + 0x40, 64, release_lock=130, release_value=1),
    )
    design.bd(
        memtile(1),
        0,
        memtile_bd(OWN + 0x40, 64, acquire_enable=True, acquire_lock=66, acquire_value=1),
    )
    design.start(memtile(1), MM2S, 0, 0)
    design.start(memtile(0), S2MM, 0, 0)
    design.transfer(S2MM, 1, 64, column=1)
    design.transfer(MM2S, 0, 64)
    design.sync(column=1)
    given, got = ddr.add(ramp(64)), ddr.add(words([0] * 64))
    run(design, ddr, given, got, columns=2)
    assert np.array_equal(ddr.get(got), ramp(64))


def test_columns_are_joined_east_and_west() -> None:
    design, ddr = Design(), Ddr()
    design.shim_in(0, 1, Port(Bundle.EAST, 2))
    design.shim_out(1, 1, Port(Bundle.WEST, 2))
    design.tokens(1)
    design.transfer(S2MM, 1, 32, column=1, channel=1)
    design.transfer(MM2S, 0, 32, channel=1)
    design.sync(column=1, channel=1)
    given, got = ddr.add(ramp(32)), ddr.add(words([0] * 32))
    run(design, ddr, given, got, columns=2)
    assert np.array_equal(ddr.get(got), ramp(32))


def test_ping_pong_buffers_chain_by_next_bd() -> None:
    design, ddr = Design(), Ddr()
    through_shim(design)
    tile = memtile()
    design.connect(tile, south(0), dma(0))
    design.connect(tile, dma(0), south(0))
    design.lock(tile, 0, 2)
    for number, (acquire, release) in enumerate(((64, 65), (64, 65), (65, 64), (65, 64))):
        half = number % 2
        design.bd(
            tile,
            number,
            memtile_bd(
                OWN + 0x1000 * half, 32,
                acquire_enable=True, acquire_lock=acquire, acquire_value=-1, release_lock=release,
                release_value=1, next_bd=number ^ 1,
            ),
        )  # fmt: skip
    design.start(tile, S2MM, 0, 0)
    design.start(tile, MM2S, 0, 2)
    design.transfer(S2MM, 1, 320)
    design.transfer(MM2S, 0, 320)
    design.sync()
    given, got = ddr.add(ramp(320)), ddr.add(words([0] * 320))
    report = run(design, ddr, given, got)
    assert np.array_equal(ddr.get(got), ramp(320))
    # in and out overlap: little more than one pass
    assert report.cycles < 480
