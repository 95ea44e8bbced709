"""Assembly text, and the round trips operands -> word -> operands -> text -> operands of all opcodes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.isa import assembly
from aiepipe.isa.bundle import SlotInstruction
from aiepipe.isa.decode import decode_slot
from aiepipe.isa.encode import encode_slot
from aiepipe.isa.table import Opcode, table


@st.composite
def operands_of(draw: st.DrawFn, opcode: Opcode) -> SlotInstruction:
    """The opcode with any valid operands."""
    operands: dict[str, str | int] = {}
    for operand in opcode.operands:
        if operand.kind == "reg":
            operands[operand.name] = draw(st.sampled_from(sorted(operand.codes)))
        else:
            values = operand.immediates
            operands[operand.name] = values[draw(st.integers(0, len(values) - 1))]
    return SlotInstruction(opcode, operands)


@pytest.mark.parametrize("slot", ["alu", "lda", "ldb", "lng", "mv", "st", "vec"])
def test_every_opcode_survives_encoding_and_printing(slot: str) -> None:
    for opcode in table().opcodes:
        if opcode.slot == slot:
            _round_trip(opcode, examples=8)


@pytest.mark.slow
@pytest.mark.parametrize("slot", ["alu", "lda", "ldb", "lng", "mv", "st", "vec"])
def test_many_operands_of_every_opcode_survive(slot: str) -> None:
    for opcode in table().opcodes:
        if opcode.slot == slot:
            _round_trip(opcode, examples=100)


def _round_trip(opcode: Opcode, examples: int) -> None:
    @settings(max_examples=examples, database=None, deadline=None)
    @given(operands_of(opcode))
    def check(instruction: SlotInstruction) -> None:
        assert decode_slot(opcode.slot, encode_slot(instruction)) == instruction
        text = assembly.print(instruction)
        assert instruction in assembly.parse(text)
        assert {assembly.print(again) for again in assembly.parse(text)} == {text}

    check()


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("LDA r0,[p0] , 4 // comment", ["lda r0, [p0], #4"]),
        ("st R1, [SP, #-0x20]", ["st r1, [sp, #-32]"]),
        ("padda.3d [p0], d1_3d", ["padda.3d [p0], d1"]),
        ("vaddmac cm0, cm0, cm1, x0, x1, r0", ["vaddmac cm0, cm0, cm1, x0, x1, r0"]),
        ("vinsert.32 x0, x1, r29, r2", ["vinsert.32 x0, x1, r29, r2"]),
        ("movxm p0, #0x7f000", ["movxm p0, #520192"]),
        ("movxm r0, #0xffffffff", ["movxm r0, #-1"]),
        ("padd [p0], #4", ["padda [p0], #4", "paddb [p0], #4", "padds [p0], #4"]),
        ("padd [p0], #2044", ["padda [p0], #2044", "padds [p0], #2044"]),
        ("movi r0, #-512", ["mova r0, #-512", "movx r0, #-512", "mov r0, #-512", "movxm r0, #-512"]),
        ("movi p0, #600", ["mova p0, #600", "movxm p0, #600"]),
        ("movi lc, #5", ["mova lc, #5", "movx lc, #5", "mov lc, #5", "movxm lc, #5"]),
        ("copy r1, r0", ["mov r1, r0", "or r1, r0, r0"]),
        ("copy p1, r0", ["mov p1, r0"]),
        ("vld wl0, [p0], #32", ["vldb wl0, [p0], #32", "vlda wl0, [p0], #32"]),
    ],
)
def test_statements_and_what_they_can_be(text: str, printed: list[str]) -> None:
    assert [assembly.print(instruction) for instruction in assembly.parse(text)] == printed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "frob r0",
        "lda r0",
        "lda r0, [p0], #3",  # not a multiple of 4
        "lda r0, [p0], #256",  # 7 bits signed times 4
        "add r0, r1, p0",
        "vaddmac cm0, cm1, cm1, x0, x1, r0",  # the destination is the first accumulator
        "vinsert.32 x0, x1, r28, r2",  # the index is r29
        "add r0, r1, #label",
        "j somewhere",  # a label, which parse() cannot resolve
    ],
)
def test_what_cannot_be_assembled_is_an_error_that_quotes_it(text: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        assembly.parse(text)
    assert caught.value.artifact == "assembly"
    assert repr(text) in caught.value.message


def test_a_label_may_stand_for_an_address() -> None:
    for text in ("jnz r0, #loop", "jnz r0, loop"):
        parsed = assembly.parse_statement(text)
        assert parsed.symbol == assembly.Symbol("cpmaddr", "loop")
    assert assembly.parse_statement("j #p0").symbol == assembly.Symbol("cpmaddr", "p0")
    assert assembly.parse_statement("j p0").symbol is None
    assert assembly.parse_statement("movxm le, last").symbol == assembly.Symbol("i", "last")
    assert assembly.parse_statement("movi p0, table").alternatives[0].opcode.name == "MOVXM_lng_cg"


@given(st.text(max_size=40) | st.text(alphabet="adlmovxptjnz rp0123456789#,[]{}.$-;", max_size=40))
def test_any_text_is_a_statement_or_an_error(text: str) -> None:
    try:
        parsed = assembly.parse_statement(text)
    except ArtifactError:
        return
    assert parsed.alternatives
