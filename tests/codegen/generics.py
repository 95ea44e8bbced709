"""Dispatches of one linalg.generic, their inputs, and what the numpy reference says that they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.program import Access, Dispatch, ScalarBody, ScalarOp, Structured, TensorType
from aiepipe.verify.body import Body
from aiepipe.verify.storage import memory, widen

from .dispatches import HERE, DispatchBuilder, projected
from .emulation import Array, execute


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor of the generic: its element type, and the loops that index it, in order."""

    element: str
    dims: tuple[int, ...]


def generic(
    loops: tuple[int, ...], inputs: Sequence[Operand], outputs: Sequence[Operand], body: ScalarBody
) -> Dispatch:
    """All loops parallel; outputs begin undefined. Buffers: inputs, outputs."""
    builder = DispatchBuilder()
    values = [builder.operand(*(loops[d] for d in i.dims), element=i.element) for i in inputs]
    targets = [
        builder.binding(*(loops[d] for d in o.dims), element=o.element, access=Access.WRITE) for o in outputs
    ]
    empties = [builder.op("tensor.empty", (), target.type) for target in targets]
    maps = tuple(projected(len(loops), *operand.dims) for operand in (*inputs, *outputs))
    structured = Structured(len(inputs), maps, ("parallel",) * len(loops), loops, body)
    results = builder.results(
        "linalg.generic", (*values, *empties), [target.type for target in targets], structured
    )
    for result, target in zip(results, targets, strict=True):
        builder.store(result, target)
    return builder.done()


def elementwise(element: str, shape: tuple[int, ...], op: ScalarOp, operands: int = 2) -> Dispatch:
    """out = op(in, ...), all of one shape; `op.operands` are 0, 1, ..."""
    dims = tuple(range(len(shape)))
    body = ScalarBody((element,) * operands + (op.element,), (op,), (operands + 1,))
    return generic(shape, [Operand(element, dims)] * operands, [Operand(op.element, dims)], body)


def drawn(type_: TensorType, seed: int) -> Array:
    """Over the type's whole range; floats as every bit pattern, with many small numbers and zeros."""
    generator = np.random.default_rng(seed)
    dtype: np.dtype[Any] = dtypes.numpy_dtype(type_.element)
    if type_.element == "i1":
        return generator.integers(0, 2, type_.shape).astype(np.bool_)
    if not dtypes.is_float(type_.element):
        info = np.iinfo(dtype)
        whole = generator.integers(info.min, info.max, type_.shape, dtype=dtype, endpoint=True)
        small = generator.integers(-3, 4, type_.shape).astype(dtype)
        return np.where(generator.random(type_.shape) < 0.3, small, whole)
    bits = generator.integers(0, 256, (*type_.shape, dtype.itemsize), dtype=np.uint8)
    patterns = bits.view(dtype).reshape(type_.shape)
    plain = (generator.integers(-64, 65, type_.shape) / 8).astype(dtype)
    return np.where(generator.random(type_.shape) < 0.5, plain, patterns)


def expected(body: ScalarBody, arguments: Sequence[Array], result: int = 0) -> Array:
    """What the numpy reference says the body yields, elementwise."""
    widened = [widen(array, element) for array, element in zip(arguments, body.arguments, strict=True)]
    at = body.yields[result]
    evaluator = Body(body, (), HERE)
    return memory(evaluator.value(at, widened), evaluator.element(at))


def check_elementwise(dispatch: Dispatch, body: ScalarBody, seed: int = 1, cores: int = 1) -> None:
    """Runs it twice with the emulator's checks and compares with the reference, bit for bit but for NaN."""
    buffers = [drawn(binding.type, seed + binding.index) for binding in dispatch.bindings]
    want = expected(body, buffers)
    found = execute(compile_dispatch(dispatch, CompileOptions(cores=cores)), buffers, repeat=2, check=True)
    for run in found.runs:
        assert_same(run[-1], want)


def assert_same(found: Array, want: Array) -> None:
    """Bit for bit; NaN is NaN whatever its bits."""
    if found.dtype.kind in "iub":
        np.testing.assert_array_equal(found, want)
        return
    nan = np.isnan(want.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float32)), nan)
    kind = np.dtype(f"u{found.dtype.itemsize}")
    np.testing.assert_array_equal(np.where(nan, 0, found.view(kind)), np.where(nan, 0, want.view(kind)))
