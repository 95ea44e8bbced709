"""The operations of `isa/semantics/value.py` on plain Python values: the definition in executable form."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ...isa.semantics.value import Choice, Type, Value
from .state import PlainValue


def compute(node: Value, args: list[PlainValue]) -> PlainValue:
    """The value of a node that is no leaf, from those of its arguments."""
    return _OPERATIONS[node.name](node, args)


@lru_cache(maxsize=1 << 14)
def chosen(
    choice: Choice, key: int, type_: Type, arg_types: tuple[Type, ...]
) -> tuple[Value, tuple[Value, ...]]:
    """The graph that a `choose` stands for when its key is `key`, and the leaves for its arguments."""
    leaves = tuple(Value("argument", t, numbers=(i,)) for i, t in enumerate(arg_types))
    graph = choice.build(key, leaves)
    if graph.type != type_:
        raise TypeError(f"{choice.name} gave {graph.type} for {key:#x}, not {type_}")
    return graph, leaves


def evaluate(graph: Value, environment: dict[Value, PlainValue]) -> PlainValue:
    """The value of a graph whose leaves are constants or have their values in `environment`."""
    stack = [graph]
    while stack:
        node = stack[-1]
        if node in environment:
            stack.pop()
            continue
        missing = [a for a in node.args if a not in environment]
        if missing:
            stack.extend(missing)
            continue
        environment[node] = compute(node, [environment[a] for a in node.args])
        stack.pop()
    return environment[graph]


def as_signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


_LANE_BY_LANE: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, _: a + b,
    "sub": lambda a, b, _: a - b,
    "mul": lambda a, b, _: a * b,
    "and": lambda a, b, _: a & b,
    "or": lambda a, b, _: a | b,
    "xor": lambda a, b, _: a ^ b,
    "shl": lambda a, b, width: a << b if b < width else 0,
    "lshr": lambda a, b, width: a >> b if b < width else 0,
    "ashr": lambda a, b, width: as_signed(a, width) >> min(b, width),
    "eq": lambda a, b, _: a == b,
    "ne": lambda a, b, _: a != b,
    "ult": lambda a, b, _: a < b,
    "ule": lambda a, b, _: a <= b,
    "slt": lambda a, b, width: as_signed(a, width) < as_signed(b, width),
    "sle": lambda a, b, width: as_signed(a, width) <= as_signed(b, width),
}


def _binary(node: Value, args: list[PlainValue]) -> PlainValue:
    function, width, mask = _LANE_BY_LANE[node.name], node.args[0].type.width, node.type.mask
    a, b = args
    if isinstance(a, int) and isinstance(b, int):
        return int(function(a, b, width)) & mask
    return tuple(int(function(x, y, width)) & mask for x, y in zip(as_lanes(a), as_lanes(b), strict=True))


def _map(node: Value, args: list[PlainValue], function: Callable[[int], int]) -> PlainValue:
    (value,) = args
    mask = node.type.mask
    return function(value) & mask if isinstance(value, int) else tuple(function(x) & mask for x in value)


def _select(_node: Value, args: list[PlainValue]) -> PlainValue:
    condition, yes, no = args
    if isinstance(condition, int):
        return yes if condition else no
    return tuple(y if c else n for c, y, n in zip(condition, as_lanes(yes), as_lanes(no), strict=True))


def _bitcast(node: Value, args: list[PlainValue]) -> PlainValue:
    source, target = node.args[0].type, node.type
    whole = 0
    for lane in reversed(as_lanes(args[0])):
        whole = whole << source.width | lane
    if not target.is_vector:
        return whole
    return tuple(whole >> i * target.width & target.mask for i in range(target.lanes))


def _shuffle(node: Value, args: list[PlainValue]) -> PlainValue:
    lanes = [lane for arg in args for lane in as_lanes(arg)]
    return tuple(lanes[i] for i in node.numbers)


def _extract(_node: Value, args: list[PlainValue]) -> PlainValue:
    lanes, (index,) = as_lanes(args[0]), as_lanes(args[1])
    return lanes[index % len(lanes)]


def _insert(_node: Value, args: list[PlainValue]) -> PlainValue:
    lanes, (index,), (lane,) = list(as_lanes(args[0])), as_lanes(args[1]), as_lanes(args[2])
    lanes[index % len(lanes)] = lane
    return tuple(lanes)


def _choose(node: Value, args: list[PlainValue]) -> PlainValue:
    (key,) = as_lanes(args[0])
    choice = node.choice
    if choice is None:
        raise TypeError("a choose node without a choice")
    graph, leaves = chosen(choice, key, node.type, tuple(a.type for a in node.args[1:]))
    return evaluate(graph, dict(zip(leaves, args[1:], strict=True)))


def as_lanes(value: PlainValue) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else value


def plain_constant(node: Value) -> PlainValue:
    return node.numbers if node.type.is_vector else node.numbers[0]


_OPERATIONS: dict[str, Callable[[Value, list[PlainValue]], PlainValue]] = {
    **dict.fromkeys(_LANE_BY_LANE, _binary),
    "constant": lambda node, _: plain_constant(node),
    "select": _select,
    "zext": lambda node, args: _map(node, args, lambda x: x),
    "trunc": lambda node, args: _map(node, args, lambda x: x),
    "sext": lambda node, args: _map(node, args, lambda x: as_signed(x, node.args[0].type.width)),
    "clz": lambda node, args: _map(node, args, lambda x: node.type.width - x.bit_length()),
    "bitcast": _bitcast,
    "splat": lambda node, args: as_lanes(args[0]) * node.type.lanes,
    "shuffle": _shuffle,
    "extract": _extract,
    "insert": _insert,
    "choose": _choose,
}
