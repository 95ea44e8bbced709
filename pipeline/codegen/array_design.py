"""A plan as a design: buffers, locks and BDs of cores and memory tiles, and the wires between them.

Memory tile c (c counts columns) feeds core row c with the left operand and core column c with the right
one, and gathers the results of core column c. Operands come from the shim as they stand in DDR, row by
row; going out, the memory tile adds zeros up to whole blocks, and the core's DMA puts each block where the
multiplier wants it. Results go back the same way.

Tiles come in at most four variants of an operand (two sizes along either loop, `Split`). Each variant has
its own pair of buffers in the memory tile, its own BD into it and out of it, and its own pair of locks;
the instruction stream starts these, tile by tile. A BD takes its two buffers in turn by its iteration.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..npu.descriptors import BufferDescriptor
from ..npu.limits import WORD_BYTES, usable_descriptors
from ..npu.topology import (
    FIRST_COMPUTE_ROW,
    MEMORY_ROW,
    MEMORY_TILE_OWN_BASE_BYTES,
    MEMORY_TILE_OWN_LOCK_BASE,
    SHIM_DMA_MASTERS,
    SHIM_DMA_SLAVES,
    SHIM_ROW,
    TOKEN_MASTER,
    Bundle,
    Direction,
    Port,
    TileAddress,
    TileKind,
)
from .array_plan import ArrayPlan, Split
from .bank_layout import place_in_banks
from .configuration import Channel, Design, TileDesign
from .core_memory import Lock
from .matrix_modes import BLOCK_ROWS
from .routes import Connection
from .vector_program import VectorProgram

LEFT_CHANNEL, RIGHT_CHANNEL = 0, 1
"""Of shim, memory tile and core alike, on the way in."""
_FIRST_RESULT_CHANNEL = 2
"""Of the memory tile: results of core row r come in at 2 + r and go out at 2 or 3."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One size of tile in a memory tile: the BDs that take it in and send it on."""

    take: int
    send: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What the instruction stream may start in a memory tile.

    `left` and `right` by (size along their parallel loop, size along the inner one); `initial`, the
    accumulators that come from memory by the right operand's channel, by (rows, columns); `results` by core
    row, then (rows, columns).
    """

    left: Mapping[tuple[int, int], Variant]
    initial: Mapping[tuple[int, int], Variant]
    columns: Sequence[Mapping[int, Variant]]
    right: Mapping[tuple[int, int], Variant]
    results: Sequence[Mapping[tuple[int, int], int]]


@dataclass(frozen=True, slots=True)
class ArrayDesign:
    """The design without its code, and the memory tiles' parts by column."""

    design: Design
    memories: tuple[MemoryPlan, ...]


def result_channel(plan: ArrayPlan, core_row: int) -> int:
    """The shim's S2MM channel that results of a core row leave by: the rows are shared out to both."""
    return int(core_row >= -(-plan.core_rows // 2))


def program(plan: ArrayPlan, begin: int | None) -> VectorProgram:
    """The program of each core."""
    problem, places = plan.problem, _CorePlaces.of(plan)
    return VectorProgram(
        op=problem.op,
        shape=plan.kernel,
        left_signed=problem.left.view.signed,
        right_signed=problem.right.view.signed,
        left=places.left,
        right=places.right,
        sums=places.sums,
        result=places.result,
        columns=places.columns,
        epilogue=problem.epilogue,
        written=problem.result.view,
        steps=plan.inner.parts,
        begin=begin,
    )


def design(plan: ArrayPlan, code: bytes) -> ArrayDesign:
    """The design of the plan with `code` in each core."""
    core = _core(plan, code)
    tiles: dict[TileAddress, TileDesign] = {
        TileAddress(column, FIRST_COMPUTE_ROW + row): core
        for column in range(plan.core_columns)
        for row in range(plan.core_rows)
    }
    memories: list[MemoryPlan] = []
    for column in range(plan.array_columns):
        part, memory = _memory_tile(plan, column)
        tiles[TileAddress(column, MEMORY_ROW)] = part
        memories.append(memory)
    connections = tuple(dict.fromkeys(_connections(plan)))
    return ArrayDesign(Design(tiles, connections, plan.array_columns), tuple(memories))


# --------------------------------------------------------------------------- cores


@dataclass(frozen=True, slots=True)
class _CorePlaces:
    """Offsets of the buffers. `sums` are the results themselves, unless an epilogue makes these of them."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    result: tuple[int, ...]
    sums: tuple[int, ...]
    columns: tuple[int, ...]

    @classmethod
    def of(cls, plan: ArrayPlan) -> _CorePlaces:
        epilogue = plan.problem.epilogue is not None
        sizes = [plan.result_words] * epilogue
        sizes += [plan.chunk_words(operand) for operand in plan.column_operands]
        found = place_in_banks(
            plan.left_words * WORD_BYTES,
            plan.right_words * WORD_BYTES,
            [plan.sent_words * WORD_BYTES] * plan.result_buffers,
            sum(sizes) * WORD_BYTES,
        )
        rest = list(itertools.accumulate((size * WORD_BYTES for size in sizes), initial=found.end))[:-1]
        sums = (rest[0],) if epilogue else found.result
        return cls(found.left, found.right, found.result, sums, tuple(rest[int(epilogue) :]))


def _core(plan: ArrayPlan, code: bytes) -> TileDesign:
    places, kernel, mode = _CorePlaces.of(plan), plan.kernel, plan.mode
    left = (
        _Box(kernel.inner, kernel.rows, BLOCK_ROWS, mode.left_bytes)
        if kernel.left_transposed
        else _Box(kernel.rows, kernel.inner, mode.inner, mode.left_bytes)
    )
    right = (
        _Box(kernel.columns, kernel.inner, mode.inner, mode.right_bytes)
        if kernel.right_transposed
        else _Box(kernel.inner, kernel.columns, mode.columns, mode.right_bytes)
    )
    result = _Box(kernel.rows, kernel.columns, mode.columns, plan.result_bytes)
    descriptors: dict[int, BufferDescriptor] = {}
    channels: list[Channel] = []
    for direction, channel, box, buffers, locks in (
        (Direction.S2MM, LEFT_CHANNEL, left, places.left, (Lock.LEFT_FREE, Lock.LEFT_FULL)),
        (Direction.S2MM, RIGHT_CHANNEL, right, places.right, (Lock.RIGHT_FREE, Lock.RIGHT_FULL)),
        (Direction.MM2S, 0, result, places.result, (Lock.RESULT_FULL, Lock.RESULT_FREE)),
    ):
        if plan.initial is not None and channel == RIGHT_CHANNEL and direction is Direction.S2MM:
            descriptors |= _accumulating(plan, len(descriptors), right, result)
            continue
        if plan.column_operands and channel == RIGHT_CHANNEL and direction is Direction.S2MM:
            descriptors |= _with_columns(plan, len(descriptors), right)
            continue
        first = len(descriptors)
        channels.append(Channel(direction, channel, first))
        for number, address in enumerate(buffers):
            following = first + (number + 1) % len(buffers)
            descriptors[first + number] = box.blocked(address, *locks, following)
    free = {Lock.LEFT_FREE: 2, Lock.RIGHT_FREE: 2, Lock.RESULT_FREE: plan.result_buffers}
    free |= {Lock.COLUMNS_FREE: len(plan.column_operands)} if plan.column_operands else {}
    return TileDesign(
        code, {}, {lock.value: count for lock, count in free.items()}, descriptors, tuple(channels)
    )


def initial_descriptor() -> int:
    """The core's BD for an accumulator that comes from memory; the next one is for the right operand. The
    stream starts both."""
    return 2  # after the two of the left operand's ring


def _accumulating(plan: ArrayPlan, first: int, right: _Box, result: _Box) -> dict[int, BufferDescriptor]:
    """The BDs of the right operand's channel where accumulators come by it, too: no ring, as the stream knows
    how many steps there are; their buffers take turns by iteration."""
    assert first == initial_descriptor()
    places = _CorePlaces.of(plan)
    found: dict[int, BufferDescriptor] = {}
    for number, (box, buffers, acquire, release) in enumerate(
        (
            (result, places.result, Lock.RESULT_FREE, Lock.RESULT_LOADED),
            (right, places.right, Lock.RIGHT_FREE, Lock.RIGHT_FULL),
        ),
        first,
    ):
        apart = (buffers[-1] - buffers[0]) // WORD_BYTES
        found[number] = replace(
            box.blocked(buffers[0], acquire, release, number),
            next_bd=None,
            iteration_step=apart or 1,
            iteration_wrap=len(buffers),
        )
    return found


def columns_descriptor() -> int:
    """The core's BD for the right operand where the epilogue's operands come by its channel, too; the next
    ones are for these. The stream starts them."""
    return 2  # after the two of the left operand's ring


def _with_columns(plan: ArrayPlan, first: int, right: _Box) -> dict[int, BufferDescriptor]:
    """The BDs of the right operand's channel where the epilogue's operands come after its steps."""
    assert first == columns_descriptor()
    places = _CorePlaces.of(plan)
    found = {
        first: replace(
            right.blocked(places.right[0], Lock.RIGHT_FREE, Lock.RIGHT_FULL, first),
            next_bd=None,
            iteration_step=(places.right[1] - places.right[0]) // WORD_BYTES,
            iteration_wrap=len(places.right),
        )
    }
    for number, (operand, address) in enumerate(
        zip(plan.column_operands, places.columns, strict=True), first + 1
    ):
        found[number] = BufferDescriptor(
            address=address,
            length_words=plan.chunk_words(operand),
            acquire_enable=True,
            acquire_lock=Lock.COLUMNS_FREE,
            acquire_value=-1,
            release_lock=Lock.COLUMNS_FULL,
            release_value=1,
        )
    return found


@dataclass(frozen=True, slots=True)
class _Box:
    """A stream of `rows` runs of `length` elements, which memory has as columns of blocks `block` wide."""

    rows: int
    length: int
    block: int
    element_bytes: int

    def blocked(self, address: int, acquire: Lock, release: Lock, following: int) -> BufferDescriptor:
        run = self.block * self.element_bytes // WORD_BYTES
        blocks = self.length // self.block
        return BufferDescriptor(
            address=address,
            length_words=self.rows * blocks * run,
            steps=(1, self.rows * run, run),
            wraps=(run, blocks),
            next_bd=following,
            acquire_enable=True,
            acquire_lock=acquire,
            acquire_value=-1,
            release_lock=release,
            release_value=1,
        )


# --------------------------------------------------------------------------- memory tiles


@dataclass(slots=True)
class _MemoryTile:
    """Hands out memory, locks and BDs."""

    descriptors: dict[int, BufferDescriptor] = field(default_factory=dict[int, BufferDescriptor])
    locks: dict[int, int] = field(default_factory=dict[int, int])
    end_bytes: int = MEMORY_TILE_OWN_BASE_BYTES

    def memory(self, words: int) -> int:
        address = self.end_bytes
        self.end_bytes += words * WORD_BYTES
        return address

    def lock(self, value: int) -> int:
        number = len(self.locks)
        self.locks[number] = value
        return MEMORY_TILE_OWN_LOCK_BASE + number

    def descriptor(self, channel: int, made: BufferDescriptor) -> int:
        number = self.next_number(channel)
        self.descriptors[number] = made
        return number

    def next_number(self, channel: int) -> int:
        usable = usable_descriptors(TileKind.MEMORY, channel)
        return next(number for number in usable if number not in self.descriptors)


def _memory_tile(plan: ArrayPlan, column: int) -> tuple[TileDesign, MemoryPlan]:
    tile, kernel, mode = _MemoryTile(), plan.kernel, plan.mode
    left: dict[tuple[int, int], Variant] = {}
    right: dict[tuple[int, int], Variant] = {}
    initial: dict[tuple[int, int], Variant] = {}
    chunks: list[dict[int, Variant]] = []
    results: list[dict[tuple[int, int], int]] = []
    channels: list[Channel] = []
    if column < plan.core_rows:
        left = _operand(
            tile,
            LEFT_CHANNEL,
            plan.rows,
            plan.inner,
            kernel.rows,
            kernel.inner,
            kernel.left_transposed,
            mode.left_bytes,
        )
    if column < plan.core_columns:
        right = _operand(
            tile,
            RIGHT_CHANNEL,
            plan.columns,
            plan.inner,
            kernel.columns,
            kernel.inner,
            not kernel.right_transposed,
            mode.right_bytes,
        )
        if plan.initial is not None:
            initial = _operand(
                tile, RIGHT_CHANNEL, plan.rows, plan.columns, kernel.rows, kernel.columns, False, WORD_BYTES
            )
        for operand in plan.column_operands:
            one, width = Split(1, 1, 1), operand.element_bytes
            made = _operand(tile, RIGHT_CHANNEL, one, plan.columns, 1, kernel.columns, False, width)
            chunks.append({columns: variant for (_, columns), variant in made.items()})
        for row in range(plan.core_rows):
            sends = _result(tile, plan, row, channels)
            results.append(sends)
    part = TileDesign(b"", {}, tile.locks, tile.descriptors, tuple(channels))
    return part, MemoryPlan(left, initial, tuple(chunks), right, tuple(results))


def _operand(
    tile: _MemoryTile,
    channel: int,
    outside: Split,
    inside: Split,
    padded_outside: int,
    padded_inside: int,
    across: bool,
    element_bytes: int,
) -> dict[tuple[int, int], Variant]:
    """The variants of an operand: `outside` is its parallel loop, `inside` the inner one. Its rows in
    memory run along the inner loop, or where they run `across` it, along the other."""
    found: dict[tuple[int, int], Variant] = {}
    for sizes in itertools.product(outside.sizes, inside.sizes):
        rows, length = sizes if not across else sizes[::-1]
        padded = (padded_outside, padded_inside) if not across else (padded_inside, padded_outside)
        words, whole = length * element_bytes // WORD_BYTES, padded[1] * element_bytes // WORD_BYTES
        address = tile.memory(2 * rows * words)
        free, full = tile.lock(2), tile.lock(0)
        take = BufferDescriptor(
            address=address,
            length_words=rows * words,
            steps=(1, 1, 1, 1),
            wraps=(0, 0, 0),
            iteration_step=rows * words,
            iteration_wrap=2,
            acquire_enable=True,
            acquire_lock=free,
            acquire_value=-1,
            release_lock=full,
            release_value=1,
        )
        send = BufferDescriptor(
            address=address,
            length_words=padded[0] * whole,
            steps=(1, words, 1, 1),
            wraps=(words, rows, 0),
            zeros_after=(whole - words, padded[0] - rows, 0),
            iteration_step=rows * words,
            iteration_wrap=2,
            acquire_enable=True,
            acquire_lock=full,
            acquire_value=-1,
            release_lock=free,
            release_value=1,
        )
        found[sizes] = Variant(tile.descriptor(channel, take), tile.descriptor(channel, send))
    return found


def _result(
    tile: _MemoryTile, plan: ArrayPlan, core_row: int, channels: list[Channel]
) -> dict[tuple[int, int], int]:
    """A core's result: taken in by BDs that run for ever, sent on without what is beyond the edges.

    Where it has two buffers, both sides take them in turn: all tiles are of one size then, and one BD sends
    them.
    """
    kernel, buffers = plan.kernel, plan.memory_buffers
    address, free, full = tile.memory(buffers * plan.sent_words), tile.lock(buffers), tile.lock(0)
    size = plan.result_bytes
    take = _FIRST_RESULT_CHANNEL + core_row
    numbers: list[int] = []
    for place in range(buffers):
        made = BufferDescriptor(
            address=address + place * plan.sent_words * WORD_BYTES,
            length_words=plan.sent_words,
            steps=(1, 1, 1, 1),
            wraps=(0, 0, 0),
            acquire_enable=True,
            acquire_lock=free,
            acquire_value=-1,
            release_lock=full,
            release_value=1,
        )
        numbers.append(tile.descriptor(take, made))
    for number, following in zip(numbers, (*numbers[1:], numbers[0]), strict=True):
        tile.descriptors[number] = replace(tile.descriptors[number], next_bd=following)
    channels.append(Channel(Direction.S2MM, take, numbers[0]))
    send = _FIRST_RESULT_CHANNEL + result_channel(plan, core_row)
    return {
        (rows, columns): tile.descriptor(
            send,
            BufferDescriptor(
                address=address,
                length_words=rows * columns * size // WORD_BYTES,
                steps=(1, kernel.columns * size // WORD_BYTES, 1, 1),
                wraps=(columns * size // WORD_BYTES, 0, 0),
                iteration_step=plan.sent_words if buffers > 1 else 1,
                iteration_wrap=buffers,
                acquire_enable=True,
                acquire_lock=full,
                acquire_value=-1,
                release_lock=free,
                release_value=1,
            ),
        )
        for rows, columns in itertools.product(plan.rows.sizes, plan.columns.sizes)
    }


# --------------------------------------------------------------------------- wires


def _connections(plan: ArrayPlan) -> Iterator[Connection]:
    for column in range(plan.array_columns):
        shim, memory = TileAddress(column, SHIM_ROW), TileAddress(column, MEMORY_ROW)
        inputs = [LEFT_CHANNEL] * (column < plan.core_rows) + [RIGHT_CHANNEL] * (column < plan.core_columns)
        for channel in inputs:
            yield Connection(shim, SHIM_DMA_SLAVES[channel], Port(Bundle.NORTH, channel))
            yield Connection(memory, Port(Bundle.SOUTH, channel), Port(Bundle.DMA, channel))
            yield Connection(memory, Port(Bundle.DMA, channel), Port(Bundle.NORTH, channel))
        yield Connection(shim, Port(Bundle.CONTROL), TOKEN_MASTER)
        if column < plan.core_columns:
            for channel in sorted({result_channel(plan, row) for row in range(plan.core_rows)}):
                source = Port(Bundle.DMA, _FIRST_RESULT_CHANNEL + channel)
                yield Connection(memory, source, Port(Bundle.SOUTH, channel))
                yield Connection(shim, Port(Bundle.NORTH, channel), SHIM_DMA_MASTERS[channel])
            yield from _column(plan, column)
    for row in range(plan.core_rows):
        yield from _row(plan, row)


def _row(plan: ArrayPlan, row: int) -> Iterator[Connection]:
    """The left operand of core row `row`: up column `row`, then to both sides."""
    up = Port(Bundle.SOUTH, LEFT_CHANNEL)
    for below in range(row):
        yield Connection(_core_at(row, below), up, Port(Bundle.NORTH, LEFT_CHANNEL))
    arrival = Port(Bundle.DMA, LEFT_CHANNEL)
    last = plan.core_columns - 1
    if row <= last:
        yield Connection(_core_at(row, row), up, arrival)
    for column in range(row, last):  # eastwards
        source = up if column == row else Port(Bundle.WEST)
        yield Connection(_core_at(column, row), source, Port(Bundle.EAST))
        yield Connection(_core_at(column + 1, row), Port(Bundle.WEST), arrival)
    for column in range(row, 0, -1):  # westwards
        source = up if column == row else Port(Bundle.EAST)
        yield Connection(_core_at(column, row), source, Port(Bundle.WEST))
        if column - 1 <= last:
            yield Connection(_core_at(column - 1, row), Port(Bundle.EAST), arrival)


def _column(plan: ArrayPlan, column: int) -> Iterator[Connection]:
    """The right operand of a column of cores upwards, and each core's result down on a wire of its own."""
    up = Port(Bundle.SOUTH, RIGHT_CHANNEL)
    memory = TileAddress(column, MEMORY_ROW)
    for row in range(plan.core_rows):
        core = _core_at(column, row)
        yield Connection(core, up, Port(Bundle.DMA, RIGHT_CHANNEL))
        if row + 1 < plan.core_rows:
            yield Connection(core, up, Port(Bundle.NORTH, RIGHT_CHANNEL))
        down = Port(Bundle.SOUTH, row)
        yield Connection(core, Port(Bundle.DMA, 0), down)
        for below in reversed(range(row)):
            yield Connection(_core_at(column, below), Port(Bundle.NORTH, row), down)
        yield Connection(memory, Port(Bundle.NORTH, row), Port(Bundle.DMA, _FIRST_RESULT_CHANNEL + row))


def _core_at(column: int, row: int) -> TileAddress:
    return TileAddress(column, FIRST_COMPUTE_ROW + row)
