"""How a matmul is spread over the array: which cores, which tiles, and what that is expected to cost.

The result is cut into parts of rows and of columns, the inner loop into steps; parts and steps of one
loop differ by at most one grain (a word where elements are packed). A core computes one part of rows by
one part of columns at a time; `core_rows` x `core_columns` cores work on neighbouring parts together, so
that each row of cores shares its rows of the left operand and each column its columns of the right one.
What is missing to whole blocks of the multiplier is filled with zeros on the way.

The cost model counts cycles: a step takes as long as its kernel or as its operands' words, whichever is
more (a stream moves one word a cycle); a tile as long as its steps or its results' way out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..npu.limits import COLUMNS, LIMITS, MAXIMUM_TASK_REPEAT, WORD_BYTES
from ..npu.topology import COMPUTE_ROWS, TileKind
from . import halves_kernel
from .core_memory import STACK_BYTES
from .kernel_shape import KernelShape
from .matrix_modes import MODES, VECTOR_BYTES, Accumulator, MatrixMode
from .problem import Contraction, Operand
from .vector_program import STEP_BUNDLES

CORE_BYTES = LIMITS[TileKind.COMPUTE].data_memory_bytes - STACK_BYTES
MEMORY_BYTES = LIMITS[TileKind.MEMORY].data_memory_bytes

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

START_CYCLES = 300
"""From the first instruction until all is flowing."""

TRANSFER_CYCLES = 200
"""Of the NPU's controller, to write a shim's BD, patch its address and start it. An assumption, as nobody
says and the emulated controller takes no time: so that a small problem is not cut into more transfers than
it is worth. They overlap with the array's work."""


@dataclass(frozen=True, slots=True)
class Split:
    """`total` values in `parts` runs that differ by at most one `grain`; longer ones first."""

    total: int
    parts: int
    grain: int

    @property
    def longest(self) -> int:
        return self.size(0)

    @property
    def extra(self) -> int:
        """How many of the parts are the longer ones; all where they are equal."""
        return self.total // self.grain % self.parts or self.parts

    def size(self, part: int) -> int:
        each, more = divmod(self.total // self.grain, self.parts)
        return (each + (part < more)) * self.grain

    def start(self, part: int) -> int:
        each, more = divmod(self.total // self.grain, self.parts)
        return (each * part + min(part, more)) * self.grain

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that occur, the longer first."""
        return tuple(dict.fromkeys((self.size(0), self.size(self.parts - 1))))


@dataclass(frozen=True, slots=True)
class ArrayPlan:
    """What is chosen. `kernel` has the padded sizes of a core's tile."""

    problem: Contraction
    kernel: KernelShape
    core_rows: int
    core_columns: int
    rows: Split
    columns: Split
    inner: Split
    result_buffers: int

    @property
    def mode(self) -> MatrixMode:
        return self.kernel.mode

    @property
    def array_columns(self) -> int:
        """Columns of the partition: each memory tile feeds one row and one column of cores."""
        return max(self.core_rows, self.core_columns)

    @property
    def initial(self) -> Operand | None:
        """The accumulator in memory that sums begin with, where it is no fill."""
        return self.problem.initial if isinstance(self.problem.initial, Operand) else None

    @property
    def cores(self) -> int:
        return self.core_rows * self.core_columns

    @property
    def left_words(self) -> int:
        """Of a core's tile, zeros included."""
        return self.kernel.rows * self.kernel.inner * self.mode.left_bytes // WORD_BYTES

    @property
    def right_words(self) -> int:
        return self.kernel.columns * self.kernel.inner * self.mode.right_bytes // WORD_BYTES

    @property
    def result_words(self) -> int:
        """Of a core's sums."""
        return self.kernel.rows * self.kernel.columns

    @property
    def result_bytes(self) -> int:
        """Of an element as it leaves the core."""
        return WORD_BYTES if self.problem.epilogue is None else self.problem.result.element_bytes

    @property
    def sent_words(self) -> int:
        """Of a core's tile of the result."""
        return self.result_words * self.result_bytes // WORD_BYTES

    @property
    def column_operands(self) -> tuple[Operand, ...]:
        """What the epilogue takes for each column, a bias for example."""
        return () if self.problem.epilogue is None else self.problem.epilogue.operands

    def chunk_words(self, operand: Operand) -> int:
        """Of a core's columns of such an operand."""
        return self.kernel.columns * operand.element_bytes // WORD_BYTES

    @property
    def outer(self) -> tuple[int, ...]:
        """Parallel loops beside rows and columns: a batch."""
        used = (self.problem.row, self.problem.column, self.problem.inner)
        return tuple(d for d, _ in enumerate(self.problem.loops) if d not in used)

    @property
    def tile_count(self) -> int:
        """Tiles that each core computes."""
        batch = math.prod(self.problem.loops[d] for d in self.outer)
        return batch * (self.rows.parts // self.core_rows) * (self.columns.parts // self.core_columns)

    # ----------------------------------------------------------------- cost

    @property
    def kernel_cycles(self) -> int:
        """Bundles of a step's kernel."""
        if self.mode.accumulator is Accumulator.HALVES:
            group = self.kernel.steps * halves_kernel.STEP_BUNDLES + halves_kernel.GROUP_BUNDLES
            return self.kernel.groups * group + STEP_BUNDLES
        return self.kernel.groups * self._group_bundles + STEP_BUNDLES

    @property
    def _group_bundles(self) -> int:
        pieces = self.mode.result_block_bytes // VECTOR_BYTES * self.kernel.step_bundles
        loads = 2 * pieces + 10 if self.inner.parts > 1 or self.initial is not None else pieces
        return max(self.kernel.steps * self.kernel.step_bundles, loads)

    @property
    def step_cycles(self) -> int:
        return max(self.kernel_cycles, self.left_words, self.right_words)

    @property
    def out_cycles(self) -> int:
        """The results of a column of cores through its memory tile and shim."""
        return self.sent_words * -(-self.core_rows // 2)

    @property
    def memory_buffers(self) -> int:
        """Of a core's result in its memory tile: two where there is room and all tiles are of one size."""
        alike = len(self.rows.sizes) == len(self.columns.sizes) == 1
        return 2 if alike and self.memory_words(2) * WORD_BYTES <= MEMORY_BYTES else 1

    def memory_words(self, result_buffers: int) -> int:
        """What a memory tile has to hold at most: each size of operand twice, and results."""
        chunks = sum(self.chunk_words(operand) for operand in self.column_operands)
        words = 8 * (self.left_words + self.right_words + chunks)
        words += self.core_rows * result_buffers * self.sent_words
        return words + (8 * self.result_words if self.initial is not None else 0)

    @property
    def epilogue_cycles(self) -> int:
        """Of a tile: one bundle for each node and element, as much again for latencies and loops."""
        epilogue = self.problem.epilogue
        return 0 if epilogue is None else self.result_words * (len(epilogue.body.graph.nodes) + 6)

    @property
    def cycles(self) -> int:
        steps = self.inner.parts * self.step_cycles + (self.result_words if self.initial is not None else 0)
        steps += self.epilogue_cycles
        tile = max(
            steps, self.out_cycles + self.sent_words * (self.tile_count > 1 and self.memory_buffers == 1)
        )
        if self.result_buffers == 1 and self.tile_count > 1:
            tile = max(tile, steps + self.sent_words)
        fill = 2 * max(self.left_words, self.right_words)
        work = fill + self.tile_count * tile + self.sent_words + self.out_cycles
        return START_CYCLES + max(work, self.control_cycles)

    @property
    def control_cycles(self) -> int:
        """The controller's: per tile its operands' and its results' transfers."""
        return TRANSFER_CYCLES * self.tile_count * (self.core_rows + self.core_columns + self.cores)

    @property
    def bound(self) -> str:
        """What bounds it, in words."""
        steps = self.inner.parts * self.step_cycles
        if self.cycles == START_CYCLES + self.control_cycles:
            return "the transfers that the controller has to start"
        if self.epilogue_cycles > max(steps, self.out_cycles):
            return "what is fused with it, in scalar code"
        if self.out_cycles > steps:
            return "the results' way out"
        if self.step_cycles > self.kernel_cycles:
            return "the operands' way in"
        return "the multiplier"

    def notes(self) -> Iterator[str]:
        """For --explain."""
        sizes = (self.problem.loops[d] for d in (self.problem.row, self.problem.column, self.problem.inner))
        yield (
            f"{self.problem.op}: {' x '.join(map(str, sizes))} (rows x columns x inner) on "
            f"{self.core_rows} x {self.core_columns} cores, {self.mode.name}"
        )
        kernel = self.kernel
        yield (
            f"tile {kernel.rows} x {kernel.columns} x {kernel.inner}, {self.tile_count} per core in "
            f"{self.inner.parts} steps each; result in {self.result_buffers} buffer"
            f"{'s' * (self.result_buffers > 1)}"
        )
        products = math.prod(self.problem.loops)
        ideal = products / self.cores / self.mode.products_per_bundle
        yield (
            f"estimate: {self.cycles} cycles, {100 * ideal / self.cycles:.0f} % of what these cores can "
            f"multiply; bound by {self.bound} (a step: {self.kernel_cycles} bundles, operands "
            f"{self.left_words} and {self.right_words} words; results {self.out_cycles} words a tile)"
        )


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
    found = sorted(_candidates(*oriented, grids), key=lambda plan: (plan.cycles, plan.cores))
    yield from found[:PLANS_TRIED]


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


def _candidates(
    problem: Contraction,
    mode: MatrixMode,
    sides: _Sides,
    bounds: tuple[int, int, int],
    grids: list[tuple[int, int]],
) -> Iterator[ArrayPlan]:
    m, n, k = (problem.loops[d] for d in (problem.row, problem.column, problem.inner))
    limits = [min(bound, PART_MAXIMUM) for bound in bounds[:2]]
    for core_rows, core_columns in grids:
        row_splits = list(_splits(m, core_rows, sides.row_grain, mode.group_rows, limits[0]))
        column_splits = list(_splits(n, core_columns, sides.column_grain, mode.group_columns, limits[1]))
        for rows, columns in itertools.product(row_splits, column_splits):
            for inner in _inner_splits(k, sides, mode, bounds[2]):
                kernel = KernelShape(
                    mode,
                    _whole(rows.longest, mode.group_rows),
                    _whole(columns.longest, mode.group_columns),
                    _whole(inner.longest, mode.inner),
                    sides.left_transposed,
                    sides.right_transposed,
                )
                for buffers in (2, 1):
                    found = ArrayPlan(problem, kernel, core_rows, core_columns, rows, columns, inner, buffers)
                    if _fits(found):
                        yield found
                        break


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


def _whole(size: int, block: int) -> int:
    return -(-size // block) * block


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
