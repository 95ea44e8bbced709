"""The core's program for a contraction: a loop over step records, for ever.

Each step waits for a left and a right box, reads its record (where to begin in each buffer, how much to
do), adds the products to the tile of the result in the core's memory, and gives the boxes back. The
record says whether the tile begins (then it is filled, or its accumulator waited for) or ends (then it
goes to the DMA). So the program knows strides and element types, but no sizes: those are the stream's.

The product is computed in blocks of one row and up to eight columns. Per value of the inner loop a block
of eight takes nine loads, eight `mul` and eight `add`; the last two need the one scalar ALU, and one
bundle is lost where a `mul`, two bundles long, and an `add` would write at once: 17 bundles for eight
products. While one inner value is multiplied the next is loaded, so that a load's seven bundles are hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..isa.assembler import Label, LoopEnd, ProgramStatement, Statement
from . import float_values
from .core_memory import Lock
from .problem import Constant

BLOCK_COLUMNS = 8
"""Columns of a full block, as many as registers hold; what is left over is one narrower block."""

LOAD_BUNDLES = 7

# the cost model's bundles, measured on the emulator (scripts/bench_codegen.py)
STEP_BUNDLES = 60
_ROW_BUNDLES = 20
_BLOCK_BUNDLES = 20

_STORES_PER_LOOP = 16
"""Stores in one turn of the loop that fills a tile."""

_LOADS = {
    (1, True): "lda.s8",
    (1, False): "lda.u8",
    (2, True): "lda.s16",
    (2, False): "lda.u16",
    (4, True): "lda",
    (4, False): "lda",
}


@dataclass(frozen=True, slots=True)
class Source:
    """An operand in the core's memory: its element and the bytes to the next one along both its loops.

    A `resident` one is there from the start, the others are waited for in each step.
    """

    element_bytes: int
    signed: bool
    along: int
    inner: int
    resident: bool

    @property
    def load(self) -> str:
        return _LOADS[self.element_bytes, self.signed]


@dataclass(frozen=True, slots=True)
class Shape:
    """What of the program the records of a dispatch ask for: the widths of blocks, whether some step has
    only one inner value, whether some has more."""

    widths: tuple[int, ...]
    one: bool
    more: bool


@dataclass(frozen=True, slots=True)
class MatmulProgram:
    """All that the program depends on. `initial` is None where the accumulator comes from memory. `floats`:
    operands are bf16 and results float32, which float_values.py multiplies.

    Strides are in bytes; `result_address` is the core's address of the tile of `result_words`.
    """

    op: str
    left: Source
    right: Source
    result_row: int
    result_column: int
    initial: Constant | None
    floats: bool
    result_address: int
    result_words: int
    records_address: int
    shape: Shape


@dataclass(frozen=True, slots=True)
class Record:
    """What the program reads of a step, one word each, `blocks` per width of the program's shape.

    Addresses are the core's.
    """

    left: int
    right: int
    result: int
    rows: int
    blocks: tuple[int, ...]
    inner: int
    first: int
    last: int

    def words(self) -> tuple[int, ...]:
        """The record without its last word, the address of the next record."""
        return (
            *(self.left, self.right, self.result, self.rows),
            *self.blocks,
            *(self.inner, self.first, self.last),
        )


FIXED_RECORD_WORDS = 8
"""Words of a record beside its blocks, the address of the next record included."""


def shape_of(steps: Sequence[tuple[int, int]]) -> Shape:
    """The parts of the program that steps of these (columns, inner values) need."""
    widths = {columns % BLOCK_COLUMNS for columns, _ in steps} - {0}
    if any(columns >= BLOCK_COLUMNS for columns, _ in steps):
        widths.add(BLOCK_COLUMNS)
    return Shape(
        tuple(sorted(widths, reverse=True)),
        one=any(inner == 1 for _, inner in steps),
        more=any(inner > 1 for _, inner in steps),
    )


def blocks_of(columns: int, shape: Shape) -> tuple[int, ...]:
    """How many blocks of each width make up `columns`."""
    left_over = columns % BLOCK_COLUMNS
    return tuple(
        columns // BLOCK_COLUMNS if width == BLOCK_COLUMNS else int(width == left_over)
        for width in shape.widths
    )


def product_bundles(rows: int, columns: int, inner: int) -> int:
    """What the cost model expects one step's product to take, in bundles."""
    full, left_over = divmod(columns, BLOCK_COLUMNS)
    widths = (*(BLOCK_COLUMNS,) * bool(full), *(left_over,) * bool(left_over))
    per_row = _ROW_BUNDLES
    for width in widths:
        per_row += (full if width == BLOCK_COLUMNS else 1) * _block_bundles(width, inner)
    return rows * per_row


def _block_bundles(width: int, inner: int) -> int:
    return _BLOCK_BUNDLES + width + inner * max(2 * width + 1, LOAD_BUNDLES + 1)


# Registers. p0, p1 walk along the inner loop, p2, p3 over the block's results (load, store); p4 is the
# block's right operand, p5, p6 the row's left operand and result, p7 the record.
_WALK_LEFT, _WALK_RIGHT, _LOAD_RESULT, _STORE_RESULT = "p0", "p1", "p2", "p3"
_BLOCK_RIGHT, _ROW_LEFT, _ROW_RESULT, _RECORD = "p4", "p5", "p6", "p7"
# Strides, modifiers of the loads, stores and pointers
_LEFT_INNER, _RIGHT_COLUMN, _RIGHT_BACK, _RESULT_COLUMN = "m0", "m1", "m2", "m3"
_RIGHT_BLOCK, _LEFT_ROW, _RESULT_ROW = "m4", "m5", "m6"
# Of the record, kept out of the way in address registers that the program does not use otherwise
_RIGHT, _INNER, _LAST, _NEXT = "dn0", "dn1", "dn2", "dn3"
_COUNTS = ("dj0", "dj1", "dj2")
# r0 to r7 accumulators, r8 the left operand, r9 to r16 the right one, r17 to r24 products
_ACCUMULATORS, _LEFT_VALUE, _RIGHT_VALUES, _PRODUCTS = 0, 8, 9, 17
_ROWS, _BLOCKS, _SCRATCH, _ONE, _MINUS_ONE, _FILL = "r25", "r26", "r27", "r28", "r29", "r30"


def statements(program: MatmulProgram) -> Iterator[ProgramStatement]:
    """The program as assembly, from address 0."""
    yield from _setup(program)
    yield from _step(program)
    yield from _product(program)
    yield from _step_end(program)


def _setup(program: MatmulProgram) -> Iterator[ProgramStatement]:
    left, right = program.left, program.right
    for register, value, what in (
        (_LEFT_INNER, left.inner, "left operand along the inner loop"),
        (_RIGHT_COLUMN, right.along, "right operand along columns"),
        (_RESULT_COLUMN, program.result_column, "result along columns"),
        (_LEFT_ROW, left.along, "left operand along rows"),
        (_RESULT_ROW, program.result_row, "result along rows"),
        (_RECORD, program.records_address, "first step record"),
        (_ONE, 1, "releases"),
        (_MINUS_ONE, -1, "acquires: at least one"),
    ):
        yield Statement(f"movi {register}, #{value}", what)
    if program.initial is not None:
        yield Statement(f"movi {_FILL}, #{program.initial.value}", "linalg.fill: the value")
    if program.floats:
        yield from float_values.setup()
    if len(program.shape.widths) == 1:
        yield from _width_setup(program, program.shape.widths[0])


def _width_setup(program: MatmulProgram, width: int) -> Iterator[ProgramStatement]:
    """What blocks of that width need in registers beside the rest."""
    right = program.right
    yield Statement(f"movi {_RIGHT_BLOCK}, #{width * right.along}", "right operand to the next block")
    back = right.inner - (width - 1) * right.along
    yield Statement(f"movi {_RIGHT_BACK}, #{back}", "right operand to the next inner value")
    if program.shape.more:
        yield Statement(f"movxm ls, #loop{width}", "zero-overhead loop over inner values")
        yield Statement(f"movxm le, #loop{width}_end", "its end")


def _step(program: MatmulProgram) -> Iterator[ProgramStatement]:
    yield Label("step")
    if not program.left.resident:
        yield Statement(f"acq #{Lock.LEFT_FULL.core_id}, {_MINUS_ONE}", "wait for the left box")
    if not program.right.resident:
        yield Statement(f"acq #{Lock.RIGHT_FULL.core_id}, {_MINUS_ONE}", "wait for the right box")
    for register, what in (
        (_ROW_LEFT, "record: left operand"),
        (_RIGHT, "right operand"),
        (_ROW_RESULT, "result"),
        (_ROWS, "rows"),
        *((_COUNTS[i], f"blocks of {width} columns") for i, width in enumerate(program.shape.widths)),
        (_INNER, "inner values"),
        (_SCRATCH, "whether the tile begins"),
        (_LAST, "whether the tile ends"),
        (_NEXT, "next record"),
    ):
        yield Statement(f"lda {register}, [{_RECORD}], #4", what, "records")
    yield Statement(f"mov {_RECORD}, {_NEXT}", "the next step begins there")
    yield Statement(f"jz {_SCRATCH}, row", "a tile goes on")
    if program.initial is None:
        yield Statement(f"acq #{Lock.RESULT_LOADED.core_id}, {_MINUS_ONE}", "wait for the accumulator")
    else:
        yield Statement(f"acq #{Lock.RESULT_FREE.core_id}, {_MINUS_ONE}", "wait until the last tile has left")
        yield from _fill(program)


def _fill(program: MatmulProgram) -> Iterator[ProgramStatement]:
    turns, rest = divmod(program.result_words, _STORES_PER_LOOP)
    yield Statement(f"movi {_STORE_RESULT}, #{program.result_address}", "linalg.fill")
    store = Statement(f"st {_FILL}, [{_STORE_RESULT}], #4", "linalg.fill", "result")
    yield from [store] * rest
    if turns:
        yield Statement(f"movi {_BLOCKS}, #{turns}", "turns of the loop")
        yield Label("fill")
        yield Statement(f"add {_BLOCKS}, {_BLOCKS}, #-1", "a turn is done")
        yield from [store] * _STORES_PER_LOOP
        yield Statement(f"jnz {_BLOCKS}, fill", "the next turn")


def _product(program: MatmulProgram) -> Iterator[ProgramStatement]:
    widths = program.shape.widths
    yield Label("row")
    yield Statement(f"mov {_BLOCK_RIGHT}, {_RIGHT}", f"{program.op}: a row of the result")
    yield Statement(f"mov {_LOAD_RESULT}, {_ROW_RESULT}", "the row's sums to load")
    yield Statement(f"mov {_STORE_RESULT}, {_ROW_RESULT}", "the row's sums to store")
    for count, width in zip(_COUNTS, widths, strict=False):
        yield Statement(f"mov {_BLOCKS}, {count}", "how many blocks there are")
        if len(widths) > 1:
            yield Statement(f"jz {_BLOCKS}, block{width}_end", "none of this width")
            yield from _width_setup(program, width)
        yield from _block(program, width)
        yield Label(f"block{width}_end")
    yield Statement(f"padd [{_ROW_LEFT}], {_LEFT_ROW}", "next row")
    yield Statement(f"padd [{_ROW_RESULT}], {_RESULT_ROW}", "next row of the result")
    yield Statement(f"add {_ROWS}, {_ROWS}, #-1", "a row is done")
    yield Statement(f"jnz {_ROWS}, row", "the next row")


def _step_end(program: MatmulProgram) -> Iterator[ProgramStatement]:
    yield Statement(f"mov {_SCRATCH}, {_LAST}", "whether the tile ends")
    if not program.left.resident:
        yield Statement(f"rel #{Lock.LEFT_FREE.core_id}, {_ONE}", "the left box may be overwritten")
    if not program.right.resident:
        yield Statement(f"rel #{Lock.RIGHT_FREE.core_id}, {_ONE}", "the right box may be overwritten")
    yield Statement(f"jz {_SCRATCH}, step", "the tile goes on")
    yield Statement(f"rel #{Lock.RESULT_FULL.core_id}, {_ONE}", f"{program.op}: the tile is complete")
    yield Statement("j step", "the next tile, for ever")


def _block(program: MatmulProgram, width: int) -> Iterator[ProgramStatement]:
    """One row and `width` columns of the result, over the inner loop; repeated `_BLOCKS` times."""
    op, shape = program.op, program.shape
    yield Label(f"block{width}")
    yield Statement(f"mov {_WALK_LEFT}, {_ROW_LEFT}", f"{op}: {width} columns")
    yield Statement(f"mov {_WALK_RIGHT}, {_BLOCK_RIGHT}", "the block's right operand")
    yield Statement(f"padd [{_BLOCK_RIGHT}], {_RIGHT_BLOCK}", "the next block begins there")
    yield from _load_operands(program, width)
    for column in range(width):
        load = f"lda r{_ACCUMULATORS + column}, [{_LOAD_RESULT}], {_RESULT_COLUMN}"
        yield Statement(load, "accumulator", "result")
        if program.floats:
            yield from float_values.load_sum(column, f"r{_ACCUMULATORS + column}")
    if shape.more:
        yield Statement(f"mov {_SCRATCH}, {_INNER}", "inner values")
        yield Statement(f"add {_SCRATCH}, {_SCRATCH}, #-1", "the last inner value loads no next one")
        if shape.one:
            yield Statement(f"jz {_SCRATCH}, last{width}", "there is but one")
        yield Statement(f"mov lc, {_SCRATCH}", "passes of the loop")
        yield Label(f"loop{width}")
        yield from _multiply(program, width)
        yield from _load_operands(program, width)
        yield LoopEnd(f"loop{width}_end", f"loop{width}")
    yield Label(f"last{width}")
    yield from _multiply(program, width)
    yield Statement(f"add {_BLOCKS}, {_BLOCKS}, #-1", "a block is done")
    for column in range(width):
        if program.floats:
            yield from float_values.store_sum(column, f"r{_ACCUMULATORS + column}")
        store = f"st r{_ACCUMULATORS + column}, [{_STORE_RESULT}], {_RESULT_COLUMN}"
        yield Statement(store, "accumulator", "result")
    yield Statement(f"jnz {_BLOCKS}, block{width}", "the next block")


def _load_operands(program: MatmulProgram, width: int) -> Iterator[ProgramStatement]:
    """Loads one inner value of the left operand and of each column of the right one."""
    left, right = program.left, program.right
    yield Statement(f"{left.load} r{_LEFT_VALUE}, [{_WALK_LEFT}], {_LEFT_INNER}", "left", "left")
    for column in range(width):
        stride = _RIGHT_COLUMN if column < width - 1 else _RIGHT_BACK
        load = f"{right.load} r{_RIGHT_VALUES + column}, [{_WALK_RIGHT}], {stride}"
        yield Statement(load, "right", "right")


def _multiply(program: MatmulProgram, width: int) -> Iterator[ProgramStatement]:
    """Adds the products of one inner value to the accumulators."""
    if program.floats:
        rights = [f"r{_RIGHT_VALUES + column}" for column in range(width)]
        yield from float_values.multiply(f"r{_LEFT_VALUE}", rights, program.op)
        return
    for column in range(width):
        operands = f"r{_LEFT_VALUE}, r{_RIGHT_VALUES + column}"
        yield Statement(f"mul r{_PRODUCTS + column}, {operands}", f"{program.op}: product")
    for column in range(width):
        total = f"r{_ACCUMULATORS + column}"
        yield Statement(f"add {total}, {total}, r{_PRODUCTS + column}", f"{program.op}: sum")
