"""Dispatches that say with other ops what linalg ops say, and sums of bf16, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.program import Access, Dispatch, ScalarBody, ScalarOp, Structured, TensorType, Value

from .dispatches import DispatchBuilder, matmul, projected
from .emulation import Array, execute

BF16: np.dtype[Any] = dtypes.numpy_dtype("bf16")


def compiled_and_run(dispatch: Dispatch, buffers: list[Array]) -> Array:
    """The last buffer after a run that is checked."""
    return execute(compile_dispatch(dispatch, CompileOptions()), buffers, check=True).runs[0][-1]


# --------------------------------------------------------------------------- sums of bf16


@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 512), (5, 7, 513), (1, 1, 1024)])
@pytest.mark.parametrize("fill", [0, 3, None])
def test_a_matmul_with_a_bf16_result_is_rounded_once(m: int, n: int, k: int, fill: int | None) -> None:
    """Rounded at every step, the sum of so many ones would stay at 256."""
    dispatch = matmul(m, n, k, operand="bf16", accumulator="bf16", fill=fill)
    start = 2 if fill is None else fill
    buffers: list[Array] = [np.ones((m, k), BF16), np.ones((k, n), BF16), np.full((m, n), 2, BF16)]
    want = np.full((m, n), start + k, np.float32).astype(BF16)
    np.testing.assert_array_equal(compiled_and_run(dispatch, buffers), want)


def test_a_matmul_with_a_bf16_result_goes_to_the_multiplier_array() -> None:
    artifact = compile_dispatch(matmul(32, 32, 32, operand="bf16", accumulator="bf16"), CompileOptions())
    assert any("(rows x columns x inner) on" in note for note in artifact.notes)


def test_a_bias_in_bf16_is_fused_with_a_matmul_of_bf16() -> None:
    """The sum is rounded, the bias added and the sum rounded again, on the multiplier array."""
    m, n, k = 32, 24, 16
    builder = DispatchBuilder()
    left, right = builder.operand(m, k, element="bf16"), builder.operand(k, n, element="bf16")
    bias = builder.operand(n, element="bf16")
    target = builder.binding(m, n, element="bf16", access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    total = builder.contraction(
        left, right, builder.filled(0, m, n, element="bf16"), maps, (m, n, k), name="linalg.matmul"
    )
    zero = ScalarOp("arith.constant", (), "bf16", {"value": bytes(2)})
    ops = (ScalarOp("arith.addf", (0, 1), "bf16"), zero, ScalarOp("arith.maximumf", (3, 4), "bf16"))
    body = ScalarBody(("bf16",) * 3, ops, (5,))
    structured = Structured(
        2, (projected(2, 0, 1), projected(2, 1), projected(2, 0, 1)), ("parallel",) * 2, (m, n), body
    )
    empty = builder.op("tensor.empty", (), target.type)
    builder.store(builder.op("linalg.generic", (total, bias, empty), target.type, structured), target)
    generator = np.random.default_rng(8)
    a, b = (generator.integers(-9, 10, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    c = (generator.integers(-999, 1000, n) / 8).astype(BF16)
    sums = (a @ b).astype(BF16).astype(np.float32)
    want = np.maximum((sums + c.astype(np.float32)).astype(BF16), BF16.type(0))
    artifact = compile_dispatch(builder.done(), CompileOptions())
    assert any("(rows x columns x inner) on" in note for note in artifact.notes)
    found = execute(artifact, [a.astype(BF16), b.astype(BF16), c, np.zeros((m, n), BF16)], check=True)
    np.testing.assert_array_equal(found.runs[0][-1], want)


REDUCED = {
    "sum": (ScalarOp("arith.addf", (0, 1), "bf16"),),
    "difference": (ScalarOp("arith.subf", (1, 0), "bf16"),),
    "squares": (ScalarOp("arith.mulf", (0, 0), "bf16"), ScalarOp("arith.addf", (1, 2), "bf16")),
    "twice": (ScalarOp("arith.addf", (0, 1), "bf16"), ScalarOp("arith.addf", (2, 0), "bf16")),
    "greatest": (ScalarOp("arith.maximumf", (0, 1), "bf16"),),
}
WANTED: dict[str, Callable[[Array], Array]] = {
    "sum": lambda values: values.sum(1),
    "difference": lambda values: -values.sum(1),
    "squares": lambda values: (values * values).sum(1),
    "twice": lambda values: 2 * values.sum(1),
    "greatest": lambda values: np.maximum(values.max(1), 0),
}


@pytest.mark.parametrize("kind", REDUCED)
def test_a_reduction_of_bf16_is_rounded_once(kind: str) -> None:
    """Of small integers, whose sums are exact in f32."""
    rows, columns = 5, 700
    builder = DispatchBuilder()
    source = builder.operand(rows, columns, element="bf16")
    target = builder.binding(rows, element="bf16", access=Access.WRITE)
    ops = REDUCED[kind]
    body = ScalarBody(("bf16", "bf16"), ops, (1 + len(ops),))
    maps = (projected(2, 0, 1), projected(2, 0))
    structured = Structured(1, maps, ("parallel", "reduction"), (rows, columns), body)
    start = builder.filled(0, rows, element="bf16")
    builder.store(builder.op("linalg.generic", (source, start), target.type, structured), target)
    values = np.random.default_rng(3).integers(-1, 4, (rows, columns)).astype(np.float32)
    found = compiled_and_run(builder.done(), [values.astype(BF16), np.zeros(rows, BF16)])
    np.testing.assert_array_equal(found, WANTED[kind](values).astype(BF16))


# --------------------------------------------------------------------------- ops on tensors


def truths(builder: DispatchBuilder, *shape: int) -> Value:
    """A tensor of i1 as IREE loads it: bytes, of which the lowest bit counts."""
    return builder.op("arith.trunci", (builder.operand(*shape, element="i8"),), TensorType(shape, "i1"))


def stored(builder: DispatchBuilder, value: Value) -> None:
    """A tensor of i1 as IREE stores it."""
    target = builder.binding(*value.type.shape, element="i8", access=Access.WRITE)
    builder.store(builder.op("arith.extui", (value,), target.type), target)


@pytest.mark.parametrize("shape", [(5, 7), (8, 16), (1,), (3, 4, 5)])
@pytest.mark.parametrize("name", ["arith.andi", "arith.ori", "arith.xori"])
def test_tensors_of_i1_come_and_go_as_bytes(name: str, shape: tuple[int, ...]) -> None:
    builder = DispatchBuilder()
    operands = (truths(builder, *shape), truths(builder, *shape))
    stored(builder, builder.op(name, operands, TensorType(shape, "i1")))
    generator = np.random.default_rng(4)
    left, right = (generator.integers(0, 2, shape, dtype=np.uint8) for _ in range(2))
    numpy_op = {"arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor}
    found = compiled_and_run(builder.done(), [left, right, np.zeros(shape, np.uint8)])
    np.testing.assert_array_equal(found, numpy_op[name](left, right))


def test_a_matmul_counts_truths() -> None:
    m, n, k = 6, 9, 20
    builder = DispatchBuilder()
    left, right = truths(builder, m, k), truths(builder, k, n)
    target = builder.binding(m, n, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    start = builder.filled(0, m, n)
    total = builder.contraction(left, right, start, maps, (m, n, k), signed=(False, False))
    builder.store(total, target)
    generator = np.random.default_rng(6)
    a, b = (generator.integers(0, 2, shape, dtype=np.uint8) for shape in ((m, k), (k, n)))
    found = compiled_and_run(builder.done(), [a, b, np.zeros((m, n), np.int32)])
    np.testing.assert_array_equal(found, a.astype(np.int32) @ b.astype(np.int32))
