"""What is fused with a matmul on the multiplier array, in vector code: sixteen sums at a time.

Sums stand as the multiplier leaves them: columns of blocks, each with all its rows, so that sixteen in a row
are some rows of one block. What belongs to a column stands still in a register meanwhile, as often as there
are rows in it. Results are written in the same order, each as wide as its type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..isa.assembler import Label, LoopEnd, ProgramStatement, Statement
from .accumulator_schedule import ZERO_SHIFT
from .kernel_shape import KernelShape
from .matrix_modes import VECTOR_BYTES
from .problem import Epilogue, Operand, View
from .stage_loops import element_word
from .stage_registers import Pool, TooFewRegisters
from .vector_lanes import (
    ALL_LANES,
    CROSS_PRODUCTS,
    HIGH_HALVES,
    LANES,
    LOW_HALVES,
    LOW_PRODUCTS,
    SHIFT_REGISTERS,
    LanesBody,
    LanesCode,
    Settings,
)

_SUMS_LOW, _SUMS_HIGH, _RESULT, _FIRST_COLUMN = 0, 1, 2, 3
"""Pointers: to the halves of sixteen sums, to results, to what comes for columns."""

_VECTORS = tuple(f"x{number}" for number in range(12))
_ACCUMULATORS = tuple(str(number) for number in range(8))
_UNROLLS = (4, 2, 1)
_MASKS = tuple(f"r{number}" for number in range(16, 24))
"""The registers that vector comparisons give their truths in (llvm-aie: eRS8)."""

_SCALARS = tuple(f"r{number}" for number in range(24, 32))
"""For constants that there is no room for in vectors."""

_ALL_LANES, _SCRATCH, _COLUMN_BLOCKS, _SHUFFLE = "r0", "r1", "r2", "r3"
_SETTINGS = Settings(_ALL_LANES, _SCRATCH, ZERO_SHIFT, "r4", "r5", "r6", "r7")
_FOUR_ALIKE = 8
"""vshuffle's mode that makes four of a register's first 128 bits, which stand in its third, too
(llvm-aie's aiev2_enums.h: T128_4x2_lo)."""

_TIES_TO_EVEN = 12
"""crRnd (facts/emulation.md)."""

_WORD = 4
_CYCLES_PER_VECTOR = 4
_CYCLES_PER_INSTRUCTION = 1.5
"""Of sixteen elements, latencies included, for the cost model: measured (scripts/bench_codegen.py)."""


def vector_body(epilogue: Epilogue, shape: KernelShape, written: View) -> LanesBody | None:
    """What the vector code computes; None where it has to be scalar code."""
    body = epilogue.lanes
    if body is None or shape.rows * shape.mode.columns % _unit(written):
        return None
    if written.element_bytes > _WORD or any(o.view.element_bytes != _WORD for o in epilogue.operands):
        return None
    arguments = {epilogue.body.inputs[number][0] for number in body.inputs}
    return body if epilogue.total in arguments else None


def vector_cycles(body: LanesBody, words: int) -> int:
    """Of that many elements, for the cost model."""
    each = _CYCLES_PER_INSTRUCTION * body.instructions + _CYCLES_PER_VECTOR
    return math.ceil(words / LANES * each)


def vector_epilogue_statements(
    body: LanesBody,
    epilogue: Epilogue,
    shape: KernelShape,
    written: View,
    *,
    sums: int,
    columns: Sequence[int],
    result: str,
    kept: Sequence[str],
) -> list[ProgramStatement]:
    """As `array_epilogue.epilogue_statements`, of what `vector_body` gave. Raises TooFewRegisters."""
    whole = not epilogue.operands
    blocks = shape.columns // shape.mode.columns
    units = shape.rows * shape.mode.columns // _unit(written) * (blocks if whole else 1)
    count = len(body.constants)
    for unroll in [n for n in _UNROLLS if units % n == 0]:
        for in_vectors in dict.fromkeys((count, count // 2, 0)):
            made = _VectorLoops(epilogue, body, shape, written, columns, kept, in_vectors)
            try:
                return list(made.statements(sums, result, units // unroll, unroll, 1 if whole else blocks))
            except TooFewRegisters:
                continue
    raise TooFewRegisters("vectors at a time")


def _unit(written: View) -> int:
    """Elements that are stored at once: 32 bytes, but for words, which are two stores."""
    return LANES if written.element_bytes > 1 else 2 * LANES


class _VectorLoops:
    """Writes the loops; one object for one try."""

    def __init__(
        self,
        epilogue: Epilogue,
        body: LanesBody,
        shape: KernelShape,
        written: View,
        columns: Sequence[int],
        kept: Sequence[str],
        in_vectors: int,
    ) -> None:
        self.op, self.body, self.shape, self.written = epilogue.op, body, shape, written
        self.epilogue, self.addresses, self.in_vectors = epilogue, columns, in_vectors
        self.vectors = Pool(_VECTORS, "vectors at a time")
        assert not {*_MASKS, *_SCALARS, *(f"r{number}" for number in range(8))} & set(kept)
        self.masks = Pool(_MASKS, "masks at a time")
        self.accumulators = Pool(_ACCUMULATORS, "accumulators at a time")

    def statements(
        self, sums: int, result: str, turns: int, unroll: int, blocks: int
    ) -> Iterator[ProgramStatement]:
        """`blocks` times `turns` turns of `unroll` units of elements."""
        yield from self._setup(sums, result)
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
        if self.body.rounds:
            yield Statement("mov crRnd, #0", "stores do not round")

    # ----------------------------------------------------------------- what stays

    def _setup(self, sums: int, result: str) -> Iterator[Statement]:
        yield Statement(f"movi p{_SUMS_LOW}, #{sums}", f"{self.op}: sums")
        yield Statement(f"movi p{_SUMS_HIGH}, #{sums + VECTOR_BYTES}", f"{self.op}: sums, upper half")
        yield Statement(f"mov p{_RESULT}, {result}", f"{self.op}: results")
        for number, address in enumerate(self.addresses, _FIRST_COLUMN):
            yield Statement(f"movi p{number}, #{address}", f"{self.op}: operand of the columns")
        if self.body.rounds:
            yield Statement(f"mov crRnd, #{_TIES_TO_EVEN}", "stores round to nearest, ties to even")
        yield Statement("mov crVaddSign, #0", "vlt.d32 and vge.d32 compare without sign")
        yield Statement(f"movi {_ALL_LANES}, #{ALL_LANES}", f"{self.op}: all lanes")
        if self.body.multiplies:
            for register, value in (
                (_SETTINGS.low_halves, LOW_HALVES),
                (_SETTINGS.high_halves, HIGH_HALVES),
                (_SETTINGS.cross_products, CROSS_PRODUCTS),
                (_SETTINGS.low_products, LOW_PRODUCTS),
            ):
                yield Statement(f"movi {register}, #{value}", f"{self.op}: products of halves")
        for register, amount in zip(SHIFT_REGISTERS, self.body.shifts, strict=False):
            yield Statement(f"movi {register}, #{amount}", f"{self.op}: a shift")
        self.constants: dict[int, str] = {}
        for value in self.body.constants[: self.in_vectors]:
            self.constants[value] = register = self.vectors.take()
            yield from self._broadcast(register, value)
        self.scalars = dict(zip(self.body.constants[self.in_vectors :], _SCALARS, strict=False))
        for value, register in self.scalars.items():
            yield self._constant(register, value)
        self.fixed: dict[int, str] = {}
        self.loaded: list[tuple[int, str, str]] = []
        pointers = iter(range(_FIRST_COLUMN, _FIRST_COLUMN + len(self.addresses)))
        nodes = {self.epilogue.body.inputs[n][0]: node for n, node in self.body.inputs.items()}
        for number, argument in enumerate(self.epilogue.arguments):
            pointer = next(pointers) if isinstance(argument, Operand) else None
            node = nodes.get(number)
            if node is None or number == self.epilogue.total:
                continue
            self.fixed[node] = register = self.vectors.take()
            if pointer is not None:
                self.loaded.append((node, register, f"p{pointer}"))
            else:
                assert isinstance(argument, bytes)
                yield from self._broadcast(register, element_word(argument, 0))
        self.total = nodes[self.epilogue.total]
        if self.shape.mode.columns * _WORD < VECTOR_BYTES:
            yield Statement(f"movi {_SHUFFLE}, #{_FOUR_ALIKE}", f"{self.op}: four of a block's row")

    def _broadcast(self, register: str, value: int) -> Iterator[Statement]:
        yield self._constant(_SCRATCH, value)
        yield Statement(f"vbcst.32 {register}, {_SCRATCH}", f"{self.op}: constant")

    def _constant(self, register: str, value: int) -> Statement:
        signed = value - (1 << 32) if value >> 31 == 1 else value
        return Statement(f"movi {register}, #{signed}", f"{self.op}: constant")

    def _columns(self) -> Iterator[Statement]:
        """What comes for a block's columns, in all rows of a vector."""
        for _, register, pointer in self.loaded:
            low, high, memory = f"wl{register[1:]}", f"wh{register[1:]}", f"columns {pointer}"
            what = f"{self.op}: operand of the columns"
            if self.shape.mode.columns * _WORD == VECTOR_BYTES:
                yield Statement(f"vldb {low}, [{pointer}], #{VECTOR_BYTES}", what, memory)
                yield Statement(f"vmov {high}, {low}", what)
            else:
                yield Statement(f"vlda.128 {low}, [{pointer}]", what, memory)
                yield Statement(f"padda [{pointer}], #{VECTOR_BYTES // 2}", what)
                yield Statement(f"vmov {high}, {low}", what)
                yield Statement(f"vshuffle {register}, {register}, {register}, {_SHUFFLE}", what)

    # ----------------------------------------------------------------- one turn

    def _turn(self, unroll: int) -> Iterator[Statement]:
        per_unit = _unit(self.written) // LANES
        if self.body.rounds and self.body.result == self.total:
            yield from self._only_rounded(unroll)
            return
        # loaded all at once where there is room, so that one hides the other's latencies
        count, early = unroll * per_unit, unroll > 1
        loaded = [self.vectors.take() for _ in range(count if early else 0)]
        for register in loaded:
            yield from self._load(register)
        stores: list[Statement] = []
        name = ""
        for number in range(count):
            register = loaded[number] if early else self.vectors.take()
            if not early:
                yield from self._load(register)
            statements, found = self._code().emit({self.total: register})
            yield from statements
            if self.written.element_bytes == _WORD:
                stores += self._words(found)
                continue
            part = number % per_unit
            name = name if part else self.accumulators.take()
            yield Statement(f"vmov bm{'lh'[part]}{name}, {found}", f"{self.op}: result")
            self.vectors.give(found)
            if part + 1 == per_unit:
                stores.append(self._narrow(name))
        yield from stores

    def _code(self) -> LanesCode:
        return LanesCode(
            self.body,
            self.op,
            self.vectors,
            self.masks,
            self.accumulators,
            self.constants,
            self.scalars,
            self.fixed,
            _SETTINGS,
        )

    def _load(self, register: str) -> Iterator[Statement]:
        what = f"{self.op}: sums"
        for slot, half, pointer in (("vlda", "l", _SUMS_LOW), ("vldb", "h", _SUMS_HIGH)):
            text = f"{slot} w{half}{register[1:]}, [p{pointer}], #{2 * VECTOR_BYTES}"
            yield Statement(text, what, "sums")

    def _only_rounded(self, unroll: int) -> Iterator[Statement]:
        """Sums that are rounded and nothing else never leave the accumulators."""
        names = [self.accumulators.take() for _ in range(unroll)]
        for name in names:
            for half, pointer in (("l", _SUMS_LOW), ("h", _SUMS_HIGH)):
                text = f"vlda aml{half}{name}, [p{pointer}], #{2 * VECTOR_BYTES}"
                yield Statement(text, f"{self.op}: sums", "sums")
        for name in names:
            yield self._narrow(name)

    def _words(self, register: str) -> Iterator[Statement]:
        for half in "lh":
            text = f"vst w{half}{register[1:]}, [p{_RESULT}], #{VECTOR_BYTES}"
            yield Statement(text, f"{self.op}: result", "result")

    def _narrow(self, name: str) -> Statement:
        """From the accumulator, 32 bytes: what is above a result's width is cut."""
        if self.body.rounds:
            stored = f"vst.conv.bf16.fp32 bml{name},"
        elif self.written.element_bytes == 1:
            stored = f"vst.srs.s8.s32 cm{name}, {ZERO_SHIFT},"
        else:
            stored = f"vst.srs.s16.s32 bml{name}, {ZERO_SHIFT},"
        return Statement(f"{stored} [p{_RESULT}], #{VECTOR_BYTES}", f"{self.op}: result", "result")
