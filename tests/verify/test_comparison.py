"""What is wrong, where, and what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from aiepipe import dtypes
from aiepipe.errors import UsageError
from aiepipe.program import TensorType
from aiepipe.verdict import Agreement, Comparison, Mismatch, Tolerance
from aiepipe.verify.comparison import compare, lines_of, poison_array, preview
from aiepipe.verify.values import parse_type

I64 = TensorType((64, 64), "i32")
POISON = b"\xa5\x5a\xa5\x5a"


def mismatch(comparison: Comparison) -> Mismatch:
    assert comparison.agreement is Agreement.FAIL
    assert comparison.mismatch is not None
    return comparison.mismatch


def right() -> npt.NDArray[np.int32]:
    return np.full((64, 64), 39, np.int32)


def f32(*values: float) -> npt.NDArray[np.float32]:
    return np.array(values, np.float32)


def one(got: npt.NDArray[Any], want: npt.NDArray[Any], **more: Any) -> Comparison:
    return compare("result 0", got, want, TensorType(got.shape, dtypes.mlir_name(got.dtype)), **more)


def test_equal_arrays_pass() -> None:
    told = compare("result 0", right(), right(), I64)
    assert told.agreement is Agreement.PASS
    assert told.mismatch is None
    assert told.preview == "all 39"
    assert told.tolerance.exact


def test_a_dirty_line_is_told_in_full() -> None:
    got = right()
    got.view(np.uint8).reshape(-1)[64 * 70 : 64 * 71] = np.frombuffer(POISON * 16, np.uint8)
    told = mismatch(compare("result 0", got, right(), I64, poison=POISON))
    # line 70 is bytes 4480 to 4543: row 17, columns 32 to 47
    assert (told.count, told.total) == (16, 4096)
    assert (told.first, told.last) == ((17, 32), (17, 47))
    assert (told.box_low, told.box_high) == ((17, 32), (17, 47))
    assert (told.touched_lines, told.whole_lines, told.line_numbers) == (1, 1, (70,))
    (group,) = told.groups
    assert (group.holds, group.count, group.example_index) == ("poison", 16, (17, 32))
    assert group.example_want == "39"
    assert len(told.map) == 16
    assert set(map(len, told.map)) == {64}
    assert told.map[4] == "." * 32 + "+" * 16 + "." * 16


def test_kinds_are_told_apart() -> None:
    got, old = right(), np.full((64, 64), 12, np.int32)
    got[0, 0] = np.frombuffer(POISON, np.int32)[0]
    got[1, 1] = 0
    got[2, 2] = 12
    got[3, 3] = 99
    told = mismatch(compare("result 0", got, right(), I64, poison=POISON, previous=old))
    assert [(g.holds, g.count) for g in told.groups] == [
        ("poison", 1),
        ("zero", 1),
        ("old value", 1),
        ("other", 1),
    ]
    assert told.largest_error == float(int(got[0, 0]) - 39)
    assert told.whole_lines == 0


def test_poison_is_aligned_to_the_buffer() -> None:
    type_ = TensorType((3,), "i8")
    assert poison_array(b"\x01\x02\x03\x04", type_, offset_bytes=3).tolist() == [4, 1, 2]


def test_whole_output_wrong_is_drawn_full() -> None:
    told = mismatch(compare("result 0", np.zeros((64, 64), np.int32), right(), I64))
    assert told.map == ("#" * 64,) * 16
    assert told.whole_lines == told.touched_lines == 256


def test_only_the_second_batch_is_wrong() -> None:
    # report 54
    type_ = TensorType((2, 64, 64), "i32")
    want = np.full((2, 64, 64), -64, np.int32)
    got = want.copy()
    got[1, :, 32:] = 0
    told = mismatch(compare("result 0", got, want, type_))
    assert told.batches == (((1,), 64 * 32),)
    assert told.map == ("." * 32 + "#" * 32,) * 16


def test_a_vector_is_wrapped_into_rows() -> None:
    got = np.zeros(2048, np.int8)
    got[130] = 1
    told = mismatch(one(got, np.zeros(2048, np.int8)))
    assert told.map[1] == ".+" + "." * 62
    assert len(told.map) == 16


def test_a_scalar_result() -> None:
    told = mismatch(one(np.array(5, np.int32), np.array(6, np.int32)))
    assert (told.count, told.first, told.map) == (1, (), ("#",))
    assert one(np.array(5, np.int32), np.array(5, np.int32)).preview == "5"


def test_no_elements_are_equal() -> None:
    empty = np.zeros((4, 0), np.float32)
    assert one(empty, empty).agreement is Agreement.PASS
    assert one(empty, empty).preview == "no elements"


# ------------------------------------------------------------------ floats


def test_exact_mode_tells_zeros_apart_and_nan_is_nan() -> None:
    # report 04
    assert one(f32(-0.0), f32(0.0)).agreement is Agreement.FAIL
    other_nan = np.array([0x7FC00001], np.uint32).view(np.float32)
    assert one(other_nan, f32(np.nan)).agreement is Agreement.PASS
    assert one(f32(np.nan), f32(1.0)).agreement is Agreement.FAIL


def test_with_a_tolerance_zeros_are_equal_and_infinities_must_agree() -> None:
    close = Tolerance(1e-5, 1e-6, "--rtol")
    assert one(f32(-0.0), f32(0.0), tolerance=close).agreement is Agreement.PASS
    assert one(f32(np.inf), f32(np.inf), tolerance=close).agreement is Agreement.PASS
    for got, want in ((np.inf, -np.inf), (np.inf, 3e38), (3e38, np.inf), (1.0, np.nan), (np.nan, np.inf)):
        assert one(f32(got), f32(want), tolerance=close).agreement is Agreement.FAIL, (got, want)


def test_relative_tolerance() -> None:
    # report 29's numbers: 1e-5 of a million is 10
    million = f32(1000000)
    close = Tolerance(1e-5, 0.0, "as iree-run-module")
    assert one(f32(1000009), million, tolerance=close).agreement is Agreement.PASS
    assert one(f32(1000011), million, tolerance=close).agreement is Agreement.FAIL
    assert one(f32(1000009), million).agreement is Agreement.FAIL, "a fill is exact"


def test_a_bound_per_element_takes_the_place_of_the_absolute_part() -> None:
    got, want = f32(1.1, 1.1), f32(1.0, 1.0)
    told = mismatch(one(got, want, bound=np.array([0.2, 0.05])))
    assert (told.count, told.first) == (1, (1,))


def test_statistics_of_floats() -> None:
    got = np.nextafter(f32(1.0, 2.0), np.float32(np.inf))
    told = one(got, f32(1.0, 2.0), bound=np.array([1.0, 1.0]))
    assert told.statistics["largest ulp"] == 1.0
    assert told.statistics["largest error"] == 2.0**-22
    assert told.statistics["largest share of the bound"] == 2.0**-22
    assert one(right(), right()).statistics == {}


def test_small_types() -> None:
    for element in ("bf16", "f16", "i4", "i1", "complex<f32>"):
        dtype = dtypes.numpy_dtype(element)
        want = np.array([1, 0, 1]).astype(dtype)
        got = np.array([1, 1, 1]).astype(dtype)
        told = mismatch(compare("r", got, want, TensorType((3,), element)))
        assert told.first == told.last == (1,)


def test_uncertain_whole_numbers() -> None:
    told = mismatch(one(np.array([3, 5], np.int32), np.array([4, 3], np.int32), bound=np.array([0.5, 1.0])))
    assert told.first == told.last == (1,)


# ------------------------------------------------------------------ lines


LINES: list[tuple[str, int, Sequence[int], tuple[list[int], int]]] = [
    ("64xi32", 0, range(16, 32), ([1], 1)),
    ("64xi32", 0, range(15, 32), ([0, 1], 1)),
    ("20xi32", 0, range(16, 20), ([1], 1)),  # a line of which the array has only a part
    ("70xi8", 60, range(4), ([0], 1)),
    ("70xi8", 60, range(4, 68), ([1], 1)),
    ("256xi4", 0, [127, 128], ([0, 1], 0)),
    ("16xi64", 60, [0], ([0, 1], 1)),  # straddles: alone in line 0, one of many in line 1
    ("0xf32", 0, [], ([], 0)),
]


@pytest.mark.parametrize(("type_", "offset", "wrong", "told"), LINES)
def test_lines(type_: str, offset: int, wrong: Any, told: tuple[list[int], int]) -> None:
    mask = np.zeros(parse_type(type_).shape, np.bool_)
    mask[list(wrong)] = True
    touched, complete = lines_of(mask, parse_type(type_), offset)
    assert (touched.tolist(), complete) == told


def test_arrays_of_another_type_are_refused() -> None:
    with pytest.raises(UsageError, match="result 0 is 64x64xi32, but the got array is 64x64xint64"):
        compare("result 0", right().astype(np.int64), right(), I64)


def test_preview() -> None:
    assert preview(np.arange(6, dtype=np.int32), TensorType((6,), "i32")) == "0 1 2 3 ... 5"
    assert preview(f32(0.5, -0.0), TensorType((2,), "f32")) == "0.5 -0"
    assert preview(np.array([True, False]), TensorType((2,), "i1")) == "true false"


def test_a_float_scalar_has_statistics() -> None:
    told = one(np.array(1.0, np.float32), np.array(1.5, np.float32), bound=np.array(1.0))
    assert told.agreement is Agreement.PASS
    assert told.statistics["largest error"] == 0.5
