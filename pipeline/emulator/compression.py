"""Words that a DMA channel compresses on their way into a stream, or decompresses on their way out.

Eight words of memory at a time: in the stream stands a mask with a bit for each of their 32 bytes, set where
it is not zero, then those bytes, the lowest first, filled up with zeros to whole words. A BD's length counts
words of memory. Sources: AMD's AI Engine-ML intrinsics guide (compressed loads: mask and bytes); the rest is
found by what mlir-aie's example basic/dma_compression has of a Phoenix, SHA-256 sums of what its DMAs sent
and received, which this meets (tests/emulator/test_compression.py). A BD that is no multiple of eight words
is refused: nothing says what becomes of its last group.
"""

from __future__ import annotations

import numpy as np

from ..npu.limits import WORD_BYTES
from .streams import Words

GROUP_WORDS = 8
"""Words that share a mask: 256 bits."""

_GROUP_BYTES = GROUP_WORDS * WORD_BYTES


def compress(words: Words) -> Words:
    """What stands in the stream for `words`, a whole number of groups."""
    data = words.view(np.uint8).reshape(-1, _GROUP_BYTES)
    present = data != 0
    masks = np.packbits(present, axis=1, bitorder="little").view(np.uint32).reshape(-1)
    sizes = 1 + -(-present.sum(axis=1) // WORD_BYTES)
    starts = np.cumsum(sizes) - sizes
    packed = np.zeros(int(sizes.sum()), np.uint32)
    packed[starts] = masks
    place = WORD_BYTES * (starts + 1)[:, np.newaxis] + np.cumsum(present, axis=1) - 1
    packed.view(np.uint8)[place[present]] = data[present]
    return packed


class Unpacker:
    """Takes the words of a compressed stream and gives those of memory."""

    def __init__(self) -> None:
        self._mask: int | None = None
        self.wanted = 1
        """Words of the stream until the next group, or its mask, is complete."""
        self._taken: list[Words] = []

    def put(self, words: Words) -> Words:
        """The group that is complete with `words`, at most `wanted` of them; nothing where none is."""
        self._taken.append(words)
        self.wanted -= words.size
        if self.wanted:
            return _NOTHING
        taken = np.concatenate(self._taken)
        self._taken.clear()
        if self._mask is None:
            self._mask = int(taken[0])
            self.wanted = -(-self._mask.bit_count() // WORD_BYTES)
            if self.wanted:
                return _NOTHING
            taken = _NOTHING
        group = _expand(self._mask, taken)
        self._mask, self.wanted = None, 1
        return group


_NOTHING: Words = np.zeros(0, np.uint32)


def _expand(mask: int, packed: Words) -> Words:
    present = np.unpackbits(np.array([mask], np.uint32).view(np.uint8), bitorder="little").astype(np.bool_)
    data = np.zeros(_GROUP_BYTES, np.uint8)
    data[present] = packed.view(np.uint8)[: mask.bit_count()]
    return data.view(np.uint32)
