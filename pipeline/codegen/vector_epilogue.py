"""What is fused with a matmul on the multiplier array, in vector code: sixteen sums at a time.

Sums stand as the multiplier leaves them: columns of blocks, each with all its rows, so that sixteen in a row
are some rows of one block. What belongs to a column stands still in a register meanwhile, as often as there
are rows in it. Results are written in the same order, each as wide as its type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..isa.assembler import Label, LoopEnd, ProgramStatement, Statement
from .core_memory import EpiloguePlaces
from .kernel_shape import KernelShape
from .matrix_modes import VECTOR_BYTES
from .problem import Epilogue, Operand, View
from .stage_loops import element_word
from .stage_registers import TooFewRegisters
from .vector_lanes import LANES, LanesBody
from .vector_unit import USED, WORD, VectorStores, VectorUnit, sixteens

_SUMS_LOW, _SUMS_HIGH, _RESULT, _FIRST_COLUMN = 0, 1, 2, 3
"""Pointers: to the halves of sixteen sums, to results, to what comes for columns."""

_UNROLLS = (4, 2, 1)
_COLUMN_BLOCKS, _SHUFFLE = "r2", "r3"
_FOUR_ALIKE = 8
"""vshuffle's mode that makes four of a register's first 128 bits, which stand in its third, too
(llvm-aie's aiev2_enums.h: T128_4x2_lo)."""

_CYCLES_PER_VECTOR = 4
_CYCLES_PER_INSTRUCTION = 1.5
"""Of sixteen elements, latencies included, for the cost model: measured (scripts/bench_codegen.py)."""


def vector_body(epilogue: Epilogue, shape: KernelShape, written: View) -> LanesBody | None:
    """What the vector code computes; None where it has to be scalar code."""
    body = epilogue.lanes
    if body is None or shape.rows * shape.mode.columns % _unit(written):
        return None
    if written.element_bytes > WORD or any(o.view.element_bytes != WORD for o in epilogue.operands):
        return None
    arguments = {epilogue.body.inputs[number][0] for number in body.inputs}
    return body if epilogue.total in arguments else None


def vector_cycles(body: LanesBody, words: int) -> int:
    """Of that many elements, for the cost model."""
    each = _CYCLES_PER_INSTRUCTION * body.instructions + _CYCLES_PER_VECTOR
    return math.ceil(words / LANES * each)


def vector_epilogue_statements(
    body: LanesBody, epilogue: Epilogue, shape: KernelShape, written: View, places: EpiloguePlaces
) -> list[ProgramStatement] | None:
    """As `array_epilogue.epilogue_statements`, of what `vector_body` gave; None where there are too few
    registers for it."""
    assert not USED & {*places.kept}
    whole = not epilogue.operands
    blocks = shape.columns // shape.mode.columns
    units = shape.rows * shape.mode.columns // _unit(written) * (blocks if whole else 1)
    count = len(body.constants)
    for unroll in [n for n in _UNROLLS if units % n == 0]:
        for in_vectors in dict.fromkeys((count, count // 2, 0)):
            made = _EpilogueLoops(epilogue, body, shape, written, places, in_vectors)
            try:
                return list(made.statements(units // unroll, unroll, 1 if whole else blocks))
            except TooFewRegisters:
                continue
    return None


def _unit(written: View) -> int:
    """Elements that are stored at once."""
    return LANES * sixteens(written.element_bytes)


class _EpilogueLoops:
    """Writes the loops; one object for one try."""

    def __init__(
        self,
        epilogue: Epilogue,
        body: LanesBody,
        shape: KernelShape,
        written: View,
        places: EpiloguePlaces,
        in_vectors: int,
    ) -> None:
        self.op, self.shape, self.written = epilogue.op, shape, written
        self.epilogue, self.places = epilogue, places
        self.unit = VectorUnit(body, epilogue.op, in_vectors)
        self.nodes = {epilogue.body.inputs[number]: node for number, node in body.inputs.items()}
        self.total = self.nodes[epilogue.total, 0]

    def statements(self, turns: int, unroll: int, blocks: int) -> Iterator[ProgramStatement]:
        """`blocks` times `turns` turns of `unroll` units of elements."""
        yield from self._setup()
        if turns > 1:
            yield Statement("movxm ls, #epilogue_inner", "")
            yield Statement("movxm le, #epilogue_inner_end", "")
        if blocks > 1:
            yield Statement(f"movi {_COLUMN_BLOCKS}, #{blocks}", f"{self.op}: blocks of columns")
            yield Label("epilogue_columns")
        yield from self._columns()
        if turns > 1:
            yield Statement(f"movi lc, #{turns}", f"{self.op}: innermost loop")
            yield Label("epilogue_inner")
        yield from self._turn(unroll)
        if turns > 1:
            yield LoopEnd("epilogue_inner_end", "epilogue_inner")
        if blocks > 1:
            yield Statement(f"add {_COLUMN_BLOCKS}, {_COLUMN_BLOCKS}, #-1", "")
            yield Statement(f"jnz {_COLUMN_BLOCKS}, epilogue_columns", "")
        yield from self.unit.restore()

    # ----------------------------------------------------------------- what stays

    def _setup(self) -> Iterator[Statement]:
        places = self.places
        yield Statement(f"movi p{_SUMS_LOW}, #{places.sums}", f"{self.op}: sums")
        yield Statement(f"movi p{_SUMS_HIGH}, #{places.sums + VECTOR_BYTES}", f"{self.op}: sums, upper half")
        yield Statement(f"mov p{_RESULT}, {places.result}", f"{self.op}: results")
        for number, address in enumerate(places.columns, _FIRST_COLUMN):
            yield Statement(f"movi p{number}, #{address}", f"{self.op}: operand of the columns")
        yield from self.unit.setup()
        self.loaded: list[tuple[str, str]] = []
        pointers = iter(range(_FIRST_COLUMN, _FIRST_COLUMN + len(places.columns)))
        for number, argument in enumerate(self.epilogue.arguments):
            pointer = next(pointers) if isinstance(argument, Operand) else None
            for (owner, word), node in self.nodes.items():
                if owner != number or number == self.epilogue.total:
                    continue
                self.unit.fixed[node] = register = self.unit.vectors.take()
                if pointer is not None:
                    self.loaded.append((register, f"p{pointer}"))
                else:
                    assert isinstance(argument, bytes)
                    yield from self.unit.broadcast(register, element_word(argument, word))
        if self.shape.mode.columns * WORD < VECTOR_BYTES:
            yield Statement(f"movi {_SHUFFLE}, #{_FOUR_ALIKE}", f"{self.op}: four of a block's row")

    def _columns(self) -> Iterator[Statement]:
        """What comes for a block's columns, in all rows of a vector."""
        for register, pointer in self.loaded:
            low, high, memory = f"wl{register[1:]}", f"wh{register[1:]}", f"columns {pointer}"
            what = f"{self.op}: operand of the columns"
            if self.shape.mode.columns * WORD == VECTOR_BYTES:
                yield Statement(f"vldb {low}, [{pointer}], #{VECTOR_BYTES}", what, memory)
                yield Statement(f"vmov {high}, {low}", what)
            else:
                yield Statement(f"vlda.128 {low}, [{pointer}]", what, memory)
                yield Statement(f"padda [{pointer}], #{VECTOR_BYTES // 2}", what)
                yield Statement(f"vmov {high}, {low}", what)
                yield Statement(f"vshuffle {register}, {register}, {register}, {_SHUFFLE}", what)

    # ----------------------------------------------------------------- one turn

    def _turn(self, unroll: int) -> Iterator[Statement]:
        unit = self.unit
        stores = VectorStores(unit, self.written.element_bytes, f"p{_RESULT}", "result")
        if unit.body.rounds and unit.body.result == self.total:
            yield from self._only_rounded(unroll, stores)
            yield from stores.statements
            return
        # loaded all at once where there is room, so that one hides the other's latencies
        count, early = unroll * sixteens(self.written.element_bytes), unroll > 1
        loaded = [unit.vectors.take() for _ in range(count if early else 0)]
        for register in loaded:
            yield from self._load(register)
        for number in range(count):
            register = loaded[number] if early else unit.vectors.take()
            if not early:
                yield from self._load(register)
            statements, found = unit.code().emit({self.total: register})
            yield from statements
            yield from stores.add(found)
        yield from stores.statements

    def _load(self, register: str) -> Iterator[Statement]:
        what = f"{self.op}: sums"
        for slot, half, pointer in (("vlda", "l", _SUMS_LOW), ("vldb", "h", _SUMS_HIGH)):
            text = f"{slot} w{half}{register[1:]}, [p{pointer}], #{2 * VECTOR_BYTES}"
            yield Statement(text, what, "sums")

    def _only_rounded(self, unroll: int, stores: VectorStores) -> Iterator[Statement]:
        """Sums that are rounded and nothing else never leave the accumulators."""
        for _ in range(unroll):
            name = self.unit.accumulators.take()
            for half, pointer in (("l", _SUMS_LOW), ("h", _SUMS_HIGH)):
                text = f"vlda aml{half}{name}, [p{pointer}], #{2 * VECTOR_BYTES}"
                yield Statement(text, f"{self.op}: sums", "sums")
            stores.from_accumulator(name)
