"""The inner kernel for i32 by i32, which the multiplier array has no mode for: by halves of 16 bits.

With a = ah * 2**16 + al and b = bh * 2**16 + bl, modulo 2**32: a * b = al * bl + (ah * bl + al * bh) * 2**16.
Blocks of 4 x 4 words are taken apart by vshuffle into blocks of low and of high halves, all unsigned (the
sign of a high half counts 2**32), and multiplied in the mode i16 x i16 4x4x4: three products per block, one
sum for the low ones and one for the others, which is added 16 bits higher at the end.

A group is two by two blocks over the whole inner length. Its loop is one step of the inner length: it
multiplies, takes the blocks of the next step apart and loads those of the one after; the assembler schedules
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..isa.assembler import Label, LoopEnd, ProgramStatement, Statement
from .accumulator_schedule import ZERO_SHIFT
from .kernel_shape import KernelShape
from .matrix_modes import BLOCK_ROWS, VECTOR_BYTES
from .operand_schedule import LEFT_SHUFFLE, RIGHT_SHUFFLE

STEP_BUNDLES, GROUP_BUNDLES = 17, 38
WRITTEN_STEP_BUNDLES, WRITTEN_GROUP_BUNDLES = 14, 26
"""What a step of a group and the rest of a group take, in a loop and where all steps are written out:
bundles of whole programs by groups and steps, measured; for the cost model."""

_BLOCKS = 2
_LOW_MODE, _HIGH_MODE = "r1", "r2"
"""vshuffle's T16_32x2_lo and _hi: the low and the high halves of all words."""
_LOW_HALVES, _HIGH_HALVES = 2, 3
_JOIN = "r3"
_JOIN_WORD = 1 << 10 | 1 << 1
"""vadd's word for 64-bit lanes with the first sum 16 bits higher (shift16)."""
_COLUMNS, _ROWS, _STEPS = "r4", "r5", "r6"
_MULTIPLY = "r16"

_LEFT, _RIGHT, _RESULT = ("p0", "p3"), ("p1", "p4"), ("p2", "p5")
_LEFT_ROW, _RIGHT_COLUMN = "p6", "p7"
"""Where the group's rows of A and columns of B begin."""
_LEFT_APART, _LEFT_GROUP, _RIGHT_APART, _RIGHT_GROUP = "m0", "m1", "m2", "m3"
_LEFT_STEP, _RIGHT_STEP, _RESULT_APART = "m4", "m5", "m6"

_RAW = (("x8", "x9"), ("x10", "x11"))
_LOW, _HIGH = (("x0", "x1"), ("x4", "x5")), (("x2", "x3"), ("x6", "x7"))
_LEFT_SIDE, _RIGHT_SIDE = 0, 1
_FILL = "cm8"
"""What sums begin with (accumulator_schedule.begin_register)."""


@dataclass(frozen=True, slots=True)
class _Geometry:
    """Bytes between an operand's two blocks of a group, to its next step, and to its next group."""

    apart: int
    step: int
    group: int


def _left(shape: KernelShape) -> _Geometry:
    block = shape.mode.left_block_bytes
    if shape.left_transposed:
        run = shape.inner * BLOCK_ROWS * shape.mode.left_bytes
        return _Geometry(run, block, _BLOCKS * run)
    return _Geometry(block, shape.rows * shape.mode.inner * shape.mode.left_bytes, _BLOCKS * block)


def _right(shape: KernelShape) -> _Geometry:
    block = shape.mode.right_block_bytes
    if shape.right_transposed:
        return _Geometry(block, shape.columns * shape.mode.inner * shape.mode.right_bytes, _BLOCKS * block)
    run = shape.inner * shape.mode.columns * shape.mode.right_bytes
    return _Geometry(run, block, _BLOCKS * run)


def group_bundles(steps: int) -> int:
    """What a group of so many steps takes, about."""
    if steps <= _PEELED:
        return steps * WRITTEN_STEP_BUNDLES + WRITTEN_GROUP_BUNDLES
    return steps * STEP_BUNDLES + GROUP_BUNDLES


def setup() -> Iterator[ProgramStatement]:
    """What stands in registers from the start."""
    yield Statement(f"movi {_LOW_MODE}, #{_LOW_HALVES}", "vshuffle: low halves")
    yield Statement(f"movi {_HIGH_MODE}, #{_HIGH_HALVES}", "vshuffle: high halves")
    yield Statement(f"movi {_JOIN}, #{_JOIN_WORD}", "vadd: the first sum 16 bits higher")


def statements(shape: KernelShape, name: str, op: str, *, begins: bool) -> Iterator[ProgramStatement]:
    """The tile's product, `begins` or added to the result so far. p0, p1 and p2 point to A, B and the result.

    `name` tells labels apart; `op` is for the listing.
    """
    left, right = _left(shape), _right(shape)
    apart = shape.rows * shape.mode.columns * 4
    loop = shape.steps > _PEELED
    for register, value, what in (
        (_LEFT_APART, left.apart, "A: to the second block"),
        (_LEFT_GROUP, left.group, "A: to the next group"),
        (_RIGHT_APART, right.apart, "B: to the second block"),
        (_RIGHT_GROUP, right.group, "B: to the next group"),
        (_LEFT_STEP, left.step - VECTOR_BYTES, "A: to the next step"),
        (_RIGHT_STEP, right.step - VECTOR_BYTES, "B: to the next step"),
        (_RESULT_APART, apart, "result: to the second column of blocks"),
        (_COLUMNS, shape.column_groups, "groups of columns"),
    ):
        yield Statement(f"movi {register}, #{value}", f"{op} {name}: {what}")
    if loop:
        yield Statement(f"movxm ls, #{name}_steps", "zero-overhead loop over steps")
        yield Statement(f"movxm le, #{name}_steps_end", "its end")
    yield Statement(f"mov {_RIGHT_COLUMN}, {_RIGHT[0]}", f"{op} {name}: B of the first columns")
    yield Statement(f"mov {_ROWS}, {_LEFT[0]}", f"{op} {name}: A of the first rows, kept")
    yield Statement(f"mov {_RESULT[1]}, {_RESULT[0]}", f"{op} {name}: result")
    yield Statement(f"padd [{_RESULT[1]}], {_RESULT_APART}", f"{op} {name}: its second column of blocks")
    yield Statement(f"mov r7, {_ROWS}", f"{op} {name}: A of the first rows, kept")
    yield Label(f"{name}_column")
    yield Statement(f"mov {_LEFT_ROW}, r7", f"{op} {name}: again from the first rows")
    yield Statement(f"movi {_ROWS}, #{shape.row_groups}", f"{op} {name}: groups of rows")
    yield Label(f"{name}_row")
    yield from _group(shape, name, op, begins=begins, loop=loop)
    yield Statement(f"padd [{_LEFT_ROW}], {_LEFT_GROUP}", f"{op} {name}: next rows of A")
    yield Statement(f"add {_ROWS}, {_ROWS}, #-1", "a group is done")
    yield Statement(f"jnz {_ROWS}, {name}_row", "the next group of rows")
    yield Statement(f"padd [{_RIGHT_COLUMN}], {_RIGHT_GROUP}", f"{op} {name}: next columns of B")
    for pointer in _RESULT:
        yield Statement(f"padd [{pointer}], {_RESULT_APART}", f"{op} {name}: next columns of the result")
    yield Statement(f"add {_COLUMNS}, {_COLUMNS}, #-1", "a column of groups is done")
    yield Statement(f"jnz {_COLUMNS}, {name}_column", "the next group of columns")


_PEELED = 4
"""Up to so many steps are written out."""


def _group(shape: KernelShape, name: str, op: str, *, begins: bool, loop: bool) -> Iterator[ProgramStatement]:
    for pair, start, apart in ((_LEFT, _LEFT_ROW, _LEFT_APART), (_RIGHT, _RIGHT_COLUMN, _RIGHT_APART)):
        for pointer in pair:
            yield Statement(f"mov {pointer}, {start}", f"{op} {name}: pointer")
        yield Statement(f"padd [{pair[1]}], {apart}", f"{op} {name}: pointer to the second block")
    last = shape.steps - 1
    yield from _load(op)
    if loop:
        yield Statement(f"movi lc, #{shape.steps - 2}", "its turns")
    yield from _sums(op, begins=begins)
    yield from _take_apart(shape, op)
    if last:
        yield from _load(op)
    if loop:
        yield Label(f"{name}_steps")
        yield from _multiply(op)
        yield from _take_apart(shape, op)
        yield from _load(op)
        yield LoopEnd(f"{name}_steps_end", f"{name}_steps")
        yield from _multiply(op)
        yield from _take_apart(shape, op)
        yield from _multiply(op)
    else:
        for step in range(shape.steps):
            yield from _multiply(op)
            if step < last:
                yield from _take_apart(shape, op)
            if step + 1 < last:
                yield from _load(op)
    yield from _join_and_store(op)


def _sums(op: str, *, begins: bool) -> Iterator[ProgramStatement]:
    for column in range(_BLOCKS):
        for row in range(_BLOCKS):
            low, cross = _sum_registers(row, column)
            if begins:
                yield Statement(f"vmov {low}, {_FILL}", f"{op}: begin with the fill")
            else:
                for part in range(2):
                    offset = row * 2 * VECTOR_BYTES + part * VECTOR_BYTES
                    target = f"bm{'lh'[part]}{low[2:]}"
                    text = f"vlda.ups.s64.s32 {target}, {ZERO_SHIFT}, [{_RESULT[column]}, #{offset}]"
                    yield Statement(text, f"{op}: load sums", "result")
            yield Statement(f"vclr {cross}", f"{op}: begin the high part")


def _sum_registers(row: int, column: int) -> tuple[str, str]:
    number = 2 * row + column
    return f"cm{number}", f"cm{4 + number}"


def _load(op: str) -> Iterator[ProgramStatement]:
    """The blocks of one step; pointers go to the next."""
    for block in range(_BLOCKS):
        for side, slot, pointers, move, what in (
            (_LEFT_SIDE, "vlda", _LEFT, _LEFT_STEP, "A"),
            (_RIGHT_SIDE, "vldb", _RIGHT, _RIGHT_STEP, "B"),
        ):
            number, pointer = _RAW[side][block][1:], pointers[block]
            text = f"{slot} wl{number}, [{pointer}], #{VECTOR_BYTES}"
            yield Statement(text, f"{op}: load {what}", f"operand {what}")
            yield Statement(
                f"{slot} wh{number}, [{pointer}], {move}", f"{op}: load {what}", f"operand {what}"
            )


def _take_apart(shape: KernelShape, op: str) -> Iterator[ProgramStatement]:
    """Low and high halves of the loaded blocks; those that come turned round are turned back first."""
    for side, turned, mode, what in (
        (_LEFT_SIDE, shape.left_transposed, LEFT_SHUFFLE, "A"),
        (_RIGHT_SIDE, shape.right_transposed, RIGHT_SHUFFLE, "B"),
    ):
        for block in range(_BLOCKS):
            raw = _RAW[side][block]
            if turned:
                yield Statement(f"vshuffle {raw}, {raw}, {raw}, {mode}", f"{op}: turn {what}")
    for half, mode, what in ((_HIGH, _HIGH_MODE, "high"), (_LOW, _LOW_MODE, "low")):
        for side in (_LEFT_SIDE, _RIGHT_SIDE) if half is _HIGH else (_RIGHT_SIDE, _LEFT_SIDE):
            for block in range(_BLOCKS):
                raw = _RAW[side][block]
                yield Statement(
                    f"vshuffle {half[side][block]}, {raw}, {raw}, {mode}",
                    f"{op}: {what} halves of {'AB'[side]}",
                )


def _multiply(op: str) -> Iterator[ProgramStatement]:
    """Three products per block; the order lets go of what the next step writes first as early as it can."""
    for left, right, low in ((_HIGH, _LOW, False), (_LOW, _LOW, True), (_LOW, _HIGH, False)):
        for row in range(_BLOCKS):
            for column in range(_BLOCKS):
                target = _sum_registers(row, column)[0 if low else 1]
                factors = f"{left[_LEFT_SIDE][row]}, {right[_RIGHT_SIDE][column]}"
                yield Statement(f"vmac {target}, {target}, {factors}, {_MULTIPLY}", f"{op}: multiply-add")


def _join_and_store(op: str) -> Iterator[ProgramStatement]:
    for column in range(_BLOCKS):
        for row in range(_BLOCKS):
            low, cross = _sum_registers(row, column)
            yield Statement(f"vadd {low}, {cross}, {low}, {_JOIN}", f"{op}: the high part 16 bits higher")
    for column in range(_BLOCKS):
        for row in range(_BLOCKS):
            low, _ = _sum_registers(row, column)
            for part in range(2):
                text = f"vst.srs.s32.s64 bm{'lh'[part]}{low[2:]}, {ZERO_SHIFT}, [{_RESULT[column]}], #32"
                yield Statement(text, f"{op}: store sums", "result")
