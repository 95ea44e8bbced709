"""CDOs explained: commands by name, and the array as it stands after them."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.description import Configuration, LockValue, Step
from aiepipe.errors import ArtifactError
from aiepipe.explain.configuration import MOST_COMMANDS, explain_cdo
from aiepipe.explain.registers import tile_of
from aiepipe.formats import cdo
from aiepipe.formats.cdo import Cdo, DmaWrite, End, MaskPoll, MaskWrite, Nop, Write
from aiepipe.formats.reader import pack_words
from aiepipe.npu.descriptors import BufferDescriptor, encode
from aiepipe.npu.topology import TileKind

from .arrays import CORE


def explained(*commands: cdo.Command) -> Configuration:
    found = Cdo(commands)
    return explain_cdo(found, size_bytes=len(found.encode()))


def registers(step: Step) -> list[str | None]:
    return [access.register for access in step.registers]


def test_offsets_are_those_in_the_file() -> None:
    found = explained(Nop(bytes(8)), Write(0x21F000, 1), Write(0x21F010, 2, wide=True), End())
    # a header of 20 bytes; NOP 12, WRITE 12, WRITE64 16
    assert [(step.index, step.offset, step.operation) for step in found.commands] == [
        (0, 20, "NOP"),
        (1, 32, "WRITE"),
        (2, 44, "WRITE"),
        (3, 60, "END"),
    ]


def test_equal_nops_in_a_row_are_one_step() -> None:
    found = explained(Nop(), Nop(), Nop(bytes(4)), Write(0x21F000, 1), Nop())
    assert [(step.operation, step.count, step.index) for step in found.commands] == [
        ("NOP", 2, 0),
        ("NOP", 1, 2),
        ("WRITE", 1, 3),
        ("NOP", 1, 4),
    ]


def test_the_end_state_is_what_the_last_writes_leave() -> None:
    bd = encode(TileKind.COMPUTE, BufferDescriptor(address=0x400, length_words=16, next_bd=0))
    found = explained(
        DmaWrite(0x220000, bytes(64)),
        Write(0x21F000, 1),
        Write(0x21F000, 2),
        DmaWrite(0x21D000, pack_words(bd)),
        Write(0x21DE04, 0),
        MaskWrite(0x232000, 1, 1),
    )
    assert found.locks == (LockValue(tile_of(CORE), 0, 2),)
    assert found.cores == (tile_of(CORE),)
    ((loaded,), (task,), (descriptor,)) = found.memory, found.tasks, found.bds
    assert (loaded.memory, loaded.size_bytes) == ("program memory", 64)
    assert (task.channel, task.bd) == ("S2MM 0", 0)
    assert (descriptor.length_words, descriptor.users) == (16, ("S2MM 0",))
    assert found.columns == 1


def test_a_core_in_reset_does_not_run() -> None:
    assert explained(Write(0x232000, 3)).cores == ()
    assert explained(Write(0x232000, 3), MaskWrite(0x232000, 2, 0)).cores == (tile_of(CORE),)


def test_a_block_of_registers_is_told_register_by_register() -> None:
    found = explained(DmaWrite(0x21F000, pack_words([1, 0, 0, 0, 2])))
    (step,) = found.commands
    # between two locks there are twelve bytes without a register
    assert registers(step) == ["LOCK_VALUE[0]", "LOCK_VALUE[1]"]
    assert [lock.value for lock in found.locks] == [1, 2]


def test_a_block_for_no_tile_or_no_register_is_told_as_one() -> None:
    (step,) = explained(DmaWrite(31 << 20, bytes(64))).commands
    assert [(write.tile, write.memory) for write in step.memory] == [(None, "nothing known")]
    (step,) = explained(DmaWrite(0x21E000, bytes(64))).commands
    assert [write.memory for write in step.memory] == ["nothing known"]
    (step,) = explained(DmaWrite(0x21F000, bytes(4 * 1024))).commands
    assert [write.memory for write in step.memory] == ["registers"]


def test_polls_keep_mask_value_and_time() -> None:
    (step,) = explained(MaskPoll(0x232004, 0x100000, 0x100000, 50)).commands
    assert registers(step) == ["CORE_STATUS"]
    assert [(fact.name, fact.value) for fact in step.facts] == [("timeout_ms", 50)]


def test_more_commands_than_anybody_reads_are_refused() -> None:
    many = Cdo((Nop(),) * (MOST_COMMANDS + 1))
    with pytest.raises(ArtifactError, match="commands; the most that is explained"):
        explain_cdo(many, size_bytes=0)


def test_the_seeds_files_by_value(corpus: Path) -> None:
    """Counts and places from the files' own words: four cores of 4384 bytes (facts/formats.md 2.4)."""
    folder = corpus / "iree-seed-matmul-i32"
    data = (folder / "aie_cdo_elfs.bin").read_bytes()
    loaded = explain_cdo(cdo.parse(data), size_bytes=len(data)).memory
    assert [(str(write.tile), write.memory, write.size_bytes) for write in loaded] == [
        (f"core (0,{row})", "program memory", 4384) for row in range(2, 6)
    ]
    data = (folder / "aie_cdo_enable.bin").read_bytes()
    found = explain_cdo(cdo.parse(data), size_bytes=len(data))
    assert [core.name for core in found.cores] == [f"core (0,{row})" for row in range(2, 6)]
