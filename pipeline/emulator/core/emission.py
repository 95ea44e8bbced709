"""Registers and memory for compiled code: what a block of core code loads, keeps and stores.

A `Writer` collects the lines of one block and knows, at each point, which register is already in which
LLVM value. Registers are loaded from the state once and written back where the block ends. Nothing here
knows about time; that is block.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ...isa.semantics.registers import Register, registers
from ...isa.semantics.value import Type
from ..memory import LOADED, STORED, WRITTEN
from .llvm_text import Lines, Names, Operand, literal, llvm_constant, llvm_type
from .state import NOTHING, OUTSIDE_PC, POINTER_TABLE, QUADRANT_BYTES, REGISTERS, cell_bytes

STATUS_DISPATCH = 0
"""Go on at EXIT_PC with shape EXIT_SHAPE, wherever that is."""
STATUS_BUDGET = 1
STATUS_STEP = 2
"""The bundle at EXIT_PC is not for compiled code."""
STATUS_FAULT = 3
"""A memory access in the block at EXIT_PC failed; the state is that of its beginning, memory is not."""
STATUS_LOOP = 4
"""LE was given an address that the code does not watch."""


@dataclass(frozen=True, slots=True)
class Cached:
    """A cell's value: part `index` of the `count` cells that `whole` covers."""

    whole: Operand
    index: int
    count: int


class Writer(Lines):
    """Lines of one block."""

    def __init__(self, names: Names, *, checked: bool = False) -> None:
        super().__init__(names)
        self.checked = checked
        self.pc = 0
        self.fault: str | None = None
        """The label to go to when a memory access cannot be made, once there is such an access."""
        self.unwritten: list[str] = []
        """Labels that are jumped to by loads of bytes which nobody wrote; only with `checked`."""
        self.accesses: list[tuple[Operand, int]] = []
        """Addresses (32 bits) and sizes of the bundle's accesses."""
        self._registers: dict[int, Cached] = {}
        self._dirty: set[int] = set()
        self._pointers: dict[int, str] = {}

    # The state

    def place(self, offset: int) -> str:
        """A pointer into the state. Not kept, as a block has several LLVM blocks."""
        name = "%" + self.names.fresh("s")
        self.lines.append(f"  {name} = getelementptr i8, ptr %state, i64 {offset}")
        return name

    def load_state(self, offset: int, type_: Type) -> Operand:
        stored, align = _cell(type_)
        place = self.place(offset)
        whole = self.assign(stored, f"load {llvm_type(stored)}, ptr {place}, align {align}")
        return self.resize(whole, type_)

    def store_state(self, offset: int, value: Operand) -> None:
        stored, align = _cell(value.type)
        whole = self.resize(value, stored)
        place = self.place(offset)
        self.line(f"store {whole.typed}, ptr {place}, align {align}")

    # Registers

    def read(self, reg: Register) -> Operand:
        return self.read_from(reg, None)

    def read_from(self, reg: Register, overlay: Mapping[int, Cached] | None) -> Operand:
        """A register, where `overlay` has newer values for some cells."""
        newer = overlay or {}
        parts = [newer.get(cell) or self._registers.get(cell) for cell in reg.cells]
        first = parts[0]
        if first is not None and first.index == 0 and first.count == len(parts):
            whole = first.whole
            if all(p is not None and p.whole is whole and p.index == i for i, p in enumerate(parts)):
                return whole
        if not any(parts):
            value = self.load_state(REGISTERS + reg.offset, reg.type)
            self._remember(reg, value)
            return value
        pieces = [
            self._part(cached) if cached is not None else self._load_cell(cell)
            for cell, cached in zip(reg.cells, parts, strict=True)
        ]
        while len(pieces) > 1:
            pieces = [self._join(a, b) for a, b in zip(pieces[::2], pieces[1::2], strict=True)]
        return pieces[0]

    def write(self, reg: Register, value: Operand) -> None:
        self._remember(reg, value)
        self._dirty.update(reg.cells)

    def overlay(self, reg: Register, value: Operand, overlay: dict[int, Cached]) -> None:
        """Note a value that reads along a bypass see already."""
        for index, cell in enumerate(reg.cells):
            overlay[cell] = Cached(value, index, len(reg.cells))

    def write_back(self) -> None:
        """Store what was written. The cache stays as it is, so that a side exit can do this too."""
        done: set[int] = set()
        for cell in sorted(self._dirty):
            if cell in done:
                continue
            cached = self._registers[cell]
            run = [self._registers.get(c) for c in self._run_of(cell, cached)]
            if cached.index == 0 and all(
                c is not None and c.whole is cached.whole and c.index == i for i, c in enumerate(run)
            ):
                self.store_state(REGISTERS + cell, cached.whole)
                done.update(self._run_of(cell, cached))
            else:
                self.store_state(REGISTERS + cell, self._part(cached))
                done.add(cell)

    def _run_of(self, cell: int, cached: Cached) -> list[int]:
        size = cell_bytes(cached.whole.type) // cached.count
        return [cell + i * size for i in range(cached.count)]

    def _remember(self, reg: Register, value: Operand) -> None:
        for index, cell in enumerate(reg.cells):
            self._registers[cell] = Cached(value, index, len(reg.cells))

    def _load_cell(self, cell: int) -> Operand:
        reg = cell_register(cell)
        value = self.load_state(REGISTERS + cell, reg.type)
        self._remember(reg, value)
        return value

    def _part(self, cached: Cached) -> Operand:
        if cached.count == 1:
            return cached.whole
        whole = cached.whole
        if whole.type.is_vector:
            size = whole.type.lanes // cached.count
            return self.shuffle(whole, None, tuple(range(cached.index * size, (cached.index + 1) * size)))
        width = whole.type.width // cached.count
        shifted = whole
        if cached.index:
            shifted = self.assign(whole.type, f"lshr {whole.typed}, {cached.index * width}")
        return self.resize(shifted, Type(width))

    def _join(self, low: Operand, high: Operand) -> Operand:
        if low.type.is_vector:
            return self.shuffle(low, high, tuple(range(2 * low.type.lanes)))
        double = Type(2 * low.type.width)
        a, b = self.resize(low, double), self.resize(high, double)
        shifted = self.assign(double, f"shl {b.typed}, {low.type.width}")
        return self.assign(double, f"or {a.typed}, {shifted.text}")

    # Memory

    def address(self, address: Operand, size: int, *, loads: bool = False) -> str:
        """A pointer to data memory at a core's address. Where there is none, stores go to `fault`, and loads
        note that and find zeros; both go to `fault` where it is not aligned."""
        wide = self.resize(address, Type(32))
        table = self.place(POINTER_TABLE)
        quadrant = self.assign(Type(32), f"lshr {wide.typed}, 16")
        entry, base = "%" + self.names.fresh(), "%" + self.names.fresh()
        self.line(f"{entry} = getelementptr ptr, ptr {table}, i32 {quadrant.text}")
        self.line(f"{base} = load ptr, ptr {entry}, align 8")
        nowhere = self.assign(Type(1), f"icmp eq ptr {base}, null")
        bad = None if loads else nowhere
        if size > 1:
            low = self.assign(Type(32), f"and {wide.typed}, {size - 1}")
            odd = self.assign(Type(1), f"icmp ne {low.typed}, 0")
            bad = odd if bad is None else self.assign(Type(1), f"or {bad.typed}, {odd.text}")
        fine = self.names.fresh("fine")
        if bad is None:
            self.line(f"br label %{fine}")
        else:
            if self.fault is None:
                self.fault = self.names.fresh("fault")
            self.line(f"br i1 {bad.text}, label %{self.fault}, label %{fine}, !prof !0")
        self.label(fine)
        if loads:
            base = self._or_nothing(base, nowhere, fine)
        self.accesses.append((wide, size))
        offset = self.assign(Type(32), f"and {wide.typed}, 65535")
        pointer = "%" + self.names.fresh()
        self.line(f"{pointer} = getelementptr i8, ptr {base}, i32 {offset.text}")
        return pointer

    def _or_nothing(self, base: str, nowhere: Operand, before: str) -> str:
        """`base`, or the zeros where it is null, which is noted. `before` is the label of this block."""
        outside, inside = self.names.fresh("outside"), self.names.fresh("inside")
        zeros, found = "%" + self.names.fresh(), "%" + self.names.fresh()
        self.line(f"br i1 {nowhere.text}, label %{outside}, label %{inside}, !prof !0")
        self.label(outside)
        self.store_state(OUTSIDE_PC, literal(Type(32), self.pc + 1))
        place = self.place(NOTHING)
        self.line(f"{zeros} = load ptr, ptr {place}, align 8")
        self.line(f"br label %{inside}")
        self.label(inside)
        self.line(f"{found} = phi ptr [ {base}, %{before} ], [ {zeros}, %{outside} ]")
        return found

    def load(self, address: Operand, type_: Type) -> Operand:
        size = type_.bits // 8
        pointer = self.address(address, size, loads=True)
        if self.checked:
            self._check_load(pointer, size)
        return self.assign(type_, f"load {llvm_type(type_)}, ptr {pointer}, align 1")

    def store(self, pointer: str, value: Operand) -> None:
        self.line(f"store {value.typed}, ptr {pointer}, align 1")
        if self.checked:
            self._mark(pointer, value.type.bits // 8, WRITTEN | STORED)

    def _check_load(self, pointer: str, size: int) -> None:
        """Mark a load; leave the bundle to the plain engine, which reports, if a byte was never written."""
        shadow = self._mark(pointer, size, LOADED)
        written = literal(shadow.type, sum(WRITTEN << 8 * i for i in range(size)))
        if shadow.type.is_vector:
            written = Operand(shadow.type, llvm_constant(shadow.type, (WRITTEN,) * size))
            masked = self.assign(shadow.type, f"and {shadow.typed}, {written.text}")
            whole = Type(8 * size)
            masked = self.assign(whole, f"bitcast {masked.typed} to {llvm_type(whole)}")
            written = literal(whole, sum(WRITTEN << 8 * i for i in range(size)))
        else:
            masked = self.assign(shadow.type, f"and {shadow.typed}, {written.text}")
        fine = self.assign(Type(1), f"icmp eq {masked.typed}, {written.text}")
        report, go_on = self.names.fresh("report"), self.names.fresh("written")
        self.unwritten.append(report)
        self.line(f"br i1 {fine.text}, label %{go_on}, label %{report}, !prof !1")
        self.label(go_on)

    def _mark(self, pointer: str, size: int, marks: int) -> Operand:
        """Set bits in the shadow of an access; gives the shadow with them."""
        place = "%" + self.names.fresh("s")
        self.line(f"{place} = getelementptr i8, ptr {pointer}, i64 {QUADRANT_BYTES}")
        type_ = Type(8, size) if size > 8 else Type(8 * size)
        old = self.assign(type_, f"load {llvm_type(type_)}, ptr {place}, align 1")
        bits = (marks,) * size if type_.is_vector else (sum(marks << 8 * i for i in range(size)),)
        new = self.assign(type_, f"or {old.typed}, {llvm_constant(type_, bits)}")
        self.line(f"store {new.typed}, ptr {place}, align 1")
        return new


@cache
def _smallest_registers() -> dict[int, Register]:
    return {r.offset: r for r in registers().values() if len(r.cells) == 1}


def cell_register(cell: int) -> Register:
    """The smallest register at a cell."""
    return _smallest_registers()[cell]


@cache
def _cell(type_: Type) -> tuple[Type, int]:
    """The type under which a value is in the state, and its alignment there."""
    size = cell_bytes(type_)
    return Type(8 * size // type_.lanes, type_.lanes), min(size, 64)
