"""Matmuls on the multiplier array, one core to sixteen, against numpy. Each runs twice on one
configuration: locks, counters and buffers must be at the end where they were at the start."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.codegen.lowering import lower
from aiepipe.codegen.matching import match
from aiepipe.program import Access, Dispatch

from .dispatches import DispatchBuilder, batch_matmul, matmul, projected
from .emulation import Array, execute

PAIRS = [("i8", "i8"), ("i16", "i16"), ("i16", "i8"), ("i8", "i16"), ("bf16", "bf16"), ("i32", "i32")]


def buffers_of(dispatch: Dispatch, seed: int) -> list[Array]:
    """Operands over their whole range; floats are small integers, so that sums are exact in any order."""
    generator = np.random.default_rng(seed)
    found: list[Array] = []
    for binding in dispatch.bindings:
        dtype = dtypes.numpy_dtype(binding.type.element)
        shape = binding.type.shape
        if dtypes.is_float(binding.type.element):
            found.append(generator.integers(-15, 16, shape).astype(dtype))
        else:
            limits = np.iinfo(dtype)
            found.append(generator.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True))
    return found


def factor(array: Array, *, signed: bool) -> Array:
    if array.dtype.kind not in "iu":
        return array.astype(np.float64)
    wide = array if signed else np.ascontiguousarray(array).view(np.dtype(f"u{array.dtype.itemsize}"))
    return wide.astype(np.int64)


def expected(left: Array, right: Array, start: Array | int) -> Array:
    """start + left @ right; integers modulo 2**32."""
    if left.dtype.kind == "f":
        return (left @ right + start).astype(np.float32)
    total = left.view(np.uint64) @ right.view(np.uint64) + np.asarray(start, np.int64).view(np.uint64)
    return total.astype(np.uint32).view(np.int32)


def check(
    dispatch: Dispatch,
    *,
    cores: int = 16,
    tile: tuple[int, int, int] | None = None,
    fill: int = 7,
    transpose: tuple[bool, bool] = (False, False),
    signed: tuple[bool, bool] = (True, True),
) -> None:
    options = CompileOptions(cores=cores, tile=tile)
    assert "cores" in lower(match(dispatch), tile, cores=cores).notes[0], "not on the multiplier array"
    buffers = buffers_of(dispatch, 1)
    sides = (array.T if turned else array for array, turned in zip(buffers[:2], transpose, strict=True))
    left, right = (factor(array, signed=known) for array, known in zip(sides, signed, strict=True))
    want = expected(left, right, fill)
    for run in execute(compile_dispatch(dispatch, options), buffers, repeat=2).runs:
        np.testing.assert_array_equal(run[2], want)
        np.testing.assert_array_equal(run[0].view(np.uint8), buffers[0].view(np.uint8))
        np.testing.assert_array_equal(run[1].view(np.uint8), buffers[1].view(np.uint8))


def build(
    m: int,
    n: int,
    k: int,
    pair: tuple[str, str],
    *,
    transpose: tuple[bool, bool] = (False, False),
    signed: tuple[bool, bool] = (True, True),
) -> Dispatch:
    return matmul(
        m,
        n,
        k,
        operand=pair[0],
        other=pair[1],
        accumulator="f32" if pair[0] == "bf16" else "i32",
        transpose_a=transpose[0],
        transpose_b=transpose[1],
        signed=signed,
    )


@pytest.mark.parametrize("cores", [1, 4, 16])
@pytest.mark.parametrize("pair", PAIRS)
def test_types(pair: tuple[str, str], cores: int) -> None:
    check(build(64, 64, 64, pair), cores=cores)


@pytest.mark.parametrize("transpose", list(itertools.product((False, True), repeat=2)))
@pytest.mark.parametrize("pair", PAIRS)
def test_transposed_operands(pair: tuple[str, str], transpose: tuple[bool, bool]) -> None:
    check(build(36, 52, 28, pair, transpose=transpose), transpose=transpose)


@pytest.mark.parametrize("signed", [(True, False), (False, True), (False, False)])
@pytest.mark.parametrize("pair", PAIRS[:4])
def test_unsigned_operands(pair: tuple[str, str], signed: tuple[bool, bool]) -> None:
    check(build(24, 20, 36, pair, signed=signed), signed=signed)


# one element, primes, one less and one more than a tile, thin ones; the packed loops in whole words
SHAPES = [
    (1, 4, 4),
    (1, 128, 64),
    (128, 4, 64),
    (7, 12, 20),
    (13, 44, 68),
    (15, 60, 60),
    (17, 68, 68),
    (31, 36, 132),
    (101, 28, 4),
    (64, 64, 4),
    (5, 8, 500),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape: tuple[int, int, int]) -> None:
    check(build(*shape, ("i8", "i8")))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("pair", PAIRS[1:])
def test_shapes_of_all_types(pair: tuple[str, str], shape: tuple[int, int, int]) -> None:
    check(build(*shape, pair))


@pytest.mark.parametrize("tile", [(8, 16, 8), (16, 16, 16), (24, 48, 40), (64, 64, 64), (1, 1, 1)])
def test_tiles_of_a_given_size(tile: tuple[int, int, int]) -> None:
    check(build(50, 100, 84, ("i8", "i8")), tile=tile)


@pytest.mark.parametrize(
    "cores",
    [n if n in (2, 3, 7, 12, 16) else pytest.param(n, marks=pytest.mark.slow) for n in range(1, 17)],
)
def test_any_number_of_cores(cores: int) -> None:
    check(build(66, 72, 40, ("i8", "i8")), cores=cores)


def test_a_sum_that_wraps_around() -> None:
    """Largest products of all: 2**30 for each of 4 inner values is 2**32, which is 0, and 7."""
    buffers = [np.full((8, 4), -(1 << 15), np.int16), np.full((4, 8), -(1 << 15), np.int16)]
    artifact = compile_dispatch(build(8, 8, 4, ("i16", "i16")), CompileOptions(cores=16))
    run = execute(artifact, [*buffers, np.zeros((8, 8), np.int32)]).runs[0]
    assert (run[2] == 7).all()


@pytest.mark.parametrize("shape", [(1, 4, 4), (36, 52, 28), (100, 132, 260)], ids=str)
@pytest.mark.parametrize("pair", PAIRS)
def test_an_accumulator_from_memory(pair: tuple[str, str], shape: tuple[int, int, int]) -> None:
    """In place: every tile is fetched before it is written. 260 inner values are steps of two sizes."""
    accumulator = "f32" if pair[0] == "bf16" else "i32"
    dispatch = matmul(*shape, operand=pair[0], other=pair[1], accumulator=accumulator, fill=None)
    assert "cores" in lower(match(dispatch), cores=16).notes[0], "not on the multiplier array"
    buffers = buffers_of(dispatch, 3)
    left, right, start = (factor(array, signed=True) for array in buffers)
    for run in execute(compile_dispatch(dispatch, CompileOptions()), buffers, repeat=2).runs:
        np.testing.assert_array_equal(run[2], expected(left, right, start))


def test_an_accumulator_of_its_own_is_only_read() -> None:
    builder = DispatchBuilder()
    left, right = builder.operand(20, 24, element="i16"), builder.operand(24, 28, element="i16")
    start = builder.operand(20, 28)
    target = builder.binding(20, 28, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    builder.store(builder.contraction(left, right, start, maps, (20, 28, 24)), target)
    dispatch = builder.done()
    assert "cores" in lower(match(dispatch), cores=16).notes[0]
    buffers = buffers_of(dispatch, 4)
    wide = [factor(array, signed=True) for array in buffers]
    run = execute(compile_dispatch(dispatch, CompileOptions()), buffers).runs[0]
    np.testing.assert_array_equal(run[3], expected(wide[0], wide[1], wide[2]))
    np.testing.assert_array_equal(run[2], buffers[2])


def test_a_batch() -> None:
    dispatch = batch_matmul(3, 12, 20, 16, operand="i8")
    buffers = buffers_of(dispatch, 2)
    left, right = (factor(array, signed=True) for array in buffers[:2])
    for run in execute(compile_dispatch(dispatch, CompileOptions(cores=16)), buffers, repeat=2).runs:
        np.testing.assert_array_equal(run[2], expected(left, right, 0))


def test_rows_that_are_no_whole_words_are_left_to_scalar_code() -> None:
    dispatch = matmul(5, 6, 7, operand="i8")
    assert "scalar" in lower(match(dispatch), cores=16).notes[0]
