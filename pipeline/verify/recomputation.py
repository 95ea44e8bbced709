"""Diagnoses that recompute: does the wrong result equal that of the program with one mistake in it?

The variations are evaluated with the reference, so anything it knows can be diagnosed. Only wrong elements
must agree: a mistake may hit a part of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import AiepipeError
from ..program import SourceFunction, Structured, TensorOp
from ..verdict import Diagnosis, Likelihood
from .case import Case
from .comparison import Mask, wrong_elements
from .reference import Reference, reference, trace
from .rounding import rounded
from .storage import memory, widen
from .variation import sums, variations, widened, widened_inputs, with_range, without_start

Array = npt.NDArray[Any]

_WORK_LIMIT = 1 << 30  # multiply-adds per evaluation that a diagnosis may cost
# parts of K that are told apart: fewer for large results, since each costs a pass over the result
_MOST_BLOCKS = 64
_LEAST_BLOCKS = 8
_BLOCK_ELEMENTS = 1 << 23
_SAMPLE = 256
_ROWS = 4


@dataclass(frozen=True, slots=True)
class _Found:
    rule: str
    sentence: str


def recomputed(case: Case, wrong: Mask) -> tuple[Diagnosis, ...]:
    """Every variation that explains all wrong elements. When several do, none of them is called likely."""
    function = case.function
    if function is None or len(case.inputs) != len(function.arguments) or _work(function) > _WORK_LIMIT:
        return ()
    if _is_as_written(case, function):
        return (
            case.says(
                "expectation",
                "the result is what numpy gives for this MLIR and these inputs: something else was expected",
                [f"all {wrong.size} elements are right by the reference"],
                Likelihood.CERTAIN,
            ),
        )
    found = list(_explaining(case, function, wrong))
    likelihood = Likelihood.LIKELY if len(found) == 1 else Likelihood.POSSIBLE
    evidence = [f"all {int(wrong.sum())} wrong elements equal that, recomputed with numpy"]
    if len(found) > 1:
        evidence.append(
            f"so do {len(found)} explanations: inputs that are less uniform would tell them apart"
        )
    return tuple(case.says(f.rule, f.sentence, evidence, likelihood) for f in found)


def _is_as_written(case: Case, function: SourceFunction) -> bool:
    """Whether the device did what the source says, and the user expected something else."""
    told = _evaluated(function, case.inputs)
    if told is None:
        return False
    right, bound = told.results[case.result], told.bounds[case.result]
    return right.shape == case.got.shape and not wrong_elements(case.got, right, case.type, bound=bound).any()


def _work(function: SourceFunction) -> int:
    return sum(math.prod(s.loops) for _, _, s in sums(function))


def _explaining(case: Case, function: SourceFunction, wrong: Mask) -> Iterator[_Found]:
    for variation in variations(function):
        told = _evaluated(variation.function, case.inputs)
        if told is not None and case.explained_by(told.results[case.result], wrong):
            yield _Found(variation.rule, variation.sentence)
    for at, op, structured in sums(function):
        if op.results[0].id == function.returns[case.result].id:
            yield from _stuck(case, function, op, structured, wrong)
            yield from _slices(case, function, at, structured, wrong)
    yield from _saturated(case, function, wrong)


def _evaluated(function: SourceFunction, inputs: Sequence[Array]) -> Reference | None:
    """None where the changed function makes no sense (a division by zero, a shape that no longer fits)."""
    try:
        return reference(function, inputs)
    except (AiepipeError, ValueError, IndexError):
        return None


# --------------------------------------------------------------------------- parts of K


def _slices(
    case: Case, function: SourceFunction, at: int, structured: Structured, wrong: Mask
) -> Iterator[_Found]:
    """A run of blocks of the longest reduced loop that is missing from the sum, or in it twice."""
    reduced = [i for i, kind in enumerate(structured.iterators) if kind == "reduction"]
    axis = max(reduced, key=lambda i: structured.loops[i])
    length = structured.loops[axis]
    if length < 2:
        return
    blocks = min(_MOST_BLOCKS, max(_LEAST_BLOCKS, _BLOCK_ELEMENTS // max(case.type.count, 1)))
    block = next(b for b in range(max(1, length // blocks), length + 1) if length % b == 0)
    # `without_start` puts a constant before the op
    alone = without_start(function, at)
    steps: list[Array] = []
    for start in range(0, length, block):
        told = _evaluated(with_range(alone, at + 1, axis, start, start + block), case.inputs)
        if told is None:
            return
        steps.append(widen(told.results[case.result], case.type.element))
    before = np.cumsum(np.stack([np.zeros_like(steps[0]), *steps]), axis=0)
    want = widen(case.want, case.type.element)
    places = np.argwhere(wrong)
    some = tuple(places[:: max(1, len(places) // _SAMPLE)].T)
    want_there, before_there = want[some], before[:, *some]
    for sign, first, last in _runs(len(steps)):
        # at some places first: there are thousands of runs
        if not _agrees(case, want_there + sign * (before_there[last] - before_there[first]), some):
            continue
        if case.explained_by(_stored(want + sign * (before[last] - before[first]), case), wrong):
            yield _Found("k-slice", _slice_text(sign, first * block, last * block, length))
            return


def _agrees(case: Case, values: Array, at: tuple[Array, ...]) -> bool:
    """Whether the result has these working values at some places."""
    bound = None if case.bound is None else np.broadcast_to(case.bound, case.got.shape)[at]
    candidate = _stored(values, case)
    return not wrong_elements(case.got[at], candidate, case.type, tolerance=case.tolerance, bound=bound).any()


def _runs(blocks: int) -> Iterator[tuple[int, int, int]]:
    """Missing (-1) and doubled (+1) runs of blocks: at the end first, then at the beginning, then inside."""
    for sign in (-1, 1):
        yield from ((sign, first, blocks) for first in range(1, blocks))
        yield from ((sign, 0, last) for last in range(1, blocks + 1))
        yield from ((sign, a, b) for a in range(1, blocks) for b in range(a + 1, blocks))


def _slice_text(sign: int, start: int, stop: int, length: int) -> str:
    if sign > 0:
        what = (
            "the whole sum" if (start, stop) == (0, length) else f"the K slice [{start}, {stop}) of {length}"
        )
        return f"{what} is there twice: an accumulator that was not cleared, or a tile summed again"
    if (start, stop) == (0, length):
        return "nothing was summed: equals the start alone"
    if stop == length:
        return f"K slice missing: equals a partial sum over {start} of {length} k"
    if start == 0:
        return f"K slice missing: equals a partial sum over the last {length - stop} of {length} k"
    return f"K slice missing: k from {start} to {stop - 1} of {length} are not summed"


def _stored(values: Array, case: Case) -> Array:
    """Working values in the result's type; integers wrap."""
    with np.errstate(all="ignore"):
        return memory(values, case.type.element)


# --------------------------------------------------------------------------- arithmetic of the accumulator


def _saturated(case: Case, function: SourceFunction, wrong: Mask) -> Iterator[_Found]:
    """Sums that stop at the end of the range, where MLIR wraps around."""
    if not dtypes.is_integer(case.type.element) or case.type.element in ("i1", "i64", "index"):
        return
    wide = widened(function)
    told = None if wide is None else _evaluated(wide, widened_inputs(case.inputs))
    if told is None:
        return
    bits = int(case.type.element[1:])
    inside = np.clip(told.results[case.result], -(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    if case.explained_by(inside.astype(case.want.dtype), wrong):
        yield _Found("saturated", f"the sum saturates at the range of {case.type.element}; MLIR wraps around")


def _stuck(
    case: Case, function: SourceFunction, op: TensorOp, structured: Structured, wrong: Mask
) -> Iterator[_Found]:
    """A 16-bit accumulator rounded at every step: sums stop growing (512 bf16 ones stay at 256)."""
    element = case.type.element
    if element not in ("bf16", "f16") or op.name != "linalg.matmul" or len(structured.loops) != 3:
        return
    values, _ = trace(function, case.inputs)
    left, right, start = (widen(values[name].array, values[name].element) for name in op.operands)
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
        return
    # a few rows first: every step rounds the whole of it
    rows = np.unique(np.argwhere(wrong)[:, 0])
    for chosen in (rows[:: max(1, len(rows) // _ROWS)], np.arange(len(left))):
        total = _stepwise(left[chosen], right, start[chosen], element)
        part = case.want.copy()
        part[chosen] = memory(total, element)
        mask = np.zeros_like(wrong)
        mask[chosen] = wrong[chosen]
        if not case.explained_by(part, mask):
            return
    yield _Found(
        "stuck-accumulator", f"the accumulator is {element} and rounded at every step: sums stop growing"
    )


def _stepwise(left: Array, right: Array, start: Array, element: str) -> Array:
    """left @ right + start, rounded to the type after every k."""
    total = start
    with np.errstate(all="ignore"):
        for k in range(left.shape[1]):
            total = rounded(total + np.outer(left[:, k], right[k]), element)
    return total
