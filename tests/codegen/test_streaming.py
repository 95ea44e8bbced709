"""Reductions of more than fits into a core at once, and what else needs tiles that begin inside words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.program import Access, Dispatch, ScalarBody, ScalarOp, Structured

from .dispatches import DispatchBuilder, projected
from .emulation import Array, execute

ELEMENTS = ("i8", "i16", "i32", "i64", "bf16", "f32")


def named(name: str, element: str) -> str:
    return f"arith.{name}{'f' if dtypes.is_float(element) else 'i'}"


def small(shape: tuple[int, ...], element: str, seed: int = 1) -> Array:
    """Small integers, whose sums are exact in f32; those of bf16 and of narrow integers are rounded or wrap
    at the end."""
    values = np.random.default_rng(seed).integers(-3, 4, shape)
    return values.astype(dtypes.numpy_dtype(element))


def as_stored(values: Array, element: str) -> Array:
    return values.astype(dtypes.numpy_dtype(element))


def exact(values: Array) -> Array:
    return values.astype(np.float64 if values.dtype.kind not in "iu" else np.int64)


def reduction(shape: tuple[int, ...], reduced: tuple[int, ...], element: str, fill: int | None) -> Dispatch:
    """Sums over these loops, begun with a fill or in place."""
    kept = tuple(d for d in range(len(shape)) if d not in reduced)
    builder = DispatchBuilder()
    source = builder.operand(*shape, element=element)
    access = Access.WRITE if fill is not None else Access.READ_WRITE
    target = builder.binding(*(shape[d] for d in kept), element=element, access=access)
    start = (
        builder.load(target) if fill is None else builder.filled(fill, *target.type.shape, element=element)
    )
    body = ScalarBody((element, element), (ScalarOp(named("add", element), (0, 1), element),), (2,))
    iterators = tuple("reduction" if d in reduced else "parallel" for d in range(len(shape)))
    maps = (projected(len(shape), *range(len(shape))), projected(len(shape), *kept))
    structured = Structured(1, maps, iterators, shape, body)
    builder.store(builder.op("linalg.generic", (source, start), target.type, structured), target)
    return builder.done()


def run(dispatch: Dispatch, buffers: list[Array], cores: int = 16) -> list[Array]:
    """The last buffer after each of two runs that are checked."""
    artifact = compile_dispatch(dispatch, CompileOptions(cores=cores))
    return [buffers[-1] for buffers in execute(artifact, buffers, repeat=2, check=True).runs]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("fill", [5, None])
@pytest.mark.parametrize(
    ("shape", "reduced"),
    [
        ((3, 70001), (1,)),
        ((1009, 129), (0,)),
        ((3, 1801, 13), (1,)),
        ((301, 2, 137), (0, 2)),
        ((70001,), (0,)),
    ],
    ids=str,
)
def test_sums_are_carried_on(
    shape: tuple[int, ...], reduced: tuple[int, ...], element: str, fill: int | None
) -> None:
    dispatch = reduction(shape, reduced, element, fill)
    values = small(shape, element)
    sums = exact(values).sum(axis=reduced)
    begin = small(sums.shape, element, seed=2)
    want = as_stored(sums + (exact(begin) if fill is None else fill), element)
    for found in run(dispatch, [values, begin]):
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("cores", [1, 2, 8])
def test_a_results_steps_stay_on_one_core(cores: int) -> None:
    dispatch = reduction((11, 40000), (1,), "i32", 0)
    values = small((11, 40000), "i32")
    for found in run(dispatch, [values, np.zeros(11, np.int32)], cores):
        np.testing.assert_array_equal(found, values.sum(1))


@pytest.mark.parametrize("element", ["i32", "f32", "i8"])
def test_places_of_maxima(element: str) -> None:
    """Two results, and an index that goes on from step to step."""
    rows, columns = 3, 70001
    floats = dtypes.is_float(element)
    builder = DispatchBuilder()
    source = builder.operand(rows, columns, element=element)
    values = builder.binding(rows, element=element, access=Access.WRITE)
    places = builder.binding(rows, element="i32", access=Access.WRITE)
    predicate = {"predicate": "ogt" if floats else "sgt"}
    ops = (
        ScalarOp("linalg.index", (), "index", {"dim": 1}),
        ScalarOp("arith.index_cast", (3,), "i32"),
        ScalarOp("arith.cmpf" if floats else "arith.cmpi", (0, 1), "i1", predicate),
        ScalarOp("arith.select", (5, 0, 1), element),
        ScalarOp("arith.select", (5, 4, 2), "i32"),
    )
    body = ScalarBody((element, element, "i32"), ops, (6, 7))
    maps = (projected(2, 0, 1), projected(2, 0), projected(2, 0))
    structured = Structured(1, maps, ("parallel", "reduction"), (rows, columns), body)
    starts = (builder.filled(-100, rows, element=element), builder.filled(-1, rows))
    results = builder.results("linalg.generic", (source, *starts), (values.type, places.type), structured)
    for result, target in zip(results, (values, places), strict=True):
        builder.store(result, target)
    generator = np.random.default_rng(7)
    data: Array = generator.integers(-100, 101, (rows, columns)).astype(dtypes.numpy_dtype(element))
    data[:, 66000] = 120
    buffers: list[Array] = [data, np.zeros(rows, data.dtype), np.zeros(rows, np.int32)]
    artifact = compile_dispatch(builder.done(), CompileOptions())
    for found in execute(artifact, buffers, repeat=2, check=True).runs:
        np.testing.assert_array_equal(found[1], data.max(1))
        np.testing.assert_array_equal(found[2], data.argmax(1))


@pytest.mark.parametrize("element", ELEMENTS)
def test_what_comes_before_and_after(element: str) -> None:
    """The squares' sums less an operand: a stage that feeds the reduction, and one that it feeds."""
    rows, columns = 5, 30001
    dtype: np.dtype[Any] = dtypes.numpy_dtype(element)
    builder = DispatchBuilder()
    source, less = builder.operand(rows, columns, element=element), builder.operand(rows, element=element)
    target = builder.binding(rows, element=element, access=Access.WRITE)
    pairs = ScalarBody((element, element), (ScalarOp(named("mul", element), (0, 0), element),), (2,))
    whole, first = projected(2, 0, 1), projected(2, 0)
    squares = builder.op(
        "linalg.generic",
        (source, builder.op("tensor.empty", (), source.type)),
        source.type,
        Structured(1, (whole, whole), ("parallel", "parallel"), (rows, columns), pairs),
    )
    add = ScalarBody((element, element), (ScalarOp(named("add", element), (0, 1), element),), (2,))
    sums = builder.op(
        "linalg.generic",
        (squares, builder.filled(1, rows, element=element)),
        target.type,
        Structured(1, (whole, first), ("parallel", "reduction"), (rows, columns), add),
    )
    difference = ScalarBody((element,) * 3, (ScalarOp(named("sub", element), (0, 1), element),), (3,))
    rest = builder.op(
        "linalg.generic",
        (sums, less, builder.op("tensor.empty", (), target.type)),
        target.type,
        Structured(2, (projected(1, 0),) * 3, ("parallel",), (rows,), difference),
    )
    builder.store(rest, target)
    values, operand = small((rows, columns), element), small((rows,), element, seed=2)
    total = as_stored((exact(values) ** 2).sum(1) + 1, element)  # bf16 is rounded here, and again below
    want = as_stored(exact(total) - exact(operand), element)
    for found in run(builder.done(), [values, operand, np.zeros(rows, dtype)]):
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("element", ["i8", "i16", "bf16"])
def test_a_transpose_whose_rows_are_no_words(element: str) -> None:
    """Neither the source nor the result fits beside the other: tiles begin inside words."""
    shape, order = (2, 33, 17, 61 if element == "i8" else 31), (0, 2, 1, 3)
    builder = DispatchBuilder()
    source = builder.operand(*shape, element=element)
    target = builder.binding(*(shape[d] for d in order), element=element, access=Access.WRITE)
    body = ScalarBody((element, element), (), (0,))
    maps = (projected(4, 0, 1, 2, 3), projected(4, *order))
    structured = Structured(1, maps, ("parallel",) * 4, shape, body)
    empty = builder.op("tensor.empty", (), target.type)
    builder.store(builder.op("linalg.generic", (source, empty), target.type, structured), target)
    values = small(shape, element)
    for found in run(builder.done(), [values, np.zeros(target.type.shape, values.dtype)]):
        np.testing.assert_array_equal(found, values.transpose(order))
