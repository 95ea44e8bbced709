"""Words with a meaning on the streams: packet headers, task-completion tokens, control packets.

Packet header (AM020, chapter 2): parity 31 (odd over the word), source column 27:21, source row 20:16,
packet type 14:12, stream id 4:0; a BD's out-of-order id stands in 10:5. A task-completion token is one
word of the same form with the channel as actor in 11:8 (S2MM n is n, MM2S n is 6 + n) and the channel's
controller id as stream id. Control packets: facts/formats.md section 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..npu.topology import Direction, TileAddress

STREAM_ID_MASK = 0x1F
_OUT_OF_ORDER_SHIFT, _OUT_OF_ORDER_MASK = 5, 0x3F
_ACTOR_SHIFT, _ACTOR_MASK = 8, 0xF
_TYPE_SHIFT = 12
_ROW_SHIFT, _ROW_MASK = 16, 0x1F
_COLUMN_SHIFT, _COLUMN_MASK = 21, 0x7F
_PARITY = 1 << 31

FIRST_MM2S_ACTOR = 6
"""Actors 0 to 5 are S2MM channels, 6 to 11 MM2S channels."""


@dataclass(frozen=True, slots=True)
class Token:
    """A task-completion token: the channel that has done a task."""

    tile: TileAddress
    direction: Direction
    channel: int


def with_odd_parity(word: int) -> int:
    """`word` (bit 31 clear) with bit 31 set so that the number of ones is odd."""
    return word if word.bit_count() & 1 else word | _PARITY


def packet_header(source: TileAddress, stream_id: int, packet_type: int, out_of_order: int = 0) -> int:
    """The header that a DMA puts before a packet."""
    return with_odd_parity(
        (source.column & _COLUMN_MASK) << _COLUMN_SHIFT
        | (source.row & _ROW_MASK) << _ROW_SHIFT
        | packet_type << _TYPE_SHIFT
        | out_of_order << _OUT_OF_ORDER_SHIFT
        | stream_id
    )


def out_of_order_id(header: int) -> int:
    """The BD that an out-of-order channel is to use for the packet."""
    return (header >> _OUT_OF_ORDER_SHIFT) & _OUT_OF_ORDER_MASK


def token_word(token: Token, controller: int) -> int:
    """The word that announces a finished task to `controller` (low five bits its stream id)."""
    actor = token.channel + (FIRST_MM2S_ACTOR if token.direction is Direction.MM2S else 0)
    return with_odd_parity(
        (token.tile.column & _COLUMN_MASK) << _COLUMN_SHIFT
        | (token.tile.row & _ROW_MASK) << _ROW_SHIFT
        | (actor & _ACTOR_MASK) << _ACTOR_SHIFT
        | controller & STREAM_ID_MASK
    )


def parse_token(word: int) -> Token:
    """The inverse of `token_word`, for any word."""
    tile = TileAddress((word >> _COLUMN_SHIFT) & _COLUMN_MASK, (word >> _ROW_SHIFT) & _ROW_MASK)
    actor = (word >> _ACTOR_SHIFT) & _ACTOR_MASK
    if actor >= FIRST_MM2S_ACTOR:
        return Token(tile, Direction.MM2S, actor - FIRST_MM2S_ACTOR)
    return Token(tile, Direction.S2MM, actor)


# --------------------------------------------------------------------------- control packets

READ_OPERATION = 1
_WRITE_OPERATIONS = (0, 2)


@dataclass(frozen=True, slots=True)
class ControlHeader:
    """The second word of a control packet. `beats` is the number of data words (1 to 4)."""

    address: int
    beats: int
    operation: int
    response_id: int
    parity_good: bool

    @property
    def data_words(self) -> int:
        """Words that follow in the packet."""
        return self.beats if self.operation in _WRITE_OPERATIONS else 0


def parse_control_header(word: int) -> ControlHeader:
    """Splits the word; any word has a meaning."""
    return ControlHeader(
        address=word & 0xFFFFF,
        beats=((word >> 20) & 3) + 1,
        operation=(word >> 22) & 3,
        response_id=(word >> 24) & STREAM_ID_MASK,
        parity_good=bool(word.bit_count() & 1),
    )
