"""A fill's pattern as the value that an element of the tensor gets.

IREE narrows a pattern that repeats: an i32 0x01010101 is filled as the byte 1, a zero of any type as the byte
0, and floats are filled as the integers with their bits. Reversed here, to the element type.
"""

from __future__ import annotations

import math

import numpy as np

from .. import dtypes


def element_value(pattern: bytes, element: str) -> str | None:
    """What each element holds when `pattern` is repeated over a tensor of that type.

    None when the type is not known or when the elements differ.
    """
    if not dtypes.is_known(element) or not pattern:
        return None
    bits = dtypes.storage_bits(element)
    width = -(-bits // 8)
    if width % len(pattern) and len(pattern) % width:
        return None
    data = pattern * max(width // len(pattern), 1)
    count = len(data) * 8 // bits
    values = [format_element(value, element) for value in dtypes.unpack(data, element, (count,))]
    return values[0] if len(set(values)) == 1 else None


def scalar_value(data: bytes, element: str) -> str | None:
    """The one number in `data`, the value of a constant of that type. None when the type is not known."""
    if not dtypes.is_known(element) or len(data) * 8 < dtypes.storage_bits(element):
        return None
    return format_element(dtypes.unpack(data, element, ()).reshape(1)[0], element)


def format_element(value: np.generic, element: str) -> str:
    """A number as people write it: true, -3, 1.5, -0.0, nan with its payload."""
    if element == "i1":
        return "true" if value else "false"
    if dtypes.is_integer(element):
        return str(int(value))
    if dtypes.is_float(element):
        if math.isnan(float(value)):
            return f"nan (0x{value.tobytes()[::-1].hex()})"
        shown = str(value)
        return f"{shown}.0" if shown.lstrip("-").isdigit() else shown
    return f"({complex(value).real}, {complex(value).imag})"
