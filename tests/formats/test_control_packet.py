"""Control packets: words that mlir-aie pins, and hostile ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import ArtifactError
from aiepipe.formats import control_packet
from aiepipe.formats.control_packet import ControlPacket, PacketOperation
from aiepipe.formats.reader import pack_words


def test_words_of_mlir_aie(corpus: Path) -> None:
    golden = json.loads((corpus / "golden" / "mlir-aie-words.json").read_text(encoding="utf-8"))
    data = pack_words(int(word, 16) for word in golden["control_packets"]["words"])
    packets = (
        ControlPacket(0x1F000, PacketOperation.WRITE, data=(2,)),
        ControlPacket(0x1F020, PacketOperation.WRITE_INCREMENT, 4, 9, (3, 4, 5, 6)),
        ControlPacket(0x400, PacketOperation.READ, 4, 2),
    )
    assert control_packet.encode(packets) == data
    assert control_packet.parse(data) == packets


@pytest.mark.parametrize(
    ("data", "offset", "message"),
    [
        (pack_words((0x8001F000,)), 0, "even parity"),
        (pack_words((0x0001F000,)), 4, "past"),
        (pack_words((0x0001F000, 2)) + b"\1", 8, "past"),
    ],
)
def test_bad_packets_name_their_offset(data: bytes, offset: int, message: str) -> None:
    with pytest.raises(ArtifactError, match=message) as caught:
        control_packet.parse(data)
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    "packet",
    [
        ControlPacket(1 << 20, PacketOperation.READ),
        ControlPacket(0, PacketOperation.READ, stream_id=128),
        ControlPacket(0, PacketOperation.READ, beats=5),
        ControlPacket(0, PacketOperation.READ, data=(1,)),
        ControlPacket(0, PacketOperation.WRITE),
    ],
)
def test_what_does_not_fit_is_an_error(packet: ControlPacket) -> None:
    with pytest.raises(ValueError, match=r"fit|beats"):
        control_packet.encode([packet])


@given(data=st.lists(st.integers(0, 0xFFFFFFFF), max_size=12).map(pack_words))
def test_any_words_parse_or_are_artifact_errors(data: bytes) -> None:
    try:
        packets = control_packet.parse(data)
    except ArtifactError:
        return
    assert control_packet.encode(packets) == data
