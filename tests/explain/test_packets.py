"""Control packets: with and without stream headers, and what only looks like them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from aiepipe.errors import ArtifactError
from aiepipe.explain.packets import (
    HEADER_NOTE,
    PLAIN_NOTE,
    explain_control_packets,
    look_like_control_packets,
)
from aiepipe.formats.control_packet import ControlPacket, PacketOperation, encode
from aiepipe.formats.reader import pack_words

WRITE_LOCK = ControlPacket(0x1F000, PacketOperation.WRITE, data=(2,))
ODD_HEADER = 0x80000003  # packet id 3, parity bit set


def test_mlir_aies_golden_words(corpus: Path) -> None:
    golden = cast("dict[str, Any]", json.loads((corpus / "golden" / "mlir-aie-words.json").read_text()))
    data = pack_words(int(word, 16) for word in golden["control_packets"]["words"])
    found = explain_control_packets(data)
    assert found.notes == (PLAIN_NOTE,)
    assert [(p.offset, p.operation, p.address, p.data) for p in found.packets] == [
        (0, "WRITE", 0x1F000, (2,)),
        (8, "WRITE_INCREMENT", 0x1F020, (3, 4, 5, 6)),
        (28, "READ", 0x00400, ()),
    ]
    readings = {(r.tile_kind, r.register) for r in found.packets[0].registers}
    assert ("compute", "LOCK_VALUE[0]") in readings
    assert ("shim", "MUX_CONFIG") in readings
    assert look_like_control_packets(data)


def test_stream_headers_are_recognised() -> None:
    packets = [replace(WRITE_LOCK, stream_header=ODD_HEADER)] * 2
    found = explain_control_packets(encode(packets))
    assert found.notes == (HEADER_NOTE,)
    assert [(p.stream_header, p.address) for p in found.packets] == [(ODD_HEADER, 0x1F000)] * 2


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"abc",
        bytes(16),  # even parity
        pack_words([1]),  # an odd place in data memory
        encode([ControlPacket(0x400, PacketOperation.WRITE, data=(1,))]),  # data memory only: no sign enough
        encode([ControlPacket(0x90000, PacketOperation.READ)]),  # nothing there on any tile
    ],
)
def test_what_is_not_taken_for_control_packets(data: bytes) -> None:
    assert not look_like_control_packets(data)


def test_packets_for_data_memory_are_read_when_they_are_said_to_be_some() -> None:
    data = encode([ControlPacket(0x400, PacketOperation.WRITE, data=(1,))])
    (packet,) = explain_control_packets(data).packets
    assert {r.register for r in packet.registers} == {"data memory + 0x400"}


def test_bad_packets_say_where() -> None:
    with pytest.raises(ArtifactError) as caught:
        explain_control_packets(pack_words([WRITE_LOCK.header(), 3, 3]))
    assert (caught.value.artifact, caught.value.offset) == ("control packets", 8)
