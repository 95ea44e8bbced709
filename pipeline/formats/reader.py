"""Checked reading of little-endian binary artifacts: nothing is read outside the bytes given.

Every format's parser goes through a `Reader`, so that a truncated or hostile file ends in one
`ArtifactError` with the offset, whatever the format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Never

from ..errors import ArtifactError

WRONG_LENGTH = "the file is truncated or was appended to; copy or build it again"
"""The remedy where a file is not as long as it says itself."""


class Reader:
    """A view of `data` whose offsets count from `base` in error messages (a part inside a larger file)."""

    def __init__(self, data: bytes, artifact: str, *, base: int = 0) -> None:
        self.data = data
        self.artifact = artifact
        self.base = base

    def __len__(self) -> int:
        return len(self.data)

    def fail(self, message: str, offset: int | None = None, *, remedy: str | None = None) -> Never:
        """Raises the ArtifactError for this file; `offset` is within this view."""
        where = None if offset is None else self.base + offset
        raise ArtifactError(message, artifact=self.artifact, offset=where, remedy=remedy)

    def take(self, offset: int, size: int, what: str) -> bytes:
        """`size` bytes at `offset`."""
        if offset < 0 or size < 0 or offset + size > len(self.data):
            self.fail(
                f"{what} ({size} bytes at {offset:#x}) runs past the {len(self.data)} bytes there are",
                min(max(offset, 0), len(self.data)),
                remedy=WRONG_LENGTH,
            )
        return self.data[offset : offset + size]

    def u8(self, offset: int, what: str) -> int:
        return self.take(offset, 1, what)[0]

    def u16(self, offset: int, what: str) -> int:
        return int.from_bytes(self.take(offset, 2, what), "little")

    def u32(self, offset: int, what: str) -> int:
        return int.from_bytes(self.take(offset, 4, what), "little")

    def u64(self, offset: int, what: str) -> int:
        return int.from_bytes(self.take(offset, 8, what), "little")

    def words(self, offset: int, count: int, what: str) -> tuple[int, ...]:
        """`count` 32-bit words at `offset`."""
        return unpack_words(self.take(offset, 4 * count, what))

    def part(self, offset: int, size: int, what: str) -> Reader:
        """A reader of a part; its errors keep this file's offsets."""
        return Reader(self.take(offset, size, what), self.artifact, base=self.base + offset)


class HeapReader(Reader):
    """A reader for formats whose parts are found through references, wherever they lie.

    Many references to one large part would make far more in memory than the file has; so the parts
    together may be little more than the file.
    """

    def __init__(self, data: bytes, artifact: str, *, base: int = 0) -> None:
        super().__init__(data, artifact, base=base)
        self._left = 2 * len(data) + 64

    def take_part(self, offset: int, size: int, what: str) -> bytes:
        """`size` bytes at `offset`, counted."""
        self._left -= size
        if self._left < 0:
            self.fail(f"{what}: the parts of this {self.artifact} overlap", min(offset, len(self.data)))
        return self.take(offset, size, what)


def unpack_words(data: bytes) -> tuple[int, ...]:
    """The 32-bit words of `data`, whose length is a multiple of 4."""
    return struct.unpack(f"<{len(data) // 4}I", data)


def pack_words(words: Iterable[int]) -> bytes:
    """Words as little-endian bytes. Raises struct.error where one does not fit into 32 bits."""
    row = tuple(words)
    return struct.pack(f"<{len(row)}I", *row)


def ones_complement_sum(words: Iterable[int]) -> int:
    """The checksum of PDI and CDO headers: the complement of the sum of the words before it."""
    return ~sum(words) & 0xFFFFFFFF
