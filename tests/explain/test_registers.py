"""Array addresses by name, and the state that writes leave."""

from __future__ import annotations

import pytest

from aiepipe.explain.registers import RegisterState, access, memory_write, module_of, place_of
from aiepipe.npu.topology import TileAddress, TileKind


def fields(address: int, value: int, mask: int | None = None) -> dict[str, int]:
    return {field.name: field.value for field in access(address, value, mask).fields}


def test_a_start_queue_of_a_shim_in_the_second_column() -> None:
    # 0x1D214: MM2S 0's start queue, bit 31 token, 23:16 repeat - 1, 3:0 BD (facts/formats.md 3.1)
    found = access(1 << 25 | 0x1D214, 0x80070003)
    assert found.tile is not None
    assert (found.tile.name, found.tile.column, found.tile.row) == ("shim (1,0)", 1, 0)
    assert (found.module, found.register) == ("NoC module", "DMA_MM2S_START_QUEUE[0]")
    assert fields(1 << 25 | 0x1D214, 0x80070003) == {
        "ENABLE_TOKEN_ISSUE": 1,
        "REPEAT_COUNT": 7,
        "START_BD_ID": 3,
    }


def test_a_mask_leaves_only_the_fields_that_it_touches() -> None:
    # 0x32000: CORE_CONTROL, bit 0 enable, bit 1 reset
    assert fields(0x232000, 2, 2) == {"RESET": 1}
    assert fields(0x232000, 3) == {"RESET": 1, "ENABLE": 1}


@pytest.mark.parametrize(
    ("kind", "offset", "module"),
    [
        (TileKind.COMPUTE, 0x1D000, "memory module"),
        (TileKind.COMPUTE, 0x32000, "core module"),
        (TileKind.COMPUTE, 0x3F000, "core module"),
        (TileKind.MEMORY, 0xA0000, "memory tile module"),
        (TileKind.SHIM, 0x1D000, "NoC module"),
        (TileKind.SHIM, 0x34000, "PL module"),
    ],
)
def test_modules(kind: TileKind, offset: int, module: str) -> None:
    assert module_of(kind, offset) == module


def test_memories_are_told_with_the_place_in_them() -> None:
    assert access(0x200400, 1).register == "data memory + 0x400"
    assert access(0x220010, 1).register == "program memory + 0x10"
    assert access(0x100000, 1).register == "data memory + 0x0"


def test_unknown_places_are_no_error() -> None:
    assert access(0x21E000, 1).register is None  # a hole between DMA and locks
    nowhere = access(31 << 20, 1)
    assert (nowhere.tile, nowhere.register, nowhere.fields) == (None, None, ())
    assert place_of(1 << 60).kind is None


def test_switch_registers_say_their_port() -> None:
    assert access(0x03F008, 0x8000000E).meaning == "master South0 takes slave North0"
    assert access(0x03F114, 0x80000000).meaning == "slave South3 on"
    slot = access(0x03F200, 0x0F1F0135)
    assert slot.meaning == "rule 0 of slave TileCtrl0: packets of id 15 to arbiter 5 msel 3"
    assert access(0x03F008, 0xC0000045).meaning == "master South0 takes arbiter 5 msel 3"


def test_a_few_words_of_memory_are_shown_and_many_are_hashed() -> None:
    few = memory_write(0x200400, b"\1\0\0\0\2\0\0\0")
    assert (few.memory, few.address, few.words) == ("data memory", 0x400, (1, 2))
    many = memory_write(0x220000, bytes(4096))
    assert (many.memory, many.words) == ("program memory", ())
    # sha256sum of 4096 zeros
    assert many.sha256.startswith("ad7facb2586fc6e966c004d7d1d16b02")


def test_the_state_keeps_registers_and_masks() -> None:
    state = RegisterState()
    state.write(0x232000, 3)
    state.write(0x232000, 0, 2)
    state.write(0x200000, 5)  # data memory is no register
    assert state.values == {0x232000: 1}
    assert state.tiles() == (TileAddress(0, 2),)
    assert state.read(TileAddress(0, 2), 0x32000) == 1
    assert state.read(TileAddress(0, 3), 0x32000) == 0
