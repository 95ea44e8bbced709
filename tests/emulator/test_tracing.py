"""Designs with the hardware's trace switched on, and timers: they run, and nothing is held against them."""

from __future__ import annotations

import pytest

from aiepipe.emulator.machine import Machine
from aiepipe.formats import txn
from aiepipe.npu.registers import register
from aiepipe.npu.topology import Bundle, Port

from .core.bench import ENGINES, Engine
from .designs import S2MM, Ddr, Design, compute, memtile, north, shim, south, words
from .programs import OWN_MEMORY, program, run, store


def traced(design: Design) -> None:
    """As mlir-aie's trace flow writes it: events, trace units, packets to S2MM 1 of the shim."""
    core = compute()
    for module, packet, slave in (("CORE", 1, Bundle.TRACE), ("MEMORY", 2, Bundle.MEMORY_TRACE)):
        design.write(core, register(core.kind, f"{module}_TIMER_CONTROL").offset, 122 << 8)
        design.write(core, register(core.kind, f"{module}_TRACE_CONTROL").at(0), 0x79 << 24 | 0x7A << 16)
        design.write(core, register(core.kind, f"{module}_TRACE_CONTROL").at(1), packet)
        for word in (0, 1):
            design.write(core, register(core.kind, f"{module}_TRACE_EVENT").at(word), 0x4B222125)
        design.packet_slave(core, Port(slave), (packet, 0, 0))
    design.packet_master(core, south(1), 0, 0)
    design.packet_slave(memtile(), north(1), (1, 0, 0), (2, 0, 0))
    design.packet_master(memtile(), south(1), 0, 0)
    design.packet_slave(shim(), north(1), (1, 0, 0), (2, 0, 0))
    design.shim_out(0, 1, None)
    design.packet_master(shim(), Port(Bundle.SOUTH, 3), 0, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_trace_buffer_that_stays_empty_is_no_finding(engine: Engine) -> None:
    design, ddr = Design(), Ddr()
    traced(design)
    program(design, compute(), "event #0", "mova r0, #7", *store(OWN_MEMORY + 0x400), "event #1")
    design.transfer(S2MM, 0, 0x800, channel=1, bd=13)
    design.ops.append(txn.Write32(shim().address(register(shim().kind, "EVENT_GENERATE").offset), 0x7F))
    buffer = ddr.add(words([0] * 0x800))
    made = Machine(1, ddr, engine=engine)
    made.load(design.cdo)
    for _ in range(2):
        report = made.run(design.stream, [buffer])
        assert (report.warnings, report.findings, report.settled) == ((), (), True)
    # each run gives the channel one more task; from the sixth on its queue is full and they are lost
    reports = [made.run(design.stream, [buffer]) for _ in range(6)]
    assert any("its start queue was full, a task was lost" in warning for warning in reports[-1].warnings)
    assert made.array.read(compute().address(0x400)) == 7
    assert not ddr.get(buffer).any()


def test_another_channel_that_waits_is_still_told() -> None:
    design, ddr = Design(), Ddr()
    traced(design)
    design.shim_out(0, 0, north(0))
    design.tokens()
    design.transfer(S2MM, 0, 16)
    (found,) = run(design, ddr, ddr.add(words([0] * 16))).findings
    assert (found.kind, found.channel) == ("descriptor-left", "S2MM 0")


def test_a_timer_counts_from_its_reset() -> None:
    design, ddr = Design(), Ddr()
    program(design, compute(), *["add r0, r0, #1"] * 500)
    made = Machine(1, ddr)
    made.load(design.cdo)
    low = compute().address(register(compute().kind, "CORE_TIMER_LOW").offset)
    control = compute().address(register(compute().kind, "CORE_TIMER_CONTROL").offset)
    assert made.array.read(low) >= 500
    made.run(txn.Transaction((txn.Write32(control, 1 << 31),)), [])
    assert made.array.read(low) == 0
    assert made.array.read(low + 4) == 0
