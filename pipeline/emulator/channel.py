"""A DMA channel: its start queue, and the way through BDs, locks, words and tokens.

A task is a chain of BDs from the one in the start queue along next_bd, executed `repeat` times. Each BD is
read from the registers when its turn comes; then the channel waits for its lock, moves its words, and
releases. One token per task, after all repeats. Out of order, each packet is one of the repeats and goes
through the BD that it names and no chain (mlir-aie, iree-amd-aie: the repeat count is that of all packets).
Sources: facts/aie2-isa.md section 7, facts/emulation.md;
finish-on-TLAST modes as in aie-rt (0 off, 1 without counts, 2 and 3 with).
"""

from __future__ import annotations

from collections import deque

import numpy as np

from ..errors import EmulationError
from ..npu.descriptors import BufferDescriptor
from ..npu.limits import TASK_QUEUE_DEPTH, WORD_BYTES, usable_descriptors
from ..npu.topology import Direction
from .addressing import Pattern, Piece, pattern_of
from .compression import GROUP_WORDS, Unpacker, compress
from .fabric import Active, Outlet
from .locks import LockBank, taken
from .memory import Store
from .packets import Token, out_of_order_id, packet_header
from .races import Clock
from .streams import Fifo, Stamp, Words
from .task import ChannelCycles, Host, State, Task

SLICE_WORDS = 1 << 14
"""Longest slice that moves at once."""

_BURST = 64
"""BDs that a channel may finish before others get their turn."""


class Channel(Active):
    """One channel; S2MM channels are sinks of streams, MM2S channels have an `outlet`."""

    def __init__(
        self, host: Host, direction: Direction, index: int, store: Store, outlet: Outlet | None
    ) -> None:
        self.host = host
        self.direction = direction
        self.index = index
        self.label = f"{direction.name} {index}"
        self.name = f"{host.address} {self.label}"
        self.outlet = outlet
        self.fifo = Fifo()
        self.queue: deque[Task] = deque()
        self.state = State.IDLE
        self.overflow = False
        # fields of the CTRL register
        self.held = False
        self.controller = 0
        self.finish_on_tlast = False
        self.out_of_order = False
        self.compression = False
        self.bd: BufferDescriptor | None = None
        self.number = 0
        # for estimates, limits and reports
        self.time = 0
        self.cycles = ChannelCycles()
        self.steps = 0
        self._begun = 0
        self._store = store
        self._task = Task(0, 0, token=False)
        self._repeats_left = 0
        self._pattern = Pattern(0, ((0, 1),))
        self._base = 0
        self._done = 0
        self._packed: Words | None = None
        """What it sends for a BD that it compresses."""
        self._unpacker: Unpacker | None = None
        """Of a BD that it decompresses."""
        self._parked = False
        """It waits for a lock, whose bank tells it of changes."""
        self._stuck = False
        """Somebody else has to do something before it gets on."""
        self._locks: dict[int, tuple[LockBank, int]] = {}
        self._descriptors = usable_descriptors(host.address.kind, index)

    # ----------------------------------------------------------------- what the registers do

    def start(self, task: Task) -> None:
        """A write to the start queue."""
        if len(self.queue) >= TASK_QUEUE_DEPTH:
            self.overflow = True
            return
        self.queue.append(task)
        self.host.fabric.wake(self)
        self._step_to_transfer()

    def reset(self) -> None:
        """What the RESET bit does: forgets its tasks and the words on their way in."""
        self.queue.clear()
        self.fifo.clear()
        self.state = State.IDLE
        self.overflow = False
        self.bd = None
        self._parked = False
        self._forget_turns()

    @property
    def full(self) -> bool:
        """The start queue takes no more."""
        return len(self.queue) >= TASK_QUEUE_DEPTH

    @property
    def running(self) -> bool:
        """In the middle of a task."""
        return self.state is not State.IDLE

    # ----------------------------------------------------------------- a sink of streams

    def room(self) -> int:
        needed = self._needed() if self.state is State.TRANSFER and not self.held else 0
        return max(0, self.fifo.capacity + needed - self.fifo.count)

    def push(self, words: Words, last: bool, time: int) -> None:
        self.fifo.put(words, last, time)
        self.host.fabric.wake(self)

    def ready_time(self) -> int:
        return self.time if self.state is State.TRANSFER else 0

    def connect(self, switches: int) -> None:
        self.fifo.connect(switches)

    def describe(self) -> str:
        return self.name

    def holder(self) -> str:
        return self.name

    def _needed(self) -> int:
        if self.finish_on_tlast and self.fifo.packets:
            return 0
        left = self._pattern.length - self._done
        if left and self._unpacker is not None:
            return self._unpacker.wanted
        return min(left, SLICE_WORDS)

    # ----------------------------------------------------------------- moving

    def idle(self) -> bool:
        if self.held or self._parked:
            return True
        if self.state is State.TRANSFER:  # an S2MM channel is woken by words
            return self.direction is Direction.S2MM and not self.fifo.count and self._needed() > 0
        return self.state is State.IDLE and not self.queue

    def lock_changed(self) -> None:
        """A lock of the bank that it waits for has another value."""
        self._parked = False
        self.host.fabric.wake(self)

    def advance(self) -> bool:
        if self.held:
            return False
        before = self.steps
        moved = False
        self._stuck = False
        while self._step():
            moved = True
            # channels may share the lock of a buffer: who waited longer for it has its turn first
            if self._stuck or self.state is State.ACQUIRE or self.steps - before >= _BURST:
                break
        return moved

    def _step(self) -> bool:
        if self.state is State.TRANSFER:
            return self._receive() if self.direction is Direction.S2MM else self._send()
        if self.state is State.ACQUIRE:
            return self._acquire()
        if self.state is State.IDLE:
            return self._next_task()
        if self.state is State.HEADER:
            return self._header()
        if self.state is State.SELECT:
            return self._select()
        return self._token()

    def _step_to_transfer(self) -> None:
        """Reads the BD at once where the channel is free: hardware does so before the next register write."""
        if self.state is State.IDLE and not self.held:
            self._next_task()

    def _next_task(self) -> bool:
        if not self.queue:
            return False
        self._task = self.queue.popleft()
        self._learn(self._task.clock)
        self._repeats_left = self._task.repeats
        self._begin_repeat()
        return True

    @property
    def _by_header(self) -> bool:
        """Each packet names its BD."""
        return self.out_of_order and self.direction is Direction.S2MM

    def _begin_repeat(self) -> None:
        if self._by_header:
            self.state = State.SELECT
        else:
            self._begin(self._task.descriptor)

    def _select(self) -> bool:
        if not self.fifo.count:
            return False
        header, _, time = self.fifo.take(1)
        self._learn_from(time)
        self._begin(out_of_order_id(int(header[0])))
        return True

    def _begin(self, number: int) -> None:
        """Reads BD `number` and starts it."""
        self.steps += 1
        if number not in self._descriptors:
            usable = f"{self._descriptors.start} to {self._descriptors.stop - 1}"
            raise self._error(f"cannot use BD {number}, only {usable}", "bad-bd")
        self.number = number
        self._begun = self.time
        self.bd = bd = self.host.descriptor(number)
        if not bd.valid:
            raise self._error(f"BD {number} was started and is not valid", "bad-bd")
        try:
            self._pattern = pattern_of(bd, padded=self.direction is Direction.MM2S)
        except ValueError as error:
            raise self._error(f"BD {number}: {error}", "bad-bd") from error
        self._base = bd.address // WORD_BYTES + bd.iteration_current * bd.iteration_step
        following = bd.iteration_current + 1
        if bd.iteration_wrap > 1:
            self.host.iterate(number, 0 if following >= bd.iteration_wrap else following)
        self._done = 0
        self._packed = self._unpacker = None
        self.state = State.ACQUIRE if bd.acquire_enable else self._after_acquire(bd)

    def _after_acquire(self, bd: BufferDescriptor) -> State:
        if bd.compression and self.compression:
            self._begin_compression()
        return State.HEADER if bd.packet_enable and self.direction is Direction.MM2S else State.TRANSFER

    def _begin_compression(self) -> None:
        length = self._pattern.length
        if length % GROUP_WORDS:
            what = f"(de)compresses {length} words; only multiples of {GROUP_WORDS} are emulated"
            raise self._error(f"BD {self.number} {what}", "unsupported")
        if self.direction is Direction.S2MM:
            self._unpacker = Unpacker()
        elif length:
            self.host.fabric.checks.dma = self
            self._packed = compress(self._gather(self._pattern.piece(self._base, 0, length)))
            self._pattern = Pattern(self._packed.size, ((0, 1),))

    def _gather(self, piece: Piece) -> Words:
        try:
            return self._store.gather(piece)
        except EmulationError as error:
            raise self._error(f"BD {self.number}: {error.message}", error.kind) from error

    def _acquire(self) -> bool:
        bd = self._current()
        bank, lock = self._lock(bd.acquire_lock)
        takers = bank.takers[lock]
        if len(takers) > 1 and self._is_ahead(bank, lock):
            return False
        granted = bank.acquire(lock, bd.acquire_value)
        if granted is None:
            self._parked = True
            bank.waiting.append(self)
            return False
        takers[self] = takers[self] + 1 if self in takers else max(takers.values(), default=1)
        fabric = self.host.fabric
        if fabric.checks.races is not None:
            fabric.checks.races.acquired(self.name, (bank.tile, lock))
        self._wait(granted, "lock", f"waits for lock {lock} of {bank.tile}")
        self.time += 1
        self.cycles.requests += 1
        if fabric.trace is not None:
            fabric.trace.lock(bank.tile, lock, self.time, -taken(bd.acquire_value))
        self.state = self._after_acquire(bd)
        return True

    def _is_ahead(self, bank: LockBank, lock: int) -> bool:
        """Whether a channel that shares the lock has to have its turn first.

        Channels that share the two buffers of a memory tile by one lock (as mlir-aie links object fifos) do
        right only as they keep step, which on hardware they do as all run at once. Here DMAs move until
        nothing does before cores run, so those with more room in their streams would come ahead.
        """
        fabric, takers = self.host.fabric, bank.takers[lock]
        mine = takers.get(self, 0)
        ahead = any(
            other.goes_before(bank, lock, mine - count)
            for other, count in takers.items()
            if other is not self
        )
        if ahead and fabric.still:
            fabric.still = False
            return False
        return ahead

    def goes_before(self, bank: LockBank, lock: int, lead: int) -> bool:
        """Whether one that took this lock `lead` times more often has to wait for this channel: while it is
        busy with the BD of the same turn or the one before, and while it could have the lock for that."""
        bd = self.bd
        if bd is None or not bd.acquire_enable or self._lock(bd.acquire_lock) != (bank, lock):
            return False
        if self.state is State.ACQUIRE:
            return lead == 1 and bank.grants(lock, bd.acquire_value)
        return lead in (0, 1) and self.state in (State.HEADER, State.TRANSFER)

    def _forget_turns(self) -> None:
        """It is no longer one of those that keep step."""
        for bank, lock in self._locks.values():
            bank.takers[lock].pop(self, None)

    def _header(self) -> bool:
        bd = self._current()
        route = self._outlet().route()
        if not route.room():
            return False
        word = packet_header(self.host.address, bd.packet_id, bd.packet_type, bd.out_of_order_id)
        self.time += 1
        self.cycles.requests += 1
        empty = self._pattern.length == 0
        route.push(np.array([word], np.uint32), empty and not bd.tlast_suppress, self._stamp())
        self.state = State.TRANSFER
        return True

    def _send(self) -> bool:
        left = self._pattern.length - self._done
        if left == 0:
            return self._finish()
        route = self._outlet().route()
        room = route.room()
        count = min(left, room, SLICE_WORDS)
        if count == 0:
            return False
        self.host.fabric.checks.dma = self
        if self._packed is None:
            words = self._gather(self._pattern.piece(self._base, self._done, count))
        else:
            words = self._packed[self._done : self._done + count]
        self._stuck = count == room and count < left
        self._count(count, count, route.ready_time())
        route.push(words, count == left and not self._current().tlast_suppress, self._stamp())
        return True

    def _receive(self) -> bool:
        left = self._pattern.length - self._done
        if left == 0:
            return self._finish()
        if not self.fifo.count:
            return False
        unpacker = self._unpacker
        words, last, time = self.fifo.take(left if unpacker is None else unpacker.wanted)
        self._learn_from(time)
        self.host.fabric.checks.dma = self
        stored = words if unpacker is None else unpacker.put(words)
        try:
            if stored.size:
                self._store.scatter(self._pattern.piece(self._base, self._done, stored.size), stored)
        except EmulationError as error:
            raise self._error(f"BD {self.number}: {error.message}", error.kind) from error
        self._count(words.size, stored.size, time - words.size)
        if last and self.finish_on_tlast:
            return self._finish()
        self._stuck = not self.fifo.count and self._done < self._pattern.length
        return True

    def _count(self, words: int, done: int, start: int) -> None:
        """`words` of the stream moved, `done` words of the BD with them."""
        self._wait(start, "stream", "waits for its stream")
        self.time += words
        self.cycles.words += words
        self.steps += 1 + words // SLICE_WORDS
        self._done += done

    def _finish(self) -> bool:
        """The BD's last word is through."""
        bd = self._current()
        fabric = self.host.fabric
        if bd.release_value:
            bank, lock = self._lock(bd.release_lock)
            if fabric.checks.races is not None:
                fabric.checks.races.released(self.name, (bank.tile, lock))
            before = bank.value(lock)
            bank.release(lock, bd.release_value, who=self.name, time=self.time)
            if fabric.trace is not None:
                fabric.trace.lock(bank.tile, lock, self.time, bank.value(lock) - before)
        if fabric.trace is not None:
            where = hex(bd.address)
            fabric.trace.channel(
                str(self.host.address), self.label, f"BD {self.number}", self._begun, self.time,
                words=self._done, address=where,
            )  # fmt: skip
        if bd.next_bd is not None and not self._by_header:
            self._begin(bd.next_bd)
            return True
        self._repeats_left -= 1
        if self._repeats_left > 0:
            self._begin_repeat()
        else:
            self.state = State.TOKEN if self._task.token else State.IDLE
            self.bd = None
            self._forget_turns()
        return True

    def _token(self) -> bool:
        token = Token(self.host.address, self.direction, self.index)
        if not self.host.send_token(token, self.controller, self._stamp()):
            return False
        self.state = State.IDLE
        return True

    def _wait(self, until: int, what: str, name: str) -> None:
        """Moves the clock on to when something came to be."""
        waited = until - self.time
        if waited <= 0:
            return
        if what == "lock":
            self.cycles.lock_wait += waited
        else:
            self.cycles.stream_wait += waited
        if self.host.fabric.trace is not None:
            tile = str(self.host.address)
            self.host.fabric.trace.channel(tile, self.label, name, self.time, int(until))
        self.time = int(until)

    def _stamp(self) -> int:
        """The time of sending, in check mode with what the channel knows."""
        races = self.host.fabric.checks.races
        return self.time if races is None else Stamp(self.time, races.sent(self.name))

    def _learn_from(self, time: int) -> None:
        if isinstance(time, Stamp):
            self._learn(time.clock)

    def _learn(self, clock: Clock | None) -> None:
        races = self.host.fabric.checks.races
        if races is not None and clock is not None:
            races.received(self.name, clock)

    # ----------------------------------------------------------------- what it waits for

    @property
    def progress(self) -> tuple[int, int]:
        """Words of the present BD that were moved, and all of them; (0, 0) between BDs."""
        return (0, 0) if self.bd is None else (self._done, self._pattern.length)

    def waiting_lock(self) -> tuple[LockBank, int, int] | None:
        """The lock, its number and the wanted value, while it waits for one."""
        if self.state is not State.ACQUIRE or self.bd is None:
            return None
        bank, lock = self._lock(self.bd.acquire_lock)
        return bank, lock, self.bd.acquire_value

    def release_locks(self) -> set[tuple[str, int]]:
        """Locks (tile, number) that the chain of the present task will release."""
        found: set[tuple[str, int]] = set()
        seen: set[int] = set()
        following: list[int] = [] if self.bd is None else [self.number]
        following += [task.descriptor for task in self.queue]
        while following:
            number = following.pop()
            if number in seen or number not in self._descriptors:
                continue
            seen.add(number)
            bd = self.host.descriptor(number)
            if bd.release_value:
                bank, lock = self._lock(bd.release_lock)
                found.add((bank.tile, lock))
            if bd.next_bd is not None:
                following.append(bd.next_bd)
        return found

    def situation(self) -> str:
        """What it is doing or waiting for, in words."""
        if self.state is State.IDLE:
            return "has no task"
        if self.state is State.SELECT:
            return "waits for a packet header that names its BD"
        if self.state is State.TOKEN:
            return "waits to send its task token"
        place = f"BD {self.number}"
        lock = self.waiting_lock()
        if lock is not None:
            bank, number, value = lock
            return f"{place} {bank.awaited(number, value, f'lock {number} of {bank.tile}')}"
        progress = f"{self._done} of {self._pattern.length} words moved"
        if self.direction is Direction.S2MM:
            return f"{place} waits for words from its stream ({progress})"
        full = "; ".join(sink.describe() for sink in self._outlet().route().full())
        return f"{place} waits for its stream to take words ({progress}); it is full at {full}"

    def _current(self) -> BufferDescriptor:
        if self.bd is None:
            raise AssertionError("a channel in the middle of a task has a BD")
        return self.bd

    def _outlet(self) -> Outlet:
        if self.outlet is None:
            raise AssertionError("an MM2S channel has an outlet")
        return self.outlet

    def _lock(self, lock: int) -> tuple[LockBank, int]:
        found = self._locks.get(lock)
        if found is not None:
            return found
        try:
            found = self._locks[lock] = self.host.dma_lock(lock, self.index)
            return found
        except EmulationError as error:
            raise self._error(f"BD {self.number}: {error.message}", error.kind) from error

    def _error(self, message: str, kind: str) -> EmulationError:
        return EmulationError(f"{self.name}: {message}", kind=kind, tile=str(self.host.address))
