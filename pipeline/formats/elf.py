"""Core ELF: the program of one AIE2 core, read from any compiler and written from ours.

Text is at address 0 (program memory, 16 KiB), data at 0x70000 on (the core's view of its own memory;
0x40000 to 0x6FFFF are its neighbours'). Read here and not with pyelftools, because a hostile file may end
in nothing but an ArtifactError. Sources: the ELF specification, AMD's llvm-aie for machine and flags,
files of Peano and Chess. facts/formats.md section 2.4, facts/aie2-isa.md section 6.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..npu.limits import PROGRAM_MEMORY_BYTES
from ..npu.topology import CORE_QUADRANT_BYTES, CORE_QUADRANTS
from .reader import Reader

ARTIFACT = "core ELF"

MACHINE_AIE = 264
FLAGS_AIE2, FLAGS_AIE2P = 2, 3
ARCHITECTURES = {1: "AIE1", FLAGS_AIE2: "AIE2", FLAGS_AIE2P: "AIE2P (Strix, Krackan)"}

DATA_VIEW = range(min(CORE_QUADRANTS), max(CORE_QUADRANTS) + CORE_QUADRANT_BYTES)
"""Addresses of the four data memories that a core sees."""

_IDENT = b"\x7fELF\x01\x01\x01"  # 32 bits, little-endian, version 1
_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_PROGRAM_HEADER = struct.Struct("<8I")
_SECTION_HEADER = struct.Struct("<10I")
_SYMBOL = struct.Struct("<IIIBBH")

_TYPE_EXECUTABLE = 2
_LOAD, _STACK = 1, 0x6474E551
_PROGBITS, _SYMTAB, _STRTAB, _NOBITS = 1, 2, 3, 8
_EXECUTE, _WRITE, _READ = 1, 2, 4
_SECTION_WRITE, _SECTION_ALLOC, _SECTION_EXECUTE = 1, 2, 4
_GLOBAL = 1
_UNDEFINED, _ABSOLUTE = 0, 0xFFF1
_PAGE = 0x1000
_CODE_ALIGNMENT = 16

SYMBOL_KINDS = {"none": 0, "object": 1, "function": 2, "section": 3, "file": 4}
_KIND_NAMES = {number: name for name, number in SYMBOL_KINDS.items()}


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes to load at `address` (the core's view); `memory_bytes` may be more: the rest is zero."""

    address: int
    data: bytes
    memory_bytes: int
    executable: bool = False

    @property
    def is_program(self) -> bool:
        """Whether it belongs into program memory."""
        return self.address < PROGRAM_MEMORY_BYTES


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name for an address. `section` is the name of its section, "" where it has none."""

    name: str
    address: int
    size_bytes: int = 0
    kind: str = "none"
    section: str = ""
    is_global: bool = True


@dataclass(frozen=True, slots=True)
class CoreElf:
    """A program: what is loaded where, names, and where it starts. `comment` is the compiler's."""

    segments: tuple[Segment, ...]
    symbols: tuple[Symbol, ...] = ()
    entry: int = 0
    comment: str = ""

    @property
    def text(self) -> bytes:
        """Program memory from 0 to the last loaded byte, zeros in between."""
        return self.image(0, PROGRAM_MEMORY_BYTES)

    def image(self, start: int, size: int) -> bytes:
        """Memory from `start`, up to the last loaded byte below `start + size`."""
        out = bytearray()
        for segment in self.segments:
            at = segment.address - start
            if at >= 0 and at + len(segment.data) <= size and segment.data:
                out.extend(bytes(max(0, at + len(segment.data) - len(out))))
                out[at : at + len(segment.data)] = segment.data
        return bytes(out)

    def symbol_addresses(self) -> Mapping[str, int]:
        """Names of functions, objects and labels with their addresses; the last of equal names."""
        kinds = ("none", "object", "function")
        return {
            symbol.name: symbol.address for symbol in self.symbols if symbol.kind in kinds and symbol.name
        }

    def encode(self) -> bytes:
        """An executable with these segments, a section for each, and a symbol table.

        Raises ValueError where a segment lies in no memory of a core.
        """
        return _Writer(self).write()


def is_elf(data: bytes) -> bool:
    """Whether `data` begins like an ELF file."""
    return data.startswith(b"\x7fELF")


def parse(data: bytes) -> CoreElf:
    """Reads a core's ELF. Raises ArtifactError: not for AIE2, truncated, or parts outside the file."""
    reader = Reader(data, ARTIFACT)
    head = reader.take(0, _HEADER.size, "the ELF header")
    if not head.startswith(_IDENT):
        reader.fail("no core ELF here: not a 32-bit little-endian ELF file", 0)
    fields: tuple[int, ...] = _HEADER.unpack(head)[1:]
    kind, machine, _, entry, program_at, sections_at, flags, _, program_size, programs, *rest = fields
    section_size, sections, names_index = rest
    _check_target(reader, kind, machine, flags)
    if programs and program_size != _PROGRAM_HEADER.size:
        reader.fail(f"program headers of {program_size} bytes, not {_PROGRAM_HEADER.size}", 42)
    if sections and section_size != _SECTION_HEADER.size:
        reader.fail(f"section headers of {section_size} bytes, not {_SECTION_HEADER.size}", 46)
    segments = _segments(reader, program_at, programs)
    table = _section_table(reader, sections_at, sections, names_index)
    return CoreElf(segments, _symbols(reader, table), entry, _comment(reader, table))


def _check_target(reader: Reader, kind: int, machine: int, flags: int) -> None:
    if machine != MACHINE_AIE:
        reader.fail(f"an ELF for machine {machine}, not for an AIE core ({MACHINE_AIE})", 18)
    if flags != FLAGS_AIE2:
        name = ARCHITECTURES.get(flags, f"an unknown architecture ({flags})")
        reader.fail(
            f"a core program for {name}, not for AIE2 (npu1: Phoenix, Hawk Point)",
            36,
            remedy="compile it with --target=aie2-none-unknown-elf",
        )
    if kind != _TYPE_EXECUTABLE:
        reader.fail(f"an ELF of type {kind}, not an executable: link it first", 16)


def _segments(reader: Reader, at: int, count: int) -> tuple[Segment, ...]:
    found: list[Segment] = []
    table = reader.take(at, count * _PROGRAM_HEADER.size, f"{count} program headers")
    for index in range(count):
        kind, offset, address, _, size, memory, flags, _ = _entry(_PROGRAM_HEADER, table, index)
        where = at + index * _PROGRAM_HEADER.size
        if kind != _LOAD or not memory:
            continue
        limit = PROGRAM_MEMORY_BYTES if address < PROGRAM_MEMORY_BYTES else DATA_VIEW.stop
        inside = address < PROGRAM_MEMORY_BYTES or address in DATA_VIEW
        if not inside or size > memory or address + memory > limit:
            reader.fail(f"segment {index} is {memory} bytes at {address:#x}, in no memory of a core", where)
        data = reader.take(offset, size, f"segment {index}")
        found.append(Segment(address, data, memory, bool(flags & _EXECUTE)))
    for low, high in itertools.pairwise(sorted(found, key=lambda segment: segment.address)):
        if high.address < low.address + low.memory_bytes:
            reader.fail(f"the segments at {low.address:#x} and {high.address:#x} overlap", at)
    return tuple(found)


def _entry(layout: struct.Struct, table: bytes, index: int) -> tuple[int, ...]:
    return layout.unpack_from(table, index * layout.size)


# --------------------------------------------------------------------------- sections and symbols


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    offset: int
    size: int
    link: int


def _section_table(reader: Reader, at: int, count: int, names_index: int) -> tuple[_Section, ...]:
    table = reader.take(at, count * _SECTION_HEADER.size, f"{count} section headers")
    rows = [_entry(_SECTION_HEADER, table, index) for index in range(count)]
    if not rows:
        return ()
    if names_index >= count:
        reader.fail(f"section {names_index} holds the names, but there are {count}", 50)
    names = _Names(reader, rows[names_index][4], rows[names_index][5], "the section names")
    return tuple(
        _Section(names.at(row[0]), kind=row[1], offset=row[4], size=row[5], link=row[6]) for row in rows
    )


def _symbols(reader: Reader, table: Sequence[_Section]) -> tuple[Symbol, ...]:
    tables = [section for section in table if section.kind == _SYMTAB]
    if not tables:
        return ()
    section = tables[0]
    if section.link >= len(table):
        reader.fail(f"the symbols' names are in section {section.link} of {len(table)}", section.offset)
    strings = table[section.link]
    names = _Names(reader, strings.offset, strings.size, "the symbol names")
    data = reader.take(section.offset, section.size, "the symbol table")
    found: list[Symbol] = []
    for index in range(1, section.size // _SYMBOL.size):
        name, value, size, info, _, home = _entry(_SYMBOL, data, index)
        where = table[home].name if _UNDEFINED < home < len(table) else ""
        kind = _KIND_NAMES.get(info & 0xF, "none")
        found.append(Symbol(names.at(name), value, size, kind, where, info >> 4 == _GLOBAL))
    return tuple(found)


class _Names:
    """A string table of a file. Names may share tails, but all names together may not be much more than
    the file: many references to one long name would be."""

    def __init__(self, reader: Reader, offset: int, size: int, what: str) -> None:
        self._reader = reader.part(offset, size, what)
        self._left = 4 * len(reader)

    def at(self, offset: int) -> str:
        """The NUL-terminated string at `offset` of the table."""
        data = self._reader.data
        end = data.find(b"\0", offset)
        if end < 0:
            self._reader.fail(f"a name at {offset:#x} does not end in its table", min(offset, len(data)))
        self._left -= end - offset
        if self._left < 0:
            self._reader.fail("the names together are far longer than the file", offset)
        return data[offset:end].decode("utf-8", "replace")


def _comment(reader: Reader, table: Sequence[_Section]) -> str:
    for section in table:
        if section.name == ".comment" and section.kind == _PROGBITS:
            data = reader.take(section.offset, section.size, ".comment")
            return "\n".join(data.decode("utf-8", "replace").strip("\0").split("\0"))
    return ""


# --------------------------------------------------------------------------- writing


class _Writer:
    """Lays out: ELF header, program headers, segments, symbol table, strings, section headers."""

    def __init__(self, elf: CoreElf) -> None:
        self._elf = elf
        self._out = bytearray()
        self._headers: list[tuple[int, ...]] = [(0,) * 10]
        self._names = _Strings()
        self._section_of: dict[str, int] = {"": _ABSOLUTE}

    def write(self) -> bytes:
        elf = self._elf
        count = len(elf.segments) + 1
        self._out = bytearray(_HEADER.size + count * _PROGRAM_HEADER.size)
        programs = [self._segment(segment) for segment in elf.segments]
        programs.append((_STACK, 0, 0, 0, 0, 0, _READ | _WRITE, 0))
        if elf.comment:
            self._section(".comment", _PROGBITS, data=elf.comment.encode() + b"\0")
        self._symbol_table()
        names_index = len(self._headers)
        name = self._names.add(".shstrtab")
        self._section(".shstrtab", _STRTAB, data=self._names.data, name=name)
        self._pad(4)
        sections_at = len(self._out)
        for header in self._headers:
            self._out += _SECTION_HEADER.pack(*header)
        sizes = (_HEADER.size, _PROGRAM_HEADER.size, count, _SECTION_HEADER.size, len(self._headers))
        _HEADER.pack_into(self._out, 0, _IDENT, _TYPE_EXECUTABLE, MACHINE_AIE, 1, elf.entry, _HEADER.size,
                          sections_at, FLAGS_AIE2, *sizes, names_index)  # fmt: skip
        for index, program in enumerate(programs):
            _PROGRAM_HEADER.pack_into(self._out, _HEADER.size + index * _PROGRAM_HEADER.size, *program)
        return bytes(self._out)

    def _segment(self, segment: Segment) -> tuple[int, ...]:
        address, size, memory = segment.address, len(segment.data), segment.memory_bytes
        limit = PROGRAM_MEMORY_BYTES if segment.is_program else DATA_VIEW.stop
        if not (segment.is_program or address in DATA_VIEW) or address + memory > limit or size > memory:
            raise ValueError(f"{memory} bytes at {address:#x} lie in no memory of a core")
        # offset and address agree modulo the page, as loaders of ELF ask for
        self._out += bytes((address - len(self._out)) % _PAGE)
        offset = len(self._out)
        flags = _SECTION_ALLOC | (_SECTION_EXECUTE if segment.executable else _SECTION_WRITE)
        name = self._segment_name(segment)
        kind = _PROGBITS if size else _NOBITS
        self._section_of.setdefault(name, len(self._headers))
        self._headers.append(
            (
                self._names.add(name),
                kind,
                flags,
                address,
                offset,
                size or memory,
                0,
                0,
                _alignment(address),
                0,
            )
        )
        self._out += segment.data
        rights = _READ | (_EXECUTE if segment.executable else _WRITE)
        return _LOAD, offset, address, address, size, memory, rights, _PAGE

    def _segment_name(self, segment: Segment) -> str:
        stem = ".text" if segment.executable else ".data" if segment.data else ".bss"
        return stem if stem not in self._section_of else f"{stem}.{segment.address:x}"

    def _section(
        self, text: str, kind: int, *, data: bytes, name: int | None = None, link: int = 0, info: int = 0
    ) -> None:
        self._pad(4)
        entry = _SYMBOL.size if kind == _SYMTAB else 0
        named = self._names.add(text) if name is None else name
        self._headers.append((named, kind, 0, 0, len(self._out), len(data), link, info, 4, entry))
        self._out += data

    def _symbol_table(self) -> None:
        strings = _Strings()
        rows = [bytes(_SYMBOL.size)]
        ordered = sorted(self._elf.symbols, key=lambda symbol: symbol.is_global)  # locals come first
        for symbol in ordered:
            info = int(symbol.is_global) << 4 | SYMBOL_KINDS[symbol.kind]
            home = self._section_of.get(symbol.section) or self._home(symbol.address)
            rows.append(
                _SYMBOL.pack(strings.add(symbol.name), symbol.address, symbol.size_bytes, info, 0, home)
            )
        first_global = 1 + sum(not symbol.is_global for symbol in ordered)
        names_section = len(self._headers) + 1
        self._section(".symtab", _SYMTAB, data=b"".join(rows), link=names_section, info=first_global)
        self._section(".strtab", _STRTAB, data=strings.data)

    def _home(self, address: int) -> int:
        for index, segment in enumerate(self._elf.segments, start=1):
            if segment.address <= address < segment.address + segment.memory_bytes:
                return index
        return _ABSOLUTE

    def _pad(self, alignment: int) -> None:
        self._out += bytes(-len(self._out) % alignment)


def _alignment(address: int) -> int:
    return min(_CODE_ALIGNMENT, address & -address) if address else _CODE_ALIGNMENT


class _Strings:
    """A string table; the empty string is at 0."""

    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, text: str) -> int:
        if not text:
            return 0
        offset = len(self.data)
        self.data += text.encode() + b"\0"
        return offset
