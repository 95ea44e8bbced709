"""Element types: MLIR's name, numpy's dtype, and how many bytes IREE gives an array of them.

IREE stores i1 as one byte per element and packs other sub-byte integers (i4: two per byte, low nibble
first), see iree/compiler/Utils/ElementPackingUtils.cpp.
"""

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np

# the extension module has no stubs; nobody else imports it
_small = cast("Any", ml_dtypes)

# MLIR name -> (numpy dtype, bits in memory)
_TABLE: dict[str, tuple[np.dtype[Any], int]] = {
    "i1": (np.dtype(np.bool_), 8),
    "i2": (np.dtype(_small.int2), 2),
    "i4": (np.dtype(_small.int4), 4),
    "i8": (np.dtype(np.int8), 8),
    "i16": (np.dtype(np.int16), 16),
    "i32": (np.dtype(np.int32), 32),
    "i64": (np.dtype(np.int64), 64),
    "index": (np.dtype(np.int64), 64),
    "f8E4M3FN": (np.dtype(_small.float8_e4m3fn), 8),
    "f8E5M2": (np.dtype(_small.float8_e5m2), 8),
    "f16": (np.dtype(np.float16), 16),
    "bf16": (np.dtype(_small.bfloat16), 16),
    "f32": (np.dtype(np.float32), 32),
    "f64": (np.dtype(np.float64), 64),
    "complex<f32>": (np.dtype(np.complex64), 64),
    "complex<f64>": (np.dtype(np.complex128), 128),
}


def is_known(element: str) -> bool:
    """Whether `element` (an MLIR type name such as "bf16") is one that we can hold in an array."""
    return canonical(element) in _TABLE


def canonical(element: str) -> str:
    """Signless name of a type: "si8" and "ui8" are stored as "i8"."""
    return element[1:] if element[:2] in ("si", "ui") else element


def numpy_dtype(element: str) -> np.dtype[Any]:
    """The numpy dtype of an MLIR element type. Raises KeyError for an unknown one."""
    return _TABLE[canonical(element)][0]


def storage_bits(element: str) -> int:
    """Bits that one element takes in a buffer (i1 takes 8, i4 takes 4)."""
    return _TABLE[canonical(element)][1]


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
    for name, (known, _) in _TABLE.items():
        if known == dtype and name != "index":
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
