"""The loop nest of a stage over a tile: its levels, and how each access moves along them.

Parallel loops are outside, reductions inside, those that move the result (a reduction: the first input) in
the smallest steps innermost. Neighbours that are one run for every access are merged, loops of one trip are
left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .stage_numbers import Number, count_of, start_of
from .stage_tiling import StageTiling
from .stages import Stage, Use


@dataclass(frozen=True, slots=True)
class Level:
    """`loops` of the stage, merged into one; `trip` is its count."""

    loops: tuple[int, ...]
    trip: Number
    reduction: bool


@dataclass(frozen=True, slots=True)
class Access:
    """A tensor's element per iteration: `base` is the address of the first, `strides` bytes per level.

    Accesses of one `memory` may be to the same bytes and keep their order; None is the tensor's own.
    """

    tensor: int
    element: str
    element_bytes: int
    base: Number
    strides: tuple[int, ...]
    memory: int | None = None

    @property
    def where(self) -> str:
        """The name of its memory."""
        return f"tensor{self.tensor if self.memory is None else self.memory}"

    @property
    def depth(self) -> int:
        """How many levels are around an access to it: below, it does not change."""
        moving = [level for level, stride in enumerate(self.strides) if stride]
        return moving[-1] + 1 if moving else 0


@dataclass(frozen=True, slots=True)
class Nest:
    """`inputs` and `initial` as in the stage; `starts` are the first values of its loops."""

    levels: tuple[Level, ...]
    inputs: tuple[Access | bytes | None, ...]
    initial: tuple[Access | bytes | None, ...]
    results: tuple[Access, ...]
    starts: tuple[Number, ...]

    @property
    def parallel_levels(self) -> int:
        return sum(not level.reduction for level in self.levels)


def nest_of(tiling: StageTiling, number: int, own_base: int) -> Nest:
    """The nest of stage `number`; `own_base` is the core's address of its data memory."""
    stage, placed = tiling.staged.stages[number], tiling.axes.loops[number]
    uses = [use for use in (*stage.inputs, *stage.initial, *stage.results) if isinstance(use, Use)]
    per_loop = [[_stride(tiling, use, loop) for loop in range(len(stage.loops))] for use in uses]
    levels = _levels(tiling, stage, placed, per_loop)

    def access(use: Use | bytes | None) -> Access | bytes | None:
        return _access(tiling, use, placed, levels, own_base) if isinstance(use, Use) else use

    results = [_access(tiling, use, placed, levels, own_base) for use in stage.results]
    initial = [access(use) for use in stage.initial]
    if _is_streamed(tiling, stage, placed):
        initial = [_carried_on(tiling, *pair) for pair in zip(initial, results, strict=True)]
    return Nest(
        tuple(levels),
        tuple(access(use) for use in stage.inputs),
        tuple(initial),
        tuple(results),
        tuple(start_of(tiling, axis) for axis in placed),
    )


def _is_streamed(tiling: StageTiling, stage: Stage, placed: Sequence[int | None]) -> bool:
    """Whether what it reduces comes in several steps."""
    streamed = tiling.axes.streamed_axes if tiling.steps_of_a_result > 1 else ()
    return any(reduced and axis in streamed for axis, reduced in zip(placed, stage.reduction, strict=True))


def _carried_on(tiling: StageTiling, start: Access | bytes | None, sums: Access) -> Access:
    """Where the sums of a step begin: at `start` in the first one, then at the sums so far."""
    assert isinstance(start, Access), "what is carried on begins with a tensor"
    assert start.strides == sums.strides, "which has the sums' form"
    apart = start.base.constant - sums.base.constant
    base = replace(sums.base, streamed=tuple(tiling.axes.streamed_axes), at_first=apart)
    return replace(sums, base=base)


def _stride(tiling: StageTiling, use: Use, loop: int) -> int:
    strides = tiling.forms[use.tensor].strides
    return sum(index.coefficients[loop] * stride for index, stride in zip(use.map, strides, strict=True))


def _levels(
    tiling: StageTiling, stage: Stage, placed: Sequence[int | None], per_loop: Sequence[Sequence[int]]
) -> list[Level]:
    asked = set(stage.body.indices)
    result, first = per_loop[-len(stage.results)], per_loop[0]
    trips = [count_of(tiling, axis, size) for size, axis in zip(stage.loops, placed, strict=True)]
    order = sorted(
        (d for d in range(len(stage.loops)) if trips[d] != Number(1)),
        key=lambda d: (stage.reduction[d], -(first if stage.reduction[d] else result)[d], d),
    )
    levels: list[Level] = []
    for loop in order:
        level = Level((loop,), trips[loop], stage.reduction[loop])
        if levels and not asked & {loop, *levels[-1].loops} and _is_one_run(levels[-1], level, per_loop):
            before = levels.pop()
            level = Level((*before.loops, loop), before.trip.times(level.trip.constant), level.reduction)
        levels.append(level)
    return levels


def _is_one_run(outer: Level, inner: Level, per_loop: Sequence[Sequence[int]]) -> bool:
    if not inner.trip.fixed or outer.reduction != inner.reduction:
        return False
    trip = inner.trip.constant
    return all(strides[outer.loops[-1]] == trip * strides[inner.loops[-1]] for strides in per_loop)


def _access(
    tiling: StageTiling, use: Use, placed: Sequence[int | None], levels: Sequence[Level], own_base: int
) -> Access:
    tensor, form = tiling.staged.tensors[use.tensor], tiling.forms[use.tensor]
    constant = own_base + tiling.addresses[use.tensor]
    if tensor.view is not None and tensor.resident:
        constant += tensor.view.base * tensor.element_bytes
    starts: dict[int, int] = {}
    for d, (index, stride) in enumerate(zip(use.map, form.strides, strict=True)):
        constant += index.constant * stride
        if tiling.axes.tensors[use.tensor][d] is not None:
            continue  # the tile is there, from its first value on
        for loop, coefficient in enumerate(index.coefficients):
            axis = placed[loop]
            if coefficient and axis is not None and start_of(tiling, axis).starts:
                starts[axis] = starts.get(axis, 0) + coefficient * stride
    buffered = tensor.loaded or any(store.tensor == use.tensor for store in tiling.staged.stores)
    moves = buffered and not form.regular
    base = Number(constant, tuple(sorted(starts.items())), skip=use.tensor if moves else None)
    strides = tuple(_stride(tiling, use, level.loops[-1]) for level in levels)
    return Access(
        use.tensor, tensor.element, tensor.element_bytes, base, strides, _memory(tiling, use.tensor)
    )


def _memory(tiling: StageTiling, tensor: int) -> int:
    """What sums begin with, and the sums: an access may be to either (`_carried_on`)."""
    for stage in tiling.staged.stages if tiling.steps_of_a_result > 1 else ():
        for start, sums in zip(stage.initial, stage.results, strict=True):
            if stage.carries and isinstance(start, Use) and start.tensor == tensor:
                return sums.tensor
    return tensor
