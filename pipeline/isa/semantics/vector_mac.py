"""The multiplier array on integers: vmul, vmac and their relatives, and adding accumulators.

The last operand is a mode word, laid out as llvm-aie's aiev2_vmult.h packs it (aiev2_compute_control;
facts 3.1): bit 0 zeroes acc1, [2:1] accumulator mode, [4:3] multiplier mode, [7:5] variant, 8 and 9 the
signs of the second and first factor, 10 shifts acc1 left by 16 first, 11 to 13 negate the product, acc1
and acc2, [31:16] are for complex products (vector_complex.py). `msc` negates the product, `neg` the sum of
the first accumulator and the product, `sub` the second accumulator.

Factors are read at issue, accumulators two bundles later along a bypass from other integer operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .. import timing
from ..bundle import SlotInstruction
from .meaning import Moment, UndefinedMode, meaning
from .value import Choice, Type, Value, constant
from .vector_complex import COMPLEX, complex_product, has_meaning

ACCUMULATOR_DELAY = timing.ACCUMULATOR_STAGE - 1
CM = Type(32, 32)

ZERO_ACC1 = 1 << 0
SIGN_Y = 1 << 8
SIGN_X = 1 << 9
SHIFT16 = 1 << 10
NEGATE_PRODUCT = 1 << 11
NEGATE_ACC1 = 1 << 12
NEGATE_ACC2 = 1 << 13
SUB_MASK_SHIFT = 16


@dataclass(frozen=True, slots=True)
class Geometry:
    """A product of `rows` x `inner` by `inner` x `columns`, or lane by lane where `rows` is 0.

    Lane by lane, `columns` accumulators each add `inner` products, of the lanes that are `columns` apart.
    With `channels`, lane by lane is a convolution: accumulator x of a channel adds x[x + k] * y[k] over its
    `inner` steps k, channels side by side (UG1583: mul_conv_MxN; UG1603: "channel first" in the registers).
    All matrices are row-major from lane 0 of their register.
    """

    x_bits: int
    y_bits: int
    rows: int
    inner: int
    columns: int
    accumulator_bits: int
    channels: int = 0


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
    (0, 1, 2): Geometry(8, 8, 0, 4, 32, 32, channels=8),
    (0, 1, 3): Geometry(8, 8, 0, 8, 32, 32, channels=4),
    (0, 1, 4): Geometry(8, 8, 0, 8, 32, 32, channels=1),
    (0, 3, 1): Geometry(16, 16, 0, 1, 32, 32),
    (1, 3, 2): Geometry(16, 16, 0, 2, 16, 64),
    (1, 3, 3): Geometry(16, 16, 0, 4, 16, 64, channels=1),
}


def geometry_key(mode: int) -> tuple[int, int, int]:
    return mode >> 1 & 3, mode >> 3 & 3, mode >> 5 & 7


@meaning(r"V(NEG)?MUL_vmac_cm_core_dense")
def multiply(m: Moment, i: SlotInstruction, negated: str | None) -> None:
    mode, x, y = m.read(i.register("c")), m.read(i.register("s1")), m.read(i.register("s2"))
    choice = _CHOICES["negmul" if negated else "mul"]
    m.after(ACCUMULATOR_DELAY).write(i.register("dst"), mode.choose(choice, CM, (x, y)))


@meaning(r"V((?:NEG)?M(?:AC|SC))_vmac_cm_core_dense")
def multiply_accumulate(m: Moment, i: SlotInstruction, kind: str) -> None:
    """mac acc1 + p, msc acc1 - p, negmac -acc1 - p, negmsc -acc1 + p."""
    mode, x, y = m.read(i.register("c")), m.read(i.register("s1")), m.read(i.register("s2"))
    late = m.after(ACCUMULATOR_DELAY)
    acc = late.read(i.register("acc1"))
    late.write(i.register("dst"), mode.choose(_CHOICES[kind.lower()], CM, (x, y, acc)))


@meaning(r"V((?:ADD|SUB)M(?:AC|SC))_vmac_bm_core_dense")
def multiply_accumulate_two(m: Moment, i: SlotInstruction, kind: str) -> None:
    """acc1 + acc2 + p, with acc2 or p subtracted."""
    mode, x, y = m.read(i.register("c")), m.read(i.register("s1")), m.read(i.register("s2"))
    late = m.after(ACCUMULATOR_DELAY)
    accumulators = (late.read(i.register("acc1")), late.read(i.register("acc2")))
    late.write(i.register("acc1"), mode.choose(_CHOICES[kind.lower()], CM, (x, y, *accumulators)))


@meaning(r"V((?:NEG)?(?:ADD|SUB))")
def add_accumulators(m: Moment, i: SlotInstruction, kind: str) -> None:
    """acc1 + acc2, acc1 - acc2, -acc1 - acc2, -acc1 + acc2; the mode word as for a MAC."""
    mode = m.read(i.register("c"))
    late = m.after(ACCUMULATOR_DELAY)
    accumulators = (late.read(i.register("acc1")), late.read(i.register("acc2")))
    late.write(i.register("dst"), mode.choose(_CHOICES[kind.lower()], CM, accumulators))


@meaning("VNEG")
def negate_accumulator(m: Moment, i: SlotInstruction) -> None:
    mode = m.read(i.register("c"))
    late = m.after(ACCUMULATOR_DELAY)
    acc = late.read(i.register("acc1"))
    late.write(i.register("dst"), mode.choose(_CHOICES["neg"], CM, (acc,)))


@meaning("VCLR_vclr")
def clear(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("dst"), constant(CM, 0))


@dataclass(frozen=True, slots=True)
class Signs:
    """What is negated before it is added."""

    product: bool = False
    acc1: bool = False
    acc2: bool = False


def accumulated(mode: int, product: Value | None, accumulators: tuple[Value, ...], signs: Signs) -> Value:
    """The sum that a mode word and an instruction's signs ask for: the product if there is one, then the
    accumulators."""
    width = 64 if geometry_key(mode)[0] == 1 else 32
    terms: list[Value] = []
    for number, acc in enumerate(accumulators):
        lanes = acc.lanes(width)
        if number == 0 and mode & ZERO_ACC1:
            continue
        if number == 0 and mode & SHIFT16:
            lanes = lanes.shl(16)
        flip, negate = ((NEGATE_ACC1, signs.acc1), (NEGATE_ACC2, signs.acc2))[number]
        terms.append(-lanes if bool(mode & flip) != negate else lanes)
    if product is not None:
        products = product.lanes(width)
        terms.append(-products if bool(mode & NEGATE_PRODUCT) != signs.product else products)
    total = constant(Type(width, CM.bits // width), 0)
    for term in terms:
        total = term if total.name == "constant" else total + term
    return total.bitcast(CM)


def dense_product(mode: int, x: Value, y: Value) -> Value:
    """The products as 1024 bits of accumulator lanes. Raises UndefinedMode."""
    if not _is_dense(mode):
        raise UndefinedMode(f"multiplier mode word {mode:#x}")
    x_signed, y_signed = bool(mode & SIGN_X), bool(mode & SIGN_Y)
    key = geometry_key(mode)
    if key in COMPLEX:
        mask = mode >> SUB_MASK_SHIFT
        return complex_product(COMPLEX[key], mask, x, y, x_signed=x_signed, y_signed=y_signed)
    return multiply_lanes(DENSE[key], x, y, x_signed=x_signed, y_signed=y_signed)


def _is_dense(mode: int) -> bool:
    key, mask = geometry_key(mode), mode >> SUB_MASK_SHIFT
    return has_meaning(COMPLEX[key], mask) if key in COMPLEX else key in DENSE and not mask


def _is_probable(mode: int) -> bool:
    """Small numbers are rarely mode words: 0 would be 8 by 4 bits without signs."""
    return _is_dense(mode) and mode > 7


PRODUCT_SIGNS: Mapping[str, Signs] = {
    "mul": Signs(),
    "negmul": Signs(product=True),
    "mac": Signs(),
    "msc": Signs(product=True),
    "negmac": Signs(product=True, acc1=True),
    "negmsc": Signs(acc1=True),
    "addmac": Signs(),
    "addmsc": Signs(product=True),
    "submac": Signs(acc2=True),
    "submsc": Signs(product=True, acc2=True),
}
_SUM_SIGNS: Mapping[str, Signs] = {
    "add": Signs(),
    "sub": Signs(acc2=True),
    "negadd": Signs(acc1=True, acc2=True),
    "negsub": Signs(acc1=True),
    "neg": Signs(acc1=True),
}


def _multiplies(name: str, signs: Signs) -> Choice:
    def build(mode: int, args: tuple[Value, ...]) -> Value:
        return accumulated(mode, dense_product(mode, args[0], args[1]), args[2:], signs)

    return Choice(name, build, _is_dense, _is_probable)


def _adds(name: str, signs: Signs) -> Choice:
    def build(mode: int, args: tuple[Value, ...]) -> Value:
        return accumulated(mode, None, args, signs)

    return Choice(name, build, lambda _: True, lambda mode: mode <= 0xFFFF)


_CHOICES = {
    **{name: _multiplies(name, signs) for name, signs in PRODUCT_SIGNS.items()},
    **{name: _adds(name, signs) for name, signs in _SUM_SIGNS.items()},
}


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
    if g.channels:
        lanes = range(g.columns)
        return (
            [lane + k * g.channels for lane in lanes],
            [k * g.channels + lane % g.channels for lane in lanes],
        )
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
