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


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("address", "kind", "text"),
    [
        (OWN + 2, "misaligned", "load of 4 bytes at 0x70002"),
        (0x50000, "out-of-range", "no West memory"),
        (0x3FFFC, "out-of-range", "outside of data memory"),
        (0x80000, "out-of-range", "outside of data memory"),
        (0, "out-of-range", "outside of data memory"),
    ],
)
def test_accesses_outside(address: int, kind: str, text: str, engine: Engine) -> None:
    bench = Bench(assemble("mov r1, #3", "", "lda r0, [p0, #0]", *DRAIN), engine).set({"p0": address})
    error = fault(bench)
    assert (error.kind, error.pc) == (kind, 6)
    assert text in error.message


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
