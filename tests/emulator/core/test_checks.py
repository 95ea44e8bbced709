"""What a checked core notes, and what bank conflicts cost."""

from __future__ import annotations

import pytest

from aiepipe.emulator.core.plain import bank_conflicts
from aiepipe.emulator.memory import LOADED, STORED, WRITTEN

from .bench import ENGINES, OWN, Bench, Engine, assemble

DRAIN = [""] * 14


@pytest.mark.parametrize("engine", ENGINES)
def test_accesses_are_marked(engine: Engine) -> None:
    code = assemble("st r0, [p0, #0]", "lda r1, [p0, #0]", "lda.u8 r2, [p1, #1]", "vst wl0, [p2, #0]", *DRAIN)
    bench = Bench(code, engine, checked=True).set({"p0": OWN, "p1": OWN + 16, "p2": OWN + 32}).step(14)
    assert list(bench.shadow[:4]) == [WRITTEN | STORED | LOADED] * 4
    assert list(bench.shadow[16:20]) == [0, LOADED, 0, 0]
    assert list(bench.shadow[32:64]) == [WRITTEN | STORED] * 32
    assert bench.unwritten == [(8, OWN + 17, 1)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_vector_with_one_unwritten_byte_is_reported(engine: Engine) -> None:
    bench = Bench(assemble("vlda wl0, [p0, #0]", "vlda wl1, [p0, #32]", *DRAIN), engine, checked=True)
    bench.shadow[:64] = WRITTEN
    bench.shadow[63] = 0
    bench.set({"p0": OWN}).step(12)
    assert bench.unwritten == [(4, OWN + 32, 32)]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_extent_of_the_stack(engine: Engine) -> None:
    code = assemble("movxm sp, #458752", "paddb [sp], #256", "paddb [sp], #-128", *DRAIN)
    bench = Bench(code, engine, checked=True)
    assert bench.core.stack is None
    bench.step(10)
    assert bench.core.stack == (0x70000, 0x70100, 6)
    assert Bench(code, engine).step(10).core.stack is None


@pytest.mark.parametrize("engine", ENGINES)
def test_two_accesses_to_one_bank_cost_a_cycle(engine: Engine) -> None:
    code = assemble(
        "vlda wl0, [p0, #0]; vldb wl1, [p1, #0]", "vlda wl0, [p0, #0]; vldb wl1, [p2, #0]", *DRAIN
    )
    bench = Bench(code, engine).set({"p0": OWN, "p1": OWN + 0x3FE0, "p2": OWN + 0x4000}).step(12)
    assert bench.core.stalls == 1


def test_narrow_accesses_meet_only_in_their_half_of_a_bank_pair() -> None:
    assert bank_conflicts([(OWN, 4), (OWN + 32, 4)]) == 1
    assert bank_conflicts([(OWN, 4), (OWN + 16, 4)]) == 0
    assert bank_conflicts([(OWN, 32), (OWN + 16, 4)]) == 1
    assert bank_conflicts([(OWN, 32), (OWN + 0x4000, 32), (OWN + 64, 32)]) == 1
    assert bank_conflicts([(0x40000, 32), (OWN, 32)]) == 0
