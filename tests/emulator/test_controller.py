"""Operations of instruction streams beyond plain register writes."""

from __future__ import annotations

import numpy as np
import pytest

from aiepipe.emulator.machine import Machine
from aiepipe.errors import EmulationError
from aiepipe.formats import pdi, txn
from aiepipe.formats.cdo import Cdo, Write
from aiepipe.npu.descriptors import descriptor_offset
from aiepipe.npu.topology import TileKind

from .designs import Ddr, compute, memtile, shim

LOCK_3 = compute().address(0x1F030)


def machine(ddr: Ddr | None = None, columns: int = 1) -> Machine:
    return Machine(columns, ddr or Ddr())


def stream(*ops: txn.Operation) -> txn.Transaction:
    return txn.Transaction(ops)


def test_a_mask_write_changes_only_the_bits_of_the_mask() -> None:
    made = machine()
    made.run(stream(txn.Write32(LOCK_3, 0b110011), txn.MaskWrite32(LOCK_3, 0b001100, 0b011110)), [])
    assert made.array.read(LOCK_3) == 0b101101


def test_a_block_write_fills_data_memory_and_registers() -> None:
    made = machine()
    base = memtile().address(0x7FFF8)
    made.run(stream(txn.BlockWrite(base, (1, 2)), txn.BlockWrite(memtile().address(0xA0000), (7, 8, 9))), [])
    memory = made.array.tiles[memtile()].memory
    assert memory is not None
    assert memory.words[-2:].tolist() == [1, 2]
    assert [made.array.read(memtile().address(0xA0000 + 4 * word)) for word in range(3)] == [7, 8, 9]


def test_program_memory_is_written_by_blocks() -> None:
    made = machine()
    made.run(stream(txn.BlockWrite(compute().address(0x20010), (0x01020304, 5))), [])
    core = made.array.tiles[compute()].core
    assert core is not None
    assert core.program[0x10:0x18] == bytes([4, 3, 2, 1, 5, 0, 0, 0])
    assert made.array.read(compute().address(0x20014)) == 5


def test_a_patch_replaces_the_whole_address_of_a_shim_bd() -> None:
    """facts/formats.md 3.3: 48 bits, what the BD held is not added; the packet fields of word 2 stay."""
    made = machine()
    base = shim().address(descriptor_offset(TileKind.SHIM, 5))
    made.run(
        stream(
            txn.BlockWrite(base, (16, 0x5000, 1 << 30 | 0x77)),
            txn.DdrPatch(base + 4, 1, 0x20),
        ),
        [0, 0x1234_8000_0000],
    )
    assert made.array.read(base + 4) == 0x8000_0020
    assert made.array.read(base + 8) == 1 << 30 | 0x1234


@pytest.mark.parametrize("address", [memtile().address(0xA0004), shim().address(0x1D008)])
def test_a_patch_of_anything_else_is_an_error(address: int) -> None:
    with pytest.raises(EmulationError, match="which is not word 1 of a shim BD") as caught:
        machine().run(stream(txn.DdrPatch(address, 0, 0)), [0x1000])
    assert caught.value.kind == "bad-bd"


def test_preemption_points_timers_and_reads_do_nothing() -> None:
    made = machine()
    ops = (txn.Noop(), txn.Preempt(1), txn.RecordTimer(4), txn.ReadRegisters((LOCK_3,)))
    assert made.run(stream(*ops), []).warnings == ()


def test_a_pdi_is_loaded_by_id_or_from_ddr() -> None:
    image = Cdo((Write(LOCK_3, 17),))
    made = machine()
    made.run(stream(txn.LoadPdi(2, 0, 0)), [], images={2: image})
    assert made.array.read(LOCK_3) == 17
    ddr = Ddr()
    data = pdi.from_files([image]).encode()
    address = ddr.add(np.frombuffer(data, np.uint8))
    made = machine(ddr)
    made.run(stream(txn.LoadPdi(2, len(data), address)), [])
    assert made.array.read(LOCK_3) == 17
    with pytest.raises(EmulationError, match=r"operation 0 .* LOAD_PDI: there is no PDI 9"):
        made.run(stream(txn.LoadPdi(9, 0, 0)), [])


@pytest.mark.parametrize("op", [txn.UpdateScratch(), txn.CreateScratchpad(0, 64, 0), txn.LoadPmStart(1, 1)])
def test_what_only_headers_mention_is_refused_by_name(op: txn.Operation) -> None:
    with pytest.raises(EmulationError, match=f"TXN operation {op.name} is not emulated") as caught:
        machine().run(stream(op), [])
    assert caught.value.kind == "unsupported"
