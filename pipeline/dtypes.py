"""Element types: MLIR's name, numpy's dtype, and how many bytes IREE gives an array of them.

IREE stores i1 as one byte per element and packs other sub-byte integers (i4: two per byte, low nibble
first), see iree/compiler/Utils/ElementPackingUtils.cpp.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

# MLIR name -> bits in memory
_BITS = {
    "i1": 8,
    "i2": 2,
    "i4": 4,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "index": 64,
    "f8E4M3FN": 8,
    "f8E5M2": 8,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    "complex<f32>": 64,
    "complex<f64>": 128,
}

NAMES = tuple(_BITS)
"""All element types, as MLIR calls them."""

# MLIR name -> numpy's own dtype
_NUMPY: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "index": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128),
}

# MLIR name -> the name of the type in ml_dtypes, which is imported when one is asked for: that took a second
# (ml_dtypes 0.7.0), as long as a whole build-run of a program that needs none of them
_ML_DTYPES = {
    "i2": "int2",
    "i4": "int4",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
    "bf16": "bfloat16",
}


def is_known(element: str) -> bool:
    """Whether `element` (an MLIR type name such as "bf16") is one that we can hold in an array."""
    return canonical(element) in _BITS


def canonical(element: str) -> str:
    """Signless name of a type: "si8" and "ui8" are stored as "i8"."""
    return element[1:] if element[:2] in ("si", "ui") else element


def numpy_dtype(element: str) -> np.dtype[Any]:
    """The numpy dtype of an MLIR element type. Raises KeyError for an unknown one."""
    name = canonical(element)
    if name in _NUMPY:
        return _NUMPY[name]
    return np.dtype(getattr(importlib.import_module("ml_dtypes"), _ML_DTYPES[name]))


def storage_bits(element: str) -> int:
    """Bits that one element takes in a buffer (i1 takes 8, i4 takes 4)."""
    return _BITS[canonical(element)]


def is_float(element: str) -> bool:
    """Whether the type is a floating-point one (not complex)."""
    return element.startswith(("f", "bf"))


def is_integer(element: str) -> bool:
    """Whether the type is an integer or index."""
    return canonical(element)[0] == "i"


def mlir_name(dtype: np.dtype[Any]) -> str:
    """The MLIR name of a numpy dtype; unsigned dtypes map to the signless type of their width.

    Raises KeyError where there is none.
    """
    if dtype.kind == "u":
        return f"i{dtype.itemsize * 8}"
    for name, known in _NUMPY.items():
        if known == dtype and name != "index":
            return name
    for name, theirs in _ML_DTYPES.items():
        if theirs == dtype.name:
            return name
    raise KeyError(dtype.name)


def pack(array: np.ndarray[Any, np.dtype[Any]], element: str) -> bytes:
    """The bytes of `array` as IREE lays them out in a buffer (row major, sub-byte types packed)."""
    flat = np.ascontiguousarray(array, dtype=numpy_dtype(element)).reshape(-1)
    bits = storage_bits(element)
    if bits >= 8:
        return flat.tobytes()
    per_byte = 8 // bits
    raw = flat.astype(np.int8).view(np.uint8) & ((1 << bits) - 1)
    padded = np.zeros(-(-raw.size // per_byte) * per_byte, np.uint8)
    padded[: raw.size] = raw
    shifts = (np.arange(per_byte) * bits).astype(np.uint8)
    return np.bitwise_or.reduce(padded.reshape(-1, per_byte) << shifts, axis=1).astype(np.uint8).tobytes()


def unpack(data: bytes, element: str, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[Any]]:
    """The inverse of `pack`. Raises ValueError when there are too few bytes."""
    dtype, bits = numpy_dtype(element), storage_bits(element)
    count = int(np.prod(shape, dtype=np.int64))
    if len(data) * 8 < count * bits:
        raise ValueError(f"{len(data)} bytes are too few for {count} x {element}")
    if bits >= 8:
        return np.frombuffer(data, dtype, count).reshape(shape).copy()
    per_byte = 8 // bits
    shifts = (np.arange(per_byte) * bits).astype(np.uint8)
    codes = ((np.frombuffer(data, np.uint8)[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:count]
    signed = codes.astype(np.int16)
    signed[signed >= 1 << (bits - 1)] -= 1 << bits
    return signed.astype(dtype).reshape(shape)
