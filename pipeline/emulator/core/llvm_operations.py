"""The operations of isa/semantics/value.py as LLVM instructions.

They must give what operations.py gives, whatever the arguments: where LLVM leaves a result undefined
(shifts by the width and more, lanes outside of a vector) the difference is made up here.
"""

from __future__ import annotations

from collections.abc import Callable

from ...isa.semantics.value import Type, Value
from .llvm_text import Lines, Operand, literal, llvm_type
from .operations import compute as compute_plainly


def compute(w: Lines, node: Value, args: list[Operand]) -> Operand:
    """A node that is neither leaf nor choice; folded where all arguments are scalar constants."""
    if args and not node.type.is_vector and all(a.number is not None for a in args):
        result = compute_plainly(node, [a.number for a in args if a.number is not None])
        assert isinstance(result, int)
        return literal(node.type, result)
    return _OPERATIONS[node.name](w, node, args)


Emitter = Callable[[Lines, Value, list[Operand]], Operand]


def _binary(name: str) -> Emitter:
    def emit(w: Lines, node: Value, args: list[Operand]) -> Operand:
        return w.assign(node.type, f"{name} {args[0].typed}, {args[1].text}")

    return emit


def _shift(name: str) -> Emitter:
    """LLVM leaves amounts of the width and more undefined; here they give zero, or the sign."""

    def emit(w: Lines, node: Value, args: list[Operand]) -> Operand:
        value, amount = args
        type_, width = node.type, node.type.width
        known = amount.number
        if known is None and node.args[1].name == "constant" and max(node.args[1].numbers) < width:
            known = 0
        if known is not None and known < width:
            return w.assign(type_, f"{name} {value.typed}, {amount.text}")
        limit = literal(type_, width)
        inside = w.assign(type_.with_width(1), f"icmp ult {amount.typed}, {limit.text}")
        if name == "ashr":
            last = literal(type_, width - 1)
            clamped = w.assign(type_, f"select {inside.typed}, {amount.typed}, {last.typed}")
            return w.assign(type_, f"ashr {value.typed}, {clamped.text}")
        shifted = w.assign(type_, f"{name} {value.typed}, {amount.text}")
        return w.assign(type_, f"select {inside.typed}, {shifted.typed}, {literal(type_, 0).typed}")

    return emit


def _compare(predicate: str) -> Emitter:
    def emit(w: Lines, node: Value, args: list[Operand]) -> Operand:
        return w.assign(node.type, f"icmp {predicate} {args[0].typed}, {args[1].text}")

    return emit


def _select(w: Lines, node: Value, args: list[Operand]) -> Operand:
    condition, yes, no = args
    if condition.number is not None:
        return yes if condition.number else no
    return w.assign(node.type, f"select {condition.typed}, {yes.typed}, {no.typed}")


def _convert(name: str) -> Emitter:
    def emit(w: Lines, node: Value, args: list[Operand]) -> Operand:
        return w.assign(node.type, f"{name} {args[0].typed} to {llvm_type(node.type)}")

    return emit


def _clz(w: Lines, node: Value, args: list[Operand]) -> Operand:
    type_ = llvm_type(node.type)
    suffix = f"v{node.type.lanes}i{node.type.width}" if node.type.is_vector else type_
    return w.call(node.type, f"llvm.ctlz.{suffix}", f"{args[0].typed}, i1 false", f"{type_}, i1")


def _splat(w: Lines, node: Value, args: list[Operand]) -> Operand:
    first = w.assign(node.type, f"insertelement {llvm_type(node.type)} poison, {args[0].typed}, i32 0")
    return w.shuffle(first, None, (0,) * node.type.lanes)


def _shuffle(w: Lines, node: Value, args: list[Operand]) -> Operand:
    return w.shuffle(args[0], args[1] if len(args) > 1 else None, node.numbers)


def _lane(w: Lines, index: Operand, lanes: int) -> Operand:
    if index.number is not None:
        return literal(Type(32), index.number % lanes)
    return w.assign(index.type, f"and {index.typed}, {lanes - 1}")


def _extract(w: Lines, node: Value, args: list[Operand]) -> Operand:
    index = _lane(w, args[1], args[0].type.lanes)
    return w.assign(node.type, f"extractelement {args[0].typed}, {index.typed}")


def _insert(w: Lines, node: Value, args: list[Operand]) -> Operand:
    index = _lane(w, args[1], args[0].type.lanes)
    return w.assign(node.type, f"insertelement {args[0].typed}, {args[2].typed}, {index.typed}")


_OPERATIONS: dict[str, Emitter] = {
    **{name: _binary(name) for name in ("add", "sub", "mul", "and", "or", "xor")},
    **{name: _shift(name) for name in ("shl", "lshr", "ashr")},
    **{name: _compare(name) for name in ("eq", "ne", "ult", "ule", "slt", "sle")},
    **{name: _convert(name) for name in ("zext", "sext", "trunc", "bitcast")},
    "select": _select,
    "clz": _clz,
    "splat": _splat,
    "shuffle": _shuffle,
    "extract": _extract,
    "insert": _insert,
}
