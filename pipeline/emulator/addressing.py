"""Where a BD's words lie: N-d patterns of wraps and steps, zero padding, in pieces of any size.

A wrap is the trip count of its dimension and 0 is unbounded; the highest dimension has a step only (see
`npu.descriptors`). Padding inserts words of zeros in front of and behind each dimension, lower dimensions
inside higher ones; the BD's length counts them (mlir-aie's verifier says so: "Data exceeds len after
padding"). A pattern is turned into index arrays once and kept, as designs execute few BDs many times.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ..npu.descriptors import BufferDescriptor

Indices = npt.NDArray[np.int64]

KEPT_WORDS = 1 << 17
"""Patterns up to the longest BD of a memory tile are expanded as a whole and kept."""

_KEPT_PATTERNS = 256

_KEPT_PIECE = 4096
"""Pieces up to this many words are kept too: loops over buffers ask for the same ones again and again."""

_PAD = -(1 << 60)
"""Marks padding while a pattern is built: below zero whatever is added to it."""


@dataclass(frozen=True)
class Piece:
    """Some words of a memory, in order: `count` from `lowest` on, or the words that `index` lists.

    `padded`: some indices are -1, a word of zeros that comes from no memory. What is derived from a piece is
    kept with it, as designs use the same ones again and again.
    """

    lowest: int
    highest: int
    count: int
    index: Indices | None = None
    padded: bool = False

    @classmethod
    def of(cls, index: Indices) -> Self:
        """The words that `index` (not empty, no padding) lists."""
        return cls(int(index.min()), int(index.max()), index.size, index)

    def moved(self, words: int) -> Piece:
        """The same words relative to another origin."""
        if self.index is None:
            return Piece(self.lowest + words, self.highest + words, self.count)
        found = self._moved.get(words)
        if found is None:
            index = np.where(self.index < 0, -1, self.index + words) if self.padded else self.index + words
            found = Piece(self.lowest + words, self.highest + words, self.count, index, self.padded)
            self._moved[words] = found
        return found

    @functools.cached_property
    def _moved(self) -> dict[int, Piece]:
        return {}

    def indices(self) -> Indices:
        """The words one by one."""
        return np.arange(self.lowest, self.lowest + self.count) if self.index is None else self.index

    @functools.cached_property
    def runs(self) -> tuple[Indices, Indices]:
        """First word and length of each stretch of consecutive words, in order (no padding)."""
        index = self.indices()
        breaks = np.flatnonzero(np.diff(index) != 1) + 1
        first = np.concatenate((np.zeros(1, np.int64), breaks))
        return index[first], np.diff(np.concatenate((first, np.array([index.size]))))


@dataclass(frozen=True, slots=True)
class Pattern:
    """The address pattern of a BD in words, relative to its start. `dimensions`: (wrap, step) pairs.

    Dimension by dimension, lowest first; the last has wrap 0 (unbounded). Build it with `pattern_of`.
    """

    length: int
    dimensions: tuple[tuple[int, int], ...]
    padding: tuple[tuple[int, int], ...] = ()

    @property
    def contiguous(self) -> bool:
        return not self.padding and self.dimensions == ((0, 1),)

    def piece(self, base: int, start: int, count: int) -> Piece:
        """Words `start` to `start + count - 1` (count > 0) of the transfer that begins at word `base`."""
        if self.contiguous:
            return Piece(base + start, base + start + count - 1, count)
        return (
            _kept_piece(self, base, start, count)
            if count <= _KEPT_PIECE
            else _piece(self, base, start, count)
        )


@functools.lru_cache(maxsize=1024)
def pattern_of(descriptor: BufferDescriptor, *, padded: bool = True) -> Pattern:
    """The pattern of a BD. Its padding applies to the three lowest dimensions; channels that write have none
    (`padded`; AM020: zeros are inserted by MM2S channels).

    Raises ValueError when a padded dimension is unbounded though there is data or padding beyond it.
    """
    dimensions: list[tuple[int, int]] = []
    for number, step in enumerate(descriptor.steps):
        wrap = descriptor.wraps[number] if number < len(descriptor.wraps) else 0
        dimensions.append((wrap, step))
        if wrap == 0:
            break
    padding = tuple(zip(descriptor.zeros_before, descriptor.zeros_after, strict=True))
    if not padded or not any(before or after for before, after in padding):
        return Pattern(descriptor.length_words, _simplified(dimensions))
    bounded = sum(1 for wrap, _ in dimensions if wrap)
    # aie-rt's rule for a padding configuration: behind an unbounded dimension nothing can be padded
    for number, (before, after) in enumerate(padding):
        if number > bounded and (before or after):
            raise ValueError(f"padding of D{number} needs a wrap of D{number - 1}")
        if number == bounded and after:
            raise ValueError(f"zeros after D{number} need a wrap of D{number}")
    return Pattern(descriptor.length_words, tuple(dimensions), padding)


def _piece(pattern: Pattern, base: int, start: int, count: int) -> Piece:
    if pattern.length <= KEPT_WORDS:
        offsets = _expanded(pattern)[start : start + count]
    else:
        offsets = _offsets(pattern, start, count)
    if not pattern.padding:
        return Piece.of(offsets + base)
    real = offsets >= 0
    index = np.where(real, offsets + base, -1)
    if not real.any():
        return Piece(base, base, count, index, padded=True)
    return Piece(int(index[real].min()), int(index.max()), count, index, padded=not bool(real.all()))


_kept_piece = functools.lru_cache(maxsize=1024)(_piece)


def _simplified(dimensions: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Joins dimensions that together are one, such as rows that follow each other without a gap."""
    joined = [dimensions[0]]
    for wrap, step in dimensions[1:]:
        inner_wrap, inner_step = joined[-1]
        if inner_wrap and step == inner_wrap * inner_step:
            joined[-1] = (inner_wrap * wrap, inner_step)
        elif inner_wrap == 1:
            joined[-1] = (wrap, step)
        else:
            joined.append((wrap, step))
    return tuple(joined)


@functools.lru_cache(maxsize=_KEPT_PATTERNS)
def _expanded(pattern: Pattern) -> Indices:
    offsets = _padded(pattern) if pattern.padding else _offsets(pattern, 0, pattern.length)
    offsets.flags.writeable = False
    return offsets


def _offsets(pattern: Pattern, start: int, count: int) -> Indices:
    rest = np.arange(start, start + count, dtype=np.int64)
    offsets = np.zeros(count, np.int64)
    for wrap, step in pattern.dimensions:
        if wrap == 0:
            offsets += rest * step
            break
        offsets += rest % wrap * step
        rest //= wrap
    return offsets


def _padded(pattern: Pattern) -> Indices:
    """Offsets of the whole transfer with -1 for each word of padding."""
    dimensions = list(pattern.dimensions)
    wraps = [wrap for wrap, _ in dimensions]
    before = [pair[0] for pair in pattern.padding]
    after = [pair[1] for pair in pattern.padding]
    # the unbounded dimension gets as many trips as the length needs
    block = 1
    for number, wrap in enumerate(wraps[:-1] if wraps[-1] == 0 else wraps):
        pads = before[number] + after[number] if number < len(before) else 0
        block *= wrap + pads
    if wraps[-1] == 0:
        wraps[-1] = max(1, -(-pattern.length // block))
        dimensions[-1] = (wraps[-1], dimensions[-1][1])
    grid = np.zeros((), np.int64)
    for number, (wrap, step) in enumerate(dimensions):
        axis = np.arange(wrap, dtype=np.int64) * step
        grid = grid[np.newaxis] + axis.reshape(-1, *([1] * grid.ndim))
        pads = (before[number], after[number]) if number < len(before) else (0, 0)
        grid = np.pad(grid, [pads] + [(0, 0)] * (grid.ndim - 1), constant_values=_PAD)
    flat = np.where(grid < 0, -1, grid).reshape(-1)
    if flat.size < pattern.length:
        flat = np.concatenate((flat, np.full(pattern.length - flat.size, -1, np.int64)))
    return flat[: pattern.length].copy()
