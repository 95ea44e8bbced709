"""arith's integer divisions of up to 32 bits: one bit of the quotient after the other, without branches.
In 64 bits (and of indices, which IREE divides where it makes several loops one) of numbers below 2**32.

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


def _is_wide(call: Call) -> bool:
    """Whether it is a division in 64 bits. Raises Inexpressible where one word does not hold its operands."""
    if integer_bits(call.element) <= WORD_BITS:
        return False
    zero = call.graph.constant(0)
    if any(operand.words[1:] != (zero,) for operand in call.operands):
        raise Inexpressible("a division in 64 bits of what may have more than 32")
    return True


def _unsigned_parts(call: Call) -> tuple[int, int]:
    if _is_wide(call):
        x, y = (operand.low for operand in call.operands)
        return _divided(call.graph, x, y, WORD_BITS)
    x, y = (unsigned(call.graph, operand) for operand in call.operands)
    return _divided(call.graph, x, y, integer_bits(call.element))


def _result(call: Call, word: int) -> Typed:
    bits = integer_bits(call.element)
    if bits > WORD_BITS:
        return Typed(call.element, (word, call.graph.constant(0)))
    return Typed(call.element, (normal(call.graph, word, bits),))


@lowers("arith.divui")
def _divide_unsigned(call: Call) -> Typed:
    quotient, _ = _unsigned_parts(call)
    return _result(call, quotient)


@lowers("arith.remui")
def _remainder_unsigned(call: Call) -> Typed:
    _, rest = _unsigned_parts(call)
    return _result(call, rest)


def _signed_parts(call: Call) -> tuple[int, int, int]:
    """Quotient towards zero, remainder with the dividend's sign, whether signs differ."""
    graph = call.graph
    zero = graph.constant(0)
    if _is_wide(call):
        return *_unsigned_parts(call), zero
    bits = integer_bits(call.element)
    if bits == 1:
        raise Inexpressible("a signed division of i1")
    x, y = (operand.low for operand in call.operands)
    negative = [graph.op("lt", word, zero) for word in (x, y)]
    sizes = [
        graph.select(sign, graph.negated(word), word) for sign, word in zip(negative, (x, y), strict=True)
    ]
    quotient, rest = _divided(graph, sizes[0], sizes[1], bits)
    unlike = graph.op("xor", negative[0], negative[1])
    quotient = graph.select(unlike, graph.negated(quotient), quotient)
    rest = graph.select(negative[0], graph.negated(rest), rest)
    return quotient, rest, unlike


@lowers("arith.divsi")
def _divide_signed(call: Call) -> Typed:
    quotient, *_ = _signed_parts(call)
    return _result(call, quotient)


@lowers("arith.remsi")
def _remainder_signed(call: Call) -> Typed:
    _, rest, _ = _signed_parts(call)
    return _result(call, rest)


@lowers("arith.floordivsi")
def _divide_down(call: Call) -> Typed:
    quotient, rest, unlike = _signed_parts(call)
    graph = call.graph
    inexact = graph.op("ne", rest, graph.constant(0))
    return _result(call, graph.sub(quotient, graph.both(unlike, inexact)))


@lowers("arith.ceildivsi")
def _divide_up(call: Call) -> Typed:
    quotient, rest, unlike = _signed_parts(call)
    graph = call.graph
    inexact = graph.op("ne", rest, graph.constant(0))
    return _result(call, graph.add(quotient, graph.both(graph.inverted(unlike), inexact)))
