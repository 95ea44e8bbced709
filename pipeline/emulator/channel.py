"""A DMA channel: its start queue, and the way through BDs, locks, words and tokens.

A task is a chain of BDs from the one in the start queue along next_bd, executed `repeat` times. Each BD is
read from the registers when its turn comes; then the channel waits for its lock, moves its words, and
releases. One token per task, after all repeats. Sources: facts/aie2-isa.md section 7, facts/emulation.md;
finish-on-TLAST modes as in aie-rt (0 off, 1 without counts, 2 and 3 with).
"""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..errors import EmulationError
from ..npu.descriptors import BufferDescriptor
from ..npu.limits import TASK_QUEUE_DEPTH, WORD_BYTES, usable_descriptors
from ..npu.topology import Direction, TileAddress
from .addressing import Pattern, pattern_of
from .fabric import Active, Fabric, Outlet
from .locks import LockBank, wanted
from .memory import Store
from .packets import Token, out_of_order_id, packet_header
from .streams import WORDS_PER_SWITCH, Fifo, Words

SLICE_WORDS = 1 << 14
"""Longest slice that moves at once."""

_BURST = 64
"""BDs that a channel may finish before others get their turn."""


@dataclass(frozen=True, slots=True)
class Task:
    """An entry of the start queue."""

    descriptor: int
    repeats: int
    token: bool


class State(enum.Enum):
    """What a channel is doing."""

    IDLE = 0
    SELECT = 1
    """An out-of-order channel waits for the header that names its BD."""
    ACQUIRE = 2
    HEADER = 3
    TRANSFER = 4
    TOKEN = 5


class Host(Protocol):
    """What a channel needs from its tile."""

    address: TileAddress
    fabric: Fabric

    def descriptor(self, number: int) -> BufferDescriptor:
        """BD `number` as the registers hold it now."""
        ...

    def iterate(self, number: int, current: int) -> None:
        """Writes the iteration counter of BD `number`."""
        ...

    def dma_lock(self, lock: int, channel: int) -> tuple[LockBank, int]:
        """The lock that a BD means by this id. Raises EmulationError where there is none."""
        ...

    def send_token(self, token: Token, controller: int) -> bool:
        """Offers a token to the tile's control port. True when taken."""
        ...


class Channel(Active):
    """One channel; S2MM channels are sinks of streams, MM2S channels have an `outlet`."""

    def __init__(
        self, host: Host, direction: Direction, index: int, store: Store, outlet: Outlet | None
    ) -> None:
        self.host = host
        self.direction = direction
        self.index = index
        self.name = f"{host.address} {direction.name} {index}"
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
        self.bd: BufferDescriptor | None = None
        self.number = 0
        # for estimates, limits and reports
        self.time = 0
        self.words_moved = 0
        self.steps = 0
        self._store = store
        self._task = Task(0, 0, token=False)
        self._repeats_left = 0
        self._pattern = Pattern(0, ((0, 1),))
        self._base = 0
        self._done = 0
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
        self.fifo.capacity = max(self.fifo.capacity, switches * WORDS_PER_SWITCH)

    def describe(self) -> str:
        return self.name

    def holder(self) -> str:
        return self.name

    def _needed(self) -> int:
        if self.finish_on_tlast and self.fifo.packets:
            return 0
        return min(self._pattern.length - self._done, SLICE_WORDS)

    # ----------------------------------------------------------------- moving

    def idle(self) -> bool:
        return self.held or (self.state is State.IDLE and not self.queue)

    def advance(self) -> bool:
        if self.held:
            return False
        before = self.steps
        moved = False
        while self._step():
            moved = True
            if self.steps - before >= _BURST:
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
        self._repeats_left = self._task.repeats
        self._begin_repeat()
        return True

    def _begin_repeat(self) -> None:
        if self.out_of_order and self.direction is Direction.S2MM:
            self.state = State.SELECT
        else:
            self._begin(self._task.descriptor)

    def _select(self) -> bool:
        if not self.fifo.count:
            return False
        header, _, _ = self.fifo.take(1)
        self._begin(out_of_order_id(int(header[0])))
        return True

    def _begin(self, number: int) -> None:
        """Reads BD `number` and starts it."""
        self.steps += 1
        if number not in self._descriptors:
            usable = f"{self._descriptors.start} to {self._descriptors.stop - 1}"
            raise self._error(f"cannot use BD {number}, only {usable}", "bad-bd")
        self.number = number
        self.bd = bd = self.host.descriptor(number)
        if not bd.valid:
            raise self._error(f"BD {number} was started and is not valid", "bad-bd")
        if bd.compression:
            raise self._error(f"BD {number} asks for compression, which is not emulated", "unsupported")
        try:
            self._pattern = pattern_of(bd)
        except ValueError as error:
            raise self._error(f"BD {number}: {error}", "bad-bd") from error
        self._base = bd.address // WORD_BYTES + bd.iteration_current * bd.iteration_step
        following = bd.iteration_current + 1
        if bd.iteration_wrap > 1:
            self.host.iterate(number, 0 if following >= bd.iteration_wrap else following)
        self._done = 0
        self.state = State.ACQUIRE if bd.acquire_enable else self._after_acquire(bd)

    def _after_acquire(self, bd: BufferDescriptor) -> State:
        return State.HEADER if bd.packet_enable and self.direction is Direction.MM2S else State.TRANSFER

    def _acquire(self) -> bool:
        bd = self._current()
        bank, lock = self._lock(bd.acquire_lock)
        granted = bank.acquire(lock, bd.acquire_value)
        if granted is None:
            return False
        self.time = max(self.time, granted) + 1
        self.state = self._after_acquire(bd)
        return True

    def _header(self) -> bool:
        bd = self._current()
        route = self._outlet().route()
        if not route.room():
            return False
        word = packet_header(self.host.address, bd.packet_id, bd.packet_type, bd.out_of_order_id)
        self.time += 1
        empty = self._pattern.length == 0
        route.push(np.array([word], np.uint32), empty and not bd.tlast_suppress, self.time)
        self.state = State.TRANSFER
        return True

    def _send(self) -> bool:
        left = self._pattern.length - self._done
        if left == 0:
            return self._finish()
        route = self._outlet().route()
        count = min(left, route.room(), SLICE_WORDS)
        if count == 0:
            return False
        try:
            words = self._store.gather(self._pattern.piece(self._base, self._done, count))
        except EmulationError as error:
            raise self._error(f"BD {self.number}: {error.message}", error.kind) from error
        self._count(count, route.ready_time())
        route.push(words, count == left and not self._current().tlast_suppress, self.time)
        return True

    def _receive(self) -> bool:
        left = self._pattern.length - self._done
        if left == 0:
            return self._finish()
        if not self.fifo.count:
            return False
        words, last, time = self.fifo.take(left)
        try:
            self._store.scatter(self._pattern.piece(self._base, self._done, words.size), words)
        except EmulationError as error:
            raise self._error(f"BD {self.number}: {error.message}", error.kind) from error
        self._count(words.size, time - words.size)
        if last and self.finish_on_tlast:
            return self._finish()
        return True

    def _count(self, words: int, start: int) -> None:
        self.time = max(self.time, start) + words
        self.words_moved += words
        self.steps += 1 + words // SLICE_WORDS
        self._done += words

    def _finish(self) -> bool:
        """The BD's last word is through."""
        bd = self._current()
        if bd.release_value:
            bank, lock = self._lock(bd.release_lock)
            bank.release(lock, bd.release_value, who=self.name, time=self.time)
        if bd.next_bd is not None:
            self._begin(bd.next_bd)
            return True
        self._repeats_left -= 1
        if self._repeats_left > 0:
            self._begin_repeat()
        else:
            self.state = State.TOKEN if self._task.token else State.IDLE
            self.bd = None
        return True

    def _token(self) -> bool:
        token = Token(self.host.address, self.direction, self.index)
        if not self.host.send_token(token, self.controller):
            return False
        self.state = State.IDLE
        return True

    # ----------------------------------------------------------------- what it waits for

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
            held = bank.values[number]
            return f"{place} waits for lock {number} of {bank.tile} {wanted(value)}, which is {held}"
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
        try:
            return self.host.dma_lock(lock, self.index)
        except EmulationError as error:
            raise self._error(f"BD {self.number}: {error.message}", error.kind) from error

    def _error(self, message: str, kind: str) -> EmulationError:
        return EmulationError(f"{self.name}: {message}", kind=kind, tile=str(self.host.address))
