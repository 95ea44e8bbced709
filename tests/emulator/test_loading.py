"""How long a configuration may take, and what it may wait for."""

from __future__ import annotations

import time

import pytest

from aiepipe.emulator.machine import Machine
from aiepipe.errors import EmulationError
from aiepipe.formats.cdo import Cdo, MaskPoll

from .designs import MM2S, OWN, S2MM, Ddr, Design, compute, dma, memtile, memtile_bd, words
from .programs import OWN_LOCK, program, release

LOCK_5 = compute().address(0x1F050)


def test_a_poll_waits_for_what_the_array_does() -> None:
    design = Design()
    program(
        design, compute(), "mova r0, #100", "loop:", "add r0, r0, #-1", "jnz r0, loop",
        *release(OWN_LOCK + 5, 3),
    )  # fmt: skip
    made = Machine(1, Ddr())
    made.load(Cdo((*design.commands, MaskPoll(LOCK_5, 0x3F, 3, 1000))))
    assert made.array.read(LOCK_5) == 3


def test_a_poll_in_vain_is_an_error() -> None:
    with pytest.raises(EmulationError, match="waits in vain") as caught:
        Machine(1, Ddr()).load(Cdo((MaskPoll(LOCK_5, 0x3F, 3, 1000),)))
    assert caught.value.kind == "deadlock"


def test_a_configuration_has_a_time_limit() -> None:
    """A core that never ends, and a poll for what it never does."""
    design = Design()
    program(design, compute(), "loop:", "j loop")
    with pytest.raises(EmulationError) as caught:
        Machine(1, Ddr()).load(
            Cdo((*design.commands, MaskPoll(LOCK_5, 0x3F, 3, 1000))), deadline=time.monotonic() + 0.05
        )
    assert caught.value.kind == "deadline"


def test_a_configuration_that_moves_words_without_end_is_stopped() -> None:
    """More tasks than a start queue holds make the configuration wait for channels that never end."""
    design = Design()
    design.connect(memtile(), dma(0), dma(0))
    design.data(memtile(), 0, words([1] * 16))
    design.bd(memtile(), 0, memtile_bd(OWN, 16, next_bd=0))
    design.start(memtile(), S2MM, 0, 0)
    for _ in range(6):
        design.start(memtile(), MM2S, 0, 0)
    with pytest.raises(EmulationError) as caught:
        Machine(1, Ddr()).load(design.cdo, deadline=time.monotonic() + 0.1)
    assert caught.value.kind == "deadline"
