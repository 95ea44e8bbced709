"""Reads the scalar body of a linalg op: which expression of its arguments does it yield?

Only what the built-in backend lowers has a form here; every op of the body that the yielded value needs
must be one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..program import ScalarBody


@dataclass(frozen=True, slots=True)
class Argument:
    """Argument `index` of the body."""

    index: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of the body; `data` are its bytes in memory."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Apply:
    """An op on values of the body; `element` is its result's type."""

    name: str
    operands: tuple[Expression, ...]
    element: str


Expression = Argument | Literal | Apply


@dataclass(frozen=True, slots=True)
class Factor:
    """A body argument, extended to the width of the result: `signed` is how, None where it is not."""

    index: int
    signed: bool | None


_EXTENSIONS = {"arith.extsi": True, "arith.extui": False, "arith.extf": True}

# sums of products: (addition, multiplication) by the type they are in
_SUMS = {"i32": ("arith.addi", "arith.muli"), "f32": ("arith.addf", "arith.mulf")}


# accumulator + extended(argument) * extended(argument): deeper expressions are not lowered
_DEPTH = 3


def expression(body: ScalarBody, value: int, depth: int = _DEPTH) -> Expression:
    """What the body's value number `value` is made of (arguments come first, then the ops' results).

    Ops below `depth` levels are shown without operands.
    """
    if value < len(body.arguments):
        return Argument(value)
    op = body.ops[value - len(body.arguments)]
    data = op.attributes.get("value")
    if op.name == "arith.constant" and isinstance(data, bytes):
        return Literal(data)
    operands = op.operands if depth else ()
    return Apply(op.name, tuple(expression(body, operand, depth - 1) for operand in operands), op.element)


def product(body: ScalarBody) -> tuple[Factor, Factor] | None:
    """The two factors, where the body is `accumulator + factor * factor` in i32 or f32; None otherwise.

    The accumulator is the body's last argument. Both orders of each operation are the same.
    """
    if len(body.yields) != 1:
        return None
    accumulator = Argument(len(body.arguments) - 1)
    total = expression(body, body.yields[0])
    if not (isinstance(total, Apply) and total.element in _SUMS and accumulator in total.operands):
        return None
    addition, multiplication = _SUMS[total.element]
    if total.name != addition:
        return None
    first, second = total.operands
    term = second if first == accumulator else first
    if not (isinstance(term, Apply) and term.name == multiplication and term.element == total.element):
        return None
    factors = [_factor(operand) for operand in term.operands]
    left, right = factors
    if left is None or right is None or accumulator.index in (left.index, right.index):
        return None
    return left, right


def copied(body: ScalarBody) -> Factor | None:
    """The argument that the body yields, as it is or extended; None where it yields something else."""
    if len(body.yields) != 1:
        return None
    factor = _factor(expression(body, body.yields[0]))
    return factor if factor is not None and factor.index < len(body.arguments) - 1 else None


def _factor(value: Expression) -> Factor | None:
    if isinstance(value, Argument):
        return Factor(value.index, None)
    if isinstance(value, Apply) and value.name in _EXTENSIONS and len(value.operands) == 1:
        (source,) = value.operands
        return Factor(source.index, _EXTENSIONS[value.name]) if isinstance(source, Argument) else None
    return None
