"""Ops on tensors, from MLIR to the dataclasses of `program.py`.

One reader for two texts: the user's functions before any pass (the reference evaluates them) and the bodies
of dispatches (backends lower them). Scalars that are known fold away on the fly (`arithmetic`), so that a
shape given by a constant is static and a dispatch has its push constants inside. An op that is not read keeps
its name, has the attribute "unread", and is refused by whoever must understand it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from .. import dtypes
from ..errors import CompileError
from ..program import Attribute, SourceLocation, TensorOp, TensorType, Value
from . import capi, constants, mlir
from .arithmetic import FLOAT_PREDICATES, INTEGER_PREDICATES, Number, evaluate
from .location import place
from .mlir import Context, Operation
from .structured import BodyReader, is_structured, read_structured

# ops whose result is one of their operands
_TRANSPARENT = frozenset(
    {"util.optimization_barrier", "util.assume.int", "iree_tensor_ext.dispatch.workload.ordinal"}
)
_CONSTANTS = frozenset(
    {"arith.constant", "util.unfoldable_constant", "complex.constant", "flow.tensor.constant"}
)
_CONTROL_FLOW = "scf."
# ops whose attributes and operands are all said by the types
_PLAIN_PREFIXES = ("arith.", "math.", "complex.")
_PLAIN = frozenset(
    {"tensor.cast", "tensor.extract", "tensor.from_elements", "tensor.splat", "tensor.bitcast"}
)


class OpReader:
    """Reads the operations of one function or dispatch, in order, into `ops`."""

    def __init__(self, file: str, context: Context) -> None:
        self.file = file
        self.context = context
        self.ops: list[TensorOp] = []
        self._values: dict[mlir.Value, Value] = {}
        self._numbers: dict[mlir.Value, tuple[Number, SourceLocation]] = {}
        self._next = 0
        self._handlers: dict[str, Callable[[Operation], None]] = {
            "tensor.empty": self._empty,
            "tensor.dim": self._dim,
            "tensor.pad": self._pad,
            "tensor.concat": self._concat,
            "tensor.extract_slice": self._extract_slice,
            "tensor.insert_slice": self._insert_slice,
            "tensor.collapse_shape": self._reshape,
            "tensor.expand_shape": self._reshape,
        }

    # ----------------------------------------------------------------- for subclasses and users

    def handle(self, name: str, handler: Callable[[Operation], None]) -> None:
        """Reads ops of that name with `handler`."""
        self._handlers[name] = handler

    def bind(self, value: mlir.Value, known: Value) -> None:
        """Gives a value of the IR its name and static type."""
        self._values[value] = known

    def know(self, value: mlir.Value, number: Number, location: SourceLocation) -> None:
        """Says that a scalar of the IR has this value."""
        self._numbers[value] = (number, location)

    def number(self, value: mlir.Value) -> Number | None:
        """The value of a scalar, where it is known."""
        found = self._numbers.get(value)
        return None if found is None else found[0]

    def known_size(self, value: mlir.Value) -> int:
        """A dimension: the value of an index, or -1."""
        found = self.number(value)
        return -1 if found is None else found.signed

    def use(self, value: mlir.Value) -> Value:
        """The value as an operand; a known scalar becomes an arith.constant."""
        bound = self._values.get(value)
        if bound is not None:
            return bound
        number, location = self._numbers[value]
        made = self.fresh(TensorType((), number.element))
        attributes: dict[str, Attribute] = {"value": number.to_bytes(), "splat": False}
        self.ops.append(TensorOp("arith.constant", (), (made,), location, attributes))
        self.bind(value, made)
        return made

    def fresh(self, type_: TensorType, prefix: str = "%") -> Value:
        """A new value with an id that is unique here."""
        made = Value(f"{prefix}{self._next}", type_)
        self._next += 1
        return made

    def type_of(self, type_: mlir.Type, op: Operation) -> TensorType:
        """The tensor type (a scalar is rank 0). Raises CompileError for any other type."""
        found = mlir.shaped(type_)
        shape, element = ((), str(type_)) if found is None else found
        if not dtypes.is_known(element):
            raise self.refusal(_type_message(op, str(type_)), op)
        return TensorType(shape, element)

    def refusal(self, message: str, op: Operation, remedy: str | None = None) -> CompileError:
        """The error for an op that cannot be read at all."""
        return CompileError(message, location=place(op, self.file), remedy=remedy, op=op.name)

    def read(self, op: Operation) -> None:
        """Reads one operation. Raises CompileError for types that are no tensors."""
        name = op.name
        if name in self._handlers:
            self._handlers[name](op)
        elif name in _CONSTANTS:
            self._constant(op)
        elif name in _TRANSPARENT:
            self._pass_through(op)
        elif is_structured(op):
            self._structured(op)
        elif not self._fold(op):
            plain = name in _PLAIN or (name.startswith(_PLAIN_PREFIXES) and not op.regions)
            inner = self._inside(op) if name.startswith(_CONTROL_FLOW) else ()
            self.emit(op, [*op.operands], {} if plain else {"unread": True})
            if inner:
                self.ops[-1] = replace(self.ops[-1], inner=inner)

    def emit(
        self,
        op: Operation,
        operands: Sequence[mlir.Value],
        attributes: dict[str, Attribute],
        types: Sequence[TensorType] | None = None,
    ) -> None:
        """Appends a TensorOp with the results of `op`."""
        if types is None:
            types = [self._result_type(op, i) for i in range(len(op.results))]
        if op.name in ("arith.cmpi", "arith.cmpf"):
            names = INTEGER_PREDICATES if op.name == "arith.cmpi" else FLOAT_PREDICATES
            attributes = {**attributes, "predicate": names[mlir.integer(op, "predicate")]}
        used = tuple(self.use(value).id for value in operands if self._usable(value, op))
        made = tuple(self.fresh(type_) for type_ in types)
        for result, value in zip(op.results, made, strict=True):
            self.bind(result, value)
        self.ops.append(TensorOp(op.name, used, made, place(op, self.file), attributes))

    def static_list(self, op: Operation, name: str, dynamic: Sequence[mlir.Value]) -> tuple[int, ...]:
        """A mixed list (static array attribute, its dynamic entries as operands); unknown entries are -1."""
        rest = iter(dynamic)
        return tuple(
            self.known_size(next(rest)) if entry == mlir.DYNAMIC else entry
            for entry in mlir.integers(op, name)
        )

    # ----------------------------------------------------------------- how each kind is read

    def _inside(self, op: Operation) -> tuple[TensorOp, ...]:
        """What is in the regions of control flow, for those who ask what became of it. What has values that
        we cannot hold is left out: the op around it is refused anyway by whoever must understand it."""
        outside, self.ops = self.ops, []
        values = dict(self._values)
        for block, body in mlir.blocks(op).items():
            for argument in block.arguments:
                shape, element = mlir.shaped(argument.type) or ((), str(argument.type))
                if dtypes.is_known(element):
                    self.bind(argument, self.fresh(TensorType(shape, element)))
            for inner in body:
                with contextlib.suppress(CompileError):
                    self.read(inner)
        found, self.ops = tuple(self.ops), outside
        self._values = values
        return found

    def _usable(self, value: mlir.Value, op: Operation) -> bool:
        if value in self._values or value in self._numbers:
            return True
        raise self.refusal(_type_message(op, str(value.type)), op)

    def _result_type(self, op: Operation, index: int) -> TensorType:
        """The result's type; a dynamic one takes the shape of an operand of the same rank, if that is static.

        That holds for the elementwise ops and casts that reach this place.
        """
        type_ = self.type_of(op.results[index].type, op)
        if -1 not in type_.shape:
            return type_
        for operand in op.operands:
            known = self._values.get(operand)
            if known is not None and len(known.type.shape) == len(type_.shape):
                return TensorType(known.type.shape, type_.element)
        return type_

    def _constant(self, op: Operation) -> None:
        type_ = self.type_of(op.results[0].type, op)
        handle = capi.attribute_handle(op, "value")
        if mlir.shaped(op.results[0].type) is not None and handle is not None:
            found = constants.dense(handle, type_)
            if found is None:
                self.emit(op, (), {"unread": True}, (type_,))
                return
            made = self.fresh(type_)
            self.bind(op.results[0], made)
            attributes: dict[str, Attribute] = {"value": found[0], "splat": found[1]}
            self.ops.append(TensorOp("arith.constant", (), (made,), place(op, self.file), attributes))
            return
        value = op.attributes["value"]
        if op.name == "complex.constant":
            data = constants.complex_scalar(value, type_.element, self.context)
            self.emit(op, (), {"value": data, "splat": False} if data else {"unread": True}, (type_,))
            return
        number = constants.scalar(value, type_.element, self.context)
        if number is None:
            self.emit(op, (), {"unread": True}, (type_,))
        else:
            self.know(op.results[0], number, place(op, self.file))

    def _pass_through(self, op: Operation) -> None:
        for operand, result in zip(op.operands, op.results, strict=False):
            if operand in self._numbers:
                self._numbers[result] = self._numbers[operand]
            if operand in self._values:
                self.bind(result, self._values[operand])
            self._usable(operand, op)

    def _fold(self, op: Operation) -> bool:
        """Computes an op on known scalars; False where it is none."""
        if len(op.results) != 1 or op.regions or mlir.shaped(op.results[0].type) is not None:
            return False
        numbers = [self.number(value) for value in op.operands]
        known = [n for n in numbers if n is not None]
        if len(known) != len(numbers) or not known:
            return False
        predicate = mlir.integer(op, "predicate") if op.name == "arith.cmpi" else None
        value = evaluate(op.name, known, str(op.results[0].type), predicate)
        if value is None:
            return False
        self.know(op.results[0], value, place(op, self.file))
        return True

    def _structured(self, op: Operation) -> None:
        inits = op.operands[len(op.operands) - len(op.results) :]
        operands = [self._operand_type(value, op) for value in op.operands]
        types = [self._operand_type(value, op) for value in inits]
        body = BodyReader(op, self._captured)
        structured = read_structured(op, operands, body)
        if structured is None:
            why: dict[str, Attribute] = {} if body.strange is None else {"unread_op": body.strange}
            self.emit(op, [*op.operands], {"unread": True, **why}, types)
            return
        inputs = [*op.operands][: len(op.operands) - len(op.results)]
        self.emit(op, [*inputs, *body.captured, *inits], {}, types)
        self.ops[-1] = TensorOp(
            op.name, self.ops[-1].operands, self.ops[-1].results, self.ops[-1].location, {}, structured
        )

    def _operand_type(self, value: mlir.Value, op: Operation) -> TensorType:
        self._usable(value, op)
        return self.use(value).type

    def _captured(self, value: mlir.Value) -> Number | TensorType | None:
        """What a linalg body takes from outside: a number, the type of another scalar, or unknown."""
        found = self.number(value)
        if found is not None:
            return found
        bound = self._values.get(value)
        return None if bound is None else bound.type

    def _empty(self, op: Operation) -> None:
        type_ = self.type_of(op.results[0].type, op)
        sizes = iter(op.operands)
        shape = tuple(self.known_size(next(sizes)) if dim == -1 else dim for dim in type_.shape)
        self.emit(op, (), {}, (TensorType(shape, type_.element),))

    def _dim(self, op: Operation) -> None:
        source = self._operand_type(op.operands[0], op)
        index = self.number(op.operands[1])
        known = -1 if index is None or index.bits >= len(source.shape) else source.shape[index.bits]
        if known < 0:
            self.emit(op, [*op.operands], {"unread": True})
        else:
            self.know(op.results[0], Number(known, "index"), place(op, self.file))

    def _pad(self, op: Operation) -> None:
        source = self._operand_type(op.operands[0], op)
        dynamic_low = mlir.integers(op, "static_low").count(mlir.DYNAMIC)
        low = self.static_list(op, "static_low", op.operands[1 : 1 + dynamic_low])
        high = self.static_list(op, "static_high", op.operands[1 + dynamic_low :])
        element = source.element
        shape = tuple(
            -1 if -1 in (size, before, after) else size + before + after
            for size, before, after in zip(source.shape, low, high, strict=True)
        )
        inner = mlir.children(op)
        for constant in inner[:-1]:
            if constant.name in _CONSTANTS:
                self._constant(constant)
        padding = inner[-1].operands[0]
        readable = -1 not in low and -1 not in high and (padding in self._values or padding in self._numbers)
        if readable:
            self.emit(
                op, [op.operands[0], padding], {"low": low, "high": high}, (TensorType(shape, element),)
            )
        else:
            self.emit(op, [op.operands[0]], {"unread": True}, (TensorType(shape, element),))

    def _concat(self, op: Operation) -> None:
        dim = mlir.integer(op, "dim")
        sources = [self._operand_type(value, op) for value in op.operands]
        sizes = [source.shape[dim] for source in sources]
        shape = list(sources[0].shape)
        shape[dim] = -1 if -1 in sizes else sum(sizes)
        self.emit(op, [*op.operands], {"dim": dim}, (TensorType(tuple(shape), sources[0].element),))

    def _slice_lists(self, op: Operation, first: int) -> dict[str, Attribute]:
        """Offsets, sizes and strides of a slicing op whose dynamic entries begin at operand `first`."""
        position = first
        lists: dict[str, Attribute] = {}
        for name in ("offsets", "sizes", "strides"):
            count = mlir.integers(op, f"static_{name}").count(mlir.DYNAMIC)
            found = self.static_list(op, f"static_{name}", op.operands[position : position + count])
            position += count
            lists[name] = found
        return lists

    def _extract_slice(self, op: Operation) -> None:
        lists = self._slice_lists(op, 1)
        type_ = self.type_of(op.results[0].type, op)
        sizes = cast("tuple[int, ...]", lists["sizes"])
        if -1 in type_.shape and len(sizes) == len(type_.shape):
            type_ = TensorType(sizes, type_.element)
        self.emit(op, [op.operands[0]], _unread_if_unknown(lists), (type_,))

    def _insert_slice(self, op: Operation) -> None:
        target = self._operand_type(op.operands[1], op)
        self.emit(op, op.operands[:2], _unread_if_unknown(self._slice_lists(op, 2)), (target,))

    def _reshape(self, op: Operation) -> None:
        self.emit(op, [op.operands[0]], {}, (self.type_of(op.results[0].type, op),))


def _unread_if_unknown(lists: dict[str, Attribute]) -> dict[str, Attribute]:
    unknown = any(-1 in cast("tuple[int, ...]", found) for found in lists.values())
    return {"unread": True} if unknown else lists


def _type_message(op: Operation, type_: str) -> str:
    if type_.startswith("memref"):
        return f"{op.name} has a value of type {type_}: memrefs are not supported, use tensors"
    return f"{op.name} has a value of type {type_}, which is neither a tensor nor a scalar that we can hold"
