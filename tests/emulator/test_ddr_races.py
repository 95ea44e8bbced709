"""Two DMA channels on the same bytes of DDR: told where nothing orders them, and only then."""

from __future__ import annotations

import pytest

from aiepipe.emulator.machine import Machine
from aiepipe.errors import EmulationError

from .designs import MM2S, S2MM, Ddr, Design, dma, memtile, memtile_bd, north, south, words
from .programs import run

LENGTH = 32


def two_sources() -> Design:
    """The memory tile sends to both S2MM channels of the shim."""
    design = Design()
    for channel in (0, 1):
        design.shim_out(0, channel, north(channel))
        design.connect(memtile(), dma(channel), south(channel))
        bd = 24 * channel
        design.bd(memtile(), bd, memtile_bd(0x80000 + 0x1000 * channel, LENGTH))
        design.data(memtile(), 0x1000 * channel, words([channel + 1] * LENGTH))
        design.start(memtile(), MM2S, channel, bd)
    design.tokens()
    return design


def test_two_channels_that_write_the_same_words() -> None:
    design, ddr = two_sources(), Ddr()
    design.transfer(S2MM, 0, LENGTH)
    design.transfer(S2MM, 0, LENGTH, channel=1, bd=5, offset_bytes=64)
    design.sync(channel=0)
    design.sync(channel=1)
    buffer = ddr.add(words([0] * 2 * LENGTH))
    (found,) = run(design, ddr, buffer, check=True).findings
    assert (found.kind, found.tile, found.channel) == ("race", "shim (0,0)", "S2MM 1")
    assert (found.descriptor, found.address) == (5, buffer + 64)
    assert found.message == (
        f"shim (0,0) S2MM 1 BD 5 writes 64 bytes of DDR, the first at {buffer + 64:#x},"
        " that shim (0,0) S2MM 0 BD 0 wrote; no lock, stream or token orders the two"
    )


@pytest.mark.parametrize("apart", [True, False])
def test_a_token_or_another_place_orders_them(*, apart: bool) -> None:
    design, ddr = two_sources(), Ddr()
    design.transfer(S2MM, 0, LENGTH)
    if not apart:
        design.sync(channel=0)
    design.transfer(S2MM, 0, LENGTH, channel=1, bd=5, offset_bytes=4 * LENGTH if apart else 64)
    if apart:
        design.sync(channel=0)
    design.sync(channel=1)
    assert run(design, ddr, ddr.add(words([0] * 2 * LENGTH)), check=True).findings == ()


def test_a_strided_write_meets_only_the_words_it_writes() -> None:
    design, ddr = two_sources(), Ddr()
    design.transfer(S2MM, 0, LENGTH, steps=(2, 1, 1), wraps=(0, 0))
    design.transfer(S2MM, 0, LENGTH, channel=1, bd=5, offset_bytes=4, steps=(2, 1, 1), wraps=(0, 0))
    design.sync(channel=0)
    design.sync(channel=1)
    assert run(design, ddr, ddr.add(words([0] * 2 * LENGTH)), check=True).findings == ()


def in_place(*, late: bool) -> Design:
    """Words go from a buffer through a memory tile back to the buffer; `late`: to where they came from."""
    design = Design()
    design.shim_in(0, 0, north(0))
    design.connect(memtile(), south(0), dma(0))
    design.connect(memtile(), dma(0), south(0))
    design.shim_out(0, 0, north(0))
    design.tokens()
    locked = {"acquire_enable": True, "acquire_value": -1, "release_value": 1}
    design.lock(memtile(), 0, 1)
    design.bd(memtile(), 0, memtile_bd(0x80000, 16, acquire_lock=64, release_lock=65, next_bd=0, **locked))
    design.bd(memtile(), 1, memtile_bd(0x80000, 16, acquire_lock=65, release_lock=64, next_bd=1, **locked))
    design.start(memtile(), S2MM, 0, 0)
    design.start(memtile(), MM2S, 0, 1)
    design.transfer(S2MM, 0, 64, offset_bytes=0 if late else 128)
    design.transfer(MM2S, 0, 64)
    design.sync()
    return design


def test_a_word_that_comes_back_over_itself_is_ordered_by_its_stream() -> None:
    ddr = Ddr()
    assert run(in_place(late=True), ddr, ddr.add(words(list(range(96)))), check=True).findings == ()


def test_a_word_that_is_overwritten_before_it_is_read() -> None:
    ddr = Ddr()
    found = run(in_place(late=False), ddr, ddr.add(words(list(range(96)))), check=True).findings
    assert {one.kind for one in found} == {"race"}


def test_what_was_found_before_an_error_is_there() -> None:
    design, ddr = two_sources(), Ddr()
    design.transfer(S2MM, 0, LENGTH)
    design.transfer(S2MM, 0, LENGTH, channel=1, bd=5)
    design.sync(channel=0)
    design.sync(channel=0)  # a token that never comes
    machine = Machine(1, ddr, check=True)
    machine.load(design.cdo)
    with pytest.raises(EmulationError) as caught:
        machine.run(design.stream, [ddr.add(words([0] * LENGTH))])
    assert caught.value.kind == "deadlock"
    assert [found.kind for found in machine.take_findings()] == ["race"]
    assert machine.take_findings() == ()
