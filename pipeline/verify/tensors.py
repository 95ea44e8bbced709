"""The ops on whole tensors that are no linalg: constants, reshapes, slices, padding, and the few of IREE's
own dialects that a source file may hold. One small function per op, found by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import AiepipeError, CompileError
from ..program import ScalarOp, TensorOp
from . import scalars
from .body import Body
from .storage import memory, widen
from .structured import Known

Array = npt.NDArray[Any]
Operation = Callable[[TensorOp, Sequence[Known]], tuple[Known, ...]]

_OPERATIONS: dict[str, Operation] = {}


def is_known(name: str) -> bool:
    """Whether we know what the tensor op called `name` does (linalg ops are `structured`)."""
    return name in _OPERATIONS or scalars.is_known(name)


def apply(op: TensorOp, operands: Sequence[Known]) -> tuple[Known, ...]:
    """The op's results. Raises CompileError naming the op where it does not fit; KeyError if unknown."""
    operation = _OPERATIONS.get(op.name, _elementwise)
    try:
        return operation(op, operands)
    except AiepipeError:
        raise
    except (ValueError, IndexError, TypeError, KeyError) as error:
        raise CompileError(
            f"the numpy reference cannot evaluate {op.name}: {error}", op=op.name, location=op.location
        ) from error


def _operation(*names: str) -> Callable[[Operation], Operation]:
    def register(function: Operation) -> Operation:
        for name in names:
            _OPERATIONS[name] = function
        return function

    return register


def _integers(op: TensorOp, name: str) -> tuple[int, ...]:
    value = op.attributes[name]
    if not isinstance(value, tuple):
        raise TypeError(f"its attribute {name} is no list")
    numbers = tuple(v for v in value if isinstance(v, int))
    if len(numbers) != len(value):
        raise TypeError(f"its attribute {name} is dynamic")
    return numbers


def _result(op: TensorOp, array: Array, *sources: Known) -> tuple[Known, ...]:
    type_ = op.results[0].type
    bound = sources[0].bound if len(sources) == 1 else None
    if bound is not None:
        bound = bound.reshape(array.shape)
    defined = all(source.defined for source in sources)
    return (Known(array.reshape(type_.shape), type_.element, bound, defined),)


@_operation("arith.constant", "complex.constant", "util.unfoldable_constant", "flow.tensor.constant")
def _constant(op: TensorOp, _operands: Sequence[Known]) -> tuple[Known, ...]:
    type_, data = op.results[0].type, op.attributes["value"]
    if not isinstance(data, bytes):
        raise TypeError("its value was not read")
    if op.attributes.get("splat"):
        one = dtypes.unpack(data, type_.element, ())
        return _result(op, np.full(type_.shape, one, dtypes.numpy_dtype(type_.element)))
    return _result(op, dtypes.unpack(data, type_.element, type_.shape))


@_operation("tensor.empty", "bufferization.alloc_tensor", "flow.tensor.empty", "flow.tensor.alloca")
def _empty(op: TensorOp, _operands: Sequence[Known]) -> tuple[Known, ...]:
    type_ = op.results[0].type
    zeros = np.zeros(type_.shape, dtypes.numpy_dtype(type_.element))
    return (Known(zeros, type_.element, defined=False),)


@_operation("tensor.splat", "flow.tensor.splat")
def _splat(op: TensorOp, operands: Sequence[Known]) -> tuple[Known, ...]:
    type_ = op.results[0].type
    bound = operands[0].bound
    spread = None if bound is None else np.broadcast_to(bound.reshape(()), type_.shape)
    return (Known(np.full(type_.shape, operands[0].array.reshape(())), type_.element, spread),)


@_operation(
    "tensor.expand_shape", "tensor.collapse_shape", "tensor.reshape", "tensor.cast", "flow.tensor.reshape",
    "flow.tensor.clone", "util.optimization_barrier", "tensor.bitcast", "flow.tensor.bitcast",
    "flow.tensor.barrier",
)  # fmt: skip
def _reshape(op: TensorOp, operands: Sequence[Known]) -> tuple[Known, ...]:
    source, type_ = operands[0], op.results[0].type
    if dtypes.canonical(source.element) == dtypes.canonical(type_.element):
        return _result(op, source.array.reshape(type_.shape), source)
    data = dtypes.pack(source.array, source.element)
    return (Known(dtypes.unpack(data, type_.element, type_.shape), type_.element, None, source.defined),)


@_operation("tensor.from_elements")
def _from_elements(op: TensorOp, operands: Sequence[Known]) -> tuple[Known, ...]:
    type_ = op.results[0].type
    array = np.zeros(type_.count, dtypes.numpy_dtype(type_.element))
    for i, operand in enumerate(operands):
        array[i] = operand.array.reshape(())[()]
    return _result(op, array)


@_operation("tensor.extract")
def _extract(_op: TensorOp, operands: Sequence[Known]) -> tuple[Known, ...]:
    source, index = operands[0], tuple(int(v.array.reshape(())[()]) for v in operands[1:])
    if any(not 0 <= i < n for i, n in zip(index, source.array.shape, strict=True)):
        raise IndexError(f"index {index} is outside {source.array.shape}")
    bound = None if source.bound is None else np.asarray(source.bound[index])
    return (Known(np.asarray(source.array[index]), source.element, bound, source.defined),)


@_operation("tensor.pad")
def _pad(op: TensorOp, operands: Sequence[Known]) -> tuple[Known, ...]:
    source, fill = operands[0], operands[1]
    low, type_ = _integers(op, "low"), op.results[0].type
    array = np.full(type_.shape, fill.array.reshape(()), source.array.dtype)
    inside = tuple(slice(a, a + n) for a, n in zip(low, source.array.shape, strict=True))
    if min(low, default=0) < 0 or array[inside].shape != source.array.shape:
        raise ValueError("negative padding")
    array[inside] = source.array
    bound = None
    if source.bound is not None:
        bound = np.zeros(type_.shape)
        bound[inside] = source.bound
    return (Known(array, type_.element, bound, source.defined),)


@_operation("tensor.concat")
def _concat(op: TensorOp, operands: Sequence[Known]) -> tuple[Known, ...]:
    axis, type_ = op.attributes["dim"], op.results[0].type
    if not isinstance(axis, int):
        raise TypeError("its dim was not read")
    array = np.concatenate([v.array for v in operands], axis=axis)
    bound = None
    if any(v.bound is not None for v in operands):
        parts = [np.zeros(v.array.shape) if v.bound is None else v.bound for v in operands]
        bound = np.concatenate(parts, axis=axis)
    return (Known(array, type_.element, bound, all(v.defined for v in operands)),)


def _slices(op: TensorOp, shape: Sequence[int]) -> tuple[slice, ...]:
    offsets, sizes, strides = (_integers(op, name) for name in ("offsets", "sizes", "strides"))
    found: list[slice] = []
    for offset, size, stride, extent in zip(offsets, sizes, strides, shape, strict=True):
        last = offset + (size - 1) * stride
        if size and (stride < 1 or offset < 0 or last >= extent):
            raise IndexError(f"[{offset}, {last}] is outside a dimension of {extent}")
        found.append(slice(offset, offset + (size - 1) * stride + 1 if size else offset, max(stride, 1)))
    return tuple(found)


@_operation("tensor.extract_slice", "flow.tensor.slice")
def _extract_slice(op: TensorOp, operands: Sequence[Known]) -> tuple[Known, ...]:
    source, type_ = operands[0], op.results[0].type
    inside = _slices(op, source.array.shape)
    bound = None if source.bound is None else source.bound[inside].reshape(type_.shape)
    return (Known(source.array[inside].reshape(type_.shape), type_.element, bound, source.defined),)


@_operation("tensor.insert_slice", "flow.tensor.update", "tensor.parallel_insert_slice")
def _insert_slice(op: TensorOp, operands: Sequence[Known]) -> tuple[Known, ...]:
    # flow.tensor.update names the target first
    source, target = (operands[1], operands[0]) if op.name.startswith("flow.") else (operands[0], operands[1])
    array = target.array.copy()
    inside = _slices(op, array.shape)
    sizes = array[inside].shape
    array[inside] = source.array.reshape(sizes)
    bound = None
    if source.bound is not None or target.bound is not None:
        bound = np.zeros(array.shape) if target.bound is None else target.bound.copy()
        bound[inside] = 0.0 if source.bound is None else source.bound.reshape(sizes)
    return (Known(array, op.results[0].type.element, bound, source.defined),)


def _elementwise(op: TensorOp, operands: Sequence[Known]) -> tuple[Known, ...]:
    """arith and math ops on scalars or whole tensors."""
    if not scalars.is_known(op.name):
        raise CompileError(f"the numpy reference does not know {op.name}", op=op.name, location=op.location)
    if not all(operand.defined for operand in operands):
        raise CompileError(
            f"{op.name} reads a tensor that nothing has written", op=op.name, location=op.location
        )
    type_ = op.results[0].type
    count = len(operands)
    scalar = ScalarOp(op.name, tuple(range(count)), type_.element, op.attributes)
    body = Body.of_one(scalar, [operand.element for operand in operands], op.location)
    arguments = [widen(operand.array, operand.element) for operand in operands]
    values = body.value(count, arguments)
    bound = body.bound(count, arguments, [operand.bound for operand in operands])
    if bound is not None:
        bound = np.broadcast_to(bound, type_.shape)
    return (Known(memory(np.broadcast_to(values, type_.shape), type_.element), type_.element, bound),)
