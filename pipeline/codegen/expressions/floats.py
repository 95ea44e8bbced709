"""arith's float ops on words: f32, and bf16 computed in f32 and rounded once more, which is the correctly
rounded result (24 bits are more than twice 8 and two: Figueroa, "When is double rounding innocuous?", 1995).
"""

from __future__ import annotations

from collections.abc import Callable

from . import softfloat
from .integers import unsigned
from .typed import FLOATS, Call, Inexpressible, Typed, integer_bits, lowers, normal
from .words import Graph


def _checked(call: Call) -> None:
    for element in (*(operand.element for operand in call.operands), call.element):
        if element not in FLOATS and element != "i1":
            raise Inexpressible(f"no float arithmetic in {element}")


def _result(call: Call, word: int) -> Typed:
    return Typed(call.element, (softfloat.to_bfloat(call.graph, word) if call.element == "bf16" else word,))


def _binary(name: str, function: Callable[[Graph, int, int], int]) -> None:
    @lowers(name)
    def run(call: Call) -> Typed:
        _checked(call)
        x, y = call.operands
        return _result(call, function(call.graph, x.low, y.low))

    assert callable(run)


_binary("arith.addf", softfloat.add)
_binary("arith.subf", softfloat.subtract)
_binary("arith.mulf", softfloat.multiply)
_binary("arith.divf", softfloat.divide)


@lowers("arith.negf")
def _negate(call: Call) -> Typed:
    _checked(call)
    return Typed(call.element, (softfloat.negated(call.graph, call.operands[0].low),))


@lowers("math.absf")
def _absolute(call: Call) -> Typed:
    _checked(call)
    return Typed(call.element, (softfloat.magnitude(call.graph, call.operands[0].low),))


# --------------------------------------------------------------------------- to whole numbers


def _floor(graph: Graph, x: int) -> int:
    return softfloat.away_where(graph, x, graph.right(x, 31))


def _ceiling(graph: Graph, x: int) -> int:
    return softfloat.away_where(graph, x, graph.inverted(graph.right(x, 31)))


def _to_even(graph: Graph, x: int) -> int:
    return softfloat.to_nearest(graph, x, to_even=True)


def _half_away(graph: Graph, x: int) -> int:
    return softfloat.to_nearest(graph, x, to_even=False)


def _whole(name: str, function: Callable[[Graph, int], int]) -> None:
    @lowers(name)
    def run(call: Call) -> Typed:
        """Exact in bf16, too: whole numbers that are not the operand itself have no more bits than it."""
        _checked(call)
        return Typed(call.element, (function(call.graph, call.operands[0].low),))

    assert callable(run)


_whole("math.floor", _floor)
_whole("math.ceil", _ceiling)
_whole("math.trunc", softfloat.towards_zero)
_whole("math.roundeven", _to_even)
_whole("math.round", _half_away)


# --------------------------------------------------------------------------- order


def _extreme(name: str, *, larger: bool, ignores_nan: bool) -> None:
    @lowers(name)
    def run(call: Call) -> Typed:
        _checked(call)
        graph = call.graph
        x, y = (operand.low for operand in call.operands)
        below = graph.op("lt", softfloat.ordered_key(graph, x), softfloat.ordered_key(graph, y))
        word = graph.select(below, y, x) if larger else graph.select(below, x, y)
        x_nan, y_nan = softfloat.is_nan(graph, x), softfloat.is_nan(graph, y)
        if ignores_nan:
            word = graph.select(x_nan, y, graph.select(y_nan, x, word))
        else:
            nan = graph.constant(softfloat.QUIET_NAN)
            word = graph.select(graph.either(x_nan, y_nan), nan, word)
        return Typed(call.element, (word,))

    assert callable(run)


_extreme("arith.maximumf", larger=True, ignores_nan=False)
_extreme("arith.minimumf", larger=False, ignores_nan=False)
_extreme("arith.maxnumf", larger=True, ignores_nan=True)
_extreme("arith.minnumf", larger=False, ignores_nan=True)

# relation: (instruction on comparable words, operands exchanged)
_RELATIONS = {
    "eq": ("eq", False),
    "ne": ("ne", False),
    "lt": ("lt", False),
    "le": ("ge", True),
    "gt": ("lt", True),
    "ge": ("ge", False),
}


@lowers("arith.cmpf")
def _compare(call: Call) -> Typed:
    _checked(call)
    graph = call.graph
    x, y = (operand.low for operand in call.operands)
    predicate = str(call.attributes["predicate"])
    unordered = graph.either(softfloat.is_nan(graph, x), softfloat.is_nan(graph, y))
    match predicate:
        case "false" | "true":
            word = graph.constant(int(predicate == "true"))
        case "uno":
            word = unordered
        case "ord":
            word = graph.inverted(unordered)
        case _:
            op, exchanged = _RELATIONS[predicate[1:]]
            keys = [softfloat.comparable(graph, value) for value in (x, y)]
            holds = graph.op(op, *(reversed(keys) if exchanged else keys))
            word = graph.select(unordered, graph.constant(int(predicate[0] == "u")), holds)
    return Typed("i1", (word,))


# --------------------------------------------------------------------------- conversions


@lowers("arith.extf")
def _extend(call: Call) -> Typed:
    _checked(call)
    return Typed(call.element, call.operands[0].words)


@lowers("arith.truncf")
def _truncate(call: Call) -> Typed:
    _checked(call)
    return _result(call, call.operands[0].low)


@lowers("arith.bitcast")
def _bitcast(call: Call) -> Typed:
    (x,) = call.operands
    graph = call.graph
    match x.element, call.element:
        case ("f32", "i32") | ("i32", "f32"):
            return Typed(call.element, x.words)
        case ("bf16", "i16"):
            return Typed(call.element, (graph.right(x.low, 16, sign=True),))
        case ("i16", "bf16"):
            return Typed(call.element, (graph.left(x.low, 16),))
        case _:
            raise Inexpressible("only between i32 and f32, i16 and bf16")


def _single_word(value: Typed) -> None:
    if len(value.words) != 1:
        raise Inexpressible(f"a conversion between floats and {value.element}")


@lowers("arith.sitofp")
def _from_signed(call: Call) -> Typed:
    (x,) = call.operands
    graph = call.graph
    _single_word(x)
    word = graph.negated(x.low) if integer_bits(x.element) == 1 else x.low
    sign = graph.masked(word, softfloat.SIGN)
    size = graph.select(sign, graph.negated(word), word)
    return _once(call, graph, size, sign)


@lowers("arith.uitofp")
def _from_unsigned(call: Call) -> Typed:
    (x,) = call.operands
    _single_word(x)
    return _once(call, call.graph, unsigned(call.graph, x), call.graph.constant(0))


def _once(call: Call, graph: Graph, size: int, sign: int) -> Typed:
    """Rounded once. For bf16, bits that neither of the two roundings may see apart become one sticky bit."""
    if call.element == "bf16":
        # numbers of more than 24 bits: what is below their 16 leading ones only says that there is more
        low = graph.op("ne", graph.masked(size, 0xFF), graph.constant(0))
        jammed = graph.either(graph.masked(size, 0xFFFFFF00), graph.left(low, 8))
        size = graph.select(graph.op("geu", size, graph.constant(1 << 24)), jammed, size)
    return _result(call, softfloat.from_magnitude(graph, size, sign))


@lowers("arith.fptosi")
def _to_signed(call: Call) -> Typed:
    """Out of range is poison in MLIR and saturates here, as in the reference; NaN gives 0."""
    (x,) = call.operands
    graph = call.graph
    bits = integer_bits(call.element)
    if bits > 32 or bits == 1:
        raise Inexpressible(f"a conversion from floats to {call.element}")
    negative = graph.op("lt", x.low, graph.constant(0))
    lowest, highest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    limit = graph.select(negative, graph.constant(lowest), graph.constant(highest))
    size = softfloat.to_magnitude(graph, x.low)
    word = graph.select(negative, graph.negated(size), size)
    return _saturated(call, x.low, bits - 1, word, limit)


@lowers("arith.fptoui")
def _to_unsigned(call: Call) -> Typed:
    (x,) = call.operands
    graph = call.graph
    bits = integer_bits(call.element)
    if bits > 32:
        raise Inexpressible(f"a conversion from floats to {call.element}")
    size = softfloat.to_magnitude(graph, x.low)
    highest = graph.constant(1 if bits == 1 else -1)
    word = _saturated(call, x.low, bits, size, highest)
    negative = graph.op("lt", x.low, graph.constant(0))
    word = graph.select(negative, graph.constant(0), word.low)
    return Typed(call.element, (normal(graph, word, bits),))


def _saturated(call: Call, x: int, bits: int, word: int, limit: int) -> Typed:
    """`word`, or from 2**bits on the `limit`, or for NaN 0."""
    graph = call.graph
    first_outside = graph.constant((softfloat.BIAS + bits) << softfloat.FRACTION_BITS)
    outside = graph.op("geu", softfloat.magnitude(graph, x), first_outside)
    word = graph.select(outside, limit, word)
    return Typed(call.element, (graph.select(softfloat.is_nan(graph, x), graph.constant(0), word),))
