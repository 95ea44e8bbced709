"""Sparse vectors: how their masks and values are laid out, in memory and in registers.

A mask has a bit for each byte of the full vector. In memory the bytes whose bit is set follow it, padded to
a word. Full values come in groups of four, of which at most two are not zero; a register holds two of each
group, and its mask. Sources: aie_api, "Sparse Data Format" and "Sparse partial decompression"; UG1583,
"Compressed Sparse Load Operations" (16-bit values: their two mask bits or'ed).
"""

from __future__ import annotations

from .value import Type, Value, concat, constant

GROUP = 4
KEPT = 2
"""Values of a group that a register has room for."""


def mask_lanes(mask: Value) -> Value:
    """A mask as one bit per lane, lowest first."""
    octets = mask.lanes(8)
    bits = 8 * octets.type.lanes
    spread = octets.shuffle([lane // 8 for lane in range(bits)])
    shifts = constant(spread.type, [lane % 8 for lane in range(bits)])
    return (spread.lshr(shifts) & 1).ne(0)


def value_bits(mask: Value, width: int) -> Value:
    """One bit for each value of `width` bits (8 or 16): whether any of its bytes is there."""
    bits = mask_lanes(mask)
    if width == 8:
        return bits
    count = bits.type.lanes // 2
    even, odd = (bits.shuffle(range(start, 2 * count, 2)) for start in (0, 1))
    return even | odd


def unpack(mask: Value, packed: Value) -> tuple[Value, Value]:
    """All bytes that `mask` speaks of, from those that are there; and how many those are (32 bits).

    `packed` are bytes, a power of two and at least as many as the mask has bits.
    """
    present = mask_lanes(mask)
    count = present.type.lanes
    before = present.zext(8)
    zero = constant(before.type, 0)
    step = 1
    while step < count:  # prefix sums: how many there are up to and with each lane
        moved = before.shuffle([lane - step if lane >= step else count + lane for lane in range(count)], zero)
        before = before + moved
        step *= 2
    result = constant(Type(8, count), 0)
    for lane in range(count):
        at = before.extract(lane).zext(32) - 1
        result = result.insert(lane, packed.extract(at))
    return present.select(result, constant(result.type, 0)), before.extract(count - 1).zext(32)


def keep_two(values: Value, bits: Value) -> Value:
    """Of each four values the two that a register holds: those of the highest bits that are set.

    A single value stays in its half of the group. More than two are no valid sparse vector.
    """
    groups = values.type.lanes // GROUP
    a, b, c, d = (values.shuffle(range(i, values.type.lanes, GROUP)) for i in range(GROUP))
    is_a, is_b, is_c, is_d = (bits.shuffle(range(i, values.type.lanes, GROUP)) for i in range(GROUP))
    none = constant(a.type, 0)
    high = is_d.select(d, is_c.select(c, (is_a & is_b).select(b, none)))
    lower = is_b.select(b, a)
    low = is_d.select(is_c.select(c, lower), is_c.select(lower, is_a.select(a, b)))
    return low.shuffle([lane for g in range(groups) for lane in (g, groups + g)], high)


def spread_two(low: Value, high: Value, bits: tuple[Value, Value, Value, Value]) -> Value:
    """The inverse for many groups: all first values, then all second ones, and so on."""
    is_a, is_b, is_c, is_d = bits
    none = constant(low.type, 0)
    d = is_d.select(high, none)
    c = is_c.select(is_d.select(low, high), none)
    b = is_b.select((is_c & is_d).select(none, (is_c | is_d).select(low, is_a.select(high, low))), none)
    above = is_b.zext(8) + is_c.zext(8) + is_d.zext(8)
    a = is_a.select(above.ult(2).select(low, none), none)
    return concat([a, b, c, d])


def padded_bytes(count: Value) -> Value:
    """`count` bytes and what fills their last word."""
    return (count + 3) & ~3
