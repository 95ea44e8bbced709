"""The value syntax of iree-run-module, and what does not fit."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aiepipe import dtypes
from aiepipe.errors import UsageError
from aiepipe.program import TensorType
from aiepipe.verify.values import (
    load,
    parse_argument,
    parse_type,
    parse_value,
    random_inputs,
    resolve,
)

T22 = TensorType((2, 2), "i32")


def value(spec: str, type_: TensorType | None = None) -> Any:
    """The value as Python numbers."""
    array = load(spec, type_, "argument 0")
    return (array if array.dtype.kind in "bif" else array.astype(np.float64)).tolist()


VALUES: list[tuple[str, Any]] = [
    ("2x2xi32=7", [[7, 7], [7, 7]]),
    ("2x2xi8=[[-1 2][3 -128]]", [[-1, 2], [3, -128]]),
    ("2x2xi32=1,2,3,4", [[1, 2], [3, 4]]),
    ("2x2xi32=1 2 3 4", [[1, 2], [3, 4]]),
    ("2x2xi32=[1 2][3 4]", [[1, 2], [3, 4]]),
    ("2x2xi32=[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
    ("1x3xi32=[1 2 3]", [[1, 2, 3]]),
    ("1x3xi32=[[1 2 3]]", [[1, 2, 3]]),
    ("3xi32=1 2 3", [1, 2, 3]),
    ("2x2xi32", [[0, 0], [0, 0]]),
    ("4x0xf32", [[]] * 4),
    ("0x3xf32=", []),
    ("3", 3),
    ("-7", -7),
    ("1.5", 1.5),
    ("true", True),
    ("i32=5", 5),
    ("f32=1.5", 1.5),
    ("2xi8=255 0x80", [-1, -128]),
    ("4xi1=1 0 true false", [True, False, True, False]),
    ("3xi4=-8 7 15", [-8, 7, -1]),
    ("2xf32=0x1.8p3 0x10", [12.0, 16.0]),
    ("2xf32=inf -inf", [np.inf, -np.inf]),
    ("2xbf16=1.5 -2", [1.5, -2.0]),
    ("1xi64=18446744073709551615", [-1]),
    ("2xindex=1 2", [1, 2]),
    ("2xui8=200 1", [-56, 1]),
    ("i32=-0x10", -16),
]


@pytest.mark.parametrize(("spec", "want"), VALUES)
def test_values(spec: str, want: Any) -> None:
    assert value(spec) == want


def test_element_types_of_bare_scalars_follow_the_program() -> None:
    assert load("3", TensorType((), "f32"), "argument 0").dtype == np.float32
    assert load("3", TensorType((), "i64"), "argument 0").dtype == np.int64
    assert load("3", None, "argument 0").dtype == np.int32
    assert load("3.0", None, "argument 0").dtype == np.float32


def test_nan_and_negative_zero() -> None:
    assert np.isnan(load("nan", TensorType((), "f32"), "argument 0"))
    assert np.signbit(load("2xf32=-0", None, "argument 0")).all()


def test_complex_numbers() -> None:
    assert load("2xcomplex<f32>=1+2j -3i", None, "argument 0").tolist() == [1 + 2j, -3j]


@pytest.mark.parametrize(
    ("spec", "type_", "says"),
    [
        ("64x16xi32=1", T22, r"argument 0 is 2x2xi32, but '64x16xi32=1' gives 64x16xi32"),
        ("2x2xf32=1", T22, "gives 2x2xf32"),
        ("3", T22, "is a scalar"),
        ("2x2xi32=1,2,3", T22, "has 3 elements, 2x2xi32 needs 4"),
        ("2x2xi32=[[1 2 3][4]]", T22, "do not have the shape"),
        ("2x2xi32=[1 2 3 4", T22, "not closed"),
        ("2x2xi32=1 2 3 4]", T22, "too many"),
        ("2x2xi32=" + "[" * 100, T22, "more brackets"),
        ("2x2xi32=1.5", T22, "not an integer"),
        ("2xi8=256", None, "out of the range of i8"),
        ("2xi8=-129", None, "out of the range of i8"),
        ("2xi1=2", None, "out of the range of i1"),
        ("2xf16=1e9", None, "out of the range of f16"),
        ("2xf32=zebra", None, "is not a number"),
        ("2xf32=1_0", None, "is not a number"),
        ("2xi32=9" + "9" * 5000, None, "not an integer"),
        ("2x2xi33=1", None, "unknown element type 'i33'"),
        ("?x2xi32=1", None, "dynamic dimension"),
        ("2yx2=1", None, "is not a type"),
        ("1 2 3", None, "cannot read the value"),
        ("", None, "cannot read"),
        ("@", None, "no file name"),
        ("-", T22, "not an integer|is a scalar"),
        ("99999x99999xi32=1", None, "more than we can hold"),
        ("99999999999xi32=1", None, "too large"),
        ("64x16xi32=@/no/such/file", None, "cannot read /no/such/file"),
    ],
)
def test_what_does_not_fit(spec: str, type_: TensorType | None, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        load(spec, type_, "argument 0")


def test_an_unknown_element_type_says_which_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        load("4xi99=1", None, "argument 0")
    assert caught.value.remedy is not None
    assert {"i8", "bf16", "f32"} <= set(caught.value.remedy.removeprefix("one of: ").split(", "))


@given(st.text(alphabet="0123456789xif[]= ,.-+@nabts<>()?", max_size=40))
@example("0xi32=")
@example("i1=nan")
def test_any_text_is_a_value_or_a_usage_error(text: str) -> None:
    def nothing(name: str) -> bytes:
        raise UsageError(f"no file {name}")

    with contextlib.suppress(UsageError):
        spec = parse_value(text)
        if spec.type is None or spec.type.count < 1000:
            resolve(spec, None, "argument 0", read=nothing)


# ------------------------------------------------------------------ files


def test_npy_file_gives_its_own_type(tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    np.save(file, np.array([[1, 2]], np.int16))
    type_, array = resolve(parse_value(f"@{file}"), None, "argument 0")
    assert str(type_) == "1x2xi16"
    assert array.tolist() == [[1, 2]]


def test_npy_file_is_checked_against_the_type(tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    np.save(file, np.zeros((64, 16), np.int32))
    assert load(f"64x16xi32=@{file}", TensorType((64, 16), "i32"), "argument 0").shape == (64, 16)
    with pytest.raises(UsageError, match=r"argument 1 is 64x64xi32, but .*a.npy holds 64x16xint32"):
        load(f"@{file}", TensorType((64, 64), "i32"), "argument 1")
    with pytest.raises(UsageError, match=r"argument 1 is 64x16xf32, but .* holds 64x16xint32"):
        load(f"64x16xf32=@{file}", None, "argument 1")


def test_raw_bytes_must_be_exactly_as_many(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(bytes(range(8)))
    assert load(f"2xi32=@{file}", None, "argument 0").tolist() == [0x03020100, 0x07060504]
    with pytest.raises(UsageError, match=r"has 12 bytes, but .* has 8"):
        load(f"3xi32=@{file}", None, "argument 0")
    with pytest.raises(UsageError, match="have no type"):
        load(f"@{file}", None, "argument 0")
    # a program that knows the type supplies it
    assert load(f"@{file}", TensorType((2,), "f32"), "argument 0").dtype == np.float32


def test_i4_raw_bytes_are_packed(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(bytes([0x21, 0x0F]))
    assert load(f"3xi4=@{file}", None, "argument 0").astype(np.int8).tolist() == [1, 2, -1]


# ------------------------------------------------------------------ arguments of a kernel


def test_argument_directions() -> None:
    given_, out, both = (
        parse_argument(text) for text in ("in:64x64xi32=@a.npy", "out:64x64xi32=@c.npy", "inout:2x2xi32=1")
    )
    assert (given_.direction, given_.reads, given_.writes, given_.value.file) == ("in", True, False, "a.npy")
    assert (out.reads, out.writes, out.value.file, str(out.value.type)) == (False, True, "c.npy", "64x64xi32")
    assert (both.reads, both.writes) == (True, True)


@pytest.mark.parametrize("text", ["64x64xi32=1", "outt:2xi32", "out:@c.npy", "out:2xi32=1", "in:", ""])
def test_bad_arguments(text: str) -> None:
    with pytest.raises(UsageError):
        parse_argument(text)


def test_types() -> None:
    assert parse_type("64x16xi32") == TensorType((64, 16), "i32")
    assert parse_type("bf16") == TensorType((), "bf16")
    assert str(parse_type("2xcomplex<f32>")) == "2xcomplex<f32>"


# ------------------------------------------------------------------ random inputs


@pytest.mark.parametrize(
    "element", ["i1", "i4", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "index"]
)
def test_random_inputs_cover_the_useful_range(element: str) -> None:
    type_ = TensorType((64, 64), element)
    (array,) = random_inputs([type_], 7)
    assert array.dtype == dtypes.numpy_dtype(element)
    assert array.shape == (64, 64)
    numbers = array.astype(np.float64)
    assert (numbers == 0).any()
    if element not in ("i1", "index"):
        assert (numbers < 0).any()
    if element[0] == "i" and element[1:].isdigit() and element != "i1":
        bits = int(element[1:])
        assert numbers.min() == -(2.0 ** (bits - 1))
        assert numbers.max() == float(2 ** (bits - 1) - 1)
        assert (np.abs(numbers) <= 8).mean() > 0.4


def test_random_inputs_are_a_function_of_the_seed_and_the_position() -> None:
    one = random_inputs([T22, TensorType((3,), "f32")], 5)
    two = random_inputs([TensorType((9, 9), "i8"), TensorType((3,), "f32")], 5)
    assert np.array_equal(one[1], two[1])
    assert not np.array_equal(random_inputs([T22], 5)[0], random_inputs([T22], 6)[0])


def test_random_floats_have_both_zeros() -> None:
    (array,) = random_inputs([TensorType((1000,), "bf16")], 0)
    zeros = array.astype(np.float64)
    assert np.signbit(zeros[zeros == 0]).any()
    assert not np.signbit(zeros[zeros == 0]).all()


def test_random_of_a_seed_is_what_random_inputs_draws_first() -> None:
    type_ = TensorType((3, 5), "i32")
    array = load("3x5xi32=random(7)", type_, "argument 0")
    assert (array == random_inputs([type_], 7)[0]).all()
    assert (array != load("3x5xi32=random(8)", type_, "argument 0")).any()
    with pytest.raises(UsageError):
        load("3x5xi32=random(-1)", type_, "argument 0")
    with pytest.raises(UsageError, match="has a value"):
        parse_argument("out:3x5xi32=random(7)")
