"""Expressions of -k."""

from __future__ import annotations

import pytest

from aiepipe.errors import UsageError
from aiepipe.testing.selection import parse_selection

NAMES = (
    "mlir/matmul.mlir::matmul[builtin]",
    "mlir/matmul_i8.mlir::matmul[builtin]",
    "mlir/fill.mlir::fill[builtin]",
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("matmul", [0, 1]),
        ("MATMUL and not i8", [0]),
        ("fill or i8", [1, 2]),
        ("not (fill or i8)", [0]),
        ("not fill and not i8", [0]),
        ("nothing", []),
        ("matmul[builtin]", [0, 1]),
        # "and" binds closer than "or"
        ("fill or matmul and i8", [1, 2]),
    ],
)
def test_an_expression_selects(text: str, wanted: list[int]) -> None:
    match = parse_selection(text)
    assert [i for i, name in enumerate(NAMES) if match(name)] == wanted


@pytest.mark.parametrize("text", ["", "and", "a and", "(a", "a)", "a b", "not", "(" * 200 + "a" + ")" * 200])
def test_what_is_no_expression_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="cannot read -k"):
        parse_selection(text)
