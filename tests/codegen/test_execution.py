"""Our artifacts on the emulated array, from bytes only, against numpy. Two runs on one configuration:
a program that ends in another state than it began in would fail the second."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.program import Access, Dispatch

from .dispatches import DispatchBuilder, batch_matmul, fill, matmul, projected
from .emulation import Array, execute

OPTIONS = CompileOptions()


def random_buffers(dispatch: Dispatch, seed: int) -> list[Array]:
    """Each binding's buffer over its type's whole range; what is only written holds garbage."""
    generator = np.random.default_rng(seed)
    buffers: list[Array] = []
    for binding in dispatch.bindings:
        dtype = dtypes.numpy_dtype(binding.type.element)
        limits = np.iinfo(dtype)
        buffers.append(
            generator.integers(limits.min, limits.max, binding.type.shape, dtype=dtype, endpoint=True)
        )
    return buffers


def product(left: Array, right: Array, start: Array | int) -> npt.NDArray[np.int32]:
    """start + left @ right modulo 2**32; unsigned arrays are taken as such."""
    wide = left.astype(np.int64).view(np.uint64) @ right.astype(np.int64).view(np.uint64)
    return (wide + np.asarray(start, np.int64).view(np.uint64)).astype(np.uint32).view(np.int32)


def unsigned(array: Array) -> Array:
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def check(
    dispatch: Dispatch,
    *,
    fill_value: int | None = 7,
    transpose: tuple[bool, bool] = (False, False),
    signed: tuple[bool, bool] = (True, True),
    options: CompileOptions = OPTIONS,
    seed: int = 1,
) -> None:
    """Runs a matmul twice and compares all buffers: operands must be as they were."""
    buffers = random_buffers(dispatch, seed)
    left, right = (array.T if turned else array for array, turned in zip(buffers[:2], transpose, strict=True))
    left, right = (
        array if known else unsigned(np.ascontiguousarray(array))
        for array, known in zip((left, right), signed, strict=True)
    )
    want = product(left, right, buffers[2] if fill_value is None else fill_value)
    for run in execute(compile_dispatch(dispatch, options), buffers, repeat=2).runs:
        np.testing.assert_array_equal(run[2], want)
        np.testing.assert_array_equal(run[0], buffers[0])
        np.testing.assert_array_equal(run[1], buffers[1])


@pytest.mark.parametrize("value", [7, -1, None])
@pytest.mark.parametrize(
    "size",
    [
        (64, 64, 16),
        (8, 32, 16),
        (1, 1, 1),
        (63, 65, 17),
        pytest.param((128, 128, 128), marks=pytest.mark.slow),
    ],
)
def test_i32(size: tuple[int, int, int], value: int | None) -> None:
    check(matmul(*size, fill=value), fill_value=value)


def test_the_seed_program_gives_39_everywhere() -> None:
    buffers = [np.full((64, 16), 1, np.int32), np.full((16, 64), 2, np.int32), np.zeros((64, 64), np.int32)]
    execution = execute(compile_dispatch(matmul(64, 64, 16), OPTIONS), buffers)
    assert (execution.runs[0][2] == 39).all()
    # 65,536 products at 17 bundles for eight, and what surrounds them
    assert execution.report.bundles["core (0,2)"] < 170_000


@pytest.mark.parametrize("operand", ["i8", "i16"])
@pytest.mark.parametrize("signed", [(True, True), (False, False), (True, False), (False, True)])
def test_narrow_operands_of_any_signedness(operand: str, signed: tuple[bool, bool]) -> None:
    check(matmul(9, 11, 13, operand=operand, signed=signed), signed=signed)


@pytest.mark.parametrize(("left", "right"), [("i8", "i16"), ("i16", "i32"), ("i32", "i8")])
def test_operands_of_two_types(left: str, right: str) -> None:
    check(matmul(6, 9, 7, operand=left, other=right))


@pytest.mark.parametrize("operand", ["i8", "i16", "i32"])
@pytest.mark.parametrize("transpose", [(True, False), (False, True), (True, True)])
def test_transposed_operands(operand: str, transpose: tuple[bool, bool]) -> None:
    dispatch = matmul(7, 9, 11, operand=operand, transpose_a=transpose[0], transpose_b=transpose[1])
    check(dispatch, transpose=transpose)


@pytest.mark.parametrize("value", [7, None])
@pytest.mark.parametrize("operand", ["i8", "i16", "i32"])
@pytest.mark.parametrize("size", [(12, 12, 12), (13, 11, 9), (7, 10, 16)])
def test_tiles_that_divide_and_tiles_that_do_not(
    size: tuple[int, int, int], operand: str, value: int | None
) -> None:
    options = CompileOptions(tile=(5, 6, 4))
    check(matmul(*size, operand=operand, fill=value), fill_value=value, options=options)


def test_extremes_of_i8() -> None:
    """shared/reports/56: 64 products of -128 and 127."""
    left, right = np.full((32, 64), -128, np.int8), np.full((64, 32), 127, np.int8)
    dispatch = matmul(32, 32, 64, operand="i8", fill=0)
    execution = execute(compile_dispatch(dispatch, OPTIONS), [left, right, np.zeros((32, 32), np.int32)])
    assert (execution.runs[0][2] == -1040384).all()


def test_sums_wrap_around() -> None:
    """shared/reports/26 wraps i32; here the largest products of all."""
    left = np.full((2, 3), np.iinfo(np.int32).min, np.int32)
    right = np.full((3, 2), -1, np.int32)
    execution = execute(
        compile_dispatch(matmul(2, 2, 3, fill=-1), OPTIONS), [left, right, left[:, :2].copy()]
    )
    assert (execution.runs[0][2] == np.iinfo(np.int32).max).all()  # 3 * 2**31 - 1 modulo 2**32


def test_no_inner_values_leave_the_fill() -> None:
    buffers = [np.zeros((4, 0), np.int32), np.zeros((0, 3), np.int32), np.zeros((4, 3), np.int32)]
    execution = execute(compile_dispatch(matmul(4, 3, 0), OPTIONS), buffers, repeat=2)
    assert all((run[2] == 7).all() for run in execution.runs)


def test_no_inner_values_and_an_accumulator_change_nothing() -> None:
    buffers = [
        np.zeros((4, 0), np.int32),
        np.zeros((0, 3), np.int32),
        np.arange(12, dtype=np.int32).reshape(4, 3),
    ]
    execution = execute(compile_dispatch(matmul(4, 3, 0, fill=None), OPTIONS), buffers)
    np.testing.assert_array_equal(execution.runs[0][2], buffers[2])


@pytest.mark.parametrize("operand", ["i8", "i32"])
def test_a_batch(operand: str) -> None:
    dispatch = batch_matmul(3, 3, 5, 4, operand=operand)
    buffers = random_buffers(dispatch, 2)
    for run in execute(compile_dispatch(dispatch, OPTIONS), buffers, repeat=2).runs:
        np.testing.assert_array_equal(run[2], product(buffers[0], buffers[1], 0))


@pytest.mark.parametrize("operand", ["i8", "i16", "i32"])
def test_matvec_and_a_broadcast_vector(operand: str) -> None:
    builder = DispatchBuilder()
    left, right = builder.operand(21, 13, element=operand), builder.operand(13, element=operand)
    target = builder.binding(21, access=Access.WRITE)
    maps = (projected(2, 0, 1), projected(2, 1), projected(2, 0))
    start = builder.filled(5, 21)
    builder.store(builder.contraction(left, right, start, maps, (21, 13), ("parallel", "reduction")), target)
    dispatch = builder.done()
    buffers = random_buffers(dispatch, 3)
    for run in execute(compile_dispatch(dispatch, OPTIONS), buffers, repeat=2).runs:
        np.testing.assert_array_equal(run[2], product(buffers[0], buffers[1], 5))


def test_two_reductions_are_one_sum() -> None:
    """result[m, n] += left[m, j, k] * right[j, k, n]"""
    builder = DispatchBuilder()
    left, right = builder.operand(5, 3, 7), builder.operand(3, 7, 6)
    target = builder.binding(5, 6, access=Access.READ_WRITE)
    start = builder.load(target)
    maps = (projected(4, 0, 2, 3), projected(4, 2, 3, 1), projected(4, 0, 1))
    iterators = ("parallel", "parallel", "reduction", "reduction")
    builder.store(builder.contraction(left, right, start, maps, (5, 6, 3, 7), iterators), target)
    dispatch = builder.done()
    buffers = random_buffers(dispatch, 4)
    want = product(buffers[0].reshape(5, 21), buffers[1].reshape(21, 6), buffers[2])
    for run in execute(compile_dispatch(dispatch, OPTIONS), buffers, repeat=2).runs:
        np.testing.assert_array_equal(run[2], want)


def test_an_accumulator_from_another_buffer_stays_as_it_was() -> None:
    builder = DispatchBuilder()
    left, right, start = builder.operand(9, 5), builder.operand(5, 11), builder.operand(9, 11)
    target = builder.binding(9, 11, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    builder.store(builder.contraction(left, right, start, maps, (9, 11, 5)), target)
    dispatch = builder.done()
    buffers = random_buffers(dispatch, 5)
    options = CompileOptions(tile=(4, 4, 2))
    for run in execute(compile_dispatch(dispatch, options), buffers, repeat=2).runs:
        np.testing.assert_array_equal(run[3], product(buffers[0], buffers[1], buffers[2]))
        np.testing.assert_array_equal(run[2], buffers[2])


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("element", "splat"), [("i32", False), ("i8", False), ("i16", True)])
def test_a_constant_operand(side: int, in_place: bool, element: str, splat: bool) -> None:
    """IREE puts small constants into the dispatch: weights, say."""
    m, n, k = 9, 10, 7
    shape = (m, k) if side == 0 else (k, n)
    count = 1 if splat else shape[0] * shape[1]
    weights = np.arange(-3, count - 3).astype(dtypes.numpy_dtype(element))
    builder = DispatchBuilder()
    constant = builder.constant(weights.tobytes(), *shape, element=element, splat=splat)
    other = builder.operand(*((k, n) if side == 0 else (m, k)), element="i8")
    target = builder.binding(m, n, access=Access.READ_WRITE)
    start = builder.load(target) if in_place else builder.filled(4, m, n)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    left, right = (constant, other) if side == 0 else (other, constant)
    builder.store(builder.contraction(left, right, start, maps, (m, n, k)), target)
    dispatch = builder.done()
    buffers = random_buffers(dispatch, 6)
    full = np.broadcast_to(weights, shape) if splat else weights.reshape(shape)
    pair = (full, buffers[0]) if side == 0 else (buffers[0], full)
    want = product(*pair, buffers[1] if in_place else 4)
    options = CompileOptions(tile=(4, 8, 3))
    for run in execute(compile_dispatch(dispatch, options), buffers, repeat=2).runs:
        np.testing.assert_array_equal(run[1], want)


def test_an_operand_that_is_the_accumulator() -> None:
    """shared/reports/38: A @ B + A with 2 and 3 everywhere is 26."""
    builder = DispatchBuilder()
    target = builder.binding(4, 4, access=Access.READ_WRITE)
    left, right = builder.load(target), builder.operand(4, 4)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    builder.store(builder.contraction(left, right, left, maps, (4, 4, 4)), target)
    buffers = [np.full((4, 4), 2, np.int32), np.full((4, 4), 3, np.int32)]
    for run in execute(compile_dispatch(builder.done(), OPTIONS), buffers, repeat=2).runs:
        assert (run[0] == 26).all()


@pytest.mark.parametrize(
    ("value", "shape", "element"),
    [
        (4294967298, (5,), "i64"),  # shared/reports/01
        (-7, (3,), "i64"),
        (7, (33, 129), "i64"),
        (-2, (1,), "i32"),
        (123456789, (5000,), "i32"),
        (-3, (10, 6), "i16"),
        (5, (64,), "i8"),
    ],
)
def test_fills(value: int, shape: tuple[int, ...], element: str) -> None:
    buffer: npt.NDArray[Any] = np.zeros(shape, dtypes.numpy_dtype(element))
    for run in execute(
        compile_dispatch(fill(value, *shape, element=element), OPTIONS), [buffer], repeat=2
    ).runs:
        assert (run[0] == value).all()


@settings(max_examples=25, deadline=None)
@given(
    size=st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20)),
    tile=st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(2, 20)),
    operand=st.sampled_from(("i8", "i16", "i32")),
    value=st.sampled_from((7, -1, None)),
    transpose=st.tuples(st.booleans(), st.booleans()),
    signed=st.tuples(st.booleans(), st.booleans()),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_small_matmul(
    size: tuple[int, int, int],
    tile: tuple[int, int, int],
    operand: str,
    value: int | None,
    transpose: tuple[bool, bool],
    signed: tuple[bool, bool],
    seed: int,
) -> None:
    dispatch = matmul(
        *size,
        operand=operand,
        fill=value,
        transpose_a=transpose[0],
        transpose_b=transpose[1],
        signed=signed,
    )
    signed = (True, True) if operand == "i32" else signed
    check(
        dispatch,
        fill_value=value,
        transpose=transpose,
        signed=signed,
        options=CompileOptions(tile=tile),
        seed=seed,
    )
