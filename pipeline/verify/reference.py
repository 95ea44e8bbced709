"""The first oracle: numpy evaluates the user's own MLIR, not what IREE made of it.

Every op is one of a linalg op in generic form (`structured`), an op on whole tensors (`tensors`), or an
elementwise op (`scalars`). The result comes with the accumulation that was assumed for each sum, and, for
floats, with a bound on what rounding may do on a device (`tolerance`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import CompileError, UsageError
from ..program import SourceFunction, TensorOp
from ..verdict import Accumulation
from . import tensors
from .rounding import Float64
from .structured import Known, evaluate_structured

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Reference:
    """What a function returns. `bounds` has, per result, how far each element may be off by rounding;
    None where only equal is right."""

    results: tuple[Array, ...]
    bounds: tuple[Float64 | None, ...]
    accumulations: tuple[Accumulation, ...]


def evaluate(function: SourceFunction, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The function's results for these inputs; see `reference`."""
    return reference(function, inputs).results


def reference(function: SourceFunction, inputs: Sequence[Array]) -> Reference:
    """Evaluates `function`. Inputs have the shapes and numpy dtypes of its argument types.

    Raises UsageError when they do not; CompileError, naming op and location, for an op that it does not
    know or that reads a tensor which nothing wrote.
    """
    values, accumulations = trace(function, inputs)
    returned = [values[value.id] for value in function.returns]
    return Reference(
        tuple(known.array for known in returned),
        tuple(known.bound for known in returned),
        accumulations,
    )


def trace(
    function: SourceFunction, inputs: Sequence[Array]
) -> tuple[dict[str, Known], tuple[Accumulation, ...]]:
    """Every value of the function by its id, and the accumulations. Raises as `reference` does."""
    values = dict(_arguments(function, inputs))
    accumulations: list[Accumulation] = []
    for op in function.ops:
        _check(op)
        operands = [_look_up(values, name, op) for name in op.operands]
        if op.structured is not None:
            results, accumulation = evaluate_structured(op, op.structured, operands)
            accumulations += () if accumulation is None else (accumulation,)
        else:
            results = tensors.apply(op, operands)
        for value, known in zip(op.results, results, strict=True):
            values[value.id] = known
    return values, tuple(accumulations)


def _arguments(function: SourceFunction, inputs: Sequence[Array]) -> list[tuple[str, Known]]:
    if len(inputs) != len(function.arguments):
        raise UsageError(
            f"{function.name} takes {len(function.arguments)} arguments, but {len(inputs)} were given"
        )
    found: list[tuple[str, Known]] = []
    for i, (value, array) in enumerate(zip(function.arguments, inputs, strict=True)):
        if any(size < 0 for size in value.type.shape):
            raise CompileError(
                f"argument {i} of {function.name} has a dynamic shape", location=function.location
            )
        dtype = dtypes.numpy_dtype(value.type.element)
        if array.shape != value.type.shape or array.dtype != dtype:
            shape = "x".join([*map(str, array.shape), array.dtype.name])
            raise UsageError(f"argument {i} of {function.name} is {value.type}, but {shape} was given")
        found.append((value.id, Known(np.ascontiguousarray(array).reshape(array.shape), value.type.element)))
    return found


def _check(op: TensorOp) -> None:
    unread = op.attributes.get("unread") is True
    if unread or (op.structured is None and not tensors.is_known(op.name)):
        raise CompileError(
            f"the numpy reference does not know {op.name}",
            op=op.name,
            location=op.location,
            remedy="give the right values yourself with --expected-output",
        )
    for result in op.results:
        if any(size < 0 for size in result.type.shape):
            raise CompileError(f"{op.name} has a dynamic shape", op=op.name, location=op.location)
        if not dtypes.is_known(result.type.element):
            raise CompileError(
                f"the numpy reference does not know the type {result.type}", op=op.name, location=op.location
            )


def _look_up(values: dict[str, Known], name: str, op: TensorOp) -> Known:
    if name not in values:
        raise CompileError(f"{op.name} uses {name}, which nothing defines", op=op.name, location=op.location)
    return values[name]
