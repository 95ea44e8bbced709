"""Which plan a matmul takes: every one that fits is a candidate, the cost model of array_plan.py chooses.

The search goes from bounds to plans: for each grid of cores and each way to cut rows and columns there is a
number of cycles that no choice of steps falls below, so that most of them are never looked at.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from ..npu.limits import COLUMNS, MAXIMUM_TASK_REPEAT, WORD_BYTES
from ..npu.topology import COMPUTE_ROWS
from .array_plan import CORE_BYTES, MEMORY_BYTES, ArrayPlan, Split, least_cycles, whole
from .kernel_shape import KernelShape
from .matrix_modes import MODES, MatrixMode
from .problem import Contraction, Operand

GROUP_BUNDLES_MAXIMUM = 112
"""Bundles of a group, of which the program holds some four per kernel: 16 KiB of program memory."""

PART_MAXIMUM = 128
"""Rows or columns of a tile; the accumulators' moves of pointers have to fit into immediates."""

TILES_MAXIMUM = 20_000
"""The instruction stream has about 1 KiB a tile and column, and is kept in one buffer of the host."""

PLANS_TRIED = 20
"""Plans that are tried before the problem is given to one core's scalar code."""

COLUMN_OPERANDS_MAXIMUM = 3
"""Operands of the epilogue: with the right operand's steps they are tasks of one queue of four."""


def plans(
    problem: Contraction,
    *,
    cores: int,
    grid: tuple[int, int] | None = None,
    tile: tuple[int, int, int] | None = None,
) -> Iterator[ArrayPlan]:
    """Plans on at most `cores` cores, or just on `grid`, the cheapest first.

    None for what the multiplier or the DMAs do not take. `tile` bounds a core's tile.
    """
    oriented = _oriented(problem, tile)
    if oriented is None:
        return
    grids = _grids(cores, grid)
    if isinstance(problem.initial, Operand):
        # the accumulator takes the way of the right operand, which no two cores may share then
        grids = [(rows, columns) for rows, columns in grids if rows == 1]
    yield from _cheapest(*oriented, grids)


@dataclass(frozen=True, slots=True)
class _Sides:
    """How operands stand in memory: whether their rows run along the inner loop, and the grains."""

    left_transposed: bool
    right_transposed: bool
    row_grain: int
    column_grain: int
    inner_grain: int


def _oriented(
    problem: Contraction, tile: tuple[int, int, int] | None
) -> tuple[Contraction, MatrixMode, _Sides, tuple[int, int, int]] | None:
    bounds = tile or (PART_MAXIMUM, PART_MAXIMUM, problem.loops[problem.inner])
    mode = MODES.get((problem.left.view.element, problem.right.view.element))
    if mode is None:
        problem, bounds = problem.transposed(), (bounds[1], bounds[0], bounds[2])
        mode = MODES.get((problem.left.view.element, problem.right.view.element))
    resident = problem.left.resident or problem.right.resident
    reductions = [
        size
        for d, size in enumerate(problem.loops)
        if problem.reduction[d] and d != problem.inner and size > 1
    ]
    if mode is None or resident or reductions or problem.clobbers_operand:
        return None
    left = _runs_along(problem, problem.left, problem.row)
    right = _runs_along(problem, problem.right, problem.column)
    if left is None or right is None:
        return None
    right = not right  # as it is written, B's runs go along the columns
    epilogue_grain = _epilogue_grain(problem)
    if epilogue_grain is None:
        return None
    left_grain, right_grain = WORD_BYTES // mode.left_bytes, WORD_BYTES // mode.right_bytes
    inner_grain = max(1 if left else left_grain, right_grain if right else 1)
    column_grain = max(1 if right else right_grain, epilogue_grain)
    sides = _Sides(left, right, left_grain if left else 1, column_grain, inner_grain)
    return problem, mode, sides, bounds


def _epilogue_grain(problem: Contraction) -> int | None:
    """Columns whose results, and whose operands of the epilogue, are whole words; None where rows of them
    are not, or where an operand is there for each row."""
    epilogue, row, column = problem.epilogue, problem.row, problem.column
    if epilogue is None:
        return 1
    if isinstance(problem.initial, Operand) or len(epilogue.operands) > COLUMN_OPERANDS_MAXIMUM:
        return None
    grain = 1
    for operand in (problem.result, *epilogue.operands):
        size = operand.element_bytes
        own = max(1, WORD_BYTES // size)
        others = [d for d in range(len(problem.loops)) if d != column and problem.loops[d] > 1]
        if (
            size > WORD_BYTES
            or operand.strides[column] != 1
            or problem.loops[column] % own
            or operand.view.base % own
            or any(operand.strides[d] % own for d in others)
            or (operand is not problem.result and problem.loops[row] > 1 and operand.strides[row])
        ):
            return None
        grain = max(grain, own)
    return grain


def _runs_along(problem: Contraction, operand: Operand, along: int) -> bool | None:
    """Whether the operand's runs of memory go along `along` instead of the inner loop; None where they
    do not consist of words or go along neither."""
    size, view = operand.element_bytes, operand.view
    if view.base * size % WORD_BYTES:
        return None
    for packed, other, transposed in ((problem.inner, along, False), (along, problem.inner, True)):
        loops = [d for d in range(len(problem.loops)) if d != packed]
        if (
            operand.strides[packed] == 1
            and problem.loops[packed] * size % WORD_BYTES == 0
            and all(operand.stride_bytes(d) % WORD_BYTES == 0 for d in loops if problem.loops[d] > 1)
            and (problem.loops[other] == 1 or operand.strides[other] > 0)
        ):
            return transposed
    return None


def _grids(cores: int, grid: tuple[int, int] | None) -> list[tuple[int, int]]:
    if grid is not None:
        return [grid]
    every = itertools.product(range(1, len(COMPUTE_ROWS) + 1), range(1, COLUMNS + 1))
    return [(rows, columns) for rows, columns in every if rows * columns <= cores]


@dataclass(frozen=True, slots=True)
class _Spread:
    """Rows and columns cut for a grid of cores; `least_cycles` is a bound from below whatever the steps."""

    core_rows: int
    core_columns: int
    rows: Split
    columns: Split
    least_cycles: int


def _cheapest(
    problem: Contraction,
    mode: MatrixMode,
    sides: _Sides,
    bounds: tuple[int, int, int],
    grids: list[tuple[int, int]],
) -> list[ArrayPlan]:
    """The `PLANS_TRIED` cheapest. What cannot be among them is not looked at: spreads come by their bound."""
    inner_splits = list(_inner_splits(problem.loops[problem.inner], sides, mode, bounds[2]))
    spreads = list(_spreads(problem, mode, sides, bounds, grids))
    order = sorted(range(len(spreads)), key=lambda index: spreads[index].least_cycles)
    best: list[tuple[int, int, int, int, ArrayPlan]] = []
    for index in order:
        if len(best) == PLANS_TRIED and spreads[index].least_cycles > best[-1][0]:
            break
        for number, inner in enumerate(inner_splits):
            found = _plan(problem, mode, sides, spreads[index], inner)
            if found is not None:
                # among equals the one of fewer cores, then the one that comes first
                total = found.cycles + found.setup_cycles
                bisect.insort(best, (total, found.cores, index, number, found))
                del best[PLANS_TRIED:]
    return [entry[-1] for entry in best]


def _spreads(
    problem: Contraction,
    mode: MatrixMode,
    sides: _Sides,
    bounds: tuple[int, int, int],
    grids: list[tuple[int, int]],
) -> Iterator[_Spread]:
    m, n = problem.loops[problem.row], problem.loops[problem.column]
    limits = [min(bound, PART_MAXIMUM) for bound in bounds[:2]]
    for core_rows, core_columns in grids:
        row_splits = list(_splits(m, core_rows, sides.row_grain, mode.group_rows, limits[0]))
        column_splits = list(_splits(n, core_columns, sides.column_grain, mode.group_columns, limits[1]))
        for rows, columns in itertools.product(row_splits, column_splits):
            least = least_cycles(problem, mode, core_rows, core_columns, rows, columns)
            yield _Spread(core_rows, core_columns, rows, columns, least)


def _plan(
    problem: Contraction, mode: MatrixMode, sides: _Sides, spread: _Spread, inner: Split
) -> ArrayPlan | None:
    """With its results in two buffers, or in one where two do not fit; None where that does not either."""
    kernel = KernelShape(
        mode,
        whole(spread.rows.longest, mode.group_rows),
        whole(spread.columns.longest, mode.group_columns),
        whole(inner.longest, mode.inner),
        sides.left_transposed,
        sides.right_transposed,
    )
    grid = (spread.core_rows, spread.core_columns)
    for buffers in (2, 1):
        found = ArrayPlan(problem, kernel, *grid, spread.rows, spread.columns, inner, buffers)
        if _fits(found):
            return found
    return None


def _splits(total: int, cores: int, grain: int, group: int, bound: int) -> Iterator[Split]:
    """Splits over `cores` cores, with tiles of each size up to `bound`."""
    seen: set[int] = set()
    grains = total // grain
    for size in range(max(group, bound // group * group), 0, -group):
        parts = cores * -(-total // (cores * max(grain, size // grain * grain)))
        if parts > grains or parts in seen:
            continue
        seen.add(parts)
        split = Split(total, parts, grain)
        if split.longest <= max(size, group, grain):
            yield split


def _inner_splits(total: int, sides: _Sides, mode: MatrixMode, bound: int) -> Iterator[Split]:
    most = GROUP_BUNDLES_MAXIMUM // (mode.row_blocks * mode.column_blocks) * mode.inner
    most = max(mode.inner, min(most, bound))
    least = max(1, -(-total // most))
    for parts in range(least, min(total // sides.inner_grain, 4 * least + 4, MAXIMUM_TASK_REPEAT) + 1):
        split = Split(total, parts, sides.inner_grain)
        if split.longest <= most:
            yield split


def _fits(found: ArrayPlan) -> bool:
    """Whether buffers fit into memories and numbers into fields."""
    kernel = found.kernel
    core_words = 2 * (found.left_words + found.right_words) + found.result_buffers * found.sent_words
    chunks = sum(found.chunk_words(operand) for operand in found.column_operands)
    core_words += chunks + (found.result_words if found.problem.epilogue is not None else 0)
    return (
        core_words * WORD_BYTES <= CORE_BYTES
        and found.memory_words(1) * WORD_BYTES <= MEMORY_BYTES
        and found.tile_count <= TILES_MAXIMUM
        and (not chunks or len(found.inner.sizes) == 1 or len(found.column_operands) <= 2)
        and max(found.left_words, found.right_words, found.result_words) < 1 << 14
        and kernel.steps * kernel.step_bundles <= GROUP_BUNDLES_MAXIMUM
    )
