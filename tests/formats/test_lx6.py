"""lx6 streams: words that mlir-aie pinned at the time, a real stream, and hostile ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats import lx6
from aiepipe.formats.lx6 import Lx6Stream, Other, Sync, Write32, WriteBd
from aiepipe.formats.reader import pack_words

BD = (1, 2, 0, 0x00600005, 0x80800007, 9, 0x2CD0000C, 0x2E107041)


def test_words_of_mlir_aie(corpus: Path) -> None:
    golden = json.loads((corpus / "golden" / "mlir-aie-words.json").read_text(encoding="utf-8"))["legacy_ipu"]
    words = [*golden["prologue"], *(word for op in golden["ops"] for word in op["words"])]
    data = pack_words(int(word, 16) for word in words)
    stream = Lx6Stream(
        (
            WriteBd(column=3, columns=4, argument=10, bd=6, words=BD),
            Write32(column=3, row=4, address=0xABC00DEF, value=0x42),
            Sync(column=3, row=4, direction=1, channel=5, columns=1, rows=2),
        )
    )
    assert stream.encode() == data
    assert lx6.parse(data) == stream


def test_values_that_do_not_fit_are_errors() -> None:
    for op in (WriteBd(0, 1, 16, 0, BD), WriteBd(0, 1, 0, 0, BD[1:]), Write32(256, 0, 0, 0)):
        with pytest.raises(ValueError, match=r"four bits|range|must be"):
            Lx6Stream((op,)).encode()


@pytest.mark.parametrize(
    ("data", "offset", "message"),
    [
        (b"", 0, "past"),
        (pack_words(lx6.PROLOGUE)[:-4], 0, "past"),
        (pack_words(lx6.PROLOGUE) + b"\0", 69, "whole number"),
        (pack_words((*lx6.PROLOGUE, 9 << 24)), 68, "9 is unknown"),
        (pack_words((*lx6.PROLOGUE, 6 << 24, 0)), 68, "past"),
        (bytes(68), 0, "prologue"),
    ],
)
def test_bad_streams_name_their_offset(data: bytes, offset: int, message: str) -> None:
    with pytest.raises(ArtifactError, match=message) as caught:
        lx6.parse(data)
    assert caught.value.offset == offset


BYTE, WORD = st.integers(0, 255), st.integers(0, 0xFFFFFFFF)
NIBBLE = st.integers(0, 15)
STREAMS = st.lists(
    st.one_of(
        st.builds(Write32, BYTE, BYTE, WORD, WORD, BYTE),
        st.builds(Sync, BYTE, BYTE, BYTE, BYTE, BYTE, BYTE, BYTE),
        st.builds(WriteBd, BYTE, BYTE, NIBBLE, NIBBLE, st.tuples(*[WORD] * 8), WORD),
        st.builds(Other, st.tuples(st.just(10 << 24), WORD)),
    ),
    max_size=6,
).map(lambda ops: Lx6Stream(tuple(ops)))


@given(stream=STREAMS)
def test_round_trip(stream: Lx6Stream) -> None:
    assert lx6.parse(stream.encode()) == stream


@given(stream=STREAMS, at=st.integers(0, 1 << 16), value=BYTE, cut=st.integers(0, 9))
def test_mutated_streams_parse_or_are_artifact_errors(
    stream: Lx6Stream, at: int, value: int, cut: int
) -> None:
    raw = bytearray(stream.encode())
    raw[at % len(raw)] = value
    data = bytes(raw[: len(raw) - cut])
    try:
        parsed = lx6.parse(data)
    except ArtifactError:
        return
    assert parsed.encode() == data
