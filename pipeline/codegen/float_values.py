"""bf16 products and float32 sums of single values, for scalar code: the core's scalar unit has no floats.

The multiplier does them, one lane at a time: `vinsert` puts a value into a vector of zeros (into the lane
that r29 says, see LANE), vmac.f in its elementwise mode multiplies and adds, the other lanes stay 0 + 0 * 0.
Such code is for bf16 operands whose rows are no whole words, which the DMAs cannot lay out in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..isa.assembler import Statement

LANE = -1
"""What r29 holds (it is the program's -1 for acquires): the last lane of 32 of bf16, and of 16 of float32,
which is the one that the last product of bf16 is added to."""

_MODE, _MODE_WORD = "r31", 60
"""bf16 elementwise into 16 lanes of float32 (facts/aie2-isa.md 3.1)."""
_TAKEN = "r17"
"""vextract's lane: one of r16 to r19; the program keeps its products of integers there."""
_ZEROS, _LEFT, _SCRATCH = "x11", "x8", "x9"


def setup() -> Iterator[Statement]:
    """What stands in registers from the start."""
    yield Statement(f"movi {_MODE}, #{_MODE_WORD}", "vmac.f: elementwise bf16")
    yield Statement(f"movi {_TAKEN}, #{LANE}", "vextract: the lane")
    yield Statement(f"vbcst.32 {_ZEROS}, {_MODE}", "zeros:")
    yield Statement(f"vsub.32 {_ZEROS}, {_ZEROS}, {_ZEROS}", "zeros")


def load_sum(column: int, register: str) -> Iterator[Statement]:
    """The sum of a column, from a scalar register to its accumulator."""
    yield Statement(f"vinsert.32 {_SCRATCH}, {_ZEROS}, r29, {register}", "accumulator to the multiplier")
    yield Statement(f"vmov {_accumulator(column)}, {_SCRATCH}", "accumulator to the multiplier")


def store_sum(column: int, register: str) -> Iterator[Statement]:
    """The sum of a column, from its accumulator to a scalar register."""
    yield Statement(f"vmov {_SCRATCH}, {_accumulator(column)}", "accumulator from the multiplier")
    yield Statement(f"vextract.s32 {register}, {_SCRATCH}, {_TAKEN}", "accumulator from the multiplier")


def multiply(left: str, rights: Sequence[str], op: str) -> Iterator[Statement]:
    """Adds left * right to the sum of each column."""
    yield Statement(f"vinsert.16 {_LEFT}, {_ZEROS}, r29, {left}", f"{op}: left to the multiplier")
    for column, right in enumerate(rights):
        yield Statement(f"vinsert.16 x{column}, {_ZEROS}, r29, {right}", f"{op}: right to the multiplier")
    for column in range(len(rights)):
        total = _accumulator(column)
        yield Statement(f"vmac.f {total}, {total}, {_LEFT}, x{column}, {_MODE}", f"{op}: product and sum")


def _accumulator(column: int) -> str:
    return f"bm{'lh'[column % 2]}{column // 2}"
