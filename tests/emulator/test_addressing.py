"""Address patterns against loops written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.emulator.addressing import Piece, pattern_of
from aiepipe.npu.descriptors import BufferDescriptor


def walked(steps: tuple[int, ...], wraps: tuple[int, ...], length: int) -> list[int]:
    """Counters with carry, as the hardware has them; wrap 0 is unbounded."""
    counters = [0] * len(steps)
    found: list[int] = []
    for _ in range(length):
        found.append(sum(counter * step for counter, step in zip(counters, steps, strict=True)))
        for number, wrap in enumerate((*wraps, 0)):
            counters[number] += 1
            if wrap == 0 or counters[number] < wrap:
                break
            counters[number] = 0
    return found


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), min_size=2, max_size=4),
    st.integers(1, 200),
    st.integers(0, 1000),
    st.data(),
)
def test_any_pattern_is_what_counters_walk(
    dimensions: list[tuple[int, int]], length: int, base: int, data: st.DataObject
) -> None:
    steps = tuple(step for _, step in dimensions)
    wraps = tuple(wrap for wrap, _ in dimensions[:-1])
    pattern = pattern_of(BufferDescriptor(0, length, steps=steps, wraps=wraps))
    start = data.draw(st.integers(0, length - 1))
    count = data.draw(st.integers(1, length - start))
    piece = pattern.piece(base, start, count)
    expected = [base + offset for offset in walked(steps, wraps, length)[start : start + count]]
    assert piece.indices().tolist() == expected
    assert (piece.lowest, piece.highest, piece.count) == (min(expected), max(expected), count)


def test_rows_without_gaps_are_one_slice() -> None:
    pattern = pattern_of(BufferDescriptor(0, 512, steps=(1, 16, 64), wraps=(16, 4)))
    assert pattern.contiguous
    assert pattern.piece(100, 5, 20) == Piece(105, 124, 20)


def test_a_long_transfer_is_not_expanded_as_a_whole() -> None:
    length = 0xFFFFFFFF
    piece = pattern_of(BufferDescriptor(0, length, steps=(2, 1, 1), wraps=(0, 0))).piece(10, length - 3, 3)
    assert piece.indices().tolist() == [10 + 2 * (length - 3 + i) for i in range(3)]


@pytest.mark.parametrize("unbounded", [True, False])
def test_padding_surrounds_each_dimension(unbounded: bool) -> None:
    """A 2x3x4 block, padded as numpy.pad does it; -1 is a zero word."""
    before, after = (1, 2, 1), (2, 0, 3)
    block = np.arange(24).reshape(2, 3, 4)
    want = np.pad(block, [(1, 0 if unbounded else 3), (2, 0), (1, 2)], constant_values=-1).reshape(-1)
    pattern = pattern_of(
        BufferDescriptor(
            0, want.size, steps=(1, 4, 12, 1), wraps=(4, 3, 0 if unbounded else 2), zeros_before=before,
            zeros_after=(2, 0, 0) if unbounded else after,
        )
    )  # fmt: skip
    piece = pattern.piece(50, 0, want.size)
    assert piece.padded
    assert piece.indices().tolist() == np.where(want < 0, -1, want + 50).tolist()
    assert (piece.lowest, piece.highest) == (50, 73)


def test_padding_behind_an_unbounded_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="zeros after D1 need a wrap of D1"):
        pattern_of(BufferDescriptor(0, 8, steps=(1, 4, 1, 1), wraps=(4, 0, 0), zeros_after=(0, 1, 0)))


def test_runs_are_the_stretches_of_consecutive_words() -> None:
    starts, lengths = Piece.of(np.array([5, 6, 7, 3, 10, 11])).runs
    assert starts.tolist() == [5, 3, 10]
    assert lengths.tolist() == [3, 1, 2]
