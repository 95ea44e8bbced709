"""Branches, locks, streams, events: what leaves the straight line or the core.

Branches take effect after five more bundles; `jl` leaves the address after those in lr, which is there
from the fourth bundle on (AIE2Schedule.td, II_JL). Locks, streams and the cascade may have to wait; the
bundle then does not issue.
"""

from __future__ import annotations

from ..bundle import SlotInstruction
from .meaning import Moment, PortKind, meaning
from .value import I1, I32, Value, constant

_TLAST_BIT = 0
_SUCCESS_BIT = 1
"""srSS0 after a read: bit 0 TLAST, bit 1 success (llvm-aie, aiev2_streams.h)."""


@meaning("J_jump_imm")
def jump(m: Moment, i: SlotInstruction) -> None:
    m.branch(i.immediate("cpmaddr"))


@meaning("J_jump_ind")
def jump_indirect(m: Moment, i: SlotInstruction) -> None:
    m.branch(m.read(i.register("mPm")))


@meaning("JL")
def call(m: Moment, i: SlotInstruction) -> None:
    m.write("lr", m.next_address())
    m.branch(i.immediate("cpmaddr"), kind="call")


@meaning("JL_IND")
def call_indirect(m: Moment, i: SlotInstruction) -> None:
    m.write("lr", m.next_address())
    m.branch(m.read(i.register("mPm")), kind="call")


@meaning("RET")
def return_(m: Moment, i: SlotInstruction) -> None:  # noqa: ARG001 (all meanings have this form)
    m.branch(m.read("lr"), kind="return")


@meaning("JNZ")
def jump_if_not_zero(m: Moment, i: SlotInstruction) -> None:
    m.branch(i.immediate("cpmaddr"), condition=m.read(i.register("mRx")).ne(0))


@meaning("JZ")
def jump_if_zero(m: Moment, i: SlotInstruction) -> None:
    m.branch(i.immediate("cpmaddr"), condition=m.read(i.register("mRx")).eq(0))


@meaning("JNZD")
def jump_if_not_zero_and_decrement(m: Moment, i: SlotInstruction) -> None:
    """Tests the value before it is decremented (facts 2.3); sets the carry as the subtraction does."""
    x = m.read(i.register("mRx0"))
    m.write(i.register("mRx"), x - 1)
    m.write("srCarry", x.eq(0))
    m.branch(m.read(i.register("mPm")), condition=x.ne(0))


@meaning(r"(ACQ|REL)_(COND_)?mLockId_(imm|reg)")
def lock(m: Moment, i: SlotInstruction, what: str, conditional: str | None, form: str) -> None:
    """`.cond` acts where r26 is not 0."""
    number = constant(I32, i.immediate("id")) if form == "imm" else m.read(i.register("mRx")) & 0x3F
    condition = m.read("r26").ne(0) if conditional else None
    kind: PortKind = "acquire" if what == "ACQ" else "release"
    m.port(kind, number, m.read(i.register("mRy")), condition=condition)


@meaning("DONE")
def done(m: Moment, i: SlotInstruction) -> None:  # noqa: ARG001
    m.port("done")


@meaning("EVENT")
def event(m: Moment, i: SlotInstruction) -> None:
    m.port("event", constant(I32, i.immediate("val")))


@meaning("MOV_mv_ss2scl")
def read_stream(m: Moment, i: SlotInstruction) -> None:
    word, tlast = m.port("stream-read")
    m.write(i.register("mRa"), word)
    m.write("srSS0", tlast.zext(32) | 1 << _SUCCESS_BIT)


@meaning("MOV_NB_mv_ss2scl")
def try_read_stream(m: Moment, i: SlotInstruction) -> None:
    """Does not wait: srSS0 says whether there was a word."""
    word, tlast, success = m.port("try-stream-read")
    m.write(i.register("mRa"), word)
    status = tlast.zext(32).shl(_TLAST_BIT) | success.zext(32).shl(_SUCCESS_BIT)
    m.write("srSS0", status)


@meaning(r"MOV_(NB_)?(TLAST_)?mv_scl2ms(_doTlast_reg)?")
def write_stream(
    m: Moment, i: SlotInstruction, nb: str | None, last: str | None, by_register: str | None
) -> None:
    """The TLAST bit is 0, 1, or the lowest bit of r28."""
    _put(m, m.read(i.register("src")).zext(32), _tlast(m, last, by_register), blocking=nb is None)


@meaning(r"MOV_(NB_)?(TLAST_)?mv_ph2ms(_doTlast_reg)?")
def write_packet_header(
    m: Moment, i: SlotInstruction, nb: str | None, last: str | None, by_register: str | None
) -> None:
    word = packet_header(m.read(i.register("id")), i.immediate("pcktType"), m.read("CORE_ID"))
    _put(m, word, _tlast(m, last, by_register), blocking=nb is None)


@meaning(r"MOV_(NB_)?(TLAST_)?mv_cph2ms(_doTlast_reg)?")
def write_control_header(
    m: Moment, i: SlotInstruction, nb: str | None, last: str | None, by_register: str | None
) -> None:
    """A control packet's header: [19:0] address, [21:20] words less one, [23:22] operation, [28:24] id of
    the answer's stream, [31] odd parity (mlir-aie, control packets). The words are as encoded."""
    address = m.read(i.register("addr")).zext(32)
    word = address | (i.immediate("nw") << 20) | (i.immediate("op") << 22)
    word = word | (m.read(i.register("id")) & 0x1F).shl(24)
    _put(m, word | parity(word).shl(31), _tlast(m, last, by_register), blocking=nb is None)


@meaning("LDA_TM")
def load_tile_register(m: Moment, i: SlotInstruction) -> None:
    """From the tile's registers, over the processor bus."""
    (value,) = m.port("bus-read", m.read(i.register("ptr")).zext(32))
    m.write(i.register("dst"), value)


@meaning("ST_TM")
def store_tile_register(m: Moment, i: SlotInstruction) -> None:
    m.port("bus-write", m.read(i.register("ptr")).zext(32), m.read(i.register("mSclSt")).zext(32))


def packet_header(identifier: Value, packet_type: int, core: Value) -> Value:
    """A stream packet's header (AM020, packet-switched streams): [4:0] id, [14:12] type, [20:16] row,
    [27:21] column, [31] odd parity. CORE_ID holds the tile's column in bits [22:16], its row in [4:0].
    """
    row, column = core & 0x1F, core.lshr(16) & 0x7F
    word = (identifier & 0x1F) | (packet_type << 12) | row.shl(16) | column.shl(21)
    return word | parity(word).shl(31)


def parity(word: Value) -> Value:
    """The bit that makes the number of ones in `word` odd, as a 32-bit 0 or 1."""
    for shift in (16, 8, 4, 2, 1):
        word = word ^ word.lshr(shift)
    return ~word & 1


def _tlast(m: Moment, last: str | None, by_register: str | None) -> Value:
    return m.read("r28").trunc(1) if by_register else constant(I1, int(last is not None))


def _put(m: Moment, word: Value, tlast: Value, *, blocking: bool) -> None:
    if blocking:
        m.port("stream-write", word, tlast)
        return
    (success,) = m.port("try-stream-write", word, tlast)
    m.write("srMS0", success)
