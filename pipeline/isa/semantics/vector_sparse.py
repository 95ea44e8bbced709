"""Sparse and compressed data: the loads that unpack it, and the multiplier array on sparse second factors.

DP is where the next data lies that the load unit has not given away ("the internal buffer pointer"); reset
sets it from the pointer, pop moves it behind the vector that it gives, fill and peek leave it. Every one of
them moves the pointer, which says what the unit fetches next, by 256 bits (UG1583, "Compressed Load
Operations"). What has been fetched is read from memory here when it is given away.

A second factor is stored by columns, and compilers transpose what is left after loading, but not its mask
(aie_api: mmul_8_8.hpp and its like; llvm-aie: aiev2_scl2vec.h, shuffle of sparse vectors): the multiplier
takes rows of values and a mask by columns. Mode words: llvm-aie, aiev2_vmult.h, where integer modes but
one (4 bits, whose order nobody describes) have a first factor of 512 bits, "narrow", and bfloat16 has one of
1024, "wide": the other forms have no meaning here.
"""

from __future__ import annotations

from ..bundle import SlotInstruction
from .meaning import Moment, UndefinedMode, meaning
from .sparsity import GROUP, keep_two, padded_bytes, spread_two, unpack, value_bits
from .value import Choice, Type, Value, concat, constant
from .vector_float import FLOAT_MODE_BITS, LANES, sum_of_products
from .vector_mac import (
    ACCUMULATOR_DELAY,
    CM,
    PRODUCT_SIGNS,
    SIGN_X,
    SIGN_Y,
    SUB_MASK_SHIFT,
    Geometry,
    Signs,
    accumulated,
    geometry_key,
    multiply_lanes,
)

BLOCK_BYTES = 32
"""What one access of the load unit fetches."""
_BLOCKS = 3
"""Blocks that a vector, its mask, and the distance to the first block's beginning may reach over."""
_MEMORY_BITS = 0xF0000
"""Bits of an address that tell the data memories apart."""
UNIT_DELAY = 5
"""DP is read in E6 (AIE2Schedule.td)."""

# Integer geometries by (accumulator mode, multiplier mode, variant)
SPARSE: dict[tuple[int, int, int], Geometry] = {
    (0, 1, 5): Geometry(8, 8, 4, 16, 8, 32),
    (1, 2, 2): Geometry(16, 8, 2, 16, 8, 64),
    (1, 3, 5): Geometry(16, 16, 2, 8, 8, 64),
}
FLOAT_SPARSE: dict[tuple[int, int, int], Geometry] = {(2, 3, 2): Geometry(16, 16, 4, 16, 4, 32)}


# --------------------------------------------------------------------------- loads


@meaning(r"VLDB_(?:SPARSE|COMPR)_RESET(?:_\d+)?")
def reset(m: Moment, i: SlotInstruction) -> None:
    pointer = _fetch(m, i)
    m.after(UNIT_DELAY).write("DP", pointer)


@meaning(r"VLDB_(?:SPARSE|COMPR)_FILL(?:_\d+)?")
def fill(m: Moment, i: SlotInstruction) -> None:
    _fetch(m, i)
    late = m.after(UNIT_DELAY)
    late.write("DP", late.read("DP"))


@meaning(r"VLDB_COMPR_(POP|PEEK)")
def load_compressed(m: Moment, i: SlotInstruction, action: str) -> None:
    """256 bits: a mask of 32 bits, then the bytes that are not zero."""
    _fetch(m, i)
    late = m.after(UNIT_DELAY)
    place = late.read("DP")
    data = _window(late, place)
    values, size = unpack(data.shuffle(range(4)), data.shuffle([(4 + lane) % 128 for lane in range(128)]))
    late.write(i.register("dst"), values)
    late.write("DP", place + (padded_bytes(size) + 4).trunc(20) if action == "POP" else place)


@meaning(r"VLDB_SPARSE_(POP|PEEK)_(4|8|16)")
def load_sparse(m: Moment, i: SlotInstruction, action: str, width: str) -> None:
    """Half a register of values and its mask. Values of 4 bits go in pairs."""
    _fetch(m, i)
    late = m.after(UNIT_DELAY)
    place = late.read("DP")
    data = _window(late, place)
    mask = data.shuffle(range(8))
    every, size = unpack(mask, data.shuffle([(8 + lane) % 128 for lane in range(128)]))
    bits = 16 if width == "16" else 8
    destination = i.register("dst")
    late.write(destination.removeprefix("q"), keep_two(every.lanes(bits), value_bits(mask, bits)))
    late.write(f"q{destination[2]}{destination[3:]}", mask)
    late.write("DP", place + (padded_bytes(size) + 8).trunc(20) if action == "POP" else place)


def _fetch(m: Moment, i: SlotInstruction) -> Value:
    """The pointer, which moves on by what the unit fetches."""
    name = i.register("ptr")
    pointer = m.read(name)
    m.write(name, (pointer & ~(BLOCK_BYTES - 1)) + BLOCK_BYTES, ready=1)
    return pointer


def _window(m: Moment, place: Value) -> Value:
    """Bytes from `place` (a multiple of 4) on; as many as a vector with its mask may have.

    Not all of them need be the vector's: at the end of a memory the first block stands for what is beyond.
    """
    first = place & ~(BLOCK_BYTES - 1)
    blocks: list[Value] = []
    for n in range(_BLOCKS):
        address = first + BLOCK_BYTES * n
        inside = ((address ^ first) & _MEMORY_BITS).eq(0)
        blocks.append(m.load(inside.select(address, first), Type(8, BLOCK_BYTES)))
    window = concat([*blocks, constant(Type(8, BLOCK_BYTES), 0)])
    count = window.type.lanes
    for bit in range(2, BLOCK_BYTES.bit_length() - 1):
        moved = window.shuffle([(lane + (1 << bit)) % count for lane in range(count)])
        window = place.lshr(bit).trunc(1).select(moved, window)
    return window


# --------------------------------------------------------------------------- multiplications


@meaning(r"V((?:NEG)?MUL)_vmac_cm_core_sparse_narrow")
def multiply(m: Moment, i: SlotInstruction, kind: str) -> None:
    mode, *factors = _factors(m, i)
    m.after(ACCUMULATOR_DELAY).write(
        i.register("dst"), mode.choose(_CHOICES[kind.lower()], CM, tuple(factors))
    )


@meaning(r"V((?:NEG)?M(?:AC|SC))_vmac_cm_core_sparse_narrow")
def multiply_accumulate(m: Moment, i: SlotInstruction, kind: str) -> None:
    mode, *factors = _factors(m, i)
    late = m.after(ACCUMULATOR_DELAY)
    args = (*factors, late.read(i.register("acc1")))
    late.write(i.register("dst"), mode.choose(_CHOICES[kind.lower()], CM, args))


@meaning(r"V((?:ADD|SUB)M(?:AC|SC))_vmac_cm_core_sparse_narrow")
def multiply_accumulate_two(m: Moment, i: SlotInstruction, kind: str) -> None:
    mode, *factors = _factors(m, i)
    late = m.after(ACCUMULATOR_DELAY)
    args = (*factors, late.read(i.register("acc1")), late.read(i.register("acc2")))
    late.write(i.register("acc1"), mode.choose(_CHOICES[kind.lower()], CM, args))


@meaning(r"V((?:NEG)?MUL)_F_vmac_bm_core_sparse_wide")
def multiply_floats(m: Moment, i: SlotInstruction, kind: str) -> None:
    mode, *factors = _factors(m, i)
    result = (mode & FLOAT_MODE_BITS).choose(_CHOICES[f"float {kind.lower()}"], LANES, tuple(factors))
    m.after(ACCUMULATOR_DELAY).write(i.register("dst"), result)


@meaning(r"V(MAC|MSC)_F_vmac_bm_core_sparse_wide")
def multiply_accumulate_floats(m: Moment, i: SlotInstruction, kind: str) -> None:
    mode, *factors = _factors(m, i)
    late = m.after(ACCUMULATOR_DELAY)
    args = (*factors, late.read(i.register("acc1")))
    late.write(
        i.register("dst"), (mode & FLOAT_MODE_BITS).choose(_CHOICES[f"float {kind.lower()}"], LANES, args)
    )


@meaning(r"V(ADDM(?:AC|SC))_F_vmac_bm_core_sparse_wide")
def multiply_accumulate_two_floats(m: Moment, i: SlotInstruction, kind: str) -> None:
    mode, *factors = _factors(m, i)
    late = m.after(ACCUMULATOR_DELAY)
    args = (*factors, late.read(i.register("acc1")), late.read(i.register("acc2")))
    late.write(
        i.register("acc1"), (mode & FLOAT_MODE_BITS).choose(_CHOICES[f"float {kind.lower()}"], LANES, args)
    )


def _factors(m: Moment, i: SlotInstruction) -> tuple[Value, Value, Value, Value]:
    """The mode word, the first factor, and the second one's values and mask."""
    first = i.register("ys1" if "ys1" in i.operands else "xs1")
    number = i.register("qxs2").removeprefix("qx")
    return m.read(i.register("c")), m.read(first), m.read(f"x{number}"), m.read(f"q{number}")


def full_factor(geometry: Geometry, values: Value, mask: Value) -> Value:
    """All values of a sparse second factor, row by row."""
    g = geometry
    groups = g.inner // GROUP
    places = [(group, column) for group in range(groups) for column in range(g.columns)]
    kept = values.lanes(g.y_bits)
    low, high = (kept.shuffle([(2 * group + slot) * g.columns + c for group, c in places]) for slot in (0, 1))
    every = value_bits(mask, g.y_bits)
    a, b, c, d = (
        every.shuffle([c * g.inner + GROUP * group + n for group, c in places]) for n in range(GROUP)
    )
    by_place = spread_two(low, high, (a, b, c, d))
    rows = [(k % GROUP, k // GROUP) for k in range(g.inner)]
    return by_place.shuffle(
        [place * len(places) + group * g.columns + c for place, group in rows for c in range(g.columns)]
    )


def _integer(name: str, signs: Signs) -> Choice:
    def build(mode: int, args: tuple[Value, ...]) -> Value:
        geometry = SPARSE.get(geometry_key(mode))
        if geometry is None or mode >> SUB_MASK_SHIFT:
            raise UndefinedMode(f"multiplier mode word {mode:#x} with a sparse factor")
        x, values, mask, *accumulators = args
        y = full_factor(geometry, values, mask)
        product = multiply_lanes(geometry, x, y, x_signed=bool(mode & SIGN_X), y_signed=bool(mode & SIGN_Y))
        return accumulated(mode, product, tuple(accumulators), signs)

    def accepts(mode: int) -> bool:
        return geometry_key(mode) in SPARSE and not mode >> SUB_MASK_SHIFT

    return Choice(f"sparse {name}", build, accepts, accepts)


def _float(name: str, *, minus: bool) -> Choice:
    def build(mode: int, args: tuple[Value, ...]) -> Value:
        geometry = FLOAT_SPARSE.get(geometry_key(mode))
        x, values, mask, *accumulators = args
        if geometry is None:
            raise UndefinedMode(f"float multiplier mode word {mode:#x} with a sparse factor")
        y = full_factor(geometry, values, mask)
        return sum_of_products(geometry, mode, (x, y, *accumulators), minus=minus)

    def accepts(mode: int) -> bool:
        return geometry_key(mode) in FLOAT_SPARSE

    return Choice(f"sparse float {name}", build, accepts, accepts)


_CHOICES = {
    **{name: _integer(name, signs) for name, signs in PRODUCT_SIGNS.items()},
    **{
        f"float {name}": _float(name, minus=name in ("negmul", "msc", "addmsc"))
        for name in ("mul", "negmul", "mac", "msc", "addmac", "addmsc")
    },
}
