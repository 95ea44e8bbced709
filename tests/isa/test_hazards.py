"""The hazard checker: finds each kind, accepts real programs, and finds nothing in what we assemble."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe.isa.assembler import BundleStatement, Label, LoopEnd, ProgramStatement, Statement, assemble
from aiepipe.isa.hazards import find_hazards

# What compilers do on purpose: a register is used while a load into it is in flight.
ON_PURPOSE = {"exposed-read", "write-order"}


def test_real_programs_break_no_rule_but_on_purpose(programs: dict[str, tuple[int, bytes]]) -> None:
    images = {name: entry for name, entry in programs.items() if "/0x" in name}
    assert len(images) >= 10
    for name, (base, data) in images.items():
        found = [hazard for hazard in find_hazards(data, base=base) if hazard.kind not in ON_PURPOSE]
        # crt0 of newer Peano calls _main_init, which never returns, from address 0.
        assert [str(hazard) for hazard in found] in ([], ["0x0000: alignment: returns to 0x14"]), name


def fixed(*bundles: list[str]) -> list[ProgramStatement]:
    return [BundleStatement(texts) for texts in bundles]


NOP: list[str] = []
DONE = ["done"]


@pytest.mark.parametrize(
    ("program", "kind", "address"),
    [
        (fixed(["lda r0, [p0, #0]"], ["add r1, r0, r0"], DONE), "exposed-read", 4),
        (fixed(["lda r0, [p0, #0]"], ["add r0, r1, r1"], DONE), "write-order", 4),
        (fixed(["mul r0, r1, r1"], ["movi r0, #1"], DONE), "write-collision", 4),
        (fixed(["mul r0, r1, r1"], ["add r2, r1, r1"], DONE), "port", 4),
        (fixed(["st.s8 r0, [p0, #0]"], NOP, ["lda r1, [p1, #0]"], DONE), "port", 6),
        (fixed(["st r0, [p0, #0]"], NOP, ["rel #49, r1"], DONE), "lock-spacing", 6),
        (fixed(["acq #49, r1"], NOP, ["lda r0, [p0, #0]"], DONE), "lock-spacing", 6),
        (fixed(["acq #49, r1", "lda r0, [p0, #0]"], DONE), "lock-spacing", 0),
        (fixed(["j #16"], NOP, ["j #16"], NOP, NOP, NOP, NOP, NOP, NOP), "delay-slot", 8),
        (fixed(["j #18"], *[NOP] * 7, DONE), "alignment", 0),
        ([BundleStatement(["jl #64"], size=8), *fixed(*[NOP] * 5)], "alignment", 0),
        (fixed(["j #64"], *[NOP] * 5), "unknown-instruction", 64),
        (fixed(["add r0, r0, r1"]), "unknown-instruction", 4),
    ],
)
def test_each_kind_is_found_where_it_is(program: list[ProgramStatement], kind: str, address: int) -> None:
    assert (kind, address) in {
        (hazard.kind, hazard.address) for hazard in find_hazards(assemble(program).code)
    }


def test_a_loop_that_is_set_up_too_late_is_found() -> None:
    setup = [["movxm ls, #16"], ["movxm le, #32"], ["mov lc, r0"]]
    code = assemble([*fixed(*setup), *[BundleStatement([], size=16)] * 3, Statement("done")]).code
    assert [hazard.kind for hazard in find_hazards(code)] == ["loop"]


def test_a_register_that_its_own_bundle_writes_is_read_first() -> None:
    assert find_hazards(assemble(fixed(["add r0, r1, r1", "mov r1, r0"], DONE)).code) == ()


def test_accumulator_chains_use_the_bypass() -> None:
    chain = ["vmac cm0, cm0, x0, x1, r0"]
    assert find_hazards(assemble(fixed(chain, NOP, chain, DONE)).code) == ()
    assert {hazard.kind for hazard in find_hazards(assemble(fixed(chain, chain, DONE)).code)} == {
        "exposed-read"
    }


def test_hazards_across_a_back_edge_are_found() -> None:
    program = [
        Label("loop"),
        *fixed(["add r1, r0, r0"], ["jnz r1, #loop"], NOP, NOP, NOP, NOP, ["lda r0, [p0, #0]"]),
        Statement("done"),
    ]
    found = find_hazards(assemble(program).code)
    assert [(hazard.kind, hazard.address) for hazard in found] == [("exposed-read", 0)]


def test_what_is_assembled_from_statements_has_no_hazard() -> None:
    program = [
        Statement("jl main"),
        Statement("done"),
        Label("main"),
        Statement("movxm p0, #0x70400"),
        Statement("movxm p1, #0x70800"),
        Statement("movi r9, #-1"),
        Statement("acq #48, r9"),
        Statement("movi r1, #16"),
        Label("loop"),
        Statement("lda r2, [p0], #4"),
        Statement("mul r3, r2, r2"),
        Statement("st.s8 r3, [p1], #1"),
        Statement("add r1, r1, #-1"),
        Statement("jnz r1, #loop"),
        Statement("movxm ls, #copy"),
        Statement("movxm le, #last"),
        Statement("movi lc, #4"),
        Label("copy"),
        Statement("vld wl0, [p0], #32"),
        Statement("vst wl0, [p1], #32"),
        LoopEnd("last", "copy"),
        Statement("rel #49, r9"),
        Statement("ret lr"),
    ]
    assert find_hazards(assemble(program).code) == ()


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(-2, 300))
def test_any_bytes_are_walked_to_an_end(data: bytes, entry: int) -> None:
    for hazard in find_hazards(data, base=16, entries=[16, entry]):
        assert hazard.kind
