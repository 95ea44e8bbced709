"""What the array says when a transfer, a lock, a stream or an operation is wrong, or never ends."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from aiepipe.emulator.machine import Finding, Machine
from aiepipe.errors import EmulationError
from aiepipe.formats import lx6, txn
from aiepipe.npu.descriptors import BufferDescriptor, encode
from aiepipe.npu.topology import Bundle, Port, TileKind

from .designs import (
    MM2S,
    OWN,
    S2MM,
    Ddr,
    Design,
    dma,
    memtile,
    memtile_bd,
    north,
    shim,
    south,
    words,
)
from .test_machine import machine, memtile_buffer, ramp, run, through_shim


def test_a_full_start_queue_makes_the_stream_wait() -> None:
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 4)
    design.transfer(MM2S, 0, 4)
    design.transfer(S2MM, 1, 4)
    for _ in range(7):
        design.push(MM2S, 0, 2)
        design.push(S2MM, 0, 0)
    for _ in range(8):
        design.sync()
    run(design, ddr, ddr.add(ramp(4)), ddr.add(words([0] * 4)))


def test_a_start_queue_that_stays_full_loses_tasks() -> None:
    """Seven tasks of a channel that waits for its lock: one runs, four wait, and the last two are lost. The
    stream gives the lock only after it has queued them all."""
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 4)
    design.transfer(S2MM, 1, 20)
    design.transfer(MM2S, 0, 4, acquire_enable=True, acquire_lock=2, acquire_value=-1)
    for _ in range(6):
        design.push(MM2S, 0, 2)
    since = len(design.commands)
    design.lock(shim(), 2, 7)
    design.in_stream(since)
    design.sync()
    got = ddr.add(words([0] * 20))
    made = machine(design, ddr)
    report = made.run(design.stream, [ddr.add(ramp(4)), got])
    assert ddr.get(got).tolist() == 5 * [1, 2, 3, 4]
    assert report.warnings == ("shim (0,0) MM2S 0: its start queue was full, a task was lost (2 times)",)
    assert made.array.read(shim().address(0x14020)) == 2


def test_a_deadlock_names_who_waits_for_what_and_the_circle() -> None:
    """Two channels of a memory tile, each holding the lock that the other wants."""
    design, ddr = Design(), Ddr()
    through_shim(design)
    tile = memtile()
    design.connect(tile, south(0), dma(0))
    design.connect(tile, dma(0), south(0))
    for number, (acquire, release) in enumerate(((64, 65), (65, 64))):
        design.bd(
            tile,
            number,
            memtile_bd(
                OWN, 16, acquire_enable=True,
                acquire_lock=acquire, acquire_value=-1, release_lock=release, release_value=1,
            ),
        )  # fmt: skip
    design.start(tile, S2MM, 0, 0)
    design.start(tile, MM2S, 0, 1)
    design.transfer(S2MM, 1, 16)
    design.transfer(MM2S, 0, 32)
    design.sync()
    with pytest.raises(EmulationError) as caught:
        run(design, ddr, ddr.add(ramp(32)), ddr.add(words([0] * 16)))
    assert caught.value.kind == "deadlock"
    assert str(caught.value).splitlines() == [
        "deadlock: the instruction stream waits for a task token of shim (0,0) S2MM 0, and nothing moves",
        "  shim (0,0) S2MM 0 BD 0 waits for words from its stream (0 of 16 words moved)",
        "  shim (0,0) MM2S 0 BD 2 waits for its stream to take words (16 of 32 words moved); it is full at"
        " memory tile (0,1) S2MM 0",
        "  memory tile (0,1) S2MM 0 BD 0 waits for lock 0 of memory tile (0,1) >= 1, which is 0",
        "  memory tile (0,1) MM2S 0 BD 1 waits for lock 1 of memory tile (0,1) >= 1, which is 0",
        "  circle of waiting: memory tile (0,1) MM2S 0 -> memory tile (0,1) S2MM 0"
        " -> memory tile (0,1) MM2S 0",
    ]


def test_a_route_that_is_not_connected_is_named() -> None:
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.tokens()
    design.transfer(MM2S, 0, 16)
    design.sync(direction=MM2S)
    with pytest.raises(
        EmulationError, match="slave port South0 of memory tile \\(0,1\\), which is not enabled"
    ):
        run(design, ddr, ddr.add(ramp(16)))


def test_a_bd_that_leaves_its_buffer_is_an_error_with_channel_bd_and_address() -> None:
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 16)
    design.transfer(MM2S, 0, 32, offset_bytes=64)
    given = ddr.add(ramp(16))
    with pytest.raises(EmulationError) as caught:
        run(design, ddr, given)
    assert caught.value.kind == "out-of-range"
    assert caught.value.tile == "shim (0,0)"
    # the memory tile takes 16 words and the switches 16
    assert f"shim (0,0) MM2S 0: BD 2: no buffer holds 128 bytes at {given + 64:#x}" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"valid": False}, "bad-bd", "BD 0 was started and is not valid"),
        ({"address": 0x180000}, "out-of-range", "neighbour that the array does not have"),
        ({"acquire_enable": True, "acquire_lock": 3}, "bad-lock", "lock 3 belongs to a neighbour"),
        ({"zeros_before": (0, 0, 1)}, "bad-bd", "padding of D2 needs a wrap of D1"),
    ],
)
def test_a_bd_that_is_not_valid_is_an_error(change: dict[str, Any], kind: str, message: str) -> None:
    design, ddr = Design(), Ddr()
    design.connect(memtile(), dma(0), south(0))
    fields: dict[str, Any] = {"address": OWN, "length_words": 8}
    design.bd(memtile(), 0, memtile_bd(**fields | change))
    design.start(memtile(), MM2S, 0, 0)
    design.shim_out(0, 0, north(0))
    design.transfer(S2MM, 0, 8)
    with pytest.raises(EmulationError, match=message) as caught:
        run(design, ddr, ddr.add(ramp(8)))
    assert caught.value.kind == kind
    assert caught.value.tile == "memory tile (0,1)"


def test_a_memory_tile_channel_has_its_half_of_the_bds() -> None:
    design, ddr = Design(), Ddr()
    design.start(memtile(), MM2S, 1, 3)
    with pytest.raises(EmulationError, match="MM2S 1: cannot use BD 3, only 24 to 47"):
        run(design, ddr)


def test_an_endless_chain_ends_at_the_step_limit() -> None:
    design, ddr = Design(), Ddr()
    design.bd(memtile(), 0, memtile_bd(OWN, 0, next_bd=0))
    design.start(memtile(), MM2S, 0, 0)
    design.tokens()
    design.sync()
    with pytest.raises(EmulationError) as caught:
        run(design, ddr, step_limit=10_000)
    assert caught.value.kind == "step-limit"
    with pytest.raises(EmulationError) as caught:
        run(design, ddr, deadline=time.monotonic() + 0.05)
    assert caught.value.kind == "deadline"


def test_an_endless_chain_after_the_stream_only_leaves_the_array_unsettled() -> None:
    design, ddr = Design(), Ddr()
    design.bd(memtile(), 0, memtile_bd(OWN, 0, next_bd=0))
    design.start(memtile(), MM2S, 0, 0)
    assert not run(design, ddr).settled


def test_output_that_the_stream_does_not_wait_for_is_a_warning() -> None:
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 16)
    design.transfer(S2MM, 1, 16)
    design.transfer(MM2S, 0, 16)
    given, got = ddr.add(ramp(16)), ddr.add(words([0] * 16))
    report = run(design, ddr, given, got)
    assert np.array_equal(ddr.get(got), ramp(16))
    assert report.warnings == (
        "the device wrote DDR after the end of the instruction stream, which does not wait for it",
    )


def test_a_transfer_that_does_not_end_is_told() -> None:
    """The stream waits for 16 words of output; 128 go in."""
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 16)
    design.transfer(S2MM, 1, 16)
    design.transfer(MM2S, 0, 128)
    design.sync()
    report = run(design, ddr, ddr.add(ramp(128)), ddr.add(words([0] * 16)))
    assert report.warnings == ()
    assert [found.kind for found in report.findings] == ["words-left", "descriptor-left", "words-left"]
    assert report.findings[1] == Finding(
        "descriptor-left",
        "shim (0,0)",
        "at the end of the run shim (0,0) MM2S 0 BD 2 waits for its stream to take words"
        " (64 of 128 words moved); it is full at memory tile (0,1) S2MM 0",
        channel="MM2S 0",
        descriptor=2,
    )


def test_a_bd_that_is_rewritten_in_the_queue_is_a_warning() -> None:
    design, ddr = Design(), Ddr()
    through_shim(design)
    memtile_buffer(design, 8)
    for start in (0, 32, 64):
        design.transfer(MM2S, 0, 8, offset_bytes=start)
    design.transfer(S2MM, 1, 24)
    design.sync()
    report = run(design, ddr, ddr.add(ramp(24)), ddr.add(words([0] * 24)))
    assert report.warnings[0].startswith(
        "shim (0,0) MM2S 0: BD 2 was rewritten while it waited in the start queue"
    )


def test_release_past_the_range_is_a_warning_and_a_register_bit() -> None:
    design, ddr = Design(), Ddr()
    design.lock(memtile(), 2, 60)
    design.bd(memtile(), 0, memtile_bd(OWN, 0, release_lock=66, release_value=9))
    design.start(memtile(), MM2S, 0, 0)
    made = machine(design, ddr)
    report = made.run(design.stream, [])
    assert report.warnings == ("memory tile (0,1) MM2S 0 released lock 2 of memory tile (0,1) past 63",)
    assert made.array.read(memtile().address(0xC0420)) == 1 << 2
    assert made.array.read(memtile().address(0xC0020)) == 63


def test_a_missing_argument_is_an_error() -> None:
    design, ddr = Design(), Ddr()
    design.transfer(MM2S, 3, 16)
    with pytest.raises(EmulationError, match="uses data buffer 3, the call has 1"):
        run(design, ddr, ddr.add(ramp(16)))


def test_arguments_from_5_on_have_the_aperture_in_their_offset() -> None:
    """facts/formats.md 3.3: mlir-aie adds 0x80000000 to the offset, the firmware does so only for 0 to 4."""
    for offset, warned in ((0x8000_0000 + 16, 0), (16, 1)):
        design, ddr = Design(), Ddr()
        design.shim_in(0, 0, Port(Bundle.SOUTH, 2))
        design.shim_out(0, 0, None)
        design.tokens()
        design.transfer(S2MM, 6, 4)
        design.transfer(MM2S, 5, 4, offset_bytes=offset)
        design.sync()
        arguments = [ddr.add(ramp(16)) for _ in range(7)]
        report = run(design, ddr, *arguments)
        assert ddr.get(arguments[6])[:4].tolist() == [5, 6, 7, 8]
        assert len(report.warnings) == 2 * warned if offset == 16 else len(report.warnings) == 1


def test_an_address_outside_the_partition_is_an_error() -> None:
    design, ddr = Design(), Ddr()
    design.lock(shim(3), 0, 1)
    with pytest.raises(EmulationError, match="the partition has columns 0 to 1") as caught:
        machine(design, ddr, columns=2)
    assert caught.value.kind == "out-of-range"


def test_an_operation_that_is_not_known_is_named() -> None:
    made = Machine(1, Ddr())
    with pytest.raises(
        EmulationError, match="operation 1 of the instruction stream: TXN opcode 0x90"
    ) as caught:
        made.run(txn.Transaction((txn.Noop(), txn.CustomOp(0x90, b""))), [])
    assert caught.value.kind == "unsupported"
    with pytest.raises(EmulationError, match="lx6 opcode 7"):
        made.run(lx6.Lx6Stream((lx6.Other((7 << 24,)),)), [])


def test_a_poll_waits_for_the_array_and_a_lock_request_is_a_read() -> None:
    """The stream waits until a BD has released lock 5 and takes it with LOCK_REQUEST (aie-rt's way)."""
    design, ddr = Design(), Ddr()
    design.connect(memtile(), south(0), dma(0))
    design.shim_in(0, 0, north(0))
    design.bd(memtile(), 0, memtile_bd(OWN, 8, release_lock=64 + 5, release_value=1))
    design.start(memtile(), S2MM, 0, 0)
    design.transfer(MM2S, 0, 8)
    request = memtile().address(0xD0000 + 0x400 * 5 + 0x200 + (0x7F << 2))
    design.ops.append(txn.MaskPoll(request, 1, 1))
    made = machine(design, ddr)
    made.run(design.stream, [ddr.add(ramp(8))])
    assert made.array.read(memtile().address(0xC0050)) == 0
    exactly_none = memtile().address(0xD0000 + 0x400 * 5 + 0x200)
    made.run(txn.Transaction((txn.MaskPoll(exactly_none, 1, 1),) * 2), [])
    with pytest.raises(EmulationError, match="waits for register 0xd17fc of memory tile"):
        made.run(txn.Transaction((txn.MaskPoll(request, 1, 1),)), [])


def test_an_lx6_bd_has_its_arguments_address_added() -> None:
    ddr = Ddr()
    design = Design()
    through_shim(design)
    memtile_buffer(design, 8)
    made = machine(design, ddr)

    def shim_words(offset: int) -> tuple[int, ...]:
        return encode(TileKind.SHIM, BufferDescriptor(offset, 8))

    stream = lx6.Lx6Stream(
        (
            lx6.WriteBd(0, 1, 2, 1, shim_words(32)),
            lx6.WriteBd(0, 1, 0, 0, shim_words(4)),
            lx6.Write32(0, 0, 0x1D204, 1 | 1 << 31),
            lx6.Write32(0, 0, 0x1D214, 0),
            lx6.Sync(0, 0, 0, 0),
        )
    )
    given, unused, got = ddr.add(ramp(16)), ddr.add(ramp(16)), ddr.add(words([0] * 16))
    made.run(stream, [given, unused, got])
    assert ddr.get(got).tolist() == [0] * 8 + list(range(2, 10))
