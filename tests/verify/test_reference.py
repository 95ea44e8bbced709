"""The numpy reference; right values come from shared/reports/INDEX.md or from the arithmetic beside them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from aiepipe import dtypes
from aiepipe.errors import CompileError, UsageError
from aiepipe.program import AffineResult, ScalarOp, TensorType
from aiepipe.verify.reference import evaluate, reference

from .source import Source, filled_matmul, projected

BF16 = dtypes.numpy_dtype("bf16")
RED = ("parallel", "reduction")


def i32(*rows: list[int]) -> npt.NDArray[np.int32]:
    return np.array(rows, np.int32)


def i8(*rows: list[int]) -> npt.NDArray[np.int8]:
    return np.array(rows, np.int8)


# ------------------------------------------------------------------ matmul


def test_seed_program_gives_39_everywhere() -> None:
    function = filled_matmul(64, 64, 16, struct.pack("<i", 7))
    (result,) = evaluate(function, [np.full((64, 16), 1, np.int32), np.full((16, 64), 2, np.int32)])
    assert result.dtype == np.int32
    assert (result == 39).all()


@pytest.mark.parametrize("k", [1, 3, 300])
def test_i32_matmul_wraps_around(k: int) -> None:
    # exact integers of Python, cut to 32 bits
    draw = np.random.default_rng(k)
    left = draw.integers(-(2**31), 2**31, (5, k)).astype(np.int32)
    right = draw.integers(-(2**31), 2**31, (k, 4)).astype(np.int32)
    (result,) = evaluate(filled_matmul(5, 4, k, struct.pack("<i", -1)), [left, right])
    want = left.astype(object) @ right.astype(object) - 1
    assert result.tolist() == [[(v + 2**31) % 2**32 - 2**31 for v in row] for row in want.tolist()]


def test_i64_matmul_wraps_around() -> None:
    function = filled_matmul(1, 1, 2, struct.pack("<q", 5), operand="i64", element="i64")
    left, right = np.array([[2**62, 3]], np.int64), np.array([[4], [2**61]], np.int64)
    # 2^64 + 3 * 2^61 + 5 modulo 2^64
    assert evaluate(function, [left, right])[0].tolist() == [[3 * 2**61 + 5]]


def test_i8_operands_are_extended_as_the_body_says() -> None:
    # report 16
    left, right = i8([-1, 2], [3, -128]), i8([1, -2], [127, -1])
    zero = struct.pack("<i", 0)
    signed = filled_matmul(2, 2, 2, zero, operand="i8")
    assert evaluate(signed, [left, right])[0].tolist() == [[253, 0], [-16253, 122]]
    unsigned = filled_matmul(2, 2, 2, zero, operand="i8", extend="arith.extui")
    assert evaluate(unsigned, [left, right])[0].tolist() == [[509, 65280], [16259, 33402]]


def test_i8_extremes() -> None:
    # report 56: 64 * -128 * 127
    function = filled_matmul(32, 32, 64, struct.pack("<i", 0), operand="i8")
    (result,) = evaluate(function, [np.full((32, 64), -128, np.int8), np.full((64, 32), 127, np.int8)])
    assert (result == -1040384).all()


def test_no_terms_leave_the_fill() -> None:
    # report 14: K = 0
    function = filled_matmul(4, 3, 0, struct.pack("<f", 7.0), operand="f32", element="f32")
    (result,) = evaluate(function, [np.zeros((4, 0), np.float32), np.zeros((0, 3), np.float32)])
    assert result.tolist() == [[7.0] * 3] * 4


@pytest.mark.parametrize(
    ("left", "right", "b_map", "a_map"),
    [
        (i32([1, 2, 3], [4, 5, 6]), i32([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]), (1, 2), (0, 2)),
        (i32([1, 4], [2, 5], [3, 6]), i32([1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]), (2, 1), (2, 0)),
        (i32([1, 4], [2, 5], [3, 6]), i32([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]), (1, 2), (2, 0)),
    ],
)
def test_transposed_operands(left: Any, right: Any, b_map: tuple[int, ...], a_map: tuple[int, ...]) -> None:
    # report 21: [1 2 3 6][4 5 6 15] for B^T, A^T and both
    result = _product(left, right, a_map, b_map)
    assert result.tolist() == [[1, 2, 3, 6], [4, 5, 6, 15]]


def test_broadcast_operand() -> None:
    # report 21, bcast: B is a vector over k; 1*1 + 2*10 + 3*100 and 4*1 + 5*10 + 6*100
    result = _product(i32([1, 2, 3], [4, 5, 6]), np.array([1, 10, 100], np.int32), (0, 2), (2,))
    assert result.tolist() == [[321] * 4, [654] * 4]


def _product(left: Any, right: Any, a_map: tuple[int, ...], b_map: tuple[int, ...]) -> npt.NDArray[np.int32]:
    source = Source()
    a, b, c = source.argument(*left.shape), source.argument(*right.shape), source.argument(2, 4)
    ops = [ScalarOp("arith.muli", (0, 1), "i32"), ScalarOp("arith.addi", (3, 2), "i32")]
    maps = (projected(3, *a_map), projected(3, *b_map), projected(3, 0, 1))
    out = source.generic([a, b], c, maps, (2, 4, 3), ops, iterators=("parallel", "parallel", "reduction"))
    return evaluate(source.done(out), [left, right, np.zeros((2, 4), np.int32)])[0]


def test_batch_matmul() -> None:
    # report 22: -24 everywhere
    source = Source()
    a, b = source.argument(2, 3, 4, element="i8"), source.argument(2, 4, 5, element="i8")
    c = source.argument(2, 3, 5)
    ops = [
        ScalarOp("arith.extsi", (0,), "i32"),
        ScalarOp("arith.extsi", (1,), "i32"),
        ScalarOp("arith.muli", (3, 4), "i32"),
        ScalarOp("arith.addi", (2, 5), "i32"),
    ]
    maps = (projected(4, 0, 1, 3), projected(4, 0, 3, 2), projected(4, 0, 1, 2))
    iterators = ("parallel", "parallel", "parallel", "reduction")
    out = source.generic([a, b], c, maps, (2, 3, 5, 4), ops, iterators=iterators)
    inputs = [np.full((2, 3, 4), -2, np.int8), np.full((2, 4, 5), 3, np.int8), np.zeros((2, 3, 5), np.int32)]
    (result,) = evaluate(source.done(out), inputs)
    assert result.shape == (2, 3, 5)
    assert (result == -24).all()


def test_batches_keep_their_own_numbers() -> None:
    source = Source()
    a, b, c = source.argument(3, 2, 4), source.argument(3, 4, 5), source.argument(2, 3, 5)
    ops = [ScalarOp("arith.muli", (0, 1), "i32"), ScalarOp("arith.addi", (2, 3), "i32")]
    # loops: row, batch, k, column; the output has the row first
    maps = (projected(4, 1, 0, 2), projected(4, 1, 2, 3), projected(4, 0, 1, 3))
    iterators = ("parallel", "parallel", "reduction", "parallel")
    out = source.generic([a, b], c, maps, (2, 3, 4, 5), ops, iterators=iterators)
    draw = np.random.default_rng(0)
    left, right, start = (
        draw.integers(-99, 99, shape).astype(np.int32) for shape in ((3, 2, 4), (3, 4, 5), (2, 3, 5))
    )
    (result,) = evaluate(source.done(out), [left, right, start])
    assert np.array_equal(result, np.einsum("brk,bkc->rbc", left, right) + start)


def test_accumulator_that_is_an_operand_too() -> None:
    # report 38: A @ B + A with 2 and 3: 4 * 6 + 2 = 26
    source = Source()
    a, b = source.argument(4, 4), source.argument(4, 4)
    function = source.done(source.matmul(a, b, a))
    inputs = [np.full((4, 4), 2, np.int32), np.full((4, 4), 3, np.int32)]
    assert (evaluate(function, inputs)[0] == 26).all()
    assert (inputs[0] == 2).all(), "the caller's array is not written"


def test_i1_matmul_follows_its_region() -> None:
    # report 18b: MLIR's region for i1 has andi and ori; two of six true products are true
    source = Source()
    a, b, c = (source.argument(*shape, element="i1") for shape in ((1, 6), (6, 1), (1, 1)))
    ops = [ScalarOp("arith.andi", (0, 1), "i1"), ScalarOp("arith.ori", (2, 3), "i1")]
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    out = source.generic([a, b], c, maps, (1, 1, 6), ops, iterators=("parallel", "parallel", "reduction"))
    truth = np.array([[True, True, False, False, False, False]])
    inputs = [truth, np.ones((6, 1), np.bool_), np.zeros((1, 1), np.bool_)]
    (result,) = evaluate(source.done(out), inputs)
    assert result.dtype == np.bool_
    assert result.tolist() == [[True]]


def test_i1_sums_are_modulo_two() -> None:
    source = Source()
    a, c = source.argument(2, 3, element="i1"), source.argument(2, element="i1")
    ops = [ScalarOp("arith.addi", (1, 0), "i1")]
    out = source.generic([a], c, (projected(2, 0, 1), projected(2, 0)), (2, 3), ops, iterators=RED)
    (result,) = evaluate(
        source.done(out), [np.array([[True, True, False], [True, True, True]]), np.zeros(2, np.bool_)]
    )
    assert result.tolist() == [False, True]


# ------------------------------------------------------------------ floats


@pytest.mark.parametrize("element", ["bf16", "f16", "f32"])
def test_float_matmul_is_rounded_once(element: str) -> None:
    # report 24: 512 ones; a bf16 accumulator that rounds at each step would stay at 256
    dtype = dtypes.numpy_dtype(element)
    zero = np.zeros(1, dtype).tobytes()
    function = filled_matmul(16, 16, 512, zero, operand=element, element=element)
    told = reference(function, [np.ones((16, 512), dtype), np.ones((512, 16), dtype)])
    assert told.results[0].dtype == dtype
    assert (told.results[0].astype(np.float64) == 512).all()
    (accumulation,) = told.accumulations
    assert (accumulation.length, accumulation.element) == (512, element)
    assert "rounded once" in accumulation.how
    bound = told.bounds[0]
    assert bound is not None
    assert float(bound.max()) < 256, "an accumulator that stuck must not pass"


def test_bf16_result_is_rounded_once_from_the_exact_sum() -> None:
    # 1 + 2^-8 + 2^-40: float32 would drop the last bit and the tie would go to even, to 1.0
    function = filled_matmul(1, 1, 3, np.zeros(1, BF16).tobytes(), operand="bf16", element="bf16")
    left = np.array([[1.0, 2.0**-8, 2.0**-40]]).astype(BF16)
    (result,) = evaluate(function, [left, np.ones((3, 1), BF16)])
    assert float(result[0, 0]) == 1.0078125


def test_infinities_and_nan_pass_through_a_matmul() -> None:
    function = filled_matmul(3, 1, 1, struct.pack("<f", 0.0), operand="f32", element="f32")
    left = np.array([[np.inf], [np.nan], [1.0]], np.float32)
    told = reference(function, [left, np.array([[-2.0]], np.float32)])
    assert told.results[0][0, 0] == -np.inf
    assert np.isnan(told.results[0][1, 0])
    bound = told.bounds[0]
    assert bound is not None
    assert np.isfinite(bound).all()


def test_fill_keeps_sign_of_zero_and_nan_and_is_exact() -> None:
    # report 04
    for bits in (0x80000000, 0x7FC00001):
        source = Source()
        data = struct.pack("<I", bits)
        function = source.done(source.fill(source.constant(data, "f32"), source.empty(6, element="f32")))
        told = reference(function, [])
        assert told.results[0].tobytes() == data * 6
        assert told.bounds == (None,)


def test_bound_travels_through_elementwise_ops() -> None:
    source = Source()
    a, b = source.argument(2, 8, element="f32"), source.argument(8, 2, element="f32")
    zero = source.fill(source.constant(struct.pack("<f", 0), "f32"), source.empty(2, 2, element="f32"))
    product = source.matmul(a, b, zero)
    doubled = source.op("arith.addf", (product, product), TensorType((2, 2), "f32"))
    inputs = [np.ones((2, 8), np.float32), np.ones((8, 2), np.float32)]
    before, after = reference(source.done(product, doubled), inputs).bounds
    assert before is not None
    assert after is not None
    assert (after > 1.9 * before).all()


def test_whole_numbers_from_uncertain_floats_may_be_off_by_one() -> None:
    source = Source()
    a, b = source.argument(1, 64, element="f32"), source.argument(64, 1, element="f32")
    zero = source.fill(source.constant(struct.pack("<f", 0), "f32"), source.empty(1, 1, element="f32"))
    whole = source.op("arith.fptosi", (source.matmul(a, b, zero),), TensorType((1, 1), "i32"))
    told = reference(source.done(whole), [np.full((1, 64), 0.125, np.float32), np.ones((64, 1), np.float32)])
    assert told.results[0].tolist() == [[8]]
    assert told.bounds[0] is not None
    assert told.bounds[0].tolist() == [[1.0]]


# ------------------------------------------------------------------ other reductions


def test_sum_over_rows_with_chunks() -> None:
    source = Source()
    a, c = source.argument(3, 1_500_000, element="i8"), source.argument(3)
    ops = [ScalarOp("arith.extsi", (0,), "i32"), ScalarOp("arith.addi", (1, 2), "i32")]
    maps = (projected(2, 0, 1), projected(2, 0))
    out = source.generic([a], c, maps, (3, 1_500_000), ops, iterators=RED)
    values = np.random.default_rng(1).integers(-128, 128, (3, 1_500_000)).astype(np.int8)
    (result,) = evaluate(source.done(out), [values, np.array([1, 2, 3], np.int32)])
    assert np.array_equal(result, values.sum(axis=1, dtype=np.int64) + np.array([1, 2, 3]))


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("arith.maxsi", [5, 7]),
        ("arith.minsi", [-128, -9]),
        ("arith.maxui", [0xFB - 256, 0xF7 - 256]),  # -5 is 251 and -9 is 247 as unsigned
        ("arith.muli", [0, -126]),
        ("arith.xori", [5 ^ -128 ^ -5, 7 ^ 2 ^ -9]),
    ],
)
def test_folds(name: str, want: list[int]) -> None:
    source = Source()
    a, c = source.argument(2, 3, element="i8"), source.argument(2, element="i8")
    out = source.generic(
        [a],
        c,
        (projected(2, 0, 1), projected(2, 0)),
        (2, 3),
        [ScalarOp(name, (0, 1), "i8")],
        iterators=RED,
    )
    start = {"arith.maxsi": -128, "arith.minsi": 127, "arith.muli": 1}.get(name, 0)
    inputs = [i8([5, -128, -5], [7, 2, -9]), np.full(2, start, np.int8)]
    if name == "arith.muli":  # 5 * -128 * -5 = 3200 = 128 modulo 256, 7 * 2 * -9 = -126
        want = [-128, -126]
    assert evaluate(source.done(out), inputs)[0].tolist() == want


def test_float_maximum_is_exact() -> None:
    source = Source()
    a, c = source.argument(2, 5, element="f32"), source.argument(2, element="f32")
    ops = [ScalarOp("arith.maximumf", (0, 1), "f32")]
    out = source.generic([a], c, (projected(2, 0, 1), projected(2, 0)), (2, 5), ops, iterators=RED)
    values = np.array([[1, -2, 3, 2, 1], [1, np.nan, 3, 2, 1]], np.float32)
    told = reference(source.done(out), [values, np.full(2, -np.inf, np.float32)])
    assert told.results[0][0] == 3
    assert np.isnan(told.results[0][1])
    assert told.bounds == (None,)
    assert told.accumulations[0].how == "exact"


def test_a_body_of_no_known_form_goes_step_by_step() -> None:
    # 3 * acc + a, in order: ((3 * 1 + 1) * 3 + 2) * 3 + 3 = 45
    source = Source()
    a, c = source.argument(1, 3), source.argument(1)
    ops = [
        ScalarOp("arith.constant", (), "i32", {"value": struct.pack("<i", 3)}),
        ScalarOp("arith.muli", (1, 2), "i32"),
        ScalarOp("arith.addi", (3, 0), "i32"),
    ]
    out = source.generic([a], c, (projected(2, 0, 1), projected(2, 0)), (1, 3), ops, iterators=RED)
    assert evaluate(source.done(out), [i32([1, 2, 3]), np.ones(1, np.int32)])[0].tolist() == [45]


def test_convolution_with_strided_windows() -> None:
    source = Source()
    a, w, c = source.argument(9), source.argument(3), source.argument(4)
    window = (AffineResult((2, 1)),)  # d0 * 2 + d1
    ops = [ScalarOp("arith.muli", (0, 1), "i32"), ScalarOp("arith.addi", (2, 3), "i32")]
    out = source.generic([a, w], c, (window, projected(2, 1), projected(2, 0)), (4, 3), ops, iterators=RED)
    inputs = [np.arange(9, dtype=np.int32), np.array([1, 10, 100], np.int32), np.zeros(4, np.int32)]
    assert evaluate(source.done(out), inputs)[0].tolist() == [210, 432, 654, 876]


# ------------------------------------------------------------------ elementwise and tensor ops


def test_transpose_and_index() -> None:
    source = Source()
    a, c = source.argument(2, 3), source.argument(3, 2)
    ops = [
        ScalarOp("linalg.index", (), "index", {"dim": 0}),
        ScalarOp("arith.index_cast", (2,), "i32"),
        ScalarOp("arith.addi", (0, 3), "i32"),
    ]
    out = source.generic([a], c, (projected(2, 1, 0), projected(2, 0, 1)), (3, 2), ops)
    inputs = [i32([1, 2, 3], [4, 5, 6]), np.zeros((3, 2), np.int32)]
    assert evaluate(source.done(out), inputs)[0].tolist() == [[1, 4], [3, 6], [5, 8]]


def test_concat_of_unaligned_fills() -> None:
    # report 10
    source = Source()
    a = source.argument(1, element="i8")
    parts = [
        source.fill(source.constant(bytes([v]), "i8"), source.empty(n, element="i8"))
        for v, n in ((7, 3), (9, 6))
    ]
    joined = source.op("tensor.concat", [*parts, a], TensorType((10,), "i8"), dim=0)
    (result,) = evaluate(source.done(joined), [np.array([4], np.int8)])
    assert result.tolist() == [7, 7, 7, 9, 9, 9, 9, 9, 9, 4]


def test_pad_on_both_sides() -> None:
    # report 11
    source = Source()
    a = source.argument(3)
    zero = source.constant(bytes(4), "i32")
    padded = source.op("tensor.pad", [a, zero], TensorType((8,), "i32"), low=(2,), high=(3,))
    (result,) = evaluate(source.done(padded), [np.array([1, 2, 3], np.int32)])
    assert result.tolist() == [0, 0, 1, 2, 3, 0, 0, 0]


def test_slices_and_reshapes() -> None:
    source = Source()
    a = source.argument(4, 6)
    part = source.op(
        "tensor.extract_slice", [a], TensorType((2, 2), "i32"), offsets=(1, 0), sizes=(2, 2), strides=(1, 3)
    )
    flat = source.op("tensor.collapse_shape", [part], TensorType((4,), "i32"))
    back = source.op("tensor.expand_shape", [flat], TensorType((2, 1, 2), "i32"))
    put = source.op(
        "tensor.insert_slice",
        [back, a],
        TensorType((4, 6), "i32"),
        offsets=(0, 4),
        sizes=(2, 2),
        strides=(2, 1),
    )
    values = np.arange(24, dtype=np.int32).reshape(4, 6)
    flat_result, put_result = evaluate(source.done(flat, put), [values])
    assert flat_result.tolist() == [6, 9, 12, 15]
    want = values.copy()
    want[0:3:2, 4:6] = [[6, 9], [12, 15]]
    assert np.array_equal(put_result, want)


def test_i4_constant_is_signed() -> None:
    # report 08: -3 widened to i32
    source = Source()
    a = source.constant(bytes([0xD]), "i4", 8)
    widened = source.op("arith.extsi", [a], TensorType((8,), "i32"))
    assert evaluate(source.done(a, widened), [])[1].tolist() == [-3] * 8


# ------------------------------------------------------------------ what is refused


def test_unknown_op_is_named_with_its_location() -> None:
    source = Source()
    with pytest.raises(CompileError, match=r"linalg\.softmax") as caught:
        evaluate(
            source.done(source.op("linalg.softmax", [source.argument(3)], TensorType((3,), "i32"))),
            [i32([1, 2, 3])[0]],
        )
    assert caught.value.op == "linalg.softmax"
    assert str(caught.value.location) == "test.mlir:1:1"


def test_reading_an_unwritten_tensor_is_refused() -> None:
    source = Source()
    a, b = source.argument(2, 2), source.argument(2, 2)
    function = source.done(source.matmul(a, b, source.empty(2, 2)))
    with pytest.raises(CompileError, match="nothing has written"):
        evaluate(function, [np.ones((2, 2), np.int32)] * 2)


def test_division_by_zero_is_refused() -> None:
    source = Source()
    a = source.argument(2)
    function = source.done(source.op("arith.divsi", [a, a], TensorType((2,), "i32")))
    with pytest.raises(UsageError, match="divides by zero") as caught:
        evaluate(function, [np.array([1, 0], np.int32)])
    assert str(caught.value.location) == "test.mlir:1:1"


def test_inputs_must_have_the_arguments_types() -> None:
    function = filled_matmul(2, 2, 2, bytes(4))
    with pytest.raises(UsageError, match="argument 1 of main is 2x2xi32, but 2x3xint32 was given"):
        evaluate(function, [np.zeros((2, 2), np.int32), np.zeros((2, 3), np.int32)])
    with pytest.raises(UsageError, match="2 arguments, but 1"):
        evaluate(function, [np.zeros((2, 2), np.int32)])
