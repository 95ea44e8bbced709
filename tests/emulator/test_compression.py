"""DMAs that compress and decompress, against what a Phoenix made of the same words.

The designs are those of mlir-aie's example basic/dma_compression: a tile passes 4,096 words on through two
buffers of 1,024. The instruction stream sets the bits of the BDs and of the channel; the first BD of each
channel was read before, when the configuration started it, and moves its words as they are.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from aiepipe.emulator.compression import GROUP_WORDS, Unpacker, compress
from aiepipe.emulator.machine import Machine
from aiepipe.errors import EmulationError
from aiepipe.formats import txn
from aiepipe.npu.descriptors import BufferDescriptor, descriptor_offset
from aiepipe.npu.registers import register
from aiepipe.npu.topology import Direction, TileAddress, TileKind

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

LINE = 1024
WORDS = 4 * LINE
PACKED = 2944
"""Words of which the last three lines are compressed: 1,024 to 4,095 take two bytes each, and eight of them
become a mask and four words."""

SENT = "f30dcae2d175d710e81d8410be5cc980bf06e364de359b6bc6f87194012ebc7d"
RECEIVED = "865270a4c87149f42933e7f5aa037891e392812b4338829b3419f320660ea089"
"""SHA-256 of what the Phoenix sent for 0 to 4,095, and of what it made of 0 to 2,943 as compressed words."""


def ramp(count: int = WORDS) -> Array:
    return np.arange(count, dtype=np.uint32)


def digest(array: Array) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


def ping_pong(design: Design, tile: TileAddress, line: int = LINE) -> None:
    """S2MM 0 through BDs 0 and 1, MM2S 0 through BDs 2 and 3."""
    own, bd, locks = (OWN, memtile_bd, 64) if tile.kind is TileKind.MEMORY else (0, BufferDescriptor, 0)
    design.lock(tile, 1, 2)
    for number in range(4):
        acquire, release = (1, 0) if number < 2 else (0, 1)
        made = bd(
            address=own + 0x400 + 0x1000 * (number % 2), length_words=line, next_bd=number ^ 1,
            acquire_enable=True, acquire_lock=locks + acquire, acquire_value=-1,
            release_lock=locks + release, release_value=1,
        )  # fmt: skip
        design.bd(tile, number, made)
    design.start(tile, S2MM, 0, 0)
    design.start(tile, MM2S, 0, 2)


def switch_on(
    design: Design, tile: TileAddress, direction: Direction, *, bds: bool = True, channel: bool = True
) -> None:
    """In the stream, as masked writes."""
    word, field = (1, "DMA_BD_WORD_1") if tile.kind is TileKind.COMPUTE else (4, "DMA_BD_WORD_4")
    mask = register(tile.kind, field).field("ENABLE_COMPRESSION").mask
    for number in (0, 1) if direction is S2MM else (2, 3):
        if bds:
            at = tile.address(descriptor_offset(tile.kind, number) + 4 * word)
            design.ops.append(txn.MaskWrite32(at, mask, mask))
    if channel:
        at = tile.address(register(tile.kind, f"DMA_{direction.name}_CTRL").offset)
        design.ops.append(txn.MaskWrite32(at, 1 << 4, 1 << 4))


def passed_on(design: Design, tile: TileAddress, given: Array, count: int) -> Array:
    """`given` through the tile; `count` words are waited for."""
    design.shim_in(0, 0, north(0))
    design.shim_out(0, 0, north(0))
    if tile.kind is TileKind.COMPUTE:
        design.connect(memtile(), south(0), north(0))
        design.connect(memtile(), north(0), south(0))
    design.connect(tile, south(0), dma(0))
    design.connect(tile, dma(0), south(0))
    design.tokens()
    design.transfer(S2MM, 1, count)
    design.transfer(MM2S, 0, given.size)
    design.sync()
    ddr = Ddr()
    got = ddr.add(words([0] * count))
    made = Machine(1, ddr)
    made.load(design.cdo)
    made.run(design.stream, [ddr.add(given), got])
    return ddr.get(got)


TILES = pytest.mark.parametrize("tile", [compute(), memtile()], ids=str)


@TILES
def test_what_is_sent_is_what_a_phoenix_sends(tile: TileAddress) -> None:
    design = Design()
    ping_pong(design, tile)
    switch_on(design, tile, MM2S)
    assert digest(passed_on(design, tile, ramp(), PACKED)) == SENT


@TILES
def test_what_is_received_is_what_a_phoenix_receives(tile: TileAddress) -> None:
    design = Design()
    ping_pong(design, tile)
    switch_on(design, tile, S2MM)
    assert digest(passed_on(design, tile, ramp(PACKED), WORDS)) == RECEIVED


@TILES
def test_decompressed_and_compressed_again(tile: TileAddress) -> None:
    design = Design()
    ping_pong(design, tile)
    switch_on(design, tile, S2MM)
    switch_on(design, tile, MM2S)
    given = np.concatenate((ramp(LINE), compress(ramp()[LINE:])))
    assert np.array_equal(passed_on(design, tile, given, PACKED), given)


@pytest.mark.parametrize("which", ["bds", "channel"])
def test_both_bits_are_needed(which: str) -> None:
    design = Design()
    ping_pong(design, compute())
    switch_on(design, compute(), MM2S, **{which: False})
    assert np.array_equal(passed_on(design, compute(), ramp(), WORDS), ramp())


def test_any_words_come_back() -> None:
    random = np.random.default_rng(5)
    for dense in (0.0, 0.1, 0.5, 1.0):
        data = random.integers(1, 256, 64 * 4 * GROUP_WORDS).astype(np.uint8)
        data[random.random(data.size) >= dense] = 0
        given = data.view(np.uint32)
        packed = compress(given)
        assert packed.size >= given.size // GROUP_WORDS
        unpacker, back, at = Unpacker(), list[Array](), 0
        while at < packed.size:
            count = min(unpacker.wanted, int(random.integers(1, 4)))
            back.append(unpacker.put(packed[at : at + count]))
            at += count
        assert np.array_equal(np.concatenate(back), given)


def test_groups_are_whole() -> None:
    design = Design()
    ping_pong(design, compute(), line=LINE - 4)
    switch_on(design, compute(), MM2S)
    with pytest.raises(
        EmulationError, match=r"BD 3 \(de\)compresses 1020 words; only multiples of 8"
    ) as caught:
        passed_on(design, compute(), ramp(), WORDS)
    assert caught.value.kind == "unsupported"
