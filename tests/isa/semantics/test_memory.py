"""Scalar loads and stores: when a result lands, when memory changes, what is extended how."""

from __future__ import annotations

import pytest

from tests.emulator.core.bench import ENGINES, OWN, Bench, Engine, assemble

DRAIN = [""] * 14


@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_lands_after_seven_bundles(engine: Engine) -> None:
    """`mov` number n copies what r0 is n bundles after the load issued (facts 2.2)."""
    copies = [f"mov r{n}, r0" for n in range(1, 9)]
    bench = Bench(assemble("lda r0, [p0, #0]", *copies, *DRAIN), engine)
    bench.own[0] = 9
    bench.set({"r0": 5, "p0": OWN}).step(9)
    assert [bench[f"r{n}"] for n in range(1, 9)] == [5, 5, 5, 5, 5, 5, 9, 9]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_store_is_seen_by_the_next_bundle(engine: Engine) -> None:
    code = assemble("st r1, [p0, #0]; lda r2, [p0, #0]", "lda r3, [p0, #0]", *DRAIN)
    bench = Bench(code, engine)
    bench.own[0] = 7
    bench.set({"r1": 8, "p0": OWN}).step(12)
    assert (bench["r2"], bench["r3"]) == (7, 8)


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_of_words(engine: Engine) -> None:
    statements = (
        "lda.s8 r0, [p0, #1]",
        "lda.u8 r1, [p0, #1]",
        "lda.s16 r2, [p1, #2]",
        "lda.u16 r3, [p1, #2]",
    )
    bench = Bench(assemble(*statements, *DRAIN), engine)
    bench.own[:4] = [0x11, 0x82, 0x33, 0x94]
    bench.set({"p0": OWN, "p1": OWN}).step(14)
    assert [bench[f"r{n}"] for n in range(4)] == [0xFFFFFF82, 0x82, 0xFFFF9433, 0x9433]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_partial_store_takes_its_data_six_bundles_late(engine: Engine) -> None:
    """E7 against E1 (AIE2Schedule.td, II_STHB): the value that a load brings in the meantime is stored."""
    code = assemble(
        "lda r1, [p0, #4]", "st.s8 r1, [p0, #1]", *[""] * 5, "lda r2, [p0, #0]", "lda r3, [p0, #0]", *DRAIN
    )
    bench = Bench(code, engine)
    bench.own[:5] = [1, 1, 1, 1, 0xAB]
    bench.set({"r1": 0x77, "p0": OWN}).step(18)
    assert bench.own[1] == 0xAB
    assert (bench["r2"], bench["r3"]) == (0x01010101, 0x0101AB01)


@pytest.mark.parametrize("engine", ENGINES)
def test_mask_registers(engine: Engine) -> None:
    bench = Bench(assemble("lda q0, [p0, #16]", *[""] * 7, "st q0, [p0, #-16]", *DRAIN), engine)
    bench.own[32:48] = range(16)
    bench.set({"p0": OWN + 16}).step(12)
    assert bench["q0"] == int.from_bytes(bytes(range(16)), "little")
    assert list(bench.own[:16]) == list(range(16))
