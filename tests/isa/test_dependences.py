"""Distances between instructions: facts/aie2-isa.md 2.2 and the rules of AIE2Schedule.td."""

from __future__ import annotations

import pytest

from aiepipe.isa.assembly import parse
from aiepipe.isa.dependences import conflicts, distance, drained_after, footprint
from aiepipe.isa.effects import effects


def between(before: str, after: str, *, may_alias: bool = True) -> int | None:
    return distance(parse(before)[0], parse(after)[0], may_alias=may_alias)


@pytest.mark.parametrize(
    ("before", "after", "bundles"),
    [
        # a result is awaited
        ("add r0, r1, r2", "lshl r3, r0, r4", 1),
        ("mul r0, r1, r2", "lshl r3, r0, r4", 2),
        ("lda r0, [p0, #0]", "lshl r3, r0, r4", 7),
        ("lda p1, [p0, #0]", "st r0, [p1, #0]", 7),
        ("lda r5, [p0], #4", "lda r6, [p0], #4", 1),
        ("vlda wl0, [p0, #0]", "vmac cm0, cm1, x0, x1, r0", 7),
        ("vmac cm0, cm1, x0, x1, r0", "vmac cm0, cm0, x2, x3, r0", 2),
        ("vmac.f bml0, bml1, x0, x1, r0", "vmac.f bml0, bml0, x2, x3, r0", 4),
        ("vmac cm0, cm1, x0, x1, r0", "vst amll0, [p0, #0]", 5),
        ("vlda amll0, [p0, #0]", "vmac cm0, cm0, x0, x1, r0", 5),
        ("vadd.32 x0, x1, x2", "vadd.32 x3, x0, x2", 1),
        ("vadd.32 x0, x1, x2", "vst wl0, [p0, #0]", 2),
        ("vadd.32 x0, x1, x2", "vmac cm0, cm1, x0, x3, r0", 2),
        ("vadd.32 x0, x1, x2", "vmov wl4, wh0", 2),
        ("vsrs.s16.s32 wl0, bml0, s0", "vst wl0, [p0, #0]", 4),
        ("jl #0", "st lr, [sp, #-4]", 4),
        # an operand must be read first
        ("lshl r3, r0, r4", "movx r0, #1", 0),
        ("st.s8 r0, [p0, #0]", "movx r0, #1", 6),
        ("vmac cm0, cm1, x0, x1, r0", "vlda amll1, [p0, #0]", 0),
        ("vmac.f bml0, bml1, x0, x1, r0", "vmov bml1, x5", 1),
        # results of one register land in order
        ("lda r0, [p0, #0]", "movx r0, #1", 7),
        ("mul r0, r1, r2", "movx r0, #1", 2),
        # memory
        ("st r0, [p0, #0]", "lda r1, [p1, #0]", 1),
        ("lda r1, [p1, #0]", "st r0, [p0, #0]", 1),
        ("lda r1, [p1, #0]", "lda r0, [p0, #0]", None),
        ("vst.srs.s16.s32 bml0, s0, [p0, #0]", "lda r1, [p1, #0]", 3),
        ("st.s8 r0, [p0, #0]", "lda r1, [p1, #0]", 7),
        # locks
        ("st r0, [p0, #0]", "rel #49, r1", 4),
        ("vst.srs.s16.s32 bml0, s0, [p0, #0]", "rel #49, r1", 6),
        ("st.s8 r0, [p0, #0]", "rel #49, r1", 10),
        ("acq #49, r1", "lda r0, [p0, #0]", 4),
        ("acq #49, r1", "lda r0, [sp, #-4]", None),
        ("acq #49, r1", "rel #50, r1", 1),
        # nothing in common
        ("lshl r0, r1, r2", "lshl r3, r4, r5", None),
    ],
)
def test_distance(before: str, after: str, bundles: int | None) -> None:
    assert between(before, after) == bundles


def test_memory_that_is_apart_needs_no_order() -> None:
    assert between("st r0, [p0, #0]", "lda r1, [p1, #0]", may_alias=False) is None


def test_the_order_of_carry_writers_matters_only_to_a_reader() -> None:
    one, other = parse("add r0, r1, r2")[0], parse("sub r3, r4, r5")[0]
    assert distance(one, other) == 1
    assert distance(one, other, carry=False) is None
    assert distance(one, parse("adc r3, r4, r5")[0], carry=False) == 1


@pytest.mark.parametrize(
    ("first", "second", "gap", "clash"),
    [
        ("mul r0, r1, r2", "add r3, r4, r5", 1, True),
        ("mul r0, r1, r2", "add r3, r4, r5", 2, False),
        ("lda r0, [p0, #0]", "mova r1, #4", 6, True),
        ("lda r0, [p0, #0]", "mova p1, #4", 6, False),
        ("lda p2, [p0, #0]", "mov p1, r3", 6, True),
        ("mov r0, p1", "st p2, [p3, #0]", 0, True),
        ("mov r0, p1", "st r2, [p3, #0]", 0, False),
        ("vst.srs.s16.s32 bml0, s0, [p0, #0]", "st r0, [p1, #0]", 2, True),
        ("lda r0, [p0, #0]", "vldb.4x32.lo wl0, wl1", 0, True),
        ("acq #48, r0", "mov ms, r1", 3, True),
        ("mov ms, r1", "mov r2, SS", 0, False),  # both only keep clear of lock operations
    ],
)
def test_conflicts(first: str, second: str, gap: int, clash: bool) -> None:
    uses = effects(parse(first)[0]).uses, effects(parse(second)[0]).uses
    assert conflicts(*uses, gap) is clash


@pytest.mark.parametrize(
    ("text", "bundles"),
    [
        ("add r0, r1, r2", 1),
        ("lda r0, [p0, #0]", 7),
        ("vlda.ups.s64.s32 bml0, s0, [p0, #0]", 9),
        ("st.s8 r0, [p0, #0]", 10),
    ],
)
def test_how_long_until_anything_may_follow(text: str, bundles: int) -> None:
    assert drained_after(parse(text)[0]) == bundles


def test_footprints_never_miss_a_dependence() -> None:
    lines = [
        "add r0, r1, r2",
        "lda r1, [p0], #4",
        "st r0, [p0, #0]",
        "rel #49, r1",
        "movx r5, #1",
        "mov ms, r5",
    ]
    for before in lines:
        for after in lines:
            apart = footprint(parse(before)).independent(footprint(parse(after)))
            assert not (apart and between(before, after) is not None)
