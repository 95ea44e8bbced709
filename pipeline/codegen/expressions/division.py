"""arith's integer divisions of up to 32 bits: one bit of the quotient after the other, without branches.

The core's division step (`divs`) has fixed registers; the same step in comparisons and subtractions fits into
any expression. Division by zero, and of the smallest number by -1, is undefined in MLIR.
"""

from __future__ import annotations

from .integers import unsigned
from .typed import WORD_BITS, Call, Inexpressible, Typed, integer_bits, lowers, normal
from .words import Graph


def _divided(graph: Graph, x: int, y: int, bits: int) -> tuple[int, int]:
    """Quotient and remainder of unsigned words, of which the dividend has `bits`."""
    quotient = rest = graph.constant(0)
    for bit in reversed(range(bits)):
        carry = graph.right(rest, WORD_BITS - 1)
        next_bit = graph.masked(graph.right(x, bit), 1)
        rest = graph.either(graph.left(rest, 1), next_bit)
        fits = graph.op("geu", rest, y)
        if bits == WORD_BITS:
            fits = graph.either(fits, carry)  # a remainder of 33 bits
        rest = graph.sub(rest, graph.select(fits, y, graph.constant(0)))
        quotient = graph.either(graph.left(quotient, 1), fits)
    return quotient, rest


def _checked_bits(call: Call) -> int:
    bits = integer_bits(call.element)
    if bits > WORD_BITS:
        raise Inexpressible("a division in 64 bits")
    return bits


def _unsigned_parts(call: Call) -> tuple[int, int, int]:
    bits = _checked_bits(call)
    x, y = (unsigned(call.graph, operand) for operand in call.operands)
    return bits, *_divided(call.graph, x, y, bits)


def _result(call: Call, word: int, bits: int) -> Typed:
    return Typed(call.element, (normal(call.graph, word, bits),))


@lowers("arith.divui")
def _divide_unsigned(call: Call) -> Typed:
    bits, quotient, _ = _unsigned_parts(call)
    return _result(call, quotient, bits)


@lowers("arith.remui")
def _remainder_unsigned(call: Call) -> Typed:
    bits, _, rest = _unsigned_parts(call)
    return _result(call, rest, bits)


def _signed_parts(call: Call) -> tuple[int, int, int, int]:
    """Bits, quotient towards zero, remainder with the dividend's sign, whether signs differ."""
    bits, graph = _checked_bits(call), call.graph
    if bits == 1:
        raise Inexpressible("a signed division of i1")
    x, y = (operand.low for operand in call.operands)
    zero = graph.constant(0)
    negative = [graph.op("lt", word, zero) for word in (x, y)]
    sizes = [
        graph.select(sign, graph.negated(word), word) for sign, word in zip(negative, (x, y), strict=True)
    ]
    quotient, rest = _divided(graph, sizes[0], sizes[1], bits)
    unlike = graph.op("xor", negative[0], negative[1])
    quotient = graph.select(unlike, graph.negated(quotient), quotient)
    rest = graph.select(negative[0], graph.negated(rest), rest)
    return bits, quotient, rest, unlike


@lowers("arith.divsi")
def _divide_signed(call: Call) -> Typed:
    bits, quotient, *_ = _signed_parts(call)
    return _result(call, quotient, bits)


@lowers("arith.remsi")
def _remainder_signed(call: Call) -> Typed:
    bits, _, rest, _ = _signed_parts(call)
    return _result(call, rest, bits)


@lowers("arith.floordivsi")
def _divide_down(call: Call) -> Typed:
    bits, quotient, rest, unlike = _signed_parts(call)
    graph = call.graph
    inexact = graph.op("ne", rest, graph.constant(0))
    return _result(call, graph.sub(quotient, graph.both(unlike, inexact)), bits)


@lowers("arith.ceildivsi")
def _divide_up(call: Call) -> Typed:
    bits, quotient, rest, unlike = _signed_parts(call)
    graph = call.graph
    inexact = graph.op("ne", rest, graph.constant(0))
    return _result(call, graph.add(quotient, graph.both(graph.inverted(unlike), inexact)), bits)
