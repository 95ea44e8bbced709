"""How the part of an operand that one step needs travels to the core, and where it stands there.

DMAs move 32-bit words, operands may be of 1 or 2 bytes with rows of any length. Two forms:

- regular: every row of the tile begins and ends at a word in memory. The box is the tile itself, rows
  packed one after another in the core's memory.
- irregular (say i8 with an odd row length): the box is the aligned run of memory from the tile's first
  to its last element, with all that lies between; the core indexes inside it with the strides of memory.

All boxes of an operand have one length, as the core's BDs are fixed. A box never begins before its
buffer nor ends past its last word (buffers are readable up to a whole word: XRT allocates pages).

A constant of the dispatch has no boxes: it stands in the core's memory as a whole, from the start.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..npu.limits import WORD_BYTES
from .problem import Operand
from .transfers import Dimension


@dataclass(frozen=True, slots=True)
class Box:
    """One transfer: nested word strides from `offset_bytes` of the buffer, outermost first.

    The tile's first element arrives `skip_bytes` after the beginning of the core's buffer.
    """

    offset_bytes: int
    dimensions: tuple[Dimension, ...]
    skip_bytes: int


@dataclass(frozen=True, slots=True)
class BoxShape:
    """The boxes of one operand for tiles of one size: `core_strides[d]` are bytes in the core's memory."""

    operand: Operand
    words: int
    core_strides: tuple[int, ...]
    regular: bool
    dimensions: tuple[Dimension, ...]

    @property
    def size_bytes(self) -> int:
        return self.words * WORD_BYTES

    def at(self, starts: tuple[int, ...]) -> Box:
        """The box of the tile that begins at these loop values."""
        view = self.operand.view
        if view.data is not None:
            skip = sum(start * self.core_strides[d] for d, start in enumerate(starts))
            return Box(0, (), skip + view.base * view.element_bytes)
        first = sum(start * stride for start, stride in zip(starts, self.operand.strides, strict=True))
        offset = (view.base + first) * view.element_bytes
        if self.regular:
            return Box(offset, self.dimensions, 0)
        word = min(offset // WORD_BYTES, _words(view.buffer_bytes) - self.words)
        return Box(word * WORD_BYTES, self.dimensions, offset - word * WORD_BYTES)


def box_shape(operand: Operand, loops: tuple[int, ...], extents: tuple[int, ...]) -> BoxShape:
    """The form that tiles of `extents` (per loop, out of `loops`) of this operand take."""
    moving = [d for d in range(len(loops)) if operand.strides[d] and loops[d] > 1]
    if operand.resident:
        core = tuple(operand.stride_bytes(d) for d in range(len(loops)))
        return BoxShape(operand, _words(operand.view.buffer_bytes), core, regular=False, dimensions=())
    if _is_regular(operand, loops, extents, moving):
        return _regular(operand, extents, moving)
    return _irregular(operand, extents, moving)


def _is_regular(
    operand: Operand, loops: tuple[int, ...], extents: tuple[int, ...], moving: list[int]
) -> bool:
    size = operand.element_bytes
    if size >= WORD_BYTES:
        return True
    if operand.view.base * size % WORD_BYTES:
        return False
    packed = [d for d in moving if operand.stride_bytes(d) % WORD_BYTES]
    if len(packed) != 1 or operand.strides[packed[0]] != 1:
        return False
    row_bytes, tile_bytes = loops[packed[0]] * size, extents[packed[0]] * size
    return row_bytes % WORD_BYTES == 0 and tile_bytes % WORD_BYTES == 0


def _regular(operand: Operand, extents: tuple[int, ...], moving: list[int]) -> BoxShape:
    """Loops by falling stride; the packed one, if any, becomes the run of words inside."""
    order = sorted((d for d in moving if extents[d] > 1), key=operand.stride_bytes, reverse=True)
    core = [0] * len(extents)
    dimensions: list[Dimension] = []
    filled = operand.element_bytes
    for d in reversed(order):
        core[d] = filled
        filled *= extents[d]
        stride = operand.stride_bytes(d)
        if stride % WORD_BYTES:
            dimensions.insert(0, (extents[d] * stride // WORD_BYTES, 1))
        else:
            dimensions.insert(0, (extents[d], stride // WORD_BYTES))
    return BoxShape(operand, filled // WORD_BYTES, tuple(core), regular=True, dimensions=tuple(dimensions))


def _irregular(operand: Operand, extents: tuple[int, ...], moving: list[int]) -> BoxShape:
    core = [0] * len(extents)
    span = operand.element_bytes
    for d in moving:
        core[d] = operand.stride_bytes(d)
        span += (extents[d] - 1) * core[d]
    # the run may begin at any byte of a word
    words = min(_words(span + WORD_BYTES - 1), _words(operand.view.buffer_bytes))
    return BoxShape(operand, words, tuple(core), regular=False, dimensions=((words, 1),))


def _words(size_bytes: int) -> int:
    return -(-size_bytes // WORD_BYTES)
