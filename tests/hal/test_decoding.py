"""Patterns back to values: the forms that IREE narrows to, with the values that went in."""

from __future__ import annotations

import numpy as np
import pytest

from aiepipe import dtypes
from aiepipe.hal.decoding import element_value, scalar_value


@pytest.mark.parametrize(
    ("pattern", "element", "value"),
    [
        (b"\xc0\x3f", "bf16", "1.5"),
        (b"\1", "i32", "16843009"),
        (b"\1\0", "i32", "65537"),
        (b"\0", "i32", "0"),
        (b"\0", "i64", "0"),
        (b"\xff", "i64", "-1"),
        (b"\2\0\0\0", "i64", "8589934594"),
        (b"\2\0\0\0\1\0\0\0", "i64", "4294967298"),
        (b"\7", "i8", "7"),
        (b"\1", "i1", "true"),
        (b"\0", "i1", "false"),
        (b"\x55", "i4", "5"),
        (b"\xdd", "i4", "-3"),
        (b"\0", "f32", "0.0"),
        (b"\0\0\0\x80", "f32", "-0.0"),
        (b"\0\x80", "bf16", "-0.0"),
        (b"\1\0\xc0\x7f", "f32", "nan (0x7fc00001)"),
        (b"\xcd\xcc\xcc\x3d", "f32", "0.1"),
        (b"\0\x3c", "f16", "1.0"),
        (b"\0", "bf16", "0.0"),
        (b"\0\0\x80\x7f", "f32", "inf"),
        (b"\0\0\x80\x3f\0\0\0\x40", "complex<f32>", "(1.0, 2.0)"),
        (b"\0\0\0\0\0\0\xf8\x3f", "f64", "1.5"),
        # a pattern over several elements that are all alike
        (b"\7\0\7\0", "i16", "7"),
        # and over several that are not
        (b"\1\2", "i8", None),
        (b"\x21", "i4", None),
        (b"\1\2\3", "i32", None),
        (b"", "i32", None),
        (b"\1", "i7", None),
    ],
)
def test_a_pattern_becomes_the_elements_value(pattern: bytes, element: str, value: str | None) -> None:
    assert element_value(pattern, element) == value


@pytest.mark.parametrize("element", ["i1", "i4", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"])
def test_a_constant_is_one_element(element: str) -> None:
    data = dtypes.pack(np.array(1), element)
    shown = {"i1": "true"}.get(element, "1.0" if "f" in element else "1")
    assert scalar_value(data, element) == shown


def test_too_few_bytes_have_no_value() -> None:
    assert scalar_value(b"\1\2", "i32") is None
    assert scalar_value(b"", "i8") is None
    assert scalar_value(b"\1", "!hal.device") is None
