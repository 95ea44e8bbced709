"""Dispatches as the front end reads them from IREE, made without it.

`DispatchBuilder` collects ops; `matmul`, `batch_matmul` and `fill` make the usual ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aiepipe import dtypes
from aiepipe.program import (
    Access,
    AffineResult,
    Attribute,
    Binding,
    Dispatch,
    ScalarBody,
    ScalarOp,
    SourceLocation,
    Structured,
    TensorOp,
    TensorType,
    Value,
)

HERE = SourceLocation("test.mlir", 7, 3)
LOAD = "iree_tensor_ext.dispatch.tensor.load"
STORE = "iree_tensor_ext.dispatch.tensor.store"
MATMUL = ("parallel", "parallel", "reduction")


def projected(loops: int, *dims: int) -> tuple[AffineResult, ...]:
    """The map (d0, ..., dn) -> (dims...)."""
    return tuple(AffineResult(tuple(int(i == d) for i in range(loops))) for d in dims)


class DispatchBuilder:
    """Collects bindings and ops of a dispatch; `done` makes it."""

    def __init__(self) -> None:
        self.bindings: list[Binding] = []
        self.ops: list[TensorOp] = []

    def binding(self, *shape: int, element: str = "i32", access: Access = Access.READ) -> Binding:
        found = Binding(len(self.bindings), TensorType(shape, element), access)
        self.bindings.append(found)
        return found

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        result: TensorType | None,
        structured: Structured | None = None,
        **attributes: Attribute,
    ) -> Value:
        value = Value(f"%{len(self.ops)}", result if result is not None else TensorType((), "i32"))
        results = () if result is None else (value,)
        ids = tuple(operand.id for operand in operands)
        self.ops.append(TensorOp(name, ids, results, HERE, attributes, structured))
        return value

    def results(
        self,
        name: str,
        operands: Sequence[Value],
        types: Sequence[TensorType],
        structured: Structured,
    ) -> tuple[Value, ...]:
        """An op of several results."""
        values = tuple(Value(f"%{len(self.ops)}#{n}", type_) for n, type_ in enumerate(types))
        ids = tuple(operand.id for operand in operands)
        self.ops.append(TensorOp(name, ids, values, HERE, {}, structured))
        return values

    def load(self, binding: Binding) -> Value:
        return self.op(LOAD, (), binding.type, None, **whole(binding))

    def operand(self, *shape: int, element: str = "i32") -> Value:
        return self.load(self.binding(*shape, element=element))

    def constant(self, data: bytes, *shape: int, element: str = "i32", splat: bool = False) -> Value:
        return self.op("arith.constant", (), TensorType(shape, element), None, value=data, splat=splat)

    def store(self, value: Value, binding: Binding) -> None:
        self.op(STORE, (value,), None, None, **whole(binding))

    def filled(self, value: int, *shape: int, element: str = "i32") -> Value:
        type_ = TensorType(shape, element)
        data = np.asarray(value).astype(dtypes.numpy_dtype(element)).tobytes()
        constant = self.op("arith.constant", (), TensorType((), element), None, value=data)
        empty = self.op("tensor.empty", (), type_)
        maps = ((), projected(len(shape), *range(len(shape))))
        body = ScalarBody((element, element), (), (0,))
        structured = Structured(1, maps, ("parallel",) * len(shape), shape, body)
        return self.op("linalg.fill", (constant, empty), type_, structured)

    def contraction(
        self,
        left: Value,
        right: Value,
        start: Value,
        maps: Sequence[tuple[AffineResult, ...]],
        loops: tuple[int, ...],
        iterators: tuple[str, ...] = MATMUL,
        *,
        signed: tuple[bool, bool] = (True, True),
        name: str = "linalg.generic",
    ) -> Value:
        elements = tuple(value.type.element for value in (left, right, start))
        body = ScalarBody(elements, *multiply_add(elements, signed))
        structured = Structured(2, tuple(maps), iterators, loops, body)
        return self.op(name, (left, right, start), start.type, structured)

    def done(self, name: str = "main_dispatch_0") -> Dispatch:
        return Dispatch(name, tuple(self.bindings), tuple(self.ops), "", HERE)


def whole(binding: Binding) -> dict[str, Attribute]:
    """The attributes of a load or store of a whole binding."""
    shape = binding.type.shape
    return {
        "binding": binding.index,
        "offsets": (0,) * len(shape),
        "sizes": shape,
        "strides": (1,) * len(shape),
    }


def multiply_add(
    elements: tuple[str, ...], signed: tuple[bool, bool]
) -> tuple[tuple[ScalarOp, ...], tuple[int, ...]]:
    """The body of linalg.matmul for (left, right, accumulator): extensions, product, sum."""
    kind = "f" if dtypes.is_float(elements[2]) else "i"
    ops: list[ScalarOp] = []
    factors = [0, 1]
    for side in (0, 1):
        if elements[side] != elements[2]:
            extension = "arith.extf" if kind == "f" else "arith.extsi" if signed[side] else "arith.extui"
            ops.append(ScalarOp(extension, (side,), elements[2]))
            factors[side] = 2 + len(ops)
    ops.append(ScalarOp(f"arith.mul{kind}", (factors[0], factors[1]), elements[2]))
    ops.append(ScalarOp(f"arith.add{kind}", (2, 2 + len(ops)), elements[2]))
    return tuple(ops), (2 + len(ops),)


def matmul(
    m: int,
    n: int,
    k: int,
    *,
    operand: str = "i32",
    other: str | None = None,
    accumulator: str = "i32",
    fill: int | None = 7,
    transpose_a: bool = False,
    transpose_b: bool = False,
    signed: tuple[bool, bool] = (True, True),
) -> Dispatch:
    """fill + A @ B, or C + A @ B in place where `fill` is None. Buffers: A, B, C."""
    builder = DispatchBuilder()
    left = builder.operand(*((k, m) if transpose_a else (m, k)), element=operand)
    right = builder.operand(*((n, k) if transpose_b else (k, n)), element=other or operand)
    access = Access.READ_WRITE if fill is None else Access.WRITE
    target = builder.binding(m, n, element=accumulator, access=access)
    start = builder.load(target) if fill is None else builder.filled(fill, m, n, element=accumulator)
    maps = (
        projected(3, 2, 0) if transpose_a else projected(3, 0, 2),
        projected(3, 1, 2) if transpose_b else projected(3, 2, 1),
        projected(3, 0, 1),
    )
    total = builder.contraction(left, right, start, maps, (m, n, k), signed=signed, name="linalg.matmul")
    builder.store(total, target)
    return builder.done(f"main_dispatch_0_matmul_{m}x{n}x{k}_{operand}")


def batch_matmul(batch: int, m: int, n: int, k: int, *, operand: str = "i32") -> Dispatch:
    """A @ B for each of a batch, begun with zero."""
    builder = DispatchBuilder()
    left = builder.operand(batch, m, k, element=operand)
    right = builder.operand(batch, k, n, element=operand)
    target = builder.binding(batch, m, n, access=Access.WRITE)
    maps = (projected(4, 0, 1, 3), projected(4, 0, 3, 2), projected(4, 0, 1, 2))
    total = builder.contraction(
        left,
        right,
        builder.filled(0, batch, m, n),
        maps,
        (batch, m, n, k),
        ("parallel", "parallel", "parallel", "reduction"),
        name="linalg.batch_matmul",
    )
    builder.store(total, target)
    return builder.done("main_dispatch_0_batch_matmul")


def fill(value: int, *shape: int, element: str = "i64") -> Dispatch:
    """A dispatch that only fills, as IREE's __builtin_splat_i64."""
    builder = DispatchBuilder()
    target = builder.binding(*shape, element=element, access=Access.WRITE)
    builder.store(builder.filled(value, *shape, element=element), target)
    return builder.done("__builtin_splat_i64")
