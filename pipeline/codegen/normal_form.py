"""A dispatch as `matching` and `staging` know it: the same values, said with fewer kinds of op.

- An op of arith on whole tensors is a linalg op that does it element by element. IREE keeps i1 as i8 in
  memory, and makes it i1 by `arith.trunci` of a whole tensor, and i8 again by `arith.extui`.
- Sums whose type is bf16 are kept in f32, as the multiplier array does, and rounded once. To round at every
  step would lose what is added: 512 ones would sum to 256 (see `verify.tolerance`: no backend keeps a 16-bit
  accumulator within a tile). An elementwise op that goes on with such sums rounds them itself, so that it
  stands right after the sums: as what is fused with a matmul on the multiplier array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..program import (
    AffineResult,
    Attribute,
    Dispatch,
    ScalarBody,
    ScalarOp,
    Structured,
    TensorOp,
    TensorType,
    Value,
)
from . import scalar_body
from .expressions.typed import known_ops

NARROW, WIDE = "bf16", "f32"
_ROUNDS = ("arith.addf", "arith.subf", "arith.mulf", "math.fma")
"""Ops whose result has to be rounded; the others choose."""
_CHOOSES = ("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf", "arith.select")
_WIDENED = (*_ROUNDS, *_CHOOSES, "arith.negf", "arith.cmpf", "math.absf")
"""Ops that mean the same in the wider type."""


def normalised(dispatch: Dispatch) -> Dispatch:
    """The dispatch in the form above."""
    form = _Form()
    for op in dispatch.ops:
        form.add(op)
    return replace(dispatch, ops=tuple(form.ops))


@dataclass(slots=True)
class _Form:
    """Ops that were rewritten so far."""

    ops: list[TensorOp] = field(default_factory=list[TensorOp])
    producers: dict[str, TensorOp] = field(default_factory=dict[str, TensorOp])
    wide: dict[str, str] = field(default_factory=dict[str, str])
    """The sums in f32 of which a value is the rounded form."""

    def add(self, op: TensorOp) -> None:
        if op.structured is None:
            self.append(self.elementwise(op) or op)
            return
        if set(op.structured.iterators) == {"parallel"}:
            self.append(self.with_rounding(op, op.structured))
            return
        widened = _widened_body(op.structured)
        if widened is None:
            self.append(op)
        else:
            self.sums(op, op.structured, *widened)

    def append(self, op: TensorOp) -> None:
        self.ops.append(op)
        self.producers.update((result.id, op) for result in op.results)

    def with_rounding(self, op: TensorOp, structured: Structured) -> TensorOp:
        """The op on sums in f32 that it rounds first, where it takes rounded ones."""
        rounded = [
            n for n, operand in enumerate(op.operands[: structured.input_count]) if operand in self.wide
        ]
        if not rounded:
            return op
        operands = tuple(self.wide[o] if n in rounded else o for n, o in enumerate(op.operands))
        return replace(
            op, operands=operands, structured=replace(structured, body=_rounding(structured.body, rounded))
        )

    def made(self, like: TensorOp, name: str, type_: TensorType, part: str, **attributes: Attribute) -> Value:
        """The result of a new op without operands, named after the result of `like`."""
        value = Value(f"{like.results[0].id}.{part}", type_)
        self.append(TensorOp(name, (), (value,), like.location, attributes))
        return value

    def elementwise(self, op: TensorOp) -> TensorOp | None:
        """An op on tensors of one shape as a linalg op; None for what is none."""
        if len(op.results) != 1 or not op.operands or op.name not in known_ops():
            return None
        found = [self.type_of(operand) for operand in op.operands]
        types = [type_ for type_ in found if type_ is not None]
        result = op.results[0].type
        if len(types) != len(found) or {type_.shape for type_ in types} != {result.shape}:
            return None
        count = len(types)
        body = ScalarBody(
            (*(type_.element for type_ in types), result.element),
            (ScalarOp(op.name, tuple(range(count)), result.element, op.attributes),),
            (count + 1,),
        )
        init = self.made(op, "tensor.empty", result, "init")
        structured = _pointwise(result.shape, count, body)
        return replace(op, operands=(*op.operands, init.id), attributes={}, structured=structured)

    def type_of(self, value: str) -> TensorType | None:
        producer = self.producers.get(value)
        return next((r.type for r in producer.results if r.id == value), None) if producer else None

    # ----------------------------------------------------------------- sums

    def sums(self, op: TensorOp, structured: Structured, body: ScalarBody, widened: Sequence[int]) -> None:
        """`op` with the results `widened` in f32, and ops that round these."""
        count = structured.input_count
        operands, results = list(op.operands), list(op.results)
        for number in widened:
            type_ = TensorType(results[number].type.shape, WIDE)
            operands[count + number] = self.wide_start(op, number, operands[count + number], type_)
            results[number] = Value(f"{results[number].id}.wide", type_)
        wide = replace(structured, body=body)
        self.append(replace(op, operands=tuple(operands), results=tuple(results), structured=wide))
        for number in widened:
            self.converted(op, "arith.truncf", results[number], op.results[number])
            self.wide[op.results[number].id] = results[number].id

    def wide_start(self, op: TensorOp, number: int, init: str, type_: TensorType) -> str:
        """What the wider sum begins with: the init in f32, and still a fill where that is one."""
        start = Value(f"{op.results[number].id}.start", type_)
        producer = self.producers.get(init)
        if producer is not None and producer.name == "tensor.empty":
            self.append(replace(producer, results=(start,)))
            return start.id
        data = None if producer is None else self.filled(producer)
        if data is None:
            self.converted(op, "arith.extf", Value(init, replace(type_, element=NARROW)), start)
            return start.id
        value = self.made(op, "arith.constant", TensorType((), WIDE), f"value{number}", value=b"\0\0" + data)
        empty = self.made(op, "tensor.empty", type_, f"empty{number}")
        loops = len(type_.shape)
        body = ScalarBody((WIDE, WIDE), (), (0,))
        fill = replace(_pointwise(type_.shape, 1, body), maps=((), _identity(loops)))
        self.append(TensorOp("linalg.fill", (value.id, empty.id), (start,), op.location, structured=fill))
        return start.id

    def filled(self, op: TensorOp) -> bytes | None:
        """The bytes of the one element that a constant or fill has everywhere, where it is one."""
        if op.structured is not None and op.name == "linalg.fill":
            found = scalar_body.expression(op.structured.body, op.structured.body.yields[0])
            if isinstance(found, scalar_body.Literal):
                return found.data
            producer = self.producers.get(op.operands[0])
            return None if producer is None else self.filled(producer)
        data = op.attributes.get("value")
        single = op.attributes.get("splat") is True or op.results[0].type.count == 1
        return data if op.name == "arith.constant" and isinstance(data, bytes) and single else None

    def converted(self, op: TensorOp, name: str, source: Value, result: Value) -> None:
        empty = self.made(op, "tensor.empty", result.type, f"{name}.{source.id}")
        body = ScalarBody(
            (source.type.element, result.type.element),
            (ScalarOp(name, (0,), result.type.element),),
            (2,),
        )
        structured = _pointwise(result.type.shape, 1, body)
        self.append(TensorOp(op.name, (source.id, empty.id), (result,), op.location, structured=structured))


def _identity(loops: int) -> tuple[AffineResult, ...]:
    return tuple(AffineResult(tuple(int(i == d) for i in range(loops))) for d in range(loops))


def _pointwise(shape: tuple[int, ...], inputs: int, body: ScalarBody) -> Structured:
    """The body for each element of `inputs` tensors and the init."""
    loops = len(shape)
    return Structured(inputs, (_identity(loops),) * (inputs + 1), ("parallel",) * loops, shape, body)


# --------------------------------------------------------------------------- bodies


def _rounding(body: ScalarBody, arguments: Sequence[int]) -> ScalarBody:
    """The body with these arguments in f32, which it rounds first."""
    count = len(body.arguments)
    rounded = {argument: count + number for number, argument in enumerate(arguments)}

    def moved(value: int) -> int:
        return rounded.get(value, value) if value < count else value + len(rounded)

    first = [ScalarOp("arith.truncf", (argument,), NARROW) for argument in arguments]
    rest = [replace(op, operands=tuple(moved(value) for value in op.operands)) for op in body.ops]
    elements = tuple(WIDE if n in rounded else element for n, element in enumerate(body.arguments))
    return ScalarBody(elements, (*first, *rest), tuple(moved(value) for value in body.yields))


def _widened_body(structured: Structured) -> tuple[ScalarBody, tuple[int, ...]] | None:
    """The body with the bf16 accumulators of its sums in f32, and the results that these are; None where
    there are none, or where something else than arithmetic is done with one."""
    body, inputs = structured.body, structured.input_count
    narrow = {n for n, element in enumerate(body.arguments) if n >= inputs and element == NARROW}
    if "reduction" not in structured.iterators or not narrow:
        return None
    sums = _dependent(body, narrow)
    ops = [body.ops[number - len(body.arguments)] for number in sums if number >= len(body.arguments)]
    results = tuple(n for n, value in enumerate(body.yields) if value in sums and inputs + n in narrow)
    read = {operand for op in body.ops for operand in op.operands} & narrow
    if not any(op.name in _ROUNDS for op in ops) or not all(op.name in _WIDENED for op in ops):
        return None
    if not read <= {inputs + n for n in results}:
        return None
    return _WideBody(body, sums, {inputs + n for n in results}).body(), results


def _dependent(body: ScalarBody, arguments: set[int]) -> frozenset[int]:
    """The values of the body that depend on these arguments, which are among them."""
    found = set(arguments)
    for number, op in enumerate(body.ops, len(body.arguments)):
        if found & set(op.operands):
            found.add(number)
    return frozenset(found)


class _WideBody:
    """Makes the body anew in which the values `sums` are f32 instead of bf16."""

    def __init__(self, old: ScalarBody, sums: frozenset[int], accumulators: set[int]) -> None:
        self.old, self.sums, self.accumulators = old, sums, accumulators
        self.ops: list[ScalarOp] = []
        self.known: dict[tuple[int, bool], int] = {}

    def body(self) -> ScalarBody:
        arguments = tuple(
            WIDE if number in self.accumulators else element
            for number, element in enumerate(self.old.arguments)
        )
        yields = tuple(self.value(number, wide=self.is_sum(number)) for number in self.old.yields)
        return ScalarBody(arguments, tuple(self.ops), yields)

    def element(self, number: int) -> str:
        count = len(self.old.arguments)
        return self.old.arguments[number] if number < count else self.old.ops[number - count].element

    def is_sum(self, number: int) -> bool:
        return number in self.sums and self.element(number) == NARROW

    def value(self, number: int, *, wide: bool) -> int:
        """The new number of a value of the old body; `wide`: as f32."""
        key = (number, wide)
        if key not in self.known:
            self.known[key] = self.made(number, wide=wide)
        return self.known[key]

    def made(self, number: int, *, wide: bool) -> int:
        count = len(self.old.arguments)
        op = self.old.ops[number - count] if number >= count else None
        if op is None and (number in self.accumulators or not wide):
            return number
        if op is not None and (number in self.sums or not wide or op.name == "arith.mulf"):
            # a product of two bf16 is exact in f32, and what the multiplier array adds
            deep = wide or number in self.sums
            operands = [self.value(n, wide=deep and self.element(n) == NARROW) for n in op.operands]
            return self.emit(replace(op, operands=tuple(operands), element=WIDE if wide else op.element))
        return self.emit(ScalarOp("arith.extf", (self.value(number, wide=False),), WIDE))

    def emit(self, op: ScalarOp) -> int:
        self.ops.append(op)
        return len(self.old.arguments) + len(self.ops) - 1
