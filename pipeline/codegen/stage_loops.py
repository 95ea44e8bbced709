"""One stage's loop nest as assembly.

Each access has a pointer that moves by itself: by its innermost step with every load or store, and at the
end of each outer iteration by what is left to the next one. An access stands at the depth where it still
changes, so that a bias along rows is loaded once per row, and the sum of a reduction stays in registers. The
innermost loop is a zero-overhead loop, unrolled where its count and the registers allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import ArtifactError
from ..isa.assembler import Label, LoopEnd, ProgramStatement, Statement
from ..isa.assembly import parse
from .stage_expression import Expression, result_words
from .stage_nest import Access, Nest
from .stage_numbers import Frame, Number
from .stage_registers import (
    FRAME_POINTER,
    MODIFIERS,
    POINTERS,
    SCRATCH,
    SCRATCH_MODIFIER,
    STORAGE,
    VALUES,
    Pool,
)

_UNROLLED_NODES = 48
"""Nodes of all copies of a body together, at most."""

_BLOCK_STATEMENTS = 80
"""Of one basic block; the scheduler's time grows with the square of it."""

_LOADS = {1: "lda.s8", 2: "lda.s16", 4: "lda", 8: "lda"}
_STORES = {1: "st.s8", 2: "st.s16", 4: "st", 8: "st"}
_WORD = 4


@dataclass(frozen=True, slots=True)
class StageShape:
    """How a stage is written: copies of the innermost body, constants that stay in registers."""

    unroll: int
    constants: int


class StageLoops:
    """Writes the statements of one stage. `prefix` is for labels; `values` are the registers that it may use
    for values, `bases` those that hold the address of a tensor's first element. Raises TooFewRegisters."""

    def __init__(
        self,
        nest: Nest,
        expression: Expression,
        frame: Frame,
        prefix: str,
        shape: StageShape,
        *,
        values: Sequence[str] = VALUES,
        bases: Mapping[int, str] | None = None,
    ) -> None:
        self.nest, self.expression, self.shape = nest, expression, shape
        self.op, self.prefix = expression.op, prefix
        self.depth = len(nest.levels)
        self.frame = frame
        self.pool = Pool(tuple(values), "values at a time")
        self.bases = bases or {}
        self.pointers = Pool(POINTERS, "tensors in one stage")
        self.modifiers = Pool(MODIFIERS, "different strides in one stage")
        self.storage = Pool(STORAGE, "loops and tensors in one stage")
        self.kept: dict[Number, str] = {}
        self.steps: dict[int, str] = {}
        self.setup: list[Statement] = []
        self.registers: dict[int, str] = {}
        self.moving: list[tuple[Access, int, str]] = []
        self.index_registers: dict[int, str] = {}

    # ----------------------------------------------------------------- the whole

    def statements(self) -> list[ProgramStatement]:
        expression, nest = self.expression, self.nest
        self.accumulators = self._accumulators()
        self.outputs = [(access, *self._pointer(access, self._result_depth)) for access in nest.results]
        for constant in expression.constants[: self.shape.constants]:
            self.registers[constant] = register = self.pool.take()
            self.setup.append(expression.load_constant(constant, register))
        self._take_indices()
        self.loads = [(a, access, *self._pointer(access, access.depth)) for a, access in self._loaded()]
        self.begins = [
            (r, access, *self._pointer(access, nest.parallel_levels))
            for r, access in enumerate(nest.initial)
            if isinstance(access, Access) and self.accumulators
        ]
        self.counters = [self.pool.take() for _ in range(max(0, self.depth - 1))]
        for level in range(self.depth - 1):
            self._keep(nest.levels[level].trip)
        if self._innermost_loops:
            self._keep(self._innermost_trip)
            self.setup.append(Statement(f"movxm ls, #{self.prefix}_inner", ""))
            self.setup.append(Statement(f"movxm le, #{self.prefix}_inner_end", ""))
        body = list(self._parted(self._level(0)))
        return [*self.setup, *body]

    def _parted(self, statements: Iterator[ProgramStatement]) -> Iterator[ProgramStatement]:
        """With labels that nobody branches to, so that no block is too long to be scheduled quickly."""
        length, parts = 0, 0
        for statement in statements:
            if isinstance(statement, Label | LoopEnd):
                length = 0
            elif length == _BLOCK_STATEMENTS:
                yield Label(f"{self.prefix}_part{parts}")
                length, parts = 0, parts + 1
            length += 1
            yield statement

    @property
    def _result_depth(self) -> int:
        return self.nest.parallel_levels if self.accumulators else self.depth

    @property
    def _innermost_trip(self) -> Number:
        trip = self.nest.levels[-1].trip
        if trip.fixed:
            return Number(trip.constant // self.shape.unroll)
        return Number(trip.constant, counts=trip.counts, divisor=self.shape.unroll)

    @property
    def _innermost_loops(self) -> bool:
        return self.depth > 0 and self._innermost_trip != Number(1)

    def _accumulators(self) -> dict[tuple[int, int], str]:
        """Registers of a reduction's sums by (result, word)."""
        if not any(level.reduction for level in self.nest.levels):
            return {}
        found = result_words(self.expression.body)
        return {(result, word): self.pool.take() for result, word, _ in found}

    def _loaded(self) -> Iterator[tuple[int, Access]]:
        """Inputs that are loaded, by argument; sums that are none (no loop reduces) are inputs, too."""
        arguments = [*self.nest.inputs, *(() if self.accumulators else self.nest.initial)]
        for argument, access in enumerate(arguments):
            if isinstance(access, Access) and self._nodes(argument):
                yield argument, access
            elif isinstance(access, bytes):
                self._literal(argument, access)

    def _literal(self, argument: int, data: bytes) -> None:
        for word, node in self._nodes(argument):
            self.registers[node] = register = self.pool.take()
            self.setup.append(
                Statement(f"movi {register}, #{element_word(data, word)}", f"{self.op}: constant")
            )

    def _nodes(self, argument: int) -> list[tuple[int, int]]:
        """(word, node) of an argument, of those that are needed."""
        found = self.expression.inputs
        return [
            (word, found[number])
            for number, (owner, word) in enumerate(self.expression.body.inputs)
            if owner == argument and number in found
        ]

    # ----------------------------------------------------------------- levels

    def _level(self, level: int) -> Iterator[ProgramStatement]:
        """What is done inside the first `level` loops."""
        if level < self.depth or not self.depth:
            yield from self._hoisted(level)
        if self.accumulators and level == self.nest.parallel_levels:
            yield from self._begin()
        if level == self.depth:
            yield from self._bodies(self.shape.unroll)
        elif level == self.depth - 1:
            yield from self._innermost()
        else:
            yield from self._counted(level)
        if self.accumulators and level == self.nest.parallel_levels:
            yield from self._store_sums()

    def _counted(self, level: int) -> Iterator[ProgramStatement]:
        counter, label = self.counters[level], f"{self.prefix}_loop{level}"
        yield self._number(counter, self.nest.levels[level].trip, f"{self.op}: loop")
        yield from self._reset_indices(level)
        yield Label(label)
        yield from self._level(level + 1)
        for access, depth, pointer in self.moving:
            if level < depth - 1:
                below = self.nest.levels[level + 1].trip.times(-access.strides[level + 1])
                yield from self._move(pointer, below.plus(access.strides[level]))
        yield from self._next_indices(level)
        yield Statement(f"add {counter}, {counter}, #-1", "")
        yield Statement(f"jnz {counter}, {label}", "")

    def _innermost(self) -> Iterator[ProgramStatement]:
        yield from self._reset_indices(self.depth - 1)
        if not self._innermost_loops:
            yield from self._level(self.depth)
            return
        yield self._number(SCRATCH, self._innermost_trip, f"{self.op}: innermost loop")
        yield Statement(f"mov lc, {SCRATCH}", "")
        yield Label(f"{self.prefix}_inner")
        yield from self._level(self.depth)
        yield LoopEnd(f"{self.prefix}_inner_end", f"{self.prefix}_inner")

    def _hoisted(self, level: int) -> Iterator[Statement]:
        """Loads of what does not change further inside."""
        for argument, access, depth, pointer in self.loads:
            if depth == level:
                for _, node in self._nodes(argument):
                    self.registers[node] = self.pool.take()
                yield from self._load(argument, access, depth, pointer, self.registers)

    def _bodies(self, copies: int) -> Iterator[Statement]:
        for _ in range(copies):
            fresh: dict[int, str] = {}
            for argument, access, depth, pointer in self.loads:
                if depth == self.depth and self.depth:
                    for _, node in self._nodes(argument):
                        fresh[node] = self.pool.take()
                    yield from self._load(argument, access, depth, pointer, fresh)
            sums = dict(self._sum_nodes())
            into = self._targets()
            statements, found = self.expression.code(self.pool, {**self.registers, **sums}, fresh, into)
            yield from statements
            yield from self._finish(found)
            yield from self._next_indices(self.depth - 1)

    def _finish(self, found: Sequence[str]) -> Iterator[Statement]:
        """Stores the results, or keeps them as the sums so far."""
        kept = {*self.registers.values(), *self.accumulators.values()}
        words = list(result_words(self.expression.body))
        if self.accumulators:
            moved = [
                (register, self.accumulators[result, word])
                for register, (result, word, _) in zip(found, words, strict=True)
                if register != self.accumulators[result, word]
            ]
            temporary = {register for register, _ in moved} & set(self.accumulators.values())
            replaced = {register: self.pool.take() for register in sorted(temporary)}
            yield from (Statement(f"copy {new}, {old}", self.op) for old, new in replaced.items())
            for register, target in moved:
                yield Statement(f"copy {target}, {replaced.get(register, register)}", self.op)
            for register in replaced.values():
                self.pool.give(register)
        else:
            by_place = {(r, w): reg for reg, (r, w, _) in zip(found, words, strict=True)}
            for result, (access, depth, pointer) in enumerate(self.outputs):
                yield from self._store(result, access, depth, pointer, by_place)
        for register in dict.fromkeys(found):
            if register not in kept:
                self.pool.give(register)

    # ----------------------------------------------------------------- sums of a reduction

    def _sum_nodes(self) -> Iterator[tuple[int, str]]:
        first = len(self.nest.inputs)
        for (result, word), register in self.accumulators.items():
            for at, node in self._nodes(first + result):
                if at == word:
                    yield node, register

    def _targets(self) -> dict[int, str]:
        """Where a node that is the next value of a sum is to be computed."""
        if not self.accumulators:
            return {}
        return {
            node: self.accumulators[result, word]
            for result, word, node in result_words(self.expression.body)
            if self.expression.uses[node] == 1
        }

    def _begin(self) -> Iterator[Statement]:
        pointers = {result: (access, depth, pointer) for result, access, depth, pointer in self.begins}
        for result, initial in enumerate(self.nest.initial):
            words = [key for key in self.accumulators if key[0] == result]
            if result in pointers:
                access, depth, pointer = pointers[result]
                registers = {word: self.accumulators[result, word] for _, word in words}
                yield from self._load_words(access, depth, pointer, registers, "sum so far")
            elif isinstance(initial, bytes):
                for _, word in words:
                    register = self.accumulators[result, word]
                    yield Statement(
                        f"movi {register}, #{element_word(initial, word)}", f"{self.op}: sums begin"
                    )

    def _store_sums(self) -> Iterator[Statement]:
        for result, (access, depth, pointer) in enumerate(self.outputs):
            yield from self._store(result, access, depth, pointer, self.accumulators)

    # ----------------------------------------------------------------- loads and stores

    def _pointer(self, access: Access, depth: int) -> tuple[int, str]:
        pointer = self.pointers.take()
        if access.tensor in self.bases:
            self.setup.append(Statement(f"mov {pointer}, {self.bases[access.tensor]}", self._what(access)))
        elif access.base.fixed:
            self.setup.append(Statement(f"movi {pointer}, #{access.base.constant}", self._what(access)))
        else:
            self.frame.words.append(access.base)
            self.setup.append(Statement(f"lda {pointer}, [{FRAME_POINTER}], #4", self._what(access), "frame"))
        for level in range(min(depth, self.depth) - 1):
            below = self.nest.levels[level + 1].trip.times(-access.strides[level + 1])
            self._keep(below.plus(access.strides[level]))
        self.moving.append((access, depth, pointer))
        return depth, pointer

    def _what(self, access: Access) -> str:
        return f"{self.op}: tensor {access.tensor} ({access.element})"

    def _load(
        self, argument: int, access: Access, depth: int, pointer: str, registers: dict[int, str]
    ) -> Iterator[Statement]:
        words = {word: registers[node] for word, node in self._nodes(argument)}
        yield from self._load_words(access, depth, pointer, words, f"argument {argument}")

    def _load_words(
        self, access: Access, depth: int, pointer: str, words: dict[int, str], what: str
    ) -> Iterator[Statement]:
        step = access.strides[depth - 1] if depth else 0
        mnemonic, memory = _LOADS[access.element_bytes], access.where
        last = access.element_bytes // _WORD - 1
        for word in range(max(1, last + 1)):
            register = words.get(word, SCRATCH)
            moved = _WORD if word < last else step - _WORD * max(0, last)
            text = self._by(f"{mnemonic} {register}, [{pointer}]", moved)
            yield Statement(text, f"{self.op}: {what}", memory)

    def _store(
        self, result: int, access: Access, depth: int, pointer: str, words: dict[tuple[int, int], str]
    ) -> Iterator[Statement]:
        step = access.strides[depth - 1] if depth else 0
        mnemonic, memory = _STORES[access.element_bytes], access.where
        last = access.element_bytes // _WORD - 1
        for word in range(max(1, last + 1)):
            moved = _WORD if word < last else step - _WORD * max(0, last)
            text = self._by(f"{mnemonic} {words[result, word]}, [{pointer}]", moved)
            yield Statement(text, f"{self.op}: result", memory)

    def _by(self, text: str, step: int) -> str:
        """The access with the move of its pointer, as an immediate or from a register."""
        try:
            parse(f"{text}, #{step}")
        except ArtifactError:
            if step not in self.steps:
                self.steps[step] = register = self.modifiers.take()
                self.setup.append(Statement(f"movi {register}, #{step}", f"{self.op}: stride"))
            return f"{text}, {self.steps[step]}"
        return f"{text}, #{step}"

    # ----------------------------------------------------------------- numbers

    def _keep(self, number: Number) -> None:
        """Reads a number that differs from step to step into a register where it stays."""
        if not number.fixed and number not in self.kept:
            self.kept[number] = register = self.storage.take()
            self.frame.words.append(number)
            self.setup.append(Statement(f"lda {register}, [{FRAME_POINTER}], #4", self.op, "frame"))

    def _number(self, register: str, number: Number, comment: str) -> Statement:
        if number.fixed:
            return Statement(f"movi {register}, #{number.constant}", comment)
        return Statement(f"mov {register}, {self.kept[number]}", comment)

    def _move(self, pointer: str, number: Number) -> Iterator[Statement]:
        if number == Number():
            return
        yield self._number(SCRATCH_MODIFIER, number, f"{self.op}: next")
        yield Statement(f"padd [{pointer}], {SCRATCH_MODIFIER}", "")

    # ----------------------------------------------------------------- loop indices

    def _take_indices(self) -> None:
        first = len(self.expression.body.inputs)
        for position, loop in enumerate(self.expression.body.indices):
            node = self.expression.inputs.get(first + position)
            if node is None:
                continue
            register = self.registers[node] = self.pool.take()
            start = self.nest.starts[loop]
            self._keep(start)
            self.index_registers[loop] = register
            self.setup.append(self._number(register, start, f"{self.op}: linalg.index {loop}"))

    def _reset_indices(self, level: int) -> Iterator[Statement]:
        for loop in self.nest.levels[level].loops if level >= 0 else ():
            if loop in self.index_registers:
                yield self._number(self.index_registers[loop], self.nest.starts[loop], "first index")

    def _next_indices(self, level: int) -> Iterator[Statement]:
        for loop in self.nest.levels[level].loops if level >= 0 else ():
            if loop in self.index_registers:
                register = self.index_registers[loop]
                yield Statement(f"add {register}, {register}, #1", "next index")


def unrolls(nest: Nest, expression: Expression, tile_counts: Sequence[int]) -> list[int]:
    """Copies of the innermost body to try, most first; `tile_counts` are the trips that occur there."""
    found = [1]
    for copies in (2, 4, 8):
        if all(count % copies == 0 for count in tile_counts) and copies * expression.size <= _UNROLLED_NODES:
            found.insert(0, copies)
    return found if nest.levels else [1]


def element_word(data: bytes, word: int) -> int:
    """A signed word of an element's bytes in memory; narrower elements are extended by their sign."""
    if len(data) < _WORD:
        return int.from_bytes(data, "little", signed=True)
    return int.from_bytes(data[_WORD * word : _WORD * (word + 1)], "little", signed=True)
