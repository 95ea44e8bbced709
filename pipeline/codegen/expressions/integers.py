"""arith's integer ops on words. Widths below 32 are computed in a word and brought back into range;
64 bits are two words with the carry made by a comparison.

Shifts by the width or more are poison in MLIR; here an i64's amount is taken as it is.
"""

from __future__ import annotations

from .typed import WORD_BITS, Call, Inexpressible, Typed, integer_bits, lowers, normal, word_count
from .words import Graph

Pair = tuple[int, int]


def pair(value: Typed) -> Pair:
    """Low and high word of an integer, extended by its sign."""
    if len(value.words) == 2:
        return value.words[0], value.words[1]
    raise Inexpressible(f"{value.element} where 64 bits are needed")


def _result(call: Call, word: int) -> Typed:
    return Typed(call.element, (normal(call.graph, word, integer_bits(call.element)),))


def _is_wide(call: Call) -> bool:
    return any(len(operand.words) == 2 for operand in call.operands)


# --------------------------------------------------------------------------- sums and products


@lowers("arith.addi")
def _add(call: Call) -> Typed:
    x, y = call.operands
    if _is_wide(call):
        return Typed(call.element, add_pairs(call.graph, pair(x), pair(y)))
    return _result(call, call.graph.add(x.low, y.low))


@lowers("arith.subi")
def _subtract(call: Call) -> Typed:
    x, y = call.operands
    if _is_wide(call):
        return Typed(call.element, subtract_pairs(call.graph, pair(x), pair(y)))
    return _result(call, call.graph.sub(x.low, y.low))


@lowers("arith.muli")
def _multiply(call: Call) -> Typed:
    x, y = call.operands
    graph = call.graph
    if not _is_wide(call):
        return _result(call, graph.op("mul", x.low, y.low))
    (x_low, x_high), (y_low, y_high) = pair(x), pair(y)
    low, high = product_of_words(graph, x_low, y_low)
    for one, other in ((x_low, y_high), (x_high, y_low)):
        high = graph.add(high, graph.op("mul", one, other))
    return Typed(call.element, (low, high))


def add_pairs(graph: Graph, x: Pair, y: Pair) -> Pair:
    low = graph.add(x[0], y[0])
    carry = graph.op("ltu", low, x[0])
    return low, graph.add(graph.add(x[1], y[1]), carry)


def subtract_pairs(graph: Graph, x: Pair, y: Pair) -> Pair:
    borrow = graph.op("ltu", x[0], y[0])
    return graph.sub(x[0], y[0]), graph.sub(graph.sub(x[1], y[1]), borrow)


def product_of_words(graph: Graph, x: int, y: int) -> Pair:
    """All 64 bits of a product of unsigned words: the core multiplies to 32, so four products of halves."""
    x_low, x_high = graph.op("extend.u16", x), graph.right(x, 16)
    y_low, y_high = graph.op("extend.u16", y), graph.right(y, 16)
    lowest = graph.op("mul", x_low, y_low)
    middle = graph.add(graph.op("mul", x_high, y_low), graph.right(lowest, 16))
    other = graph.add(graph.op("mul", x_low, y_high), graph.op("extend.u16", middle))
    high = graph.op("mul", x_high, y_high)
    high = graph.add(graph.add(high, graph.right(middle, 16)), graph.right(other, 16))
    return graph.op("mul", x, y), high


# --------------------------------------------------------------------------- bits and shifts


def _bitwise(name: str, op: str) -> None:
    @lowers(name)
    def run(call: Call) -> Typed:
        x, y = call.operands
        words = (call.graph.op(op, a, b) for a, b in zip(x.words, y.words, strict=True))
        return Typed(call.element, tuple(words))  # operands in range give a result in range

    assert callable(run)


for _name, _op in (("arith.andi", "and"), ("arith.ori", "or"), ("arith.xori", "xor")):
    _bitwise(_name, _op)


@lowers("arith.shli")
def _shift_left(call: Call) -> Typed:
    x, y = call.operands
    if _is_wide(call):
        return Typed(call.element, shift_pair_left(call.graph, pair(x), y.low))
    return _result(call, call.graph.op("lshl", x.low, y.low))


@lowers("arith.shrsi")
def _shift_right_signed(call: Call) -> Typed:
    x, y = call.operands
    if _is_wide(call):
        return Typed(call.element, shift_pair_right(call.graph, pair(x), y.low, sign=True))
    value = call.graph.negated(x.low) if integer_bits(call.element) == 1 else x.low
    return _result(call, call.graph.op("ashl", value, call.graph.negated(y.low)))


@lowers("arith.shrui")
def _shift_right_unsigned(call: Call) -> Typed:
    x, y = call.operands
    if _is_wide(call):
        return Typed(call.element, shift_pair_right(call.graph, pair(x), y.low, sign=False))
    value = unsigned(call.graph, x)
    return _result(call, call.graph.op("lshl", value, call.graph.negated(y.low)))


def shift_pair_left(graph: Graph, x: Pair, amount: int) -> Pair:
    low, high = x
    over = graph.sub(amount, graph.constant(WORD_BITS))
    far = graph.op("ge", amount, graph.constant(WORD_BITS))
    # what leaves the low word: by 32 - amount to the right, in two parts as 32 is too much for one shift
    moved = graph.op("lshl", graph.right(low, 1), graph.sub(amount, graph.constant(WORD_BITS - 1)))
    near_high = graph.either(graph.op("lshl", high, amount), moved)
    return (
        graph.select(far, graph.constant(0), graph.op("lshl", low, amount)),
        graph.select(far, graph.op("lshl", low, over), near_high),
    )


def shift_pair_right(graph: Graph, x: Pair, amount: int, *, sign: bool) -> Pair:
    low, high = x
    shift = "ashl" if sign else "lshl"
    back = graph.negated(amount)
    over = graph.sub(graph.constant(WORD_BITS), amount)
    far = graph.op("ge", amount, graph.constant(WORD_BITS))
    moved = graph.op("lshl", graph.left(high, 1), graph.sub(graph.constant(WORD_BITS - 1), amount))
    near_low = graph.either(graph.op("lshl", low, back), moved)
    beyond = graph.right(high, 31, sign=True) if sign else graph.constant(0)
    return (
        graph.select(far, graph.op(shift, high, over), near_low),
        graph.select(far, beyond, graph.op(shift, high, back)),
    )


# --------------------------------------------------------------------------- comparisons and choices

# predicate: (instruction, operands exchanged). Extension by sign keeps the order of unsigned numbers.
_COMPARISONS = {
    "eq": ("eq", False),
    "ne": ("ne", False),
    "slt": ("lt", False),
    "sle": ("ge", True),
    "sgt": ("lt", True),
    "sge": ("ge", False),
    "ult": ("ltu", False),
    "ule": ("geu", True),
    "ugt": ("ltu", True),
    "uge": ("geu", False),
}


def compare(graph: Graph, predicate: str, x: Typed, y: Typed) -> int:
    """1 where the predicate of arith.cmpi holds, else 0."""
    op, exchanged = _COMPARISONS[predicate]
    if exchanged:
        x, y = y, x
    if len(x.words) == 2:
        return _compare_pairs(graph, op, pair(x), pair(y))
    words = [x.low, y.low]
    if integer_bits(x.element) == 1 and predicate[0] == "s":
        words = [graph.negated(word) for word in words]  # a true i1 is -1
    return graph.op(op, *words)


def _compare_pairs(graph: Graph, op: str, x: Pair, y: Pair) -> int:
    same = graph.op("eq", x[1], y[1])
    if op == "eq":
        return graph.both(same, graph.op("eq", x[0], y[0]))
    if op == "ne":
        return graph.inverted(graph.both(same, graph.op("eq", x[0], y[0])))
    low = graph.op("ltu" if op.startswith("lt") else "geu", x[0], y[0])
    return graph.select(same, low, graph.op(op, x[1], y[1]))


@lowers("arith.cmpi")
def _compare(call: Call) -> Typed:
    x, y = call.operands
    predicate = call.attributes["predicate"]
    return Typed("i1", (compare(call.graph, str(predicate), x, y),))


@lowers("arith.select")
def _select(call: Call) -> Typed:
    condition, yes, no = call.operands
    return chosen(call.graph, condition.low, yes, no)


def chosen(graph: Graph, condition: int, yes: Typed, no: Typed) -> Typed:
    words = (graph.select(condition, a, b) for a, b in zip(yes.words, no.words, strict=True))
    return Typed(yes.element, tuple(words))


def _extreme(name: str, predicate: str) -> None:
    @lowers(name)
    def run(call: Call) -> Typed:
        x, y = call.operands
        return chosen(call.graph, compare(call.graph, predicate, x, y), x, y)

    assert callable(run)


for _name, _op in (
    ("arith.maxsi", "sgt"),
    ("arith.minsi", "slt"),
    ("arith.maxui", "ugt"),
    ("arith.minui", "ult"),
):
    _extreme(_name, _op)


@lowers("math.absi")
def _absolute(call: Call) -> Typed:
    (x,) = call.operands
    graph = call.graph
    if _is_wide(call):
        negative = graph.op("lt", pair(x)[1], graph.constant(0))
        zero = (graph.constant(0), graph.constant(0))
        return chosen(graph, negative, Typed(x.element, subtract_pairs(graph, zero, pair(x))), x)
    negative = graph.op("lt", x.low, graph.constant(0))
    return _result(call, graph.select(negative, graph.negated(x.low), x.low))


# --------------------------------------------------------------------------- conversions


def unsigned(graph: Graph, value: Typed) -> int:
    """The low word of an integer of up to 32 bits, extended with zeros."""
    bits = integer_bits(value.element)
    if bits in (8, 16):
        return graph.op(f"extend.u{bits}", value.low)
    return value.low if bits in (1, WORD_BITS) else graph.masked(value.low, (1 << bits) - 1)


@lowers("arith.extsi", "arith.index_cast")
def _extend_signed(call: Call) -> Typed:
    (x,) = call.operands
    graph = call.graph
    if word_count(call.element) < len(x.words):
        return _result(call, x.low)  # index_cast to a narrower type
    if len(x.words) == word_count(call.element) == 2:
        return Typed(call.element, x.words)
    low = graph.negated(x.low) if integer_bits(x.element) == 1 else x.low
    if word_count(call.element) == 2:
        return Typed(call.element, (low, graph.right(low, 31, sign=True)))
    return Typed(call.element, (low,))


@lowers("arith.extui", "arith.index_castui")
def _extend_unsigned(call: Call) -> Typed:
    (x,) = call.operands
    if len(x.words) == 2:
        return Typed(call.element, x.words) if word_count(call.element) == 2 else _result(call, x.low)
    low = unsigned(call.graph, x)
    return Typed(call.element, (low, call.graph.constant(0))[: word_count(call.element)])


@lowers("arith.trunci")
def _truncate(call: Call) -> Typed:
    (x,) = call.operands
    if word_count(call.element) == 1:
        return _result(call, x.low)
    raise Inexpressible(f"arith.trunci to {call.element}")
