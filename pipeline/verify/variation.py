"""The program as it would be with one mistake in it: each variation is a function for the reference.

A backend's typical mistakes are small changes of the user's own function: the fill left out or added twice,
an operand transposed, the signs of narrow integers ignored, a part of K not summed. Evaluating the changed
function gives what a device with that mistake returns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..program import AffineResult, ScalarBody, SourceFunction, Structured, TensorOp, TensorType, Value

Array = npt.NDArray[Any]

_EXTENSIONS = {"arith.extsi": "arith.extui", "arith.extui": "arith.extsi"}
_READ_AS = {"arith.extsi": "unsigned read as signed", "arith.extui": "signed read as unsigned"}


@dataclass(frozen=True, slots=True)
class Variation:
    """A mistake: its rule, the sentence for people, and the function that has it."""

    rule: str
    sentence: str
    function: SourceFunction


def sums(function: SourceFunction) -> Iterator[tuple[int, TensorOp, Structured]]:
    """The function's ops that reduce, with their positions."""
    for at, op in enumerate(function.ops):
        if op.structured is not None and "reduction" in op.structured.iterators:
            yield at, op, op.structured


def variations(function: SourceFunction) -> Iterator[Variation]:
    """All of them, the likelier mistakes first."""
    for at, op, structured in sums(function):
        yield from _start(function, at, op, structured)
        yield from _signs(function, at, op, structured)
        yield from _transposed(function, at, op, structured)
        yield from _swapped(function, at, op, structured)


def with_range(function: SourceFunction, at: int, axis: int, start: int, stop: int) -> SourceFunction:
    """The function with loop `axis` of op `at` running over [start, stop) only."""
    op = function.ops[at]
    structured = op.structured
    assert structured is not None
    maps = tuple(tuple(_moved(r, axis, start) for r in results) for results in structured.maps)
    loops = tuple(stop - start if i == axis else n for i, n in enumerate(structured.loops))
    return _with_op(function, at, _with(op, dataclasses.replace(structured, maps=maps, loops=loops)))


def without_start(function: SourceFunction, at: int) -> SourceFunction:
    """The function with op `at` summing into zeros."""
    op = function.ops[at]
    value = op.results[0]
    zero = Value("%zero start", value.type)
    data = bytes(max(dtypes.storage_bits(value.type.element) // 8, 1))
    constant = TensorOp("arith.constant", (), (zero,), op.location, {"value": data, "splat": True})
    changed = dataclasses.replace(op, operands=(*op.operands[:-1], zero.id))
    return dataclasses.replace(function, ops=(*function.ops[:at], constant, changed, *function.ops[at + 1 :]))


def widened(function: SourceFunction) -> SourceFunction | None:
    """The function with i64 in place of every i8, i16 and i32 that is not read from memory.

    None where it has an op that this would change otherwise than in range (none of ours: sums only).
    """
    if [
        op
        for op in function.ops
        if op.structured is None and op.name not in ("tensor.empty", "arith.constant")
    ]:
        return None
    wide: dict[str, Value] = {}
    ops: list[TensorOp] = []
    for op in function.ops:
        results = tuple(Value(v.id, TensorType(v.type.shape, "i64")) for v in op.results)
        wide |= {v.id: v for v in results}
        attributes = dict(op.attributes)
        if op.name == "arith.constant":
            data = attributes["value"]
            assert isinstance(data, bytes)
            type_ = op.results[0].type
            shape = () if attributes.get("splat") else type_.shape
            values = dtypes.unpack(data, type_.element, shape)
            attributes["value"] = dtypes.pack(values.astype(np.int64), "i64")
        structured = None if op.structured is None else _wide_structured(op.structured)
        ops.append(dataclasses.replace(op, results=results, attributes=attributes, structured=structured))
    arguments = tuple(Value(v.id, TensorType(v.type.shape, "i64")) for v in function.arguments)
    returns = tuple(Value(v.id, TensorType(v.type.shape, "i64")) for v in function.returns)
    return dataclasses.replace(function, arguments=arguments, ops=tuple(ops), returns=returns)


# --------------------------------------------------------------------------- the mistakes


def _start(function: SourceFunction, at: int, op: TensorOp, structured: Structured) -> Iterator[Variation]:
    """What the sum begins with: a fill or an incoming accumulator."""
    if len(structured.maps) != structured.input_count + 1:
        return
    fill = next((o for o in function.ops if o.results and o.results[0].id == op.operands[-1]), None)
    name = "incoming accumulator" if fill is None else "fill"
    value = "" if fill is None else _fill_text(function, fill)
    yield Variation(
        "start-missing", f"the {name}{value} is missing: equals the sum alone", without_start(function, at)
    )
    result, doubled = op.results[0], Value("%sum alone", op.results[0].type)
    alone = without_start(function, at)
    zero, summed = alone.ops[at], alone.ops[at + 1]
    summed = dataclasses.replace(summed, results=(doubled,))
    add = "arith.addi" if dtypes.is_integer(result.type.element) else "arith.addf"
    half = Value("%with start", result.type)
    ops = (
        zero,
        summed,
        TensorOp(add, (doubled.id, op.operands[-1]), (half,), op.location),
        TensorOp(add, (half.id, op.operands[-1]), (result,), op.location),
    )
    twice = dataclasses.replace(function, ops=(*function.ops[:at], *ops, *function.ops[at + 1 :]))
    yield Variation("start-doubled", f"the {name}{value} is there twice", twice)


def _fill_text(function: SourceFunction, fill: TensorOp) -> str:
    """ " of 7", where the fill's value is a constant."""
    source = next((o for o in function.ops if fill.operands[:1] == tuple(v.id for v in o.results)), None)
    if source is None or not isinstance(data := source.attributes.get("value"), bytes):
        return ""
    value = dtypes.unpack(data, source.results[0].type.element, ())
    return f" of {value[()]}"


def _signs(function: SourceFunction, at: int, op: TensorOp, structured: Structured) -> Iterator[Variation]:
    """Narrow operands extended with the other sign."""
    body = structured.body
    found = [i for i, scalar in enumerate(body.ops) if scalar.name in _EXTENSIONS]
    choices = [found, *([i] for i in found)] if len(found) > 1 else [found]
    for chosen in (c for c in choices if c):
        ops = tuple(
            dataclasses.replace(scalar, name=_EXTENSIONS[scalar.name]) if i in chosen else scalar
            for i, scalar in enumerate(body.ops)
        )
        changed = _with(op, dataclasses.replace(structured, body=dataclasses.replace(body, ops=ops)))
        how = _READ_AS[_EXTENSIONS[body.ops[chosen[0]].name]]
        which = "operands" if len(chosen) > 1 else f"operand {body.ops[chosen[0]].operands[0]}"
        yield Variation("signs", f"{how}: the {which} of {op.name}", _with_op(function, at, changed))


def _transposed(
    function: SourceFunction, at: int, op: TensorOp, structured: Structured
) -> Iterator[Variation]:
    """An operand read transposed, where its shape allows it."""
    for operand in range(structured.input_count):
        results = structured.maps[operand]
        if len(results) < 2:
            continue
        turned = (*results[:-2], results[-1], results[-2])
        dims = [r.dim for r in results[-2:]]
        if any(d is None for d in dims) or len({structured.loops[d] for d in dims if d is not None}) != 1:
            continue
        maps = tuple(turned if i == operand else m for i, m in enumerate(structured.maps))
        changed = _with(op, dataclasses.replace(structured, maps=maps))
        yield Variation(
            "operand-transposed",
            f"operand {operand} of {op.name} is read transposed",
            _with_op(function, at, changed),
        )


def _swapped(function: SourceFunction, at: int, op: TensorOp, structured: Structured) -> Iterator[Variation]:
    """B @ A in place of A @ B."""
    if structured.input_count != 2:
        return
    types = {v.id: v.type for o in function.ops for v in o.results} | {
        v.id: v.type for v in function.arguments
    }
    left, right = op.operands[:2]
    if types[left] == types[right] and left != right:
        changed = dataclasses.replace(op, operands=(right, left, *op.operands[2:]))
        yield Variation(
            "operands-swapped", f"the operands of {op.name} are exchanged", _with_op(function, at, changed)
        )


# --------------------------------------------------------------------------- changing dataclasses


def _with(op: TensorOp, structured: Structured) -> TensorOp:
    return dataclasses.replace(op, structured=structured)


def _with_op(function: SourceFunction, at: int, op: TensorOp) -> SourceFunction:
    return dataclasses.replace(function, ops=(*function.ops[:at], op, *function.ops[at + 1 :]))


def _moved(result: AffineResult, axis: int, start: int) -> AffineResult:
    return AffineResult(result.coefficients, result.constant + result.coefficients[axis] * start)


def _wide_structured(structured: Structured) -> Structured:
    body = structured.body
    ops = tuple(
        dataclasses.replace(scalar, element="i64") if scalar.element != "i1" else scalar
        for scalar in body.ops
    )
    return dataclasses.replace(structured, body=ScalarBody(("i64",) * len(body.arguments), ops, body.yields))


def widened_inputs(inputs: Sequence[Array]) -> list[Array]:
    """The inputs for `widened`."""
    return [value.astype(np.int64) for value in inputs]
