"""PDI: the device image that npu1's firmware loads; three headers of fixed form around one CDO.

Header words are kept as read, so that `parse(data).encode() == data`; lengths and checksums are computed.
The loader (XRT's aie-pdi-transform is its own source) takes one image of one partition, finds the CDO at
0x150, and ignores the offset fields. Sources: AMD bootgen; every PDI at hand. facts/formats.md section 2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import cdo
from .cdo import Cdo
from .reader import Reader, ones_complement_sum, pack_words

ARTIFACT = "PDI"

BUS_WIDTH_WORDS = (0x000000DD, 0x11223344, 0x55667788, 0x99AABBCC)
"""Words by which a loader finds out the width of its bus; there is no boot header before them."""

ID_CODE = 0x14CA8093  # the same for Phoenix and Strix
CDO_OFFSET = 0x150

_TABLE_OFFSET, _TABLE_WORDS = 0x10, 32
_IMAGE_OFFSET, _IMAGE_WORDS = 0x90, 16
_PARTITION_OFFSET, _PARTITION_WORDS = 0xD0, 32

_IMAGE_COUNT, _PARTITION_COUNT = 1, 3  # words of the image header table
_TOTAL, _UNENCRYPTED, _TOTAL_AGAIN = 0, 1, 2  # words of the partition header
_TRANSFORM = slice(28, 31)

# header words without the checksum at their end
TABLE = (
    0x00040000, 1, _IMAGE_OFFSET // 4, 1, _PARTITION_OFFSET // 4, 0, ID_CODE, 0,
    0, 0, 0x50504449, 0x00201020, 0x30, 0, 0, 0,
    0, 1, *[0] * 13,
)  # fmt: skip
IMAGE = (
    _PARTITION_OFFSET // 4,
    1,
    0,
    0,
    *(0x5F656961, 0x67616D69, 0x65, 0),
    0x1C000000,
    *[0] * 6,
)  # aie_image
PARTITION = (
    0, 0, 0, 0, 0, 0, 0xFFFFFFFF, 0xFFFFFFFF,
    CDO_OFFSET // 4, 0x02000006, 1, *[0] * 20,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pdi:
    """An image: its CDO, and the words of its three headers without their checksums.

    `padding` fills up to the partition's end, `tail` follows it (empty in every file at hand).
    """

    cdo: Cdo
    table: tuple[int, ...] = TABLE
    image: tuple[int, ...] = IMAGE
    partition: tuple[int, ...] = PARTITION
    padding: bytes | None = None
    tail: bytes = b""

    def encode(self) -> bytes:
        """The file; the CDO padded with zeros to 16 bytes unless `padding` says otherwise."""
        body = self.cdo.encode()
        padding = bytes(-len(body) % 16) if self.padding is None else self.padding
        partition = list(self.partition)
        partition[_UNENCRYPTED] = len(body) // 4
        partition[_TOTAL] = partition[_TOTAL_AGAIN] = (len(body) + len(padding)) // 4
        headers = (_with_checksum(words) for words in (self.table, self.image, tuple(partition)))
        return pack_words(BUS_WIDTH_WORDS) + b"".join(headers) + body + padding + self.tail


def from_files(files: Sequence[Cdo]) -> Pdi:
    """The PDI that `bootgen -arch versal` makes of these CDO files in this order."""
    return Pdi(cdo.join(files))


def is_pdi(data: bytes) -> bool:
    """Whether `data` begins like a PDI."""
    return data.startswith(pack_words(BUS_WIDTH_WORDS))


def parse(data: bytes, *, base: int = 0) -> Pdi:
    """Reads a PDI; `base` is its place in a larger file, for errors. Raises ArtifactError."""
    reader = Reader(data, ARTIFACT, base=base)
    reader.take(0, CDO_OFFSET, "the PDI's headers")
    if not is_pdi(data):
        reader.fail("no PDI here: the bus width words are missing", 0)
    table = _checked(reader, _TABLE_OFFSET, _TABLE_WORDS, "image header table")
    if table[_IMAGE_COUNT] != 1 or table[_PARTITION_COUNT] != 1:
        counts = f"{table[_IMAGE_COUNT]} images, {table[_PARTITION_COUNT]} partitions"
        reader.fail(f"a PDI of {counts}; npu1's loader takes one of each", _TABLE_OFFSET)
    image = _checked(reader, _IMAGE_OFFSET, _IMAGE_WORDS, "image header")
    partition = _checked(reader, _PARTITION_OFFSET, _PARTITION_WORDS, "partition header")
    if any(partition[_TRANSFORM]):
        reader.fail(
            "a transformed PDI (already rewritten for the loader by XRT's aie-pdi-transform)",
            _PARTITION_OFFSET + 4 * 28,
            remedy="give the PDI as the compiler wrote it",
        )
    total, length = partition[_TOTAL], partition[_UNENCRYPTED]
    if not cdo.HEADER_WORDS <= length <= total or partition[_TOTAL_AGAIN] != total:
        reader.fail(f"partition of {total} words with {length} of data", _PARTITION_OFFSET)
    body = reader.part(CDO_OFFSET, 4 * total, "the PDI's partition").data
    return Pdi(
        cdo.parse(body[: 4 * length], base=base + CDO_OFFSET),
        table,
        image,
        tuple(0 if i in (_TOTAL, _UNENCRYPTED, _TOTAL_AGAIN) else w for i, w in enumerate(partition)),
        _unless_usual(body[4 * length :], length),
        data[CDO_OFFSET + 4 * total :],
    )


def _unless_usual(padding: bytes, length_words: int) -> bytes | None:
    return None if padding == bytes(-4 * length_words % 16) else padding


def _with_checksum(words: tuple[int, ...]) -> bytes:
    return pack_words((*words, ones_complement_sum(words)))


def _checked(reader: Reader, offset: int, count: int, what: str) -> tuple[int, ...]:
    *words, checksum = reader.words(offset, count, f"the PDI's {what}")
    if checksum != ones_complement_sum(words):
        message = f"checksum of the {what} is {checksum:#010x}, not {ones_complement_sum(words):#010x}"
        reader.fail(message, offset + 4 * (count - 1))
    return tuple(words)
