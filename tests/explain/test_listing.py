"""Programs of artifacts as lines: symbols, labels, delay slots, loops, data."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.description import Line, Program
from aiepipe.errors import ArtifactError
from aiepipe.explain.listing import list_elf, list_programs, program_images
from aiepipe.formats import elf, pdi
from aiepipe.formats.cdo import Cdo, DmaWrite, Write
from aiepipe.formats.elf import CoreElf, Segment, Symbol
from aiepipe.isa.assembler import BundleStatement, Label, LoopEnd, Statement, assemble
from aiepipe.npu.topology import TileAddress

SEED = "iree-seed-matmul-i32"
NOPS = [BundleStatement(())] * 5


def program(code: bytes, *symbols: Symbol, entry: int = 0) -> Program:
    segments = (Segment(0, code, len(code), executable=True), Segment(0x70400, b"", 64))
    (found,) = list_elf(CoreElf(segments, symbols, entry).encode())
    return found


def line(found: Program, address: int) -> Line:
    return next(entry for entry in found.lines if entry.address == address)


def texts(found: Line) -> list[str]:
    return [slot.text for slot in found.slots if not slot.text.startswith("nop")]


def test_branches_name_symbols_and_targets_without_one_get_a_label() -> None:
    image = assemble(
        [
            BundleStatement(["jl #function"]),
            *NOPS,
            Label("again"),
            BundleStatement(["j #again"]),
            *NOPS,
            Label("function"),
            BundleStatement(["ret lr"]),
            *NOPS,
        ]
    )
    again, function = image.labels["again"], image.labels["function"]
    found = program(image.code, Symbol("multiply", function, 16, "function", ".text"))
    assert texts(line(found, 0)) == ["jl #multiply"]
    assert line(found, function).labels == ("multiply",)
    assert texts(line(found, again)) == [f"j #L_{again:04x}"]
    assert line(found, again).labels == (f"L_{again:04x}",)
    assert [entry.delay_slot for entry in found.lines[:7]] == [None, 1, 2, 3, 4, 5, None]


def test_loops_and_data_addresses_are_marked() -> None:
    image = assemble(
        [
            Statement("movxm ls, #body"),
            Statement("movxm le, #last"),
            Statement("movxm p0, #459784"),  # 0x70408
            Statement("movxm lc, #10"),
            Label("body"),
            *[Statement("add r1, r1, #1")] * 9,
            LoopEnd("last", "body"),
            Statement("done"),
        ]
    )
    found = program(image.code, Symbol("buffer", 0x70400, 16, "object", ".bss"))
    assert line(found, image.labels["body"]).loop == "start"
    assert line(found, image.labels["last"]).loop == "end"
    assert "buffer + 0x8" in [entry.comment for entry in found.lines]
    assert f"movxm ls, #L_{image.labels['body']:04x}" in [t for entry in found.lines for t in texts(entry)]


def test_a_symbol_inside_a_bundle_does_not_tear_it_apart() -> None:
    # Peano's linker may mark the last byte of a function
    code = assemble([BundleStatement(["jl #0"], size=16), *NOPS]).code
    found = program(code, Symbol("end_of_it", 7, 0, "none", ".text"))
    assert all(entry.slots for entry in found.lines)


def test_bytes_that_are_no_instruction_are_data_with_their_address() -> None:
    code = assemble([BundleStatement(["done"], size=16)]).code
    broken = b"\x05\x00\x00\x00\xff\xff" + bytes(10)
    found = program(code + broken + code, Symbol("after", 32, 0, "function", ".text"))
    data = [entry for entry in found.lines if not entry.slots]
    assert [entry.address for entry in data][:1] == [16]
    assert all(entry.comment in ("no instruction", "zeros") for entry in data)
    assert not any(entry.reachable for entry in data)
    assert b"".join(entry.raw for entry in found.lines) == code + broken + code


def test_names_that_assembly_cannot_spell_or_that_come_twice_are_left_out() -> None:
    code = assemble([BundleStatement(["j #0"]), *NOPS]).code
    found = program(
        code,
        Symbol("operator()", 0, 0, "function", ".text"),
        Symbol("twice", 6, 0, "function", ".text"),
        Symbol("twice", 8, 0, "function", ".text"),
        Symbol("absolute", 10, 0, "none", ""),
    )
    labels = [label for entry in found.lines for label in entry.labels]
    assert labels == ["L_0000", "twice"]


def test_the_images_of_a_configuration_are_put_together_from_its_writes() -> None:
    found = program_images(
        Cdo(
            (
                DmaWrite(0x220010, b"\1" * 8),
                Write(0x220000, 0x04030201),
                DmaWrite(0x320000, b"\2" * 4),
                DmaWrite(0x200000, b"\3" * 4),  # data memory
                DmaWrite(0x223FFC, b"\4" * 16),  # past the end of program memory
            )
        )
    )
    core = found[TileAddress(0, 2)]
    assert core[:4] == b"\1\2\3\4"
    assert core[0x10:0x18] == b"\1" * 8
    assert len(core) == 0x4000
    assert found[TileAddress(0, 3)] == b"\2" * 4


def test_the_programs_of_the_seed_are_the_elfs(corpus: Path) -> None:
    folder = corpus / SEED
    programs = list_programs((folder / "final.xclbin").read_bytes(), "xclbin")
    assert [str(found.core) for found in programs] == [f"core (0,{row})" for row in range(2, 6)]
    for found, row in zip(programs, range(2, 6), strict=True):
        code = b"".join(entry.raw for entry in found.lines)
        assert code == elf.parse((folder / f"core_0_{row}.elf").read_bytes()).text
    inside = list_programs((folder / "module.vmfb").read_bytes(), "vmfb")
    assert [found.lines for found in inside] == [found.lines for found in programs]
    alone = list_programs((folder / "design.pdi").read_bytes(), "pdi")
    assert [found.lines for found in alone] == [found.lines for found in programs]
    cdo = list_programs((folder / "aie_cdo_elfs.bin").read_bytes(), "cdo")
    assert len(cdo) == 4


def test_real_programs_have_no_raw_bytes_but_zeros_between_functions(corpus: Path) -> None:
    for file in sorted(corpus.rglob("*.elf")):
        (found,) = list_elf(file.read_bytes())
        data = [entry for entry in found.lines if not entry.slots]
        assert {entry.comment for entry in data} <= {"zeros"}, file


def test_a_kind_without_programs_is_an_error() -> None:
    with pytest.raises(ArtifactError, match="no core programs"):
        list_programs(b"", "txn")


def test_an_empty_configuration_has_no_programs() -> None:
    assert list_programs(pdi.from_files([Cdo(())]).encode(), "pdi") == ()
