"""Decoding: the corpus' programs, the bytes that facts/aie2-isa.md names, and bytes that are no code."""

from __future__ import annotations

import pytest

from aiepipe.errors import ArtifactError
from aiepipe.isa.decode import bundle_size, decode_bundle, decode_bundles


def test_every_bundle_of_the_corpus_decodes(programs: dict[str, tuple[int, bytes]]) -> None:
    counts = {name: sum(1 for _ in decode_bundles(data)) for name, (_, data) in programs.items()}
    # Counted once; any change of it is a change of framing.
    assert counts["iree-seed-matmul-i32/core_0_2.elf.text.core_0_2"] == 866
    assert sum(counts.values()) == 12353


def test_the_full_nop_has_no_instruction() -> None:
    bundle = decode_bundle(bytes([0xC0, 0x03]) + bytes(14), 0)  # facts 1.2
    assert (bundle.size, bundle.format, bundle.slots) == (16, "I128_LDB_LDA_ST_LNG_VEC", ())


def test_the_short_nop_has_two_bytes() -> None:
    bundle = decode_bundle(bytes([0x01, 0x00]), 0)
    assert (bundle.size, bundle.format, bundle.slots) == (2, "I16_NOP", ())


def test_zeroed_memory_is_a_multiplication_and_not_a_nop() -> None:
    (instruction,) = decode_bundle(bytes(16), 0).slots  # facts 1.2: vmac cm0, cm0, x0, x0, r0
    assert instruction.opcode.name == "VMAC_vmac_cm_core_dense"
    assert set(instruction.operands.values()) == {"cm0", "x0", "r0"}


@pytest.mark.parametrize(
    ("low_bits", "size"),
    [
        (0b0, 16),
        (0b101, 6),
        (0b1101, 6),
        (0b0001, 2),
        (0b0011, 8),
        (0b0111, 12),
        (0b1001, 4),
        (0b1011, 10),
        (0b1111, 14),
    ],
)
def test_the_low_bits_give_the_size(low_bits: int, size: int) -> None:
    assert bundle_size(low_bits) == bundle_size(low_bits | 0xF0) == size  # facts 1.1


@pytest.mark.parametrize(
    ("code", "address"),
    [
        (b"", 0),
        (bytes(16), 16),
        (bytes(16), -1),
        (bytes(15), 0),
        (b"\x01", 0),
        (((0x48 << 7) | 0x10000019).to_bytes(4, "little"), 0),
    ],
)
def test_what_is_no_bundle_is_an_error_with_its_address(code: bytes, address: int) -> None:
    with pytest.raises(ArtifactError) as caught:
        decode_bundle(code, address)
    assert caught.value.offset == address
    assert caught.value.artifact == "program memory"
