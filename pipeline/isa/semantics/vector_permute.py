"""Moving lanes: broadcast, extract, insert, push, shift, shuffle.

Lane counts are powers of two, and an index is taken modulo the count. `vshift` takes 64 bytes out of the
pair (s2:s1) from a byte offset on (emulation.md); offsets from 64 on give zero (xdna-emu's test generator
says so of a Phoenix). The shuffle modes are transpositions of a matrix in the
pair (s2:s1), named T<width>_<rows>x<columns> in llvm-aie's aiev2_enums.h: mode 2 (T16_32x2_lo) takes 32
rows of 2 lanes of 16 bits, and gives the low half of the transpose.
"""

from __future__ import annotations

from ..bundle import SlotInstruction
from .meaning import Moment, UndefinedMode, meaning
from .value import I32, Choice, Type, Value, constant

X_BYTES = 64
X = Type(32, 16)


@meaning(r"VBCST_(8|16|32|64)")
def broadcast(m: Moment, i: SlotInstruction, width: str) -> None:
    m.write(i.register("dst"), _scalar(m, i, "s0", width).splat(X.bits // int(width)))


@meaning(r"VEXTBCST_(8|16|32|64)_(mExtractIdxImm|mRm)")
def extract_and_broadcast(m: Moment, i: SlotInstruction, width: str, form: str) -> None:
    index = constant(I32, i.immediate("idx")) if form == "mExtractIdxImm" else m.read(i.register("idx"))
    lanes = m.read(i.register("src")).lanes(int(width))
    m.write(i.register("dst"), lanes.extract(index).splat(lanes.type.lanes))


@meaning(r"VEXTRACT_([SD])(8|16|32|64)")
def extract(m: Moment, i: SlotInstruction, sign: str, width: str) -> None:
    """`d` extends as crVaddSign says, `s` with the sign."""
    lane = m.read(i.register("s1")).lanes(int(width)).extract(m.read(i.register("idx")))
    if int(width) < 32:
        wide = lane.sext(32)
        if sign == "D":
            wide = m.read("crVaddSign").trunc(1).select(wide, lane.zext(32))
        lane = wide
    m.write(i.register("dst"), lane)


@meaning(r"VINSERT_(8|16|32|64)")
def insert(m: Moment, i: SlotInstruction, width: str) -> None:
    lanes = m.read(i.register("s1")).lanes(int(width))
    m.write(i.register("dst"), lanes.insert(m.read("r29"), _scalar(m, i, "s0", width)))


@meaning(r"VPUSH_HI_(8|16|32|64)")
def push_high(m: Moment, i: SlotInstruction, width: str) -> None:
    """All lanes move down by one, the scalar becomes the highest."""
    lanes = m.read(i.register("s1")).lanes(int(width))
    count = lanes.type.lanes
    moved = lanes.shuffle([*range(1, count), 0])
    m.write(i.register("d"), moved.insert(count - 1, _scalar(m, i, "s2", width)))


@meaning(r"VPUSH_LO_(8|16|32|64)")
def push_low(m: Moment, i: SlotInstruction, width: str) -> None:
    """All lanes move up by one, the scalar becomes the lowest."""
    lanes = m.read(i.register("s2")).lanes(int(width))
    count = lanes.type.lanes
    moved = lanes.shuffle([count - 1, *range(count - 1)])
    m.write(i.register("d"), moved.insert(0, _scalar(m, i, "s1", width)))


@meaning("VSHIFT")
def shift(m: Moment, i: SlotInstruction) -> None:
    low, high = (m.read(i.register(s)).lanes(8) for s in ("s1", "s2"))
    m.write(i.register("d"), shift_bytes(low, high, m.read(i.register("shift"))))


@meaning("VSHIFT_ALIGN")
def shift_aligned(m: Moment, i: SlotInstruction) -> None:
    """With step 0 it is `vshift` (llvm-aie, aiev2_scl2vec.h: shift_bytes is shiftx with step 0)."""
    low, high = m.read(i.register("s1")), m.read(i.register("s2"))
    amount = m.read(i.register("shift"))
    m.write(i.register("d"), m.read(i.register("pre")).choose(ALIGN, X, (low, high, amount)))


def _aligned(step: int, args: tuple[Value, ...]) -> Value:
    if step:
        raise UndefinedMode(f"vshift.align with step {step}")
    low, high, amount = args
    return shift_bytes(low.lanes(8), high.lanes(8), amount).bitcast(X)


def _is_zero(step: int) -> bool:
    return step == 0


ALIGN = Choice("vshift.align", _aligned, _is_zero, _is_zero)


def shift_bytes(low: Value, high: Value, amount: Value) -> Value:
    """64 bytes of (high:low) from byte `amount` on; one step for each bit of the amount."""
    pair = low.concat(high)
    count = pair.type.lanes
    for bit in range(X_BYTES.bit_length() - 1):
        step = 1 << bit
        moved = pair.shuffle([(lane + step) % count for lane in range(count)])
        pair = amount.lshr(bit).trunc(1).select(moved, pair)
    result = pair.part(0, 2)
    return amount.ult(X_BYTES).select(result, constant(result.type, 0))


@meaning("VSHUFFLE")
def shuffle(m: Moment, i: SlotInstruction) -> None:
    low, high = m.read(i.register("s1")), m.read(i.register("s2"))
    mode = m.read(i.register("mod")) & _MODE_MASK
    m.write(i.register("dst"), mode.choose(SHUFFLE, X, (low, high)))


@meaning(r"VBCSTSHFL_(8|16|32|64)")
def broadcast_and_shuffle(m: Moment, i: SlotInstruction, width: str) -> None:
    """`vshuffle` of a broadcast and zeros by the mode in r29 (see BROADCAST_SHUFFLE)."""
    lanes = _scalar(m, i, "s0", width).splat(X.bits // int(width)).bitcast(X)
    mode = m.read("r29") & _MODE_MASK
    m.write(i.register("dst"), mode.choose(BROADCAST_SHUFFLE, X, (lanes,)))


def _shuffled(mode: int, args: tuple[Value, ...]) -> Value:
    width, indices = shuffle_indices(mode)
    low, high = (a.lanes(width) for a in args)
    return low.shuffle(indices, high).bitcast(X)


def shuffle_indices(mode: int) -> tuple[int, list[int]]:
    """The lane width of a mode (32 bits at most), and for each lane of the result which lane of the pair.

    A mode whose matrix is smaller than a register transposes each matrix in the low operand. Raises
    UndefinedMode.
    """
    if not 0 <= mode < len(_MODES):
        raise UndefinedMode(f"vshuffle mode {mode}")
    width, rows, columns, half = _MODES[mode]
    lanes = X.bits // width
    if mode == _FLIP:
        return width, [lane ^ 1 for lane in range(lanes)]
    block = [row * columns + column for column in range(columns) for row in range(rows)]
    result = block[half * lanes : (half + 1) * lanes]
    result = [start + lane for start in range(0, lanes, len(result)) for lane in result]
    parts = max(1, width // 32)
    return min(width, 32), [lane * parts + part for lane in result for part in range(parts)]


_MODE_MASK = 0x3F
"""The bits of a mode register that count: xdna-emu measured r29 = 0x45bac25a on a Phoenix as mode 26."""

_FLIP = 38
"""T16_1x2_flip: neighbours change places."""


def _modes() -> list[tuple[int, int, int, int]]:
    """(lane width, rows, columns, which half of the result) by mode, as aiev2_enums.h names them."""
    modes: list[tuple[int, int, int, int]] = []
    for width, rows, columns in (
        *((8, 64, 2), (16, 32, 2), (32, 16, 2), (64, 8, 2), (128, 4, 2), (256, 2, 2)),
        *((128, 2, 4), (64, 2, 8), (32, 2, 16), (16, 2, 32), (8, 2, 64), (512, 1, 2)),
        *((16, 16, 4), (16, 4, 16)),
    ):
        modes += [(width, rows, columns, 0), (width, rows, columns, 1)]
    modes += [(16, 8, 4, 0), (16, 4, 8, 0)]
    for width, rows, columns in ((32, 8, 4), (32, 4, 8)):
        modes += [(width, rows, columns, 0), (width, rows, columns, 1)]
    modes += [(32, 4, 4, 0), (8, 8, 8, 0), (8, 16, 4, 0), (8, 4, 16, 0), (16, 1, 2, 0)]
    modes += [(16, 4, 4, 0), (16, 4, 2, 0), (16, 2, 4, 0), (16, 8, 2, 0), (16, 2, 8, 0)]
    modes += [(16, 16, 2, 0), (16, 2, 16, 0), (8, 8, 4, 0), (8, 4, 8, 0)]
    return modes


_MODES = _modes()


def _is_mode(mode: int) -> bool:
    return mode < len(_MODES)


SHUFFLE = Choice("vshuffle", _shuffled, _is_mode, _is_mode)


def _broadcast_shuffled(mode: int, args: tuple[Value, ...]) -> Value:
    if mode == 0:
        raise UndefinedMode("vbcstshfl mode 0, which a Phoenix was seen to do otherwise than vshuffle")
    return _shuffled(mode, (*args, constant(X, 0)))


BROADCAST_SHUFFLE = Choice(
    "vbcstshfl", _broadcast_shuffled, lambda mode: 0 < mode < len(_MODES), lambda mode: 0 < mode < len(_MODES)
)


def _scalar(m: Moment, i: SlotInstruction, operand: str, width: str) -> Value:
    value = m.read(i.register(operand))
    return value if value.type.width == int(width) else value.trunc(int(width))
