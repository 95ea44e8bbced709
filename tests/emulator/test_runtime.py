"""What the instruction stream does with a configured array: parameters, programs, channels, a second run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aiepipe.emulator.machine import Machine
from aiepipe.formats import txn
from aiepipe.formats.cdo import DmaWrite, Write
from aiepipe.npu.registers import register

from .core.bench import ENGINES, Engine
from .designs import MM2S, OWN, S2MM, Ddr, Design, compute, dma, memtile, memtile_bd, north, south, words
from .programs import OWN_MEMORY, acquire, load, program, release, store
from .test_machine import ramp, through_shim

PARAMETER = 0x480
DONE = (0x32004, 1 << 20)


def stored(made: Machine, offset: int) -> int:
    memory = made.array.tiles[compute()].memory
    assert memory is not None
    return int(memory.words[offset // 4])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_parameter_that_the_stream_writes_reaches_the_core_with_its_lock(engine: Engine) -> None:
    """As mlir-aie's npu_rtp_write and a lock do it; the core goes round for each run."""
    design = Design()
    program(
        design, compute(),
        "movxm p2, #0x70500",
        "again:",
        *acquire(48), *load(OWN_MEMORY + PARAMETER), "add r0, r0, r0", "st r0, [p2], #4", *release(49),
        "j #again", *["nopx"] * 5,
    )  # fmt: skip
    made = Machine(1, Ddr(), engine=engine, check=True)
    made.load(design.cdo)
    lock = compute().address(register(compute().kind, "LOCK_VALUE").at(0))
    for number, value in enumerate((21, 1 << 20, 3)):
        ops = (
            txn.Write32(compute().address(PARAMETER), value),
            txn.Write32(lock, 1),
            Design.poll(lock + 0x10, number + 1, 0x3F),
        )
        report = made.run(txn.Transaction(ops), [])
        assert report.settled
        assert stored(made, 0x500 + 4 * number) == 2 * value


@pytest.mark.parametrize("engine", ENGINES)
def test_a_barrier_lets_a_core_go_once_each_time_that_the_stream_sets_it(engine: Engine) -> None:
    """As mlir-aie's WorkerRuntimeBarrier does it in ml/scale_shift, whose second pass else has the parameters
    of the first: the core waits for exactly 1, which stays, and adds 1 when it is through."""
    design = Design()
    program(
        design, compute(),
        "movxm p2, #0x70500",
        "again:",
        *acquire(48, 1), *load(OWN_MEMORY + PARAMETER), "add r0, r0, r0", "st r0, [p2], #4",
        *release(48), *release(49),
        "j #again", *["nopx"] * 5,
    )  # fmt: skip
    made = Machine(1, Ddr(), engine=engine, check=True)
    made.load(design.cdo)
    lock = compute().address(register(compute().kind, "LOCK_VALUE").at(0))
    values = [(21, 22), (1 << 20, 3)]
    for run, pair in enumerate(values):
        ops: list[txn.Operation] = []
        for number, value in enumerate(pair):
            ops += [
                txn.Write32(compute().address(PARAMETER), value),
                txn.Write32(lock, 1),
                Design.poll(lock + 0x10, 2 * run + number + 1, 0x3F),
            ]
        report = made.run(txn.Transaction(tuple(ops)), [])
        assert report.settled
        assert {finding.kind for finding in report.findings} <= {"lock-left"}
        assert made.array.tiles[compute()].locks.values[:2] == [2, 2 * run + 2]
        assert [stored(made, 0x500 + 8 * run + 4 * number) for number in range(2)] == [2 * v for v in pair]


def test_two_channels_take_turns_at_a_buffer_by_exact_acquires() -> None:
    """mlir-aie's double pump: whose turn it is, is lock 1 (0 for the first); who has it sees lock 0 at 1, and
    hands on by BDs of no words that add 1 or -1."""
    design, ddr = Design(), Ddr()
    turn, sent = 64 + 1, 64 + 2
    for channel in (0, 1):
        design.shim_in(0, channel, north(channel))
        design.connect(memtile(), south(channel), dma(channel))
        waits: dict[str, Any] = {"acquire_enable": True, "acquire_lock": turn, "acquire_value": channel}
        first = 24 * channel
        after = {"release_lock": sent, "release_value": 1}
        design.bd(memtile(), first, memtile_bd(OWN + 64 * channel, 16, **waits, **after, next_bd=first + 1))
        handed: dict[str, Any] = {"release_lock": turn, "release_value": 1 - 2 * channel}
        design.bd(memtile(), first + 1, memtile_bd(OWN, 0, **handed, next_bd=first))
        design.start(memtile(), S2MM, channel, first)
    design.transfer(MM2S, 0, 48, channel=0)
    design.transfer(MM2S, 0, 48, channel=1)
    lock = memtile().address(register(memtile().kind, "LOCK_VALUE").at(0))
    design.ops.append(Design.poll(lock + 0x20, 6, 0x3F))
    made = Machine(1, ddr)
    made.load(design.cdo)
    report = made.run(design.stream, [ddr.add(ramp(48))])
    assert report.settled
    assert report.warnings == ()
    assert made.array.tiles[memtile()].locks.values[1:3] == [0, 6]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_stream_gives_a_core_another_program(engine: Engine) -> None:
    made = Machine(1, Ddr(), engine=engine)
    for number in (5, 6, 7):
        design = Design()
        program(design, compute(), f"mova r0, #{number}", *store(OWN_MEMORY + 0x500))
        if number == 5:
            made.load(design.cdo)
            assert stored(made, 0x500) == 5
            continue
        ops: list[txn.Operation] = []
        for command in design.commands:
            match command:
                case DmaWrite(address=address, data=data):
                    ops.append(txn.BlockWrite(address, tuple(np.frombuffer(data, np.uint32).tolist())))
                case Write(address=address, value=value):
                    ops.append(txn.Write32(address, value))
                case _:
                    raise AssertionError(command)
        status, bit = DONE
        made.run(txn.Transaction((*ops, Design.poll(compute().address(status), bit, bit))), [])
        assert stored(made, 0x500) == number


def test_a_channel_that_waits_for_a_lock_is_reset_and_begins_anew() -> None:
    """As mlir-aie's dma_channel_reset: CTRL bit 1 set and cleared; the task that waited is gone."""
    design, ddr = Design(), Ddr()
    through_shim(design)
    design.connect(memtile(), south(0), dma(0))
    design.connect(memtile(), dma(0), south(0))
    design.bd(memtile(), 0, memtile_bd(OWN, 16, acquire_enable=True, acquire_lock=64, acquire_value=-1))
    design.bd(memtile(), 1, memtile_bd(OWN, 16, release_lock=65, release_value=1))
    design.bd(memtile(), 2, memtile_bd(OWN, 16, acquire_enable=True, acquire_lock=65, acquire_value=-1))
    design.start(memtile(), S2MM, 0, 0)
    design.start(memtile(), MM2S, 0, 2)
    since = len(design.commands)
    design.set(memtile(), "DMA_S2MM_CTRL", 0, RESET=1)
    design.set(memtile(), "DMA_S2MM_CTRL", 0, RESET=0)
    design.start(memtile(), S2MM, 0, 1)
    design.in_stream(since)
    design.transfer(S2MM, 1, 16)
    design.transfer(MM2S, 0, 16)
    design.sync()
    made = Machine(1, ddr)
    made.load(design.cdo)
    given, got = ddr.add(ramp(16)), ddr.add(words([0] * 16))
    report = made.run(design.stream, [given, got])
    assert np.array_equal(ddr.get(got), ramp(16))
    assert report.findings == ()
