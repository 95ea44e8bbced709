"""Derived tolerances: what rounding explains passes, what it does not is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from aiepipe import dtypes
from aiepipe.errors import UsageError
from aiepipe.program import TensorType
from aiepipe.verdict import Agreement
from aiepipe.verify.comparison import compare, wrong_elements
from aiepipe.verify.reference import Reference, reference
from aiepipe.verify.rounding import rounded, stored
from aiepipe.verify.tolerance import EXACT, by_type, derived, parse_tolerance, ulp_distance
from aiepipe.verify.values import random_inputs

from .source import filled_matmul

BF16 = dtypes.numpy_dtype("bf16")
SQUARE = TensorType((256, 256), "bf16")


def matmul(a: Any, b: Any, element: str) -> Reference:
    (m, k), n = a.shape, b.shape[1]
    zero = np.zeros(1, dtypes.numpy_dtype(element)).tobytes()
    return reference(filled_matmul(m, n, k, zero, operand=element, element=element), [a, b])


def tiled(a: Any, b: Any, tile: int, element: str) -> npt.NDArray[np.float64]:
    """What a device gives whose accumulator is rounded to `element` after each tile of K."""
    left, right = a.astype(np.float64), b.astype(np.float64)
    total = np.zeros((left.shape[0], right.shape[1]))
    for k in range(0, left.shape[1], tile):
        total = rounded(total + left[:, k : k + tile] @ right[k : k + tile], element)
    return total


@pytest.fixture(scope="module")
def report_68() -> tuple[npt.NDArray[Any], npt.NDArray[Any], Reference]:
    """N(0, 1) inputs, bf16, K = 256."""
    draw = np.random.default_rng(68)
    a, b = (draw.standard_normal((256, 256)).astype(BF16) for _ in range(2))
    return a, b, matmul(a, b, "bf16")


def test_report_68_passes_with_the_derived_tolerance_and_fails_with_1e_2(report_68: Any) -> None:
    a, b, told = report_68
    got = stored(tiled(a, b, 32, "bf16"), "bf16")
    comparison = compare("result 0", got, told.results[0], SQUARE, bound=told.bounds[0])
    assert comparison.agreement is Agreement.PASS
    assert 0.05 < comparison.statistics["largest share of the bound"] < 0.9
    exact = a.astype(np.float64) @ b.astype(np.float64)
    share = (np.abs(got.astype(np.float64) - exact) > 1e-2 + 1e-2 * np.abs(exact)).mean()
    assert share == pytest.approx(0.079, abs=0.001)


@pytest.mark.parametrize(
    "fault",
    ["a k slice of 32 missing", "one k missing", "transposed", "truncated", "fill of 1 added", "scaled"],
)
def test_report_68_real_faults_are_refused(report_68: Any, fault: str) -> None:
    a, b, told = report_68
    left, right = a.astype(np.float64), b.astype(np.float64)
    faulty = {
        "a k slice of 32 missing": left[:, 32:] @ right[32:],
        "one k missing": left[:, 1:] @ right[1:],
        "transposed": (left @ right).T,
        "truncated": np.trunc(left @ right),
        "fill of 1 added": left @ right + 2,
        "scaled": (left @ right) * 1.05,
    }[fault]
    wrong = wrong_elements(stored(faulty, "bf16"), told.results[0], SQUARE, bound=told.bounds[0])
    assert wrong.mean() > 0.001


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e4])
@pytest.mark.parametrize(("element", "tile"), [("bf16", 32), ("f16", 32), ("f32", 1)])
@pytest.mark.parametrize("positive", [False, True])
def test_rounding_of_another_order_passes(element: str, tile: int, positive: bool, scale: float) -> None:
    draw = np.random.default_rng(3)
    a, b = draw.standard_normal((48, 200)), draw.standard_normal((200, 40))
    if positive:
        a, b = np.abs(a), np.abs(b)
    left, right = stored(a * np.sqrt(scale) / 4, element), stored(b * np.sqrt(scale) / 4, element)
    told = matmul(left, right, element)
    got = stored(tiled(left, right, tile, element), element)
    type_ = TensorType((48, 40), element)
    assert not wrong_elements(got, told.results[0], type_, bound=told.bounds[0]).any()


def test_random_inputs_pass_too() -> None:
    types = (TensorType((64, 96), "bf16"), TensorType((96, 64), "bf16"))
    a, b = random_inputs(types, 11)
    told = matmul(a, b, "bf16")
    got = stored(tiled(a, b, 32, "bf16"), "bf16")
    assert not wrong_elements(got, told.results[0], TensorType((64, 64), "bf16"), bound=told.bounds[0]).any()


def test_the_tolerance_says_where_it_comes_from(report_68: Any) -> None:
    _, _, told = report_68
    assert derived(SQUARE, None) is EXACT
    tolerance = derived(SQUARE, told.bounds[0])
    assert not tolerance.exact
    assert tolerance.absolute == float(told.bounds[0].max())
    assert "bf16" in tolerance.origin


def test_by_type() -> None:
    assert by_type("i32", 1000).exact
    assert by_type("f32", 100).relative < by_type("bf16", 100).relative < by_type("bf16", 10000).relative
    assert "100 terms" in by_type("f32", 100).origin


def test_ulp_distance() -> None:
    got = np.array([1.0, 1.0, -0.0, np.nan, np.nan, 2.0**-149], np.float32)
    want = np.array([1.0, 1 + 2**-22, 0.0, np.nan, 1.0, -(2.0**-149)], np.float32)
    assert ulp_distance(got, want, "f32").tolist() == [0, 2, 0, 0, np.inf, 2]
    one = np.array([1.0]).astype(BF16)
    assert ulp_distance(one, np.array([1 + 2.0**-7]).astype(BF16), "bf16").tolist() == [1]


@pytest.mark.parametrize(
    ("text", "relative", "absolute"),
    [("exact", 0.0, 0.0), ("rtol=1e-3", 1e-3, 0.0), ("atol=0.5", 0.0, 0.5), ("atol=1e-6, rtol=2", 2.0, 1e-6)],
)
def test_a_tolerance_as_people_write_it(text: str, relative: float, absolute: float) -> None:
    found = parse_tolerance(text)
    assert (found.relative, found.absolute) == (relative, absolute)


@pytest.mark.parametrize(
    "text", ["", "1e-3", "rtol", "rtol=", "rtol=-1", "rtol=nan", "rtol=inf", "rtol=1,rtol=1", "ulp=2"]
)
def test_what_is_no_tolerance_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="is no tolerance"):
        parse_tolerance(text)
