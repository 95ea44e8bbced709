"""Numbers known at compile time: integer ops of arith, util and affine on exact bit patterns.

The host program computes sizes and push constants with these ops, and a dispatch puts its 32-bit operands
together again; both become plain numbers once the scalars are known. Semantics: MLIR's arith dialect
(wrap-around at the width; a division by zero or an over-long shift is poison, here unknown). `index` has
64 bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_WIDTH = re.compile(r"[su]?i(\d+)$|b?f(\d+)$")

# arith.cmpi's predicates by number (mlir/include/mlir/Dialect/Arith/IR/ArithBase.td)
INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
# arith.cmpf's, same file
FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip


def bit_width(element: str) -> int | None:
    """Bits of an integer, index or float type; None for any other."""
    if element == "index":
        return 64
    found = _WIDTH.match(element)
    return None if found is None else int(found[1] or found[2])


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar known at compile time: its bits, not extended, and its MLIR type."""

    bits: int
    element: str

    @property
    def width(self) -> int:
        width = bit_width(self.element)
        assert width is not None
        return width

    @property
    def signed(self) -> int:
        """The bits as a two's complement integer."""
        return self.bits - (1 << self.width) if self.bits >> (self.width - 1) else self.bits

    def to_bytes(self) -> bytes:
        """Little-endian, in whole bytes (a sub-byte integer takes the low bits)."""
        return self.bits.to_bytes(-(-self.width // 8), "little")


def number(value: int, element: str) -> Number:
    """`value`, wrapped to the width of `element`. Raises ValueError for a type that is no scalar."""
    width = bit_width(element)
    if width is None:
        raise ValueError(f"{element} is no integer or float type")
    return Number(value & ((1 << width) - 1), element)


def _floor_shift(a: Number, b: Number) -> int | None:
    return a.signed >> b.bits if b.bits < a.width else None


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _ceiling(a: int, b: int) -> int:
    return -(-a // b)


_BINARY: dict[str, Callable[[Number, Number], int | None]] = {
    "arith.addi": lambda a, b: a.bits + b.bits,
    "arith.subi": lambda a, b: a.bits - b.bits,
    "arith.muli": lambda a, b: a.bits * b.bits,
    "arith.andi": lambda a, b: a.bits & b.bits,
    "arith.ori": lambda a, b: a.bits | b.bits,
    "arith.xori": lambda a, b: a.bits ^ b.bits,
    "arith.divui": lambda a, b: a.bits // b.bits if b.bits else None,
    "arith.remui": lambda a, b: a.bits % b.bits if b.bits else None,
    "arith.ceildivui": lambda a, b: _ceiling(a.bits, b.bits) if b.bits else None,
    "arith.divsi": lambda a, b: _truncated(a.signed, b.signed) if b.bits else None,
    "arith.remsi": lambda a, b: a.signed - b.signed * _truncated(a.signed, b.signed) if b.bits else None,
    "arith.floordivsi": lambda a, b: a.signed // b.signed if b.bits else None,
    "arith.ceildivsi": lambda a, b: _ceiling(a.signed, b.signed) if b.bits else None,
    "arith.shli": lambda a, b: a.bits << b.bits if b.bits < a.width else None,
    "arith.shrui": lambda a, b: a.bits >> b.bits if b.bits < a.width else None,
    "arith.shrsi": _floor_shift,
    "arith.maxui": lambda a, b: max(a.bits, b.bits),
    "arith.minui": lambda a, b: min(a.bits, b.bits),
    "arith.maxsi": lambda a, b: max(a.signed, b.signed),
    "arith.minsi": lambda a, b: min(a.signed, b.signed),
    "util.align": lambda a, b: _ceiling(a.bits, b.bits) * b.bits if b.bits else None,
}

# conversions: whether the source is read with its sign
_CASTS = {
    "arith.extui": False,
    "arith.extsi": True,
    "arith.trunci": False,
    "arith.index_cast": True,
    "arith.index_castui": False,
    "arith.bitcast": False,
}

_COMPARE: dict[str, Callable[[Number, Number], bool]] = {
    "eq": lambda a, b: a.bits == b.bits,
    "ne": lambda a, b: a.bits != b.bits,
    "slt": lambda a, b: a.signed < b.signed,
    "sle": lambda a, b: a.signed <= b.signed,
    "sgt": lambda a, b: a.signed > b.signed,
    "sge": lambda a, b: a.signed >= b.signed,
    "ult": lambda a, b: a.bits < b.bits,
    "ule": lambda a, b: a.bits <= b.bits,
    "ugt": lambda a, b: a.bits > b.bits,
    "uge": lambda a, b: a.bits >= b.bits,
}


def evaluate(
    name: str, operands: Sequence[Number], result: str, predicate: int | None = None
) -> Number | None:
    """The value of an op on known operands, of type `result`; None for an op that is not computed here.

    `predicate` is arith.cmpi's attribute.
    """
    if bit_width(result) is None:
        return None
    value: int | None = None
    if name in _BINARY and len(operands) == 2:
        value = _BINARY[name](operands[0], operands[1])
    elif name in _CASTS and len(operands) == 1:
        value = operands[0].signed if _CASTS[name] else operands[0].bits
    elif name == "arith.select" and len(operands) == 3:
        value = operands[1].bits if operands[0].bits else operands[2].bits
    elif name == "arith.cmpi" and len(operands) == 2 and predicate is not None:
        value = int(_COMPARE[INTEGER_PREDICATES[predicate]](operands[0], operands[1]))
    return None if value is None else number(value, result)
