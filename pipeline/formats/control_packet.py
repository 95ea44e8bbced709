"""Control packets: register reads and writes that travel on the array's streams to a tile.

A header word and up to four data words. On the stream a packet header goes before them, which the sending
DMA adds or the file already has (`stream_headers`). Source: AMD's aie-rt and mlir-aie's tests (golden
words). facts/formats.md section 3.5.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .reader import Reader, pack_words

ARTIFACT = "control packets"
MAXIMUM_BEATS = 4

_ADDRESS_MASK = 0xFFFFF
_BEATS_SHIFT, _BEATS_MASK = 20, 0x3
_OPERATION_SHIFT, _OPERATION_MASK = 22, 0x3
_STREAM_SHIFT, _STREAM_MASK = 24, 0x7F
_PARITY = 1 << 31


class PacketOperation(enum.IntEnum):
    """What a control packet asks for."""

    WRITE = 0
    READ = 1
    WRITE_INCREMENT = 2
    """Writes with the address counting up."""
    BLOCK_WRITE = 3

    @property
    def has_data(self) -> bool:
        """Whether data words follow the header (facts/formats.md: for 0 and 2)."""
        return self in (PacketOperation.WRITE, PacketOperation.WRITE_INCREMENT)


@dataclass(frozen=True, slots=True)
class ControlPacket:
    """`address` is the offset in the tile. `beats` words are read or written; answers of a read carry
    `stream_id`. `stream_header` is the packet header before it, None where there is none."""

    address: int
    operation: PacketOperation
    beats: int = 1
    stream_id: int = 0
    data: tuple[int, ...] = ()
    stream_header: int | None = None

    @property
    def length_words(self) -> int:
        """How many words it takes in the file."""
        return 1 + len(self.data) + (self.stream_header is not None)

    def words(self) -> tuple[int, ...]:
        """Headers and data. Raises ValueError where a value does not fit."""
        before = () if self.stream_header is None else (self.stream_header,)
        return *before, self.header(), *self.data

    def header(self) -> int:
        """The header word, its parity bit set so that the number of ones is odd."""
        if not 1 <= self.beats <= MAXIMUM_BEATS:
            raise ValueError(f"a control packet has 1 to {MAXIMUM_BEATS} beats, not {self.beats}")
        if len(self.data) != (self.beats if self.operation.has_data else 0):
            raise ValueError(f"{len(self.data)} data words for {self.operation.name} of {self.beats} beats")
        if self.address & ~_ADDRESS_MASK or self.stream_id & ~_STREAM_MASK:
            raise ValueError(f"address {self.address:#x} or stream id {self.stream_id} does not fit")
        word = self.address | (self.beats - 1) << _BEATS_SHIFT
        word |= self.operation << _OPERATION_SHIFT | self.stream_id << _STREAM_SHIFT
        return word if word.bit_count() % 2 else word | _PARITY


def encode(packets: Sequence[ControlPacket]) -> bytes:
    """Packets one after another. Raises ValueError where a value does not fit."""
    return pack_words(word for packet in packets for word in packet.words())


def decode_header(header: int) -> ControlPacket | None:
    """What a header word says, without data; None where its parity is wrong."""
    if header.bit_count() % 2 == 0:
        return None
    return ControlPacket(
        header & _ADDRESS_MASK,
        PacketOperation(header >> _OPERATION_SHIFT & _OPERATION_MASK),
        (header >> _BEATS_SHIFT & _BEATS_MASK) + 1,
        header >> _STREAM_SHIFT & _STREAM_MASK,
    )


def parse(data: bytes, *, stream_headers: bool = False) -> tuple[ControlPacket, ...]:
    """Reads packets one after another. Raises ArtifactError: wrong parity, truncated."""
    reader = Reader(data, ARTIFACT)
    found: list[ControlPacket] = []
    offset = 0
    while offset < len(data):
        before: int | None = None
        if stream_headers:
            before = reader.u32(offset, "a packet header")
            if before.bit_count() % 2 == 0:
                reader.fail(f"packet header {before:#010x} has even parity", offset)
            offset += 4
        header = reader.u32(offset, "a control packet's header")
        packet = decode_header(header)
        if packet is None:
            reader.fail(f"control packet header {header:#010x} has even parity", offset)
        count = packet.beats if packet.operation.has_data else 0
        words = reader.words(offset + 4, count, "a control packet's data")
        found.append(replace(packet, data=words, stream_header=before))
        offset += 4 + 4 * count
    return tuple(found)
