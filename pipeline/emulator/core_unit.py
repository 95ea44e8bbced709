"""A core within its tile: what its locks, streams and cascade are connected to, and when it may run.

The engine (`emulator.core`) executes bundles; here is its `CorePort`, and the bookkeeping around it. A
stalled core is run again only when what it waits for has come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import EmulationError
from ..npu.limits import PROGRAM_MEMORY_BYTES
from ..npu.topology import CORE_LOCK_SIDES, CORE_LOCKS_PER_SIDE, Bundle, Port, TileAddress
from .core.fast_port import (
    BANKS,
    CELLS,
    LOCK_WAIT,
    OFFSET,
    OUT_COUNT,
    OUT_ROOM,
    OUT_WORDS,
    RELEASED,
    SIDES,
    WORDS,
    Cells,
)
from .core.port import CoreStop, ProcessorBus
from .core_input import CoreInput
from .engine import CoreEngine, CoreWatch
from .fabric import Fabric, Outlet
from .locks import LockBank, taken
from .races import Actor
from .streams import Stamp
from .trace import Trace, bundle_text

CASCADE_DEPTH = 4
"""Words of 512 bits that the cascade between two cores holds: a FIFO two deep at each end (AM020, "Register
Move Functionality")."""

BUS_START = 0x80000
"""Where a core's processor bus (`lda.tm`, `st.tm`) has the registers of its own tile (llvm-aie's
aiev2intrin.h: TMAddrSpaceStart)."""

SLICE_BUNDLES = 1 << 14
"""Bundles that a core executes before others get their turn."""


Wait = Literal["lock", "stream", "cascade"]


@dataclass(slots=True)
class CoreWaits:
    """Cycles that a core stood still, by what it waited for."""

    lock: int = 0
    stream: int = 0
    cascade: int = 0


class CoreUnit:
    """One core: engine, port, control bits. Implements `CorePort`."""

    def __init__(
        self,
        fabric: Fabric,
        tile: TileAddress,
        lock_banks: dict[Bundle | None, LockBank],
        bus: ProcessorBus,
    ) -> None:
        self.tile = tile
        self._bus = bus
        self.waits = CoreWaits()
        self.fast = Cells(CELLS)
        """What the engine's compiled code does itself with locks and streams (core/fast_port.py)."""
        self._cells = self.fast.view
        self._fabric = fabric
        self._running_since = 0
        self.name = str(tile)
        self.program = bytearray(PROGRAM_MEMORY_BYTES)
        self.engine: CoreEngine | None = None
        self.make_engine: Callable[[CoreUnit], CoreEngine] | None = None
        self.enabled = False
        self.in_reset = False
        self.halted = False
        self.stop: CoreStop | None = None
        self.input = CoreInput(self.name, self.fast)
        self.outlet = Outlet(fabric, tile, Port(Bundle.CORE))
        self.cascade: deque[tuple[bytes, int]] = deque()
        """Words on their way in, each with the time at which it was sent."""
        self._cascade_room: deque[int] = deque([0] * CASCADE_DEPTH)
        """When each free place of the cascade out of here became free."""
        self.watch: CoreWatch | None = None
        self.cascade_from: CoreUnit | None = None
        self.cascade_to: CoreUnit | None = None
        self.moved = False
        self._lock_banks = lock_banks
        self._blocked = False
        if fabric.checks.races is None and fabric.trace is None:  # who looks at each lock wants to be asked
            for side, where in enumerate(CORE_LOCK_SIDES):
                if where in lock_banks:
                    self._cells[BANKS + side] = lock_banks[where].cells.address

    # ----------------------------------------------------------------- control

    def control(self, *, enable: bool, reset: bool) -> None:
        """A write to CORE_CONTROL."""
        if reset and not self.in_reset and self.engine is not None:
            self.engine.reset()
        if reset:
            self.stop = None
            self.input.forget()
            self._cells[OUT_COUNT] = 0
        self.in_reset = reset
        self.enabled = enable

    def reset(self) -> None:
        """Back to the state before any configuration; program memory and clock keep what they have."""
        self.control(enable=False, reset=True)
        self.in_reset = self.halted = self._blocked = False
        self.input.fifo.clear()
        self.cascade.clear()
        self._cascade_room = deque([0] * CASCADE_DEPTH)

    def program_changed(self) -> None:
        """Program memory was written."""
        if self.engine is not None:
            self.engine.program_changed()

    @property
    def done(self) -> bool:
        """The core executed `done`."""
        return self.stop is not None and self.stop.kind == "done"

    @property
    def bundles(self) -> int:
        """Bundles executed since the array was made."""
        return 0 if self.engine is None else self.engine.bundles

    @property
    def time(self) -> int:
        """The core's clock, an estimate in cycles: bundles, bank conflicts, and what it waited for."""
        engine, offset = self.engine, self._cells[OFFSET]
        return offset if engine is None else offset + engine.bundles + engine.stalls

    def ready(self) -> bool:
        """It would get on if it were run now."""
        return self.enabled and not self.in_reset and not self.halted and not self.done and not self.stalled()

    def stalled(self) -> bool:
        """What it stopped for is still not there."""
        stop = self.stop
        if stop is None or not stop.stalled:
            return False
        if stop.kind == "acquire":
            bank, lock = self._lock(stop.number)
            return not bank.grants(lock, stop.value)
        if stop.kind == "stream-read":
            return not self.input.taking and not self.input.fifo.count
        if stop.kind == "stream-write":
            return self.outlet.route().room() == 0
        if stop.kind == "cascade-read":
            return not self.cascade
        if stop.kind == "cascade-write":
            return self.cascade_to is None or len(self.cascade_to.cascade) >= CASCADE_DEPTH
        return False

    def run(self, budget: int) -> bool:
        """Runs for at most `budget` bundles; True when it did anything."""
        if self.engine is None:
            if self.make_engine is None:
                raise AssertionError("a core is connected before it runs")
            self.engine = self.make_engine(self)
        before = self.engine.bundles
        self.moved = False
        self._cells[OUT_ROOM] = 0
        trace = self._fabric.trace
        if trace is not None and trace.instructions:
            self.stop = self._step_by_step(self.engine, budget, trace)
        else:
            self.stop = self.engine.run(budget)
        outside = self.engine.take_outside()
        if outside is not None:
            self._fabric.checks.outside_load(self.name, outside)
        self._flush()
        self._notice()
        if self.watch is not None:
            self.watch.meets_others(self.engine.pc)
        return self.moved or self.engine.bundles != before or self.stop.kind == "done"

    def _notice(self) -> None:
        """What compiled code did with locks."""
        cells = self._cells
        self.waits.lock += cells[LOCK_WAIT]
        cells[LOCK_WAIT] = 0
        released = cells[RELEASED] & (1 << 64) - 1
        cells[RELEASED] = 0
        for number in range(0, CORE_LOCKS_PER_SIDE * SIDES, CORE_LOCKS_PER_SIDE):
            if cells[BANKS + number // CORE_LOCKS_PER_SIDE]:
                bank, _ = self._lock(number)
                if bank.waiting:
                    bank.tell()
        while released:
            bank, number = self._lock((released & -released).bit_length() - 1)
            bank.releasers[number].add(self.name)
            released &= released - 1

    def _step_by_step(self, engine: CoreEngine, budget: int, trace: Trace) -> CoreStop:
        """Bundle by bundle, each a span of the trace."""
        for _ in range(budget):
            pc, start = engine.pc, self.time
            stop = engine.run(1)
            if stop.kind != "budget":
                return stop
            trace.bundle(self.name, bundle_text(self.program, pc), start, self.time, pc)
        return CoreStop("budget", engine.pc)

    def end_span(self) -> None:
        """The trace is to show what the core did up to now."""
        if self._fabric.trace is not None and self.time > self._running_since:
            self._fabric.trace.core(self.name, "running", self._running_since, self.time)
            self._running_since = self.time

    def situation(self) -> str:
        """What it is doing or waiting for, in words."""
        stop = self.stop
        if stop is None:
            return "has not started"
        place = f"at pc {stop.pc:#06x}"
        if stop.kind == "acquire":
            bank, lock = self._lock(stop.number)
            name = f"its lock {stop.number} (lock {lock} of {bank.tile})"
            return f"{place} {bank.awaited(lock, stop.value, name)}"
        if stop.kind == "stream-read":
            return f"{place} waits for a word from its stream"
        if stop.kind == "stream-write":
            full = "; ".join(sink.describe() for sink in self.outlet.route().full())
            return f"{place} waits for its stream to take a word; it is full at {full}"
        if stop.kind == "cascade-read":
            source = "no core" if self.cascade_from is None else self.cascade_from.name
            return f"{place} waits for the cascade, which comes from {source}"
        if stop.kind == "cascade-write":
            target = "no core" if self.cascade_to is None else self.cascade_to.name
            return f"{place} waits for the cascade to take a word; it goes to {target}"
        return f"{place} {'is done' if stop.kind == 'done' else 'runs'}"

    # ----------------------------------------------------------------- CorePort

    def acquire(self, lock: int, value: int) -> bool:
        bank, number = self._lock(lock)
        granted = bank.acquire(number, value)
        if granted is None:
            return False
        checks, trace = self._fabric.checks, self._fabric.trace
        if checks.races is not None:
            self._meet_others()
            checks.races.acquired(self.name, (bank.tile, number))
        self._wait_until(granted, "lock", f"waits for lock {number} of {bank.tile}")
        if trace is not None:
            trace.lock(bank.tile, number, self.time, -taken(value))
        self.moved = True
        return True

    def release(self, lock: int, value: int) -> bool:
        bank, number = self._lock(lock)
        checks, trace = self._fabric.checks, self._fabric.trace
        if checks.races is not None:
            self._meet_others()
            checks.races.released(self.name, (bank.tile, number))
        before = bank.value(number)
        bank.release(number, value, who=self.name, time=self.time)
        if trace is not None:
            trace.lock(bank.tile, number, self.time, bank.value(number) - before)
        self.moved = True
        return True

    def stream_get(self, port: int) -> tuple[int, bool] | None:
        self._check_port(port)
        if not self.input.taking:
            if not self.input.fifo.count:
                return None
            count, time = self.input.take_chunk()
            self._learn(time)
            self._wait_until(time - count + 1, "stream", "waits for its stream")
        self.moved = True
        return self.input.take(self.time)

    def stream_put(self, port: int, word: int, tlast: bool) -> bool:
        self._check_port(port)
        cells = self._cells
        if cells[OUT_ROOM] == 0:
            self._flush()
            cells[OUT_ROOM] = min(self.outlet.route().room(), WORDS)
            if cells[OUT_ROOM] == 0:
                self._blocked = True
                return False
            if self._blocked:
                self._blocked = False
                ready = self.outlet.route().ready_time()
                self._wait_until(ready, "stream", "waits for its stream to take words")
        cells[OUT_WORDS + cells[OUT_COUNT]] = word & 0xFFFFFFFF
        cells[OUT_COUNT] += 1
        cells[OUT_ROOM] -= 1
        self.moved = True
        if tlast or self._fabric.checks.full:
            self._flush(last=tlast)
        return True

    def cascade_get(self) -> bytes | None:
        if not self.cascade:
            return None
        self.moved = True
        data, time = self.cascade.popleft()
        self._learn(time)
        self._wait_until(time, "cascade", "waits for the cascade")
        if self.cascade_from is not None:
            self.cascade_from.cascade_taken(self.time)
        return data

    def cascade_put(self, data: bytes) -> bool:
        if self.cascade_to is None or len(self.cascade_to.cascade) >= CASCADE_DEPTH:
            return False
        if self._cascade_room:
            self._wait_until(self._cascade_room.popleft(), "cascade", "waits for the cascade to take a word")
        self.cascade_to.cascade.append((bytes(data), self._stamp()))
        self.moved = True
        return True

    def cascade_taken(self, time: int) -> None:
        """The receiver took a word."""
        if len(self._cascade_room) < CASCADE_DEPTH:
            self._cascade_room.append(time)

    def bus_read(self, address: int) -> int:
        self._meet_others()
        self.moved = True
        return self._bus.bus_read(self._bus_offset(address))

    def bus_write(self, address: int, value: int) -> None:
        self._tell_controller()
        self.moved = True
        self._bus.bus_write(self._bus_offset(address), value)

    def event(self, number: int) -> None:
        """Events drive traces and counters, which are not emulated."""

    # ----------------------------------------------------------------- below

    def lock(self, number: int) -> tuple[LockBank, int]:
        """The bank and number behind the core's lock id. Raises EmulationError."""
        return self._lock(number)

    def _lock(self, number: int) -> tuple[LockBank, int]:
        side, index = divmod(number, CORE_LOCKS_PER_SIDE)
        bank = self._lock_banks.get(CORE_LOCK_SIDES[side]) if 0 <= side < len(CORE_LOCK_SIDES) else None
        if bank is None:
            pc = None if self.engine is None else self.engine.pc
            raise EmulationError(
                f"{self.name} uses lock {number}, which belongs to a neighbour that has no locks for it",
                kind="bad-lock",
                tile=self.name,
                pc=pc,
            )
        return bank, index

    def _bus_offset(self, address: int) -> int:
        if address < BUS_START:
            raise EmulationError(
                f"{self.name} uses address {address:#x} of its processor bus; the tile's registers begin at"
                f" {BUS_START:#x}",
                kind="out-of-range",
                tile=self.name,
                pc=None if self.engine is None else self.engine.pc,
            )
        return address - BUS_START

    def _tell_controller(self) -> None:
        """A register that a core writes is written as the controller does, after all that the core did."""
        races = self._fabric.checks.races
        if races is not None:
            self._meet_others()
            races.received(Actor.CONTROLLER, races.sent(self.name))

    def _check_port(self, port: int) -> None:
        if port != 0:
            raise EmulationError(
                f"{self.name} uses stream port {port}; a core has one input and one output, number 0",
                kind="bad-port",
                tile=self.name,
                pc=None if self.engine is None else self.engine.pc,
            )

    def _flush(self, *, last: bool = False) -> None:
        count = self._cells[OUT_COUNT]
        if count:
            words = np.array(self._cells[OUT_WORDS : OUT_WORDS + count], np.uint32)
            self.outlet.route().push(words, last, self._stamp())
            self._cells[OUT_COUNT] = 0
        self._cells[OUT_ROOM] = 0

    def _wait_until(self, time: int, what: Wait, name: str) -> None:
        now = self.time
        if time <= now:
            return
        trace = self._fabric.trace
        if trace is not None:
            self.end_span()
            trace.core(self.name, name, now, int(time))
            self._running_since = int(time)
        self._cells[OFFSET] += int(time) - now
        match what:
            case "lock":
                self.waits.lock += int(time) - now
            case "stream":
                self.waits.stream += int(time) - now
            case "cascade":
                self.waits.cascade += int(time) - now

    def _meet_others(self) -> None:
        if self.watch is not None and self.engine is not None:
            self.watch.meets_others(self.engine.pc)

    def _stamp(self) -> int:
        """The time of sending, in check mode with what the core knows."""
        races = self._fabric.checks.races
        if races is None:
            return self.time
        self._meet_others()
        return Stamp(self.time, races.sent(self.name))

    def _learn(self, time: int) -> None:
        races = self._fabric.checks.races
        if races is not None and isinstance(time, Stamp):
            self._meet_others()
            races.received(self.name, time.clock)
