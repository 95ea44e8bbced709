"""How a matmul is spread over the array: which cores, which tiles, and what that is expected to cost.

The result is cut into parts of rows and of columns, the inner loop into steps; parts and steps of one
loop differ by at most one grain (a word where elements are packed). A core computes one part of rows by
one part of columns at a time; `core_rows` x `core_columns` cores work on neighbouring parts together, so
that each row of cores shares its rows of the left operand and each column its columns of the right one.
What is missing to whole blocks of the multiplier is filled with zeros on the way.

The cost model counts cycles: a step takes as long as its kernel or as its operands' words, whichever is
more (a stream moves one word a cycle); a tile as long as its steps or its results' way out. Each core has to
be configured first, so that a small problem takes few of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..npu.limits import LIMITS, WORD_BYTES
from ..npu.topology import TileKind
from . import halves_kernel
from .array_epilogue import epilogue_cycles
from .core_memory import STACK_BYTES
from .kernel_shape import KernelShape
from .matrix_modes import VECTOR_BYTES, Accumulator, MatrixMode
from .problem import Contraction, Operand
from .vector_epilogue import vector_body
from .vector_program import STEP_BUNDLES

CORE_BYTES = LIMITS[TileKind.COMPUTE].data_memory_bytes - STACK_BYTES
MEMORY_BYTES = LIMITS[TileKind.MEMORY].data_memory_bytes

START_CYCLES = 300
"""From the first instruction until all is flowing."""

TRANSFER_CYCLES = 200
"""Of the NPU's controller, to write a shim's BD, patch its address and start it. An assumption, as nobody
says and the emulated controller takes no time: so that a small problem is not cut into more transfers than
it is worth. They overlap with the array's work."""

CORE_SETUP_CYCLES = 1000
"""To configure one core: a further one has to save more than that, or the problem takes fewer. Our PDIs grow
by 600 to 1,300 words with each core (its program, its buffers' descriptors, locks, routes); that the
controller writes one word a cycle is an assumption, nobody says how fast it is."""


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
            return self.kernel.groups * halves_kernel.group_bundles(self.kernel.steps) + STEP_BUNDLES
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
        """Of a tile."""
        epilogue = self.problem.epilogue
        if epilogue is None:
            return 0
        return epilogue_cycles(epilogue, self.kernel, self.problem.result.view, self.result_words)

    @property
    def _scalar_epilogue(self) -> bool:
        epilogue = self.problem.epilogue
        return epilogue is None or vector_body(epilogue, self.kernel, self.problem.result.view) is None

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
    def setup_cycles(self) -> int:
        """Before it can run: the configuration of its cores."""
        return CORE_SETUP_CYCLES * self.cores

    @property
    def bound(self) -> str:
        """What bounds it, in words."""
        steps = self.inner.parts * self.step_cycles
        if self.cycles == START_CYCLES + self.control_cycles:
            return "the transfers that the controller has to start"
        if self.epilogue_cycles > max(steps, self.out_cycles):
            return f"what is fused with it, in {'scalar' if self._scalar_epilogue else 'vector'} code"
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
            f"{self.left_words} and {self.right_words} words; results {self.out_cycles} words a tile); "
            f"before that, {self.setup_cycles} to configure the cores"
        )


def whole(size: int, block: int) -> int:
    """`size` and what is missing to a multiple of `block`."""
    return -(-size // block) * block


def least_cycles(
    problem: Contraction, mode: MatrixMode, core_rows: int, core_columns: int, rows: Split, columns: Split
) -> int:
    """What no plan with these parts falls below, into however many steps its inner loop is cut: all blocks
    through the multiplier, all operands through the streams, all results out, all transfers started; and its
    cores' setup."""
    tile_rows, tile_columns = whole(rows.longest, mode.group_rows), whole(columns.longest, mode.group_columns)
    size = problem.loops[problem.inner]
    shape = KernelShape(mode, tile_rows, tile_columns, whole(size, mode.inner))
    halves = mode.accumulator is Accumulator.HALVES
    products = shape.steps * (halves_kernel.WRITTEN_STEP_BUNDLES if halves else shape.step_bundles)
    operands = max(tile_rows * mode.left_bytes, tile_columns * mode.right_bytes) * size // WORD_BYTES
    bare = ArrayPlan(
        problem, shape, core_rows, core_columns, rows, columns, Split(size, 1, 1), result_buffers=2
    )
    tile = max(shape.groups * products + bare.epilogue_cycles, operands, bare.out_cycles)
    return START_CYCLES + max(bare.tile_count * tile, bare.control_cycles) + bare.setup_cycles
