"""Who waits for whom: the circle in cases as people meet them, and the same picture at a time limit."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import pytest

from aiepipe.emulator.machine import Machine
from aiepipe.errors import EmulationError
from aiepipe.npu.descriptors import BufferDescriptor

from .designs import MM2S, S2MM, Ddr, Design, compute, dma, memtile, memtile_bd, north, shim, south, words
from .programs import OWN_LOCK, OWN_MEMORY, acquire, load, program, release, store


def stuck(
    design: Design, ddr: Ddr, *arguments: int, columns: int = 1, deadline: float | None = None
) -> EmulationError:
    made = Machine(columns, ddr)
    made.load(design.cdo)
    with pytest.raises(EmulationError) as caught:
        made.run(design.stream, arguments, deadline=deadline)
    return caught.value


def circle(error: EmulationError) -> list[str]:
    last = str(error).splitlines()[-1]
    assert last.startswith("  circle of waiting: "), str(error)
    return last.removeprefix("  circle of waiting: ").split(" -> ")


def same_circle(found: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether both go round the same way, wherever they begin."""
    assert found[0] == found[-1]
    once = list(found[:-1])
    return any(once[i:] + once[:i] == list(wanted) for i in range(len(once)))


def worker(design: Design, *, result_lock: int) -> None:
    """DDR -> core (0,2) -> DDR over one buffer each way; the core gives `result_lock` for its result."""
    design.shim_in(0, 0, north(0))
    design.shim_out(0, 0, north(0))
    design.tokens()
    design.connect(memtile(), south(0), north(0))
    design.connect(memtile(), north(0), south(0))
    design.connect(compute(), south(0), dma(0))
    design.connect(compute(), dma(0), south(0))
    design.lock(compute(), 0, 1)
    design.lock(compute(), 2, 1)
    for bd, (address, acquires, releases) in enumerate(((0x400, 0, 1), (0x800, 3, 2))):
        design.bd(
            compute(),
            bd,
            BufferDescriptor(
                address,
                16,
                acquire_enable=True,
                acquire_lock=acquires,
                acquire_value=-1,
                release_lock=releases,
                release_value=1,
                next_bd=bd,
            ),
        )
    design.start(compute(), S2MM, 0, 0)
    design.start(compute(), MM2S, 0, 1)
    program(
        design,
        compute(),
        "again:",
        *acquire(OWN_LOCK + 1),
        *acquire(OWN_LOCK + 2),
        *load(OWN_MEMORY + 0x400),
        *store(OWN_MEMORY + 0x800),
        *release(OWN_LOCK),
        *release(OWN_LOCK + result_lock),
        "j again",
    )
    design.transfer(S2MM, 1, 32)
    design.transfer(MM2S, 0, 32)
    design.sync()


def test_a_core_and_two_dmas_with_crossed_locks() -> None:
    """The core gives lock 2 (free) back where it should give lock 3 (full): no circle, but a loose end."""
    design, ddr = Design(), Ddr()
    worker(design, result_lock=2)
    error = stuck(design, ddr, ddr.add(words(range(32))), ddr.add(words([0] * 32)))
    assert error.kind == "deadlock"
    lines = str(error).splitlines()
    assert (
        lines[0]
        == "deadlock: the instruction stream waits for a task token of shim (0,0) S2MM 0, and nothing moves"
    )
    assert "  core (0,2) MM2S 0 BD 1 waits for lock 3 of core (0,2) >= 1, which is 0" in lines
    assert error.tile == "core (0,2)"
    assert lines[-1] == (
        "  chain of waiting: shim (0,0) S2MM 0 -> core (0,2) MM2S 0 -> core (0,2) -> core (0,2) S2MM 0"
        " -> shim (0,0) MM2S 0"
    )


def test_two_dmas_and_a_core_that_each_hold_what_the_next_wants() -> None:
    """The core waits for S2MM's buffer, S2MM for MM2S's, MM2S for the core's."""
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.tokens()
    design.connect(memtile(), south(0), north(0))
    design.connect(compute(), south(0), dma(0))
    for bd, (acquires, releases) in enumerate(((0, 1), (2, 0))):
        design.bd(
            compute(),
            bd,
            BufferDescriptor(
                0x400,
                16,
                acquire_enable=True,
                acquire_lock=acquires,
                acquire_value=-1,
                release_lock=releases,
                release_value=1,
            ),
        )
    design.start(compute(), S2MM, 0, 0)
    design.start(compute(), MM2S, 0, 1)
    program(design, compute(), *acquire(OWN_LOCK + 1), *release(OWN_LOCK + 2))
    design.transfer(MM2S, 0, 64)
    since = len(design.commands)
    design.start(shim(), MM2S, 0, 2, token=True)
    design.in_stream(since)
    design.sync(direction=MM2S)
    error = stuck(design, ddr, ddr.add(words(range(64))))
    assert same_circle(circle(error), ["core (0,2) S2MM 0", "core (0,2) MM2S 0", "core (0,2)"])


def test_a_token_that_has_no_route_is_named() -> None:
    """All words arrive; the shim's token has nowhere to go."""
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.shim_out(0, 0, north(0))
    design.connect(memtile(), south(0), south(0))
    design.transfer(S2MM, 1, 16)
    design.transfer(MM2S, 0, 16)
    design.sync()
    got = ddr.add(words([0] * 16))
    error = stuck(design, ddr, ddr.add(words(range(16))), got)
    assert ddr.get(got).tolist() == list(range(16))
    assert "waits for a task token of shim (0,0) S2MM 0, and nothing moves" in str(error)
    assert (
        "control port of shim (0,0) has 1 packets that do not leave: slave port TileCtrl0 of shim (0,0),"
        " which is not enabled" in str(error)
    )


def test_a_broadcast_with_one_consumer_that_waits() -> None:
    """Two cores take the same words; (0,3) waits for a lock that (0,2) gives after its second buffer."""
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.tokens()
    design.connect(memtile(), south(0), north(0))
    design.connect(compute(row=2), south(0), dma(0), north(0))
    design.connect(compute(row=3), south(0), dma(0))
    for row in (2, 3):
        design.bd(
            compute(row=row),
            0,
            BufferDescriptor(
                0x400,
                64,
                acquire_enable=True,
                acquire_lock=0,
                acquire_value=-1,
                release_lock=1,
                release_value=1,
                next_bd=0,
            ),
        )
        design.start(compute(row=row), S2MM, 0, 0)
    design.lock(compute(row=2), 0, 2)
    # (0,3)'s lock 0 is North lock 32 of (0,2), which gives it only once it has two buffers
    program(design, compute(row=2), *acquire(OWN_LOCK + 1, -2), *release(32))
    design.transfer(MM2S, 0, 128)
    since = len(design.commands)
    design.start(shim(), MM2S, 0, 2, token=True)
    design.in_stream(since)
    design.sync(direction=MM2S)
    error = stuck(design, ddr, ddr.add(words(range(128))))
    lines = str(error).splitlines()
    assert any("shim (0,0) MM2S 0 BD 2" in line and "full at core (0,3) S2MM 0" in line for line in lines)
    assert any("core (0,3) S2MM 0 BD 0 waits for lock 0 of core (0,3) >= 1" in line for line in lines)
    found = circle(error)
    assert same_circle(
        found, ["shim (0,0) MM2S 0", "core (0,3) S2MM 0", "core (0,2)", "core (0,2) S2MM 0"]
    ), found


def test_a_run_that_never_ends_ends_at_its_time_limit_with_the_picture() -> None:
    """The core spins; the stream waits for a token that comes after it."""
    design, ddr = Design(), Ddr()
    design.shim_out(0, 0, north(0))
    design.tokens()
    design.connect(memtile(), north(0), south(0))
    design.connect(compute(), dma(0), south(0))
    design.bd(compute(), 0, BufferDescriptor(0x400, 4, acquire_enable=True, acquire_lock=0, acquire_value=-1))
    design.start(compute(), MM2S, 0, 0)
    program(design, compute(), "again:", "j again", *release(OWN_LOCK))
    design.transfer(S2MM, 0, 4)
    design.sync()
    error = stuck(design, ddr, ddr.add(words([0] * 4)), deadline=time.monotonic() + 0.3)
    assert error.kind == "deadline"
    lines = str(error).splitlines()
    assert lines[0] == (
        "the run was stopped at its time limit: the instruction stream waits for a task token of"
        " shim (0,0) S2MM 0"
    )
    assert any(line.startswith("  core (0,2) at pc 0x") and line.endswith(" runs") for line in lines)
    assert "  core (0,2) MM2S 0 BD 0 waits for lock 0 of core (0,2) >= 1, which is 0" in lines
    assert error.tile == "core (0,2)"
    assert error.pc is not None


def test_a_packet_ring_without_rule_is_named() -> None:
    """A memory tile sends packets of an id that the shim has no rule for."""
    design, ddr = Design(), Ddr()
    design.data(memtile(), 0, words(range(8)))
    design.bd(memtile(), 0, memtile_bd(0x80000, 8, packet_enable=True, packet_id=9))
    design.connect(memtile(), dma(0), south(0))
    design.packet_slave(shim(), north(0), (3, 0, 0))
    design.start(memtile(), MM2S, 0, 0)
    design.shim_out(0, 0, None)
    design.tokens()
    design.transfer(S2MM, 0, 8)
    design.sync()
    assert "has no rule for packet id 9" in str(stuck(design, ddr, ddr.add(words([0] * 8))))


@pytest.mark.parametrize("steps", range(4, 64, 3))
def test_a_run_that_would_go_on_has_no_circle_at_its_limit(steps: int) -> None:
    """A core and its DMAs always wait for each other in turn; stopped anywhere, that is no deadlock."""
    design, ddr = Design(), Ddr()
    worker(design, result_lock=3)
    with pytest.raises(EmulationError) as caught:
        run_until(design, ddr, steps)
    assert caught.value.kind == "step-limit"
    assert "circle" not in str(caught.value)
    for line in str(caught.value).splitlines():
        wait = re.search(r" waits for .* >= (\d+), which is (\d+)", line)
        assert wait is None or int(wait[2]) < int(wait[1]), line


def test_a_limit_tells_the_circle_that_nobody_opens() -> None:
    """Core (0,2) and its DMA wait for each other for good, while core (0,3) spins."""
    design, ddr = Design(), Ddr()
    worker(design, result_lock=3)
    design.lock(compute(), 0, 0)
    design.lock(compute(), 2, 0)
    program(design, compute(row=3), "again:", "j again")
    error = stuck(
        design, ddr, ddr.add(words(range(32))), ddr.add(words([0] * 32)), deadline=time.monotonic() + 0.3
    )
    assert error.kind == "deadline"
    assert same_circle(circle(error), ["core (0,2)", "core (0,2) S2MM 0"])


def run_until(design: Design, ddr: Ddr, steps: int) -> None:
    made = Machine(1, ddr)
    made.load(design.cdo)
    made.run(design.stream, (ddr.add(words(range(32))), ddr.add(words([0] * 32))), step_limit=steps)
