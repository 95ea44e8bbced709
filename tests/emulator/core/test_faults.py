"""What no legal program does: an error with the tile's name and the pc, from both engines."""

from __future__ import annotations

import random

import pytest

from aiepipe.emulator.core import Core
from aiepipe.errors import EmulationError

from .bench import ENGINES, OWN, Bench, Engine, FakePort, assemble

DRAIN = [""] * 14


def fault(bench: Bench, budget: int = 100) -> EmulationError:
    with pytest.raises(EmulationError) as caught:
        bench.core.run(budget)
    assert caught.value.tile == "core (0,2)"
    return caught.value


NOWHERE = [(0x50000, "no West memory"), *((a, "outside of data memory") for a in (0x3FFFC, 0x80000, 0))]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_that_is_not_aligned(engine: Engine) -> None:
    bench = Bench(assemble("mov r1, #3", "", "lda r0, [p0, #0]", *DRAIN), engine).set({"p0": OWN + 2})
    error = fault(bench)
    assert (error.kind, error.pc) == ("misaligned", 6)
    assert "load of 4 bytes at 0x70002" in error.message


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("address", "text"), NOWHERE)
def test_stores_outside(address: int, text: str, engine: Engine) -> None:
    bench = Bench(assemble("mov r1, #3", "", "st r1, [p0, #0]", *DRAIN), engine).set({"p0": address})
    error = fault(bench)
    assert (error.kind, error.pc) == ("out-of-range", 6)
    assert text in error.message


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("load", ["lda r0, [p0, #0]", "lda.u8 r0, [p0, #0]", "vlda wl0, [p0, #0]"])
@pytest.mark.parametrize("address", [0x50000, 0x3FFE0, 0x80000, 0])
def test_loads_outside_give_zeros_and_are_noted(address: int, load: str, engine: Engine) -> None:
    """A core goes on on hardware; code that loads ahead does so at the end of its last buffer."""
    code = assemble("lda r2, [p1, #0]", *DRAIN, "", load, *DRAIN, "done")
    given = {"p0": address, "p1": OWN, "r0": 7, "wl0": (1 << 256) - 1}
    bench = Bench(code, engine).set(given)
    bench.own[:4] = [1, 2, 3, 4]
    bench.core.run(200)
    assert bench["wl0" if load.startswith("v") else "r0"] == 0
    assert bench["r2"] == 0x04030201
    assert bench.core.take_outside() == code.index(assemble(load), 8)
    assert bench.core.take_outside() is None


@pytest.mark.parametrize("engine", ENGINES)
def test_the_last_load_outside_of_a_loop_is_the_one_that_is_told(engine: Engine) -> None:
    """A loop that runs over the end of its memory: what is inside is right, what is outside is zero."""
    code = assemble("lda r0, [p0], #4", "lda r1, [p0], #4", "lda r2, [p0], #4", *DRAIN, "done")
    bench = Bench(code, engine).set({"p0": OWN + 0xFFF8, "r2": 9})
    bench.own[-8:] = [1, 0, 0, 0, 2, 0, 0, 0]
    bench.core.run(100)
    assert [bench[name] for name in ("r0", "r1", "r2")] == [1, 2, 0]
    assert bench.core.take_outside() == 8


@pytest.mark.parametrize("engine", ENGINES)
def test_a_store_outside_is_found_where_it_happens(engine: Engine) -> None:
    code = assemble("st r1, [p0], #4", "st r1, [p0], #4", *DRAIN)
    error = fault(Bench(code, engine).set({"p0": OWN + 0xFFFC}))
    assert (error.kind, error.pc) == ("out-of-range", 4)
    assert "store of 4 bytes at 0x80000" in error.message


@pytest.mark.parametrize("engine", ENGINES)
def test_words_that_are_no_instruction(engine: Engine) -> None:
    code = assemble("", "") + b"\xff" * 16
    error = fault(Bench(code, engine))
    assert (error.kind, error.pc) == ("unknown-instruction", 4)


@pytest.mark.parametrize("engine", ENGINES)
def test_running_off_program_memory(engine: Engine) -> None:
    bench = Bench(b"", engine)
    bench.program[-2:] = b"\x01\x00"
    bench.core.program_changed()
    error = fault(bench.set({"pc": 0x3FFE}))
    assert (error.kind, error.pc) == ("out-of-range", 0x4000)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_jump_to_nowhere(engine: Engine) -> None:
    error = fault(Bench(assemble("j p0", *DRAIN), engine).set({"p0": 0x12345}))
    assert (error.kind, error.pc) == ("out-of-range", 0x12345)


@pytest.mark.parametrize("engine", ENGINES)
def test_random_program_memory_ends_in_an_error_of_a_known_kind(engine: Engine) -> None:
    kinds: set[str] = set()
    for seed in range(25):
        bench = Bench(random.Random(seed).randbytes(0x4000), engine).set({f"p{i}": OWN for i in range(8)})
        try:
            bench.core.run(300)
        except EmulationError as error:
            kinds.add(error.kind)
    assert "unknown-instruction" in kinds
    assert kinds <= {"unknown-instruction", "out-of-range", "misaligned"}


def test_memories_of_the_wrong_size_are_refused() -> None:
    with pytest.raises(ValueError, match="16 KiB"):
        Core("core (0,2)", FakePort(), bytearray(100), (None,) * 4)
