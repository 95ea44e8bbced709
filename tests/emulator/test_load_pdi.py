"""LOAD_PDI: another image takes the array over, the one that is loaded changes nothing."""

from __future__ import annotations

import numpy as np

from aiepipe.emulator.machine import Machine
from aiepipe.formats import txn
from aiepipe.formats.cdo import Cdo, Write

from .designs import MM2S, S2MM, Ddr, Design, compute, dma, memtile, north, south
from .programs import acquire, load, program, release, store
from .test_machine import memtile_buffer, ramp, through_shim

EMPTY = Cdo((Write(compute().address(0x1F0F0), 0),))
LOAD_1 = txn.LoadPdi(1, 0, 0)


def branching() -> Design:
    """Sends its words to a memory tile and to a core's tile, where nobody takes them."""
    design = Design()
    through_shim(design)
    memtile_buffer(design, 16)
    design.connect(memtile(), south(0), dma(0), north(0))
    design.connect(compute(), south(0), dma(0))
    design.transfer(MM2S, 0, 64)
    return design


def straight() -> Design:
    """By way of a memory tile and back."""
    design = Design()
    through_shim(design)
    memtile_buffer(design, 64)
    move(design)
    return design


def move(design: Design) -> None:
    """In the stream: 64 words there and back."""
    design.transfer(S2MM, 1, 64)
    design.transfer(MM2S, 0, 64)
    design.sync()


def counting() -> Design:
    """A core that adds 1 to a word of its memory each time it gets lock 0, and gives lock 1."""
    design = Design()
    program(
        design,
        compute(),
        *acquire(48),
        *load(0x70000),
        *["nopx"] * 7,
        "add r0, r0, #1",
        *store(0x70000),
        *release(49),
        *acquire(48),
    )
    return design


def test_of_another_image_nothing_is_left() -> None:
    """The first design's branch, its words on their way and its tasks would hold the second one up."""
    ddr, other = Ddr(), straight()
    made = Machine(1, ddr)
    made.load(branching().cdo)
    given, got = ddr.add(ramp(64)), ddr.add(np.zeros(64, np.uint32))
    made.run(branching().stream, [given, given])
    ops = (LOAD_1, *other.stream.ops)
    for scale in (1, 3):
        given = ddr.add(ramp(64) * scale)
        report = made.run(txn.Transaction(ops), [given, got], images={1: other.cdo})
        assert np.array_equal(ddr.get(got), ramp(64) * scale)
        assert report.findings == ()


def test_a_reset_core_begins_anew_and_memories_keep_what_they_have() -> None:
    ddr, design = Ddr(), counting()
    made = Machine(1, ddr)
    made.load(design.cdo)
    give = txn.Write32(compute().address(0x1F000), 1)
    given_back = txn.MaskPoll(compute().address(0x1F010), 1, 0x3F)
    images = {1: design.cdo, 2: EMPTY}
    memory = made.array.tiles[compute()].memory
    assert memory is not None
    made.run(txn.Transaction((LOAD_1, give, given_back)), [], images=images)
    assert memory.words[0] == 1
    # the same image is loaded: the core waits for its second acquire, its lock 1 is still taken
    made.run(txn.Transaction((LOAD_1, give)), [], images=images)
    assert memory.words[0] == 1
    # by way of another image it is reset
    again = (txn.LoadPdi(2, 0, 0), LOAD_1, give, given_back)
    report = made.run(txn.Transaction(again), [], images=images)
    assert memory.words[0] == 2
    assert report.warnings == ()


def test_after_an_empty_image_the_array_can_be_configured_by_the_stream() -> None:
    """As mlir-aie expands LOAD_PDI: an empty image resets the array, register writes do the rest."""
    ddr, other = Ddr(), Design()
    through_shim(other)
    memtile_buffer(other, 64)
    other.in_stream(0)
    move(other)
    made = Machine(1, ddr)
    made.load(branching().cdo)
    given, got = ddr.add(ramp(64)), ddr.add(np.zeros(64, np.uint32))
    made.run(branching().stream, [given, given])
    made.run(txn.Transaction((txn.LoadPdi(2, 0, 0), *other.ops)), [given, got], images={2: EMPTY})
    assert np.array_equal(ddr.get(got), ramp(64))
