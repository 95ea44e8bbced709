"""What joins cores: cascade, neighbours, streams, packets, control; assembled programs on both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aiepipe.emulator.machine import Machine
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.npu.registers import register
from aiepipe.npu.topology import Bundle, Port, TileAddress, TileKind

from .core.bench import ENGINES, Engine
from .designs import OWN as OWN_TILE
from .designs import S2MM, Ddr, Design, compute, dma, memtile, memtile_bd, north, south, words
from .programs import OWN_LOCK, OWN_MEMORY, acquire, load, program, release, store

CORE, CONTROL = Port(Bundle.CORE), Port(Bundle.CONTROL)
VECTOR = np.arange(1, 17, dtype=np.uint32)


def machine(design: Design, engine: Engine, columns: int = 1) -> Machine:
    """Loaded, and run with the design's stream; nothing may be found in it."""
    made = Machine(columns, Ddr(), engine=engine, check=True)
    made.load(design.cdo)
    report = made.run(design.stream, [])
    assert report.settled
    assert report.findings == ()
    assert report.warnings == ()
    return made


def memory(made: Machine, tile: TileAddress) -> Any:
    found = made.array.tiles[tile].memory
    assert found is not None
    return found.words


@pytest.mark.parametrize("engine", ENGINES)
def test_a_vector_goes_down_the_cascade_and_east(engine: Engine) -> None:
    """(0,3) to (0,2) as after reset, (0,2) to (1,2) by ACCUMULATOR_CONTROL; each adds what it was given."""
    design = Design()
    design.set(compute(0, 2), "ACCUMULATOR_CONTROL", OUTPUT=1)
    design.set(compute(1, 2), "ACCUMULATOR_CONTROL", INPUT=1)
    for tile in (compute(0, 3), compute(0, 2)):
        design.data(tile, 0x400, VECTOR)
    address = f"movxm p0, #{OWN_MEMORY + 0x400}"
    both = (address, "vlda wl0, [p0, #0]", "vldb wh0, [p0, #32]")
    program(design, compute(0, 3), *both, "vmov mcd, x0")
    program(design, compute(0, 2), *both, "vmov x1, scd", "vadd.32 x2, x1, x0", "vmov mcd, x2")
    program(design, compute(1, 2), address, "vmov x1, scd", "vst wl1, [p0, #0]", "vst wh1, [p0, #32]")
    made = machine(design, engine, columns=2)
    assert memory(made, compute(1, 2))[0x100:0x110].tolist() == (2 * VECTOR).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_core_works_in_the_memories_on_its_four_sides(engine: Engine) -> None:
    """(1,3) reads South (1,2), West (0,3), North (1,4) and its own, and stores the sums back, under locks."""
    sides = {0x40000: (0, compute(1, 2)), 0x50000: (16, compute(0, 3)), 0x60000: (32, compute(1, 4))}
    design = Design()
    lines: list[str] = []
    for number, (base, (lock, tile)) in enumerate(sides.items()):
        design.data(tile, 0x200, words([10 + number]))
        design.lock(tile, 5, 1)
        lines += [
            *acquire(lock + 5), *load(base + 0x200), "add r0, r0, r0", *store(base + 0x204),
            *release(lock + 6),
        ]  # fmt: skip
    design.data(compute(1, 3), 0x200, words([13]))
    lines += [*load(OWN_MEMORY + 0x200), "add r0, r0, r0", *store(OWN_MEMORY + 0x204)]
    since = len(design.commands)
    program(design, compute(1, 3), *lines)
    # enabled by the stream, so that the locks' change is the run's
    design.ops = []
    enable = design.commands[-2:]
    del design.commands[since + 1 :]
    kept = len(design.commands)
    design.commands += enable
    design.in_stream(kept)
    made = Machine(2, Ddr(), engine=engine, check=True)
    made.load(design.cdo)
    report = made.run(design.stream, [])
    assert {finding.kind for finding in report.findings} == {"lock-left"}
    for number, (_, tile) in enumerate(sides.values()):
        assert int(memory(made, tile)[0x81]) == 2 * (10 + number)
        assert made.array.tiles[tile].locks.values[5:7] == [0, 1]
    assert int(memory(made, compute(1, 3))[0x81]) == 26


@pytest.mark.parametrize("engine", ENGINES)
def test_words_go_from_core_to_core_by_stream(engine: Engine) -> None:
    design = Design()
    design.connect(compute(row=2), CORE, north(0))
    design.connect(compute(row=3), south(0), CORE)
    program(design, compute(row=2), "mova r0, #7", "mov ms, r0", "mova r1, #8", "mov.tlast ms, r1")
    program(design, compute(row=3), "mov r2, ss", "mov r3, ss", "add r0, r2, r3", *store(OWN_MEMORY + 0x400))
    made = machine(design, engine)
    assert int(memory(made, compute(row=3))[0x100]) == 15


@pytest.mark.parametrize("engine", ENGINES)
def test_cores_that_share_an_arbiter_send_whole_packets(engine: Engine) -> None:
    """(0,3) and (0,2) put headers of their own before two words each; the memory tile takes both packets."""
    design = Design()
    design.packet_slave(compute(row=3), CORE, (3, 0, 0))
    design.packet_master(compute(row=3), south(1), 0, 0)
    design.packet_slave(compute(row=2), north(1), (3, 2, 1))
    design.packet_slave(compute(row=2), CORE, (4, 2, 1))
    design.packet_master(compute(row=2), south(3), 2, 1)
    design.packet_slave(memtile(), north(3), (0, 1, 0), mask=0)
    design.packet_master(memtile(), dma(4), 1, 0, drop=True)
    design.bd(memtile(), 5, memtile_bd(OWN_TILE, 4))
    design.start(memtile(), S2MM, 4, 5)
    for row, packet in ((3, 3), (2, 4)):
        program(
            design, compute(row=row), f"mova r0, #{packet}", "mov.ph ms, r0, #0", f"mova r1, #{10 * row}",
            "mov ms, r1", f"mova r1, #{10 * row + 1}", "mov.tlast ms, r1",
        )  # fmt: skip
    made = machine(design, engine)
    got = memory(made, memtile())[:4].tolist()
    assert sorted((got[:2], got[2:])) == [[20, 21], [30, 31]]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_core_writes_a_register_of_another_tile_by_control_packet(engine: Engine) -> None:
    """(0,2) sets lock 3 of (0,3), for which (0,3) waits: header, control header, one word."""
    design = Design()
    design.packet_slave(compute(row=2), CORE, (5, 0, 0))
    design.packet_master(compute(row=2), north(0), 0, 0)
    design.packet_slave(compute(row=3), south(0), (5, 0, 0))
    design.packet_master(compute(row=3), CONTROL, 0, 0)
    program(
        design, compute(row=2), "mova r0, #5", "mov.ph ms, r0, #0", "movxm r1, #0x1F030", "mov m0, r1",
        "mova r2, #0", "mov.cph ms, m0, #0, #0, r2", "mova r2, #1", "mov.tlast ms, r2",
    )  # fmt: skip
    program(design, compute(row=3), *acquire(OWN_LOCK + 3), "mova r0, #99", *store(OWN_MEMORY + 0x400))
    made = machine(design, engine)
    assert int(memory(made, compute(row=3))[0x100]) == 99


@pytest.mark.parametrize("engine", ENGINES)
def test_a_core_that_is_reset_and_enabled_again_begins_anew(engine: Engine) -> None:
    """The program counts its runs in memory."""
    design = Design()
    design.data(compute(), 0x400, words([0]))
    program(design, compute(), *load(OWN_MEMORY + 0x400), "add r0, r0, #1", *store(OWN_MEMORY + 0x400))
    since = len(design.commands)
    for _ in range(2):
        design.set(compute(), "CORE_CONTROL", RESET=1)
        design.set(compute(), "CORE_CONTROL", ENABLE=1)
        # the stream goes on only when the core is done: CORE_STATUS bit 20
        design.in_stream(since)
        design.ops.append(design.poll(compute().address(0x32004), 1 << 20, 1 << 20))
    made = machine(design, engine)
    assert int(memory(made, compute())[0x100]) == 3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("again", [False, True])
def test_a_core_that_is_done_runs_again_only_when_it_is_enabled_again(engine: Engine, *, again: bool) -> None:
    """The masked writes of aie-rt: XAie_CoreReset, XAie_CoreUnreset and, `again`, XAie_CoreEnable."""
    design = Design()
    design.data(compute(), 0x400, words([0]))
    program(design, compute(), *load(OWN_MEMORY + 0x400), "add r0, r0, #1", *store(OWN_MEMORY + 0x400))
    since = len(design.commands)
    control = register(TileKind.COMPUTE, "CORE_CONTROL")
    reset, enable = control.field("RESET").mask, control.field("ENABLE").mask
    for value, mask in ((reset, reset), (0, reset), (enable, enable))[: 3 if again else 2]:
        design.mask_write(compute(), control.offset, value, mask)
    design.in_stream(since)
    made = machine(design, engine)
    assert int(memory(made, compute())[0x100]) == 1 + again
    assert made.array.read(compute().address(control.offset)) == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("enabled", [False, True])
def test_a_core_starts_its_own_dma_over_the_processor_bus(engine: Engine, *, enabled: bool) -> None:
    """A tile's registers stand at 0x80000: the core puts BD 0 into the start queue of MM2S 0 (0x1DE14)."""
    design = Design()
    design.connect(compute(), dma(0), south(0))
    design.connect(memtile(), north(0), dma(0))
    design.data(compute(), 0x400, words([41, 42]))
    design.bd(compute(), 0, BufferDescriptor(0x400, 2))
    design.bd(memtile(), 0, memtile_bd(OWN_TILE, 2))
    design.start(memtile(), S2MM, 0, 0)
    if enabled:
        design.set(compute(), "CORE_PROCESSOR_BUS", ENABLE=1)
    queue = register(TileKind.COMPUTE, "DMA_MM2S_START_QUEUE").offset
    status = register(TileKind.COMPUTE, "LOCK_VALUE").at(3)
    design.lock(compute(), 3, 5)
    program(
        design, compute(), "mova r0, #0", f"movxm p0, #{0x80000 + queue}", "st.tm r0, [p0]",
        f"movxm p1, #{0x80000 + status}", "lda.tm r1, [p1]", *store(OWN_MEMORY + 0x500, "r1"),
    )  # fmt: skip
    made = Machine(1, Ddr(), engine=engine)
    made.load(design.cdo)
    report = made.run(design.stream, [])
    assert memory(made, memtile())[:2].tolist() == [41, 42]
    assert int(memory(made, compute())[0x140]) == 5
    assert len(report.warnings) == (0 if enabled else 1)
