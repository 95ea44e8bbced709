"""Encoding: the corpus byte for byte, golden encodings of llvm-aie's tests, and what cannot be encoded."""

from __future__ import annotations

import pytest

from aiepipe.errors import ArtifactError
from aiepipe.isa.assembly import parse
from aiepipe.isa.bundle import SlotInstruction
from aiepipe.isa.decode import decode_bundles
from aiepipe.isa.encode import bundle_sizes, encode_bundle, encode_slot


def test_every_bundle_of_the_corpus_encodes_to_its_bytes(programs: dict[str, tuple[int, bytes]]) -> None:
    for _, data in programs.values():
        for bundle in decode_bundles(data):
            encoded = encode_bundle(bundle.slots, format=bundle.format)
            assert encoded == data[bundle.address : bundle.end], bundle


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("nopx", "0100"),  # facts 1.2: the short nop takes the place of any bundle of nops
        ("ret lr", "19180010"),
    ],
)
def test_known_encodings(text: str, encoded: str) -> None:
    slots = [instruction for instruction in parse(text) if not instruction.opcode.is_nop]
    assert encode_bundle(slots).hex() == encoded


def test_nothing_in_16_bytes_is_the_full_nop() -> None:
    assert encode_bundle([], size=16).hex() == "c003" + "00" * 14  # facts 1.2


def test_the_smallest_format_that_has_the_slots_is_taken() -> None:
    assert bundle_sizes(["st", "mv"])[0] == 8  # facts 1.3: ST+MV only in 64 bits
    assert bundle_sizes(["lda", "mv"])[0] == 6
    assert bundle_sizes(["lda", "ldb", "vec"])[0] == 10
    assert bundle_sizes(["lda", "ldb", "st", "alu", "mv", "vec"]) == (16,)
    assert bundle_sizes(["lng", "mv"]) == ()


def one(text: str) -> SlotInstruction:
    return parse(text)[0]


def test_one_slot_holds_one_instruction() -> None:
    with pytest.raises(ArtifactError, match="alu"):
        encode_bundle([one("add r0, r1, r2"), one("sub r3, r4, r5")])


def test_a_size_that_has_not_the_slots_is_refused() -> None:
    with pytest.raises(ArtifactError, match="2 bytes"):
        encode_bundle([one("add r0, r1, r2")], size=2)


@pytest.mark.parametrize(
    "operands", [{"mRx": "r0", "mRx0": "p0", "c7s": 1}, {"mRx": "r0", "mRx0": "r1", "c7s": 64}, {}]
)
def test_an_operand_that_has_no_code_is_refused(operands: dict[str, str | int]) -> None:
    opcode = one("add r0, r0, #1").opcode
    with pytest.raises(ArtifactError, match="ADD_add_r_ri"):
        encode_slot(SlotInstruction(opcode, operands))
