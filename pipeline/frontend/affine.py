"""Affine maps of linalg ops as coefficient vectors, and the trip counts of their loops."""

from __future__ import annotations

from collections.abc import Sequence

from ..program import AffineResult
from .mlir import AffineExpr, AffineMap, ir


def results(map_: AffineMap) -> tuple[AffineResult, ...] | None:
    """The results of a map; None where one is not linear in the dims (mod, floordiv, symbols)."""
    found: list[AffineResult] = []
    for expression in map_.results:
        linear = _linear(expression, map_.n_dims)
        if linear is None:
            return None
        found.append(AffineResult(tuple(linear[:-1]), linear[-1]))
    return tuple(found)


def trip_counts(
    maps: Sequence[tuple[AffineResult, ...]], shapes: Sequence[tuple[int, ...]], dims: int
) -> tuple[int, ...] | None:
    """Trip count of each loop, from a map result that is just that loop's dim.

    None where a dim has no such result or where an operand's rank is not its map's.
    """
    counts: list[int | None] = [None] * dims
    for map_, shape in zip(maps, shapes, strict=True):
        if len(map_) != len(shape):
            return None
        for result, size in zip(map_, shape, strict=True):
            if result.dim is not None and counts[result.dim] is None:
                counts[result.dim] = size
    known = tuple(count for count in counts if count is not None)
    return known if len(known) == dims else None


def _linear(expression: AffineExpr, dims: int) -> list[int] | None:
    """Coefficients per dim, then the constant."""
    if isinstance(expression, ir.AffineDimExpr):
        return [int(i == expression.position) for i in range(dims)] + [0]
    if isinstance(expression, ir.AffineConstantExpr):
        return [0] * dims + [expression.value]
    if not isinstance(expression, (ir.AffineAddExpr, ir.AffineMulExpr)):
        return None
    left, right = _linear(expression.lhs, dims), _linear(expression.rhs, dims)
    if left is None or right is None:
        return None
    if isinstance(expression, ir.AffineAddExpr):
        return [a + b for a, b in zip(left, right, strict=True)]
    if any(left[:-1]) and any(right[:-1]):
        return None
    factor, other = (right[-1], left) if not any(right[:-1]) else (left[-1], right)
    return [factor * c for c in other]
