"""Integer arithmetic of arith and math. Results may be wider than their type: the caller wraps them."""

from __future__ import annotations

import numpy as np

from ..errors import UsageError
from .operation import Call, Function, Number, Operation, plain, signed, truth, unsigned
from .rounding import Int64

_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
RELATIONS: dict[str, Function] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def predicate(call: Call, names: tuple[str, ...]) -> str:
    """The attribute as its keyword, whether it was read as a number or as the word."""
    value = call.op.attributes["predicate"]
    return names[value] if isinstance(value, int) else str(value)


def _compare(call: Call) -> Number:
    name = predicate(call, _PREDICATES)
    if name[0] == "u":
        return truth(RELATIONS[name[-2:]](call.unsigned(0), call.unsigned(1)))
    return truth(RELATIONS[name[-2:]](*call.operands))


def _dividing(function: Function, *, is_unsigned: bool = False) -> Operation:
    def run(call: Call) -> Number:
        left, right = call.operands
        if np.any(right == 0):
            raise UsageError(
                f"{call.op.name} divides by zero with these inputs: MLIR leaves the result undefined",
                remedy="give inputs that do not (--input)",
            )
        if is_unsigned:
            return signed(function(call.unsigned(0), call.unsigned(1)))
        return function(left, right)

    return run


def _shift(function: Function, *, is_unsigned: bool = False) -> Operation:
    """Shifts by the width or more are poison in MLIR; they give 0 here, and an unused one does no harm."""

    def run(call: Call) -> Number:
        amount = call.unsigned(1)
        within = amount < call.width(0)
        safe = np.where(within, amount, 0)
        if is_unsigned:
            return np.where(within, signed(function(call.unsigned(0), safe)), 0)
        return np.where(within, function(call.operands[0], safe.astype(np.int64)), 0)

    return run


def _quotient(left: Int64, right: Int64) -> Int64:
    """Rounds towards zero, as divsi does (numpy rounds down)."""
    down = left // right
    return down + ((down < 0) & (down * right != left))


def _ceiling(left: Number, right: Number) -> Number:
    down = left // right
    return down + (down * right != left)


def _power(base: Int64, exponent: Int64) -> Int64:
    base, exponent = np.broadcast_arrays(base, exponent)
    result, square, rest = np.ones_like(base), base.copy(), np.maximum(exponent, 0)
    while np.any(rest > 0):
        result = np.where(rest & 1 == 1, result * square, result)
        square, rest = square * square, rest >> 1
    # a negative exponent: 1 / base ** n, which is 0 but for 1 and -1
    inverse = np.where(base == 1, 1, np.where(base == -1, np.where(exponent & 1 == 1, -1, 1), 0))
    return np.where(exponent < 0, inverse, result)


def _bit_count(call: Call) -> Number:
    return np.bitwise_count(call.unsigned(0)).astype(np.int64)


def _leading_zeros(call: Call) -> Number:
    rest, count = call.unsigned(0), np.full(call.operands[0].shape, call.width(0))
    while np.any(rest > 0):
        count = count - (rest > 0)
        rest = rest >> np.uint64(1)
    return count


def _trailing_zeros(call: Call) -> Number:
    value = call.unsigned(0)
    below = (value & (~value + np.uint64(1))) - np.uint64(1)
    return np.where(value == 0, call.width(0), np.bitwise_count(below).astype(np.int64))


def _select(condition: Number, yes: Number, no: Number) -> Number:
    return np.where(condition != 0, yes, no)


TABLE: dict[str, Operation] = {
    "arith.addi": plain(np.add),
    "arith.subi": plain(np.subtract),
    "arith.muli": plain(np.multiply),
    "arith.andi": plain(np.bitwise_and),
    "arith.ori": plain(np.bitwise_or),
    "arith.xori": plain(np.bitwise_xor),
    "arith.maxsi": plain(np.maximum),
    "arith.minsi": plain(np.minimum),
    "arith.maxui": unsigned(np.maximum),
    "arith.minui": unsigned(np.minimum),
    "arith.divsi": _dividing(_quotient),
    "arith.remsi": _dividing(np.fmod),
    "arith.floordivsi": _dividing(np.floor_divide),
    "arith.ceildivsi": _dividing(_ceiling),
    "arith.divui": _dividing(np.floor_divide, is_unsigned=True),
    "arith.remui": _dividing(np.remainder, is_unsigned=True),
    "arith.ceildivui": _dividing(_ceiling, is_unsigned=True),
    "arith.shli": _shift(np.left_shift),
    "arith.shrsi": _shift(np.right_shift),
    "arith.shrui": _shift(np.right_shift, is_unsigned=True),
    "arith.cmpi": _compare,
    "arith.select": plain(_select),
    "math.absi": plain(np.abs),
    "math.ipowi": plain(_power),
    "math.ctpop": _bit_count,
    "math.ctlz": _leading_zeros,
    "math.cttz": _trailing_zeros,
}
