"""The multiplier array on integers: vmul, vmac and their relatives, and adding accumulators.

The last operand is a mode word, laid out as llvm-aie's aiev2_vmult.h packs it (aiev2_compute_control;
facts 3.1): bit 0 zeroes acc1, [2:1] accumulator mode, [4:3] multiplier mode, [7:5] variant, 8 and 9 the
signs of the second and first factor, 10 shifts acc1 left by 16 first, 11 to 13 negate the product, acc1
and acc2. `msc` negates the product, `neg` the sum of the first accumulator and the product, `sub` the
second accumulator.

Factors are read at issue, accumulators two bundles later along a bypass from other integer operations.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import timing
from ..bundle import SlotInstruction
from .meaning import Moment, UndefinedMode, meaning
from .value import Choice, Type, Value, constant

ACCUMULATOR_DELAY = timing.ACCUMULATOR_STAGE - 1
CM = Type(32, 32)

ZERO_ACC1 = 1 << 0
SIGN_Y = 1 << 8
SIGN_X = 1 << 9
SHIFT16 = 1 << 10
NEGATE_PRODUCT = 1 << 11
NEGATE_ACC1 = 1 << 12
NEGATE_ACC2 = 1 << 13
_GEOMETRY_SHIFT, _GEOMETRY_MASK = 1, 0x7F
_SUB_MASK_SHIFT = 16


@dataclass(frozen=True, slots=True)
class Geometry:
    """A product of `rows` x `inner` by `inner` x `columns`, or lane by lane where `rows` is 0.

    Lane by lane, `columns` accumulators each add `inner` products, of the lanes that are `columns` apart.
    All matrices are row-major from lane 0 of their register.
    """

    x_bits: int
    y_bits: int
    rows: int
    inner: int
    columns: int
    accumulator_bits: int


# (accumulator mode, multiplier mode, variant) of the mode word; facts 3.1
DENSE: dict[tuple[int, int, int], Geometry] = {
    (0, 0, 0): Geometry(8, 4, 4, 16, 8, 32),
    (0, 1, 0): Geometry(8, 8, 4, 8, 8, 32),
    (0, 2, 0): Geometry(16, 8, 4, 4, 8, 32),
    (0, 3, 0): Geometry(16, 16, 4, 2, 8, 32),
    (1, 2, 0): Geometry(16, 8, 2, 8, 8, 64),
    (1, 2, 1): Geometry(16, 8, 4, 8, 4, 64),
    (1, 3, 0): Geometry(16, 16, 2, 4, 8, 64),
    (1, 3, 1): Geometry(16, 16, 4, 4, 4, 64),
    (1, 0, 0): Geometry(32, 16, 4, 2, 4, 64),
    (0, 1, 1): Geometry(8, 8, 0, 2, 32, 32),
    (0, 3, 1): Geometry(16, 16, 0, 1, 32, 32),
    (1, 3, 2): Geometry(16, 16, 0, 2, 16, 64),
}


def geometry_key(mode: int) -> tuple[int, int, int]:
    return mode >> 1 & 3, mode >> 3 & 3, mode >> 5 & 7


@meaning(r"V(NEG)?MUL_vmac_cm_core_dense")
def multiply(m: Moment, i: SlotInstruction, negated: str | None) -> None:
    product = _product(m, i, negate=negated is not None)
    m.after(ACCUMULATOR_DELAY).write(i.register("dst"), product)


@meaning(r"V(NEG)?M(AC|SC)_vmac_cm_core_dense")
def multiply_accumulate(m: Moment, i: SlotInstruction, negated: str | None, kind: str) -> None:
    """mac acc1 + p, msc acc1 - p, negmac -acc1 - p, negmsc -acc1 + p."""
    minus = negated is not None
    product = _product(m, i, negate=(kind == "SC") != minus)
    late = m.after(ACCUMULATOR_DELAY)
    mode = m.read(i.register("c"))
    first = _accumulator(mode, late.read(i.register("acc1")), NEGATE_ACC1, negate=minus)
    late.write(i.register("dst"), _sum(mode, first, product))


@meaning(r"V(ADD|SUB)M(AC|SC)_vmac_bm_core_dense")
def multiply_accumulate_two(m: Moment, i: SlotInstruction, second: str, kind: str) -> None:
    """acc1 + acc2 + p, with acc2 or p subtracted."""
    product = _product(m, i, negate=kind == "SC")
    late = m.after(ACCUMULATOR_DELAY)
    mode = m.read(i.register("c"))
    a = _accumulator(mode, late.read(i.register("acc1")), NEGATE_ACC1, negate=False)
    b = _accumulator(mode, late.read(i.register("acc2")), NEGATE_ACC2, negate=second == "SUB")
    late.write(i.register("acc1"), _sum(mode, _sum(mode, a, b), product))


@meaning(r"V(NEG)?(ADD|SUB)")
def add_accumulators(m: Moment, i: SlotInstruction, negated: str | None, kind: str) -> None:
    """acc1 + acc2, acc1 - acc2, -acc1 - acc2, -acc1 + acc2; the mode word as for a MAC."""
    minus = negated is not None
    mode = m.read(i.register("c"))
    late = m.after(ACCUMULATOR_DELAY)
    a = _accumulator(mode, late.read(i.register("acc1")), NEGATE_ACC1, negate=minus)
    b = _accumulator(mode, late.read(i.register("acc2")), NEGATE_ACC2, negate=(kind == "SUB") != minus)
    late.write(i.register("dst"), _sum(mode, a, b))


@meaning("VNEG")
def negate_accumulator(m: Moment, i: SlotInstruction) -> None:
    mode = m.read(i.register("c"))
    late = m.after(ACCUMULATOR_DELAY)
    late.write(i.register("dst"), _accumulator(mode, late.read(i.register("acc1")), NEGATE_ACC1, negate=True))


@meaning("VCLR_vclr")
def clear(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("dst"), constant(CM, 0))


def _product(m: Moment, i: SlotInstruction, *, negate: bool) -> Value:
    """The products, as 1024 bits of accumulator lanes."""
    mode = m.read(i.register("c"))
    x, y = m.read(i.register("s1")), m.read(i.register("s2"))
    product = (mode & _PRODUCT_BITS).choose(DENSE_PRODUCT, CM, (x, y))
    minus = mode.lshr(11).trunc(1)
    if negate:
        minus = ~minus
    return minus.select(_negated(mode, product), product)


_PRODUCT_BITS = (_GEOMETRY_MASK << _GEOMETRY_SHIFT) | SIGN_X | SIGN_Y | 0xFFFF << _SUB_MASK_SHIFT


def _dense_product(mode: int, args: tuple[Value, ...]) -> Value:
    geometry = DENSE.get(geometry_key(mode))
    if geometry is None or mode >> _SUB_MASK_SHIFT:
        raise UndefinedMode(f"multiplier mode word {mode:#x}")
    return multiply_lanes(
        geometry, args[0], args[1], x_signed=bool(mode & SIGN_X), y_signed=bool(mode & SIGN_Y)
    )


DENSE_PRODUCT = Choice(
    "dense product", _dense_product, lambda mode: geometry_key(mode) in DENSE and not mode >> _SUB_MASK_SHIFT
)


def multiply_lanes(geometry: Geometry, x: Value, y: Value, *, x_signed: bool, y_signed: bool) -> Value:
    """Sums of products as accumulator lanes, in 32-bit lanes of the whole register."""
    g = geometry
    a, b = factor_lanes(x, g.x_bits, signed=x_signed), factor_lanes(y, g.y_bits, signed=y_signed)
    count = (g.rows or 1) * g.columns
    product_bits = 32 if g.x_bits + g.y_bits <= 32 else 64
    total = constant(Type(g.accumulator_bits, count), 0)
    for k in range(g.inner):
        left, right = step_indices(g, k)
        p = a.shuffle(left).extend(product_bits, signed=x_signed) * b.shuffle(right).extend(
            product_bits, signed=y_signed
        )
        if p.type.width < g.accumulator_bits:
            p = p.extend(g.accumulator_bits, signed=x_signed or y_signed)
        total = total + p
    lanes = total.lanes(32)
    return lanes if lanes.type == CM else lanes.concat(constant(lanes.type, 0))


def step_indices(geometry: Geometry, k: int) -> tuple[list[int], list[int]]:
    """For each accumulator, the lanes of the two factors whose product is the k-th that it adds."""
    g = geometry
    if not g.rows:
        lanes = [k * g.columns + lane for lane in range(g.columns)]
        return lanes, lanes
    places = [(r, c) for r in range(g.rows) for c in range(g.columns)]
    return [r * g.inner + k for r, _ in places], [k * g.columns + c for _, c in places]


def factor_lanes(x: Value, bits: int, *, signed: bool) -> Value:
    """A register's lanes; those of 4 bits as lanes of 8."""
    if bits > 4:
        return x.lanes(bits)
    octets = x.lanes(8)
    low, high = octets.shl(4), octets
    count = octets.type.lanes
    order = [lane // 2 + (lane % 2) * count for lane in range(2 * count)]
    pairs = low.shuffle(order, high)
    return pairs.ashr(4) if signed else pairs.lshr(4)


def _is_wide(mode: Value) -> Value:
    """Whether accumulator lanes have 64 bits."""
    return (mode.lshr(1) & 3).eq(1)


def _per_width(mode: Value, narrow: Value, wide: Value) -> Value:
    return _is_wide(mode).select(wide.bitcast(CM), narrow)


def _negated(mode: Value, lanes: Value) -> Value:
    return _per_width(mode, -lanes, -lanes.lanes(64))


def _sum(mode: Value, a: Value, b: Value) -> Value:
    return _per_width(mode, a + b, a.lanes(64) + b.lanes(64))


def _accumulator(mode: Value, lanes: Value, flip: int, *, negate: bool) -> Value:
    """An accumulator as the mode word wants it: zeroed, shifted (acc1 only), negated."""
    if flip == NEGATE_ACC1:
        shifted = _per_width(mode, lanes.shl(16), lanes.lanes(64).shl(16))
        lanes = (mode & SHIFT16).ne(0).select(shifted, lanes)
        lanes = (mode & ZERO_ACC1).ne(0).select(constant(CM, 0), lanes)
    minus = (mode & flip).ne(0)
    if negate:
        minus = ~minus
    return minus.select(_negated(mode, lanes), lanes)
