"""LLVM assembly for values: types, constants, operations, register and memory access.

A `Writer` collects the lines of one block of core code and knows, at each point, which register is
already in which LLVM value. Registers are loaded from the state once and written back where the block
ends. Nothing here knows about time; that is translation.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...isa.semantics.registers import Register, registers
from ...isa.semantics.value import Type, Value
from ..memory import LOADED, STORED, WRITTEN
from .state import POINTER_TABLE, QUADRANT_BYTES, REGISTERS, cell_bytes

STATUS_DISPATCH = 0
"""Go on at EXIT_PC with shape EXIT_SHAPE, wherever that is."""
STATUS_BUDGET = 1
STATUS_STEP = 2
"""The bundle at EXIT_PC is not for compiled code."""
STATUS_FAULT = 3
"""A memory access in the block at EXIT_PC failed; the state is that of its beginning, memory is not."""
STATUS_LOOP = 4
"""LE was given an address that the code does not watch."""


def llvm_type(type_: Type) -> str:
    return f"<{type_.lanes} x i{type_.width}>" if type_.is_vector else f"i{type_.width}"


def llvm_constant(type_: Type, numbers: tuple[int, ...]) -> str:
    if type_.is_vector:
        if not any(numbers):
            return "zeroinitializer"
        return "<" + ", ".join(f"i{type_.width} {_number(type_.width, n)}" for n in numbers) + ">"
    return _number(type_.width, numbers[0])


def _number(width: int, number: int) -> str:
    if width == 1:
        return "true" if number else "false"
    return str(number - (1 << width) if number >> (width - 1) else number)


@dataclass(frozen=True, slots=True)
class Operand:
    """An LLVM value. `number` is set where it is a scalar constant."""

    type: Type
    text: str
    number: int | None = None

    @property
    def typed(self) -> str:
        return f"{llvm_type(self.type)} {self.text}"


def literal(type_: Type, number: int) -> Operand:
    number &= type_.mask
    return Operand(type_, llvm_constant(type_, (number,) * type_.lanes), None if type_.is_vector else number)


@dataclass(frozen=True, slots=True)
class Cached:
    """A cell's value: part `index` of the `count` cells that `whole` covers."""

    whole: Operand
    index: int
    count: int


class Names:
    """Fresh names, and what a whole module has beside its blocks."""

    def __init__(self) -> None:
        self._next = 0
        self.intrinsics: dict[str, str] = {}
        self.functions: dict[str, list[str]] = {}
        """Functions of the module beside the main one, by name."""

    def fresh(self, prefix: str = "v") -> str:
        self._next += 1
        return f"{prefix}{self._next}"


class Writer:
    """Lines of one block."""

    def __init__(self, names: Names, *, checked: bool = False) -> None:
        self.names = names
        self.checked = checked
        self.lines: list[str] = []
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

    # Lines

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def assign(self, type_: Type, text: str) -> Operand:
        name = "%" + self.names.fresh()
        self.lines.append(f"  {name} = {text}")
        return Operand(type_, name)

    # The state

    def place(self, offset: int) -> str:
        """A pointer into the state. Not kept, as a block has several LLVM blocks."""
        name = "%" + self.names.fresh("s")
        self.lines.append(f"  {name} = getelementptr i8, ptr %state, i64 {offset}")
        return name

    def load_state(self, offset: int, type_: Type) -> Operand:
        stored = Type(8 * cell_bytes(type_) // type_.lanes, type_.lanes)
        place = self.place(offset)
        align = min(cell_bytes(type_), 64)
        whole = self.assign(stored, f"load {llvm_type(stored)}, ptr {place}, align {align}")
        return self.resize(whole, type_)

    def store_state(self, offset: int, value: Operand) -> None:
        stored = Type(8 * cell_bytes(value.type) // value.type.lanes, value.type.lanes)
        whole = self.resize(value, stored)
        place = self.place(offset)
        align = min(cell_bytes(value.type), 64)
        self.line(f"store {whole.typed}, ptr {place}, align {align}")

    def resize(self, value: Operand, type_: Type) -> Operand:
        if value.type == type_:
            return value
        if value.number is not None:
            return literal(type_, value.number)
        name = "trunc" if type_.width < value.type.width else "zext"
        return self.assign(type_, f"{name} {value.typed} to {llvm_type(type_)}")

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

    def address(self, address: Operand, size: int) -> str:
        """A pointer to data memory at a core's address; goes to `fault` where there is none."""
        wide = self.resize(address, Type(32))
        table = self.place(POINTER_TABLE)
        quadrant = self.assign(Type(32), f"lshr {wide.typed}, 16")
        entry, base = "%" + self.names.fresh(), "%" + self.names.fresh()
        self.line(f"{entry} = getelementptr ptr, ptr {table}, i32 {quadrant.text}")
        self.line(f"{base} = load ptr, ptr {entry}, align 8")
        bad = self.assign(Type(1), f"icmp eq ptr {base}, null")
        if size > 1:
            low = self.assign(Type(32), f"and {wide.typed}, {size - 1}")
            odd = self.assign(Type(1), f"icmp ne {low.typed}, 0")
            bad = self.assign(Type(1), f"or {bad.typed}, {odd.text}")
        if self.fault is None:
            self.fault = self.names.fresh("fault")
        fine = self.names.fresh("fine")
        self.line(f"br i1 {bad.text}, label %{self.fault}, label %{fine}, !prof !0")
        self.label(fine)
        self.accesses.append((wide, size))
        offset = self.assign(Type(32), f"and {wide.typed}, 65535")
        pointer = "%" + self.names.fresh()
        self.line(f"{pointer} = getelementptr i8, ptr {base}, i32 {offset.text}")
        return pointer

    def load(self, address: Operand, type_: Type) -> Operand:
        size = type_.bits // 8
        pointer = self.address(address, size)
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

    # Operations

    def compute(self, node: Value, args: list[Operand]) -> Operand:
        """A node that is neither leaf nor choice."""
        if all(a.number is not None for a in args) and not node.type.is_vector and args:
            return literal(node.type, _fold(node, args))
        return _OPERATIONS[node.name](self, node, args)

    def shuffle(self, a: Operand, b: Operand | None, indices: tuple[int, ...]) -> Operand:
        if b is None and indices == tuple(range(a.type.lanes)):
            return a
        type_ = Type(a.type.width, len(indices))
        other = b.typed if b is not None else f"{llvm_type(a.type)} poison"
        mask = ", ".join(f"i32 {i}" for i in indices)
        return self.assign(type_, f"shufflevector {a.typed}, {other}, <{len(indices)} x i32> <{mask}>")

    def call(self, type_: Type, name: str, args: str, signature: str) -> Operand:
        self.names.intrinsics[name] = f"declare {llvm_type(type_)} @{name}({signature})"
        return self.assign(type_, f"call {llvm_type(type_)} @{name}({args})")


def _fold(node: Value, args: list[Operand]) -> int:
    from .operations import compute  # noqa: PLC0415 (the plain engine's arithmetic is the definition)

    result = compute(node, [a.number for a in args if a.number is not None])
    assert isinstance(result, int)
    return result


_CELLS: dict[int, Register] = {}


def cell_register(cell: int) -> Register:
    """The smallest register at a cell."""
    if not _CELLS:
        _CELLS.update({r.offset: r for r in registers().values() if len(r.cells) == 1})
    return _CELLS[cell]


def _binary(name: str) -> Callable[[Writer, Value, list[Operand]], Operand]:
    def emit(w: Writer, node: Value, args: list[Operand]) -> Operand:
        return w.assign(node.type, f"{name} {args[0].typed}, {args[1].text}")

    return emit


def _shift(name: str) -> Callable[[Writer, Value, list[Operand]], Operand]:
    """LLVM leaves amounts of the width and more undefined; here they give zero, or the sign."""

    def emit(w: Writer, node: Value, args: list[Operand]) -> Operand:
        value, amount = args
        type_, width = node.type, node.type.width
        known = amount.number
        if known is None and node.args[1].name == "constant" and max(node.args[1].numbers) < width:
            known = 0
        if known is not None and known < width:
            return w.assign(type_, f"{name} {value.typed}, {amount.text}")
        limit = literal(type_, width)
        inside = w.assign(type_.with_width(1), f"icmp ult {amount.typed}, {limit.text}")
        if name == "ashr":
            last = literal(type_, width - 1)
            clamped = w.assign(type_, f"select {inside.typed}, {amount.typed}, {last.typed}")
            return w.assign(type_, f"ashr {value.typed}, {clamped.text}")
        shifted = w.assign(type_, f"{name} {value.typed}, {amount.text}")
        return w.assign(type_, f"select {inside.typed}, {shifted.typed}, {literal(type_, 0).typed}")

    return emit


def _compare(predicate: str) -> Callable[[Writer, Value, list[Operand]], Operand]:
    def emit(w: Writer, node: Value, args: list[Operand]) -> Operand:
        return w.assign(node.type, f"icmp {predicate} {args[0].typed}, {args[1].text}")

    return emit


def _select(w: Writer, node: Value, args: list[Operand]) -> Operand:
    condition, yes, no = args
    if condition.number is not None:
        return yes if condition.number else no
    return w.assign(node.type, f"select {condition.typed}, {yes.typed}, {no.typed}")


def _convert(name: str) -> Callable[[Writer, Value, list[Operand]], Operand]:
    def emit(w: Writer, node: Value, args: list[Operand]) -> Operand:
        return w.assign(node.type, f"{name} {args[0].typed} to {llvm_type(node.type)}")

    return emit


def _clz(w: Writer, node: Value, args: list[Operand]) -> Operand:
    type_ = llvm_type(node.type)
    suffix = f"v{node.type.lanes}i{node.type.width}" if node.type.is_vector else type_
    return w.call(node.type, f"llvm.ctlz.{suffix}", f"{args[0].typed}, i1 false", f"{type_}, i1")


def _splat(w: Writer, node: Value, args: list[Operand]) -> Operand:
    first = w.assign(node.type, f"insertelement {llvm_type(node.type)} poison, {args[0].typed}, i32 0")
    return w.shuffle(first, None, (0,) * node.type.lanes)


def _shuffle(w: Writer, node: Value, args: list[Operand]) -> Operand:
    return w.shuffle(args[0], args[1] if len(args) > 1 else None, node.numbers)


def _lane(w: Writer, index: Operand, lanes: int) -> Operand:
    if index.number is not None:
        return literal(Type(32), index.number % lanes)
    return w.assign(index.type, f"and {index.typed}, {lanes - 1}")


def _extract(w: Writer, node: Value, args: list[Operand]) -> Operand:
    index = _lane(w, args[1], args[0].type.lanes)
    return w.assign(node.type, f"extractelement {args[0].typed}, {index.typed}")


def _insert(w: Writer, node: Value, args: list[Operand]) -> Operand:
    index = _lane(w, args[1], args[0].type.lanes)
    return w.assign(node.type, f"insertelement {args[0].typed}, {args[2].typed}, {index.typed}")


def _float(name: str) -> Callable[[Writer, Value, list[Operand]], Operand]:
    def emit(w: Writer, node: Value, args: list[Operand]) -> Operand:
        float_type = f"<{node.type.lanes} x float>" if node.type.is_vector else "float"
        a, b = (w.assign(node.type, f"bitcast {x.typed} to {float_type}") for x in args)
        result = w.assign(node.type, f"{name} {float_type} {a.text}, {b.text}")
        return w.assign(node.type, f"bitcast {float_type} {result.text} to {llvm_type(node.type)}")

    return emit


_OPERATIONS: dict[str, Callable[[Writer, Value, list[Operand]], Operand]] = {
    **{name: _binary(name) for name in ("add", "sub", "mul", "and", "or", "xor")},
    **{name: _shift(name) for name in ("shl", "lshr", "ashr")},
    **{name: _compare(name) for name in ("eq", "ne", "ult", "ule", "slt", "sle")},
    **{name: _convert(name) for name in ("zext", "sext", "trunc", "bitcast")},
    "select": _select,
    "clz": _clz,
    "splat": _splat,
    "shuffle": _shuffle,
    "extract": _extract,
    "insert": _insert,
    "f32_add": _float("fadd"),
    "f32_mul": _float("fmul"),
}


def constant_operand(node: Value) -> Operand:
    number = None if node.type.is_vector else node.numbers[0]
    return Operand(node.type, llvm_constant(node.type, node.numbers), number)
