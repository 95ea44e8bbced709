"""The body of a linalg op as a graph of word operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...program import ScalarBody
from . import division, floats, integers
from .typed import Call, Inexpressible, Typed, constant, lowering, word_count
from .words import Graph, evaluate, signed

__all__ = ["BodyGraph", "body_graph"]

LOADED = (integers, division, floats)
"""Their ops are in the registry once they are imported."""

_BF16_SHIFT = 16
"""Its bits are the upper half of the f32's."""


@dataclass(frozen=True, slots=True)
class BodyGraph:
    """A body in words. Input number i of the graph is `inputs[i]`: (argument, word of it), as it stands in
    memory; or, after these, the index of loop `indices[i - len(inputs)]`. `results` are the words of each
    value that it yields, as they go to memory."""

    graph: Graph
    inputs: tuple[tuple[int, int], ...]
    indices: tuple[int, ...]
    results: tuple[tuple[int, ...], ...]

    @property
    def needed(self) -> frozenset[int]:
        """The arguments that the results depend on."""
        waiting = [word for result in self.results for word in result]
        nodes: set[int] = set()
        while waiting:
            number = waiting.pop()
            if number not in nodes:
                nodes.add(number)
                waiting += self.graph.nodes[number].operands
        inputs = [self.graph.nodes[n].value for n in nodes if self.graph.nodes[n].op == "input"]
        return frozenset(self.inputs[number][0] for number in inputs if number < len(self.inputs))


def body_graph(body: ScalarBody) -> BodyGraph:
    """Raises Inexpressible with the op's name for what cannot be lowered."""
    graph = Graph()
    inputs = [
        (argument, word)
        for argument, element in enumerate(body.arguments)
        for word in range(_words(element, "a body's argument"))
    ]
    values: list[Typed] = []
    for argument, element in enumerate(body.arguments):
        words = [graph.input(n) for n, (owner, _) in enumerate(inputs) if owner == argument]
        if element == "bf16":
            words = [graph.left(words[0], _BF16_SHIFT)]
        values.append(Typed(element, tuple(words)))
    indices = [_dimension(op.attributes["dim"]) for op in body.ops if op.name == "linalg.index"]
    indices = list(dict.fromkeys(indices))
    for op in body.ops:
        if op.name == "linalg.index":
            number = len(inputs) + indices.index(_dimension(op.attributes["dim"]))
            values.append(Typed("index", (graph.input(number), graph.constant(0))))
        elif op.name == "arith.constant":
            values.append(_constant(graph, op.element, op.attributes.get("value")))
        else:
            operands = tuple(values[operand] for operand in op.operands)
            values.append(
                _applied(lowering(op.name), op.name, Call(graph, op.element, operands, op.attributes))
            )
    results = tuple(_stored(graph, values[number]) for number in body.yields)
    return BodyGraph(graph, tuple(inputs), tuple(indices), results)


def _stored(graph: Graph, value: Typed) -> tuple[int, ...]:
    if value.element == "bf16":
        return (graph.right(value.low, _BF16_SHIFT),)
    return value.words


def _applied(lower: Callable[[Call], Typed], name: str, call: Call) -> Typed:
    elements = [operand.element for operand in call.operands]
    try:
        for element in (*elements, call.element):
            word_count(element)
        return lower(call)
    except Inexpressible as reason:
        types = ", ".join(elements)
        what = f"{name} ({types}) -> {call.element}: {reason}"
        raise Inexpressible(what, op=name, elements=(*elements, call.element)) from reason


def _words(element: str, what: str) -> int:
    try:
        return word_count(element)
    except Inexpressible as reason:
        raise Inexpressible(f"{what} of type {element}", elements=(element,)) from reason


def _constant(graph: Graph, element: str, data: object) -> Typed:
    if not isinstance(data, bytes):
        raise Inexpressible(f"a constant of type {element}")
    _words(element, "a constant")
    return constant(graph, element, data)


def _dimension(value: object) -> int:
    assert isinstance(value, int)
    return value


def evaluated(body: BodyGraph, inputs: Sequence[int]) -> list[list[int]]:
    """The words of each result for these input words: the graph in Python, for tests."""
    found: list[int] = []
    for node in body.graph.nodes:
        if node.op == "const":
            found.append(node.value)
        elif node.op == "input":
            found.append(signed(inputs[node.value]))
        else:
            found.append(evaluate(node.op, [found[operand] for operand in node.operands]))
    return [[found[word] for word in result] for result in body.results]
