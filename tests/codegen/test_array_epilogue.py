"""Matmuls with what IREE fuses with them: on the multiplier array, else in scalar code; with all checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.program import Access, Artifact, Dispatch, ScalarBody, ScalarOp, Structured

from .dispatches import DispatchBuilder, projected
from .emulation import Array, execute
from .generics import assert_same, drawn, expected

Int32 = npt.NDArray[np.int32]
MATMUL = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
SIZES = ((1, 4, 4), (13, 20, 36), (64, 64, 64), (65, 60, 68), (150, 132, 72))


def constant(value: int, element: str = "i32") -> ScalarOp:
    width = dtypes.storage_bits(element) // 8
    return ScalarOp("arith.constant", (), element, {"value": value.to_bytes(width, "little", signed=True)})


def requantising(extras: int, target: str) -> ScalarBody:
    """(sum + first extra) * second + third, ReLU, shifted by 3, held below 100, narrowed."""
    count = 1 + extras
    ops: list[ScalarOp] = []

    def add(op: ScalarOp) -> int:
        ops.append(op)
        return count + len(ops)  # the arguments are the sum, the extras and the unused output

    value = 0
    for number, name in zip(range(1, count), ("arith.addi", "arith.muli", "arith.addi"), strict=False):
        value = add(ScalarOp(name, (value, number), "i32"))
    zero, shift, most = (add(constant(number)) for number in (0, 3, 100))
    value = add(ScalarOp("arith.maxsi", (value, zero), "i32"))
    value = add(ScalarOp("arith.shrsi", (value, shift), "i32"))
    value = add(ScalarOp("arith.minsi", (value, most), "i32"))
    if target != "i32":
        value = add(ScalarOp("arith.trunci", (value,), target))
    return ScalarBody(("i32",) * count + (target,), tuple(ops), (value,))


def fused(
    size: tuple[int, int, int],
    body: ScalarBody,
    extras: tuple[tuple[int, ...], ...],
    *,
    operand: str = "i8",
    fill: int = 7,
) -> Dispatch:
    """fill + A @ B, then the body of the sum and extras, each indexed by these loops of the result."""
    m, n, k = size
    accumulator, target = body.arguments[0], body.arguments[-1]
    builder = DispatchBuilder()
    left, right = builder.operand(m, k, element=operand), builder.operand(k, n, element=operand)
    further = [
        builder.operand(*((m, n)[d] for d in dims), element=element)
        for dims, element in zip(extras, body.arguments[1:-1], strict=True)
    ]
    result = builder.binding(m, n, element=target, access=Access.WRITE)
    start = builder.filled(fill, m, n, element=accumulator)
    total = builder.contraction(left, right, start, MATMUL, size, name="linalg.matmul")
    empty = builder.op("tensor.empty", (), result.type)
    maps = (projected(2, 0, 1), *(projected(2, *dims) for dims in extras), projected(2, 0, 1))
    structured = Structured(1 + len(extras), maps, ("parallel", "parallel"), (m, n), body)
    value = builder.op("linalg.generic", (total, *further, empty), result.type, structured)
    builder.store(value, result)
    return builder.done()


def run(
    dispatch: Dispatch,
    body: ScalarBody,
    extras: tuple[tuple[int, ...], ...],
    options: CompileOptions | None = None,
    fill: int = 7,
) -> Artifact:
    buffers = [drawn(binding.type, 3 + binding.index) for binding in dispatch.bindings]
    sums = _product(buffers[0], buffers[1]) + np.int32(fill)
    shape = sums.shape
    arguments = [sums]
    for dims, buffer in zip(extras, buffers[2:-1], strict=True):
        arguments.append(np.broadcast_to(buffer[:, None] if dims == (0,) else buffer, shape))
    arguments.append(buffers[-1])
    want = expected(body, arguments)
    artifact = compile_dispatch(dispatch, options or CompileOptions())
    for found in execute(artifact, buffers, repeat=2, check=True).runs:
        assert_same(found[-1], want)
    return artifact


def _product(left: Array, right: Array) -> Int32:
    wide = left.astype(np.int64).view(np.uint64) @ right.astype(np.int64).view(np.uint64)
    return wide.astype(np.uint32).view(np.int32)


def on_the_array(artifact: Artifact) -> bool:
    return any("(rows x columns x inner) on" in note for note in artifact.notes)


@pytest.mark.parametrize("target", ["i8", "i16", "i32"])
@pytest.mark.parametrize("operand", ["i8", "i16", "i32"])
@pytest.mark.parametrize("extras", [0, 1, 3])
def test_types_and_operands_of_the_columns(operand: str, target: str, extras: int) -> None:
    body, dims = requantising(extras, target), ((1,),) * extras
    assert on_the_array(run(fused((24, 32, 40), body, dims, operand=operand), body, dims))


@pytest.mark.parametrize(
    "size", [(1, 4, 4), (13, 20, 36), (64, 64, 64), (65, 60, 68), (150, 132, 72)], ids=str
)
def test_sizes(size: tuple[int, int, int]) -> None:
    body = requantising(1, "i8")
    assert on_the_array(run(fused(size, body, ((1,),)), body, ((1,),)))


@pytest.mark.parametrize("cores", [1, 2, 4, 16])
def test_several_tiles_and_steps_on_some_cores(cores: int) -> None:
    body = requantising(2, "i8")
    options = CompileOptions(cores=cores, tile=(16, 16, 24))
    assert on_the_array(run(fused((70, 72, 100), body, ((1,), (1,))), body, ((1,), (1,)), options))


@pytest.mark.parametrize(
    ("size", "extras"),
    [
        ((24, 33, 40), ((1,),)),
        ((24, 32, 40), ((0,),)),
        ((24, 32, 40), ((0, 1),)),
        ((9, 7, 5), ((1,), (0, 1))),
    ],
    ids=str,
)
def test_what_the_array_does_not_take_is_right_in_scalar_code(
    size: tuple[int, int, int], extras: tuple[tuple[int, ...], ...]
) -> None:
    """Rows of the result that are no words, operands for each row or each element."""
    body = requantising(len(extras), "i8")
    assert not on_the_array(run(fused(size, body, extras), body, extras))


def test_bf16_with_a_bias_and_relu_is_rounded_to_even() -> None:
    """Small numbers, so that sums in f32 are exact and only the last rounding counts."""
    zero = ScalarOp("arith.constant", (), "f32", {"value": bytes(4)})
    ops = (
        zero,  # 3
        ScalarOp("arith.addf", (0, 1), "f32"),  # 4
        ScalarOp("arith.maximumf", (4, 3), "f32"),  # 5
        ScalarOp("arith.truncf", (5,), "bf16"),
    )
    body = ScalarBody(("f32", "f32", "bf16"), ops, (6,))
    dispatch = fused((16, 16, 24), body, ((1,),), operand="bf16", fill=0)
    generator = np.random.default_rng(5)
    bf16: np.dtype[Any] = dtypes.numpy_dtype("bf16")
    left, right = (generator.integers(-16, 17, shape).astype(np.float32) for shape in ((16, 24), (24, 16)))
    bias = (generator.integers(-999, 999, 16) / 8).astype(np.float32)
    want = np.maximum(left @ right + bias, np.float32(0)).astype(bf16)
    buffers: list[Array] = [left.astype(bf16), right.astype(bf16), bias, np.zeros((16, 16), bf16)]
    artifact = compile_dispatch(dispatch, CompileOptions())
    assert on_the_array(artifact)
    for found in execute(artifact, buffers, repeat=2, check=True).runs:
        assert_same(found[-1], want)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(
    ("size", "options"),
    [
        ((16, 16, 24), CompileOptions()),
        ((1, 4, 4), CompileOptions()),
        ((70, 72, 100), CompileOptions(cores=4, tile=(16, 16, 24))),
        ((130, 68, 40), CompileOptions(grid=(2, 4))),
    ],
    ids=str,
)
def test_bf16_results_are_rounded_in_vector_code(
    size: tuple[int, int, int], options: CompileOptions, relu: bool
) -> None:
    """Small numbers, so that sums in f32 are exact and only the rounding to bf16 counts: ties to even."""
    m, n, k = size
    zero = ScalarOp("arith.constant", (), "f32", {"value": bytes(4)})
    ops = (zero, ScalarOp("arith.maximumf", (0, 2), "f32"), ScalarOp("arith.truncf", (3 * relu,), "bf16"))
    body = ScalarBody(("f32", "bf16"), ops, (4,))
    generator = np.random.default_rng(sum(size))
    bf16: np.dtype[Any] = dtypes.numpy_dtype("bf16")
    left, right = (generator.integers(-32, 33, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    want = left @ right
    want = (np.maximum(want, np.float32(0)) if relu else want).astype(bf16)
    buffers: list[Array] = [left.astype(bf16), right.astype(bf16), np.zeros((m, n), bf16)]
    artifact = compile_dispatch(fused(size, body, (), operand="bf16", fill=0), options)
    (listing,) = (data for name, data in artifact.files.items() if name.endswith(".s"))
    assert b"vst.conv.bf16.fp32" in listing
    for found in execute(artifact, buffers, repeat=2, check=True).runs:
        assert_same(found[-1], want)


@pytest.mark.parametrize("target", ["f32", "bf16"])
@pytest.mark.parametrize("size", [(16, 16, 24), (70, 72, 100), (33, 20, 260)], ids=str)
def test_a_bias_in_f32_is_added_by_the_vector_unit(size: tuple[int, int, int], target: str) -> None:
    """Products of bf16 are exact in float32; a sum of k terms and a bias errs by at most k + 2 roundings of
    half a unit (2**-24) of the sum of magnitudes (Higham, Accuracy and Stability, 4.2), twice that for a unit
    that cuts what lies below its widest term; bf16 by half a unit of its own more."""
    m, n, k = size
    ops = (ScalarOp("arith.addf", (0, 1), "f32"), ScalarOp("arith.truncf", (3,), "bf16"))
    body = ScalarBody(("f32", "f32", target), ops[: 1 + (target == "bf16")], (3 + (target == "bf16"),))
    generator = np.random.default_rng(sum(size))
    bf16: np.dtype[Any] = dtypes.numpy_dtype("bf16")
    left = generator.standard_normal((m, k)).astype(bf16)
    right = generator.standard_normal((k, n)).astype(bf16)
    # some of the bias nearly cancels what it is added to, some is far larger or smaller
    exact = left.astype(np.float64) @ right.astype(np.float64)
    bias = (-exact[0] * generator.choice([1, 1.0001, 1e-4, 1e4], n)).astype(np.float32)
    buffers: list[Array] = [left, right, bias, np.zeros((m, n), dtypes.numpy_dtype(target))]
    artifact = compile_dispatch(fused(size, body, ((1,),), operand="bf16", fill=0), CompileOptions())
    (listing,) = (data for name, data in artifact.files.items() if name.endswith(".s"))
    assert b"vadd.f" in listing
    sizes = np.abs(left.astype(np.float64)) @ np.abs(right.astype(np.float64)) + np.abs(bias)
    bound = 2 * (k + 2) * 2.0**-24 * sizes
    want = exact + bias
    if target == "bf16":
        bound += 2.0**-8 * (np.abs(want) + bound)
    for found in execute(artifact, buffers, repeat=2, check=True).runs:
        assert (np.abs(found[-1].astype(np.float64) - want) <= bound).all()


def scaled(target: str) -> ScalarBody:
    """TFLite's: the sum and a bias times a multiplier in 64 bits, shifted with rounding, held in range."""
    wide = [("arith.addi", (0, 1), "i32"), ("arith.extsi", (4,), "i64"), ("arith.extsi", (2,), "i64")]
    ops = [ScalarOp(name, operands, element) for name, operands, element in wide]  # 4 to 6
    ops.append(ScalarOp("arith.muli", (5, 6), "i64"))  # 7
    ops += [constant(value, "i64") for value in (1 << 32, 33, -100, 100)]  # 8 to 11
    ops.append(ScalarOp("arith.addi", (7, 8), "i64"))  # 12
    ops.append(ScalarOp("arith.shrsi", (12, 9), "i64"))  # 13
    ops.append(ScalarOp("arith.maxsi", (13, 10), "i64"))  # 14
    ops.append(ScalarOp("arith.minsi", (14, 11), "i64"))  # 15
    ops.append(ScalarOp("arith.trunci", (15,), target))  # 16
    return ScalarBody(("i32", "i32", "i32", target), tuple(ops), (16,))


@pytest.mark.parametrize("target", ["i8", "i16", "i32"])
@pytest.mark.parametrize("operand", ["i8", "i16"])
def test_requantising_in_64_bits_is_vector_code(operand: str, target: str) -> None:
    body, dims = scaled(target), ((1,), (1,))
    artifact = run(fused((24, 32, 40), body, dims, operand=operand), body, dims)
    assert on_the_array(artifact)
    (listing,) = (data for name, data in artifact.files.items() if name.endswith(".s"))
    assert b"vsel.32" in listing


@settings(max_examples=15, deadline=None)
@given(
    size=st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40)),
    grain=st.sampled_from((1, 4)),
    operand=st.sampled_from(("i8", "i16")),
    target=st.sampled_from(("i8", "i16", "i32")),
    extras=st.lists(st.sampled_from(((1,), (1,), (0,), (0, 1))), max_size=2),
    cores=st.sampled_from((1, 4, 16)),
)
def test_any_small_matmul_with_an_epilogue(
    size: tuple[int, int, int],
    grain: int,
    operand: str,
    target: str,
    extras: list[tuple[int, ...]],
    cores: int,
) -> None:
    m, n, k = (value if grain == 1 else -(-value // grain) * grain for value in size)
    body, dims = requantising(len(extras), target), tuple(extras)
    run(fused((m, n, k), body, dims, operand=operand), body, dims, CompileOptions(cores=cores))
