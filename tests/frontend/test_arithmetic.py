"""Integer ops on known scalars: MLIR's arith semantics, with the values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.frontend.arithmetic import Number, bit_width, evaluate, number


def i8(value: int) -> Number:
    return number(value, "i8")


@pytest.mark.parametrize(
    ("name", "a", "b", "want"),
    [
        ("arith.addi", 127, 1, -128),
        ("arith.subi", -128, 1, 127),
        ("arith.muli", 16, 16, 0),
        ("arith.divsi", -7, 2, -3),
        ("arith.remsi", -7, 2, -1),
        ("arith.floordivsi", -7, 2, -4),
        ("arith.ceildivsi", -7, 2, -3),
        ("arith.ceildivsi", 7, 2, 4),
        ("arith.divui", -1, 2, 127),
        ("arith.remui", -1, 2, 1),
        ("arith.ceildivui", 7, 2, 4),
        ("arith.shli", 1, 7, -128),
        ("arith.shrui", -128, 7, 1),
        ("arith.shrsi", -128, 7, -1),
        ("arith.andi", 12, 10, 8),
        ("arith.ori", 12, 10, 14),
        ("arith.xori", 12, 10, 6),
        ("arith.maxsi", -1, 1, 1),
        ("arith.maxui", -1, 1, -1),
        ("arith.minsi", -1, 1, -1),
        ("arith.minui", -1, 1, 1),
        ("util.align", 65, 64, -128),
    ],
)
def test_binary_ops_wrap_at_their_width(name: str, a: int, b: int, want: int) -> None:
    found = evaluate(name, [i8(a), i8(b)], "i8")
    assert found is not None
    assert found.signed == want


@pytest.mark.parametrize("name", ["arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "util.align"])
def test_a_division_by_zero_is_not_known(name: str) -> None:
    assert evaluate(name, [i8(1), i8(0)], "i8") is None


@pytest.mark.parametrize("name", ["arith.shli", "arith.shrui", "arith.shrsi"])
def test_a_shift_over_the_width_is_not_known(name: str) -> None:
    assert evaluate(name, [i8(1), i8(8)], "i8") is None


def test_casts_extend_with_or_without_sign() -> None:
    for name, want in (("arith.extsi", -1), ("arith.extui", 255), ("arith.index_castui", 255)):
        found = evaluate(name, [i8(-1)], "i64" if "ext" in name else "index")
        assert found is not None
        assert found.signed == want
    assert evaluate("arith.trunci", [number(0x1234, "i32")], "i8") == i8(0x34)
    assert evaluate("arith.bitcast", [Number(0x7FC00001, "f32")], "i32") == Number(0x7FC00001, "i32")


def test_compare_and_select() -> None:
    below = evaluate("arith.cmpi", [i8(-1), i8(1)], "i1", predicate=2)  # slt
    above = evaluate("arith.cmpi", [i8(-1), i8(1)], "i1", predicate=8)  # ugt
    assert below == above == Number(1, "i1")
    assert evaluate("arith.select", [Number(0, "i1"), i8(3), i8(4)], "i8") == i8(4)


def test_what_is_not_computed_here_is_not_known() -> None:
    assert evaluate("arith.addf", [Number(0, "f32"), Number(0, "f32")], "f32") is None
    assert evaluate("arith.addi", [i8(1), i8(1)], "vector<4xi8>") is None


def test_widths() -> None:
    widths = {"i1": 1, "si8": 8, "ui16": 16, "index": 64, "bf16": 16, "f32": 32, "complex<f32>": None}
    assert {element: bit_width(element) for element in widths} == widths
    with pytest.raises(ValueError, match="no integer or float"):
        number(1, "!hal.device")


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_number_has_the_bytes_of_its_value(value: int) -> None:
    found = number(value, "i64")
    assert found.signed == value
    assert found.to_bytes() == value.to_bytes(8, "little", signed=True)
