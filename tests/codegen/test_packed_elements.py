"""i4 and i2, of which memory has several in a byte: loaded, computed with and stored, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.errors import UnsupportedOp
from aiepipe.program import Access, Dispatch, ScalarBody, ScalarOp

from .dispatches import DispatchBuilder, projected
from .emulation import Array, execute
from .generics import Operand, elementwise, generic


def drawn(bits: int, *shape: int, seed: int = 1) -> Array:
    """Signed numbers of so many bits, one in each int8."""
    values: Array = np.random.default_rng(seed).integers(-(1 << (bits - 1)), 1 << (bits - 1), shape)
    return values.astype(np.int8)


def packed(values: Array, bits: int) -> Array:
    """As memory has them: the first in a byte's lowest bits."""
    count = 8 // bits
    parts = (values.astype(np.uint8) & ((1 << bits) - 1)).reshape(-1, count)
    return sum((parts[:, n] << np.uint8(n * bits) for n in range(count)), np.zeros(len(parts), np.uint8))


def wrapped(values: Array, bits: int) -> Array:
    half = 1 << (bits - 1)
    return (values.astype(np.int64) + half) % (2 * half) - half


def last_buffer(dispatch: Dispatch, buffers: list[Array]) -> Array:
    artifact = compile_dispatch(dispatch, CompileOptions())
    first, second = execute(artifact, buffers, repeat=2, check=True).runs
    np.testing.assert_array_equal(first[-1], second[-1])
    return first[-1]


@pytest.mark.parametrize("bits", [2, 4])
@pytest.mark.parametrize("shape", [(8,), (5, 4), (3, 7, 12), (64, 256)], ids=str)
@pytest.mark.parametrize("name", ["addi", "muli", "maxsi"])
def test_packed_in_and_out(name: str, shape: tuple[int, ...], bits: int) -> None:
    left, right = drawn(bits, *shape), drawn(bits, *shape, seed=2)
    results = {"addi": left + right, "muli": left.astype(np.int16) * right, "maxsi": np.maximum(left, right)}
    dispatch = elementwise(f"i{bits}", shape, ScalarOp(f"arith.{name}", (0, 1), f"i{bits}"))
    want = packed(wrapped(results[name], bits), bits)
    buffers = [packed(left, bits), packed(right, bits), np.zeros_like(want)]
    np.testing.assert_array_equal(last_buffer(dispatch, buffers), want)


@pytest.mark.parametrize("extension", ["extsi", "extui"])
@pytest.mark.parametrize("target", ["i8", "i32"])
def test_extended_by_their_sign_or_not(extension: str, target: str) -> None:
    values = drawn(4, 9, 16)
    body = ScalarBody(("i4", target), (ScalarOp(f"arith.{extension}", (0,), target),), (2,))
    dispatch = generic((9, 16), [Operand("i4", (0, 1))], [Operand(target, (0, 1))], body)
    want = (values if extension == "extsi" else values & 15).astype(dtypes.numpy_dtype(target))
    np.testing.assert_array_equal(last_buffer(dispatch, [packed(values, 4), np.zeros_like(want)]), want)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 2, 2), (9, 12, 16), (33, 64, 128)])
@pytest.mark.parametrize("elements", [("i4", "i4"), ("i8", "i4"), ("i4", "i8")], ids="x".join)
@pytest.mark.parametrize("signed", [(True, True), (False, True)])
def test_matmul(m: int, n: int, k: int, elements: tuple[str, str], signed: tuple[bool, bool]) -> None:
    builder = DispatchBuilder()
    left = builder.operand(m, k, element=elements[0])
    right = builder.operand(k, n, element=elements[1])
    target = builder.binding(m, n, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    total = builder.contraction(left, right, builder.filled(7, m, n), maps, (m, n, k), signed=signed)
    builder.store(total, target)
    a, b = drawn(4, m, k), drawn(4, k, n, seed=2)
    buffers = [packed(v, 4) if e == "i4" else v for v, e in zip((a, b), elements, strict=True)]
    unsigned = a.view(np.uint8) & (15 if elements[0] == "i4" else 255)
    want = 7 + (a if signed[0] else unsigned).astype(np.int32) @ b.astype(np.int32)
    np.testing.assert_array_equal(last_buffer(builder.done(), [*buffers, np.zeros_like(want)]), want)


@pytest.mark.parametrize("fill", [-8, -3, 7])
def test_a_fill(fill: int) -> None:
    """Its constant is one element, which has four bits of a byte."""
    builder = DispatchBuilder()
    target = builder.binding(6, 10, element="i4", access=Access.WRITE)
    builder.store(builder.filled(fill, 6, 10, element="i4"), target)
    want = packed(np.full((6, 10), fill, np.int8), 4)
    np.testing.assert_array_equal(last_buffer(builder.done(), [np.zeros_like(want)]), want)


def test_rows_that_begin_inside_a_byte_are_refused() -> None:
    op = ScalarOp("arith.addi", (0, 1), "i4")
    with pytest.raises(UnsupportedOp, match="i4, packed into bytes") as found:
        compile_dispatch(elementwise("i4", (4, 5), op), CompileOptions())
    assert "as i8" in str(found.value.remedy)
