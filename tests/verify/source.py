"""A small builder of source functions, for tests that need no MLIR parser."""

from __future__ import annotations

from collections.abc import Sequence

from aiepipe.program import (
    AffineResult,
    Attribute,
    ScalarBody,
    ScalarOp,
    SourceFunction,
    SourceLocation,
    Structured,
    TensorOp,
    TensorType,
    Value,
)

HERE = SourceLocation("test.mlir", 1, 1)


def projected(loops: int, *dims: int) -> tuple[AffineResult, ...]:
    """The map (d0, ..., dn) -> (dims...)."""
    return tuple(AffineResult(tuple(int(i == d) for i in range(loops))) for d in dims)


class Source:
    """Collects arguments and ops; `done` makes the function."""

    def __init__(self) -> None:
        self._arguments: list[Value] = []
        self._ops: list[TensorOp] = []

    def argument(self, *shape: int, element: str = "i32") -> Value:
        value = Value(f"%arg{len(self._arguments)}", TensorType(shape, element))
        self._arguments.append(value)
        return value

    def op(
        self,
        name: str,
        operands: Sequence[Value],
        result: TensorType,
        *,
        structured: Structured | None = None,
        **attributes: Attribute,
    ) -> Value:
        value = Value(f"%{len(self._ops)}", result)
        ids = tuple(v.id for v in operands)
        self._ops.append(TensorOp(name, ids, (value,), HERE, attributes, structured))
        return value

    def constant(self, data: bytes, element: str, *shape: int, splat: bool = True) -> Value:
        return self.op("arith.constant", (), TensorType(shape, element), value=data, splat=splat)

    def empty(self, *shape: int, element: str = "i32") -> Value:
        return self.op("tensor.empty", (), TensorType(shape, element))

    def generic(
        self,
        inputs: Sequence[Value],
        init: Value,
        maps: Sequence[tuple[AffineResult, ...]],
        loops: tuple[int, ...],
        ops: Sequence[ScalarOp],
        *,
        iterators: tuple[str, ...] = (),
        yields: int | None = None,
        name: str = "linalg.generic",
    ) -> Value:
        arguments = tuple(v.type.element for v in (*inputs, init))
        last = len(arguments) + len(ops) - 1 if yields is None else yields
        structured = Structured(
            len(inputs),
            tuple(maps),
            iterators or ("parallel",) * len(loops),
            loops,
            ScalarBody(arguments, tuple(ops), (last,)),
        )
        return self.op(name, (*inputs, init), init.type, structured=structured)

    def fill(self, value: Value, init: Value) -> Value:
        rank = len(init.type.shape)
        maps = (projected(rank), projected(rank, *range(rank)))
        return self.generic([value], init, maps, init.type.shape, (), yields=0, name="linalg.fill")

    def matmul(self, left: Value, right: Value, init: Value, *, extend: str = "arith.extsi") -> Value:
        (m, k), n = left.type.shape, right.type.shape[1]
        element = init.type.element
        kind = "i" if element[0] == "i" else "f"
        ops: list[ScalarOp] = []
        factors = [0, 1]
        for side, value in enumerate((left, right)):
            if value.type.element != element:
                ops.append(ScalarOp(extend, (side,), element))
                factors[side] = 2 + len(ops)
        ops.append(ScalarOp(f"arith.mul{kind}", (factors[0], factors[1]), element))
        ops.append(ScalarOp(f"arith.add{kind}", (2, 2 + len(ops)), element))
        maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
        iterators = ("parallel", "parallel", "reduction")
        return self.generic(
            [left, right], init, maps, (m, n, k), ops, iterators=iterators, name="linalg.matmul"
        )

    def done(self, *returns: Value, name: str = "main") -> SourceFunction:
        return SourceFunction(name, tuple(self._arguments), tuple(self._ops), returns, HERE)


def filled_matmul(
    m: int,
    n: int,
    k: int,
    fill: bytes,
    *,
    operand: str = "i32",
    element: str = "i32",
    extend: str = "arith.extsi",
) -> SourceFunction:
    """fill + A @ B, as in mlir/matmul.mlir; `fill` is one element in memory."""
    source = Source()
    left, right = source.argument(m, k, element=operand), source.argument(k, n, element=operand)
    start = source.fill(source.constant(fill, element), source.empty(m, n, element=element))
    return source.done(source.matmul(left, right, start, extend=extend))
