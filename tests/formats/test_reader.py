"""Checked reading: nothing outside the bytes, and errors with the offset in the whole file."""

from __future__ import annotations

import pytest

from aiepipe.errors import ArtifactError
from aiepipe.formats.reader import (
    WRONG_LENGTH,
    HeapReader,
    Reader,
    ones_complement_sum,
    pack_words,
    unpack_words,
)


def test_numbers_are_little_endian() -> None:
    reader = Reader(bytes(range(1, 17)), "test")
    assert reader.u8(0, "") == 1
    assert reader.u16(0, "") == 0x0201
    assert reader.u32(4, "") == 0x08070605
    assert reader.u64(8, "") == 0x100F0E0D0C0B0A09
    assert reader.words(0, 2, "") == (0x04030201, 0x08070605)
    assert pack_words(unpack_words(reader.data)) == reader.data


@pytest.mark.parametrize(
    ("offset", "size"), [(0, 9), (8, 1), (9, 0), (-1, 2), (2, -1), (1 << 40, 1), (0, 1 << 40)]
)
def test_reading_outside_is_an_error(offset: int, size: int) -> None:
    with pytest.raises(ArtifactError, match="past the 8 bytes") as caught:
        Reader(bytes(8), "test").take(offset, size, "a thing")
    assert caught.value.remedy == WRONG_LENGTH


def test_a_parts_errors_have_the_whole_files_offset() -> None:
    part = Reader(bytes(32), "test", base=0x100).part(16, 8, "a part")
    assert (len(part), part.base) == (8, 0x110)
    with pytest.raises(ArtifactError, match="a word") as caught:
        part.u32(6, "a word")
    assert caught.value.offset == 0x116
    assert caught.value.where() == "test, offset 0x116"


def test_parts_may_be_read_twice_but_not_without_end() -> None:
    reader = HeapReader(bytes(1000), "test")
    for _ in range(2):
        reader.take_part(0, 1000, "all")
    with pytest.raises(ArtifactError, match="overlap"):
        reader.take_part(0, 1000, "all")


def test_the_header_checksum() -> None:
    # a CDO header of a real file: 4, "CDO\0", 0x200, 0x14 words
    assert ones_complement_sum((4, 0x004F4443, 0x200, 0x14)) == 0xFFB0B9A4
