"""The vector ALU of the mv slot: lanes of 8, 16 and 32 bits in x registers, masks in r and l registers.

A comparison mask has bit n for lane n. The forms with `s` are signed; those with `d` are signed where
crVaddSign is 1 and unsigned where it is 0 (llvm-aie selects `d` and sets crVaddSign for an intrinsic's
sign argument). `max_lt` and its like give the value and the mask of the comparison in their name.
What each computes: llvm-aie's aiev2_vadd.h; polarity of `sel` from its lut_pointer (aiev2_addr.h: a set
bit takes the second operand).
"""

from __future__ import annotations

from ..bundle import SlotInstruction
from .meaning import Moment, meaning
from .value import Type, Value, constant

_REGISTER_BITS = 512


@meaning(r"V(ADD|SUB)_(8|16|32)")
def add_or_subtract(m: Moment, i: SlotInstruction, operation: str, width: str) -> None:
    a, b = _lanes(m, i, "s1", width), _lanes(m, i, "s2", width)
    m.write(i.register("d"), a + b if operation == "ADD" else a - b)


@meaning(r"VB(AND|OR)")
def bitwise(m: Moment, i: SlotInstruction, operation: str) -> None:
    a, b = m.read(i.register("s1")), m.read(i.register("s2"))
    m.write(i.register("d"), a & b if operation == "AND" else a | b)


@meaning(r"VADDSUB_(8|16|32)")
def add_and_subtract(m: Moment, i: SlotInstruction, width: str) -> None:
    """A set bit of the mask subtracts in that lane."""
    a, b = _lanes(m, i, "s1", width), _lanes(m, i, "s2", width)
    subtract = mask_to_lanes(m.read(i.register("sel")), a.type.lanes)
    m.write(i.register("d"), subtract.select(a - b, a + b))


@meaning(r"VSEL_(8|16|32)")
def select(m: Moment, i: SlotInstruction, width: str) -> None:
    """A set bit of the mask takes the second operand's lane."""
    a, b = _lanes(m, i, "s1", width), _lanes(m, i, "s2", width)
    second = mask_to_lanes(m.read(i.register("sel")), a.type.lanes)
    m.write(i.register("d"), second.select(b, a))


@meaning(r"V(GE|LT)_([SD])(8|16|32)")
def compare(m: Moment, i: SlotInstruction, relation: str, sign: str, width: str) -> None:
    less = _less(m, _lanes(m, i, "s1", width), _lanes(m, i, "s2", width), sign)
    m.write(i.register("cmp"), lanes_to_mask(~less if relation == "GE" else less))


@meaning(r"V(GE|LT)_BF16")
def compare_bf16(m: Moment, i: SlotInstruction, relation: str) -> None:
    less = bf16_less(_lanes(m, i, "s1", "16"), _lanes(m, i, "s2", "16"))
    m.write(i.register("cmp"), lanes_to_mask(~less if relation == "GE" else less))


@meaning(r"VEQZ_(8|16|32)")
def equal_zero(m: Moment, i: SlotInstruction, width: str) -> None:
    m.write(i.register("cmp"), lanes_to_mask(_lanes(m, i, "s2", width).eq(0)))


@meaning(r"V(MAX_LT|MIN_GE|MAXDIFF_LT|SUB_LT|SUB_GE)_([SD])(8|16|32)")
def arithmetic_and_compare(m: Moment, i: SlotInstruction, what: str, sign: str, width: str) -> None:
    a, b = _lanes(m, i, "s1", width), _lanes(m, i, "s2", width)
    less = _less(m, a, b, sign)
    value = {
        "MAX_LT": lambda: less.select(b, a),
        "MIN_GE": lambda: less.select(a, b),
        "MAXDIFF_LT": lambda: less.select(0, a - b),
        "SUB_LT": lambda: a - b,
        "SUB_GE": lambda: a - b,
    }[what]()
    m.write(i.register("d"), value)
    m.write(i.register("cmp"), lanes_to_mask(~less if what.endswith("GE") else less))


@meaning(r"V(MAX_LT|MIN_GE)_BF16")
def extreme_bf16(m: Moment, i: SlotInstruction, what: str) -> None:
    a, b = _lanes(m, i, "s1", "16"), _lanes(m, i, "s2", "16")
    less = bf16_less(a, b)
    m.write(i.register("d"), less.select(b, a) if what == "MAX_LT" else less.select(a, b))
    m.write(i.register("cmp"), lanes_to_mask(~less if what == "MIN_GE" else less))


@meaning(r"VABS_GTZ_([SD])(8|16|32)")
def absolute(m: Moment, i: SlotInstruction, sign: str, width: str) -> None:
    a = _lanes(m, i, "s1", width)
    zero = constant(a.type, 0)
    negative = _less(m, a, zero, sign)
    m.write(i.register("d"), negative.select(-a, a))
    m.write(i.register("cmp"), lanes_to_mask(_less(m, zero, a, sign)))


@meaning(r"VNEG_GTZ(8|16|32)")
def negate(m: Moment, i: SlotInstruction, width: str) -> None:
    a = _lanes(m, i, "s1", width)
    m.write(i.register("d"), -a)
    m.write(i.register("cmp"), lanes_to_mask(constant(a.type, 0).slt(a)))


@meaning(r"VBNEG_LTZ_S(8|16|32)")
def complement(m: Moment, i: SlotInstruction, width: str) -> None:
    a = _lanes(m, i, "s1", width)
    m.write(i.register("d"), ~a)
    m.write(i.register("cmp"), lanes_to_mask(a.slt(0)))


def _lanes(m: Moment, i: SlotInstruction, operand: str, width: str) -> Value:
    bits = int(width)
    return m.read(i.register(operand), Type(bits, _REGISTER_BITS // bits))


def _less(m: Moment, a: Value, b: Value, sign: str) -> Value:
    if sign == "S":
        return a.slt(b)
    signed = m.read("crVaddSign").trunc(1)
    return signed.select(a.slt(b), a.ult(b))


def bf16_less(a: Value, b: Value) -> Value:
    """a < b for bf16 patterns; zeros of both signs are equal, and nothing is less than or greater than a
    NaN."""
    a_key, b_key = _ordered(a), _ordered(b)
    numbers = ~(_is_nan(a) | _is_nan(b))
    return a_key.slt(b_key) & numbers


def _ordered(x: Value) -> Value:
    """Signed integers in the order of the numbers."""
    return x.slt(0).select(constant(x.type, 0x8000) - x, x)


def _is_nan(x: Value) -> Value:
    return constant(x.type, 0x7F80).ult(x & 0x7FFF)


def mask_to_lanes(mask: Value, lanes: int) -> Value:
    """The low bits of a scalar as one bit per lane."""
    scalar = mask if mask.type.width == lanes else mask.trunc(lanes)
    return scalar.bitcast(Type(1, lanes))


def lanes_to_mask(bits: Value) -> Value:
    """One bit per lane as a scalar."""
    return bits.bitcast(Type(bits.type.lanes))
