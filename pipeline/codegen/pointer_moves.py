"""How the kernel's pointers go over operands and result: moves after each access, and 2D walks over groups.

Both operands and the result stand in blocks of the multiplier; see `KernelShape` for their order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from .kernel_shape import KernelDoesNotFit, KernelShape
from .matrix_modes import BLOCK_ROWS, VECTOR_BYTES

LEFT_POINTER, RIGHT_POINTER, LOAD_POINTER, STORE_POINTER = "p0", "p1", "p2", "p3"
LEFT_WALK, RIGHT_WALK, LOAD_WALK, STORE_WALK = 0, 1, 2, 3
"""Walks are the registers d0 to d3; their modifiers m0 to m3 are part of them."""
_FREE_MODIFIERS = ("m4", "m5", "m6", "m7")

IMMEDIATES = {"lda": range(-2048, 2048, 32), "ldb": range(-256, 256, 32), "st": range(-2048, 2048, 32)}
NARROW_IMMEDIATES = range(-256, 256, 32)
"""Of accesses that convert."""


@dataclass(frozen=True, slots=True)
class Walk:
    """2D addressing of a pointer: `count` + 1 positions `inside` apart, then `outside` to the next."""

    count: int
    inside: int
    outside: int


@dataclass(frozen=True, slots=True)
class Moves:
    """How a pointer moves: after each piece but the last of a group, by bytes; then by `walk`.

    `within` are the moves inside a step (or accumulator list), `between` that from one step to the next.
    """

    within: tuple[int, ...]
    between: int
    walk: Walk


def _blocked(count: int, block: int, block_stride: int, step: int, steps: int) -> tuple[list[int], int, int]:
    """Moves within a step over `count` blocks of `block` bytes that are `block_stride` apart, the move to
    the next step, and the offset of the group's last piece."""
    offsets = [
        index * block_stride + part for index in range(count) for part in range(0, block, VECTOR_BYTES)
    ]
    within = [after - before for before, after in itertools.pairwise(offsets)]
    return within, step - offsets[-1], (steps - 1) * step + offsets[-1]


def left_moves(shape: KernelShape) -> Moves:
    """Groups of rows follow each other; when all are done, again from the first."""
    mode = shape.mode
    if shape.left_transposed:
        stride = shape.inner * BLOCK_ROWS * mode.left_bytes
        step = mode.left_block_bytes
        group = mode.row_blocks * stride
    else:
        stride = mode.left_block_bytes
        step = shape.rows * mode.inner * mode.left_bytes
        group = mode.row_blocks * stride
    within, between, last = _blocked(mode.row_blocks, mode.left_block_bytes, stride, step, shape.steps)
    walk = Walk(shape.row_groups - 1, group - last, -(shape.row_groups - 1) * group - last)
    return Moves(tuple(within), between, walk)


def right_moves(shape: KernelShape) -> Moves:
    """The same group of columns for all groups of rows, then the next."""
    mode = shape.mode
    if shape.right_transposed:
        stride = mode.right_block_bytes
        step = shape.columns * mode.inner * mode.right_bytes
    else:
        stride = shape.inner * mode.columns * mode.right_bytes
        step = mode.right_block_bytes
    group = mode.column_blocks * stride
    within, between, last = _blocked(mode.column_blocks, mode.right_block_bytes, stride, step, shape.steps)
    return Moves(tuple(within), between, Walk(shape.row_groups - 1, -last, group - last))


def result_moves(shape: KernelShape) -> Moves:
    """The result stands as blocks of columns, each with all its rows."""
    mode = shape.mode
    stride = shape.rows * mode.columns * 4
    size = mode.row_blocks * mode.result_block_bytes
    within, _, last = _blocked(mode.column_blocks, size, stride, 0, 1)
    next_columns = mode.column_blocks * stride - (shape.row_groups - 1) * size
    return Moves(tuple(within), 0, Walk(shape.row_groups - 1, size - last, next_columns - last))


class Modifiers:
    """Registers for moves that no immediate holds."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def text(self, move: int, immediates: range) -> str:
        if move in immediates:
            return f"#{move}"
        if move not in self._names:
            if len(self._names) == len(_FREE_MODIFIERS):
                raise KernelDoesNotFit("more moves of pointers than registers for them")
            self._names[move] = _FREE_MODIFIERS[len(self._names)]
        return self._names[move]

    def values(self) -> Iterator[tuple[str, int]]:
        yield from ((name, move) for move, name in self._names.items())
