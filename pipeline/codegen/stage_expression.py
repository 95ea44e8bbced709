"""A stage's body as instructions: its graph of words, for one element, in registers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..isa.assembler import Statement
from .expressions.bodies import BodyGraph
from .stage_registers import CONDITION, Pool

_ADDABLE = range(-64, 64)
"""What `add` takes as an immediate: seven bits."""


class Expression:
    """The body's nodes that its results need, and how often each is used."""

    def __init__(self, body: BodyGraph, op: str) -> None:
        self.body, self.op = body, op
        self.results = [word for result in body.results for word in result]
        self.needed = _needed(body, self.results)
        self.uses: Counter[int] = Counter(self.results)
        for number in self.needed:
            self.uses.update(self._operands_in_registers(number))

    @property
    def inputs(self) -> dict[int, int]:
        """Node by input number, of those that are needed."""
        nodes = self.body.graph.nodes
        return {nodes[n].value: n for n in self.needed if nodes[n].op == "input"}

    @property
    def constants(self) -> list[int]:
        """Nodes of constants that a register must hold, those first that are used most."""
        nodes = self.body.graph.nodes
        found = [n for n in self.needed if nodes[n].op == "const" and self.uses[n]]
        return sorted(found, key=lambda n: (-self.uses[n], n))

    @property
    def size(self) -> int:
        return len(self.needed)

    def load_constant(self, node: int, register: str) -> Statement:
        return Statement(f"movi {register}, #{self.body.graph.nodes[node].value}", f"{self.op}: constant")

    def code(
        self, pool: Pool, fixed: Mapping[int, str], fresh: Mapping[int, str], into: Mapping[int, str]
    ) -> tuple[list[Statement], list[str]]:
        """The instructions, and the registers of the results.

        `fixed` are registers of nodes that stay, `fresh` those of nodes that are given back to the pool
        after their last use. Where node n is computed last from what `into[n]` holds, it is put there.
        Constants that are in neither are loaded where they are used. Raises TooFewRegisters.
        """
        return _Emission(self, pool, fixed, fresh, into).run()

    def _operands_in_registers(self, number: int) -> Sequence[int]:
        node = self.body.graph.nodes[number]
        added = self.addend(number)
        return node.operands if added is None else node.operands[:1]

    def addend(self, number: int) -> int | None:
        """The immediate that the node adds to its first operand, if it does."""
        node = self.body.graph.nodes[number]
        if node.op not in ("add", "sub"):
            return None
        value = self.body.graph.value(node.operands[1])
        if value is None:
            return None
        value = -value if node.op == "sub" else value
        return value if value in _ADDABLE else None


class _Emission:
    def __init__(
        self,
        expression: Expression,
        pool: Pool,
        fixed: Mapping[int, str],
        fresh: Mapping[int, str],
        into: Mapping[int, str],
    ) -> None:
        self.expression, self.pool = expression, pool
        self.nodes = expression.body.graph.nodes
        self.registers = {**fixed, **fresh}
        self.fixed = set(fixed)
        self.into = into
        self.left = Counter(expression.uses)
        self.statements: list[Statement] = []
        self.conditions = {
            node.operands[0]
            for number in expression.needed
            if (node := self.nodes[number]).op == "sel"
            and expression.uses[node.operands[0]] == 1
            and self.nodes[node.operands[0]].op not in ("const", "input", "sel")
        }

    def run(self) -> tuple[list[Statement], list[str]]:
        for number in self.expression.needed:
            if number in self.registers or self.nodes[number].op in ("const", "input"):
                continue
            if number not in self.conditions:
                self._compute(number)
        results: list[str] = []
        for number in self.expression.results:
            if number not in self.registers:  # a constant as the result
                self.registers[number] = self._constant(number)
            results.append(self.registers[number])
        return self.statements, results

    def _compute(self, number: int) -> None:
        node = self.nodes[number]
        if node.op == "sel":
            self._condition(node.operands[0])
        operands = [self._operand(operand) for operand in self._others(number)]
        self._emit(number, self._target(number), [register for register, _ in operands])
        for register, temporary in operands:
            if temporary:
                self.pool.give(register)

    def _others(self, number: int) -> Sequence[int]:
        """Operands that come in registers, but for a choice's condition."""
        node = self.nodes[number]
        if node.op == "sel":
            return node.operands[1:]
        return node.operands if self.expression.addend(number) is None else node.operands[:1]

    def _condition(self, number: int) -> None:
        """Puts the condition into its register."""
        if number in self.conditions and number not in self.registers:
            operands = [self._operand(operand) for operand in self._others(number)]
            self._emit(number, CONDITION, [register for register, _ in operands])
        else:
            operands = [self._operand(number)]
            self.statements.append(Statement(f"copy {CONDITION}, {operands[0][0]}", self.expression.op))
        for register, temporary in operands:
            if temporary:
                self.pool.give(register)

    def _operand(self, number: int) -> tuple[str, bool]:
        """The register of a node, and whether it is free after this use."""
        self.left[number] -= 1
        if number not in self.registers:
            return self._constant(number), True
        done = self.left[number] == 0 and number not in self.fixed
        return self.registers[number], done

    def _constant(self, number: int) -> str:
        register = self.pool.take()
        self.statements.append(self.expression.load_constant(number, register))
        return register

    def _target(self, number: int) -> str:
        """A register for the node: where its result is to stay if nothing there is needed any more."""
        wanted = self.into.get(number)
        if wanted is not None:
            holder = next((n for n, register in self.registers.items() if register == wanted), None)
            if holder is None or self.left[holder] == 0:
                self.registers[number] = wanted
                self.fixed.add(number)
                return wanted
        self.registers[number] = register = self.pool.take()
        return register

    def _emit(self, number: int, target: str, operands: Sequence[str]) -> None:
        node = self.nodes[number]
        added = self.expression.addend(number)
        match node.op:
            case "sel":
                text = f"sel.nez {target}, {operands[0]}, {operands[1]}, {CONDITION}"
            case "add" | "sub" if added is not None:
                text = f"add {target}, {operands[0]}, #{added}"
            case _:
                text = f"{node.op} {target}, {', '.join(operands)}"
        self.statements.append(Statement(text, self.expression.op))


def _needed(body: BodyGraph, results: Sequence[int]) -> list[int]:
    found: set[int] = set()
    waiting = list(results)
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += body.graph.nodes[number].operands
    return sorted(found)


def result_words(body: BodyGraph) -> Iterator[tuple[int, int, int]]:
    """(result, word of it, node)."""
    for result, words in enumerate(body.results):
        for word, node in enumerate(words):
            yield result, word, node
