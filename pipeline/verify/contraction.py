"""Sums of products: the fast path of the reference, with exact integers and wide floats.

Both factors come with one axis per loop, of length 1 where the factor does not depend on the loop; so
matmul, batched, transposed and broadcast forms, matvec and dot are one case.

Integers: the result modulo 2^bits. float64 matrix products are used only where no sum can pass 2^53;
else the factors are cut into 16-bit limbs. Floats: float64 products (exact for operands up to 26 bits of
mantissa) and float64 sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .rounding import Float64, Int64, wrapped

Array = npt.NDArray[Any]

_EXACT = 1 << 53  # float64 counts exactly up to here
_LIMB = 16


def sum_of_products(left: Array, right: Array, loops: Sequence[int], reduced: Sequence[int]) -> Array:
    """Sum over the axes `reduced` of left * right, for two float64 or two int64 arrays.

    int64 results are modulo 2^64 (the caller wraps to its type; the low bits are right for any width).
    The result keeps the axes that are not reduced, in order, with their full lengths from `loops`.
    """
    if left.dtype == np.float64:
        return _contract(left, right, loops, reduced)
    largest = _magnitude(left) * _magnitude(right) * _product(loops[axis] for axis in reduced)
    if largest < _EXACT:
        exact = _contract(left.astype(np.float64), right.astype(np.float64), loops, reduced)
        return exact.astype(np.int64)
    return _contract(left.view(np.uint64), right.view(np.uint64), loops, reduced).view(np.int64)


def sum_of_products_modulo(
    left: Int64, right: Int64, loops: Sequence[int], reduced: Sequence[int], bits: int
) -> Int64:
    """`sum_of_products` of integers, wrapped to `bits` (sign-extended), by way of float64 where it can."""
    terms = _product(loops[axis] for axis in reduced)
    small = _magnitude(left) * _magnitude(right) * terms < _EXACT
    if small or bits > 2 * _LIMB or terms >= _EXACT >> (2 * _LIMB):
        return wrapped(sum_of_products(left, right, loops, reduced), bits)
    left_high, left_low = _limbs(wrapped(left, 2 * _LIMB))
    right_high, right_low = _limbs(wrapped(right, 2 * _LIMB))
    low = _contract(left_low, right_low, loops, reduced).astype(np.int64)
    # high * high has a factor 2^32, which is 0 here
    middle = _contract(left_high, right_low, loops, reduced) + _contract(left_low, right_high, loops, reduced)
    return wrapped(low + (middle.astype(np.int64) << np.int64(_LIMB)), bits)


def _limbs(values: Int64) -> tuple[Float64, Float64]:
    """values = high * 2^16 + low, with 0 <= low < 2^16."""
    low = values & np.int64((1 << _LIMB) - 1)
    return (values >> np.int64(_LIMB)).astype(np.float64), low.astype(np.float64)


def _magnitude(values: Array) -> int:
    return max(abs(int(values.min())), abs(int(values.max()))) if values.size else 0


def _product(lengths: Any) -> int:
    result = 1
    for length in lengths:
        result *= int(length)
    return result


def _contract(left: Array, right: Array, loops: Sequence[int], reduced: Sequence[int]) -> Array:
    """One batched matrix product. Each axis is batch, row, column or inner by who depends on it."""
    kept = [axis for axis in range(len(loops)) if axis not in reduced]
    scale = 1
    for axis in reduced:
        if left.shape[axis] == right.shape[axis] == 1:
            scale *= loops[axis]
        elif right.shape[axis] == 1:
            left = left.sum(axis=axis, keepdims=True, dtype=left.dtype)
        elif left.shape[axis] == 1:
            right = right.sum(axis=axis, keepdims=True, dtype=right.dtype)
    inner = [axis for axis in reduced if left.shape[axis] != 1 or right.shape[axis] != 1]
    rows = [axis for axis in kept if left.shape[axis] != 1 and right.shape[axis] == 1]
    columns = [axis for axis in kept if left.shape[axis] == 1 and right.shape[axis] != 1]
    batch = [axis for axis in kept if axis not in rows and axis not in columns]
    gone = [axis for axis in range(len(loops)) if axis not in (*rows, *columns, *batch)]
    batch_shape = [max(left.shape[axis], right.shape[axis]) for axis in batch]

    def matrix(factor: Array, first: Sequence[int], second: Sequence[int]) -> Array:
        others = [axis for axis in range(len(loops)) if axis not in (*batch, *first, *second)]
        moved = factor.transpose(*batch, *first, *second, *others)
        shape = [factor.shape[axis] for axis in batch]
        sizes = [_product(factor.shape[axis] for axis in group) for group in (first, second)]
        return np.ascontiguousarray(moved).reshape(*shape, *sizes)

    product = matrix(left, rows, inner) @ matrix(right, inner, columns)
    if scale != 1:
        product = product * product.dtype.type(scale)
    lengths = [*batch_shape, *(left.shape[a] for a in rows), *(right.shape[a] for a in columns)]
    order = [*batch, *rows, *columns, *gone]
    spread = product.reshape(*lengths, *(1 for _ in gone)).transpose(np.argsort(order).tolist())
    full = np.broadcast_to(spread, [loops[axis] if axis in kept else 1 for axis in range(len(loops))])
    return full.reshape([loops[axis] for axis in kept])
