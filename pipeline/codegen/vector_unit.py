"""The vector unit's registers while a body runs in vector code, and what has to stand in them before."""

from __future__ import annotations

from collections.abc import Iterator

from ..isa.assembler import Statement
from .accumulator_schedule import ZERO_SHIFT
from .matrix_modes import VECTOR_BYTES
from .stage_registers import Pool
from .vector_lanes import (
    ALL_LANES,
    CROSS_PRODUCTS,
    FLOAT_SUMS,
    HIGH_HALVES,
    LOW_HALVES,
    LOW_PRODUCTS,
    SHIFT_REGISTERS,
    LanesBody,
    LanesCode,
    Settings,
)

WORD = 4
SCRATCH = "r1"
SETTINGS = Settings("r0", SCRATCH, ZERO_SHIFT, "r4", "r5", "r6", "r7", "r27")
_VECTORS = tuple(f"x{number}" for number in range(12))
_ACCUMULATORS = tuple(str(number) for number in range(8))
_MASKS = tuple(f"r{number}" for number in range(16, 24))
"""The registers that vector comparisons give their truths in (llvm-aie: eRS8)."""

_SCALARS = tuple(f"r{number}" for number in (24, 25, 26, 29, 30, 31))
"""For constants that there is no room for in vectors."""

USED = frozenset((*(f"r{number}" for number in range(8)), *_MASKS, *_SCALARS))
"""Scalar registers that vector code takes for itself."""

_TIES_TO_EVEN = 12
"""crRnd (facts/emulation.md)."""


class VectorUnit:
    """One body's code: `in_vectors` of its constants stay in vectors. `fixed` are nodes of inputs that do not
    change; whoever knows them puts their registers there. Methods raise TooFewRegisters."""

    def __init__(self, body: LanesBody, op: str, in_vectors: int) -> None:
        self.body, self.op, self.in_vectors = body, op, in_vectors
        self.vectors = Pool(_VECTORS, "vectors at a time")
        self.masks = Pool(_MASKS, "masks at a time")
        self.accumulators = Pool(_ACCUMULATORS, "accumulators at a time")
        self.constants: dict[int, str] = {}
        self.scalars: dict[int, str] = {}
        self.fixed: dict[int, str] = {}

    def setup(self) -> Iterator[Statement]:
        """What has to be in registers first, control registers included: nothing is taken for granted."""
        for register, value, what in (
            ("crSat", 0, "results are cut, not held in range"),
            ("crRnd", _TIES_TO_EVEN if self.body.rounds else 0, "to nearest, ties to even; or not at all"),
            ("crSRSSign", 1, "stores are signed"),
            ("crUPSSign", 1, "loads are signed"),
            ("crVaddSign", 0, "vlt.d32 and vge.d32 compare without sign"),
        ):
            yield Statement(f"mov {register}, #{value}", what)
        yield Statement(f"movi {ZERO_SHIFT}, #0", f"{self.op}: no shift")
        yield Statement(f"movi {SETTINGS.all_lanes}, #{ALL_LANES}", f"{self.op}: all lanes")
        if self.body.multiplies:
            for register, value in (
                (SETTINGS.low_halves, LOW_HALVES),
                (SETTINGS.high_halves, HIGH_HALVES),
                (SETTINGS.cross_products, CROSS_PRODUCTS),
                (SETTINGS.low_products, LOW_PRODUCTS),
            ):
                yield Statement(f"movi {register}, #{value}", f"{self.op}: products of halves")
        if self.body.adds_floats:
            yield Statement(f"movi {SETTINGS.float_sums}, #{FLOAT_SUMS}", f"{self.op}: sums of f32")
        for register, amount in zip(SHIFT_REGISTERS, self.body.shifts, strict=False):
            yield Statement(f"movi {register}, #{amount}", f"{self.op}: a shift")
        for value in self.body.constants[: self.in_vectors]:
            self.constants[value] = register = self.vectors.take()
            yield from self.broadcast(register, value)
        self.scalars.update(zip(self.body.constants[self.in_vectors :], _SCALARS, strict=False))
        for value, register in self.scalars.items():
            yield self._constant(register, value)

    def restore(self) -> Iterator[Statement]:
        """Afterwards: other code wants its stores as they are."""
        if self.body.rounds:
            yield Statement("mov crRnd, #0", "stores do not round")

    def broadcast(self, register: str, value: int) -> Iterator[Statement]:
        """The value in all lanes."""
        yield self._constant(SCRATCH, value)
        yield Statement(f"vbcst.32 {register}, {SCRATCH}", f"{self.op}: constant")

    def _constant(self, register: str, value: int) -> Statement:
        signed = value - (1 << 32) if value >> 31 == 1 else value
        return Statement(f"movi {register}, #{signed}", f"{self.op}: constant")

    def code(self) -> LanesCode:
        """The body, to be emitted for one sixteen."""
        return LanesCode(
            self.body,
            self.op,
            self.vectors,
            self.masks,
            self.accumulators,
            self.constants,
            self.scalars,
            self.fixed,
            SETTINGS,
        )


class VectorStores:
    """Results on their way to memory, in order of the elements."""

    def __init__(self, unit: VectorUnit, element_bytes: int, pointer: str, memory: str) -> None:
        self.unit, self.element_bytes = unit, element_bytes
        self.pointer, self.memory = pointer, memory
        self.statements: list[Statement] = []
        """The stores themselves, which may come after all other code."""
        self._parts: list[str] = []
        self._name = ""

    def add(self, register: str) -> Iterator[Statement]:
        """The next sixteen results; gives what moves them out of the way, and takes the register where that
        is so."""
        unit, what = self.unit, f"{self.unit.op}: result"
        if self.element_bytes == WORD:
            for half in "lh":
                self._store(f"vst w{half}{register[1:]},")
            return
        if not self._parts:
            self._name = unit.accumulators.take()
        yield Statement(f"vmov bm{'lh'[len(self._parts)]}{self._name}, {register}", what)
        unit.vectors.give(register)
        self._parts.append(register)
        if len(self._parts) == sixteens(self.element_bytes):
            self.from_accumulator(self._name)
            self._parts.clear()

    def from_accumulator(self, name: str) -> None:
        """32 bytes of an accumulator: what is above a result's width is cut, or rounded to bf16."""
        if self.unit.body.rounds:
            self._store(f"vst.conv.bf16.fp32 bml{name},")
        elif self.element_bytes == 1:
            self._store(f"vst.srs.s8.s32 cm{name}, {ZERO_SHIFT},")
        else:
            self._store(f"vst.srs.s16.s32 bml{name}, {ZERO_SHIFT},")

    def _store(self, text: str) -> None:
        whole = f"{text} [{self.pointer}], #{VECTOR_BYTES}"
        self.statements.append(Statement(whole, f"{self.unit.op}: result", self.memory))


def sixteens(element_bytes: int) -> int:
    """How many sixteens are loaded or stored at once: 32 bytes of bytes are two."""
    return 2 if element_bytes == 1 else 1
