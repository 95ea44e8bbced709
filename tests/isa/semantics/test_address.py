"""Pointers: post-increment, wrap at 20 bits, two and three dimensions against a model written here."""

from __future__ import annotations

import pytest

from tests.emulator.core.bench import ENGINES, OWN, Bench, Engine, assemble, execute

WRAP = 1 << 20


def test_a_pointer_is_used_before_it_moves() -> None:
    bench = Bench(assemble("lda r0, [p0], #4", "lda r1, [p0], #4", *[""] * 10))
    bench.own[:8] = [1, 0, 0, 0, 2, 0, 0, 0]
    bench.set({"p0": OWN}).step(11)
    assert (bench["r0"], bench["r1"], bench["p0"]) == (1, 2, OWN + 8)


@pytest.mark.parametrize("statement", ["padda [p0], #-4", "paddb [p0], #-4", "padds [p0], #-4"])
def test_pointers_wrap(statement: str) -> None:
    assert execute(statement, registers={"p0": 0})["p0"] == WRAP - 4


def test_the_stack_pointer_moves_at_once() -> None:
    bench = execute("paddb [sp], #64", "st r1, [sp, #-4]", registers={"SP": OWN, "r1": 0x01020304})
    assert bench["SP"] == OWN + 64
    assert list(bench.own[60:64]) == [4, 3, 2, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_indexed_and_modified_addresses(engine: Engine) -> None:
    bench = Bench(assemble("lda r0, [p0, dj1]", "lda r1, [p0], m2", *[""] * 10), engine)
    bench.own[8], bench.own[4] = 77, 55
    bench.set({"p0": OWN + 4, "dj1": 4, "m2": WRAP - 4}).step(11)
    assert (bench["r0"], bench["r1"], bench["p0"]) == (77, 55, OWN)


def walk(p: int, registers: dict[str, int], dimensions: int) -> tuple[int, dict[str, int]]:
    """One 2D or 3D step with d0 (and d4): counters run from 0 to dn and start again."""
    out = dict(registers)
    if registers["dc0"] != registers["dn0"]:
        out["dc0"] += 1
        return (p + registers["dj0"]) % WRAP, out
    out["dc0"] = 0
    if dimensions == 3 and registers["dc4"] != registers["dn4"]:
        out["dc4"] += 1
        return (p + registers["dj4"]) % WRAP, out
    if dimensions == 3:
        out["dc4"] = 0
    return (p + registers["m0"]) % WRAP, out


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("statement", "dimensions"), [("padda.2d [p0], d0", 2), ("paddb.3d [p0], d0", 3)])
def test_two_and_three_dimensions(statement: str, dimensions: int, engine: Engine) -> None:
    statement = statement.replace("d0", "d0_3d") if dimensions == 3 else statement
    registers = {"m0": WRAP - 1000, "dj0": 4, "dn0": 2, "dc0": 0, "dj4": 100, "dn4": 1, "dc4": 0}
    bench = Bench(assemble(*[statement] * 20, *[""] * 8), engine)
    bench.set({**registers, "p0": OWN})
    pointer = OWN
    for _ in range(14):
        bench.step()
        pointer, registers = walk(pointer, registers, dimensions)
        assert bench["p0"] == pointer
        assert {name: bench[name] for name in registers} == registers
