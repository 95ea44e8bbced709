"""Shift-round-saturate and its inverse, and bfloat16: the conversions that control registers steer.

crRnd: the modes of llvm-aie's aiev2_defines.h. crSat: 0 none, 1 saturate, 3 saturate to a symmetric
range (facts 3.1). Shift amounts have 6 bits (aiev2_ups.h); down they are -4 to 59 (UG1583, "Shift-Round-
Saturate"), and aie_api's parallel_lookup makes use of it. float32 to bfloat16 follows crRnd too, and
after reset that is 0, toward minus infinity; this and NaNs as measured on a Phoenix (corpus
golden/silicon, vec_conv_bf16_edge_r*.json).
"""

from __future__ import annotations

from .meaning import Moment, UndefinedMode
from .value import Choice, Type, Value, constant

SHIFT_MASK = 0x3F
_LEFT_SHIFTS = 4

ROUND_FLOOR = 0
ROUND_CEIL = 1
ROUND_TO_ZERO = 2
ROUND_FROM_ZERO = 3
ROUND_TIES_DOWN = 8
ROUND_TIES_UP = 9
ROUND_TIES_TO_ZERO = 10
ROUND_TIES_FROM_ZERO = 11
ROUND_TIES_EVEN = 12
ROUND_TIES_ODD = 13
ROUNDING_MODES = (0, 1, 2, 3, 8, 9, 10, 11, 12, 13)


def shift_round_saturate(m: Moment, lanes: Value, shift: Value, width: int, sign: str) -> Value:
    """Signed accumulator lanes, shifted right and brought to `width` bits. `sign` "S" or "D".

    Shifts of -4 to -1 go left: 64 bits of the result are kept, what goes beyond is lost.
    """
    wide = lanes.sext(64) if lanes.type.width < 64 else lanes
    signed = constant(Type(32), 1) if sign == "S" else m.read("crSRSSign") & 1
    key = (m.read("crRnd") & 0xF) | (m.read("crSat") & 3).shl(4) | signed.shl(6)
    steps = shift & SHIFT_MASK
    down = steps.ult(SHIFT_MASK + 1 - _LEFT_SHIFTS)
    none = constant(steps.type, 0)
    left = down.select(none, constant(steps.type, SHIFT_MASK + 1) - steps).zext(64)
    wide = wide.shl(left.splat(wide.type.lanes))
    amount = down.select(steps, none).zext(64)
    choice = _SRS[width]
    return key.choose(choice, wide.type.with_width(width), (wide, amount))


def _srs(width: int) -> Choice:
    def build(key: int, args: tuple[Value, ...]) -> Value:
        wide, amount = args
        rounded = shift_and_round(wide, amount, key & 0xF)
        return saturate(rounded, width, saturation=key >> 4 & 3, signed=bool(key >> 6))

    return Choice(f"srs{width}", build, _is_rounding, _is_rounding)


def _is_rounding(key: int) -> bool:
    return key & 0xF in ROUNDING_MODES


_SRS = {width: _srs(width) for width in (8, 16, 32)}


def shift_and_round(value: Value, amount: Value, mode: int) -> Value:
    """Signed lanes shifted right by a scalar amount. Raises UndefinedMode."""
    type_ = value.type
    steps = amount.splat(type_.lanes)
    quotient = value.ashr(steps)
    rest = value - quotient.shl(steps)
    half = constant(type_, 1).shl(steps).lshr(1)
    return quotient + round_up(mode, rest, half, value.slt(0), quotient).zext(type_.width)


def round_up(mode: int, rest: Value, half: Value, negative: Value, floor: Value) -> Value:
    """Whether the next integer above `floor` is the rounded value; `rest` is what was cut off, unsigned.

    `half` is half of a unit, 0 where nothing is cut off.
    """
    some = rest.ne(0)
    tie = rest.eq(half) & some
    over = half.ult(rest)
    match mode:
        case 0:
            return constant(some.type, 0)
        case 1:
            return some
        case 2:
            return some & negative
        case 3:
            return some & ~negative
        case 8:
            return over
        case 9:
            return over | tie
        case 10:
            return over | (tie & negative)
        case 11:
            return over | (tie & ~negative)
        case 12:
            return over | (tie & floor.trunc(1))
        case 13:
            return over | (tie & ~floor.trunc(1))
        case _:
            raise UndefinedMode(f"rounding mode {mode} in crRnd")


def saturate(value: Value, width: int, *, saturation: int, signed: bool) -> Value:
    """Signed lanes to `width` bits: cut, or held at the ends of the range."""
    if not saturation & 1:
        return value.trunc(width)
    high = (1 << width - signed) - 1
    low = -high - (saturation != 3) if signed else 0
    above, below = constant(value.type, high).slt(value), value.slt(low)
    held = above.select(constant(value.type, high), below.select(constant(value.type, low), value))
    return held.trunc(width)


def upshift(m: Moment, lanes: Value, shift: Value, width: int, signed: Value) -> Value:
    """Lanes brought to accumulator lanes of `width` bits and shifted left; crSat holds them in range."""
    wide = signed.trunc(1).select(lanes.sext(width), lanes.zext(width))
    steps = (shift & SHIFT_MASK).zext(64).trunc(width).splat(lanes.type.lanes)
    shifted = wide.shl(steps)
    fits = shifted.ashr(steps).eq(wide)
    extreme = wide.slt(0).select(constant(wide.type, 1 << width - 1), (1 << width - 1) - 1)
    holds = (m.read("crSat") & 1).trunc(1)
    return (holds.splat(lanes.type.lanes) & ~fits).select(extreme, shifted)


def f32_to_bf16(m: Moment, bits: Value) -> Value:
    """float32 patterns to bfloat16 patterns, by crRnd."""
    return (m.read("crRnd") & 0xF).choose(_BF16, bits.type.with_width(16), (bits,))


def _to_bf16(mode: int, args: tuple[Value, ...]) -> Value:
    (bits,) = args
    magnitude = bits & 0x7FFFFFFF
    high = bits.lshr(16)
    rest = bits & 0xFFFF
    up = _round_magnitude(mode, rest, bits.slt(0), high)
    rounded = (high + up.zext(32)).trunc(16)
    quiet = high | (high & 0x7F).eq(0).zext(32)
    nan = constant(bits.type, 0x7F800000).ult(magnitude)
    return nan.select(quiet.trunc(16), rounded)


def _round_magnitude(mode: int, rest: Value, negative: Value, floor: Value) -> Value:
    """As `round_up`, for sign and magnitude: the modes that look at the sign change sides."""
    half = constant(rest.type, 0x8000)
    other = {ROUND_FLOOR: 1, ROUND_CEIL: 0, ROUND_TIES_DOWN: 9, ROUND_TIES_UP: 8}
    if mode in other:  # toward an infinity: up in magnitude on one side, down on the other
        up_positive = round_up(mode, rest, half, negative, floor)
        up_negative = round_up(other[mode], rest, half, negative, floor)
        return negative.select(up_negative, up_positive)
    same = {ROUND_TO_ZERO: 0, ROUND_FROM_ZERO: 1, ROUND_TIES_TO_ZERO: 8, ROUND_TIES_FROM_ZERO: 9}
    return round_up(same.get(mode, mode), rest, half, negative, floor)


_BF16 = Choice("bf16", _to_bf16, _is_rounding, _is_rounding)


def bf16_to_f32(bits: Value) -> Value:
    """Exact; subnormals and NaN payloads stay (vec_convexp_bf16_denorm.json)."""
    return bits.zext(32).shl(16)
