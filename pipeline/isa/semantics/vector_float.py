"""The multiplier array on bfloat16 with float32 accumulators, and adding float accumulators.

One operation adds up to 8 products and its accumulators per lane as one sum: every term is brought to
the largest exponent among them, rounded to nearest even there at 23 bits below the binary point of that
exponent, the terms are added exactly, and the sum is normalised and rounded to nearest even. Subnormal
factors and results are zero. The result is infinite where the sum is too large. A NaN among the terms
gives the pattern of the sum as if exponents were ordinary, with all exponent bits and the lowest
mantissa bit set.

Source: corpus golden/silicon/vec_mac_bf16_ovf.json, 864 sums of 8 products measured on a Phoenix; the
above gives all of them bit for bit (a search over widths and roundings finds no other that does).
Accumulators are not in that data: that they join on the same footing, and infinite factors, are assumed
(docs/isa-coverage.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..bundle import SlotInstruction
from .meaning import Moment, UndefinedMode, meaning
from .value import Choice, Type, Value, constant
from .vector_mac import (
    ACCUMULATOR_DELAY,
    NEGATE_ACC1,
    NEGATE_ACC2,
    NEGATE_PRODUCT,
    ZERO_ACC1,
    Geometry,
    geometry_key,
    step_indices,
)

LANES = Type(32, 16)
_FRACTION = 23
"""Bits below the largest exponent that a term keeps."""
_PRODUCT_FRACTION = 14
"""Fraction bits of the product of two 8-bit mantissas."""
_BIAS = 127
_SIGN_BIT = 1 << 31
_INFINITY = 0x7F800000
_NAN_MARK = 0x7F800001

# Float geometries by (accumulator mode, multiplier mode, variant); facts 3.1
FLOAT_DENSE: dict[tuple[int, int, int], Geometry] = {
    (2, 3, 0): Geometry(16, 16, 4, 8, 4, 32),
    (2, 3, 1): Geometry(16, 16, 0, 2, 16, 32),
}
FLOAT_MODE_BITS = 0xFF | NEGATE_PRODUCT | NEGATE_ACC1 | NEGATE_ACC2


@dataclass(frozen=True, slots=True)
class Term:
    """Lanes of sign (0 or 1), mantissa, and exponent such that the value is mantissa * 2^(exponent - 277).

    The mantissa has its binary point where a product of exponent `exponent` has it, after 23 bits.
    """

    sign: Value
    mantissa: Value
    exponent: Value
    nan: Value
    infinite: Value


@meaning(r"V(NEG)?MUL_F_vmac_bm_core_dense")
def multiply(m: Moment, i: SlotInstruction, negated: str | None) -> None:
    name = "float negmul" if negated else "float mul"
    x, y = m.read(i.register("s1")), m.read(i.register("s2"))
    result = (m.read(i.register("c")) & FLOAT_MODE_BITS).choose(_CHOICES[name], LANES, (x, y))
    m.after(ACCUMULATOR_DELAY).write(i.register("dst"), result)


@meaning(r"V(MAC|MSC)_F_vmac_bm_core_dense")
def multiply_accumulate(m: Moment, i: SlotInstruction, kind: str) -> None:
    x, y, mode = m.read(i.register("s1")), m.read(i.register("s2")), m.read(i.register("c")) & FLOAT_MODE_BITS
    late = m.after(ACCUMULATOR_DELAY)
    acc = late.read(i.register("acc1"))
    late.write(i.register("dst"), mode.choose(_CHOICES[f"float {kind.lower()}"], LANES, (x, y, acc)))


@meaning(r"VADD(MAC|MSC)_F_vmac_bm_core_dense")
def multiply_accumulate_two(m: Moment, i: SlotInstruction, kind: str) -> None:
    x, y, mode = m.read(i.register("s1")), m.read(i.register("s2")), m.read(i.register("c")) & FLOAT_MODE_BITS
    late = m.after(ACCUMULATOR_DELAY)
    accumulators = (late.read(i.register("acc1")), late.read(i.register("acc2")))
    choice = _CHOICES[f"float add{kind.lower()}"]
    late.write(i.register("acc1"), mode.choose(choice, LANES, (x, y, *accumulators)))


@meaning(r"V(NEG)?(ADD|SUB)_F")
def add(m: Moment, i: SlotInstruction, negated: str | None, kind: str) -> None:
    mode = m.read(i.register("c")) & FLOAT_MODE_BITS
    late = m.after(ACCUMULATOR_DELAY)
    choice = _CHOICES[f"float {'neg' if negated else ''}{kind.lower()}"]
    args = (late.read(i.register("acc1")), late.read(i.register("acc2")))
    late.write(i.register("dst"), mode.choose(choice, LANES, args))


@meaning("VNEG_F")
def negate(m: Moment, i: SlotInstruction) -> None:
    mode = m.read(i.register("c")) & FLOAT_MODE_BITS
    late = m.after(ACCUMULATOR_DELAY)
    late.write(i.register("dst"), mode.choose(_CHOICES["float neg"], LANES, (late.read(i.register("acc1")),)))


@meaning("VCLR_vclr_BF")
def clear(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("dst"), constant(LANES, 0))


def products(geometry: Geometry, x: Value, y: Value, *, negate: bool) -> list[Term]:
    """One term for each product that a lane adds."""
    terms: list[Term] = []
    a, b = x.lanes(16), y.lanes(16)
    for k in range(geometry.inner):
        left, right = step_indices(geometry, k)
        terms.append(_product(a.shuffle(left).zext(32), b.shuffle(right).zext(32), negate=negate))
    return terms


def _product(a: Value, b: Value, *, negate: bool) -> Term:
    a_exponent, b_exponent = a.lshr(7) & 0xFF, b.lshr(7) & 0xFF
    zero = a_exponent.eq(0) | b_exponent.eq(0)
    mantissa = ((a & 0x7F) | 0x80) * ((b & 0x7F) | 0x80)
    a_special, b_special = a_exponent.eq(0xFF), b_exponent.eq(0xFF)
    a_nan, b_nan = a_special & (a & 0x7F).ne(0), b_special & (b & 0x7F).ne(0)
    sign = (a ^ b).lshr(15) & 1
    return Term(
        sign=sign ^ 1 if negate else sign,
        mantissa=zero.select(0, mantissa.shl(_FRACTION - _PRODUCT_FRACTION)),
        exponent=zero.select(0, a_exponent + b_exponent),
        nan=a_nan | b_nan | ((a_special | b_special) & zero),
        infinite=(a_special | b_special) & ~zero,
    )


def accumulator(bits: Value, *, negate: bool) -> Term:
    """A float32 accumulator as a term; a subnormal one is zero."""
    exponent = bits.lshr(23) & 0xFF
    fraction = bits & 0x7FFFFF
    zero, special = exponent.eq(0), exponent.eq(0xFF)
    sign = bits.lshr(31)
    return Term(
        sign=sign ^ 1 if negate else sign,
        mantissa=zero.select(0, fraction | 1 << _FRACTION),
        exponent=zero.select(0, exponent + _BIAS),
        nan=special & fraction.ne(0),
        infinite=special & fraction.eq(0),
    )


def add_terms(terms: Sequence[Term]) -> Value:
    """The float32 patterns of the sums."""
    largest = terms[0].exponent
    for term in terms[1:]:
        largest = largest.ult(term.exponent).select(term.exponent, largest)
    total = constant(LANES, 0)
    for term in terms:
        aligned = _round_off(term.mantissa, largest - term.exponent)
        total = total + term.sign.ne(0).select(-aligned, aligned)
    sign = total & _SIGN_BIT
    magnitude = total.slt(0).select(-total, total)
    ordinary = _pack(magnitude, largest, sign)
    return _special(terms, ordinary)


def _round_off(mantissa: Value, distance: Value) -> Value:
    """Shifted right, to nearest even. A term has less than 26 bits, so 27 and more leave nothing."""
    far = constant(LANES, 31)
    steps = distance.ult(far).select(distance, far)
    shifted = mantissa.lshr(steps)
    bias = constant(LANES, 1).shl(steps).lshr(1) - 1 + (shifted & 1)
    return steps.eq(0).select(mantissa, (mantissa + bias).lshr(steps))


def _pack(magnitude: Value, exponent: Value, sign: Value) -> Value:
    """A sum with 23 fraction bits below `exponent` (that of a product: two biases) as float32."""
    zeros = magnitude.clz()
    normal = magnitude.shl(zeros)
    rounded = normal.lshr(8) + _rounds_up(normal)
    carry = rounded.lshr(24)
    mantissa = carry.ne(0).select(rounded.lshr(1), rounded) & 0x7FFFFF
    biased = exponent - _BIAS + (31 - _FRACTION) - zeros + carry
    packed = sign | biased.shl(23) | mantissa
    overflow = constant(LANES, 0xFE).slt(biased)
    underflow = biased.slt(1)
    nonzero = underflow.select(sign, overflow.select(sign | _INFINITY, packed))
    return magnitude.eq(0).select(0, nonzero)


def _rounds_up(normal: Value) -> Value:
    """Whether the low 8 bits of a 32-bit mantissa round it up, to nearest even."""
    rest, odd = normal & 0xFF, normal.lshr(8) & 1
    over = constant(LANES, 0x80).ult(rest) | (rest.eq(0x80) & odd.ne(0))
    return over.zext(32)


def _special(terms: Sequence[Term], ordinary: Value) -> Value:
    none = constant(LANES.with_width(1), 0)
    nan, up, down = none, none, none
    for term in terms:
        nan = nan | term.nan
        negative = term.sign.ne(0)
        up = up | (term.infinite & ~negative)
        down = down | (term.infinite & negative)
    infinite = down.select(constant(LANES, _SIGN_BIT | _INFINITY), _INFINITY)
    result = (up | down).select(infinite, ordinary)
    return (nan | (up & down)).select(ordinary | _NAN_MARK, result)


def _multiplied(mode: int, args: tuple[Value, ...], *, minus: bool) -> Value:
    """The factors, then the accumulators that are added."""
    geometry = FLOAT_DENSE.get(geometry_key(mode))
    if geometry is None:
        raise UndefinedMode(f"float multiplier mode word {mode:#x}")
    return sum_of_products(geometry, mode, args, minus=minus)


def sum_of_products(geometry: Geometry, mode: int, args: tuple[Value, ...], *, minus: bool) -> Value:
    """The factors as `geometry` takes them, then the accumulators, added as the mode word says."""
    x, y, *accumulators = args
    terms = products(geometry, x, y, negate=bool(mode & NEGATE_PRODUCT) != minus)
    for number, acc in enumerate(accumulators):
        if number or not mode & ZERO_ACC1:
            terms.append(accumulator(acc, negate=bool(mode & (NEGATE_ACC2 if number else NEGATE_ACC1))))
    return add_terms(terms)


def _added(mode: int, args: tuple[Value, ...], *, first: bool, second: bool) -> Value:
    terms: list[Term] = []
    if not mode & ZERO_ACC1:
        terms.append(accumulator(args[0], negate=bool(mode & NEGATE_ACC1) != first))
    terms += [accumulator(arg, negate=bool(mode & NEGATE_ACC2) != second) for arg in args[1:]]
    return add_terms(terms) if terms else constant(LANES, 0)


def _is_float(mode: int) -> bool:
    return geometry_key(mode) in FLOAT_DENSE


def _any(_: int) -> bool:
    return True


_CHOICES = {
    choice.name: choice
    for choice in (
        Choice("float mul", lambda mode, args: _multiplied(mode, args, minus=False), _is_float, _is_float),
        Choice("float negmul", lambda mode, args: _multiplied(mode, args, minus=True), _is_float, _is_float),
        Choice("float mac", lambda mode, args: _multiplied(mode, args, minus=False), _is_float, _is_float),
        Choice("float msc", lambda mode, args: _multiplied(mode, args, minus=True), _is_float, _is_float),
        Choice("float addmac", lambda mode, args: _multiplied(mode, args, minus=False), _is_float, _is_float),
        Choice("float addmsc", lambda mode, args: _multiplied(mode, args, minus=True), _is_float, _is_float),
        Choice("float add", lambda mode, args: _added(mode, args, first=False, second=False), _any, _any),
        Choice("float sub", lambda mode, args: _added(mode, args, first=False, second=True), _any, _any),
        Choice("float negadd", lambda mode, args: _added(mode, args, first=True, second=True), _any, _any),
        Choice("float negsub", lambda mode, args: _added(mode, args, first=True, second=False), _any, _any),
        Choice("float neg", lambda mode, args: _added(mode, args, first=True, second=False), _any, _any),
    )
}
