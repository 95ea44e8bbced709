"""Locks and stream words that compiled code takes and gives itself: all as the plain engine does."""

from __future__ import annotations

from typing import Any

import pytest

from aiepipe.emulator.core.plain import PlainEngine
from aiepipe.emulator.core.port import CoreStop
from aiepipe.emulator.machine import Machine, RunReport
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.npu.topology import Bundle, Port

from .core.bench import Engine
from .designs import MM2S, S2MM, Ddr, Design, compute, dma, memtile, north, south, words
from .programs import OWN_LOCK, OWN_MEMORY, acquire, load, program, release, store

CORE = Port(Bundle.CORE)
ROUNDS, WORDS = 12, 40
SOUTH_LOCK = 0
LOWER, UPPER = compute(row=2), compute(row=3)


def pipeline(*, condition: int = 1, exact: bool = False) -> Design:
    """A DMA fills a buffer of (0,2), which sends words made of it to (0,3), which gives the lock of the
    buffer back over its south side."""
    design = Design()
    design.shim_in(0, 0, north(0))
    design.connect(memtile(), south(0), north(0))
    design.connect(LOWER, south(0), dma(0))
    design.connect(LOWER, CORE, north(1))
    design.connect(UPPER, south(1), CORE)
    design.lock(LOWER, 0, 1)
    filled: dict[str, Any] = {"acquire_enable": True, "acquire_value": -1, "release_value": 1}
    design.bd(LOWER, 0, BufferDescriptor(0x400, 4, acquire_lock=0, release_lock=1, next_bd=0, **filled))
    design.start(LOWER, S2MM, 0, 0)
    # an exact acquire leaves the lock as it was, so the core takes what it saw
    full = (*acquire(OWN_LOCK + 1, 1), *release(OWN_LOCK + 1, -1)) if exact else acquire(OWN_LOCK + 1)
    program(
        design, LOWER, f"mova r10, #{ROUNDS}", f"mova r26, #{condition}", "round:",
        *full, *load(OWN_MEMORY + 0x400), f"mova r11, #{WORDS}", "word:",
        "mov ms, r0", "add r0, r0, #3", "add r11, r11, #-1", "jnz r11, word",
        "mova r15, #1", f"rel.cond #{OWN_LOCK + 9}, r15, r26", "event #1",
        "add r10, r10, #-1", "jnz r10, round", "mov.tlast ms, r0",
    )  # fmt: skip
    program(
        design, UPPER, f"mova r10, #{ROUNDS}", "mova r2, #0", "round:", f"mova r11, #{WORDS}", "word:",
        "mov r1, ss", "add r2, r2, r1", "add r11, r11, #-1", "jnz r11, word", *release(SOUTH_LOCK),
        "add r10, r10, #-1", "jnz r10, round", "mov r1, ss", "add r2, r2, r1",
        *store(OWN_MEMORY + 0x400, "r2"),
    )  # fmt: skip
    design.transfer(MM2S, 0, 4 * ROUNDS)
    for core in (LOWER, UPPER):
        design.ops.append(design.poll(core.address(0x32004), 1 << 20, 1 << 20))
    return design


def run(design: Design, engine: Engine, **options: Any) -> tuple[Machine, RunReport]:
    ddr = Ddr()
    made = Machine(1, ddr, engine=engine, **options)
    made.load(design.cdo)
    return made, made.run(design.stream, [ddr.add(words(list(range(4 * ROUNDS))))])


def total() -> int:
    every = [4 * n + 3 * k for n in range(ROUNDS) for k in range(WORDS)]
    return sum(every) + 4 * (ROUNDS - 1) + 3 * WORDS


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("condition", [0, 1])
def test_both_engines_say_the_same(condition: int, *, exact: bool) -> None:
    design = pipeline(condition=condition, exact=exact)
    (plain, slow), (jit, fast) = run(design, "plain"), run(design, "jit")
    assert fast == slow
    for tile, other in zip(plain.array.tiles.values(), jit.array.tiles.values(), strict=True):
        assert tile.locks.cells.view.tolist() == other.locks.cells.view.tolist(), tile.name
        assert tile.locks.releasers == other.locks.releasers, tile.name
    memory = jit.array.tiles[UPPER].memory
    assert memory is not None
    assert int(memory.words[0x100]) == total()
    assert jit.array.tiles[LOWER].locks.value(9) == (ROUNDS if condition else 0)


def test_compiled_code_stays_by_itself_while_nothing_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    step = PlainEngine.step

    def counted(self: PlainEngine) -> CoreStop | None:
        steps.append(self.pc)
        return step(self)

    monkeypatch.setattr(PlainEngine, "step", counted)
    made, _ = run(pipeline(), "jit")
    assert sum(core.bundles for core in made.array.cores) > 5 * len(steps)
    assert len(steps) < ROUNDS * WORDS


def test_whoever_looks_at_locks_is_asked() -> None:
    """Races and traces need to know of each lock: then compiled code leaves them to the tile."""
    design = pipeline()
    found = run(design, "jit", check=True)[1].findings
    assert found == run(design, "plain", check=True)[1].findings
