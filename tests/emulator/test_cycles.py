"""Where cycles go: the estimates by tile, the same from both engines."""

from __future__ import annotations

import pytest

from aiepipe.emulator.cycles import CoreCycles
from aiepipe.emulator.machine import Machine, RunReport
from aiepipe.emulator.task import ChannelCycles
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.npu.topology import Bundle, Port

from .core.bench import ENGINES, Engine
from .designs import MM2S, OWN, S2MM, Ddr, Design, compute, dma, memtile, memtile_bd, north, south, words
from .programs import OWN_LOCK, OWN_MEMORY, acquire, program, release

CORE = Port(Bundle.CORE)


def run(design: Design, *arrays: int, engine: Engine, columns: int = 1) -> RunReport:
    ddr = Ddr()
    made = Machine(columns, ddr, engine=engine)
    made.load(design.cdo)
    return made.run(design.stream, [ddr.add(words([0] * length)) for length in arrays])


def started_by_stream(*lines: str) -> Design:
    """A program that begins with the run."""
    design = Design()
    program(design, compute(), *lines)
    kept = len(design.commands) - 2
    design.in_stream(kept)
    return design


def loop(times: int, line: str) -> list[str]:
    """`line` so many times, 20 bundles and a branch between."""
    slowly = ["add r1, r1, r1"] * 20
    return [f"mova r2, #{times}", "again:", line, *slowly, "add r2, r2, #-1", "jnz r2, again"]


@pytest.mark.parametrize("engine", ENGINES)
def test_two_loads_of_one_bank_cost_a_cycle_more(engine: Engine) -> None:
    """AM020: eight banks of 8 KiB, two of them interleaved to one of 16 KiB; a conflict stalls one cycle."""
    spent: list[CoreCycles] = []
    for other in (0x7000, 0x2000):
        pointers = (f"movxm p0, #{OWN_MEMORY}", f"movxm p1, #{OWN_MEMORY + other}")
        design = started_by_stream(*pointers, "loads:", "vlda wl0, [p0, #0]", "vldb wl1, [p1, #0]")
        spent.append(run(design, engine=engine).tile_cycles["core (0,2)"].core)
    assert spent[0].bundles == spent[1].bundles
    assert [cycles.bank_conflicts for cycles in spent] == [0, 1]
    assert spent[1].total == spent[0].total + 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_core_waits_for_a_lock_as_long_as_its_dma_takes(engine: Engine) -> None:
    design = Design()
    design.shim_in(0, 0, north(0))
    design.connect(memtile(), south(0), north(0))
    design.connect(compute(), south(0), dma(0))
    design.bd(compute(), 0, BufferDescriptor(0x400, 500, release_lock=1, release_value=1))
    design.start(compute(), S2MM, 0, 0)
    design.transfer(MM2S, 0, 500)
    program(design, compute(), *acquire(OWN_LOCK + 1), *release(OWN_LOCK + 1))
    design.ops += [design.poll(compute().address(0x32004), 1 << 20, 1 << 20)]
    report = run(design, 500, engine=engine)
    cycles = report.tile_cycles["core (0,2)"]
    assert cycles.channels["S2MM 0"] == ChannelCycles(words=500, requests=0, lock_wait=0, stream_wait=12)
    # three switches on the way, four cycles each (AM020)
    assert cycles.bytes_per_cycle == {"S2MM 0": 4 * 500 / 512}
    # the core stood at its acquire since the configuration was loaded
    assert 490 <= cycles.core.lock_wait <= 512
    assert report.cycles >= 500


@pytest.mark.parametrize("engine", ENGINES)
def test_a_slow_receiver_holds_up_its_sender(engine: Engine) -> None:
    """(0,2) sends 100 words as fast as it can; (0,3) takes one every 20 bundles or so."""
    design = Design()
    design.connect(compute(row=2), CORE, north(0))
    design.connect(compute(row=3), south(0), CORE)
    program(design, compute(row=2), *["mov ms, r0"] * 100)
    program(design, compute(row=3), *loop(100, "mov r0, ss"))
    sent = run(design, engine=engine)
    assert sent.tile_cycles == {}, "all of it happened before the first run"
    design = Design()
    design.connect(compute(row=2), CORE, north(0))
    design.connect(compute(row=3), south(0), CORE)
    program(design, compute(row=2), *acquire(OWN_LOCK), *["mov ms, r0"] * 100)
    program(design, compute(row=3), *loop(100, "mov r0, ss"))
    since = len(design.commands)
    design.lock(compute(row=2), 0, 1)
    design.in_stream(since)
    design.ops.append(design.poll(compute(row=3).address(0x32004), 1 << 20, 1 << 20))
    cycles = run(design, engine=engine).tile_cycles
    sender, receiver = cycles["core (0,2)"].core, cycles["core (0,3)"].core
    assert 2000 <= receiver.bundles <= 2200
    assert receiver.stream_wait < 50
    # what two switches hold (16 words) goes at once
    assert 1700 <= sender.stream_wait <= 2100


@pytest.mark.parametrize("engine", ENGINES)
def test_the_cascade_holds_four_words(engine: Engine) -> None:
    design = Design()
    program(design, compute(row=3), *acquire(OWN_LOCK), *["vmov mcd, x0"] * 10)
    program(design, compute(row=2), *loop(10, "vmov x0, scd"))
    since = len(design.commands)
    design.lock(compute(row=3), 0, 1)
    design.in_stream(since)
    design.ops.append(design.poll(compute(row=2).address(0x32004), 1 << 20, 1 << 20))
    cycles = run(design, engine=engine).tile_cycles
    # the tenth word waits until the sixth is taken, five rounds of some 22 bundles after the first
    assert 85 <= cycles["core (0,3)"].core.cascade_wait <= 125
    assert cycles["core (0,2)"].core.cascade_wait < 20


def test_a_memory_tiles_loop_moves_a_word_a_cycle_while_it_is_not_waiting() -> None:
    design = Design()
    design.shim_in(0, 0, north(0))
    design.shim_out(0, 0, north(0))
    design.tokens()
    design.connect(memtile(), south(0), dma(0))
    design.connect(memtile(), dma(0), south(0))
    design.lock(memtile(), 0, 1)
    for bd, (acquires, releases) in enumerate(((64, 65), (65, 64))):
        design.bd(
            memtile(),
            bd,
            memtile_bd(
                OWN,
                64,
                acquire_enable=True,
                acquire_lock=acquires,
                acquire_value=-1,
                release_lock=releases,
                release_value=1,
                next_bd=bd,
            ),
        )
    design.start(memtile(), S2MM, 0, 0)
    design.start(memtile(), MM2S, 0, 1)
    design.transfer(S2MM, 1, 256)
    design.transfer(MM2S, 0, 256)
    design.sync()
    cycles = run(design, 256, 256, engine="jit").tile_cycles["memory tile (0,1)"]
    incoming, outgoing = cycles.channels["S2MM 0"], cycles.channels["MM2S 0"]
    assert (incoming.words, outgoing.words) == (256, 256)
    # one buffer: each waits for the other in turn
    assert incoming.lock_wait >= 3 * 64
    assert outgoing.lock_wait >= 3 * 64
    assert 0 < cycles.bytes_per_cycle["MM2S 0"] < 4
