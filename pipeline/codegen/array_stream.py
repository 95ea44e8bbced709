"""The instruction stream of a plan: for each round of tiles, what shims and memory tiles have to do.

A round is one tile of the result per core. Its operands are one task of each shim channel per size of
inner step, with all steps in one BD; memory tiles get the BDs of the variants that the round has, each
repeated for its steps. Two rounds may be on their way: before a third, the results of the first are
waited for, and with them all that it used is free again (queues of four, eight BDs a round and shim).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..formats.txn import BlockWrite, DdrPatch, Operation, Sync, Transaction, Write32
from ..npu.descriptors import BufferDescriptor, descriptor_offset, encode
from ..npu.limits import LIMITS, TASK_QUEUE_DEPTH, WORD_BYTES
from ..npu.registers import register
from ..npu.topology import FIRST_COMPUTE_ROW, MEMORY_ROW, SHIM_ROW, Direction, TileAddress, TileKind
from .array_design import (
    LEFT_CHANNEL,
    RIGHT_CHANNEL,
    MemoryPlan,
    Variant,
    columns_descriptor,
    initial_descriptor,
    result_channel,
)
from .array_plan import ArrayPlan, Split
from .control import AXI_CACHE, BURST_CODE, DDR_APERTURE, DEVICE_COLUMNS, TRANSLATED_ARGUMENTS
from .problem import Operand
from .transfers import Dimension, Pattern, pattern

ROUNDS_UNDER_WAY = 2


def rounds_under_way(plan: ArrayPlan) -> int:
    """Two, unless a channel's queue would have to hold more than its tasks."""
    tasks = len(inner_runs(plan.inner)) + (plan.initial is not None) + len(plan.column_operands)
    return ROUNDS_UNDER_WAY if ROUNDS_UNDER_WAY * tasks <= TASK_QUEUE_DEPTH else 1


def fetches_ahead(plan: ArrayPlan) -> int:
    """So many rounds' operands may be asked for and not yet sent by the shim when the next round's are: they
    need not wait for results to leave. 0 where a round has more on these channels than its operands.

    The memory tile may still have to send a round that the shim is done with: its queue holds one more.
    """
    if plan.initial is not None or plan.column_operands:
        return 0
    return min(ROUNDS_UNDER_WAY, TASK_QUEUE_DEPTH // len(inner_runs(plan.inner)) - 1)


_RESULT_MEMORY_CHANNELS = (2, 3)
"""The memory tile's MM2S channels that results leave by, to the shim's S2MM 0 and 1."""


@dataclass(frozen=True, slots=True)
class ArrayControl:
    """What the stream is made of, once the places of the arguments are known."""

    plan: ArrayPlan
    memories: tuple[MemoryPlan, ...]

    def transaction(self, positions: Mapping[int, int]) -> Transaction:
        """The stream; `positions` are the kernel's arguments by binding."""
        emitter = _Emitter(self.plan, self.memories, positions)
        for number, place in enumerate(rounds(self.plan)):
            emitter.round(number, place)
        emitter.finish()
        return Transaction(tuple(emitter.operations), columns=DEVICE_COLUMNS)


@dataclass(frozen=True, slots=True)
class Round:
    """Values of the outer loops, and the first part of rows and of columns."""

    outer: tuple[int, ...]
    row_part: int
    column_part: int


def rounds(plan: ArrayPlan) -> Iterator[Round]:
    """In the order of their computation."""
    outer = [range(plan.problem.loops[d]) for d in plan.outer]
    row_parts = range(0, plan.rows.parts, plan.core_rows)
    column_parts = range(0, plan.columns.parts, plan.core_columns)
    for *values, row_part, column_part in itertools.product(*outer, row_parts, column_parts):
        yield Round(tuple(values), row_part, column_part)


def inner_runs(split: Split) -> list[tuple[int, int, int]]:
    """Steps of one size: (first value, size, how many)."""
    runs = [(0, split.size(0), split.extra)]
    if split.extra < split.parts:
        runs.append((split.start(split.extra), split.size(split.extra), split.parts - split.extra))
    return runs


def operand_pattern(
    plan: ArrayPlan, operand: Operand, along: int, size: int, run: tuple[int, int, int], *, across: bool
) -> Pattern | None:
    """What one shim task fetches of an operand: for each step of `run`, its rows as they stand in DDR.

    They run along the inner loop, or `across` it, along the parallel one."""
    inner, bytes_ = plan.problem.inner, operand.element_bytes
    _, length, count = run

    def words(loop: int, values: int) -> Dimension:
        return values, operand.strides[loop] * bytes_ // WORD_BYTES

    def packed(values: int) -> Dimension:
        return values * bytes_ // WORD_BYTES, 1

    steps = (count, operand.strides[inner] * length * bytes_ // WORD_BYTES)
    rows = words(inner, length) if across else words(along, size)
    return pattern((steps, rows, packed(size if across else length)))


def result_pattern(plan: ArrayPlan, rows: int, columns: int) -> Pattern | None:
    """Where one shim task puts a core's tile."""
    problem, size = plan.problem, plan.result_bytes
    if size == WORD_BYTES:
        return tile_pattern(plan, problem.result, rows, columns)
    pitch = problem.result.strides[problem.row] * size // WORD_BYTES
    return pattern(((rows, pitch), (columns * size // WORD_BYTES, 1)))


def tile_pattern(plan: ArrayPlan, operand: Operand, rows: int, columns: int) -> Pattern | None:
    """A tile of the result, or of the accumulator that it begins with."""
    problem = plan.problem
    return pattern(((rows, operand.strides[problem.row]), (columns, operand.strides[problem.column])))


def expressible(plan: ArrayPlan) -> bool:
    """Whether shim BDs can express all transfers of the plan."""
    problem, kernel = plan.problem, plan.kernel
    found = [
        operand_pattern(plan, operand, along, size, run, across=across)
        for operand, along, split, across in (
            (problem.left, problem.row, plan.rows, kernel.left_transposed),
            (problem.right, problem.column, plan.columns, not kernel.right_transposed),
        )
        for size in split.sizes
        for run in inner_runs(plan.inner)
    ]
    found += [
        result_pattern(plan, *sizes) for sizes in itertools.product(plan.rows.sizes, plan.columns.sizes)
    ]
    if plan.initial is not None:
        found += [
            tile_pattern(plan, plan.initial, *sizes)
            for sizes in itertools.product(plan.rows.sizes, plan.columns.sizes)
        ]
    return None not in found


@dataclass(slots=True)
class _Emitter:
    plan: ArrayPlan
    memories: tuple[MemoryPlan, ...]
    positions: Mapping[int, int]
    operations: list[Operation] = field(default_factory=list[Operation])
    under_way: int = 0
    operands_under_way: int = 0

    # ----------------------------------------------------------------- rounds

    def round(self, number: int, place: Round) -> None:
        if fetches_ahead(self.plan):
            self._round_ahead(number, place)
        else:
            self._round(number, place)

    def _round_ahead(self, number: int, place: Round) -> None:
        """Operands first, as soon as the shim has sent those of the rounds before."""
        plan = self.plan
        count = LIMITS[TileKind.SHIM].descriptors // ROUNDS_UNDER_WAY
        first = number % ROUNDS_UNDER_WAY * count
        if self.operands_under_way == fetches_ahead(plan):
            self._wait_operands()
        self.operands_under_way += 1
        for column in range(plan.array_columns):
            free = iter(range(first + plan.core_rows, first + count))
            self._operands(place, column, free, token=True)
        if self.under_way == ROUNDS_UNDER_WAY:
            self._wait()
        self.under_way += 1
        for column in range(plan.core_columns):
            self._results(place, column, iter(range(first, first + plan.core_rows)))

    def _round(self, number: int, place: Round) -> None:
        if self.under_way == rounds_under_way(self.plan):
            self._wait()
        self.under_way += 1
        plan = self.plan
        count = LIMITS[TileKind.SHIM].descriptors // rounds_under_way(plan)
        first = number % rounds_under_way(plan) * count
        free = [iter(range(first, first + count)) for _ in range(plan.array_columns)]
        for column in range(plan.core_columns):
            self._results(place, column, free[column])
        if plan.initial is not None:
            for column in range(plan.core_columns):
                self._initial(place, column, free[column], plan.initial)
        for column in range(plan.array_columns):
            self._operands(place, column, free[column])
        if plan.column_operands:
            for column in range(plan.core_columns):
                self._columns(place, column, free[column])

    def finish(self) -> None:
        while self.under_way:
            self._wait()
        while self.operands_under_way:
            self._wait_operands()

    def _wait_operands(self) -> None:
        """For the operands of the oldest round: they have left DDR."""
        for channel, columns in (
            (LEFT_CHANNEL, self.plan.core_rows),
            (RIGHT_CHANNEL, self.plan.core_columns),
        ):
            self.operations.append(Sync(0, SHIM_ROW, Direction.MM2S.value, channel, columns=columns))
        self.operands_under_way -= 1

    def _wait(self) -> None:
        """For the results of the oldest round: one token of each channel that results leave by."""
        for channel in sorted({result_channel(self.plan, row) for row in range(self.plan.core_rows)}):
            self.operations.append(
                Sync(0, SHIM_ROW, Direction.S2MM.value, channel, columns=self.plan.core_columns)
            )
        self.under_way -= 1

    def _results(self, place: Round, column: int, free: Iterator[int]) -> None:
        plan, problem = self.plan, self.plan.problem
        last_of = {result_channel(plan, row): row for row in range(plan.core_rows)}
        columns = plan.columns.size(place.column_part + column)
        for row in range(plan.core_rows):
            channel = result_channel(plan, row)
            rows = plan.rows.size(place.row_part + row)
            starts = {
                problem.row: plan.rows.start(place.row_part + row),
                problem.column: plan.columns.start(place.column_part + column),
            }
            self._shim_task(
                TileAddress(column, SHIM_ROW),
                Direction.S2MM,
                channel,
                next(free),
                problem.result,
                self._first(problem.result, place, starts),
                result_pattern(plan, rows, columns),
                token=last_of[channel] == row,
            )
            send = self.memories[column].results[row][rows, columns]
            self._start(
                TileAddress(column, MEMORY_ROW), Direction.MM2S, _RESULT_MEMORY_CHANNELS[channel], send
            )

    def _initial(self, place: Round, column: int, free: Iterator[int], initial: Operand) -> None:
        """The accumulator of the column's one core, then its right operand, on one channel."""
        plan, problem = self.plan, self.plan.problem
        rows, columns = plan.rows.size(place.row_part), plan.columns.size(place.column_part + column)
        core, memory = TileAddress(column, FIRST_COMPUTE_ROW), TileAddress(column, MEMORY_ROW)
        first = initial_descriptor()
        self._start(core, Direction.S2MM, RIGHT_CHANNEL, first)
        self._start(core, Direction.S2MM, RIGHT_CHANNEL, first + 1, plan.inner.parts)
        variant = self.memories[column].initial[rows, columns]
        self._start(memory, Direction.S2MM, RIGHT_CHANNEL, variant.take)
        self._start(memory, Direction.MM2S, RIGHT_CHANNEL, variant.send)
        starts = {
            problem.row: plan.rows.start(place.row_part),
            problem.column: plan.columns.start(place.column_part + column),
        }
        self._shim_task(
            TileAddress(column, SHIM_ROW),
            Direction.MM2S,
            RIGHT_CHANNEL,
            next(free),
            initial,
            self._first(initial, place, starts),
            tile_pattern(plan, initial, rows, columns),
        )

    def _columns(self, place: Round, column: int, free: Iterator[int]) -> None:
        """What the epilogue takes for each column, to all cores of one, after the right operand's steps."""
        plan, problem = self.plan, self.plan.problem
        size = plan.columns.size(place.column_part + column)
        memory, first = TileAddress(column, MEMORY_ROW), columns_descriptor()
        for row in range(plan.core_rows):
            core = TileAddress(column, FIRST_COMPUTE_ROW + row)
            self._start(core, Direction.S2MM, RIGHT_CHANNEL, first, plan.inner.parts)
            for number in range(len(plan.column_operands)):
                self._start(core, Direction.S2MM, RIGHT_CHANNEL, first + 1 + number)
        for operand, variants in zip(plan.column_operands, self.memories[column].columns, strict=True):
            self._start(memory, Direction.S2MM, RIGHT_CHANNEL, variants[size].take)
            self._start(memory, Direction.MM2S, RIGHT_CHANNEL, variants[size].send)
            starts = {problem.column: plan.columns.start(place.column_part + column)}
            self._shim_task(
                TileAddress(column, SHIM_ROW),
                Direction.MM2S,
                RIGHT_CHANNEL,
                next(free),
                operand,
                self._first(operand, place, starts),
                pattern(((size * operand.element_bytes // WORD_BYTES, 1),)),
            )

    def _operands(self, place: Round, column: int, free: Iterator[int], *, token: bool = False) -> None:
        plan, problem, kernel = self.plan, self.plan.problem, self.plan.kernel
        memory = self.memories[column]
        for channel, operand, along, split, part, variants, across in (
            (
                LEFT_CHANNEL,
                problem.left,
                problem.row,
                plan.rows,
                place.row_part + column,
                memory.left,
                kernel.left_transposed,
            ),
            (
                RIGHT_CHANNEL,
                problem.right,
                problem.column,
                plan.columns,
                place.column_part + column,
                memory.right,
                not kernel.right_transposed,
            ),
        ):
            if not variants:
                continue
            size = split.size(part)
            for run in inner_runs(plan.inner):
                variant: Variant = variants[size, run[1]]
                tile = TileAddress(column, MEMORY_ROW)
                self._start(tile, Direction.S2MM, channel, variant.take, run[2])
                self._start(tile, Direction.MM2S, channel, variant.send, run[2])
                starts = {along: split.start(part), problem.inner: run[0]}
                self._shim_task(
                    TileAddress(column, SHIM_ROW),
                    Direction.MM2S,
                    channel,
                    next(free),
                    operand,
                    self._first(operand, place, starts),
                    operand_pattern(plan, operand, along, size, run, across=across),
                    token=token and run[0] + run[1] * run[2] == plan.inner.total,
                )

    def _first(self, operand: Operand, place: Round, starts: Mapping[int, int]) -> int:
        """Byte offset in the buffer of the element at these loop values."""
        values = {**dict(zip(self.plan.outer, place.outer, strict=True)), **starts}
        elements = operand.view.base + sum(operand.strides[d] * value for d, value in values.items())
        return elements * operand.element_bytes

    # ----------------------------------------------------------------- operations

    def _start(
        self, tile: TileAddress, direction: Direction, channel: int, descriptor: int, repeat: int = 1
    ) -> None:
        queue = register(tile.kind, f"DMA_{direction.name}_START_QUEUE")
        value = queue.encode(START_BD_ID=descriptor, REPEAT_COUNT=repeat - 1)
        self.operations.append(Write32(tile.address(queue.at(channel)), value))

    def _shim_task(
        self,
        shim: TileAddress,
        direction: Direction,
        channel: int,
        number: int,
        operand: Operand,
        offset_bytes: int,
        moves: Pattern | None,
        *,
        token: bool = False,
    ) -> None:
        binding = operand.view.binding
        assert moves is not None, "the plan was checked to be expressible"
        assert binding is not None, "a constant is not transferred"
        descriptor = BufferDescriptor(
            address=0,
            length_words=moves.length_words,
            steps=moves.steps,
            wraps=moves.wraps,
            burst_code=BURST_CODE,
            axi_cache=AXI_CACHE,
        )
        address = shim.address(descriptor_offset(TileKind.SHIM, number))
        argument = self.positions[binding]
        aperture = DDR_APERTURE if argument >= TRANSLATED_ARGUMENTS else 0
        queue = register(TileKind.SHIM, f"DMA_{direction.name}_START_QUEUE")
        self.operations += [
            BlockWrite(address, encode(TileKind.SHIM, descriptor)),
            DdrPatch(address + 4, argument, offset_bytes + aperture),
            Write32(
                shim.address(queue.at(channel)),
                queue.encode(START_BD_ID=number, ENABLE_TOKEN_ISSUE=int(token)),
            ),
        ]
