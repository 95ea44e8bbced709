"""BDs and tasks in the terms of a reader."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.description import Dimension, Iteration, LockUse, Packet
from aiepipe.explain.descriptors import bds_in_block, describe, start_of, with_users
from aiepipe.explain.registers import tile_of
from aiepipe.npu.descriptors import BufferDescriptor, descriptor_words, encode
from aiepipe.npu.topology import TileAddress, TileKind

from .arrays import CORE, MEMTILE, SHIM

MEMTILE_EAST = TileAddress(1, 1)


def test_a_memory_tiles_bd_of_the_gemm() -> None:
    # words of mlir-aie's gemm256 of the corpus, memory tile (0,1) BD 2: 512 words in tiles of 4 x 2
    bd = BufferDescriptor(
        address=0x80000 + 0x3000,
        length_words=512,
        steps=(1, 16, 2, 64),
        wraps=(2, 4, 8),
        next_bd=3,
        acquire_enable=True,
        acquire_lock=64 + 3,
        acquire_value=-1,
        release_lock=64 + 2,
        release_value=1,
    )
    found = describe(MEMTILE, 2, encode(TileKind.MEMORY, bd))
    own = tile_of(MEMTILE)
    assert (found.module, found.memory, found.owner, found.address) == (
        "memory tile module",
        "data memory",
        own,
        0x3000,
    )
    assert found.dimensions == (Dimension(1, 2), Dimension(16, 4), Dimension(2, 8), Dimension(64, None))
    assert found.acquire == LockUse(own, 3, "at least", 1)
    assert found.release == LockUse(own, 2, "add", 1)
    assert found.next_bd == 3
    assert found.iteration is None


def test_a_memory_tile_reaches_its_neighbours() -> None:
    west = BufferDescriptor(address=0x100, length_words=4, steps=(1,) * 4, wraps=(0,) * 3, release_lock=5,
                            release_value=1)  # fmt: skip
    found = describe(MEMTILE_EAST, 0, encode(TileKind.MEMORY, west))
    assert found.owner == tile_of(MEMTILE)
    assert found.release == LockUse(tile_of(MEMTILE), 5, "add", 1)
    east = replace(west, address=0x100000 + 0x20)
    assert describe(MEMTILE, 0, encode(TileKind.MEMORY, east)).owner == tile_of(MEMTILE_EAST)
    # west of the first column there is nothing
    assert describe(MEMTILE, 0, encode(TileKind.MEMORY, west)).owner is None


def test_consecutive_words_have_no_dimensions_and_an_unbounded_one_ends_them() -> None:
    linear = BufferDescriptor(address=0, length_words=8)
    assert describe(CORE, 0, encode(TileKind.COMPUTE, linear)).dimensions == ()
    strided = replace(linear, steps=(4, 9, 9))
    assert describe(CORE, 0, encode(TileKind.COMPUTE, strided)).dimensions == (Dimension(4, None),)
    # a wrap in the first dimension and none in the second: the third is not used
    two = replace(linear, steps=(1, 64, 9), wraps=(32, 0))
    assert describe(CORE, 0, encode(TileKind.COMPUTE, two)).dimensions == (
        Dimension(1, 32),
        Dimension(64, None),
    )


def test_what_is_rarely_set_is_told() -> None:
    bd = BufferDescriptor(
        address=0x1_0000_0040,
        length_words=16,
        packet_enable=True,
        packet_id=4,
        packet_type=1,
        iteration_step=256,
        iteration_wrap=4,
        tlast_suppress=True,
        burst_code=2,
        axi_cache=2,
        valid=False,
    )
    found = describe(SHIM, 9, encode(TileKind.SHIM, bd))
    assert (found.memory, found.owner, found.address) == ("DDR", None, 0x1_0000_0040)
    assert found.packet == Packet(4, 1)
    assert found.iteration == Iteration(256, 4, 0)
    assert found.flags == ("TLAST suppressed", "burst 256 bytes", "AxCache 2")
    assert not found.valid


def test_an_exact_acquire_is_told_apart_from_at_least() -> None:
    bd = BufferDescriptor(address=0, length_words=1, acquire_enable=True, acquire_lock=3, acquire_value=1)
    assert describe(CORE, 0, encode(TileKind.COMPUTE, bd)).acquire == LockUse(tile_of(CORE), 3, "equal", 1)


def test_a_block_of_whole_bds_is_recognised() -> None:
    one = encode(TileKind.COMPUTE, BufferDescriptor(address=0, length_words=5))
    two = encode(TileKind.COMPUTE, BufferDescriptor(address=0, length_words=6))
    found = bds_in_block(CORE.address(0x1D000), [*one, 0, 0, *two])
    assert found is not None
    assert [(bd.number, bd.length_words) for bd in found] == [(0, 5), (1, 6)]
    assert bds_in_block(CORE.address(0x1D000), one[:5]) is None
    assert bds_in_block(CORE.address(0x1D004), one) is None
    assert bds_in_block(CORE.address(0x32000), one) is None


@pytest.mark.parametrize(
    ("address", "value", "channel", "bd", "count", "token"),
    [
        (0x01D204, 0x80000002, "S2MM 0", 2, 1, True),
        (0x01D21C, 0x00070005, "MM2S 1", 5, 8, False),
        (0x1A0634 + 8 * 5, 0x0000002F, "MM2S 5", 47, 1, False),
        (0x21DE0C, 0x00000001, "S2MM 1", 1, 1, False),
    ],
)
def test_starts(address: int, value: int, channel: str, bd: int, count: int, token: bool) -> None:
    found = start_of(address, value)
    assert found is not None
    task = found.task
    assert (task.channel, task.bd, task.count, task.token) == (channel, bd, count, token)
    assert start_of(address - 4, value) is None


def test_users_follow_the_chain_of_next_bds() -> None:
    words = [
        encode(TileKind.COMPUTE, BufferDescriptor(address=0, length_words=1, next_bd=n)) for n in (1, 0, 2)
    ]
    bds = {(CORE, n): describe(CORE, n, w) for n, w in enumerate(words)}
    start = start_of(0x21DE04, 0)
    assert start is not None
    found = with_users(bds, [(CORE, start.task)])
    assert [bd.users for bd in found] == [("S2MM 0",), ("S2MM 0",), ()]


@given(st.sampled_from([SHIM, MEMTILE, CORE, MEMTILE_EAST]), st.integers(0, 15), st.data())
def test_any_words_are_described(tile: TileAddress, number: int, data: st.DataObject) -> None:
    size = descriptor_words(tile.kind)
    words = data.draw(st.lists(st.integers(0, 0xFFFFFFFF), min_size=size, max_size=size))
    assert describe(tile, number, words).words == tuple(words)
