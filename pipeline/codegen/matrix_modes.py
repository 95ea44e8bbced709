"""The multiplier array's matrix modes that matmuls are made of, and how many blocks a core does at once.

A mode multiplies a block of 4 rows x `inner` by one of `inner` x `columns` in one bundle. Mode words and
block shapes: llvm-aie's aiev2_vmult.h (facts/aie2-isa.md 3.1), all blocks row-major in their registers.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

BLOCK_ROWS = 4
VECTOR_BYTES = 32
"""Width of a vector load or store; registers w. An x register has two."""

SIGNED_LEFT, SIGNED_RIGHT = 1 << 9, 1 << 8


PRODUCTS_OF_HALVES = 3
"""Products of 16-bit halves that make one of 32 bits, modulo 2**32."""


class Accumulator(enum.Enum):
    """What a sum is kept in: 32-bit lanes that wrap, 64-bit lanes cut to 32 when stored, float32, or two sums
    of 64-bit lanes for halves of the operands (halves_kernel.py)."""

    LANES32 = "acc32"
    LANES64 = "acc64"
    FLOAT = "float32"
    HALVES = "acc64 twice"


@dataclass(frozen=True, slots=True)
class MatrixMode:
    """A matrix mode for operands of these element sizes.

    `row_blocks` x `column_blocks` accumulators are computed together (a group): so many that the operands
    of the next step can be loaded meanwhile, and so few that two groups have room in the registers. The
    `transpose_*` are vshuffle modes (aiev2_enums.h) that turn a block the other way round.
    """

    name: str
    left_bytes: int
    right_bytes: int
    inner: int
    columns: int
    row_blocks: int
    column_blocks: int
    word: int
    accumulator: Accumulator
    transpose_left: int
    transpose_right: int

    @property
    def products_per_bundle(self) -> int:
        passes = PRODUCTS_OF_HALVES if self.accumulator is Accumulator.HALVES else 1
        return BLOCK_ROWS * self.inner * self.columns // passes

    @property
    def left_block_bytes(self) -> int:
        return BLOCK_ROWS * self.inner * self.left_bytes

    @property
    def right_block_bytes(self) -> int:
        return self.inner * self.columns * self.right_bytes

    @property
    def result_block_bytes(self) -> int:
        """Of a block in memory, where an element of the result has four bytes."""
        return BLOCK_ROWS * self.columns * 4

    @property
    def group_rows(self) -> int:
        return BLOCK_ROWS * self.row_blocks

    @property
    def group_columns(self) -> int:
        return self.columns * self.column_blocks

    def mode_word(self, *, left_signed: bool, right_signed: bool) -> int:
        """The last operand of vmac. Floats have no sign bits, and halves are unsigned."""
        if self.accumulator in (Accumulator.FLOAT, Accumulator.HALVES):
            return self.word
        return self.word | SIGNED_LEFT * left_signed | SIGNED_RIGHT * right_signed


MODES: Mapping[tuple[str, str], MatrixMode] = {
    ("i8", "i8"): MatrixMode("i8 x i8 4x8x8", 1, 1, 8, 8, 2, 2, 8, Accumulator.LANES32, 46, 35),
    ("i16", "i8"): MatrixMode("i16 x i8 4x4x8", 2, 1, 4, 8, 2, 2, 16, Accumulator.LANES32, 39, 46),
    ("i16", "i16"): MatrixMode("i16 x i16 4x4x4", 2, 2, 4, 4, 2, 2, 58, Accumulator.LANES64, 39, 39),
    ("i32", "i32"): MatrixMode("i32 x i32 4x4x4 by halves", 4, 4, 4, 4, 2, 2, 58, Accumulator.HALVES, 34, 34),
    ("bf16", "bf16"): MatrixMode("bf16 x bf16 4x8x4", 2, 2, 8, 4, 4, 2, 28, Accumulator.FLOAT, 28, 29),
}
"""By the element types of left and right operand."""
