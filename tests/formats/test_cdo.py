"""CDO files: real ones byte for byte, the words that other tools pin, and hostile ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats import cdo
from aiepipe.formats.cdo import Cdo, Command, DmaWrite, End, MaskPoll, MaskWrite, Nop, Write
from aiepipe.formats.reader import pack_words, unpack_words

SEED = "iree-seed-matmul-i32"
PARTS = ("error_handling", "elfs", "init", "enable")


def seed_files(corpus: Path) -> list[Cdo]:
    return [cdo.parse((corpus / SEED / f"aie_cdo_{part}.bin").read_bytes()) for part in PARTS]


@pytest.mark.parametrize("part", PARTS)
def test_real_files_come_back_byte_for_byte(corpus: Path, part: str) -> None:
    data = (corpus / SEED / f"aie_cdo_{part}.bin").read_bytes()
    assert cdo.parse(data).encode() == data


@pytest.mark.parametrize("part", PARTS)
def test_the_drivers_alignment_is_ours(corpus: Path, part: str) -> None:
    # without its NOPs, a file of the seed (Mar 2024: no NOP first) is aligned again to the same file
    file = cdo.parse((corpus / SEED / f"aie_cdo_{part}.bin").read_bytes())
    bare = Cdo(tuple(command for command in file.commands if not isinstance(command, Nop)))
    assert bare.for_file(first_nop=False) == file


def test_files_are_joined_as_bootgen_does(corpus: Path) -> None:
    joined = cdo.join(seed_files(corpus)).encode()
    pdi = (corpus / SEED / "design.pdi").read_bytes()
    assert pdi[0x150 : 0x150 + len(joined)] == joined


@pytest.mark.parametrize("design", ["matmul_i32_16x16x8", "matmul_i32_8x32x16"])
@pytest.mark.parametrize("part", ["elfs", "init", "enable"])
def test_the_commands_that_iree_amd_aie_pins(corpus: Path, design: str, part: str) -> None:
    golden = json.loads((corpus / "golden" / "cdo-words.json").read_text(encoding="utf-8"))
    wanted = tuple(_from_golden(entry) for entry in golden["designs"][design][part])
    bare = Cdo(tuple(command for command in wanted if not isinstance(command, Nop)))
    file = bare.for_file()
    assert file.commands == wanted
    assert cdo.parse(file.encode()) == file


def _from_golden(entry: list[Any]) -> Command:
    match entry:
        case ["NOP", int(count)]:
            return Nop(bytes(4 * count))
        case ["DMA_WRITE", str(address), int(count), words]:
            assert len(words) == count
            return DmaWrite(int(address, 16), pack_words(int(str(word), 16) for word in words))
        case ["WRITE64", str(address), str(value)]:
            return Write(int(address, 16), int(value, 16), wide=True)
        case ["MASK_WRITE64", str(address), str(mask), str(value)]:
            return MaskWrite(int(address, 16), int(mask, 16), int(value, 16), wide=True)
        case _:
            raise AssertionError(entry)


def test_words_of_each_command() -> None:
    # command words as in facts/formats.md 2.2 (AMD's cdo commands): handler 1, payload length in 23:16
    file = Cdo(
        (
            Write(0x1F000, 1),
            Write(0x1_0001_F000, 1, wide=True),
            MaskWrite(0x232000, 2, 3),
            MaskWrite(0x232000, 2, 3, wide=True),
            MaskPoll(4, 1, 2, 3),
            MaskPoll(4, 1, 2, 3, wide=True),
            DmaWrite(0x220000, pack_words((7, 8))),
            Nop(),
            End(),
        )
    )
    assert unpack_words(file.encode())[5:] == (
        *(0x00020103, 0x1F000, 1),
        *(0x00030108, 1, 0x1F000, 1),
        *(0x00030102, 0x232000, 2, 3),
        *(0x00040107, 0, 0x232000, 2, 3),
        *(0x00040101, 4, 1, 2, 3),
        *(0x00050106, 0, 4, 1, 2, 3),
        *(0x00040105, 0, 0x220000, 7, 8),
        0x00000111,
        0x000001FF,
    )
    assert cdo.parse(file.encode()) == file


def test_long_payloads_have_their_length_in_a_word_of_its_own() -> None:
    short = Cdo((DmaWrite(0, bytes(4 * 252)),)).encode()
    assert unpack_words(short)[5] == 0x00FE0105
    long = Cdo((DmaWrite(0, bytes(4 * 253)),)).encode()
    assert unpack_words(long)[5:7] == (0x00FF0105, 255)


def test_bootgen_writes_one_word_as_a_write() -> None:
    assert cdo.join([Cdo((DmaWrite(0x70, pack_words((5,))),))]) == Cdo((Write(0x70, 5),))


def _rehead(words: list[int]) -> bytes:
    words[3] = len(words) - 5
    words[4] = ~sum(words[:4]) & 0xFFFFFFFF
    return pack_words(words)


@pytest.mark.parametrize(
    ("body", "offset", "message"),
    [
        ([0x00020104, 0, 0], 20, "0x4"),
        ([0x00020203, 0, 0], 20, "handler"),
        ([0x00030103, 0, 0, 0], 20, "with 3 words, not 2"),
        ([0x00020103, 0, 0, 0x00050111], 36, "past"),
        ([0x00FF0105, 0x7FFFFFFF, 0, 0], 28, "past"),
        ([0x00FF0105], 24, "past"),
        ([0x00010105, 0], 20, "without an address"),
    ],
)
def test_bad_commands_name_their_offset(body: list[int], offset: int, message: str) -> None:
    data = _rehead([4, cdo.IDENTIFICATION, cdo.VERSION, 0, 0, *body])
    with pytest.raises(ArtifactError, match=message) as caught:
        cdo.parse(data)
    assert caught.value.offset == offset


@pytest.mark.parametrize("cut", [0, 3, 19, 20, 23, 27])
def test_truncated_files_are_errors(cut: int) -> None:
    data = Cdo((Write(1, 2), Write(3, 4))).encode()
    with pytest.raises(ArtifactError):
        cdo.parse(data[:cut])


def test_a_wrong_checksum_is_an_error() -> None:
    data = bytearray(Cdo((Write(1, 2),)).encode())
    data[16] ^= 1
    with pytest.raises(ArtifactError, match="checksum"):
        cdo.parse(bytes(data))


WORD = st.integers(0, 0xFFFFFFFF)
ADDRESS64 = st.integers(0, (1 << 64) - 1)
PAYLOAD = st.lists(WORD, max_size=6).map(pack_words)
COMMANDS = st.lists(
    st.one_of(
        st.builds(Write, WORD, WORD),
        st.builds(Write, ADDRESS64, WORD, st.just(True)),
        st.builds(MaskWrite, WORD, WORD, WORD),
        st.builds(MaskWrite, ADDRESS64, WORD, WORD, st.just(True)),
        st.builds(MaskPoll, WORD, WORD, WORD, WORD),
        st.builds(DmaWrite, ADDRESS64, PAYLOAD, st.sampled_from([None, True])),
        st.builds(Nop, PAYLOAD, st.sampled_from([None, True])),
    ),
    max_size=8,
).map(lambda commands: Cdo(tuple(commands)))


@given(file=COMMANDS)
def test_round_trip(file: Cdo) -> None:
    assert cdo.parse(file.encode()) == file


@given(file=COMMANDS)
def test_joining_keeps_the_writes_and_aligns_the_data(file: Cdo) -> None:
    words = unpack_words(cdo.join([file]).encode())
    at = 5
    while at < len(words):
        length, start = words[at] >> 16 & 0xFF, at + 1
        if length == 255:
            length, start = words[at + 1], at + 2
        if words[at] & 0xFF == 0x05 and length > 2:
            assert (start + 2) % 4 == (words[start + 1] >> 2) % 4
        at = start + length


@given(file=COMMANDS, data=st.data())
def test_mutated_files_parse_or_are_artifact_errors(file: Cdo, data: st.DataObject) -> None:
    raw = bytearray(file.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    fixed = _rehead(list(unpack_words(bytes(raw)))) if data.draw(st.booleans()) else bytes(raw)
    try:
        parsed = cdo.parse(fixed)
    except ArtifactError:
        return
    assert parsed.encode() == fixed
