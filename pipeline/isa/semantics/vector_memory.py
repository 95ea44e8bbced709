"""Vector loads and stores without conversion, and moves between vector registers.

A 256-bit access is aligned to 32 bytes, a 128-bit one to 16. `vlda.128` and `vldb.128` fill the low half
of their register and clear the high one.
"""

from __future__ import annotations

from .. import timing
from ..bundle import SlotInstruction
from .address import access
from .meaning import Moment, meaning
from .registers import register
from .value import Type, constant

ACCUMULATOR_DELAY = timing.ACCUMULATOR_STAGE - 1
"""Bundles from issue until the vector unit reads accumulators."""
W = Type(32, 8)
HALF_W = Type(32, 4)


@meaning(r"VLD[AB]_(?:2D|3D|(?:2D_|3D_)?dmw_ld[ab]_.*)")
def load(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("dst"), m.load(access(m, i), W))


@meaning(r"VLD[AB]_(?:2D_|3D_)?128(?:_.*)?")
def load_half(m: Moment, i: SlotInstruction) -> None:
    low = m.load(access(m, i), HALF_W)
    m.write(i.register("dst"), low.concat(constant(HALF_W, 0)))


@meaning(r"VST_(?:2D_|3D_)?dmw_sts_(?:am|w)(?:_.*)?")
def store(m: Moment, i: SlotInstruction) -> None:
    m.store(access(m, i), m.read(i.register("src")))


@meaning(r"VST_(?:2D_|3D_)?128(?:_.*)?")
def store_half(m: Moment, i: SlotInstruction) -> None:
    m.store(access(m, i), m.read(i.register("src")).part(0, 2))


@meaning("VMOV_mv_w", "VMOV_mv_x", "VMOV_mv_cm")
def move(m: Moment, i: SlotInstruction) -> None:
    """Between registers of one width; a 128-bit mask register is the low half of a 256-bit one."""
    destination = i.register("dst")
    value = m.read(i.register("src"))
    wanted = register(destination).type
    if wanted.lanes > value.type.lanes:
        value = value.concat(constant(value.type, 0))
    elif wanted.lanes < value.type.lanes:
        value = value.part(0, value.type.lanes // wanted.lanes)
    m.write(destination, value)


@meaning("VMOV_D")
def move_accumulator(m: Moment, i: SlotInstruction) -> None:
    late = m.after(ACCUMULATOR_DELAY)
    late.write(i.register("cdst"), late.read(i.register("csrc")))


@meaning("VMOV_mv_scd")
def read_cascade(m: Moment, i: SlotInstruction) -> None:
    (data,) = m.port("cascade-read")
    m.write(i.register("dst"), data)


@meaning("VMOV_mv_mcd")
def write_cascade(m: Moment, i: SlotInstruction) -> None:
    m.port("cascade-write", m.read(i.register("src")))
