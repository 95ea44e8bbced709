"""Control packets explained.

A packet names an offset in a tile and not the tile: which one it reaches is a matter of the packet header
before it, or of the route. So an offset is read for each kind of tile that has something there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..description import ControlPackets, ControlPacketStep, TileReading
from ..errors import ArtifactError
from ..formats import control_packet
from ..formats.control_packet import ControlPacket
from ..npu.registers import locate
from ..npu.topology import TileKind
from .registers import WORD_BYTES, register_name

HEADER_NOTE = "each packet has its stream header before it"
PLAIN_NOTE = "no stream headers: the DMA that sends them puts those there"


def explain_control_packets(data: bytes) -> ControlPackets:
    """The packets, with or without stream headers before them. Raises ArtifactError."""
    failure: ArtifactError | None = None
    readings: list[ControlPackets] = []
    for headers in (False, True):
        try:
            packets = control_packet.parse(data, stream_headers=headers)
        except ArtifactError as error:
            failure = failure or error
            continue
        readings.append(_explained(packets, len(data), HEADER_NOTE if headers else PLAIN_NOTE))
    if not readings:
        raise failure or ArtifactError("no control packets", artifact=control_packet.ARTIFACT)
    return max(readings, key=_likelihood)


def look_like_control_packets(data: bytes) -> bool:
    """Whether every word has its place and parity, every offset a meaning, and one of them is a register's.

    Nothing in the format says what it is, so a few bytes of something else may look like it, too.
    """
    if not data or len(data) % WORD_BYTES:
        return False
    try:
        found = explain_control_packets(data)
    except ArtifactError:
        return False
    known, registers = _likelihood(found)
    return known == 1 and registers > 0


def _explained(packets: Sequence[ControlPacket], size_bytes: int, note: str) -> ControlPackets:
    steps: list[ControlPacketStep] = []
    offset = 0
    for index, packet in enumerate(packets):
        readings = [
            TileReading(kind.value, name)
            for kind in TileKind
            if (name := register_name(kind, packet.address)) is not None
        ]
        steps.append(
            ControlPacketStep(
                index,
                offset,
                packet.operation.name,
                packet.address,
                packet.stream_id,
                packet.beats,
                packet.data,
                packet.stream_header,
                tuple(readings),
            )
        )
        offset += WORD_BYTES * packet.length_words
    return ControlPackets(size_bytes, tuple(steps), (note,))


def _likelihood(found: ControlPackets) -> tuple[float, int]:
    """The share of packets with an address that there can be, and how many of them are for registers."""
    known = sum(bool(packet.registers) and packet.address % WORD_BYTES == 0 for packet in found.packets)
    return known / max(1, len(found.packets)), sum(map(_is_register, found.packets))


def _is_register(packet: ControlPacketStep) -> bool:
    return any(locate(kind, packet.address) is not None for kind in TileKind)
