"""Core ELFs: of Peano, ours read by pyelftools as an independent reader, and hostile ones."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any, cast

import pytest
from elftools.elf import elffile
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats import elf, xclbin
from aiepipe.formats.cdo import DmaWrite
from aiepipe.formats.elf import CoreElf, Segment, Symbol
from aiepipe.formats.pdi import parse as parse_pdi

CODE, TABLE = bytes(range(48)), b"\1\2\3\4" * 5
OURS = CoreElf(
    (
        Segment(0, CODE, len(CODE), executable=True),
        Segment(0x70400, TABLE, len(TABLE)),
        Segment(0x70800, b"", 256),
    ),
    (
        Symbol("_start", 0, 16, "function", ".text"),
        Symbol("loop", 16, 0, "none", ".text", is_global=False),
        Symbol("lut", 0x70400, 20, "object", ".data"),
        Symbol("_sp_start_value_DM_stack", 0x70000),
    ),
    comment="aiepipe",
)

ELFS = (
    *(f"iree-seed-matmul-i32/core_0_{row}.elf" for row in (2, 3, 4, 5)),
    "reduce-add-i32/core_0_2.elf",
    "golden/elf/matmul_bf16_64x64x64_core_0_2.elf",
    "golden/elf/matmul_i32_16x16x8_core_0_2.elf",
    "golden/elf/matmul_i32_8x32x16_core_0_2.elf",
    "golden/elf/matmul_i8_64x64x64_core_0_2.elf",
    "golden/elf/matmul_transpose_b_i8_16x32x64_core_0_2.elf",
)


class _Elftools:
    """pyelftools has no types; this is all of it that we use."""

    def __init__(self, data: bytes) -> None:
        self._file = cast("Any", elffile).ELFFile(io.BytesIO(data))

    def header(self, name: str) -> Any:
        return self._file.header[name]

    def segments(self) -> list[tuple[int, bytes, int]]:
        """Address, bytes, size in memory of each loaded segment."""
        loads = [s for s in self._file.iter_segments() if s["p_type"] == "PT_LOAD"]
        return [(s["p_vaddr"], s.data(), s["p_memsz"]) for s in loads]

    def symbols(self) -> list[tuple[str, int, int]]:
        table = self._file.get_section_by_name(".symtab")
        return [(s.name, s["st_value"], s["st_size"]) for s in table.iter_symbols()][1:]

    def section(self, name: str) -> bytes:
        return self._file.get_section_by_name(name).data()


@pytest.mark.parametrize("name", ELFS)
def test_real_programs_are_read_as_pyelftools_reads_them(corpus: Path, name: str) -> None:
    data = (corpus / name).read_bytes()
    ours, theirs = elf.parse(data), _Elftools(data)
    assert [(s.address, s.data, s.memory_bytes) for s in ours.segments] == theirs.segments()
    assert [(s.name, s.address, s.size_bytes) for s in ours.symbols] == theirs.symbols()
    assert ours.entry == theirs.header("e_entry")
    assert "llvm-aie" in ours.comment
    assert ours.symbol_addresses()["_sp_start_value_DM_stack"] == 0x70000


def test_the_program_in_the_pdi_is_the_elfs_text(corpus: Path) -> None:
    container = xclbin.parse((corpus / "iree-seed-matmul-i32" / "final.xclbin").read_bytes())
    image = parse_pdi(container.pdi_for(container.kernel()))
    for row in (2, 3, 4, 5):
        text = elf.parse((corpus / "iree-seed-matmul-i32" / f"core_0_{row}.elf").read_bytes()).text
        address = row << 20 | 0x20000
        (loaded,) = (c.data for c in image.cdo.commands if isinstance(c, DmaWrite) and c.address == address)
        assert loaded == text


def test_what_we_write_is_read_back() -> None:
    parsed = elf.parse(OURS.encode())
    assert parsed.segments == OURS.segments
    assert sorted(parsed.symbols, key=str) == sorted(
        (
            *OURS.symbols[:3],
            Symbol("_sp_start_value_DM_stack", 0x70000),
        ),
        key=str,
    )
    assert (parsed.comment, parsed.text) == ("aiepipe", CODE)
    assert parsed.encode() == OURS.encode()


def test_pyelftools_reads_what_we_write() -> None:
    theirs = _Elftools(OURS.encode())
    assert (theirs.header("e_machine"), theirs.header("e_flags")) in ((264, 2), ("EM_AIE", 2))
    assert theirs.header("e_type") == "ET_EXEC"
    assert theirs.segments() == [(s.address, s.data, s.memory_bytes) for s in OURS.segments]
    assert theirs.symbols()[0] == ("loop", 16, 0)  # local symbols come first
    assert sorted(theirs.symbols()) == sorted((s.name, s.address, s.size_bytes) for s in OURS.symbols)
    assert theirs.section(".text") == CODE
    assert theirs.section(".data") == TABLE


def test_text_is_filled_with_zeros_between_segments() -> None:
    program = CoreElf((Segment(0x20, b"\2" * 16, 16, True), Segment(0, b"\1" * 16, 16, True)))
    assert elf.parse(program.encode()).text == b"\1" * 16 + bytes(16) + b"\2" * 16


@pytest.mark.parametrize(("address", "size"), [(0x3FF8, 16), (0x4000, 4), (0x80000, 4), (0x7FFFC, 8)])
def test_segments_outside_a_cores_memories_are_errors(address: int, size: int) -> None:
    with pytest.raises(ValueError, match="no memory of a core"):
        CoreElf((Segment(address, bytes(size), size),)).encode()


def _patched(at: int, code: str, value: int) -> bytes:
    data = bytearray(OURS.encode())
    struct.pack_into(f"<{code}", data, at, value)
    return bytes(data)


PROGRAMS = 52


@pytest.mark.parametrize(
    ("data", "offset", "message"),
    [
        (b"", 0, "past"),
        (b"\x7fELF\2\1\1" + bytes(60), 0, "32-bit little-endian"),
        (_patched(36, "I", 3), 36, "AIE2P"),
        (_patched(36, "I", 77), 36, "unknown architecture"),
        (_patched(18, "H", 62), 18, "machine 62"),
        (_patched(16, "H", 1), 16, "link it first"),
        (_patched(28, "I", 0xFFFFFFF0), None, "program headers"),
        (_patched(44, "H", 0xFFFF), None, "65535 program headers"),
        (_patched(42, "H", 8), 42, "program headers of 8 bytes"),
        (_patched(32, "I", 0xFFFFFFF0), None, "section headers"),
        (_patched(50, "H", 99), 50, "section 99"),
        (_patched(PROGRAMS + 4, "I", 0x7FFFFFFF), None, "segment 0"),
        (_patched(PROGRAMS + 8, "I", 0x5000), PROGRAMS, "no memory of a core"),
        (_patched(PROGRAMS + 20, "I", 1), PROGRAMS, "no memory of a core"),
        (_patched(PROGRAMS + 32 + 8, "I", 0x10), PROGRAMS, "overlap"),
    ],
)
def test_bad_files_name_their_offset(data: bytes, offset: int | None, message: str) -> None:
    with pytest.raises(ArtifactError, match=message) as caught:
        elf.parse(data)
    if offset is not None:
        assert caught.value.offset == offset


def test_many_symbols_of_one_long_name_do_not_grow() -> None:
    names = tuple(Symbol("n" * 2000, 0) for _ in range(3))
    data = bytearray(CoreElf(OURS.segments, names).encode())
    at = data.find(b"n" * 2000) - 1
    table = at - 16 * 4
    # one table of 3000 symbols over the name that stands once: rewrite the header to claim the whole file
    sections = struct.unpack_from("<I", data, 32)[0]
    for index in range(struct.unpack_from("<H", data, 48)[0]):
        header = sections + 40 * index
        if struct.unpack_from("<I", data, header + 4)[0] == 2:
            row = bytes(data[table + 16 : table + 32]) * 3000
            struct.pack_into("<II", data, header + 16, len(data), len(row))
            data += row
    with pytest.raises(ArtifactError, match="longer than the file"):
        elf.parse(bytes(data))


NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=8)
BYTES = st.binary(min_size=1, max_size=64)


def _segments(text: bytes, data: bytes, bss: int) -> tuple[Segment, ...]:
    return (
        Segment(0, text, len(text), executable=True),
        Segment(0x70000, data, len(data)),
        Segment(0x78000, b"", bss),
    )


SEGMENTS = st.builds(_segments, BYTES, BYTES, st.integers(1, 64))


@given(
    segments=SEGMENTS,
    names=st.lists(NAMES, max_size=4),
    entry=st.integers(0, 0x3FFF),
    comment=st.sampled_from(["", "a compiler"]),
)
def test_round_trip(segments: tuple[Segment, ...], names: list[str], entry: int, comment: str) -> None:
    symbols = tuple(Symbol(name, 0, 0, "function", ".text") for name in names)
    made = CoreElf(segments, symbols, entry, comment)
    assert elf.parse(made.encode()) == made


@given(
    edits=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=4), tail=st.booleans()
)
def test_mutated_files_parse_or_are_artifact_errors(edits: list[tuple[int, int]], tail: bool) -> None:
    data = bytearray(OURS.encode())
    start = 0x1800 if tail else 0  # symbols, strings and section headers, or the headers
    for at, value in edits:
        data[start + at % (min(len(data) - start, 256))] = value
    try:
        elf.parse(bytes(data))
    except ArtifactError:
        return
