"""Scalar arithmetic and moves: the alu slot, and what the mv, lda and lng slots do on scalars.

Sources: facts aie2-isa.md 2 and 3, emulation.md (sel polarity, negative shift amounts); `divs` from how
llvm-aie's compiler-rt divides (aie2_div.h: 32 steps of a restoring division); `clb` from aiev2_scalar.h;
srCarry's writers and readers from AIE2GenInstrInfo.td.
"""

from __future__ import annotations

from ..bundle import SlotInstruction
from .meaning import Moment, meaning
from .value import I32, Value, constant

CARRY = "srCarry"


@meaning("ADD", "ADD_add_r_ri")
def add(m: Moment, i: SlotInstruction) -> None:
    _add(m, i, m.read(i.register("mRx0")), _second(m, i), constant(I32, 0))


@meaning("ADC")
def add_with_carry(m: Moment, i: SlotInstruction) -> None:
    _add(m, i, m.read(i.register("mRx0")), _second(m, i), m.read(CARRY))


@meaning("SUB")
def subtract(m: Moment, i: SlotInstruction) -> None:
    _subtract(m, i, constant(I32, 0))


@meaning("SBC")
def subtract_with_borrow(m: Moment, i: SlotInstruction) -> None:
    """The carry flag holds the borrow: llvm-aie selects it for G_USUBE, whose carry in is a borrow."""
    _subtract(m, i, m.read(CARRY))


def _add(m: Moment, i: SlotInstruction, a: Value, b: Value, carry: Value) -> None:
    total = a.zext(33) + b.zext(33) + carry.zext(33)
    m.write(i.register("mRx"), total.trunc(32))
    m.write(CARRY, total.lshr(32).trunc(1))


def _subtract(m: Moment, i: SlotInstruction, borrow: Value) -> None:
    total = m.read(i.register("mRx0")).zext(33) - m.read(i.register("mRy")).zext(33) - borrow.zext(33)
    m.write(i.register("mRx"), total.trunc(32))
    m.write(CARRY, total.lshr(32).trunc(1))


def _second(m: Moment, i: SlotInstruction) -> Value:
    if "c7s" in i.operands:
        return constant(I32, i.immediate("c7s"))
    return m.read(i.register("mRy"))


@meaning("ABS")
def absolute(m: Moment, i: SlotInstruction) -> None:
    """The carry is that of the negation: set where 0 - x borrows and x was negative."""
    x = m.read(i.register("mRx0"))
    negative = x.slt(0)
    m.write(i.register("mRx"), negative.select(-x, x))
    m.write(CARRY, negative)


@meaning("AND")
def bitwise_and(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mRx"), m.read(i.register("mRx0")) & m.read(i.register("mRy")))


@meaning("OR")
def bitwise_or(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mRx"), m.read(i.register("mRx0")) | m.read(i.register("mRy")))


@meaning("XOR")
def bitwise_xor(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mRx"), m.read(i.register("mRx0")) ^ m.read(i.register("mRy")))


@meaning("LSHL")
def logical_shift(m: Moment, i: SlotInstruction) -> None:
    """Left; a negative amount shifts right, without sign. 32 and more leave nothing."""
    x, amount = m.read(i.register("mRx0")), m.read(i.register("mRy"))
    m.write(i.register("mRx"), amount.slt(0).select(x.lshr(-amount), x.shl(amount)))


@meaning("ASHL")
def arithmetic_shift(m: Moment, i: SlotInstruction) -> None:
    """Left; a negative amount shifts right, with sign."""
    x, amount = m.read(i.register("mRx0")), m.read(i.register("mRy"))
    m.write(i.register("mRx"), amount.slt(0).select(x.ashr(-amount), x.shl(amount)))


@meaning("MUL_mul_r_rr")
def multiply(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mRx"), m.read(i.register("mRx0")) * m.read(i.register("mRy")))


@meaning("DIVS")
def division_step(m: Moment, i: SlotInstruction) -> None:
    """One bit of an unsigned division: r31 is the remainder, d0 takes dividend bits out and quotient in."""
    dividend, divisor = m.read(i.register("s0")), m.read(i.register("s1"))
    remainder = m.read("r31").zext(33).shl(1) | dividend.lshr(31).zext(33)
    fits = divisor.zext(33).ule(remainder)
    m.write(i.register("d0"), dividend.shl(1) | fits.zext(32))
    m.write("r31", fits.select(remainder - divisor.zext(33), remainder).trunc(32))


@meaning("CLZ")
def leading_zeros(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mRx"), m.read(i.register("mRx0")).clz())


@meaning("CLB")
def leading_sign_bits(m: Moment, i: SlotInstruction) -> None:
    """Leading bits that equal the sign: 32 for 0 and -1 (aiev2_scalar.h writes it as clz(x < 0 ? ~x : x))."""
    x = m.read(i.register("mRx0"))
    m.write(i.register("mRx"), x.slt(0).select(~x, x).clz())


@meaning(r"EXTEND([su])(8|16)")
def extend(m: Moment, i: SlotInstruction, sign: str, width: str) -> None:
    low = m.read(i.register("mRx0")).trunc(int(width))
    m.write(i.register("mRx"), low.extend(32, signed=sign == "s"))


@meaning(r"(EQ|NE|LT|LTU|GE|GEU)")
def compare(m: Moment, i: SlotInstruction, relation: str) -> None:
    x, y = m.read(i.register("mRx0")), m.read(i.register("mRy"))
    holds = {
        "EQ": lambda: x.eq(y),
        "NE": lambda: x.ne(y),
        "LT": lambda: x.slt(y),
        "LTU": lambda: x.ult(y),
        "GE": lambda: y.sle(x),
        "GEU": lambda: y.ule(x),
    }[relation]()
    m.write(i.register("mRx"), holds)


@meaning("EQZ")
def is_zero(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mRx"), m.read(i.register("mRx0")).eq(0))


@meaning("NEZ")
def is_not_zero(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mRx"), m.read(i.register("mRx0")).ne(0))


@meaning(r"SEL(EQZ|NEZ)")
def select(m: Moment, i: SlotInstruction, polarity: str) -> None:
    zero = m.read("r27").eq(0)
    first, second = m.read(i.register("mRx0")), m.read(i.register("mRy"))
    chosen = zero.select(first, second) if polarity == "EQZ" else zero.select(second, first)
    m.write(i.register("mRx"), chosen)


@meaning("ADD_NC")
def add_without_carry(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("dst"), m.read(i.register("s0")) + i.immediate("imm"))


@meaning("MOVA_lda_cg")
def move_immediate_a(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mLdaCg"), constant(I32, i.immediate("c11s")))


@meaning("MOVX_alu_cg", "MOV_mv_cg")
def move_immediate(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("dst"), constant(I32, i.immediate("i")))


@meaning("MOVXM_lng_cg")
def move_long_immediate(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mMvSclDstCg"), constant(I32, i.immediate("i")))


@meaning("MOVX_mvx_scl")
def move_to_control(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mCRm"), m.read(i.register("mRx")))


@meaning("MOV_mv_scl")
def move(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("mMvSclDst"), m.read(i.register("mMvSclSrc")))


@meaning(r"MOV_D[1-6]")
def delayed_move(m: Moment, i: SlotInstruction) -> None:
    """The source is read at issue, the result is there 1 to 6 bundles later than a move's (II_MOVd1..d6)."""
    m.write(i.register("dst"), m.read(i.register("src")))


@meaning("MOV_CNTR")
def move_counter(m: Moment, i: SlotInstruction) -> None:
    """The core's 64-bit counter. Here it counts issued bundles, without stalls."""
    (count,) = m.port("cycle")
    m.write(i.register("dst"), count)
