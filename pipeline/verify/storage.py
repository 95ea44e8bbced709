"""Between arrays as stored (the numpy dtype of an MLIR type) and the working form of `scalars`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from .rounding import stored, widened

Array = npt.NDArray[Any]


def integer_bits(element: str) -> int | None:
    """Width of an integer type (index is 64); None for the others."""
    if element == "index":
        return 64
    digits = element.removeprefix("s").removeprefix("u").removeprefix("i")
    return int(digits) if digits.isdigit() and not element.startswith(("f", "bf")) else None


def widen(array: Array, element: str) -> Array:
    """The working form: int64, float64 or complex128."""
    if element == "i1":
        return -array.astype(np.int64)
    if integer_bits(element) is not None:
        return array.astype(np.int64)
    return array.astype(np.complex128) if element.startswith("complex") else widened(array)


def memory(values: Array, element: str) -> Array:
    """The stored form of working values that `element` can hold. Raises KeyError for an unknown type."""
    dtype = dtypes.numpy_dtype(element)
    if element == "i1":
        return values != 0
    if dtypes.is_float(element):
        return stored(values, element)
    return np.asarray(values).astype(dtype)


def working(data: bytes, element: str, shape: tuple[int, ...] = ()) -> Array:
    """The working form of bytes in memory."""
    return widen(dtypes.unpack(data, element, shape), element)
