"""A BD's addressing says the same as the nested loops it was made from."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from aiepipe.codegen.transfers import Dimension, Pattern, pattern


def loop_words(dimensions: list[Dimension]) -> list[int]:
    """Word offsets of the nested loops, outermost first."""
    ranges = (range(count) for count, _ in dimensions)
    strides = [stride for _, stride in dimensions]
    return [
        sum(i * stride for i, stride in zip(index, strides, strict=True))
        for index in itertools.product(*ranges)
    ]


def pattern_words(found: Pattern) -> list[int]:
    """Word offsets that the DMA visits (aie2-isa.md section 7: wrap 0 is unbounded)."""
    words: list[int] = []
    for number in range(found.length_words):
        rest, offset = number, 0
        for step, wrap in zip(found.steps, (*found.wraps, 0), strict=True):
            if not wrap:
                offset += rest * step
                break
            offset += rest % wrap * step
            rest //= wrap
        words.append(offset)
    return words


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 40)), max_size=4))
def test_a_pattern_visits_the_words_of_its_loops(dimensions: list[Dimension]) -> None:
    found = pattern(dimensions)
    if found is not None:
        assert pattern_words(found) == loop_words(dimensions)


def test_three_dimensions_always_have_a_pattern() -> None:
    assert pattern(((4, 1000), (8, 100), (16, 1))) == Pattern(512, (1, 100, 1000), (16, 8))


def test_adjacent_runs_are_one() -> None:
    assert pattern(((64, 16), (16, 1))) == Pattern(1024, (1, 1, 1), (0, 0))


def test_a_row_longer_than_a_wrap_takes_two_dimensions() -> None:
    found = pattern(((3, 4096), (2046, 1)))
    assert found is not None
    assert max(found.wraps) <= 1023
    assert pattern_words(found) == loop_words([(3, 4096), (2046, 1)])


def test_what_no_descriptor_has_is_none() -> None:
    assert pattern(((2, 5000), (2, 500), (2, 50), (3, 5))) is None  # four dimensions
    assert pattern(((2, 4096), (1031, 1))) is None  # a prime row of more than 1023 words
    assert pattern(((2, 1 << 21), (3, 1))) is None  # a step of more than 20 bits
    assert pattern(((3, 0), (4, 1))) is None  # steps are stored minus one
