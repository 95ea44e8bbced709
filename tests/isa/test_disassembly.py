"""Disassembly: reads well, and reassembles to the same bytes whatever they are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.isa.assembler import Label, Statement, assemble
from aiepipe.isa.disassembly import disassemble, reassemble


def test_the_corpus_reassembles_to_its_bytes_without_raw_ones(
    programs: dict[str, tuple[int, bytes]],
) -> None:
    for address, data in programs.values():
        listing = disassemble(data, base=address)
        assert listing.raw_bytes == 0
        assert reassemble(listing.text()) == data


@settings(max_examples=300)
@given(st.binary(max_size=80), st.integers(0, 64).map(lambda n: 16 * n))
def test_any_bytes_come_back(data: bytes, base: int) -> None:
    assert reassemble(disassemble(data, base=base).text()) == data


def test_a_bundle_is_a_line_with_columns_and_labels() -> None:
    image = assemble(
        [
            Statement("lda r1, [p0, #0]"),
            Statement("add r2, r2, #1"),
            Label("loop"),
            Statement("jnz r2, #loop"),
        ]
    )
    lines = disassemble(image.code, symbols={0x10: "again"}).text().splitlines()
    assert lines[0].startswith("0x0000  lda r1, [p0, #0] ;")
    assert "add r2, r2, #1" in lines[0]
    assert "again:" in lines
    assert any(line.endswith("jnz r2, #again") for line in lines)


def test_targets_without_a_name_get_one() -> None:
    image = assemble([Label("loop"), Statement("jnz r2, #loop"), Statement("done")], base=0x40)
    text = disassemble(image.code, base=0x40).text()
    assert text.startswith("L_0040:\n0x0040  ")
    assert "jnz r2, #L_0040" in text


def test_bits_that_an_instruction_ignores_are_kept() -> None:
    # padda [p0], m0 has don't-care bits 4, 5 and 8 to 11 (AIE2_ag_standalone__ag_pstm_nrm)
    code = bytearray(assemble([Statement("padda [p0], m0")]).code)
    value = int.from_bytes(code[:4], "little") | 1 << (6 + 4)
    code[:4] = value.to_bytes(4, "little")
    text = disassemble(code).text()
    assert text.startswith("0x0000  padda [p0], m0 =0x")
    assert reassemble(text) == code


def test_an_entry_puts_the_listing_back_into_step() -> None:
    code = b"\x05\x00" + assemble([Statement("ret lr")]).code  # the first two bytes look like a longer bundle
    listing = disassemble(code, entries=[2])
    assert listing.raw_bytes == 2
    assert "ret lr" in listing.text()
    assert reassemble(listing.text()) == code


@pytest.mark.parametrize(
    "text",
    [
        "frob",
        "j #nowhere",
        ".byte 300",
        ".byte x",
        "add r0, r0, #1 ; sub r0, r0, r1",
        "padda [p0], m0 =0x0",
        "padda [p0], m0 =q",
    ],
)
def test_a_line_that_is_no_bundle_is_an_error(text: str) -> None:
    with pytest.raises(ArtifactError):
        reassemble(text)
