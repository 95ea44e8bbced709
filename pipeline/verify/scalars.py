"""Every scalar op that the reference knows, and the rounding or wrapping that follows each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..program import ScalarOp
from . import conversions, floats, integers
from .operation import Call, Number, Operation
from .rounding import rounded, wrapped
from .storage import integer_bits

_OPERATIONS: dict[str, Operation] = integers.TABLE | floats.TABLE | conversions.TABLE
# ops that only move, choose or exactly convert floats: no rounding of their own
EXACT = {
    "arith.negf", "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf", "arith.select",
    "arith.cmpf", "arith.extf", "arith.constant", "arith.bitcast", "math.absf", "math.copysign", "math.ceil",
    "math.floor", "math.trunc", "math.round", "math.roundeven", "math.isnan", "math.isinf", "math.isfinite",
    "math.clampf",
}  # fmt: skip


def is_known(name: str) -> bool:
    """Whether we know what the scalar op called `name` does."""
    return name in _OPERATIONS


def apply(op: ScalarOp, elements: Sequence[str], operands: Sequence[Number], *, wide: bool = False) -> Number:
    """The op's result in the working form of its element type.

    `wide` leaves float arithmetic unrounded (in float64), as a wide accumulator would; truncf rounds
    always. Raises KeyError for an unknown op or a type it has no meaning for, UsageError where MLIR leaves
    the result undefined.
    """
    with np.errstate(all="ignore"):
        result = _OPERATIONS[op.name](Call(op, elements, operands))
        return settle(result, op.element, wide=wide and op.name != "arith.truncf")


def settle(value: Number, element: str, *, wide: bool = False) -> Number:
    """Brings a freshly computed array into the working form of `element`."""
    bits = integer_bits(element)
    if bits is not None:
        return wrapped(np.asarray(value).astype(np.int64), bits)
    if element.startswith("complex"):
        return np.asarray(value)
    return np.asarray(value, np.float64) if wide else rounded(np.asarray(value, np.float64), element)
