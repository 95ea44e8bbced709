"""What instructions read, write and occupy, and when; stages as AIE2Schedule.td of llvm-aie has them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from aiepipe.isa.assembly import parse
from aiepipe.isa.bundle import SlotInstruction
from aiepipe.isa.effects import Access, Control, Effects, effects, result_operand
from aiepipe.isa.table import table


def of(text: str) -> Effects:
    return effects(parse(text)[0])


def shown(accesses: Iterable[Access]) -> str:
    return " ".join(f"{a.register}@{a.stage}{':' + a.bypass if a.bypass else ''}" for a in accesses)


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("add r0, r1, r2", "r1@1 r2@1", "r0@1 srCarry@1"),
        ("adc r0, r1, r2", "r1@1 r2@1 srCarry@1", "r0@1 srCarry@1"),
        ("mul r0, r1, r2", "r1@1 r2@1", "r0@2"),
        ("divs r0, r31, r1, r2", "r1@1 r2@1 r31@1", "r0@1 r31@1"),
        ("sel.eqz r0, r1, r2, r27", "r1@1 r2@1 r27@1", "r0@1"),
        ("lda r0, [p0], #4", "p0@1", "r0@7 p0@1"),
        ("lda r0, [sp, #-4]", "SP@1", "r0@7"),
        ("paddb [sp], #32", "SP@1", "SP@1"),
        ("st r0, [p0, dj1]", "r0@1 p0@1 dj1@1", ""),
        ("st.s8 r0, [p0], #1", "r0@7 p0@1", "p0@1"),
        ("padda.2d [p0], d1", "p0@1 m1@1 dn1@1 dj1@1 dc1@1", "p0@1 dc1@1"),
        (
            "paddb.3d [p0], d0",
            "p0@1 m0@1 dn0@1 dj0@1 dc0@1 m4@1 dn4@1 dj4@1 dc4@1",
            "p0@1 dc0@1 dc4@1",
        ),
        ("jl #16", "", "lr@4"),
        ("ret lr", "lr@1", ""),
        ("jnzd r0, r1, p2", "r1@1 p2@1", "r0@1 srCarry@1"),
        ("acq #48, r0", "r0@1", ""),
        ("acq.cond #48, r0, r26", "r0@1 r26@1", ""),
        ("mov r0, SS", "", "r0@7 srSS0@8"),
        ("mov ms, r0, r28", "r0@1 r28@1", ""),
        ("mov.d3 r0, p1", "p1@1", "r0@4"),
        ("vadd.32 x0, x1, x2", "wl1@1:mov wh1@1:mov wl2@1:mov wh2@1:mov", "wl0@2:mov wh0@2:mov"),
        ("vmov wl0, wh1", "wh1@1", "wl0@2:mov"),
        ("vmov wh0, wl1", "wl1@1:mov", "wh0@2"),
        ("vmov amll0, wl1", "wl1@1:mov", "amll0@2"),
        ("veqz.32 r16, x1", "wl1@1:mov wh1@1:mov", "r16@2"),
        ("vinsert.32 x0, x0, r29, r1", "wl0@1:mov wh0@1:mov r1@1 r29@1", "wl0@2:mov wh0@2:mov"),
        ("vextract.s32 r0, x1, r16", "wl1@1:mov wh1@1:mov r16@1 crVaddSign@1", "r0@2"),
        (
            "vmac.f bml0, bml1, x0, x1, r0",
            "amll1@3 amlh1@3 wl0@1 wh0@1 wl1@1 wh1@1 r0@1 crFPMask@7",
            "amll0@6 amlh0@6 srFPFlags@7",
        ),
        ("vmul.f bml0, x0, x1, r0", None, "amll0@6 amlh0@6 srFPFlags@7"),
        ("vmov.d cm0, cm1", "amll1@3 amlh1@3 amhl1@3 amhh1@3", None),
        ("vunpack.s16.s8 x0, wl1", "wl1@7 crUnpackSign@7", "wl0@7 wh0@7"),
        (
            "vsrs.s16.s32 wl0, bml0, s1",
            "amll0@1 amlh0@1 s1@1 crSat@1 crRnd@1 crSRSSign@1",
            "wl0@4 srSRS_of@3",
        ),
        ("vups.s64.s32 bml0, wl1, s0", "wl1@1 s0@1 crSat@1 crUPSSign@1", "amll0@3 amlh0@3 srUPS_of@1"),
        (
            "vlda.ups.s64.s32 bml0, s0, [p0, #0]",
            "s0@7 p0@1 crSat@8 crUPSSign@7",
            "amll0@9 amlh0@9 srUPS_of@8",
        ),
        ("vconv.bf16.fp32 wl0, bml0", "amll0@1 amlh0@1 crRnd@1 crF2FMask@1", "wl0@2 srF2FFlags@1"),
    ],
)
def test_registers_and_stages(text: str, reads: str | None, writes: str | None) -> None:
    found = of(text)
    assert reads is None or sorted(shown(found.reads).split()) == sorted(reads.split())
    assert writes is None or sorted(shown(found.writes).split()) == sorted(writes.split())


def test_integer_accumulators_forward_to_each_other() -> None:
    found = of("vmac cm0, cm1, x0, x1, r0")
    assert {a.bypass for a in found.writes} == {"vec"}
    assert {(a.stage, a.bypass) for a in found.reads if a.register.startswith("am")} == {(3, "vec")}


def test_a_tied_accumulator_is_read_and_written() -> None:
    found = of("vaddmac cm0, cm0, cm1, x0, x1, r0")
    assert {a.register for a in found.writes} == {"amll0", "amlh0", "amhl0", "amhh0"}
    assert {a.register for a in found.reads} >= {"amll0", "amll1"}


def test_a_comparison_beside_a_vector_writes_its_mask() -> None:
    assert shown(of("vmax_lt.s32 x0, r16, x1, x2").writes) == "wl0@2:mov wh0@2:mov r16@2"
    assert "r16@2" not in shown(of("vsel.32 x0, x1, x2, r16").writes)


def test_sparse_loads_deliver_late_and_move_their_pointer_at_once() -> None:
    assert {"wl0@7", "ql0@7", "p1@1"} <= set(shown(of("vldb.sparse.pop.8 qwl0, [p1]").writes).split())


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("lda r0, [p0, #0]", (5, None)),
        ("st r0, [p0, #0]", (None, 5)),
        ("st.s16 r0, [p0, #0]", (5, 11)),
        ("vst.srs.s16.s32 bml0, s0, [p0, #0]", (None, 7)),
        ("vst.conv.bf16.fp32 bml0, [p0, #0]", (None, 7)),
        ("vst.pack.s8.s16 x0, [p0, #0]", (None, 5)),
        ("vldb.4x32.lo wl0, wl1", (5, None)),
    ],
)
def test_memory_stages(text: str, memory: tuple[int | None, int | None]) -> None:
    found = of(text).memory
    assert found is not None
    assert (found.load, found.store) == memory


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("add r0, r1, r2", {("R write x", 1)}),
        ("mul r0, r1, r2", {("R write x", 2)}),
        ("lda r0, [p0, #0]", {("R write a", 7), ("load A", 2)}),
        ("lda p1, [p0, #0]", {("p write m", 7), ("load A", 2)}),
        ("mova dj0, #4", {("dj write m", 1)}),
        ("mov dj0, r1", {("dj write m", 1), ("RS write m", 1)}),
        ("mov r0, p1", {("RS write m", 1), ("P read m", 1)}),
        ("st r0, [p0, dj1]", {("R read v", 1), ("store", 2)}),
        ("st p1, [p0, #0]", {("P read m", 1), ("store", 2)}),
        ("vldb wl0, [p0, #0]", set[tuple[str, int]]()),
        ("vlda wl0, [p0, #0]", {("W write a", 7), ("load A", 2)}),
        ("vmac cm0, cm0, x0, x1, r0", {("R read v", 1), ("CM write a", 5)}),
        ("vadd cm0, cm0, cm1, r0", {("R read v", 1), ("CM read m", 3), ("CM write a", 5)}),
        ("vst.srs.s16.s32 bml0, s0, [p0, #0]", {("CM read m", 1), ("SRS", 1), ("store", 4)}),
        ("padda [p0], #4", set[tuple[str, int]]()),
    ],
)
def test_ports(text: str, ports: set[tuple[str, int]]) -> None:
    uses = of(text).uses
    assert {(u.resource, u.stage) for u in uses if u.resource not in ("partial store", "semaphore")} == ports


def test_a_partial_store_keeps_other_memory_operations_seven_bundles_away() -> None:
    own = {use.stage for use in of("st.s8 r0, [p0, #0]").uses if use.resource == "partial store"}
    assert own == set(range(1, 8))
    other = [use for use in of("lda r0, [p0, #0]").uses if use.resource == "partial store"]
    assert [(use.stage, use.weak) for use in other] == [(1, True)]


def test_control_flow() -> None:
    kinds = {
        text: of(text).control for text in ("j #0", "j p0", "jl #0", "jz r0, #0", "ret lr", "done", "nopx")
    }
    assert list(kinds.values()) == [
        Control.JUMP,
        Control.JUMP,
        Control.CALL,
        Control.CONDITIONAL,
        Control.RETURN,
        Control.DONE,
        None,
    ]


def test_the_stack_is_not_shared_memory() -> None:
    assert of("lda r0, [p0, #0]").shared_memory
    assert not of("lda r0, [sp, #-4]").shared_memory


def test_every_opcode_has_effects_and_a_result_where_it_should() -> None:
    for opcode in table().opcodes:
        operands: dict[str, str | int] = {
            operand.name: next(iter(operand.codes)) if operand.kind == "reg" else operand.immediates[0]
            for operand in opcode.operands
        }
        found = effects(SlotInstruction(opcode, operands))
        result = result_operand(opcode)
        assert result is None or opcode.operand(result) is not None
        if opcode.is_nop:
            assert (found.reads, found.writes, found.uses) == ((), (), ())
            assert (found.memory, found.control) == (None, None)
        if opcode.vector and not opcode.store and "$dst" in opcode.asm:
            assert found.writes
