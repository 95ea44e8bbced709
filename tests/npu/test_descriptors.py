"""BD words against those that mlir-aie's tests pin and those of real designs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.npu import descriptors
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.npu.topology import TileKind


def test_a_compute_bd_of_a_real_design() -> None:
    # iree-amd-aie's CDO test matmul_i32_16x16x8, (0,2) BD 2: 256 words from 0x800 bytes, three dimensions
    words = (0x00800100, 0, 0x0007E000, 0x00808003, 0, 0x16043FE0)
    bd = descriptors.decode(TileKind.COMPUTE, words)
    assert (bd.address, bd.length_words) == (0x800, 256)
    assert bd.steps == (1, 64, 4)
    assert bd.wraps == (4, 4)
    assert (bd.acquire_enable, bd.acquire_lock, bd.acquire_value) == (True, 0, -1)
    assert (bd.release_lock, bd.release_value, bd.next_bd) == (1, 1, 2)
    assert descriptors.encode(TileKind.COMPUTE, bd) == words


def test_a_memory_tile_bd_of_a_real_design() -> None:
    # the same design, (1,1) BD 1: own memory starts at 0x80000 bytes, own locks at 64
    words = (0x80, 0x001A0000, 0x00080000, 0x0010000F, 0x00080003, 0, 0, 0x8141FF40)
    bd = descriptors.decode(TileKind.MEMORY, words)
    assert (bd.address, bd.length_words, bd.next_bd) == (0x80000, 128, 1)
    assert (bd.steps, bd.wraps) == ((1, 16, 4, 1), (4, 8, 4))
    assert (bd.acquire_lock, bd.acquire_value, bd.release_lock, bd.release_value) == (64, -1, 65, 1)
    assert descriptors.encode(TileKind.MEMORY, bd) == words


def test_a_shim_bd_as_mlir_aie_pins_it() -> None:
    # mlir-aie npu_instgen.mlir (lx6): raw field values, word by word
    raw = {
        "BUFFER_LENGTH": 1,
        "D0_STEPSIZE": 5,
        "D0_WRAP": 6,
        "D1_STEPSIZE": 7,
        "D1_WRAP": 8,
        "BURST_LENGTH": 2,
        "D2_STEPSIZE": 9,
        "ITERATION_CURRENT": 11,
        "ITERATION_STEPSIZE": 12,
        "ITERATION_WRAP": 13,
        "NEXT_BD": 5,
        "USE_NEXT_BD": 1,
        "VALID_BD": 1,
        "LOCK_REL_VALUE": 4,
        "LOCK_REL_ID": 3,
        "LOCK_ACQ_ENABLE": 1,
        "LOCK_ACQ_VALUE": 2,
        "LOCK_ACQ_ID": 1,
    }
    words = (1, 0, 0, 0x00600005, 0x80800007, 9, 0x2CD0000C, 0x2E107041)
    assert descriptors.encode_fields(TileKind.SHIM, raw) == words
    decoded = descriptors.decode_fields(TileKind.SHIM, words)
    assert {name: value for name, value in decoded.items() if value} == raw


def test_a_memory_tile_bd_as_mlir_aie_pins_it() -> None:
    # mlir-aie npu_blockwrite_instgen.mlir: memory tile (3,1), BD 6
    words = (1, 0x00580002, 0x000C0005, 0x00100007, 9, 0, 0x059A000C, 0x84038201)
    fields = {n: v for n, v in descriptors.decode_fields(TileKind.MEMORY, words).items() if v}
    assert descriptors.encode_fields(TileKind.MEMORY, fields) == words
    assert fields["NEXT_BD"] == 5
    assert (fields["D0_WRAP"], fields["D0_STEPSIZE"]) == (6, 5)
    assert (fields["ITERATION_CURRENT"], fields["ITERATION_WRAP"], fields["ITERATION_STEPSIZE"]) == (
        11,
        13,
        12,
    )


def test_a_shim_address_has_48_bits() -> None:
    bd = BufferDescriptor(address=0x123456789ABC, length_words=7)
    words = descriptors.encode(TileKind.SHIM, bd)
    assert words[1:3] == (0x56789ABC, 0x1234)
    assert descriptors.decode(TileKind.SHIM, words) == bd


@pytest.mark.parametrize(
    ("kind", "bd"),
    [
        (TileKind.COMPUTE, BufferDescriptor(0, 1 << 14)),
        (TileKind.COMPUTE, BufferDescriptor(2, 1)),
        (TileKind.COMPUTE, BufferDescriptor(0, 1, zeros_before=(1, 0, 0))),
        (TileKind.COMPUTE, BufferDescriptor(0, 1, steps=(1, 1, 1, 2))),
        (TileKind.MEMORY, BufferDescriptor(0, 1, burst_code=1)),
        (TileKind.MEMORY, BufferDescriptor(0, 1, steps=(0,))),
        (TileKind.SHIM, BufferDescriptor(1 << 48, 1)),
        (TileKind.SHIM, BufferDescriptor(0, 1, acquire_value=200)),
    ],
)
def test_what_does_not_fit_is_an_error(kind: TileKind, bd: BufferDescriptor) -> None:
    with pytest.raises(ValueError, match=r"fit|multiple|has no|counts from"):
        descriptors.encode(kind, bd)


@pytest.mark.parametrize("kind", list(TileKind))
def test_the_number_of_words_is_checked(kind: TileKind) -> None:
    with pytest.raises(ValueError, match="words"):
        descriptors.decode(kind, (0,) * 7)


@given(kind=st.sampled_from(list(TileKind)), data=st.data())
def test_fields_round_trip(kind: TileKind, data: st.DataObject) -> None:
    count = descriptors.descriptor_words(kind)
    words = data.draw(st.lists(st.integers(0, 0xFFFFFFFF), min_size=count, max_size=count))
    fields = descriptors.decode_fields(kind, words)
    once = descriptors.encode_fields(kind, fields)
    assert all(a & ~b == 0 for a, b in zip(once, words, strict=True))  # nothing but fields is kept
    assert descriptors.decode_fields(kind, once) == fields
    bd = descriptors.decode(kind, once)
    assert descriptors.decode(kind, descriptors.encode(kind, bd)) == bd
