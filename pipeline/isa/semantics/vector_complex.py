"""Products of complex numbers lane by lane: the modes of the multiplier array that heed sub_mask.

A complex lane is its real part, then its imaginary part, in neighbouring lanes; so are the accumulators.
Eight complex accumulators each add the products of lanes n and n + 8. Every product is four real ones, and
bit b of sub_mask negates one of them: bits 0 to 3 those of the real part, xr*yr and xi*yi of the first pair
of lanes, then of the second; bits 4 to 7 those of the imaginary part, xr*yi and xi*yr of the first pair,
then of the second.

Mode words: llvm-aie's aiev2_vmult.h (mul_elem_8_2, mul_elem_8: "complex type"). The bits follow from the
masks that llvm-aie names, all of which they give: 0x0A the product, 0xA0, 0x50 and 0xFA that with x, y or
both conjugated; and, as to which pair comes first, from the radix-4 butterflies of aie_api (fft_dit.hpp),
which give 0x9C and y with its parts exchanged: -j times the difference of both products.
"""

from __future__ import annotations

from dataclasses import dataclass

from .meaning import UndefinedMode
from .value import Type, Value, constant

ACCUMULATORS = 8
"""Complex ones, of twice 64 bits: all of a register."""

_WIDTH = 64


@dataclass(frozen=True, slots=True)
class ComplexMode:
    """Bits of a part of x and of y, and how many pairs of lanes each accumulator adds.

    Parts of x of 32 bits are multiplied by halves, which share y: the second pair's bits of sub_mask are
    those of the other half, so that only masks make sense that have them alike.
    """

    x_bits: int
    y_bits: int
    pairs: int


# (accumulator mode, multiplier mode, variant) of the mode word
COMPLEX: dict[tuple[int, int, int], ComplexMode] = {
    (1, 3, 4): ComplexMode(16, 16, 2),
    (1, 0, 1): ComplexMode(32, 16, 1),
}


def has_meaning(mode: ComplexMode, mask: int) -> bool:
    """Whether public sources say what this sub_mask does."""
    return mask < 0x100 and (mode.pairs == 2 or mask & 0x33 == mask >> 2 & 0x33)


def complex_product(
    mode: ComplexMode, mask: int, x: Value, y: Value, *, x_signed: bool, y_signed: bool
) -> Value:
    """The products as 1024 bits of accumulator lanes. Raises UndefinedMode."""
    if not has_meaning(mode, mask):
        raise UndefinedMode(f"sub_mask {mask:#x} of a complex product")
    lanes = range(2 * ACCUMULATORS)
    a, b = x.lanes(mode.x_bits), y.lanes(mode.y_bits)
    product_bits = 32 if mode.x_bits + mode.y_bits <= 32 else _WIDTH
    total = constant(Type(_WIDTH, len(lanes)), 0)
    for pair in range(mode.pairs):
        first = pair * len(lanes)
        for part in (0, 1):  # of x: the real one meets y's as it stands, the imaginary one the other
            left = a.shuffle([first + lane // 2 * 2 + part for lane in lanes])
            right = b.shuffle([first + lane ^ part for lane in lanes])
            product = left.extend(product_bits, signed=x_signed) * right.extend(product_bits, signed=y_signed)
            if product_bits < _WIDTH:
                product = product.extend(_WIDTH, signed=x_signed or y_signed)
            signs = [mask >> 2 * pair + part & 1, mask >> 4 + 2 * pair + part & 1]
            total = total + _negated(product, signs)
    return total.lanes(32)


def _negated(product: Value, signs: list[int]) -> Value:
    """`signs` are those of the even and the odd lanes, 1 to negate."""
    count = product.type.lanes
    return product.shuffle([lane + count * signs[lane % 2] for lane in range(count)], -product)
