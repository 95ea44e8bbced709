"""What a tile offers to its core: locks, streams, cascade and memories, with cores played by Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from aiepipe.emulator.core.port import CoreChecks, CorePort, CoreStop, StopKind
from aiepipe.emulator.core_unit import CASCADE_DEPTH
from aiepipe.emulator.machine import Machine
from aiepipe.errors import EmulationError
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.npu.topology import Bundle, Port, TileAddress

from .designs import MM2S, S2MM, Array, Ddr, Design, compute, dma, memtile, north, shim, south, words

Memories = tuple[Any, Any, Any, Any]
Request = tuple[StopKind, int, int]
Program = Iterator[Request]
"""A core's life: yields (kind, number, value) of each request, again until it is granted."""

CORE = Port(Bundle.CORE)
OWN_LOCK = 48


class PlayedCore:
    """Runs a generator that yields what an instruction would ask for."""

    programs: dict[str, Callable[[CorePort, Memories], Program]]

    def __init__(
        self,
        name: str,
        port: CorePort,
        program: bytearray,
        memories: Memories,
        *,
        core_id: int,
        checks: CoreChecks | None = None,
    ) -> None:
        self.name = name
        self.stalls = 0
        self.stack: tuple[int, int, int] | None = None
        self.core_id = core_id
        self.memories = memories
        self.bundles = 0
        self.pc = 0
        self.resets = 0
        self._port = port
        self._life = self.programs[name](port, memories)
        self._request: Request | None = None
        self.received: list[Any] = []

    def reset(self) -> None:
        self.resets += 1
        self._life = self.programs[self.name](self._port, self.memories)
        self._request = None
        self.pc = 0

    def program_changed(self) -> None:
        pass

    def take_outside(self) -> int | None:
        return None

    def read_register(self, name: str) -> int:
        return {"pc": self.pc, "r3": 33}.get(name, 0)

    def write_register(self, name: str, value: int) -> None:
        if name == "pc":
            self.pc = value

    def run(self, budget: int) -> CoreStop:
        for _ in range(budget):
            if self._request is None:
                self._request = next(self._life, None)
                if self._request is None:
                    return CoreStop("done", self.pc)
            kind, number, value = self._request
            if not self._serve(kind, number, value):
                return CoreStop(kind, self.pc, number, value)
            self._request = None
            self.bundles += 1
            self.pc += 16
        return CoreStop("budget", self.pc)

    def _serve(self, kind: StopKind, number: int, value: int) -> bool:
        if kind == "acquire":
            return self._port.acquire(number, value)
        if kind == "release":
            return self._port.release(number, value)
        if kind == "stream-write":
            return self._port.stream_put(number, value & 0xFFFFFFFF, bool(value >> 32))
        if kind == "cascade-write":
            return self._port.cascade_put(bytes([value]) * 64)
        if kind == "stream-read":
            found: Any = self._port.stream_get(number)
        elif kind == "cascade-read":
            found = self._port.cascade_get()
        else:
            return True
        if found is None:
            return False
        self.received.append(found)
        return True


def play(
    design: Design, programs: dict[TileAddress, Callable[[CorePort, Memories], Program]], columns: int = 1
) -> tuple[Machine, Ddr]:
    """A machine whose cores run these programs, enabled last."""
    for tile in programs:
        design.set(tile, "CORE_CONTROL", RESET=1)
        design.set(tile, "CORE_CONTROL", ENABLE=1)

    class Cores(PlayedCore):
        pass

    Cores.programs = {str(tile): program for tile, program in programs.items()}
    ddr = Ddr()
    machine = Machine(columns, ddr, cores=Cores)
    machine.load(design.cdo)
    return machine, ddr


def core_of(machine: Machine, tile: TileAddress) -> Any:
    unit = machine.array.tiles[tile].core
    assert unit is not None
    return unit.engine


def ramp(count: int) -> Array:
    return np.arange(1, count + 1, dtype=np.uint32)


def test_a_core_works_on_what_its_dma_brings() -> None:
    """DDR -> L1 -> core doubles it -> L1 -> DDR, three rounds over one buffer and two pairs of locks."""
    design = Design()
    design.shim_in(0, 0, north(0))
    design.shim_out(0, 0, north(0))
    design.tokens()
    design.connect(memtile(), south(0), north(0))
    design.connect(memtile(), north(0), south(0))
    design.connect(compute(), south(0), dma(0))
    design.connect(compute(), dma(1), south(0))
    design.lock(compute(), 0, 1)
    locks: list[tuple[int, int, int]] = [(0, 0, 1), (1, 2, 0)]
    for bd, acquire, release in locks:
        design.bd(
            compute(), bd,
            BufferDescriptor(
                0x400, 16, acquire_enable=True, acquire_lock=acquire, acquire_value=-1, release_lock=release,
                release_value=1, next_bd=bd,
            ),
        )  # fmt: skip
    design.start(compute(), S2MM, 0, 0)
    design.start(compute(), MM2S, 1, 1)

    def program(_port: CorePort, memories: Memories) -> Program:
        own = memories[3].view(np.uint32)
        while True:
            yield "acquire", OWN_LOCK + 1, -1
            own[0x100:0x110] *= 2
            yield "release", OWN_LOCK + 2, 1

    design.transfer(S2MM, 1, 48)
    design.transfer(MM2S, 0, 48)
    design.sync()
    machine, ddr = play(design, {compute(): program})
    given, got = ddr.add(ramp(48)), ddr.add(words([0] * 48))
    report = machine.run(design.stream, [given, got])
    assert np.array_equal(ddr.get(got), 2 * ramp(48))
    assert report.bundles == {"core (0,2)": 6}
    assert report.settled


def test_a_core_reaches_memories_and_locks_on_four_sides() -> None:
    """The core of (1,3) with its south, west, north and own tile."""
    sides = [compute(1, 2), compute(0, 3), compute(1, 4), compute(1, 3)]
    design = Design()
    for number, tile in enumerate(sides):
        design.lock(tile, 2 + number, 1)

    def program(_port: CorePort, memories: Memories) -> Program:
        for number in range(4):
            yield "acquire", 16 * number + 2 + number, -1
            memories[number][0] = 40 + number
            yield "release", 16 * number + 8, 3

    machine, _ = play(design, {compute(1, 3): program}, columns=2)
    machine.run(design.stream, [])
    for number, tile in enumerate(sides):
        found = machine.array.tiles[tile]
        assert found.memory is not None
        assert int(found.memory.bytes[0]) == 40 + number
        assert found.locks.values[2 + number] == 0
        assert found.locks.values[8] == 3


def test_a_core_at_the_edge_has_no_neighbour() -> None:
    seen: list[Any] = []

    def program(_port: CorePort, memories: Memories) -> Program:
        seen.extend(memories)
        yield "acquire", 0, -1

    machine, _ = play(Design(), {compute(0, 2): program})
    with pytest.raises(
        EmulationError, match="core \\(0,2\\) uses lock 0, which belongs to a neighbour"
    ) as caught:
        machine.run(Design().stream, [])
    assert caught.value.kind == "bad-lock"
    # no core south of row 2, no column west of 0
    assert [memory is None for memory in seen] == [True, True, False, False]


def test_words_pass_between_cores_with_tlast() -> None:
    design = Design()
    design.connect(compute(row=2), CORE, north(0))
    design.connect(compute(row=3), south(0), CORE)

    def sender(_port: CorePort, _memories: Memories) -> Program:
        for word in range(100):
            yield "stream-write", 0, word | (word % 10 == 9) << 32

    def receiver(_port: CorePort, _memories: Memories) -> Program:
        for _ in range(100):
            yield "stream-read", 0, 0

    machine, _ = play(design, {compute(row=2): sender, compute(row=3): receiver})
    machine.run(design.stream, [])
    assert core_of(machine, compute(row=3)).received == [(word, word % 10 == 9) for word in range(100)]


def test_a_core_that_nobody_reads_fills_the_switches_and_stops() -> None:
    design = Design()
    design.connect(compute(row=2), CORE, north(0))
    design.connect(compute(row=3), south(0), CORE)
    design.tokens()
    design.sync()

    def sender(_port: CorePort, _memories: Memories) -> Program:
        for word in range(1000):
            yield "stream-write", 0, word

    machine, _ = play(design, {compute(row=2): sender})
    with pytest.raises(EmulationError) as caught:
        machine.run(design.stream, [])
    waits = "core (0,2) at pc 0x0100 waits for its stream to take a word"
    assert f"{waits}; it is full at the stream input of core (0,3)" in str(caught.value)
    assert caught.value.tile == "core (0,2)"
    assert caught.value.pc == 0x100


def test_the_cascade_goes_south_or_east_as_both_ends_say() -> None:
    """(0,3) to (0,2) by reset values; (0,2) to (1,2) when OUTPUT is east and INPUT is west."""
    design = Design()
    design.set(compute(0, 2), "ACCUMULATOR_CONTROL", OUTPUT=1)
    design.set(compute(1, 2), "ACCUMULATOR_CONTROL", INPUT=1)

    def first(_port: CorePort, _memories: Memories) -> Program:
        for number in range(9):
            yield "cascade-write", 0, number

    def middle(port: CorePort, _memories: Memories) -> Program:
        for _ in range(9):
            yield "cascade-read", 0, 0
            yield "cascade-write", 0, 7

    def last(_port: CorePort, _memories: Memories) -> Program:
        for _ in range(9):
            yield "cascade-read", 0, 0

    machine, _ = play(design, {compute(0, 3): first, compute(0, 2): middle, compute(1, 2): last}, columns=2)
    machine.run(design.stream, [])
    assert core_of(machine, compute(0, 2)).received == [bytes([number]) * 64 for number in range(9)]
    assert core_of(machine, compute(1, 2)).received == [bytes([7]) * 64] * 9


def test_the_cascade_is_four_words_deep() -> None:
    def first(_port: CorePort, _memories: Memories) -> Program:
        for number in range(9):
            yield "cascade-write", 0, number

    machine, _ = play(Design(), {compute(0, 3): first})
    machine.run(Design().stream, [])
    assert core_of(machine, compute(0, 3)).bundles == CASCADE_DEPTH


def test_reset_starts_a_core_anew_and_enable_lets_it_run() -> None:
    runs: list[int] = []

    def program(_port: CorePort, _memories: Memories) -> Program:
        runs.append(1)
        yield "release", OWN_LOCK, 1

    design = Design()
    machine, _ = play(design, {compute(): program})
    machine.run(design.stream, [])
    status = compute().address(0x32004)
    assert machine.array.read(status) == 1 << 20
    machine.run(design.stream, [])
    assert len(runs) == 1
    control = compute().address(0x32000)
    machine.array.write(control, 2)
    assert machine.array.read(status) == 2
    machine.run(design.stream, [])
    machine.array.write(control, 1)
    machine.run(design.stream, [])
    assert len(runs) == 2
    assert machine.array.tiles[compute()].locks.values[0] == 2


def test_a_disabled_core_does_not_run() -> None:
    def program(_port: CorePort, _memories: Memories) -> Program:
        yield "release", OWN_LOCK, 1

    design = Design()
    machine, _ = play(design, {compute(): program})
    held = machine.array.tiles[compute()].locks.values
    assert held[0] == 1
    machine.array.write(compute().address(0x32000), 2)
    machine.array.write(compute().address(0x32000), 0)
    machine.run(design.stream, [])
    assert held[0] == 1


def test_a_cores_registers_show_in_the_tile() -> None:
    def program(_port: CorePort, _memories: Memories) -> Program:
        yield "acquire", OWN_LOCK, -1

    machine, _ = play(Design(), {compute(): program})
    machine.run(Design().stream, [])
    assert machine.array.read(compute().address(0x30C30)) == 33
    machine.array.write(compute().address(0x31100), 0x40)
    assert machine.array.read(compute().address(0x31100)) == 0x40


def test_a_deadlock_between_a_core_and_its_dma_is_a_circle() -> None:
    """The core wants the buffer's second fill before it gives the first back."""
    design = Design()
    design.shim_in(0, 0, north(0))
    design.tokens()
    design.connect(memtile(), south(0), north(0))
    design.connect(compute(), south(0), dma(0))
    design.lock(compute(), 0, 1)
    design.bd(
        compute(), 0,
        BufferDescriptor(
            0x400, 16, acquire_enable=True, acquire_lock=0, acquire_value=-1, release_lock=1, release_value=1,
            next_bd=0,
        ),
    )  # fmt: skip
    design.start(compute(), S2MM, 0, 0)

    def program(_port: CorePort, _memories: Memories) -> Program:
        yield "acquire", OWN_LOCK + 1, -1
        yield "acquire", OWN_LOCK + 1, -1
        yield "release", OWN_LOCK, 2

    design.transfer(MM2S, 0, 48)
    since = len(design.commands)
    design.start(shim(), MM2S, 0, 2, token=True)
    design.in_stream(since)
    design.sync(direction=MM2S)
    machine, ddr = play(design, {compute(): program})
    with pytest.raises(EmulationError) as caught:
        machine.run(design.stream, [ddr.add(ramp(48))])
    lines = str(caught.value).splitlines()
    assert "  core (0,2) at pc 0x0010 waits for its lock 49 (lock 1 of core (0,2)) >= 1, which is 0" in lines
    assert lines[-1] == ("  circle of waiting: core (0,2) S2MM 0 -> core (0,2) -> core (0,2) S2MM 0")
    assert caught.value.tile == "core (0,2)"


def test_cores_go_on_after_the_stream_and_a_fault_there_comes_with_the_next_run() -> None:
    def program(_port: CorePort, _memories: Memories) -> Program:
        yield "acquire", OWN_LOCK, -1
        yield "acquire", 200, -1

    design = Design()
    design.lock(compute(), 0, 1)
    design.in_stream(0)
    machine, _ = play(Design(), {compute(): program})
    report = machine.run(design.stream, [])
    assert report.warnings == (
        "after the end of the instruction stream: core (0,2) uses lock 200, which belongs to a neighbour"
        " that has no locks for it",
    )
    with pytest.raises(EmulationError, match="lock 200"):
        machine.run(design.stream, [])


def test_a_core_that_never_stops_ends_at_the_step_limit() -> None:
    def program(_port: CorePort, _memories: Memories) -> Program:
        while True:
            yield "budget", 0, 0

    design = Design()
    design.sync()
    machine, _ = play(design, {compute(): program})
    with pytest.raises(EmulationError) as caught:
        machine.run(design.stream, [], step_limit=500_000)
    assert caught.value.kind == "step-limit"
