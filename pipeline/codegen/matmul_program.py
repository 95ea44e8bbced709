"""The core's program for a contraction: a loop over step records, for ever.

Each step waits for a left and a right box, reads its record (where to begin in each buffer, how much to
do), adds the products to the tile of the result in the core's memory, and gives the boxes back. The
record says whether the tile begins (then it is filled, or its accumulator waited for) or ends (then it
goes to the DMA). So the program knows strides and element types, but no sizes: those are the stream's.

The product is computed in blocks of one row and four columns: per value of the inner loop one load of
the left and four of the right operand, four `mul` and four `add`, which all need the one scalar ALU: two
bundles a product at best. Two values of the inner loop are loaded while the two before are multiplied, so
that a load's seven bundles are hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..isa.assembler import Label, LoopEnd, ProgramStatement, Statement
from .core_memory import Lock
from .problem import Constant

BLOCK_COLUMNS = 4
"""Columns of a wide block; the columns left over are computed one by one."""

PIPELINE_DEPTH = 2
"""Values of the inner loop in flight."""

# the cost model's bundles, measured on the emulator (scripts/bench_matmul.py)
STEP_BUNDLES = 90
_ROW_BUNDLES = 20
_WIDE_BUNDLES, _WIDE_PAIR_BUNDLES = 46, 16
_NARROW_BUNDLES, _NARROW_PAIR_BUNDLES = 40, 12
_SINGLE_BUNDLES = 18

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
    """An operand in the core's memory: its element and the bytes to the next one along both its loops."""

    element_bytes: int
    signed: bool
    along: int
    inner: int

    @property
    def load(self) -> str:
        return _LOADS[self.element_bytes, self.signed]


@dataclass(frozen=True, slots=True)
class Shape:
    """What of the program the records of a dispatch ask for; the rest is left out."""

    wide: bool
    narrow: bool
    pairs: bool
    more_pairs: bool
    single: bool


@dataclass(frozen=True, slots=True)
class MatmulProgram:
    """All that the program depends on. `initial` is None where the accumulator comes from memory.

    Strides are in bytes; `result_address` is the core's address of the tile of `result_words`.
    """

    op: str
    left: Source
    right: Source
    result_row: int
    result_column: int
    initial: Constant | None
    result_address: int
    result_words: int
    records_address: int
    shape: Shape


@dataclass(frozen=True, slots=True)
class Record:
    """What the program reads of a step, in this order, one word each. Addresses are the core's."""

    left: int
    right: int
    result: int
    rows: int
    wide_blocks: int
    narrow_blocks: int
    pairs: int
    single: int
    first: int
    last: int

    def words(self) -> tuple[int, ...]:
        """The record without its last word, the address of the next record."""
        return (
            self.left,
            self.right,
            self.result,
            self.rows,
            self.wide_blocks,
            self.narrow_blocks,
            self.pairs,
            self.single,
            self.first,
            self.last,
        )


def shape_of(records: Sequence[Record]) -> Shape:
    """The parts of the program that these records need."""
    return Shape(
        wide=any(record.wide_blocks for record in records),
        narrow=any(record.narrow_blocks for record in records),
        pairs=any(record.pairs for record in records),
        more_pairs=any(record.pairs > 1 for record in records),
        single=any(record.single for record in records),
    )


def product_bundles(rows: int, columns: int, inner: int) -> int:
    """What the cost model expects one step's product to take, in bundles."""
    pairs, single = divmod(inner, PIPELINE_DEPTH)
    wide, narrow = divmod(columns, BLOCK_COLUMNS)
    per_wide = _WIDE_BUNDLES + pairs * _WIDE_PAIR_BUNDLES + single * _SINGLE_BUNDLES
    per_narrow = _NARROW_BUNDLES + pairs * _NARROW_PAIR_BUNDLES + single * _SINGLE_BUNDLES
    return rows * (_ROW_BUNDLES + wide * per_wide + narrow * per_narrow)


# Registers. p0, p1 walk along the inner loop, p2, p3 over the block's results (load, store); p4 is the
# block's right operand, p5, p6 the row's left operand and result, p7 the record.
_WALK_LEFT, _WALK_RIGHT, _LOAD_RESULT, _STORE_RESULT = "p0", "p1", "p2", "p3"
_BLOCK_RIGHT, _ROW_LEFT, _ROW_RESULT, _RECORD = "p4", "p5", "p6", "p7"
# Strides, set once: modifiers of the loads, stores and pointers
_LEFT_INNER, _RIGHT_COLUMN, _RIGHT_BACK, _RESULT_COLUMN = "m0", "m1", "m2", "m3"
_RIGHT_BLOCK, _LEFT_ROW, _RESULT_ROW, _RIGHT_INNER = "m4", "m5", "m6", "m7"
# Of the record, kept out of the way in address registers that the program does not use otherwise
_RIGHT, _WIDE, _NARROW, _PAIRS, _SINGLE, _LAST, _NEXT = "dn0", "dj0", "dj1", "dj2", "dj3", "dj4", "dj5"
# r0 to r3 accumulators, r4 to r13 two sets of operands, r14 to r21 their products
_ACCUMULATORS, _OPERANDS, _PRODUCTS = 0, 4, 14
_ROWS, _BLOCKS, _SCRATCH, _ONE, _MINUS_ONE, _FILL = "r22", "r23", "r24", "r25", "r26", "r27"


def statements(program: MatmulProgram) -> Iterator[ProgramStatement]:
    """The program as assembly, from address 0."""
    yield from _setup(program)
    yield from _step(program)
    yield from _product(program)
    yield from _step_end(program)


def _setup(program: MatmulProgram) -> Iterator[ProgramStatement]:
    left, right = program.left, program.right
    columns = BLOCK_COLUMNS
    for register, value, what in (
        (_LEFT_INNER, left.inner, "left operand along the inner loop"),
        (_RIGHT_COLUMN, right.along, "right operand along columns"),
        (_RIGHT_BACK, right.inner - (columns - 1) * right.along, "right operand to the next inner value"),
        (_RESULT_COLUMN, program.result_column, "result along columns"),
        (_RIGHT_BLOCK, columns * right.along, "right operand to the next block"),
        (_LEFT_ROW, left.along, "left operand along rows"),
        (_RESULT_ROW, program.result_row, "result along rows"),
        (_RIGHT_INNER, right.inner, "right operand along the inner loop"),
        (_RECORD, program.records_address, "first step record"),
        (_ONE, 1, "releases"),
        (_MINUS_ONE, -1, "acquires: at least one"),
    ):
        yield Statement(f"movi {register}, #{value}", what)
    if program.initial is not None:
        yield Statement(f"movi {_FILL}, #{program.initial.value}", "linalg.fill: the value")


def _step(program: MatmulProgram) -> Iterator[ProgramStatement]:
    yield Label("step")
    yield Statement(f"acq #{Lock.LEFT_FULL.core_id}, {_MINUS_ONE}", "wait for the left box")
    yield Statement(f"acq #{Lock.RIGHT_FULL.core_id}, {_MINUS_ONE}", "wait for the right box")
    for register, what in (
        (_ROW_LEFT, "record: left operand"),
        (_RIGHT, "right operand"),
        (_ROW_RESULT, "result"),
        (_ROWS, "rows"),
        (_WIDE, "wide blocks per row"),
        (_NARROW, "single columns per row"),
        (_PAIRS, "pairs of inner values"),
        (_SINGLE, "whether one more inner value"),
        (_SCRATCH, "whether the tile begins"),
        (_LAST, "whether the tile ends"),
        (_NEXT, "next record"),
    ):
        yield Statement(f"lda {register}, [{_RECORD}], #4", what, "records")
    yield Statement(f"mov {_RECORD}, {_NEXT}", "")
    yield Statement(f"jz {_SCRATCH}, row", "")
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
        yield Statement(f"movi {_BLOCKS}, #{turns}", "")
        yield Label("fill")
        yield Statement(f"add {_BLOCKS}, {_BLOCKS}, #-1", "")
        yield from [store] * _STORES_PER_LOOP
        yield Statement(f"jnz {_BLOCKS}, fill", "")


def _product(program: MatmulProgram) -> Iterator[ProgramStatement]:
    op, shape = program.op, program.shape
    yield Label("row")
    yield Statement(f"mov {_BLOCK_RIGHT}, {_RIGHT}", f"{op}: a row of the result")
    yield Statement(f"mov {_LOAD_RESULT}, {_ROW_RESULT}", "")
    yield Statement(f"mov {_STORE_RESULT}, {_ROW_RESULT}", "")
    for name, wanted, count, columns in (
        ("wide", shape.wide, _WIDE, BLOCK_COLUMNS),
        ("narrow", shape.narrow, _NARROW, 1),
    ):
        if not wanted:
            continue
        yield Statement(f"mov {_BLOCKS}, {count}", "")
        yield Statement(f"jz {_BLOCKS}, {name}_end", "")
        if shape.more_pairs:
            yield Statement(f"movxm ls, #{name}_loop", "zero-overhead loop over inner values")
            yield Statement(f"movxm le, #{name}_loop_end", "")
        yield from _Block(program, name, columns).items()
        yield Label(f"{name}_end")
    yield Statement(f"padd [{_ROW_LEFT}], {_LEFT_ROW}", "next row")
    yield Statement(f"padd [{_ROW_RESULT}], {_RESULT_ROW}", "")
    yield Statement(f"add {_ROWS}, {_ROWS}, #-1", "")
    yield Statement(f"jnz {_ROWS}, row", "")


def _step_end(program: MatmulProgram) -> Iterator[ProgramStatement]:
    yield Statement(f"mov {_SCRATCH}, {_LAST}", "")
    yield Statement(f"rel #{Lock.LEFT_FREE.core_id}, {_ONE}", "the left box may be overwritten")
    yield Statement(f"rel #{Lock.RIGHT_FREE.core_id}, {_ONE}", "the right one too")
    yield Statement(f"jz {_SCRATCH}, step", "")
    yield Statement(f"rel #{Lock.RESULT_FULL.core_id}, {_ONE}", f"{program.op}: the tile is complete")
    yield Statement("j step", "")


@dataclass(frozen=True, slots=True)
class _Block:
    """One row and `columns` columns of the result, over the inner loop; repeated `_BLOCKS` times."""

    program: MatmulProgram
    name: str
    columns: int

    def items(self) -> Iterator[ProgramStatement]:
        shape, name = self.program.shape, self.name
        right_block = _RIGHT_BLOCK if self.columns > 1 else _RIGHT_COLUMN
        yield Label(name)
        yield Statement(f"mov {_WALK_LEFT}, {_ROW_LEFT}", f"{self.program.op}: {self.columns} columns")
        yield Statement(f"mov {_WALK_RIGHT}, {_BLOCK_RIGHT}", "")
        yield Statement(f"padd [{_BLOCK_RIGHT}], {right_block}", "")
        for column in range(self.columns):
            load = f"lda r{_ACCUMULATORS + column}, [{_LOAD_RESULT}], {_RESULT_COLUMN}"
            yield Statement(load, "accumulator", "result")
        if shape.pairs:
            yield from self._pairs()
        if shape.single:
            yield Label(f"{name}_single")
            yield Statement(f"mov {_SCRATCH}, {_SINGLE}", "")
            yield Statement(f"jz {_SCRATCH}, {name}_store", "")
            yield from self._load(0)
            yield from self._multiply(0)
        yield Label(f"{name}_store")
        yield Statement(f"add {_BLOCKS}, {_BLOCKS}, #-1", "")
        for column in range(self.columns):
            store = f"st r{_ACCUMULATORS + column}, [{_STORE_RESULT}], {_RESULT_COLUMN}"
            yield Statement(store, "accumulator", "result")
        yield Statement(f"jnz {_BLOCKS}, {name}", "")

    def _pairs(self) -> Iterator[ProgramStatement]:
        """Pairs of inner values: the loop multiplies one pair while it loads the next."""
        shape, name = self.program.shape, self.name
        sets = range(PIPELINE_DEPTH)
        yield Statement(f"mov {_SCRATCH}, {_PAIRS}", "")
        if shape.single:
            yield Statement(f"jz {_SCRATCH}, {name}_single", "")
        for which in sets:
            yield from self._load(which)
        if shape.more_pairs:
            yield Statement(f"add {_SCRATCH}, {_SCRATCH}, #-1", "")
            yield Statement(f"jz {_SCRATCH}, {name}_pair", "")
            yield Statement(f"mov lc, {_SCRATCH}", "")
            yield from self._loop(f"{name}_loop")
            yield Label(f"{name}_pair")
        for which in sets:
            yield from self._multiply(which)

    def _loop(self, label: str) -> Iterator[ProgramStatement]:
        yield Label(label)
        for which in range(PIPELINE_DEPTH):
            yield from self._multiply(which)
            yield from self._load(which)
        yield LoopEnd(f"{label}_end", label)

    def _load(self, which: int) -> Iterator[ProgramStatement]:
        """Loads one inner value of the left and of each column of the right operand into set `which`."""
        base = _OPERANDS + which * (BLOCK_COLUMNS + 1)
        left, right = self.program.left, self.program.right
        yield Statement(f"{left.load} r{base}, [{_WALK_LEFT}], {_LEFT_INNER}", "left", "left")
        for column in range(self.columns):
            last = _RIGHT_INNER if self.columns == 1 else _RIGHT_BACK
            stride = last if column == self.columns - 1 else _RIGHT_COLUMN
            yield Statement(f"{right.load} r{base + 1 + column}, [{_WALK_RIGHT}], {stride}", "right", "right")

    def _multiply(self, which: int) -> Iterator[ProgramStatement]:
        base, products = _OPERANDS + which * (BLOCK_COLUMNS + 1), _PRODUCTS + which * BLOCK_COLUMNS
        for column in range(self.columns):
            product = f"r{products + column}"
            yield Statement(f"mul {product}, r{base}, r{base + 1 + column}", f"{self.program.op}: product")
        for column in range(self.columns):
            total = f"r{_ACCUMULATORS + column}"
            yield Statement(f"add {total}, {total}, r{products + column}", f"{self.program.op}: sum")
