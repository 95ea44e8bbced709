"""A graph of operations on 32-bit words, each of which is one scalar instruction of the core.

Nodes are shared (equal ones are one) and folded where all operands are constants, so that whoever builds
an expression need not care. Instructions' meanings: facts aie2-isa.md; `evaluate` states them once more in
Python, for folding.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Word:
    """A node: `op` is the instruction's mnemonic, or "const" (`value`, signed) or "input" (`value` is its
    number), or "sel": the second operand where the first is not 0, else the third."""

    op: str
    operands: tuple[int, ...] = ()
    value: int = 0


def signed(value: int) -> int:
    """The low 32 bits as a signed number."""
    value &= MASK
    return value - (1 << 32) if value >> 31 else value


def _extended(bits: int, *, sign: bool) -> Callable[[int], int]:
    def run(x: int) -> int:
        x &= (1 << bits) - 1
        return x - (1 << bits) if sign and x >> (bits - 1) else x

    return run


def _shifted(x: int, amount: int) -> int:
    """Left, to the right by a negative amount; `x` decides by its sign what comes in from the left."""
    if abs(amount) > 31:
        return -1 if amount < 0 and x < 0 else 0
    return x << amount if amount >= 0 else x >> -amount


def _and(x: int, y: int) -> int:
    return x & y


def _or(x: int, y: int) -> int:
    return x | y


def _xor(x: int, y: int) -> int:
    return x ^ y


def _unsigned_below(x: int, y: int) -> int:
    return x & MASK < y & MASK


def _logically_shifted(x: int, amount: int) -> int:
    return _shifted(x & MASK, amount)


def _leading_zeros(x: int) -> int:
    return 32 - (x & MASK).bit_length()


def _not_unsigned_below(x: int, y: int) -> int:
    return not _unsigned_below(x, y)


def _selected(condition: int, yes: int, no: int) -> int:
    return yes if condition else no


_MEANING: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": _and,
    "or": _or,
    "xor": _xor,
    "lshl": _logically_shifted,
    "ashl": _shifted,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "ltu": _unsigned_below,
    "ge": operator.ge,
    "geu": _not_unsigned_below,
    "sel": _selected,
    "clz": _leading_zeros,
    "extend.s8": _extended(8, sign=True),
    "extend.u8": _extended(8, sign=False),
    "extend.s16": _extended(16, sign=True),
    "extend.u16": _extended(16, sign=False),
}

_COMMUTE = {"add", "mul", "and", "or", "xor", "eq", "ne"}


def evaluate(op: str, operands: Sequence[int]) -> int:
    """What the instruction gives for these signed words, as a signed word."""
    return signed(int(_MEANING[op](*operands)))


@dataclass(slots=True)
class Graph:
    """Nodes by number; operands come before what uses them. `float_sums` are those that are f32 sums of two
    others, for who has something better for that than their nodes."""

    nodes: list[Word] = field(default_factory=list[Word])
    float_sums: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    _numbers: dict[Word, int] = field(default_factory=dict[Word, int])

    def copy(self) -> Graph:
        """One that can be added to apart from this one."""
        return Graph(list(self.nodes), dict(self.float_sums), dict(self._numbers))

    def constant(self, value: int) -> int:
        return self._add(Word("const", (), signed(value)))

    def input(self, number: int) -> int:
        """A word that comes from outside: loaded, or a loop's index."""
        return self._add(Word("input", (), number))

    def value(self, number: int) -> int | None:
        """The value of a constant node, None of others."""
        node = self.nodes[number]
        return node.value if node.op == "const" else None

    def op(self, op: str, *operands: int) -> int:
        """The node of this instruction, folded or simplified where that is possible."""
        values = [self.value(operand) for operand in operands]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            return self.constant(evaluate(op, known))
        simple = self._simplified(op, operands, values)
        if simple is not None:
            return simple
        if op in _COMMUTE:
            operands = tuple(sorted(operands))
        return self._add(Word(op, operands))

    def add(self, x: int, y: int) -> int:
        return self.op("add", x, y)

    def sub(self, x: int, y: int) -> int:
        return self.op("sub", x, y)

    def both(self, x: int, y: int) -> int:
        return self.op("and", x, y)

    def either(self, x: int, y: int) -> int:
        return self.op("or", x, y)

    def masked(self, x: int, mask: int) -> int:
        return self.op("and", x, self.constant(mask))

    def left(self, x: int, amount: int) -> int:
        """Shifted left by a fixed amount."""
        return self.op("lshl", x, self.constant(amount))

    def right(self, x: int, amount: int, *, sign: bool = False) -> int:
        """Shifted right by a fixed amount."""
        return self.op("ashl" if sign else "lshl", x, self.constant(-amount))

    def negated(self, x: int) -> int:
        return self.op("sub", self.constant(0), x)

    def inverted(self, truth: int) -> int:
        """1 for 0, 0 for 1."""
        return self.op("xor", truth, self.constant(1))

    def select(self, condition: int, yes: int, no: int) -> int:
        return self.op("sel", condition, yes, no)

    def _simplified(self, op: str, operands: Sequence[int], values: Sequence[int | None]) -> int | None:
        """Where the result is an operand."""
        first, last = operands[0], operands[-1]
        if op == "sel":
            if values[0] is not None:
                return operands[1] if values[0] else operands[2]
            return operands[1] if operands[1] == operands[2] else None
        if op in ("add", "or", "xor", "sub", "lshl", "ashl") and values[-1] == 0:
            return first
        if op in ("add", "or", "xor") and values[0] == 0:
            return last
        if op in ("mul", "and") and 0 in values:
            return self.constant(0)
        if op == "mul" and 1 in values:
            return last if values[0] == 1 else first
        if op == "and" and -1 in values:
            return last if values[0] == -1 else first
        return None

    def _add(self, node: Word) -> int:
        number = self._numbers.get(node)
        if number is None:
            number = self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return number
