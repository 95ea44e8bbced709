"""Typed values of a body as words, and the registry of the ops that can be lowered.

An integer of up to 32 bits is one word, extended by its sign (i1 is 0 or 1); one of 33 to 64 bits, and
index, two: low, high. f32 is the word of its bits; bf16 the upper half of its f32's word, the lower being
zero, so that it is computed in f32 and rounded after each op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ... import dtypes
from ...program import Attribute
from .words import Graph

WORD_BITS = 32

FLOATS = ("f32", "bf16")


@dataclass(frozen=True, slots=True)
class Typed:
    """A value of type `element`; `words` are nodes of the graph, the low one first."""

    element: str
    words: tuple[int, ...]

    @property
    def low(self) -> int:
        return self.words[0]


class Inexpressible(Exception):
    """The words that say why an op or type cannot be lowered; `op` and `elements` are what is at fault, where
    that is known."""

    def __init__(self, reason: str, *, op: str | None = None, elements: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.op = op
        self.elements = elements


@dataclass(frozen=True, slots=True)
class Call:
    """An op to be lowered into `graph`: `element` is its result's type."""

    graph: Graph
    element: str
    operands: tuple[Typed, ...]
    attributes: Mapping[str, Attribute]


Lowering = Callable[[Call], Typed]

_LOWERINGS: dict[str, Lowering] = {}


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Registers the lowering of these ops."""

    def register(lowering: Lowering) -> Lowering:
        for name in names:
            _LOWERINGS[name] = lowering
        return lowering

    return register


def lowering(name: str) -> Lowering:
    """Raises Inexpressible for an op that is not known."""
    if name not in _LOWERINGS:
        raise Inexpressible(f"{name} is not lowered", op=name)
    return _LOWERINGS[name]


def known_ops() -> tuple[str, ...]:
    """The names of all ops that are lowered."""
    return tuple(sorted(_LOWERINGS))


def integer_bits(element: str) -> int:
    """Raises Inexpressible where it is no integer of up to 64 bits."""
    if element == "index":
        return 64
    name = dtypes.canonical(element)
    if name.startswith("i") and name[1:].isdigit() and 1 <= int(name[1:]) <= 2 * WORD_BITS:
        return int(name[1:])
    raise Inexpressible(f"{element} is no integer of up to 64 bits")


def word_count(element: str) -> int:
    """Words of a value of this type. Raises Inexpressible."""
    if element in FLOATS:
        return 1
    return 1 if integer_bits(element) <= WORD_BITS else 2


def is_known(element: str) -> bool:
    """Whether values of this type can be computed with."""
    try:
        word_count(element)
    except Inexpressible:
        return False
    return True


def constant(graph: Graph, element: str, data: bytes) -> Typed:
    """The value with these bytes in memory."""
    value = int.from_bytes(data, "little", signed=True)
    if element == "bf16":
        return Typed(element, (graph.constant(value << 16),))
    if element == "f32":
        return Typed(element, (graph.constant(value),))
    bits = integer_bits(element)
    if bits == 1:
        return Typed(element, (graph.constant(value & 1),))
    value &= (1 << bits) - 1
    value -= (value >> (bits - 1)) << bits
    words = tuple(graph.constant(value >> (WORD_BITS * part)) for part in range(word_count(element)))
    return Typed(element, words)


def normal(graph: Graph, word: int, bits: int) -> int:
    """The word with its low `bits` extended by their sign (i1: 0 or 1)."""
    match bits:
        case 1:
            return graph.masked(word, 1)
        case 8 | 16:
            return graph.op(f"extend.s{bits}", word)
        case 32:
            return word
        case _:
            return graph.right(graph.left(word, 32 - bits), 32 - bits, sign=True)
