"""lx6: the instruction stream of mlir-aie and iree-amd-aie until mid 2024 (also called "ipu").

Seventeen fixed words, then operations with the opcode in bits 31 to 24; no trailer. `parse` and
`Lx6Stream.encode` are inverse. Sources: mlir-aie's tests of that time and 21 real files; the word counts of
operations that no file has are from Riallto's npu/runtime/sequence.py (MIT). facts/formats.md section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .reader import Reader, pack_words, unpack_words

PROLOGUE = (
    0x00000011, 0x01000405, 0x01000100, 0x0B590100, 0x000055FF, 0x00000001, 0x00000010, 0x314E5A5F,
    0x635F5F31, 0x676E696C, 0x39354E5F, 0x6E693131, 0x5F727473, 0x64726F77, 0x00004573, 0x07BD9630,
    0x000055FF,
)  # fmt: skip

_WRITE32, _SYNC, _WRITE_BD = 2, 3, 6
_WORDS = {0: 1, 1: 9, 2: 3, 3: 2, 4: 11, 5: 10, 6: 10, 7: 11, 8: 11, 10: 2, 11: 9, 12: 9, 13: 3}


@dataclass(frozen=True, slots=True)
class Write32:
    """A register of tile (column, row); `address` is the offset in the tile."""

    column: int
    row: int
    address: int
    value: int
    spare: int = 0
    name: ClassVar[str] = "WRITE32"


@dataclass(frozen=True, slots=True)
class Sync:
    """Waits for task-completion tokens; `direction` 0 is S2MM, 1 MM2S."""

    column: int
    row: int
    direction: int
    channel: int
    columns: int = 1
    rows: int = 1
    spare: int = 0
    name: ClassVar[str] = "SYNC"


@dataclass(frozen=True, slots=True)
class WriteBd:
    """The eight words of a shim BD; the address of data buffer `argument` (0 in, 1 tmp, 2 out) is added to
    the byte offset in `words[1]`. `columns` is how many columns get the BD."""

    column: int
    columns: int
    argument: int
    bd: int
    words: tuple[int, ...]
    address_increment: int = 0
    name: ClassVar[str] = "WRITEBD"


@dataclass(frozen=True, slots=True)
class Other:
    """An operation whose length is known and whose meaning is not."""

    words: tuple[int, ...]
    name: ClassVar[str] = "OTHER"

    @property
    def opcode(self) -> int:
        return self.words[0] >> 24


Operation = Write32 | Sync | WriteBd | Other


@dataclass(frozen=True, slots=True)
class Lx6Stream:
    """A stream's operations in order."""

    ops: tuple[Operation, ...]
    prologue: tuple[int, ...] = PROLOGUE

    def encode(self) -> bytes:
        """The binary stream. Raises ValueError where a value does not fit its field."""
        return pack_words((*self.prologue, *(word for op in self.ops for word in operation_words(op))))


def is_lx6(data: bytes) -> bool:
    """Whether `data` begins like an lx6 stream."""
    return data[:8] == pack_words(PROLOGUE[:2])


def parse(data: bytes) -> Lx6Stream:
    """Reads a binary stream. Raises ArtifactError: truncated, or an unknown operation."""
    reader = Reader(data, "lx6 stream")
    if len(data) % 4:
        reader.fail(f"{len(data)} bytes are no whole number of words", len(data))
    prologue = reader.words(0, len(PROLOGUE), "the lx6 prologue")
    if not is_lx6(data):
        reader.fail("no lx6 stream here: the first two words are not its prologue", 0)
    ops: list[Operation] = []
    offset = 4 * len(PROLOGUE)
    while offset < len(data):
        opcode = reader.u32(offset, "an lx6 operation") >> 24
        count = _WORDS.get(opcode)
        if count is None:
            reader.fail(f"lx6 operation {opcode} is unknown", offset)
        ops.append(_decode(opcode, reader.words(offset, count, f"lx6 operation {opcode}")))
        offset += 4 * count
    return Lx6Stream(tuple(ops), prologue)


def _decode(opcode: int, words: tuple[int, ...]) -> Operation:
    head = words[0]
    column, row, low = head >> 16 & 0xFF, head >> 8 & 0xFF, head & 0xFF
    if opcode == _WRITE32:
        return Write32(column, row, words[1], words[2], low)
    if opcode == _SYNC:
        second = words[1]
        return Sync(column, row, low, second >> 24, second >> 16 & 0xFF, second >> 8 & 0xFF, second & 0xFF)
    if opcode == _WRITE_BD:
        return WriteBd(column, row, low >> 4, low & 0xF, words[2:], words[1])
    return Other(words)


def operation_words(op: Operation) -> tuple[int, ...]:
    """An operation's words. Raises ValueError where a value does not fit its field."""
    match op:
        case Write32(column, row, address, value, spare):
            return _bytes(_WRITE32, column, row, spare), address, value
        case Sync(column, row, direction, channel, columns, rows, spare):
            return _bytes(_SYNC, column, row, direction), _bytes(channel, columns, rows, spare)
        case WriteBd(column, columns, argument, bd, words, increment):
            if not (0 <= argument < 16 and 0 <= bd < 16 and len(words) == 8):
                raise ValueError(f"argument {argument}, BD {bd}: four bits each; {len(words)} of 8 words")
            return _bytes(_WRITE_BD, column, columns, argument << 4 | bd), increment, *words
        case Other(words):
            return words


def _bytes(*values: int) -> int:
    """Four bytes, the highest first. Raises ValueError where one does not fit."""
    return unpack_words(bytes(reversed(values)))[0]
