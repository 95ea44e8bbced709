"""Instruction streams explained: operations by name, waits, patches, and the transfers they start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from aiepipe.description import Patch, Stream
from aiepipe.explain.registers import tile_of
from aiepipe.explain.stream import explain_stream
from aiepipe.formats import lx6, txn
from aiepipe.formats.instructions import InstructionStream, parse_instructions, to_text
from aiepipe.formats.reader import pack_words
from aiepipe.formats.txn import VERSION_1_0, Transaction
from aiepipe.npu.descriptors import BufferDescriptor, encode
from aiepipe.npu.topology import TileAddress, TileKind

from .arrays import SHIM

BD = encode(TileKind.SHIM, BufferDescriptor(address=0, length_words=1024, burst_code=2))
BD_0, BD_1, START_MM2S = 0x1D000, 0x1D020, 0x1D214


def explained(*ops: txn.Operation, version: tuple[int, int] = (0, 1)) -> Stream:
    stream = Transaction(ops, version)
    return explain_stream(stream, stream.encode())


def test_the_header_says_for_which_device() -> None:
    found = explained(txn.Noop())
    assert (found.form, found.encoding, found.device) == ("TXN 0.1", "binary", "npu1 (Phoenix, Hawk Point)")
    assert (found.columns, found.rows, found.memory_rows, found.size_bytes) == (4, 6, 1, 20)


def test_a_transfer_has_the_bd_as_it_stands_when_it_starts() -> None:
    found = explained(
        txn.BlockWrite(BD_0, BD),
        txn.DdrPatch(BD_0 + 4, 1, 0x100),
        txn.Write32(START_MM2S, 0x80030000),
        txn.Write32(BD_0, 7),
        txn.Write32(START_MM2S, 0),
        txn.Sync(0, 0, 1, 0),
    )
    first, second = found.transfers
    assert (first.step, first.task.channel, first.task.count, first.task.token) == (2, "MM2S 0", 4, True)
    assert first.descriptor is not None
    assert (first.descriptor.argument, first.descriptor.address, first.descriptor.length_words) == (
        1,
        0x100,
        1024,
    )
    assert second.descriptor is not None
    assert second.descriptor.length_words == 7
    wait = found.operations[-1].wait
    assert wait is not None
    assert (str(wait.tile), wait.channel, wait.columns, wait.rows) == ("shim (0,0)", "MM2S 0", 1, 1)


def test_a_new_base_address_takes_the_place_of_a_data_buffer() -> None:
    found = explained(
        txn.BlockWrite(BD_0, BD),
        txn.DdrPatch(BD_0 + 4, 1, 0),
        txn.BlockWrite(BD_0, BD),
        txn.Write32(START_MM2S, 0),
    )
    descriptor = found.transfers[0].descriptor
    assert descriptor is not None
    assert descriptor.argument is None


def test_a_bd_that_the_stream_did_not_write_is_the_configurations() -> None:
    assert explained(txn.Write32(START_MM2S, 1)).transfers[0].descriptor is None
    # a memory tile has 48 BDs, its start queue six bits
    assert explained(txn.Write32(0x1A0604, 63)).transfers[0].descriptor is None


def test_the_folded_aperture_is_taken_off_and_told() -> None:
    step = explained(txn.DdrPatch(BD_1 + 4, 5, 0x80000100)).operations[0]
    assert step.patch == Patch(
        tile_of(SHIM), "NoC module", 1, BD_1 + 4, argument=5, offset_bytes=0x100, folded=True
    )
    step = explained(txn.DdrPatch(BD_1 + 4, 4, 0x80000100)).operations[0]
    assert step.patch is not None
    assert (step.patch.offset_bytes, step.patch.folded) == (0x80000100, False)


def test_a_patch_of_something_else_than_a_shims_address_has_no_bd() -> None:
    for address in (BD_0, 0x1A0004, 0x21D004):
        patch = explained(txn.DdrPatch(address, 0, 0)).operations[0].patch
        assert patch is not None
        assert patch.bd is None


def test_run_time_parameters_are_shown_word_by_word() -> None:
    (write,) = explained(txn.BlockWrite(0x200400, (7, 8))).operations[0].memory
    assert (str(write.tile), write.memory, write.address, write.words) == (
        "core (0,2)",
        "data memory",
        0x400,
        (7, 8),
    )


def test_operations_without_an_address_keep_their_numbers() -> None:
    found = explained(
        txn.LoadPdi(2, 1024, 0xABC12345678), txn.Preempt(3), txn.MergeSync(2, 4), version=VERSION_1_0
    )
    facts = [{fact.name: fact.value for fact in step.facts} for step in found.operations]
    assert facts == [
        {"pdi_id": 2, "size_bytes": 1024, "address": 0xABC12345678},
        {"level": 3},
        {"tokens": 2, "columns": 4},
    ]


def test_the_other_operations_on_registers_are_told_by_name() -> None:
    found = explained(
        txn.MaskWrite32(0x01D200, 0xF00, 0x1F00),
        txn.MaskPoll(0x232004, 1 << 20, 1 << 20, busy=True),
        txn.ReadRegisters((0x232004, 0x21F000)),
        txn.UpdateRegister(1, 2, 3, 0x01D214),
    )
    names = [(s.operation, [r.register for r in s.registers]) for s in found.operations]
    assert names == [
        ("MASKWRITE32", ["DMA_S2MM_CTRL[0]"]),
        ("MASKPOLL_BUSY", ["CORE_STATUS"]),
        ("READ_REGS", ["CORE_STATUS", "LOCK_VALUE[0]"]),
        ("UPDATE_REG", ["DMA_MM2S_START_QUEUE[0]"]),
    ]


def test_a_wait_for_no_tile_is_shown_as_its_numbers() -> None:
    (step,) = explained(txn.Sync(0, 9, 0, 0)).operations
    assert step.wait is None
    assert {fact.name: fact.value for fact in step.facts}["row"] == 9


@pytest.mark.parametrize("version", [(0, 1), VERSION_1_0])
def test_offsets_are_those_in_the_binary_form(version: tuple[int, int]) -> None:
    stream = Transaction((txn.Write32(0x1F000, 1), txn.BlockWrite(BD_0, BD), txn.Noop()), version)
    found = explain_stream(stream, to_text(stream).encode())
    assert found.encoding == "text"
    assert found.operations[0].offset == 16
    sizes = {(0, 1): (24, 48), VERSION_1_0: (12, 44)}[version]
    assert [step.offset for step in found.operations] == [16, 16 + sizes[0], 16 + sum(sizes)]


def test_golden_words_of_mlir_aie(corpus: Path) -> None:
    """What mlir-aie's own test says of its words (corpus/golden/mlir-aie-words.json)."""
    golden = cast("dict[str, Any]", json.loads((corpus / "golden" / "mlir-aie-words.json").read_text()))
    entry = golden["npu1_4col_txn10"]
    words = [int(word, 16) for word in entry["header"]]
    words += [int(word, 16) for op in entry["ops"] for word in op["words"]]
    data = pack_words(words)
    found = explain_stream(parse_instructions(data), data)
    (bd,) = found.operations[0].descriptors  # "writebd memtile(3,1) bd 6"
    assert (str(bd.tile), bd.number) == ("memory tile (3,1)", 6)
    wait = found.operations[2].wait  # "sync col=3 row=4 dir=1 chan=5 colnum=1 rownum=2"
    assert wait is not None
    assert (str(wait.tile), wait.channel, wait.columns, wait.rows) == ("core (3,4)", "MM2S 5", 1, 2)


def lx6_stream(*ops: lx6.Operation) -> InstructionStream:
    return lx6.Lx6Stream(ops)


def test_lx6_adds_the_argument_to_the_bd_of_each_column() -> None:
    words = (1024, 0x40, *BD[2:])
    stream = lx6_stream(
        lx6.WriteBd(0, 2, 1, 3, words),
        lx6.Write32(1, 0, START_MM2S, 3),
        lx6.Sync(0, 0, 0, 0),
        lx6.Other((1 << 24, *[0] * 8)),
    )
    found = explain_stream(stream, stream.encode())
    assert (found.form, found.device) == ("lx6", None)
    write, start, sync, other = found.operations
    assert [(str(bd.tile), bd.number, bd.argument, bd.address) for bd in write.descriptors] == [
        ("shim (0,0)", 3, 1, 0x40),
        ("shim (1,0)", 3, 1, 0x40),
    ]
    assert start.task is not None
    assert start.task.tile == tile_of(TileAddress(1, 0))
    assert found.transfers[0].descriptor is not None
    assert found.transfers[0].descriptor.argument == 1
    assert sync.wait is not None
    assert other.facts[0].value == 1
    assert [step.offset for step in found.operations] == [68, 108, 120, 128]  # 17 words, then 10, 3, 2
