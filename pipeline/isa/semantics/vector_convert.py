"""Instructions that change the width of lanes: UPS, SRS, pack, unpack, bfloat16, floor.

The `d` forms take the sign from crUPSSign, crSRSSign, crPackSign or crUnpackSign (1: signed). Loads that
convert read memory with their bundle and the control registers when the data arrives; stores that
convert an accumulator reach memory two bundles later than others (AIE2Schedule.td: E7, not E5).
"""

from __future__ import annotations

from .. import timing
from ..bundle import SlotInstruction
from .address import access
from .meaning import Moment, meaning
from .registers import register
from .rounding import bf16_to_f32, f32_to_bf16, saturate, shift_round_saturate, upshift
from .value import I32, Choice, Type, Value, constant

LATE_STORE = 2
"""Bundles by which vst.srs and vst.conv reach memory later than other stores."""
ARRIVAL = timing.LOAD_STAGE + 1
"""Bundles from issue until a loaded value is converted (E7)."""
UPS_SATURATION = ARRIVAL + 1

_ACCUMULATOR = {"32": 32, "64": 64}


@meaning(r"VUPS_S(32|64)_([SD])(8|16|32)_mv_ups_[wx]2[bc]")
def ups(m: Moment, i: SlotInstruction, accumulator: str, sign: str, width: str) -> None:
    lanes = m.read(i.register("src")).lanes(int(width))
    signed = _sign(m, sign, "crUPSSign")
    shift = m.read(i.register("shft"))
    m.write(i.register("dst"), upshift(m, lanes, shift, int(accumulator), signed))


@meaning(r"VLDA_(?:[23]D_)?UPS_S(32|64)_([SD])(8|16|32)(?:_ag_.*)?")
def load_ups(m: Moment, i: SlotInstruction, accumulator: str, sign: str, width: str) -> None:
    """Lanes for as many accumulators as the destination has."""
    count = register(i.register("dst")).type.bits // int(accumulator)
    lanes = m.load(access(m, i), Type(int(width), count))
    arrival = m.after(ARRIVAL)
    signed, shift = _sign(arrival, sign, "crUPSSign"), arrival.read(i.register("shft"))
    last = arrival.after(UPS_SATURATION)
    last.write(i.register("dst"), upshift(last, lanes, shift, int(accumulator), signed))


@meaning(r"VSRSM?_([SD])(8|16|32)_S(32|64)(?:_mv_[wx]_srs)?")
def srs(m: Moment, i: SlotInstruction, sign: str, width: str, accumulator: str) -> None:
    m.write(i.register("dst"), _srs(m, i, sign, width, accumulator))


@meaning(r"VST_(?:[23]D_)?SRS_([SD])(8|16|32)_S(32|64)(?:_ag_.*)?")
def store_srs(m: Moment, i: SlotInstruction, sign: str, width: str, accumulator: str) -> None:
    address = access(m, i)
    value = _srs(m, i, sign, width, accumulator)
    m.after(LATE_STORE).store(address, value)


def _srs(m: Moment, i: SlotInstruction, sign: str, width: str, accumulator: str) -> Value:
    lanes = m.read(i.register("src")).lanes(int(accumulator))
    return shift_round_saturate(m, lanes, m.read(i.register("shft")), int(width), sign)


@meaning(r"VPACK_([SD])(4|8)_[SD](8|16)")
def pack(m: Moment, i: SlotInstruction, sign: str, narrow: str, wide: str) -> None:
    m.write(i.register("dst"), _packed(m, i, sign, narrow, wide))


@meaning(r"VST_(?:[23]D_)?PACK_([SD])(4|8)_[SD](8|16)(?:_ag_.*)?")
def store_packed(m: Moment, i: SlotInstruction, sign: str, narrow: str, wide: str) -> None:
    m.store(access(m, i), _packed(m, i, sign, narrow, wide))


def _packed(m: Moment, i: SlotInstruction, sign: str, narrow: str, wide: str) -> Value:
    lanes = m.read(i.register("src")).lanes(int(wide))
    signed = _sign(m, sign, "crPackSign")
    key = (m.read("crSat") & 3) | signed.shl(2)
    choice, result = _PACK[int(narrow)]
    return key.choose(choice, result, (lanes,))


def _pack(narrow: int) -> Choice:
    def build(key: int, args: tuple[Value, ...]) -> Value:
        # saturation needs a wider lane than the unsigned maximum
        wide = args[0].sext(args[0].type.width * 2)
        lanes = saturate(wide, 8, saturation=0, signed=True)
        if key & 1:
            held = saturate(wide, narrow, saturation=key & 3, signed=bool(key >> 2))
            lanes = held if narrow == 8 else held.zext(8)
        return lanes if narrow == 8 else _join_nibbles(lanes)

    return Choice(f"pack{narrow}", build, lambda _: True, lambda _: True)


def _join_nibbles(lanes: Value) -> Value:
    count = lanes.type.lanes
    low = lanes.shuffle(range(0, count, 2)) & 0xF
    high = lanes.shuffle(range(1, count, 2)).shl(4)
    return low | high


_PACK = {4: (_pack(4), Type(8, 32)), 8: (_pack(8), Type(8, 32))}


@meaning(r"VUNPACK_([SD])(8|16)_[SD](4|8)")
def unpack(m: Moment, i: SlotInstruction, sign: str, wide: str, narrow: str) -> None:
    late = m.after(ARRIVAL)
    _write_unpacked(late, i, late.read(i.register("src")), sign, int(wide), int(narrow))


@meaning(r"VLDB_(?:[23]D_)?UNPACK_([SD])(8|16)_[SD](4|8)(?:_.*)?")
def load_unpacked(m: Moment, i: SlotInstruction, sign: str, wide: str, narrow: str) -> None:
    data = m.load(access(m, i), Type(32, 8))
    _write_unpacked(m.after(ARRIVAL), i, data, sign, int(wide), int(narrow))


def _write_unpacked(m: Moment, i: SlotInstruction, data: Value, sign: str, wide: int, narrow: int) -> None:
    signed = _sign(m, sign, "crUnpackSign").trunc(1)
    bytes_ = data.lanes(8)
    if narrow == 4:
        low, high = bytes_.shl(4), bytes_
        count = bytes_.type.lanes
        order = [lane // 2 + (lane % 2) * count for lane in range(2 * count)]
        pairs = low.shuffle(order, high)
        m.write(i.register("dst"), signed.select(pairs.ashr(4), pairs.lshr(4)))
        return
    m.write(i.register("dst"), signed.select(bytes_.sext(wide), bytes_.zext(wide)))


@meaning("VCONV_BF16_FP32")
def to_bf16(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("dst"), f32_to_bf16(m, m.read(i.register("src"))))


@meaning(r"VST_CONV_(?:[23]D_)?BF16_FP32(?:_ag_.*)?")
def store_bf16(m: Moment, i: SlotInstruction) -> None:
    address = access(m, i)
    value = f32_to_bf16(m, m.read(i.register("src")))
    m.after(LATE_STORE).store(address, value)


@meaning("VCONV_FP32_BF16")
def from_bf16(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("dst"), bf16_to_f32(m.read(i.register("src")).lanes(16)))


@meaning(r"VLDA_(?:[23]D_)?CONV_FP32_BF16(?:_.*)?")
def load_bf16(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("dst"), bf16_to_f32(m.load(access(m, i), Type(16, 16))))


@meaning(r"VFLOOR_S32_BF16_mFl2FxSrc_(?:AM|W)")
def floor_bf16(m: Moment, i: SlotInstruction) -> None:
    """Times 2 to the power of the shift, down to the next integer, held in the range of 32 bits.

    Subnormals count: the floor of a negative one is -1 (vec_vfloor_bf16_denorm.json). The shift is
    signed; infinities and NaN go to the end of their sign.
    """
    bits = m.read(i.register("src")).lanes(16).zext(32)
    shift = m.read(i.register("shft")).splat(bits.type.lanes)
    biased = bits.lshr(7) & 0xFF
    subnormal = biased.eq(0)
    mantissa = (bits & 0x7F) | subnormal.select(constant(bits.type, 0), 0x80)
    exponent = subnormal.select(constant(bits.type, 1), biased) - _BF16_UNIT + shift
    negative = (bits & 0x8000).ne(0)
    wide = mantissa.zext(64)
    left, right = exponent.zext(64), (-exponent).zext(64)
    signed = negative.select(-wide, wide)
    far = exponent.slt(0).select(signed.ashr(right), signed.shl(left))
    limit = negative.select(constant(wide.type, -(1 << 31)), (1 << 31) - 1)
    huge = constant(bits.type, 31).slt(exponent) & mantissa.ne(0)
    inside = saturate(huge.select(limit, far), 32, saturation=1, signed=True)
    m.write(i.register("dst"), inside)


_BF16_UNIT = 134
"""Biased exponent at which the lowest mantissa bit is worth 1."""


def _sign(m: Moment, sign: str, control: str) -> Value:
    """1 where the conversion is signed."""
    return constant(I32, 1) if sign == "S" else m.read(control) & 1
