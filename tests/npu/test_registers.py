"""The register table: offsets and bits that real designs and AMD's header give."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from aiepipe.npu.registers import locate, register, table
from aiepipe.npu.topology import MASTERS, SLAVES, SLOTS_PER_SLAVE, TileKind

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("kind", "name", "index", "offset"),
    [
        # from the configuration words of real designs (corpus/golden/cdo-words.json)
        (TileKind.COMPUTE, "CORE_CONTROL", 0, 0x32000),
        (TileKind.COMPUTE, "LOCK_VALUE", 5, 0x1F050),
        (TileKind.COMPUTE, "DMA_S2MM_START_QUEUE", 1, 0x1DE0C),
        (TileKind.COMPUTE, "DMA_MM2S_CTRL", 0, 0x1DE10),
        (TileKind.COMPUTE, "STREAM_SWITCH_MASTER", 19, 0x3F04C),
        (TileKind.MEMORY, "DMA_S2MM_START_QUEUE", 0, 0xA0604),
        (TileKind.MEMORY, "DMA_MM2S_START_QUEUE", 0, 0xA0634),
        (TileKind.MEMORY, "LOCK_VALUE", 1, 0xC0010),
        (TileKind.MEMORY, "STREAM_SWITCH_SLAVE", 13, 0xB0134),
        (TileKind.SHIM, "DMA_S2MM_START_QUEUE", 0, 0x1D204),
        (TileKind.SHIM, "DMA_MM2S_START_QUEUE", 1, 0x1D21C),
        (TileKind.SHIM, "MUX_CONFIG", 0, 0x1F000),
        # from aie-rt's header (facts/aie2-isa.md section 7)
        (TileKind.COMPUTE, "STREAM_SWITCH_SLOT", 4 * 3 + 1, 0x3F234),
        (TileKind.MEMORY, "DMA_BD_WORD_7", 47, 0xA05FC),
        (TileKind.SHIM, "LOCK_VALUE", 15, 0x140F0),
    ],
)
def test_offsets(kind: TileKind, name: str, index: int, offset: int) -> None:
    assert register(kind, name).at(index) == offset
    found = locate(kind, offset)
    assert found is not None
    assert (found.register.name, found.index) == (name, index)


def test_words_of_real_designs() -> None:
    queue = register(TileKind.COMPUTE, "DMA_S2MM_START_QUEUE")
    assert queue.encode(ENABLE_TOKEN_ISSUE=1, START_BD_ID=2) == 0x80000002
    assert queue.decode(0x00010001) == {"ENABLE_TOKEN_ISSUE": 0, "REPEAT_COUNT": 1, "START_BD_ID": 1}
    mux = register(TileKind.SHIM, "MUX_CONFIG")
    assert (mux.field("SOUTH3").mask, mux.encode(SOUTH3=1)) == (0x0C00, 0x0400)
    assert (mux.field("SOUTH7").mask, mux.encode(SOUTH7=1)) == (0xC000, 0x4000)
    demux = register(TileKind.SHIM, "DEMUX_CONFIG")
    assert (demux.field("SOUTH2").mask, demux.encode(SOUTH2=1)) == (0x30, 0x10)
    # the token route of a shim of the TXN era: a packet rule and its master
    slot = register(TileKind.SHIM, "STREAM_SWITCH_SLOT").decode(0x0F1F0135)
    assert slot == {"ID": 15, "MASK": 31, "ENABLE": 1, "MSEL": 3, "ARBIT": 5}
    master = register(TileKind.SHIM, "STREAM_SWITCH_MASTER").decode(0xC0000045)
    assert master == {"MASTER_ENABLE": 1, "PACKET_ENABLE": 1, "DROP_HEADER": 0, "CONFIGURATION": 0x45}


@pytest.mark.parametrize("kind", list(TileKind))
def test_every_port_has_its_registers(kind: TileKind) -> None:
    assert register(kind, "STREAM_SWITCH_MASTER").count == len(MASTERS[kind])
    assert register(kind, "STREAM_SWITCH_SLAVE").count == len(SLAVES[kind])
    assert register(kind, "STREAM_SWITCH_SLOT").count == len(SLAVES[kind]) * SLOTS_PER_SLAVE


@pytest.mark.parametrize("kind", list(TileKind))
def test_fields_do_not_overlap_and_registers_stand_apart(kind: TileKind) -> None:
    seen: dict[int, str] = {}
    for entry in table(kind).values():
        used = 0
        for field in entry.fields:
            assert used & field.mask == 0, (entry.name, field.name)
            used |= field.mask
        for index in range(entry.count):
            assert seen.setdefault(entry.at(index), entry.name) == entry.name


def test_values_that_do_not_fit_are_errors() -> None:
    queue = register(TileKind.SHIM, "DMA_S2MM_START_QUEUE")
    with pytest.raises(ValueError, match="START_BD_ID"):
        queue.encode(START_BD_ID=16)
    with pytest.raises(KeyError, match="NO_SUCH"):
        queue.encode(NO_SUCH=1)
    with pytest.raises(IndexError, match="2 registers"):
        queue.at(2)


def test_no_register_is_none() -> None:
    assert locate(TileKind.COMPUTE, 0x50000) is None
    assert locate(TileKind.COMPUTE, 0x100) is None  # data memory
    assert locate(TileKind.COMPUTE, 0x31002) is not None  # the third byte of p0


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "generate_registers", REPOSITORY / "scripts" / "generate_registers.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_what_its_generator_makes() -> None:
    generator = _generator()
    if not generator.FACTS.exists():
        pytest.skip(f"no {generator.FACTS}: the facts are not part of the repository")
    facts = json.loads(generator.FACTS.read_text(encoding="utf-8"))
    assert generator.TARGET.read_text(encoding="utf-8") == generator.generate(facts)
