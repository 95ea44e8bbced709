"""What the builders check about sizes, element types and values, and how they show a number in a header."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aiepipe import dtypes
from aiepipe.errors import UsageError


def check_shape(shape: Sequence[int]) -> None:
    """Raises UsageError for a negative size."""
    if any(size < 0 for size in shape):
        raise UsageError(f"a size must not be negative: {'x'.join(map(str, shape))}")


def check_element(element: str) -> None:
    """Raises UsageError for a type that is neither an integer nor a float we can hold."""
    number = dtypes.is_known(element) and (dtypes.is_integer(element) or dtypes.is_float(element))
    if not number:
        raise UsageError(f"{element!r} is no element type for a kernel", remedy="e.g. i8, i32, bf16, f32")


def check_value(value: int | float, element: str) -> int | float:
    """The value as the type has it, i8 255 as -1. Raises UsageError where it does not fit."""
    if dtypes.is_float(element):
        return float(value)
    if not math.isfinite(value) or int(value) != value:
        raise UsageError(f"the value {value} does not fit the integer type {element}")
    bits = 64 if element == "index" else int(dtypes.canonical(element)[1:])
    low, high = (0 if bits == 1 else -(1 << (bits - 1))), (1 << bits) - 1
    if not low <= value <= high:
        raise UsageError(f"the value {value} does not fit the type {element} ({low} to {high})")
    return int(value) if bits == 1 else wrapped(int(value), element)


def number_text(value: int | float, element: str) -> str:
    """The number as MLIR reads it; infinities and NaN as the hexadecimal bits of the type."""
    if not dtypes.is_float(element) or math.isfinite(value):
        return str(value)
    return f"0x{dtypes.pack(np.array(value), element)[::-1].hex().upper()}"


def wrapped(value: int, element: str) -> int:
    """An integer sum as the type holds it, in two's complement."""
    bits = 64 if element == "index" else int(dtypes.canonical(element)[1:])
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
