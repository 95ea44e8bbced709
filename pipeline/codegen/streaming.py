"""Reductions in parts: what is reduced in one step is carried on to the next in the core's memory.

For dispatches of which no tile has all that is reduced at once. A stage that reduces keeps its sums in a
tensor of its own, and begins with another, of the same form: in the first of a tile's steps it reads that,
later what it wrote itself (stage_nest.py). Before it, what it begins with is filled; after it, the sums are
copied to the result. Both are done in every step, and so is what comes after: results of all steps but the
last are overwritten.
"""

from __future__ import annotations

from dataclasses import replace

from ..program import AffineResult, ScalarBody
from .expressions.bodies import body_graph
from .stages import Map, Stage, Staged, Tensor, Use


def carried(staged: Staged) -> Staged:
    """The dispatch with all its reductions so that they can be done in parts."""
    tensors = list(staged.tensors)
    stages: list[Stage] = []
    for stage in staged.stages:
        if any(reduced and size > 1 for reduced, size in zip(stage.reduction, stage.loops, strict=True)):
            stages += _in_parts(stage, tensors)
        else:
            stages.append(stage)
    return replace(staged, tensors=tuple(tensors), stages=tuple(stages))


def _in_parts(stage: Stage, tensors: list[Tensor]) -> list[Stage]:
    starts: list[Stage] = []
    finishes: list[Stage] = []
    initial: list[Use] = []
    sums: list[Use] = []
    for begin, result in zip(stage.initial, stage.results, strict=True):
        kept = replace(tensors[result.tensor], view=None)
        tensors += [kept, kept]
        initial.append(Use(len(tensors) - 2, result.map))
        sums.append(Use(len(tensors) - 1, result.map))
        source = bytes(kept.element_bytes) if begin is None else begin
        starts.append(_copy(stage, kept, source, initial[-1].tensor))
        finishes.append(_copy(stage, kept, sums[-1], result.tensor))
    reducing = replace(stage, initial=tuple(initial), results=tuple(sums), carries=True)
    return [*starts, reducing, *finishes]


def _copy(stage: Stage, like: Tensor, source: Use | bytes, target: int) -> Stage:
    """A stage that writes the whole tensor `target`; an init and its result have the same map."""
    loops = len(like.shape)
    identity: Map = tuple(AffineResult(tuple(int(i == d) for i in range(loops))) for d in range(loops))
    return Stage(
        stage.op,
        stage.location,
        like.shape,
        (False,) * loops,
        (source if isinstance(source, bytes) else Use(source.tensor, identity),),
        (None,),
        (Use(target, identity),),
        body_graph(ScalarBody((like.element, like.element), (), (0,))),
    )
