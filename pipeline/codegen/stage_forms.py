"""How tensors of a staged dispatch stand in the core's memory, and the transfers of one step.

As in `boxes.py`, DMAs move words. A tensor's tile is regular where each of its rows begins and ends at a
word: then it is packed. Else it is a run: the words of memory from its first element to its last, with all
that lies between, in which the core indexes with memory's strides. A result that is a run with anything
else in it is merged: the run is loaded before and stored back, one step after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..npu.limits import WORD_BYTES
from .problem import View
from .transfers import CORE_LIMITS, Dimension, Pattern, pattern


@dataclass(frozen=True, slots=True)
class Form:
    """`strides` are bytes in the core's memory per dimension; `extents` the sizes of a whole tile."""

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    size_bytes: int
    regular: bool


@dataclass(frozen=True, slots=True)
class Transfer:
    """Words of a buffer to or from the core's memory. The tile's first element stands `skip_bytes` after
    the beginning of the core's part. `exact`: nothing but the tile's elements is touched."""

    binding: int
    offset_bytes: int
    shim: Pattern
    core: Pattern
    skip_bytes: int
    exact: bool


def packed_form(extents: tuple[int, ...], element_bytes: int) -> Form:
    """Row major, for what a stage computes."""
    strides = [0] * len(extents)
    filled = element_bytes
    for d in reversed(range(len(extents))):
        strides[d] = filled
        filled *= extents[d]
    return Form(extents, tuple(strides), filled, regular=True)


def resident_form(view: View) -> Form:
    """A constant, as it stands in the dispatch."""
    strides = tuple(stride * view.element_bytes for stride in view.strides)
    return Form(view.shape, strides, view.buffer_bytes, regular=False)


def buffer_form(view: View, extents: tuple[int, ...]) -> Form:
    """A part of a buffer, cut into tiles of `extents`."""
    size = view.element_bytes
    memory = tuple(stride * size for stride in view.strides)
    if _is_regular(view, extents):
        strides = [0] * len(extents)
        filled = size
        for d in _inner_first(view, extents):
            strides[d] = filled
            filled *= extents[d]
        return Form(extents, tuple(strides), -(-filled // WORD_BYTES) * WORD_BYTES, regular=True)
    span = size + sum((extent - 1) * stride for extent, stride in zip(extents, memory, strict=True))
    # it may begin and end at any byte of a word
    return Form(extents, memory, -(-(span + 2 * WORD_BYTES) // WORD_BYTES) * WORD_BYTES, regular=False)


def transfer(view: View, form: Form, starts: Sequence[int], counts: Sequence[int]) -> Transfer | None:
    """The tile of `counts` elements from `starts`; None where no BD has it."""
    assert view.binding is not None, "a constant is not transferred"
    size = view.element_bytes
    first = size * (view.base + sum(s * stride for s, stride in zip(starts, view.strides, strict=True)))
    if form.regular:
        outside: list[Dimension] = []
        inside: list[Dimension] = []
        for d in reversed(_inner_first(view, tuple(counts))):
            stride = view.strides[d] * size
            if stride % WORD_BYTES:
                words = counts[d] * stride // WORD_BYTES
                outside.append((words, 1))
                inside.append((words, 1))
            else:
                outside.append((counts[d], stride // WORD_BYTES))
                inside.append((counts[d], form.strides[d] // WORD_BYTES))
        if size > WORD_BYTES:
            outside.append((size // WORD_BYTES, 1))
            inside.append((size // WORD_BYTES, 1))
        shim, core = pattern(outside), pattern(inside, CORE_LIMITS)
        if shim is None or core is None:
            return None
        return Transfer(view.binding, first, shim, core, 0, exact=True)
    span = size + size * sum((c - 1) * stride for c, stride in zip(counts, view.strides, strict=True))
    begin, end = first // WORD_BYTES, -(-(first + span) // WORD_BYTES)
    words = pattern(((end - begin, 1),))
    assert words is not None, "one run is always a BD"
    elements = size
    for count in counts:
        elements *= count
    whole = first % WORD_BYTES == 0 and (
        (first + span) % WORD_BYTES == 0 or first + span == view.buffer_bytes
    )
    exact = whole and elements == span
    return Transfer(view.binding, begin * WORD_BYTES, words, words, first % WORD_BYTES, exact)


def _inner_first(view: View, counts: tuple[int, ...]) -> list[int]:
    moving = [d for d, count in enumerate(counts) if count > 1 and view.strides[d]]
    return sorted(moving, key=lambda d: view.strides[d])


def _is_regular(view: View, extents: tuple[int, ...]) -> bool:
    size = view.element_bytes
    if size >= WORD_BYTES:
        return True
    moving = [d for d, count in enumerate(view.shape) if count > 1 and view.strides[d]]
    packed = [d for d in moving if view.strides[d] * size % WORD_BYTES]
    if view.base * size % WORD_BYTES or len(packed) != 1 or view.strides[packed[0]] != 1:
        return False
    rows, tile = view.shape[packed[0]] * size, extents[packed[0]] * size
    return rows % WORD_BYTES == 0 and tile % WORD_BYTES == 0
