"""The tiles of a staged dispatch: one size per axis, so that all tensors of a step fit into a core's memory.

At an axis' end the last tile is smaller. What costs least is chosen: a step costs some hundred cycles of
control, a word one cycle, an iteration about one per node of its body; several cores share the steps.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..errors import UnsupportedOp
from ..npu.limits import LIMITS, WORD_BYTES
from ..npu.topology import TileKind
from .axes import Axes, axes_of
from .core_memory import STACK_BYTES, aligned
from .problem import View
from .stage_forms import Form, Transfer, buffer_form, packed_form, resident_form, transfer
from .stages import Staged, Use
from .streaming import carried

FRAME_WORDS = 128
"""Words that the stream may write for a step."""
FRAME_SLOTS = 2
FIRST_BUFFER = STACK_BYTES + FRAME_SLOTS * FRAME_WORDS * WORD_BYTES
BUFFER_BYTES = LIMITS[TileKind.COMPUTE].data_memory_bytes - FIRST_BUFFER

STEPS_MAXIMUM = 20_000
"""The instruction stream has some 500 bytes a step, and is kept in one buffer of the host."""

STREAM_CYCLES = 100
STEP_CYCLES = 300
ITERATION_CYCLES = 6
"""The cost model's: of the stream per step, of a step beside its words, of an iteration beside its nodes."""

_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 2048, 4096)
_TRIED = 40
"""Tile sizes that fit, of which the cheapest is taken; those of the fewest steps come first."""
_CANDIDATES_MAXIMUM = 150_000
"""Tile sizes that are looked at: above, every other size of the axis that has most is left out."""


@dataclass(frozen=True, slots=True)
class Step:
    """Starts and sizes of the tile per axis."""

    starts: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StageTiling:
    """`tiles` are sizes per axis; `forms` and `addresses` (offsets in the core's memory) go by tensor."""

    staged: Staged
    axes: Axes
    tiles: tuple[int, ...]
    forms: tuple[Form, ...]
    addresses: tuple[int, ...]
    merged: tuple[bool, ...]
    """By store: whether the words around its elements are loaded first."""

    @property
    def serial(self) -> bool:
        """Whether a step may only load when the one before has stored."""
        return any(self.merged)

    @property
    def one_at_a_time(self) -> bool:
        """Whether a step of a lane may only load when the lane's one before has stored: it loads nothing that
        could wait for that, or what was stored."""
        targets = {store.view.binding for store in self.staged.stores}
        views = [self.staged.tensors[tensor].view for tensor in self.loads]
        again = any(view is not None and view.binding in targets for view in views)
        return self.serial or not views or (again and self.steps_of_a_result > 1)

    @property
    def loads(self) -> tuple[int, ...]:
        """Tensors that come from buffers in each step."""
        return tuple(t for t, tensor in enumerate(self.staged.tensors) if tensor.loaded)

    @property
    def step_count(self) -> int:
        return _count(self.axes, self.tiles)

    @property
    def steps_of_a_result(self) -> int:
        """Steps, one after the other and on one core, that the tile of a result takes."""
        first = len(self.axes.sizes) - self.axes.streamed
        return math.prod(-(-size // tile) for size, tile in self._along_axes()[first:])

    def _along_axes(self) -> list[tuple[int, int]]:
        return list(zip(self.axes.sizes, self.tiles, strict=True))

    def steps(self) -> Iterator[Step]:
        """In the order of their computation; those of one result's tile stand together."""
        ranges = [range(0, size, tile) for size, tile in zip(self.axes.sizes, self.tiles, strict=True)]
        for starts in itertools.product(*ranges):
            counts = tuple(
                min(tile, size - start)
                for start, tile, size in zip(starts, self.tiles, self.axes.sizes, strict=True)
            )
            yield Step(starts, counts)

    def varies(self, axis: int) -> bool:
        """Whether the last tile along the axis is smaller."""
        return self.axes.sizes[axis] % self.tiles[axis] != 0

    def load(self, tensor: int, step: Step) -> Transfer:
        view = self.staged.tensors[tensor].view
        assert view is not None, "only loaded tensors are asked for"
        return self._transfer(tensor, view, step)

    def store(self, number: int, step: Step) -> Transfer:
        store = self.staged.stores[number]
        return self._transfer(store.tensor, store.view, step)

    def _transfer(self, tensor: int, view: View, step: Step) -> Transfer:
        found = _tile_transfer(self.axes, tensor, view, self.forms[tensor], step)
        assert found is not None, "the tiling was checked to be expressible"
        return found


def choose_tiles(staged: Staged, lanes: Callable[[StageTiling], int]) -> StageTiling:
    """The cheapest tiling, where `lanes` says on how many cores it is computed. Raises UnsupportedOp where
    none fits."""
    for whole_words, form in itertools.product((True, False), (staged, carried(staged))):
        axes = axes_of(form)
        if form is staged or axes.streamed:
            found = list(itertools.islice(_tilings(form, axes, whole_words=whole_words), _TRIED))
            if found:
                return min(found, key=lambda tiling: _cost(tiling, lanes(tiling)))
    raise _does_not_fit(staged)


def _tilings(staged: Staged, axes: Axes, *, whole_words: bool) -> Iterator[StageTiling]:
    """Those that fit, of the fewest steps first."""
    sizes = [_sizes(staged, axes, axis, whole_words=whole_words) for axis in range(len(axes.sizes))]
    while math.prod(map(len, sizes)) > _CANDIDATES_MAXIMUM:
        most = max(range(len(sizes)), key=lambda axis: len(sizes[axis]))
        sizes[most] = sizes[most][::2]
    for tiles in sorted(itertools.product(*sizes), key=lambda tiles: _count(axes, tiles)):
        if _count(axes, tiles) > STEPS_MAXIMUM:
            return
        tiling = _tiling(staged, axes, tiles)
        if tiling is not None:
            yield tiling


def _tiling(staged: Staged, axes: Axes, tiles: tuple[int, ...]) -> StageTiling | None:
    forms = tuple(_form(staged, axes, tiles, number) for number in range(len(staged.tensors)))
    addresses = list(itertools.accumulate((aligned(form.size_bytes) for form in forms), initial=FIRST_BUFFER))
    if addresses[-1] > FIRST_BUFFER + BUFFER_BYTES:
        return None
    tiling = StageTiling(staged, axes, tiles, forms, tuple(addresses[:-1]), ())
    merged = [False] * len(staged.stores)
    for step in _corners(tiling):
        for number in tiling.loads:
            view = staged.tensors[number].view
            if view is None or _tile_transfer(axes, number, view, forms[number], step) is None:
                return None
        for number, store in enumerate(staged.stores):
            sent = _tile_transfer(axes, store.tensor, store.view, forms[store.tensor], step)
            if sent is None:
                return None
            merged[number] |= not sent.exact
    result = StageTiling(staged, axes, tiles, forms, tuple(addresses[:-1]), tuple(merged))
    return result if result.step_count == 1 or _keeps_what_it_reads(result) else None


def _keeps_what_it_reads(tiling: StageTiling) -> bool:
    """Whether no step stores over what a later one loads from the same buffer: the same tile of it only."""
    staged, axes = tiling.staged, tiling.axes
    for number in tiling.loads:
        view = staged.tensors[number].view
        for store in staged.stores:
            if view is None or view.binding != store.view.binding or _apart(view, store.view):
                continue
            if tiling.steps_of_a_result > 1 and not _only_starts(staged, number):
                return False
            same = (view.base, view.shape, view.strides) == (
                store.view.base,
                store.view.shape,
                store.view.strides,
            )
            if not same or axes.tensors[number] != axes.tensors[store.tensor]:
                return False
    return True


def _only_starts(staged: Staged, tensor: int) -> bool:
    """Whether it is only what sums begin with: after the first step of a result's tile nobody needs it."""
    reached, stored = {tensor}, {store.tensor for store in staged.stores}
    for stage in staged.stages:
        used = [use for use in stage.inputs if isinstance(use, Use) and use.tensor in reached]
        begun = [use for use in stage.initial if isinstance(use, Use) and use.tensor in reached]
        if stage.carries and used:
            return False
        if not stage.carries and (used or begun):
            reached |= {result.tensor for result in stage.results}
    return reached.isdisjoint(stored)


def _apart(one: View, other: View) -> bool:
    ends = [
        (view.base, view.base + sum((n - 1) * s for n, s in zip(view.shape, view.strides, strict=True)))
        for view in (one, other)
    ]
    return ends[0][1] < ends[1][0] or ends[1][1] < ends[0][0]


def _corners(tiling: StageTiling) -> Iterator[Step]:
    """Steps in which all that can differ in form differs: the first, second and last of each axis."""
    choices = [
        sorted({0, min(tile, (size - 1) // tile * tile), (size - 1) // tile * tile})
        for size, tile in zip(tiling.axes.sizes, tiling.tiles, strict=True)
    ]
    for starts in itertools.product(*choices):
        counts = (
            min(tile, size - start)
            for start, tile, size in zip(starts, tiling.tiles, tiling.axes.sizes, strict=True)
        )
        yield Step(starts, tuple(counts))


def _form(staged: Staged, axes: Axes, tiles: tuple[int, ...], number: int) -> Form:
    tensor = staged.tensors[number]
    extents = tuple(
        size if axis is None else tiles[axis]
        for size, axis in zip(tensor.shape, axes.tensors[number], strict=True)
    )
    stored = next((store.view for store in staged.stores if store.tensor == number), None)
    if tensor.view is not None and tensor.resident:
        return resident_form(tensor.view)
    view = tensor.view or stored
    return packed_form(extents, tensor.element_bytes) if view is None else buffer_form(view, extents)


def _tile_transfer(axes: Axes, tensor: int, view: View, form: Form, step: Step) -> Transfer | None:
    placed = axes.tensors[tensor]
    starts = [0 if axis is None else step.starts[axis] for axis in placed]
    counts = [
        size if axis is None else step.counts[axis] for size, axis in zip(view.shape, placed, strict=True)
    ]
    return transfer(view, form, starts, counts)


def _sizes(staged: Staged, axes: Axes, axis: int, *, whole_words: bool) -> list[int]:
    """Tile sizes to try; in `whole_words` where elements are smaller, so that tiles begin at words."""
    narrow = [
        tensor.element_bytes
        for tensor, placed in zip(staged.tensors, axes.tensors, strict=True)
        if axis in placed and tensor.element_bytes < WORD_BYTES
    ]
    grain = WORD_BYTES // min(narrow, default=WORD_BYTES) if whole_words else 1
    size = axes.sizes[axis]
    counts = [count for count in _COUNTS if count <= size]
    found = {-(-size // count) for count in (counts if whole_words else (*counts, size))}
    return sorted({min(size, -(-tile // grain) * grain) for tile in found}, reverse=True)


def _count(axes: Axes, tiles: tuple[int, ...]) -> int:
    count = 1
    for size, tile in zip(axes.sizes, tiles, strict=True):
        count *= -(-size // tile)
    return count


def _cost(tiling: StageTiling, lanes: int) -> int:
    """Cycles: of the stream for all steps, of the lanes for their share of words and of iterations."""
    moved = [*tiling.loads, *(store.tensor for store in tiling.staged.stores)]
    words = sum(tiling.forms[tensor].size_bytes // WORD_BYTES for tensor in moved)
    iterations = 0
    for stage, placed in zip(tiling.staged.stages, tiling.axes.loops, strict=True):
        trips = (
            size if axis is None else tiling.tiles[axis]
            for size, axis in zip(stage.loops, placed, strict=True)
        )
        iterations += math.prod(trips) * (len(stage.body.graph.nodes) + ITERATION_CYCLES)
    turns = -(-tiling.step_count // lanes)
    return tiling.step_count * STREAM_CYCLES + turns * (STEP_CYCLES + words + iterations)


def _does_not_fit(staged: Staged) -> UnsupportedOp:
    stage = staged.stages[-1]
    sizes = "x".join(map(str, stage.loops))
    return UnsupportedOp(
        f"no tile of {stage.op} (loops {sizes}), with all that {staged.name} computes before it, fits into a "
        f"core's {BUFFER_BYTES} bytes, the DMA's limits and {STEPS_MAXIMUM} steps",
        location=stage.location,
        remedy="use smaller sizes, above all of what is reduced, or rows of a multiple of 4 bytes",
        op=stage.op,
    )
