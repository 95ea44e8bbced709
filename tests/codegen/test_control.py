"""The instruction stream keeps the shim's limits, by a model that knows only what the stream waits for."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe.codegen.control import OneCoreControl, ShimChannel, Task, record_address, transaction
from aiepipe.codegen.core_memory import RECORD_SLOTS, RECORD_WORDS
from aiepipe.codegen.lowering import LEFT, RESULT, RIGHT, lower_scalar
from aiepipe.codegen.matching import match
from aiepipe.codegen.problem import Contraction
from aiepipe.codegen.transfers import Pattern
from aiepipe.formats.txn import BlockWrite, DdrPatch, Sync, Transaction, Write32
from aiepipe.npu.topology import OWN_DATA_BASE
from aiepipe.program import Dispatch

from .dispatches import batch_matmul, matmul

WORD = Pattern(1, (1, 1, 1), (0, 0))
TOKEN = 1 << 31
QUEUES = {0x1D214: LEFT, 0x1D21C: RIGHT, 0x1D204: RESULT}  # aie2-isa.md section 7
CHANNELS = {(1, 0): LEFT, (1, 1): RIGHT, (0, 0): RESULT}


@dataclass
class Shim:
    """What may still be running, as far as tokens tell; a tile's output tells that its inputs are over."""

    tasks: list[Task]
    running: dict[ShimChannel, deque[tuple[int, Task, bool]]] = field(
        default_factory=lambda: {channel: deque() for channel in (LEFT, RIGHT, RESULT)}
    )
    busy: set[int] = field(default_factory=set[int])

    def push(self, channel: ShimChannel, value: int) -> None:
        number = value & 0xF
        task = self.tasks.pop(0)
        assert task.channel == channel
        assert number not in self.busy, "a BD is written while it may be in use"
        self.busy.add(number)
        self.running[channel].append((number, task, bool(value & TOKEN)))
        assert len(self.running[channel]) <= 4, "a start queue holds four tasks"

    def sync(self, channel: ShimChannel) -> None:
        queue = self.running[channel]
        while True:
            assert queue, "a wait for a token that nothing issues"
            number, task, token = queue.popleft()
            self.busy.discard(number)
            if token:
                break
        if channel == RESULT:
            for other in (LEFT, RIGHT):
                while self.running[other] and self.running[other][0][1].group <= task.group:
                    number, _, token = self.running[other].popleft()
                    assert not token, "a token is left for the next run"
                    self.busy.discard(number)


def check(stream: Transaction, tasks: list[Task]) -> None:
    shim = Shim(list(tasks))
    for operation in stream.ops:
        match operation:
            case Write32(address=address, value=value):
                shim.push(QUEUES[address], value)
            case Sync(direction=direction, channel=channel):
                shim.sync(CHANNELS[direction, channel])
            case _:
                assert isinstance(operation, BlockWrite | DdrPatch)
    assert not shim.tasks
    assert not any(shim.running.values()), "the stream ends while tasks may run"


def tile_tasks(tiles: int, lefts: int, rights: int, records: int) -> list[Task]:
    """Tasks as lowering makes them: the result, then lefts and rights, `records` steps per left."""
    tasks: list[Task] = []
    for tile in range(tiles):
        tasks.append(Task(RESULT, tile, 2, 0, WORD))
        steps = lefts * records
        inputs = [(i * records, Task(LEFT, tile, 0, 0, WORD, ((i,) * 10,) * records)) for i in range(lefts)]
        inputs += [(i * steps // rights, Task(RIGHT, tile, 1, 0, WORD)) for i in range(rights)]
        tasks += [task for _, task in sorted(inputs, key=lambda entry: (entry[0], entry[1].channel))]
    return tasks


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 12), st.integers(1, 16), st.booleans())
def test_streams_keep_the_limits(tiles: int, lefts: int, rights: int, records: int, serial: bool) -> None:
    tasks = tile_tasks(tiles, lefts, rights, records)
    check(transaction(tasks, serial=serial), tasks)


@pytest.mark.parametrize(
    "dispatch",
    [
        matmul(64, 64, 16),
        matmul(256, 256, 256),
        matmul(255, 255, 255, operand="i8"),
        matmul(200, 200, 200, fill=None),
        batch_matmul(9, 8, 8, 8),
    ],
)
def test_streams_of_real_designs_keep_the_limits(dispatch: Dispatch) -> None:
    problem = match(dispatch)
    assert isinstance(problem, Contraction)
    control = lower_scalar(problem).control
    assert isinstance(control, OneCoreControl)
    check(transaction(control.tasks, serial=control.serial), list(control.tasks))


def test_records_form_a_chain_that_ends_where_it_began() -> None:
    tasks = tile_tasks(3, 4, 4, 16)  # 192 steps: four times round the ring
    writes = {}
    order: list[int] = []
    for operation in transaction(tasks).ops:
        if isinstance(operation, BlockWrite) and len(operation.words) == RECORD_WORDS:
            order.append(operation.address & 0xFFFF)
            writes[operation.address & 0xFFFF] = operation.words[-1]
            follower = operation.words[-1] - OWN_DATA_BASE
            assert follower == record_address(len(order) % RECORD_SLOTS) - OWN_DATA_BASE or len(order) == 192
    assert len(order) == 192
    assert order[0] == writes[order[-1]] - OWN_DATA_BASE == record_address(0) - OWN_DATA_BASE


def test_records_stand_before_the_task_that_brings_their_data() -> None:
    stream = transaction(tile_tasks(1, 1, 1, 3))
    kinds = [(type(op).__name__, op.address) for op in stream.ops if isinstance(op, BlockWrite | Write32)]
    pushed = kinds.index(("Write32", 0x1D214))
    core = [i for i, (_, address) in enumerate(kinds) if address >> 20 == 2]
    assert len(core) == 3
    assert max(core) < pushed


def test_a_serial_stream_waits_for_each_tile() -> None:
    operations = transaction(tile_tasks(3, 1, 1, 1), serial=True).ops
    order = [
        "wait" if isinstance(op, Sync) else "tile"
        for op in operations
        if isinstance(op, Sync) or (isinstance(op, Write32) and op.address == 0x1D204)
    ]
    assert order == ["tile", "wait"] * 3


def test_the_aperture_of_ddr_is_added_where_firmware_does_not() -> None:
    """Firmware translates arguments 0 to 4 only (facts/formats.md 3.3)."""
    stream = transaction([Task(RESULT, 0, argument, 8, WORD) for argument in (4, 5)])
    patches = [op for op in stream.ops if isinstance(op, DdrPatch)]
    assert [(patch.argument, patch.offset_bytes) for patch in patches] == [(4, 8), (5, 0x80000008)]
