"""How a scalar op is called by the reference: over arrays, in the working form.

Integers of any width up to 64 are int64 arrays, sign-extended (i1 true is -1); floats are float64 arrays
whose values the type can hold. The caller wraps or rounds what an operation returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..program import ScalarOp
from .rounding import Int64
from .storage import integer_bits

Number = npt.NDArray[Any]
Function = Callable[..., Number]


@dataclass(frozen=True, slots=True)
class Call:
    """An op with the element types and arrays of its operands."""

    op: ScalarOp
    elements: Sequence[str]
    operands: Sequence[Number]

    def unsigned(self, operand: int) -> npt.NDArray[np.uint64]:
        """The operand's bits read as unsigned."""
        bits = self.width(operand)
        raw = self.operands[operand].astype(np.int64).view(np.uint64)
        return raw if bits >= 64 else raw & np.uint64((1 << bits) - 1)

    def width(self, operand: int) -> int:
        """The operand's width in bits. Raises KeyError when it is no integer."""
        return integer_width(self.elements[operand])


Operation = Callable[[Call], Number]


def plain(function: Function) -> Operation:
    """An operation that only needs the operands."""
    return lambda call: function(*call.operands)


def unsigned(function: Function) -> Operation:
    """An operation on the unsigned readings of all operands."""
    return lambda call: signed(function(*(call.unsigned(i) for i in range(len(call.operands)))))


def signed(value: Number) -> Int64:
    """uint64 bits as int64."""
    return np.asarray(value, np.uint64).view(np.int64)


def truth(value: Number) -> Int64:
    """A numpy bool as i1."""
    return -np.asarray(value).astype(np.int64)


def integer_width(element: str) -> int:
    """Bits of an integer type. Raises KeyError for another."""
    bits = integer_bits(element)
    if bits is None:
        raise KeyError(element)
    return bits
