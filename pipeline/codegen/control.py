"""The instruction stream: shim DMA tasks in the order in which the core needs them, under the limits.

A task is a shim BD, the patch of its address, and a push to a channel's start queue. A channel takes four
tasks, the shim has 16 BDs, the core's memory holds `RECORD_SLOTS` step records; where one runs out, the
stream waits. Waiting for a tile of the result frees all that the tile needed. Within a tile it waits for
the channel's oldest task, which can end because everything that the core needs before it was pushed
before. A task issues a token exactly where the stream waits for it, so that no run leaves one behind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..formats.txn import BlockWrite, DdrPatch, Operation, Sync, Transaction, Write32
from ..npu.descriptors import BufferDescriptor, descriptor_offset, encode
from ..npu.limits import LIMITS, TASK_QUEUE_DEPTH
from ..npu.registers import register
from ..npu.topology import OWN_DATA_BASE, Direction, TileKind
from .core_memory import RECORD_OFFSET, RECORD_SLOTS, RECORD_WORDS
from .routes import CORE, SHIM
from .transfers import Pattern

DEVICE_COLUMNS = 4
"""What the header of a TXN for npu1 says, whatever the partition (mlir-aie's and IREE's streams)."""

BURST_CODE, AXI_CACHE = 2, 2
"""256-byte bursts and AxCACHE 2, as mlir-aie's streams have them."""

TRANSLATED_ARGUMENTS = 5
DDR_APERTURE = 0x80000000
"""Firmware adds the aperture of DDR for the first five arguments only (mlir-aie folds it in for others)."""


@dataclass(frozen=True, slots=True, order=True)
class ShimChannel:
    """A DMA channel of the shim."""

    number: int
    output: bool

    @property
    def direction(self) -> Direction:
        return Direction.S2MM if self.output else Direction.MM2S


@dataclass(frozen=True, slots=True)
class Task:
    """One shim DMA task. `group` counts the tiles (or other units) whose outputs are waited for together.

    `records` are the step records that the core must find when this task's data arrive.
    """

    channel: ShimChannel
    group: int
    argument: int
    offset_bytes: int
    pattern: Pattern
    records: tuple[tuple[int, ...], ...] = ()


class Control(Protocol):
    """What makes a lowered problem's instruction stream."""

    def transaction(self, positions: Mapping[int, int]) -> Transaction:
        """The stream; `positions` are the kernel's arguments by binding."""
        ...


@dataclass(frozen=True, slots=True)
class OneCoreControl:
    """The tasks that feed one core; their `argument` is a binding. See `transaction` for `serial`."""

    tasks: tuple[Task, ...]
    serial: bool = False

    def transaction(self, positions: Mapping[int, int]) -> Transaction:
        tasks = [replace(task, argument=positions[task.argument]) for task in self.tasks]
        return transaction(tasks, serial=self.serial)


def record_address(slot: int) -> int:
    """Where the core finds record `slot` of the ring, in its own address space."""
    return OWN_DATA_BASE + RECORD_OFFSET + 4 * RECORD_WORDS * slot


def transaction(tasks: Sequence[Task], *, serial: bool = False) -> Transaction:
    """The stream of these tasks. `serial` waits for each group's outputs before the next group begins.

    Records get their last word here: the address of the next one, or of slot 0 after the last.
    """
    emitter = _Emitter(sum(len(task.records) for task in tasks))
    for task in tasks:
        emitter.enter(task.group, serial=serial)
        emitter.issue(task)
    emitter.finish()
    return Transaction(tuple(emitter.finished()), columns=DEVICE_COLUMNS)


@dataclass(slots=True)
class _Issued:
    task: Task
    descriptor: int
    push: int
    slots: int


@dataclass(slots=True)
class _Emitter:
    records_left: int
    operations: list[Operation] = field(default_factory=list[Operation])
    running: dict[ShimChannel, deque[_Issued]] = field(default_factory=dict[ShimChannel, "deque[_Issued]"])
    free: list[int] = field(default_factory=lambda: list(range(LIMITS[TileKind.SHIM].descriptors)))
    tokens: set[int] = field(default_factory=set[int])
    group: int = 0
    slots_used: int = 0
    late: list[_Issued] = field(default_factory=list["_Issued"])
    next_slot: int = 0

    # ----------------------------------------------------------------- what happens

    def enter(self, group: int, *, serial: bool) -> None:
        """Begins `group`; the outputs of the last but one are waited for, of the last too if `serial`."""
        if group != self.group:
            self.group = group
            self._wait_outputs(group - 1 if serial else group - 2)

    def issue(self, task: Task) -> None:
        queue = self.running.setdefault(task.channel, deque())
        while len(queue) >= TASK_QUEUE_DEPTH:
            self._make_room(queue)
        while not self.free:
            self._make_room(self._longest())
        while self.slots_used + len(task.records) > RECORD_SLOTS and queue:
            self._make_room(queue)
        self._write_records(task)
        number = self.free.pop(0)
        self._write_descriptor(task, number)
        name = f"DMA_{task.channel.direction.name}_START_QUEUE"
        push = register(TileKind.SHIM, name)
        self.operations.append(
            Write32(SHIM.address(push.at(task.channel.number)), push.encode(START_BD_ID=number))
        )
        queue.append(_Issued(task, number, len(self.operations) - 1, len(task.records)))

    def finish(self) -> None:
        self._wait_outputs(self.group)

    def finished(self) -> list[Operation]:
        """The operations, with the token bit in those pushes that are waited for."""
        result = list(self.operations)
        for index in self.tokens:
            push = result[index]
            assert isinstance(push, Write32)
            enable = register(TileKind.SHIM, "DMA_MM2S_START_QUEUE").encode(ENABLE_TOKEN_ISSUE=1)
            result[index] = Write32(push.address, push.value | enable)
        return result

    # ----------------------------------------------------------------- waiting

    def _make_room(self, queue: deque[_Issued]) -> None:
        """Waits for what ends first: an output of an earlier group, else the oldest task of `queue`."""
        outputs = [q[0] for channel, q in self.running.items() if channel.output and q]
        earlier = [issued for issued in outputs if issued.task.group < self.group]
        if earlier:
            self._wait_outputs(min(issued.task.group for issued in earlier))
        else:
            self._wait(queue)

    def _wait_outputs(self, group: int) -> None:
        """Waits for all outputs up to `group`: then all its inputs have arrived and been used, too."""
        for channel, queue in self.running.items():
            while channel.output and queue and queue[0].task.group <= group:
                self._wait(queue)
        for queue in self.running.values():
            while queue and queue[0].task.group <= group:
                self._retire(queue.popleft())
        self._read(lambda issued: issued.task.group <= group)

    def _wait(self, queue: deque[_Issued]) -> None:
        issued = queue.popleft()
        channel = issued.task.channel
        self.tokens.add(issued.push)
        self.operations.append(Sync(SHIM.column, SHIM.row, channel.direction.value, channel.number))
        self._retire(issued)

    def _retire(self, issued: _Issued) -> None:
        """The task is over. Its data are with the core, which may still have to read the last record:
        all records are read when the channel's next task is over, or the group's outputs are there."""
        self.free.append(issued.descriptor)
        self.free.sort()
        if issued.slots:
            self._read(lambda earlier: earlier.task.channel == issued.task.channel)
            self.late.append(issued)

    def _read(self, which: Callable[[_Issued], bool]) -> None:
        """The records of those tasks will not be read any more."""
        self.slots_used -= sum(issued.slots for issued in self.late if which(issued))
        self.late = [issued for issued in self.late if not which(issued)]

    def _longest(self) -> deque[_Issued]:
        inputs = (queue for channel, queue in self.running.items() if not channel.output and queue)
        return max(inputs, key=len)

    # ----------------------------------------------------------------- operations of a task

    def _write_records(self, task: Task) -> None:
        for record in task.records:
            slot = self.next_slot
            self.records_left -= 1
            self.slots_used += 1
            self.next_slot = (slot + 1) % RECORD_SLOTS if self.records_left else 0
            offset = record_address(slot) - OWN_DATA_BASE
            words = (*record, record_address(self.next_slot))
            self.operations.append(
                BlockWrite(CORE.address(offset), tuple(word & 0xFFFFFFFF for word in words))
            )

    def _write_descriptor(self, task: Task, number: int) -> None:
        descriptor = BufferDescriptor(
            address=0,
            length_words=task.pattern.length_words,
            steps=task.pattern.steps,
            wraps=task.pattern.wraps,
            burst_code=BURST_CODE,
            axi_cache=AXI_CACHE,
        )
        address = SHIM.address(descriptor_offset(TileKind.SHIM, number))
        self.operations.append(BlockWrite(address, encode(TileKind.SHIM, descriptor)))
        aperture = DDR_APERTURE if task.argument >= TRANSLATED_ARGUMENTS else 0
        self.operations.append(DdrPatch(address + 4, task.argument, task.offset_bytes + aperture))
