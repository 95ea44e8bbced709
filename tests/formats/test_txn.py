"""TXN streams: words that mlir-aie pins, real streams byte for byte, and hostile ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats import txn
from aiepipe.formats.reader import pack_words, unpack_words
from aiepipe.formats.txn import (
    BlockWrite,
    CreateScratchpad,
    CustomOp,
    DdrPatch,
    LoadPdi,
    LoadPmStart,
    MaskPoll,
    MaskWrite32,
    MergeSync,
    Noop,
    Operation,
    Preempt,
    ReadRegisters,
    RecordTimer,
    Sync,
    Transaction,
    UpdateRegister,
    UpdateScratch,
    UpdateState,
    Write32,
)


@pytest.fixture
def golden(corpus: Path) -> dict[str, Any]:
    return json.loads((corpus / "golden" / "mlir-aie-words.json").read_text(encoding="utf-8"))


def as_bytes(words: Sequence[str]) -> bytes:
    return pack_words(int(word, 16) for word in words)


def flat(entry: dict[str, Any]) -> list[str]:
    return [*entry["header"], *(word for op in entry["ops"] for word in op["words"])]


# the ops of mlir-aie's npu_instgen.mlir, in order (corpus/golden/mlir-aie-words.json says them in words)
BLOCK = tuple(range(100, 108))
COMMON: tuple[Operation, ...] = (
    Write32(0x06400DEF, 0x42),
    Write32(0xABC00DEF, 0x314),
    BlockWrite(0x12345679, BLOCK),
    BlockWrite(0x02100064, BLOCK, spare=(0x101,)),
    MaskWrite32(0x0430567A, 0x1001, 0xF00FF00F),
    Sync(column=3, row=4, direction=1, channel=5, columns=1, rows=2),
)


def test_npu1_words_of_mlir_aie(golden: dict[str, Any]) -> None:
    stream = Transaction((*COMMON, LoadPdi(pdi_id=2, size_bytes=1024, address=0xABC12345678)))
    data = as_bytes(flat(golden["npu1_txn01"]))
    assert stream.encode() == data
    assert txn.parse(data) == stream


def test_npu2_words_of_mlir_aie(golden: dict[str, Any]) -> None:
    stream = Transaction((*COMMON, Preempt(3)), generation=txn.DEVICE_NPU2, columns=8)
    words = [word for op in golden["npu1_txn01"]["ops"][:-1] for word in op["words"]]
    data = as_bytes([*golden["npu2_txn01"]["header"], *words, *golden["npu2_txn01"]["last"]])
    assert stream.encode() == data
    assert txn.parse(data) == stream
    with pytest.raises(ArtifactError, match="npu2"):
        stream.require_npu1()


def test_version_1_0_words_of_mlir_aie(golden: dict[str, Any]) -> None:
    bd = (1, 0x00580002, 0x000C0005, 0x00100007, 9, 0, 0x059A000C, 0x84038201)
    ops = (BlockWrite(0x061A00C0, bd), Write32(0x06400DEF, 0x42), Sync(3, 4, 1, 5, 1, 2))
    stream = Transaction(ops, txn.VERSION_1_0)
    data = as_bytes(flat(golden["npu1_4col_txn10"]))
    assert stream.encode() == data
    assert txn.parse(data) == stream


def test_read_registers_of_mlir_aie(golden: dict[str, Any]) -> None:
    stream = Transaction((ReadRegisters((0x04300100,)),), generation=txn.DEVICE_NPU2, columns=8)
    data = as_bytes([*golden["read_reg"]["header"], *golden["read_reg"]["words"]])
    assert stream.encode() == data
    assert txn.parse(data) == stream


@pytest.mark.parametrize("offset", [0xFFFFFFFF, 1 << 32, 0x2_0000_0100, 0x100])
def test_patch_offsets_of_64_bits(golden: dict[str, Any], offset: int) -> None:
    words = unpack_words(Transaction((DdrPatch(0x12340, 0, offset),)).encode())
    assert words[4:6] == (0x81, 48)
    assert words[10:14] == (0x12340, 0, 0, 0)
    low, high = f"{words[14]:08X}", f"{words[15]:08X}"
    assert [low, high] in golden["address_patch_64"]["cases"]


def test_aie_rts_form_is_kept() -> None:
    # iree-amd-aie's golden words: junk in bytes 1 and 2 of word 0, a mask write of 32 bytes
    header = (0x06030100, 0x00000104, 2, 16 + 24 + 32)
    write = (0x00C00000, 0, 0x001C00C0, 0, 2, 24)
    masked = (0x00140403, 0, 0x0001D200, 0, 0xF00, 0x1F00, 32, 0xDEADBEEF)
    data = pack_words((*header, *write, *masked))
    stream = txn.parse(data)
    assert stream.ops == (
        Write32(0x1C00C0, 2, head=0xC000),
        MaskWrite32(0x1D200, 0xF00, 0x1F00, head=0x1404, tail=pack_words((0xDEADBEEF,))),
    )
    assert stream.encode() == data


def test_aie_rts_read_registers_are_wide() -> None:
    data = pack_words((0x82, 32, 2, 0, 0x32004, 0, 0x1DF00, 1))
    stream = txn.parse(pack_words((0x06030100, 0x104, 1, 48)) + data)
    assert stream.ops == (ReadRegisters((0x32004, 0x1_0001_DF00), wide=True),)
    assert stream.encode()[16:] == data


def test_operations_that_only_headers_describe() -> None:
    # word by word from aie-rt's xaie_txn.h
    ops: dict[Operation, tuple[int, ...]] = {
        Noop(): (0x05,),
        LoadPmStart(load_id=9, count=2): (0x0209, 9),
        CreateScratchpad(usage=0, size_bytes=64, offset=1 << 32): (0x0A, 64, 0, 1),
        UpdateState(index=1, function=2, operand=3): (0x0002010B, 3),
        UpdateRegister(index=1, function=2, operand=3, address=4): (0x0002010C, 3, 4),
        UpdateScratch(): (0x0D,),
        RecordTimer(7): (0x83, 12, 7),
        MergeSync(tokens=8, columns=4): (0x84, 12, 0x0408),
        CustomOp(200, b""): (200, 8),
    }
    for version in (txn.VERSION_0_1, txn.VERSION_1_0):
        stream = Transaction(tuple(ops), version)
        data = stream.encode()
        assert unpack_words(data[16:]) == tuple(word for words in ops.values() for word in words)
        assert txn.parse(data) == stream


def test_polls_are_told_apart() -> None:
    ops = (MaskPoll(4, 1, 3), MaskPoll(4, 1, 3, busy=True))
    words = unpack_words(Transaction(ops, txn.VERSION_1_0).encode())
    assert words[4:] == (4, 4, 1, 3, 7, 4, 1, 3)
    assert txn.parse(Transaction(ops).encode()).ops == ops


@pytest.mark.parametrize("name", ["add-bf16/insts.bin", "gemm256-i16-1core/insts.bin"])
def test_real_streams_come_back_byte_for_byte(corpus: Path, name: str) -> None:
    data = (corpus / name).read_bytes()
    stream = txn.parse(data)
    assert stream.encode() == data
    stream.require_npu1()


def test_what_a_version_cannot_say_is_an_error() -> None:
    with pytest.raises(ValueError, match="address"):
        Transaction((Write32(1 << 40, 0),), txn.VERSION_1_0).encode()
    with pytest.raises(ValueError, match="no room"):
        Transaction((MaskWrite32(0, 0, 0, tail=bytes(4)),), txn.VERSION_1_0).encode()
    with pytest.raises(ValueError, match="channel"):
        Transaction((Sync(0, 0, 0, channel=256),)).encode()


HEAD = (0x06030100, 0x00000104)


@pytest.mark.parametrize(
    ("words", "offset", "message"),
    [
        ((*HEAD, 0, 20), 12, "20 bytes"),
        ((*HEAD, 1, 16), 8, "1 operations, there are 0"),
        ((*HEAD, 0, 20, 5), 16, "follow the last"),
        ((*HEAD, 1, 20, 0x0E), 16, "0xe is unknown"),
        ((*HEAD, 1, 24, 0x85, 12), 16, "12 bytes"),
        ((*HEAD, 1, 24, 0x85, 7), 16, "7 bytes"),
        ((*HEAD, 1, 32, 1, 0, 0, 0x7FFFFFF0), 16, "are left"),
        ((*HEAD, 1, 24, 0, 0), 16, "past"),
        ((0x06030002, 0x104, 0, 16), 0, "version 2.0"),
        ((0x06030100,), 0, "past"),
    ],
)
def test_bad_streams_name_their_offset(words: tuple[int, ...], offset: int, message: str) -> None:
    with pytest.raises(ArtifactError, match=message) as caught:
        txn.parse(pack_words(words))
    assert caught.value.offset == offset


BYTE, WORD = st.integers(0, 0xFF), st.integers(0, 0xFFFFFFFF)
LONG = st.integers(0, (1 << 64) - 1)
HEADS = st.integers(0, 0xFFFFFF)
TAIL = st.lists(WORD, max_size=2).map(pack_words)
OPERATIONS = st.one_of(
    st.builds(Write32, LONG, WORD, HEADS, st.just(()), TAIL),
    st.builds(BlockWrite, WORD, st.lists(WORD, max_size=9).map(tuple), HEADS),
    st.builds(MaskWrite32, LONG, WORD, WORD, HEADS, st.just((5,)), TAIL),
    st.builds(MaskPoll, LONG, WORD, WORD, st.booleans(), HEADS, st.just(()), TAIL),
    st.builds(Noop, HEADS),
    st.builds(Preempt, BYTE, st.integers(0, 0xFFFF)),
    st.builds(LoadPdi, st.integers(0, 0xFFFF), WORD, LONG, BYTE),
    st.builds(Sync, BYTE, BYTE, BYTE, BYTE, BYTE, BYTE, HEADS, st.just((1, 2)), TAIL),
    st.builds(DdrPatch, LONG, LONG, LONG, HEADS, st.just((0, 0, 1, 0)), TAIL),
    st.builds(RecordTimer, WORD, HEADS, TAIL),
    st.builds(MergeSync, BYTE, BYTE, HEADS, st.just((7,)), TAIL),
    st.builds(ReadRegisters, st.lists(LONG, max_size=3).map(tuple), st.just(True), HEADS),
    st.builds(ReadRegisters, st.lists(WORD, max_size=3).map(tuple), st.just(False), HEADS),
    st.builds(CustomOp, st.integers(0x85, 0xFF), TAIL, HEADS),
)
STREAMS = st.lists(OPERATIONS, max_size=6).map(lambda ops: Transaction(tuple(ops)))


@given(stream=STREAMS)
def test_round_trip(stream: Transaction) -> None:
    assert txn.parse(stream.encode()) == stream


@given(stream=STREAMS, data=st.data(), version=st.sampled_from([txn.VERSION_0_1, txn.VERSION_1_0]))
def test_mutated_streams_parse_or_are_artifact_errors(
    stream: Transaction, data: st.DataObject, version: tuple[int, int]
) -> None:
    raw = bytearray(stream.encode())
    raw[:2] = bytes(version)
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    raw = raw[: data.draw(st.integers(len(raw) - 9, len(raw)))]
    if data.draw(st.booleans()) and len(raw) >= 16:
        raw[12:16] = len(raw).to_bytes(4, "little")
    try:
        parsed = txn.parse(bytes(raw))
    except ArtifactError:
        return
    assert parsed.encode() == bytes(raw)
