"""Core programs as CDO commands, against the files that iree-amd-aie and mlir-aie wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aiepipe.formats import cdo, elf
from aiepipe.formats.cdo import Cdo, DmaWrite, Nop
from aiepipe.formats.core_load import load_commands
from aiepipe.formats.elf import CoreElf, Segment
from aiepipe.formats.reader import unpack_words
from aiepipe.npu.topology import TileAddress


@pytest.mark.parametrize("design", ["matmul_i32_16x16x8", "matmul_i32_8x32x16"])
def test_the_elf_of_a_design_gives_its_commands(corpus: Path, design: str) -> None:
    program = elf.parse((corpus / "golden" / "elf" / f"{design}_core_0_2.elf").read_bytes())
    file = Cdo(load_commands(program, TileAddress(0, 2))).for_file()
    golden = json.loads((corpus / "golden" / "cdo-words.json").read_text(encoding="utf-8"))
    found = [
        ["NOP", len(command.payload) // 4]
        if isinstance(command, Nop)
        else ["DMA_WRITE", command.address, unpack_words(command.data)]
        for command in file.commands
        if isinstance(command, Nop | DmaWrite)
    ]
    wanted = [
        entry
        if entry[0] == "NOP"
        else ["DMA_WRITE", int(entry[1], 16), tuple(int(word, 16) for word in entry[3])]
        for entry in golden["designs"][design]["elfs"]
    ]
    assert found == wanted


def test_the_seeds_four_cores(corpus: Path) -> None:
    folder = corpus / "iree-seed-matmul-i32"
    wanted = cdo.parse((folder / "aie_cdo_elfs.bin").read_bytes())
    commands: list[DmaWrite] = []
    for row in (2, 3, 4, 5):
        program = elf.parse((folder / f"core_0_{row}.elf").read_bytes())
        commands.extend(load_commands(program, TileAddress(0, row)))
    assert Cdo(tuple(commands)).for_file(first_nop=False) == wanted


def test_data_goes_to_the_memory_that_the_core_sees_there() -> None:
    program = CoreElf(
        (
            Segment(0x70404, b"own", 3),
            Segment(0x60010, b"up!!", 4),
            Segment(0x50010, b"west", 4),
            Segment(0x78000, b"", 99),
        )
    )
    assert load_commands(program, TileAddress(1, 3)) == (
        DmaWrite(TileAddress(1, 3).address(0x404), b"own\0"),
        DmaWrite(TileAddress(1, 4).address(0x10), b"up!!"),
        DmaWrite(TileAddress(0, 3).address(0x10), b"west"),
    )


@pytest.mark.parametrize(
    ("address", "tile"),
    [(0x40000, TileAddress(0, 2)), (0x50000, TileAddress(0, 2)), (0x60000, TileAddress(0, 5))],
)
def test_no_compute_tile_on_that_side_is_an_error(address: int, tile: TileAddress) -> None:
    with pytest.raises(ValueError, match="no compute tile"):
        load_commands(CoreElf((Segment(address, b"data", 4),)), tile)
