"""The flow behind `aiepipe disasm`: which core, and files without any."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.errors import ArtifactError, UsageError
from aiepipe.flows.disasm import DisasmOptions, disasm
from aiepipe.formats.cdo import Cdo, DmaWrite
from aiepipe.formats.elf import CoreElf, Segment
from aiepipe.formats.txn import Noop, Transaction
from aiepipe.isa.assembler import Statement, assemble

CODE = assemble([Statement("done")]).code + b"\0\0"


@pytest.fixture
def cdo_file(tmp_path: Path) -> str:
    found = tmp_path / "two.bin"
    found.write_bytes(Cdo((DmaWrite(0x220000, CODE), DmaWrite(0x2320000, CODE))).encode())
    return str(found)


def cores(file: str, core: str | None) -> list[str]:
    return [str(program.core) for program in disasm(DisasmOptions(file, core)).programs]


def test_all_cores_or_one(cdo_file: str) -> None:
    assert cores(cdo_file, None) == ["core (0,2)", "core (1,3)"]
    assert cores(cdo_file, "1,3") == ["core (1,3)"]
    assert cores(cdo_file, "(1, 3)") == ["core (1,3)"]


@pytest.mark.parametrize("text", ["0", "0,2,3", "a,b", "-1,2", ""])
def test_what_is_no_place_of_a_core(cdo_file: str, text: str) -> None:
    with pytest.raises(UsageError, match="no place of a core"):
        disasm(DisasmOptions(cdo_file, text))


def test_a_core_that_has_no_program_is_told_with_those_that_have(cdo_file: str) -> None:
    with pytest.raises(UsageError) as caught:
        disasm(DisasmOptions(cdo_file, "0,5"))
    assert caught.value.remedy == "it has: core (0,2), core (1,3)"


def test_an_elf_does_not_say_for_which_core_it_is(tmp_path: Path) -> None:
    file = tmp_path / "core.elf"
    file.write_bytes(CoreElf((Segment(0, CODE, len(CODE), executable=True),)).encode())
    assert cores(str(file), None) == ["None"]
    with pytest.raises(UsageError, match="does not say of which"):
        disasm(DisasmOptions(str(file), "0,2"))


def test_a_stream_holds_no_program(tmp_path: Path) -> None:
    file = tmp_path / "insts.bin"
    file.write_bytes(Transaction((Noop(),)).encode())
    with pytest.raises(ArtifactError, match="no core programs") as caught:
        disasm(DisasmOptions(str(file)))
    assert caught.value.path == str(file)
