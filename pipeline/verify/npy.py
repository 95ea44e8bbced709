"""Reading .npy bytes against a type; sizes are checked before anything is allocated.

The format is numpy's own (numpy.lib.format). Types that numpy has no name for (bf16, f8, i4) arrive as
raw bytes ("V2"), as unsigned integers of their width, or, below a byte, as int8.
"""

from __future__ import annotations

import io
import tokenize
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy_format

from .. import dtypes
from ..errors import UsageError
from ..program import TensorType

Array = npt.NDArray[Any]


def read_npy(data: bytes, wanted: TensorType | None, name: str, file: str) -> tuple[TensorType, Array]:
    """The array in `data` with its type. Raises UsageError naming `name`, what was expected and got."""
    array = _load(data, name, file)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("="))
    if wanted is None:
        try:
            type_ = TensorType(array.shape, dtypes.mlir_name(array.dtype))
        except KeyError:
            raise UsageError(
                f"{name}: {file} holds {array.dtype.name}, which no MLIR type has",
                remedy=f"write the type before it: 64x64xbf16=@{file}",
            ) from None
        return type_, _as_stored(array, dtypes.numpy_dtype(type_.element))
    if array.shape != wanted.shape:
        raise UsageError(f"{name} is {wanted}, but {file} holds {_describe(array)}")
    dtype = dtypes.numpy_dtype(wanted.element)
    if not _fits(array, dtype, wanted.element):
        raise UsageError(f"{name} is {wanted}, but {file} holds {_describe(array)}")
    return wanted, _as_stored(array, dtype)


def _load(data: bytes, name: str, file: str) -> Array:
    stream = io.BytesIO(data)
    try:
        version = npy_format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = npy_format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, _, dtype = npy_format.read_array_header_2_0(stream)
        else:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not supported")
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        needed = dtype.itemsize
        for size in shape:
            needed *= size
        if min(shape, default=0) < 0 or needed > len(data) - stream.tell():
            raise ValueError(f"it is cut off: {needed} bytes are announced")
        stream.seek(0)
        return np.ascontiguousarray(np.load(stream, allow_pickle=False)).reshape(shape)
    except (ValueError, EOFError, OSError, SyntaxError, tokenize.TokenError, RecursionError) as error:
        raise UsageError(f"{name}: {file} is not a .npy file that we can read: {error}") from error


def _fits(array: Array, dtype: np.dtype[Any], element: str) -> bool:
    if array.dtype == dtype:
        return True
    bits = dtypes.storage_bits(element)
    if bits < 8:  # i2, i4: one per byte, in range
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        return array.dtype == np.int8 and bool(np.all((array >= low) & (array <= high)))
    if array.dtype.itemsize != dtype.itemsize:
        return False
    if dtype.kind == "b":
        return array.dtype.kind in "iu" and bool(np.all((array == 0) | (array == 1)))
    if dtype.kind == "i":
        return array.dtype.kind == "u"
    return array.dtype.kind == "V" or (dtype.kind == "V" and array.dtype.kind == "u")


def _as_stored(array: Array, dtype: np.dtype[Any]) -> Array:
    if array.dtype == dtype:
        return array
    if dtype.kind == "b" or array.dtype.itemsize != dtype.itemsize or array.dtype == np.int8:
        return array.astype(dtype)
    return array.view(dtype)


def _describe(array: Array) -> str:
    return "x".join([*map(str, array.shape), array.dtype.name])
