"""The device's address space, and the joining of what a run touched."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.errors import EmulationError
from aiepipe.xrt.intervals import Intervals
from aiepipe.xrt.memory import CachedMemory, Coherency
from aiepipe.xrt.space import AddressSpace, joined


def space_of(*sizes: int) -> AddressSpace:
    space = AddressSpace()
    for index, size in enumerate(sizes):
        space.allocate(CachedMemory(size, Coherency.X86_CLFLUSH), f"b{index}")
    return space


def test_reads_and_writes_reach_ddr_and_are_recorded() -> None:
    space = space_of(64, 64)
    first, second = space
    space.write(second.address + 4, np.array([1, 2], np.uint8))
    assert space.read(second.address + 4, 2).tolist() == [1, 2]
    assert space.peek(second.address, 1).tolist() == [0]
    assert (second.reads, second.writes) == ([(4, 2)], [(4, 2)])
    assert (first.reads, first.writes) == ([], [])


def test_what_is_read_is_a_copy() -> None:
    space = space_of(64)
    (only,) = space
    space.read(only.address, 4)[:] = 9
    assert space.read(only.address, 4).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("offset", "length", "text"),
    [
        (60, 8, "runs 4 bytes past the end of b0"),
        (64, 4, "0 bytes past the end of b0"),
        (100, 4, "36 bytes past the end of b0"),
        (-4, 4, "below every buffer"),
    ],
)
def test_an_access_that_is_not_wholly_in_one_buffer(offset: int, length: int, text: str) -> None:
    space = space_of(64, 64)
    first, _ = space
    for access in (
        lambda: space.read(first.address + offset, length),
        lambda: space.write(first.address + offset, np.zeros(length, np.uint8)),
    ):
        with pytest.raises(EmulationError, match=text) as caught:
            access()
        assert caught.value.kind == "out-of-range"


def test_a_freed_buffer_is_out_of_range_and_its_address_is_not_given_again() -> None:
    space = space_of(64, 64)
    first, second = space
    space.read(first.address, 4)
    space.free(first.id)
    with pytest.raises(EmulationError):
        space.read(first.address, 4)
    space.allocate(CachedMemory(64, Coherency.X86_CLFLUSH), "b2")
    assert [a.label for a in space] == ["b1", "b2"]
    assert all(a.address != first.address for a in space)
    assert space.read(second.address, 4).size == 4
    space.free(first.id)


def test_touching_ranges_are_joined() -> None:
    assert joined([]) == []
    assert joined([(8, 4), (0, 4), (4, 4), (20, 4), (21, 1)]) == [(0, 12), (20, 4)]


ranges = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12)


@given(ranges)
def test_joining_keeps_the_bytes(parts: list[tuple[int, int]]) -> None:
    def covered(pieces: list[tuple[int, int]]) -> set[int]:
        return {byte for offset, length in pieces for byte in range(offset, offset + length)}

    result = joined(parts)
    assert covered(result) == covered(parts)
    assert all(a + n < b for (a, n), (b, _) in itertools.pairwise(result))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 60), st.integers(0, 60)), max_size=20))
def test_intervals_are_a_set_of_bytes(steps: list[tuple[bool, int, int]]) -> None:
    intervals, model = Intervals(), set[int]()
    for add, low, high in steps:
        if add:
            intervals.add(low, high)
            model |= set(range(low, high))
        else:
            intervals.remove(low, high)
            model -= set(range(low, high))
    pieces = list(intervals)
    assert {byte for low, high in pieces for byte in range(low, high)} == model
    assert all(a < b for a, b in pieces)
    assert all(b <= c for (_, b), (c, _) in itertools.pairwise(pieces))
    assert bool(intervals) is bool(model)
    for low, high in ((0, 30), (10, 11), (40, 60)):
        inside = set(range(low, high)) & model
        assert intervals.overlaps(low, high) is bool(inside)
        assert {b for low_, high_ in intervals.within(low, high) for b in range(low_, high_)} == inside
