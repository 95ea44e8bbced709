"""A stage whose loops are all parallel, in vector code: sixteen elements of its innermost loop at a time.

It is the loop nest of stage_loops.py with another innermost body. So it can be done where every tensor of the
innermost loop goes on element by element, from an address that a vector load takes, and the loop has whole
vectors; what does not change along it is loaded once and stands in all lanes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..isa.assembler import ProgramStatement, Statement
from .accumulator_schedule import ZERO_SHIFT
from .matrix_modes import VECTOR_BYTES
from .stage_expression import Expression
from .stage_loops import StageLoops, StageShape, element_word
from .stage_nest import Access, Nest
from .stage_numbers import Frame
from .stage_registers import VALUES, TooFewRegisters
from .vector_lanes import LANES, LanesBody, lanes_body
from .vector_unit import SCRATCH, USED, WORD, VectorStores, VectorUnit, sixteens

_COPIES = (4, 2, 1)
_MOST_WORDS = 2
"""Of an element; only one that stands still in all lanes may have more than one."""


def vector_stage(
    nest: Nest, expression: Expression, frame: Frame, prefix: str, counts: Sequence[int]
) -> list[ProgramStatement] | None:
    """The stage's statements; None where it has to be scalar code. `counts` are the trip counts that the
    innermost loop has in some step."""
    body = _body(nest, expression)
    if body is None:
        return None
    unit = LANES * max(sixteens(access.element_bytes) for access in _moving(nest))
    constants = len(body.constants)
    for copies in _COPIES:
        if any(count % (unit * copies) for count in counts):
            continue
        for in_vectors in dict.fromkeys((constants, constants // 2, 0)):
            words = len(frame.words)
            try:
                return _VectorLoops(
                    nest,
                    expression,
                    frame,
                    prefix,
                    VectorUnit(body, expression.op, in_vectors),
                    unit * copies,
                ).statements()
            except TooFewRegisters:
                del frame.words[words:]
    return None


def _body(nest: Nest, expression: Expression) -> LanesBody | None:
    """What is computed, where the loops and the tensors allow it."""
    if not nest.levels or any(level.reduction for level in nest.levels) or len(nest.results) != 1:
        return None
    if not all(map(_is_vector, _moving(nest))) or not nest.results[0].strides[-1]:
        return None
    return lanes_body(expression.body, nest.results[0].element)


def _moving(nest: Nest) -> list[Access]:
    """The tensors that go on along the innermost loop."""
    accesses = [access for access in (*nest.inputs, *nest.initial) if isinstance(access, Access)]
    return [access for access in (*accesses, *nest.results) if access.strides[-1]]


def _is_vector(access: Access) -> bool:
    *outer, inner = access.strides
    places = (access.base.constant, *outer)
    return (
        access.element_bytes <= WORD
        and inner == access.element_bytes
        and access.base.fixed
        and all(place % VECTOR_BYTES == 0 for place in places)
    )


class _VectorLoops(StageLoops):
    """`elements` is how many an innermost turn takes."""

    def __init__(
        self,
        nest: Nest,
        expression: Expression,
        frame: Frame,
        prefix: str,
        unit: VectorUnit,
        elements: int,
    ) -> None:
        free = [register for register in VALUES if register not in USED]
        super().__init__(nest, expression, frame, prefix, StageShape(elements, 0), values=free)
        self.unit = unit
        self.nodes = {expression.body.inputs[number]: node for number, node in unit.body.inputs.items()}
        self.setup += unit.setup()

    def statements(self) -> list[ProgramStatement]:
        return [*super().statements(), *self.unit.restore()]

    def _loaded(self) -> Iterator[tuple[int, Access]]:
        for argument, access in enumerate((*self.nest.inputs, *self.nest.initial)):
            nodes = [(word, node) for (owner, word), node in self.nodes.items() if owner == argument]
            if nodes and isinstance(access, Access):
                yield argument, access
            elif isinstance(access, bytes):
                for word, node in nodes:
                    self.unit.fixed[node] = register = self.unit.vectors.take()
                    self.setup += self.unit.broadcast(register, element_word(access, word))

    def _hoisted(self, level: int) -> Iterator[Statement]:
        """Loads of what does not change further inside, into all lanes."""
        for argument, access, depth, pointer in self.loads:
            if depth == level:
                what, words = f"argument {argument}", dict.fromkeys(range(_MOST_WORDS), SCRATCH)
                for word, load in enumerate(self._load_words(access, depth, pointer, words, what)):
                    yield load
                    if (node := self.nodes.get((argument, word))) is not None:
                        self.unit.fixed[node] = register = self.unit.vectors.take()
                        yield Statement(f"vbcst.32 {register}, {SCRATCH}", f"{self.op}: {what}")

    def _bodies(self, copies: int) -> Iterator[Statement]:
        unit, (result, _, pointer) = self.unit, self.outputs[0]
        stores = VectorStores(unit, result.element_bytes, pointer, f"tensor{result.tensor}")
        moving = [(a, access, p) for a, access, depth, p in self.loads if depth == self.depth]
        together = max((sixteens(access.element_bytes) for _, access, _ in moving), default=1)
        for _ in range(copies // (LANES * together)):
            vectors: list[dict[int, str]] = [{} for _ in range(together)]
            for argument, access, source in moving:
                for number, part in enumerate(self._vectors(access, source, together)):
                    yield from part[1]
                    vectors[number][self.nodes[argument, 0]] = part[0]
            for loaded in vectors:
                statements, found = unit.code().emit(loaded)
                yield from statements
                yield from stores.add(found)
        yield from stores.statements

    def _vectors(self, access: Access, pointer: str, count: int) -> Iterator[tuple[str, list[Statement]]]:
        """The next `count` sixteens of a tensor, a register each, with the statements that load it."""
        unit, memory, what = self.unit, f"tensor{access.tensor}", f"{self.op}: tensor {access.tensor}"
        name = ""
        for number in range(count):
            register = unit.vectors.take()
            if access.element_bytes == WORD:
                yield (
                    register,
                    [
                        Statement(f"vlda w{half}{register[1:]}, [{pointer}], #{VECTOR_BYTES}", what, memory)
                        for half in "lh"
                    ],
                )
                continue
            part = number % sixteens(access.element_bytes)
            statements: list[Statement] = []
            if part == 0:
                name = unit.accumulators.take()
                wide, bits = (f"cm{name}", 8) if access.element_bytes == 1 else (f"bml{name}", 16)
                text = f"vlda.ups.s32.s{bits} {wide}, {ZERO_SHIFT}, [{pointer}], #{VECTOR_BYTES}"
                statements.append(Statement(text, what, memory))
            statements.append(Statement(f"vmov {register}, bm{'lh'[part]}{name}", what))
            if part + 1 == sixteens(access.element_bytes):
                unit.accumulators.give(name)
            yield register, statements
