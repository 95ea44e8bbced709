"""Cuts a contraction into tiles that fit into one core's memory, and into the steps that compute them.

All tiles of a problem have one size, as the core's BDs are fixed: where a size does not divide its loop,
the last tile begins earlier and overlaps its neighbour. What the overlap must not do twice, it skips: the
reduction always, rows and columns only where the accumulator is read and written in place. The tile size
is the one of least cost under the limits; the cost model counts the core's bundles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import UnsupportedOp
from . import matmul_program as program
from .boxes import Box, BoxShape, box_shape
from .core_memory import BUFFER_BYTES, INITIAL_CHAIN_STEPS, aligned
from .problem import Contraction, Operand
from .transfers import pattern

# tile counts that are tried along a loop
_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024, 2048, 4096)

STEPS_MAXIMUM = 100_000
"""The instruction stream has some 100 bytes a step, and is kept in one buffer of the host."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tile size along row, column and inner loop, and the form of each operand's boxes."""

    problem: Contraction
    rows: int
    columns: int
    inner: int
    left: BoxShape
    right: BoxShape
    result: BoxShape
    initial: BoxShape | None
    cost: int

    @property
    def counts(self) -> tuple[int, int, int]:
        """Tiles along row, column and inner loop."""
        loops = self.problem.loops
        sizes = (
            (self.problem.row, self.rows),
            (self.problem.column, self.columns),
            (self.problem.inner, self.inner),
        )
        row, column, inner = (-(-loops[d] // size) for d, size in sizes)
        return row, column, inner

    @property
    def steps_per_tile(self) -> int:
        """Steps that one tile of the result takes."""
        return self.counts[2] * _trips(self.problem, reduction=True)

    @property
    def tile_count(self) -> int:
        """Tiles of the result."""
        return self.counts[0] * self.counts[1] * _trips(self.problem, reduction=False)


@dataclass(frozen=True, slots=True)
class Step:
    """One product of a left and a right box, added to `rows` x `columns` of the result over `inner`.

    The skips are bytes from the beginning of each of the core's buffers.
    """

    left: Box
    right: Box
    left_skip: int
    right_skip: int
    result_skip: int
    rows: int
    columns: int
    inner: int
    first: bool
    last: bool


@dataclass(frozen=True, slots=True)
class ResultTile:
    """One tile of the result: its accumulator to begin with (if it comes from memory), and its steps."""

    number: int
    result: Box
    initial: Box | None
    steps: tuple[Step, ...]


def choose(problem: Contraction, largest: tuple[int, int, int] | None = None) -> Tiling:
    """The cheapest tiling, of tiles of at most `largest` rows, columns and inner values of the problem.

    Raises UnsupportedOp where none fits.
    """
    loops = problem.loops
    parts = (problem.row, problem.column, problem.inner)
    bounds = dict(zip(parts, largest or (loops[d] for d in parts), strict=True))
    if loops[problem.column] < min(loops[problem.row], program.BLOCK_COLUMNS):
        problem = problem.transposed()  # blocks lie along the columns
    best = min(_fitting(problem, bounds), key=lambda tiling: tiling.cost, default=None)
    if best is None:
        raise _does_not_fit(problem)
    return best


def _fitting(problem: Contraction, bounds: dict[int, int]) -> Iterator[Tiling]:
    """All tilings to choose from, each cheaper than the one before."""
    parts = (problem.row, problem.column, problem.inner)
    row, column, inner = ((d, _sizes(problem, d, bounds[d])) for d in parts)
    lefts = _shapes(problem, problem.left, row, inner)
    rights = _shapes(problem, problem.right, column, inner)
    results = _shapes(problem, problem.result, row, column)
    incoming = problem.initial if isinstance(problem.initial, Operand) else None
    initials = {} if incoming is None else _shapes(problem, incoming, row, column)
    best = None
    for (rows, columns), result in results.items():
        initial = initials.get((rows, columns))
        tile_count = _tiles(problem.loops[row[0]], rows) * _tiles(problem.loops[column[0]], columns)
        tile_count *= _trips(problem, reduction=False)
        if problem.clobbers_operand and tile_count > 1:
            continue
        if incoming is not None and (initial is None or initial.core_strides != result.core_strides):
            continue  # it arrives where the result is made
        for depth in inner[1]:
            left, right = lefts.get((rows, depth)), rights.get((columns, depth))
            steps = _tiles(problem.loops[inner[0]], depth) * _trips(problem, reduction=True)
            if left is None or right is None or not _fits(left, right, result):
                continue
            if steps * tile_count > STEPS_MAXIMUM or (initial is not None and steps > INITIAL_CHAIN_STEPS):
                continue
            cost = tile_count * (
                steps * (program.product_bundles(rows, columns, depth) + _step_overhead(left, right))
                + 2 * result.words  # its initial value or its transfer, and the way back
            )
            if best is None or cost < best:
                best = cost
                yield Tiling(problem, rows, columns, depth, left, right, result, initial, cost)


def tiles(tiling: Tiling) -> Iterator[ResultTile]:
    """The result's tiles in the order of their computation."""
    problem = tiling.problem
    parallel = _outer(problem, reduction=False)
    ranges = [range(problem.loops[d]) for d in parallel]
    row_tiles, column_tiles, _ = tiling.counts
    cells = itertools.product(*ranges, range(row_tiles), range(column_tiles))
    for number, (*outer, row, column) in enumerate(cells):
        starts = [0] * len(problem.loops)
        for d, value in zip(parallel, outer, strict=True):
            starts[d] = value
        starts[problem.row], seen_rows = _start(problem.loops[problem.row], tiling.rows, row)
        starts[problem.column], seen_columns = _start(problem.loops[problem.column], tiling.columns, column)
        done = (seen_rows, seen_columns) if problem.in_place else (0, 0)
        yield ResultTile(
            number,
            tiling.result.at(tuple(starts)),
            None if tiling.initial is None else tiling.initial.at(tuple(starts)),
            tuple(_steps(tiling, starts, *done)),
        )


def _steps(tiling: Tiling, tile_starts: list[int], rows_done: int, columns_done: int) -> Iterator[Step]:
    problem, total = tiling.problem, tiling.steps_per_tile
    outer = _outer(problem, reduction=True)
    ranges = [range(problem.loops[d]) for d in outer]
    for number, (*values, inner) in enumerate(itertools.product(*ranges, range(tiling.counts[2]))):
        starts = list(tile_starts)
        for d, value in zip(outer, values, strict=True):
            starts[d] = value
        starts[problem.inner], inner_done = _start(problem.loops[problem.inner], tiling.inner, inner)
        left, right = tiling.left.at(tuple(starts)), tiling.right.at(tuple(starts))
        done = {problem.row: rows_done, problem.column: columns_done, problem.inner: inner_done}

        def skip(shape: BoxShape, done: dict[int, int] = done) -> int:
            return sum(count * shape.core_strides[d] for d, count in done.items())

        yield Step(
            left=left,
            right=right,
            left_skip=left.skip_bytes + skip(tiling.left),
            right_skip=right.skip_bytes + skip(tiling.right),
            result_skip=skip(tiling.result),
            rows=tiling.rows - rows_done,
            columns=tiling.columns - columns_done,
            inner=tiling.inner - inner_done,
            first=number == 0,
            last=number == total - 1,
        )


def _start(loop: int, size: int, index: int) -> tuple[int, int]:
    """Where tile `index` begins, and how many of its values an earlier tile has had."""
    start = min(index * size, loop - size)
    return start, index * size - start


def _outer(problem: Contraction, *, reduction: bool) -> tuple[int, ...]:
    """The loops that are no part of a tile."""
    parts = (problem.row, problem.column, problem.inner)
    return tuple(d for d, reduced in enumerate(problem.reduction) if d not in parts and reduced is reduction)


def _sizes(problem: Contraction, loop: int, bound: int) -> list[int]:
    """Tile sizes to try along `loop`, up to `bound`, in whole words where an operand packs several
    elements into one."""
    trips, grain = problem.loops[loop], 1
    for operand in (problem.left, problem.right):
        per_word = 4 // operand.element_bytes
        if operand.strides[loop] == 1 and trips % per_word == 0:
            grain = max(grain, per_word)
    found = {-(-trips // count) for count in _COUNTS if count <= trips}
    found = {min(trips, -(-size // grain) * grain) for size in found}
    largest = max(grain, bound // grain * grain)  # may be more than asked for, where a word is
    return sorted({size for size in found if size <= largest} | {min(trips, largest)}, reverse=True)


_Sizes = tuple[int, list[int]]
"""A loop, and the tile sizes to try along it."""


def _shapes(
    problem: Contraction, operand: Operand, first: _Sizes, second: _Sizes
) -> dict[tuple[int, int], BoxShape]:
    """The operand's boxes by tile size, where they are not too large and a BD can fetch them."""
    found: dict[tuple[int, int], BoxShape] = {}
    for sizes in itertools.product(first[1], second[1]):
        shape = _shape(problem, operand, {first[0]: sizes[0], second[0]: sizes[1]})
        if shape is not None:
            found[sizes] = shape
    return found


def _shape(problem: Contraction, operand: Operand, sizes: dict[int, int]) -> BoxShape | None:
    extents = tuple(sizes.get(d, 1) for d in range(len(problem.loops)))
    shape = box_shape(operand, problem.loops, extents)
    if shape.size_bytes > BUFFER_BYTES or pattern(shape.dimensions) is None:
        return None
    return shape


def _fits(*shapes: BoxShape) -> bool:
    return sum(aligned(shape.size_bytes) for shape in shapes) <= BUFFER_BYTES


def _tiles(loop: int, size: int) -> int:
    return -(-loop // size)


def _trips(problem: Contraction, *, reduction: bool) -> int:
    """How often the loops run that are no part of a tile."""
    return math.prod(problem.loops[d] for d in _outer(problem, reduction=reduction))


def _step_overhead(*shapes: BoxShape) -> int:
    """Bundles of a step beside its product: waiting for what arrives, one word a cycle, and the record."""
    return program.STEP_BUNDLES + sum(shape.words for shape in shapes if not shape.operand.resident)


def _does_not_fit(problem: Contraction) -> UnsupportedOp:
    if problem.clobbers_operand:
        return UnsupportedOp(
            f"{problem.op} writes its result over one of its operands, and is larger than one tile",
            location=problem.location,
            remedy="accumulate into a tensor of its own, or keep all operands within 64 KiB",
            op=problem.op,
        )
    sizes = "x".join(map(str, problem.loops))
    return UnsupportedOp(
        f"no tile of {problem.op} (loops {sizes}) fits into a core's 64 KiB, the DMA's limits and "
        f"{STEPS_MAXIMUM} steps",
        location=problem.location,
        remedy="use smaller sizes, larger tiles where they were given, or rows of i8 and i16 operands "
        "that are a multiple of 4 bytes",
        op=problem.op,
    )
