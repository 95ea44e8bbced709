"""Vector loads and stores without conversion, and moves between vector registers.

A 256-bit access is aligned to 32 bytes, a 128-bit one to 16. `vlda.128` and `vldb.128` fill the low half
of their register and clear the high one. The 4x loads are for look-up tables: four addresses out of a vector,
`.lo` lanes 0 to 3, `.hi` lanes 4 to 7, each giving 64 bits of the result, of which 4x16 and 4x32 load only
the low 16 or 32 (llvm-aie, aiev2_addr.h, `read_lut`; aie_api, parallel_lookup.hpp drops "unused gaps" by
taking column 0 of the 64-bit rows). The gaps are zero here.
"""

from __future__ import annotations

from .. import timing
from ..bundle import SlotInstruction
from .address import access
from .meaning import Moment, meaning
from .registers import register
from .value import Type, Value, constant

ACCUMULATOR_DELAY = timing.ACCUMULATOR_STAGE - 1
"""Bundles from issue until the vector unit reads accumulators."""
W = Type(32, 8)
HALF_W = Type(32, 4)
ROW_BYTES = 16
"""Of a row of a look-up table: what a bank of data memory gives at once (AM020)."""


@meaning(r"VLD[AB]_(?:2D|3D|(?:2D_|3D_)?dmw_ld[ab]_.*)")
def load(m: Moment, i: SlotInstruction) -> None:
    m.write(i.register("dst"), m.load(access(m, i), W))


@meaning(r"VLD[AB]_(?:2D_|3D_)?128(?:_.*)?")
def load_half(m: Moment, i: SlotInstruction) -> None:
    low = m.load(access(m, i), HALF_W)
    m.write(i.register("dst"), low.concat(constant(HALF_W, 0)))


@meaning(r"VLDB_4x(16|32|64)_(LO|HI)")
def load_table_entries(m: Moment, i: SlotInstruction, width: str, half: str) -> None:
    """Four look-ups. A table has each of its 16-byte rows twice, for two lanes at once from different banks.

    A lane's address counts both copies: within 32 bytes half of it is the place in the row, and the bits
    below an entry are left out. So need it aie_api's unmasked indices and tables (mlir-aie's exp_ilut_ab).
    """
    addresses = m.read(i.register("src"))
    first = 0 if half == "LO" else 4
    size = int(width) // 8
    entries: list[Value] = []
    for lane in range(4):
        address = addresses.extract(first + lane).trunc(20)
        row = address & ((1 << 20) - 2 * ROW_BYTES)
        place = address.lshr(1) & (ROW_BYTES - size)
        entries.append(m.load(row | place | lane % 2 * ROW_BYTES, Type(int(width))).zext(64))
    result = constant(Type(64, 4), 0)
    for lane, entry in enumerate(entries):
        result = result.insert(lane, entry)
    m.write(i.register("dst"), result)


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


@meaning(r"VMOV_(HI|LO)")
def read_cascade_into_half(m: Moment, i: SlotInstruction, half: str) -> None:
    """Into one half of a 1024-bit accumulator; the other half becomes zero, so that two can be added."""
    (data,) = m.port("cascade-read")
    zero = constant(data.type, 0)
    m.write(i.register("dst"), data.concat(zero) if half == "LO" else zero.concat(data))


@meaning("VMOV_mv_mcd")
def write_cascade(m: Moment, i: SlotInstruction) -> None:
    m.port("cascade-write", m.read(i.register("src")))
