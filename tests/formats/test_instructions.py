"""Any instruction stream, whatever its file is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats.instructions import is_text, parse_instructions, to_binary, to_text
from aiepipe.formats.lx6 import Lx6Stream, WriteBd
from aiepipe.formats.reader import WRONG_LENGTH, pack_words
from aiepipe.formats.txn import VERSION_0_1, VERSION_1_0, Noop, Transaction


@pytest.mark.parametrize(
    ("name", "text", "version", "count"),
    [
        ("iree-seed-matmul-i32/insts.txt", True, None, 7),
        ("gemm256-i16-1core/insts.bin", False, VERSION_0_1, 68),
        ("add-bf16/insts.bin", False, VERSION_0_1, 11),
        ("reduce-add-i32/insts.txt", True, VERSION_1_0, 8),
        ("distribute-l2-empty-sequence/insts.txt", True, VERSION_1_0, 0),
    ],
)
def test_real_streams(
    corpus: Path, name: str, text: bool, version: tuple[int, int] | None, count: int
) -> None:
    data = (corpus / name).read_bytes()
    assert is_text(data) is text
    stream = parse_instructions(data)
    assert (stream.version if isinstance(stream, Transaction) else None) == version
    assert len(stream.ops) == count
    assert stream.encode() == to_binary(data)
    if text:
        assert to_text(stream).encode().split() == data.split()
    assert parse_instructions(to_text(stream).encode()) == stream


def test_the_seeds_stream_patches_three_buffers(corpus: Path) -> None:
    stream = parse_instructions((corpus / "iree-seed-matmul-i32" / "insts.txt").read_bytes())
    assert isinstance(stream, Lx6Stream)
    assert [op.argument for op in stream.ops if isinstance(op, WriteBd)] == [0, 1, 2]


@pytest.mark.parametrize("text", ["{}\r\n", "0x{}\n", "  {}  \n\n", "{}"])
def test_text_in_any_form(text: str) -> None:
    words = (0x06030100, 0x104, 1, 20, 5)
    data = "\n".join(text.format(f"{word:08x}") for word in words).encode()
    assert parse_instructions(data) == Transaction((Noop(),))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"\n\n", "begins with"),
        (b"hello, world", "begins with 68"),
        (b"06030100\n000000104", "not a 32-bit hex word"),
        (b"06030100\n0x", "not a 32-bit hex word"),
        (b"06030100\n00000104\n00001", "the last word has 5 digits, all others 8"),
        (b"deadbeef\n", "begins with ef be ad de"),
        (pack_words((0x00010FFF, 0)), "begins with"),
        (b"\x7fELF" + bytes(48), "begins with 7f"),
    ],
)
def test_what_is_no_stream_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        parse_instructions(data)


def test_a_stream_that_was_cut_says_what_to_do() -> None:
    whole = Transaction((Noop(),)).encode()
    for data in (whole[:-4], whole[:12], to_text(whole)[:-3].encode()):
        with pytest.raises(ArtifactError) as caught:
            parse_instructions(data)
        assert caught.value.remedy == WRONG_LENGTH


@given(data=st.binary(max_size=64))
def test_any_bytes_parse_or_are_artifact_errors(data: bytes) -> None:
    for prefix in (b"", pack_words((0x06030100, 0x104))):
        try:
            stream = parse_instructions(prefix + data)
        except ArtifactError:
            continue
        assert stream.encode() == to_binary(prefix + data)
