"""Rounding to the float types of the chip: once, to nearest even, from the exact value.

Everything in verify/ computes with float64 and int64 and comes back to the stored type through here.
ml_dtypes (and numpy) cast float64 to the 8-bit and bf16 types by way of float32, which rounds twice:
1 + 2^-8 + 2^-40 becomes 1.0 instead of 1.0078125. So we go through float32 rounded *to odd*, which keeps
what the second rounding needs (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

# half of the distance from 1 to the next number: the largest relative error of one rounding
UNIT_ROUNDOFF = {
    "f8E4M3FN": 2.0**-4,
    "f8E5M2": 2.0**-3,
    "bf16": 2.0**-8,
    "f16": 2.0**-11,
    "f32": 2.0**-24,
    "f64": 2.0**-53,
}
# the smallest normal number: below it a device may flush to zero
SMALLEST_NORMAL = {
    "f8E4M3FN": 2.0**-6,
    "f8E5M2": 2.0**-14,
    "bf16": 2.0**-126,
    "f16": 2.0**-14,
    "f32": 2.0**-126,
    "f64": 2.0**-1022,
}


def stored(values: Float64, element: str) -> Array:
    """float64 values in the numpy dtype of `element` (a float type), each rounded once."""
    dtype = dtypes.numpy_dtype(element)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if element in ("f16", "f32", "f64"):
            return np.asarray(values, np.float64).astype(dtype)
        return _to_odd_float32(np.asarray(values, np.float64)).astype(dtype)


def rounded(values: Float64, element: str) -> Float64:
    """The same values as float64 numbers that `element` can hold."""
    return values if element == "f64" else widened(stored(values, element))


def widened(array: Array) -> Float64:
    """A float array of any of our types as float64, exactly."""
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64)


def wrapped(values: Int64, bits: int) -> Int64:
    """The low `bits` of each value, sign-extended."""
    if bits >= 64:
        return values
    shift = np.int64(64 - bits)
    return (values << shift) >> shift


def _to_odd_float32(values: Float64) -> npt.NDArray[np.float32]:
    near = values.astype(np.float32)
    back = near.astype(np.float64)
    inexact = (back != values) & ~np.isnan(values)
    if not np.any(inexact):
        return near
    bits = near.view(np.uint32)
    # the neighbour towards zero of what was rounded away from zero; infinity becomes the largest number
    bits = np.where(inexact & (np.abs(back) > np.abs(values)), bits - np.uint32(1), bits)
    bits = np.where(inexact, bits | np.uint32(1), bits).astype(np.uint32)
    return np.asarray(bits, np.uint32).view(np.float32)
