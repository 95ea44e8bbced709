"""The inner kernel: a tile of the result += tile of A times tile of B, software-pipelined.

Both operands stand in the core's memory in the multiplier's blocks. The result is computed in groups of
blocks whose accumulators are in registers; a group runs over the whole inner length of the tile, one
matrix product per bundle. Two sets of accumulators take turns, so that while one group multiplies, the
one before is stored and the one after is loaded, and while one inner step multiplies, the operands of the
next are loaded. The code of a group is the same for all (pointers move in two dimensions by themselves),
so that it is written out for a few and the middle becomes a zero-overhead loop.

Times are in bundles; an operand register is loaded while it is still read (facts/aie2-isa.md 2.2: a read
before the latency is over sees the old value, which is what compilers' pipelined loops do, too).
"""

from __future__ import annotations

from dataclasses import dataclass

from .accumulator_schedule import AccumulatorSchedule, accumulator, begin_register
from .kernel_shape import BundleTable, KernelDoesNotFit, KernelShape
from .matrix_modes import Accumulator
from .operand_schedule import OperandPlan, operand_code
from .pointer_moves import (
    LEFT_WALK,
    LOAD_WALK,
    RIGHT_WALK,
    STORE_WALK,
    Modifiers,
    Walk,
    left_moves,
    result_moves,
    right_moves,
)

MODE_WORD = "r16"

_GROUPS_WRITTEN_OUT = 6
"""Groups that are scheduled one by one before the middle is made a loop."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """The scheduled code: `head`, `loop` repeated `turns` times, `tail`; each bundle a tuple of texts.

    Before it, pointers p0 to p3 (A, B, result to load, result to store), the registers `modifiers` and
    the walks d0 to d3 must be set; counters dc0 to dc3 are 0 before and after.
    """

    head: tuple[tuple[str, ...], ...]
    loop: tuple[tuple[str, ...], ...]
    turns: int
    tail: tuple[tuple[str, ...], ...]
    modifiers: tuple[tuple[str, int], ...]
    walks: tuple[tuple[int, Walk], ...]
    group_bundles: int

    @property
    def bundles(self) -> int:
        """Bundles that it takes to run."""
        return len(self.head) + self.turns * len(self.loop) + len(self.tail)

    @property
    def written_bundles(self) -> int:
        """Bundles of program memory."""
        return len(self.head) + len(self.loop) + len(self.tail)


def schedule_kernel(shape: KernelShape, *, begins: bool) -> Kernel:
    """`begins`: the accumulators start with what cm8 (float: bml8) holds instead of the result so far.

    Raises KernelDoesNotFit.
    """
    modifiers = Modifiers()
    plan = OperandPlan.of(shape)
    plan.left.moves = left_moves(shape)
    plan.right.moves = right_moves(shape)
    moves = result_moves(shape)
    accumulators = AccumulatorSchedule(shape, begins=begins)
    least = max(shape.steps * shape.step_bundles, accumulators.pieces)
    for period in range(least, least + 4 * accumulators.pieces + 16):
        if accumulators.place(period, plan):
            break
    else:
        raise KernelDoesNotFit("accumulators cannot be loaded in time")
    groups = shape.groups
    written = groups if groups <= _GROUPS_WRITTEN_OUT + 1 else _GROUPS_WRITTEN_OUT + groups % 2
    bundles = BundleTable()
    for group in range(written):
        start = group * period
        operand_code(bundles, shape, plan, start, group, modifiers)
        _product_code(bundles, shape, plan, start, group, begins=begins)
        accumulators.code(bundles, start, group, moves, modifiers)
    code = bundles.listed()
    walks = [(LEFT_WALK, plan.left.moves.walk), (RIGHT_WALK, plan.right.moves.walk)]
    walks += [(LOAD_WALK, moves.walk)] * (not begins) + [(STORE_WALK, moves.walk)]
    parts = _rolled(code, period, groups - written) if groups > written else (code, (), 0, ())
    return Kernel(*parts, tuple(modifiers.values()), tuple(walks), period)


def _rolled(
    code: tuple[tuple[str, ...], ...], period: int, left_out: int
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...], int, tuple[tuple[str, ...], ...]]:
    """Finds two equal pairs of groups in a row and makes them a loop of the pair."""
    pair = 2 * period
    for start in range(len(code) - 2 * pair + 1):
        if code[start : start + pair] == code[start + pair : start + 2 * pair]:
            return code[:start], code[start : start + pair], 2 + left_out // 2, code[start + 2 * pair :]
    raise KernelDoesNotFit("the schedule does not repeat")


def _product_code(
    bundles: BundleTable, shape: KernelShape, plan: OperandPlan, start: int, group: int, *, begins: bool
) -> None:
    mode = shape.mode
    mnemonic = "vmac.f" if mode.accumulator is Accumulator.FLOAT else "vmac"
    for step in range(shape.steps):
        number = group * shape.steps + step
        left = plan.left.registers[number % len(plan.left.registers)]
        right = plan.right.registers[number % len(plan.right.registers)]
        for index in range(shape.step_bundles):
            row, column = divmod(index, mode.column_blocks)
            target = accumulator(shape, group, index)
            source = begin_register(mode) if begins and step == 0 else target
            text = f"{mnemonic} {target}, {source}, {left[row]}, {right[column]}, {MODE_WORD}"
            bundles.add(start + step * shape.step_bundles + index, "vec", text)
