"""Scalar ops as MLIR's arith and math dialects define them.

All integer and most float ops were also compared with IREE 3.13's llvm-cpu on 64 values each (extremes, both
zeros, infinities, NaN): equal, but for what MLIR leaves undefined and IREE's own approximations of sin, cos
and exp2.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from aiepipe.errors import UsageError
from aiepipe.program import Attribute, ScalarOp
from aiepipe.verify.scalars import apply, is_known
from aiepipe.verify.storage import memory, widen
from aiepipe.verify.values import load

NAN, INF = float("nan"), float("inf")


def run(name: str, element: str, *operands: tuple[str, Any], **attributes: Attribute) -> Any:
    """One op on single values, given as (type, value)."""
    op = ScalarOp(name, tuple(range(len(operands))), element, attributes)
    arrays = [widen(load(f"1x{t}={v}", None, "operand"), t) for t, v in operands]
    result = memory(apply(op, [t for t, _ in operands], arrays), element)
    value = result.reshape(-1)[0]
    return bool(value) if element == "i1" else float(value) if element[0] in "fb" else int(value)


@pytest.mark.parametrize(
    ("name", "a", "b", "want"),
    [
        ("addi", 127, 1, -128),
        ("subi", -128, 1, 127),
        ("muli", -128, -1, -128),
        ("divsi", -7, 2, -3),
        ("divsi", 7, -2, -3),
        ("divsi", -128, -1, -128),
        ("remsi", -7, 2, -1),
        ("remsi", 7, -2, 1),
        ("floordivsi", -7, 2, -4),
        ("ceildivsi", -7, 2, -3),
        ("ceildivsi", 7, 2, 4),
        ("divui", -1, 2, 127),
        ("remui", -1, 16, 15),
        ("ceildivui", -1, 2, -128),  # 255 / 2 rounded up is 128
        ("andi", -1, 0x55, 0x55),
        ("ori", 0x0F, 0x70, 0x7F),
        ("xori", -1, 1, -2),
        ("shli", 1, 7, -128),
        ("shli", 3, 7, -128),
        ("shrsi", -128, 7, -1),
        ("shrui", -128, 7, 1),
        ("maxsi", -1, 1, 1),
        ("maxui", -1, 1, -1),
        ("minsi", -1, 1, -1),
        ("minui", -1, 1, 1),
    ],
)
def test_i8(name: str, a: int, b: int, want: int) -> None:
    assert run(f"arith.{name}", "i8", ("i8", a), ("i8", b)) == want


@pytest.mark.parametrize(
    ("predicate", "want"),
    [
        ("eq", False), ("ne", True), ("slt", True), ("sle", True), ("sgt", False), ("sge", False),
        ("ult", False), ("ule", False), ("ugt", True), ("uge", True),
    ],
)  # fmt: skip
def test_comparison_of_minus_one_with_one(predicate: str, want: bool) -> None:
    assert run("arith.cmpi", "i1", ("i16", -1), ("i16", 1), predicate=predicate) is want


def test_predicates_may_be_numbers() -> None:
    # arith.cmpi's and arith.cmpf's enumerations: 2 is slt, 1 is oeq
    assert run("arith.cmpi", "i1", ("i16", -1), ("i16", 1), predicate=2) is True
    assert run("arith.cmpf", "i1", ("f32", 2), ("f32", 2), predicate=1) is True


@pytest.mark.parametrize("unordered", [False, True])
@pytest.mark.parametrize(
    ("relation", "less", "equal", "greater"),
    [
        ("eq", 0, 1, 0), ("gt", 0, 0, 1), ("ge", 0, 1, 1), ("lt", 1, 0, 0), ("le", 1, 1, 0), ("ne", 1, 0, 1),
    ],
)  # fmt: skip
def test_float_comparisons(unordered: bool, relation: str, less: int, equal: int, greater: int) -> None:
    name = ("u" if unordered else "o") + relation
    for a, want in ((1.0, less), (2.0, equal), (3.0, greater), (NAN, int(unordered))):
        assert run("arith.cmpf", "i1", ("f32", a), ("f32", 2.0), predicate=name) is bool(want), (a, name)


def test_ordered_and_unordered() -> None:
    assert run("arith.cmpf", "i1", ("f32", NAN), ("f32", 1), predicate="uno") is True
    assert run("arith.cmpf", "i1", ("f32", NAN), ("f32", 1), predicate="ord") is False
    assert run("arith.cmpf", "i1", ("f32", 1), ("f32", 1), predicate="true") is True
    assert run("arith.cmpf", "i1", ("f32", 1), ("f32", 1), predicate="false") is False


@pytest.mark.parametrize(
    ("name", "source", "value", "target", "want"),
    [
        ("extsi", "i8", -128, "i32", -128),
        ("extui", "i8", -128, "i32", 128),
        ("extsi", "i1", "true", "i32", -1),
        ("extui", "i1", "true", "i32", 1),
        ("extui", "i32", -1, "i64", 2**32 - 1),
        ("trunci", "i32", 0x1FF, "i8", -1),
        ("trunci", "i32", 2, "i1", False),
        ("sitofp", "i8", -128, "f32", -128.0),
        ("uitofp", "i8", -128, "f32", 128.0),
        ("sitofp", "i1", "true", "f32", -1.0),
        ("uitofp", "i1", "true", "f32", 1.0),
        ("uitofp", "i64", -1, "f64", 2.0**64),
        ("sitofp", "i32", 2**24 + 1, "f32", 2.0**24),
        ("sitofp", "i32", 257, "bf16", 256.0),
        ("fptosi", "f32", -1.9, "i32", -1),
        ("fptoui", "f32", 255.9, "i8", -1),
        ("fptosi", "f32", 1e20, "i64", 2**63 - 1024),
        ("fptoui", "f32", 1e19, "i64", 9999999980506447872 - 2**64),
        ("fptosi", "f32", NAN, "i32", 0),
        ("extf", "bf16", 1.5, "f32", 1.5),
        ("truncf", "f32", 1.00390625, "bf16", 1.0),  # 1 + 2^-8: a tie, to even
        ("truncf", "f32", 1e9, "f16", INF),
        ("bitcast", "f32", 1.0, "i32", 0x3F800000),
        ("bitcast", "i16", 0x3FC0, "bf16", 1.5),
        ("index_cast", "i32", -5, "index", -5),
        ("index_castui", "i32", -1, "index", 2**32 - 1),
    ],
)  # fmt: skip
def test_conversions(name: str, source: str, value: Any, target: str, want: Any) -> None:
    assert run(f"arith.{name}", target, (source, value)) == want


@pytest.mark.parametrize(
    ("name", "a", "b", "want"),
    [
        ("minimumf", -0.0, 0.0, -0.0),
        ("minimumf", 0.0, -0.0, -0.0),
        ("maximumf", -0.0, 0.0, 0.0),
        ("minimumf", NAN, 1.0, NAN),
        ("maximumf", 1.0, NAN, NAN),
        ("minnumf", NAN, 1.0, 1.0),
        ("maxnumf", 1.0, NAN, 1.0),
        ("minnumf", -0.0, 0.0, -0.0),
        ("minnumf", 0.0, -0.0, -0.0),
        ("maxnumf", -0.0, 0.0, 0.0),
        ("maxnumf", 0.0, -0.0, 0.0),
        ("maxnumf", NAN, -0.0, -0.0),
        ("remf", -7.0, 2.0, -1.0),
        ("divf", 1.0, 0.0, INF),
        ("subf", INF, INF, NAN),
        ("mulf", 3e38, 10.0, INF),
        ("addf", 16777216.0, 1.0, 16777216.0),  # f32 rounds to even
    ],
)
def test_f32(name: str, a: float, b: float, want: float) -> None:
    got = np.float32(run(f"arith.{name}", "f32", ("f32", a), ("f32", b)))
    assert struct.pack("<f", got) == struct.pack("<f", want) or (np.isnan(got) and np.isnan(want))


def test_bf16_arithmetic_rounds_each_op() -> None:
    assert run("arith.addf", "bf16", ("bf16", 256), ("bf16", 1)) == 256.0


@pytest.mark.parametrize(
    ("name", "value", "want"),
    [
        ("round", 0.5, 1.0), ("round", -2.5, -3.0), ("round", 0.49999997, 0.0), ("roundeven", 2.5, 2.0),
        ("trunc", -1.7, -1.0), ("floor", -1.2, -2.0), ("ceil", -1.7, -1.0), ("absf", -0.0, 0.0),
        ("rsqrt", 4.0, 0.5), ("sqrt", -1.0, NAN), ("exp", -INF, 0.0), ("log", 0.0, -INF), ("erf", 0.0, 0.0),
    ],
)  # fmt: skip
def test_math(name: str, value: float, want: float) -> None:
    got = run(f"math.{name}", "f32", ("f32", value))
    assert got == want or (np.isnan(got) and np.isnan(want))


@pytest.mark.parametrize(
    ("name", "value", "want"),
    [
        ("ctpop", -1, 8), ("ctlz", 1, 7), ("ctlz", 0, 8), ("ctlz", -1, 0), ("cttz", 0, 8),
        ("cttz", 0x50, 4), ("absi", -128, -128), ("absi", -5, 5),
    ],
)  # fmt: skip
def test_bit_counts(name: str, value: int, want: int) -> None:
    assert run(f"math.{name}", "i8", ("i8", value)) == want


@pytest.mark.parametrize(
    ("base", "exponent", "want"), [(2, 7, -128), (3, 0, 1), (-1, -3, -1), (2, -1, 0), (1, -9, 1)]
)
def test_integer_powers(base: int, exponent: int, want: int) -> None:
    assert run("math.ipowi", "i8", ("i8", base), ("i8", exponent)) == want


def test_select_and_constants() -> None:
    assert run("arith.select", "i32", ("i1", "true"), ("i32", 3), ("i32", 4)) == 3
    assert run("arith.select", "f32", ("i1", "false"), ("f32", 3), ("f32", NAN)) != 3
    assert run("arith.constant", "i8", value=b"\xff") == -1
    assert run("arith.constant", "i1", value=True) is True
    assert run("arith.constant", "i64", value=2**64 - 1) == -1
    assert run("arith.constant", "f32", value=1.5) == 1.5
    assert run("arith.constant", "bf16", value=b"\xc0\x3f") == 1.5


def test_shifts_by_the_width_and_more_are_zero() -> None:
    # poison in MLIR: any value will do, but no crash
    for name in ("shli", "shrui", "shrsi"):
        assert run(f"arith.{name}", "i8", ("i8", -1), ("i8", 8)) == 0
        assert run(f"arith.{name}", "i64", ("i64", -1), ("i64", -1)) == 0


@pytest.mark.parametrize("name", ["divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi"])
def test_division_by_zero_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="divides by zero"):
        run(f"arith.{name}", "i32", ("i32", 1), ("i32", 0))


def test_unknown_ops() -> None:
    assert not is_known("arith.mulsi_extended")
    assert is_known("math.erf")
