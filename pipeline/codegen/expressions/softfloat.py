"""IEEE binary32 arithmetic in integer word operations, without branches: rounded to nearest, ties to even,
with subnormal numbers, signed zeros, infinities and NaN (always the quiet one, 0x7fc00000).

The core's scalar unit has no floats, and its vector unit none that is exact for f32 (it multiplies bf16
only). Each function adds nodes to a graph and returns the word of the result.
"""

from __future__ import annotations

from .integers import product_of_words
from .words import Graph

SIGN, MAGNITUDE, INFINITY, QUIET_NAN = 0x80000000, 0x7FFFFFFF, 0x7F800000, 0x7FC00000
FRACTION_BITS, BIAS, SPECIAL_EXPONENT = 23, 127, 255
IMPLICIT = 1 << FRACTION_BITS

# a significand to be rounded has its leading one at bit 30 and seven bits below the last that is kept
_LEADING = 30
_SPARE = _LEADING - FRACTION_BITS
_HALF = (1 << (_SPARE - 1)) - 1


def is_nan(graph: Graph, x: int) -> int:
    return graph.op("ltu", graph.constant(INFINITY), magnitude(graph, x))


def magnitude(graph: Graph, x: int) -> int:
    return graph.masked(x, MAGNITUDE)


def ordered_key(graph: Graph, x: int) -> int:
    """A signed integer that is ordered as numbers are, -0 just below +0."""
    return graph.op("xor", x, graph.masked(graph.right(x, 31, sign=True), MAGNITUDE))


def comparable(graph: Graph, x: int) -> int:
    """A signed integer that is ordered as numbers are, both zeros alike."""
    negative = graph.op("lt", x, graph.constant(0))
    return graph.select(negative, graph.sub(graph.constant(SIGN), x), x)


def add(graph: Graph, x: int, y: int) -> int:
    swap = graph.op("ltu", magnitude(graph, x), magnitude(graph, y))
    large, small = graph.select(swap, y, x), graph.select(swap, x, y)
    unlike = graph.op("lt", graph.op("xor", x, y), graph.constant(0))
    large_exponent, large_part = _parts(graph, large)
    small_exponent, small_part = _parts(graph, small)
    # six bits below the last, and room for one more above: of a sum
    large_part, small_part = graph.left(large_part, 6), graph.left(small_part, 6)
    distance = _at_most_31(graph, graph.sub(large_exponent, small_exponent))
    small_part = _shifted_sticky(graph, small_part, distance)
    total = graph.select(unlike, graph.sub(large_part, small_part), graph.add(large_part, small_part))
    zeros = graph.sub(graph.op("clz", total), graph.constant(1))
    exponent = graph.sub(graph.add(large_exponent, graph.constant(1)), zeros)
    sign = graph.masked(large, SIGN)
    rounded = _rounded(graph, sign, exponent, graph.op("lshl", total, zeros))
    exact_zero = graph.select(unlike, graph.constant(0), sign)
    result = graph.select(graph.op("eq", total, graph.constant(0)), exact_zero, rounded)
    infinite = graph.op("eq", magnitude(graph, large), graph.constant(INFINITY))
    both = graph.op("eq", magnitude(graph, small), graph.constant(INFINITY))
    result = graph.select(infinite, large, result)
    invalid = graph.either(is_nan(graph, large), graph.both(graph.both(infinite, both), unlike))
    result = graph.select(invalid, graph.constant(QUIET_NAN), result)
    graph.float_sums[result] = (x, y)
    return result


def subtract(graph: Graph, x: int, y: int) -> int:
    return add(graph, x, negated(graph, y))


def negated(graph: Graph, x: int) -> int:
    return graph.op("xor", x, graph.constant(SIGN))


def multiply(graph: Graph, x: int, y: int) -> int:
    sign = graph.masked(graph.op("xor", x, y), SIGN)
    x_exponent, x_part = _normal_parts(graph, x)
    y_exponent, y_part = _normal_parts(graph, y)
    low, high = product_of_words(graph, graph.left(x_part, 8), graph.left(y_part, 7))
    short = graph.op("ltu", high, graph.constant(1 << _LEADING))
    shifted = graph.either(graph.left(high, 1), graph.right(low, 31))
    part = graph.select(short, shifted, high)
    rest = graph.select(short, graph.left(low, 1), low)
    part = graph.either(part, graph.op("ne", rest, graph.constant(0)))
    exponent = graph.add(graph.add(x_exponent, y_exponent), graph.constant(1 - BIAS))
    rounded = _rounded(graph, sign, graph.sub(exponent, short), part)
    return _product_of_specials(graph, x, y, sign, rounded)


def _product_of_specials(graph: Graph, x: int, y: int, sign: int, finite: int) -> int:
    zero, infinity = graph.constant(0), graph.constant(INFINITY)
    x_size, y_size = magnitude(graph, x), magnitude(graph, y)
    x_zero, y_zero = graph.op("eq", x_size, zero), graph.op("eq", y_size, zero)
    any_zero = graph.either(x_zero, y_zero)
    result = graph.select(any_zero, sign, finite)
    special = graph.either(graph.op("geu", x_size, infinity), graph.op("geu", y_size, infinity))
    nan = graph.either(graph.either(is_nan(graph, x), is_nan(graph, y)), any_zero)
    of_special = graph.select(nan, graph.constant(QUIET_NAN), graph.either(sign, infinity))
    return graph.select(special, of_special, result)


def divide(graph: Graph, x: int, y: int) -> int:
    """A restoring division of significands, one bit after the other."""
    sign = graph.masked(graph.op("xor", x, y), SIGN)
    x_exponent, x_part = _normal_parts(graph, x)
    y_exponent, y_part = _normal_parts(graph, y)
    short = graph.op("ltu", x_part, y_part)
    rest = graph.op("lshl", x_part, short)
    quotient = graph.constant(0)
    for _ in range(FRACTION_BITS + 3):
        fits = graph.op("geu", rest, y_part)
        quotient = graph.either(graph.left(quotient, 1), fits)
        rest = graph.left(graph.select(fits, graph.sub(rest, y_part), rest), 1)
    part = graph.left(quotient, _LEADING - FRACTION_BITS - 2)
    part = graph.either(part, graph.op("ne", rest, graph.constant(0)))
    exponent = graph.add(graph.sub(graph.sub(x_exponent, y_exponent), short), graph.constant(BIAS))
    rounded = _rounded(graph, sign, exponent, part)
    zero, infinity = graph.constant(0), graph.constant(INFINITY)
    x_size, y_size = magnitude(graph, x), magnitude(graph, y)
    x_zero, y_zero = graph.op("eq", x_size, zero), graph.op("eq", y_size, zero)
    x_infinite, y_infinite = graph.op("eq", x_size, infinity), graph.op("eq", y_size, infinity)
    result = graph.select(graph.either(x_zero, y_infinite), sign, rounded)
    result = graph.select(graph.either(y_zero, x_infinite), graph.either(sign, infinity), result)
    invalid = graph.either(graph.both(x_zero, y_zero), graph.both(x_infinite, y_infinite))
    invalid = graph.either(invalid, graph.either(is_nan(graph, x), is_nan(graph, y)))
    return graph.select(invalid, graph.constant(QUIET_NAN), result)


def from_magnitude(graph: Graph, size: int, sign: int) -> int:
    """The float of an unsigned word, with the sign bit `sign`."""
    zeros = graph.op("clz", size)
    part = graph.op("lshl", size, zeros)
    part = graph.either(graph.right(part, 1), graph.masked(part, 1))
    exponent = graph.sub(graph.constant(BIAS + 31), zeros)
    rounded = _rounded(graph, sign, exponent, part)
    return graph.select(graph.op("eq", size, graph.constant(0)), sign, rounded)


def to_magnitude(graph: Graph, x: int) -> int:
    """|x| towards zero as an unsigned word; wrong from 2**32 on."""
    exponent, part = _parts(graph, x)
    amount = graph.sub(exponent, graph.constant(BIAS + FRACTION_BITS))
    too_small = graph.op("lt", amount, graph.constant(-31))
    return graph.op("lshl", part, graph.select(too_small, graph.constant(-31), amount))


def to_bfloat(graph: Graph, x: int) -> int:
    """Rounded to bf16's upper half of the word."""
    odd = graph.masked(graph.right(x, 16), 1)
    rounded = graph.masked(graph.add(graph.add(x, graph.constant(0x7FFF)), odd), 0xFFFF0000)
    return graph.select(is_nan(graph, x), graph.constant(QUIET_NAN), rounded)


# --------------------------------------------------------------------------- to whole numbers

ONE = BIAS << FRACTION_BITS
_ONE_HALF = (BIAS - 1) << FRACTION_BITS
_FIRST_WHOLE = (BIAS + FRACTION_BITS) << FRACTION_BITS
"""From 2**23 on all numbers are whole."""


def towards_zero(graph: Graph, x: int) -> int:
    zero = graph.constant(0)
    return _whole(graph, x, added=zero, below_one=zero)


def away_where(graph: Graph, x: int, outwards: int) -> int:
    """Away from zero where `outwards` is 1, towards it where that is 0."""
    rest = graph.sub(graph.op("lshl", graph.constant(1), _fraction_places(graph, x)), graph.constant(1))
    some = graph.op("ne", magnitude(graph, x), graph.constant(0))
    added = graph.select(outwards, rest, graph.constant(0))
    return _whole(graph, x, added=added, below_one=graph.both(outwards, some))


def to_nearest(graph: Graph, x: int, *, to_even: bool) -> int:
    """Halves to the even number, or away from zero."""
    places = _fraction_places(graph, x)
    added = graph.op("lshl", graph.constant(1), graph.sub(places, graph.constant(1)))
    size, half = magnitude(graph, x), graph.constant(_ONE_HALF)
    if not to_even:
        return _whole(graph, x, added=added, below_one=graph.op("geu", size, half))
    # at the lowest place of a number from 1 to 2 stands the odd lowest bit of its exponent
    odd = graph.masked(graph.op("lshl", size, graph.negated(places)), 1)
    added = graph.add(graph.sub(added, graph.constant(1)), odd)
    return _whole(graph, x, added=added, below_one=graph.op("ltu", half, size))


def _fraction_places(graph: Graph, x: int) -> int:
    """Bits of the word that stand behind the point; meaningless for less than 1 and from 2**23 on."""
    return graph.sub(graph.constant(BIAS + FRACTION_BITS), exponent_field(graph, x))


def _whole(graph: Graph, x: int, *, added: int, below_one: int) -> int:
    """x plus what is `added` to its word, without its fraction; a number below 1 becomes 1 where `below_one`
    is 1, else 0. Signs stay."""
    size, sign = magnitude(graph, x), graph.masked(x, SIGN)
    kept = graph.op("lshl", graph.constant(-1), _fraction_places(graph, x))
    word = graph.both(graph.add(size, added), kept)
    small = graph.select(below_one, graph.constant(ONE), graph.constant(0))
    word = graph.select(graph.op("ltu", size, graph.constant(ONE)), small, word)
    word = graph.select(graph.op("ltu", size, graph.constant(_FIRST_WHOLE)), word, size)
    return graph.select(is_nan(graph, x), graph.constant(QUIET_NAN), graph.either(sign, word))


# --------------------------------------------------------------------------- parts


def exponent_field(graph: Graph, x: int) -> int:
    return graph.masked(graph.right(x, FRACTION_BITS), SPECIAL_EXPONENT)


def _parts(graph: Graph, x: int) -> tuple[int, int]:
    """Exponent (1 for subnormal numbers) and significand with its leading one."""
    field = exponent_field(graph, x)
    subnormal = graph.op("eq", field, graph.constant(0))
    fraction = graph.masked(x, IMPLICIT - 1)
    implicit = graph.select(subnormal, graph.constant(0), graph.constant(IMPLICIT))
    return graph.add(field, subnormal), graph.either(fraction, implicit)


def _normal_parts(graph: Graph, x: int) -> tuple[int, int]:
    """The same with the leading one at bit 23 also for subnormal numbers (their exponents become less)."""
    exponent, part = _parts(graph, x)
    zeros = graph.sub(graph.op("clz", part), graph.constant(31 - FRACTION_BITS))
    return graph.sub(exponent, zeros), graph.op("lshl", part, zeros)


def _at_most_31(graph: Graph, amount: int) -> int:
    most = graph.constant(31)
    return graph.select(graph.op("lt", amount, most), amount, most)


def _shifted_sticky(graph: Graph, x: int, amount: int) -> int:
    """To the right by 0 to 31; bits that fall out are kept as the lowest."""
    kept = graph.op("lshl", x, graph.negated(amount))
    lost = graph.op("ne", graph.op("lshl", kept, amount), x)
    return graph.either(kept, lost)


def _rounded(graph: Graph, sign: int, exponent: int, part: int) -> int:
    """sign * part / 2**30 * 2**(exponent - bias), rounded; `part` has its leading one at bit 30."""
    one = graph.constant(1)
    small = graph.op("lt", exponent, one)
    amount = graph.select(small, _at_most_31(graph, graph.sub(one, exponent)), graph.constant(0))
    part = _shifted_sticky(graph, part, amount)
    odd = graph.masked(graph.right(part, _SPARE), 1)
    part = graph.right(graph.add(graph.add(part, graph.constant(_HALF)), odd), _SPARE)
    base = graph.select(small, graph.constant(0), graph.sub(exponent, one))
    number = graph.add(graph.left(base, FRACTION_BITS), part)
    finite = graph.op("ltu", number, graph.constant(INFINITY))
    return graph.either(sign, graph.select(finite, number, graph.constant(INFINITY)))
