"""Buffers of a core by banks of 16 KiB: apart where there is room, and never over one another."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.codegen.bank_layout import BANK_BYTES, BankedPlaces, place_in_banks

STACK, MEMORY = 0x400, 0x10000


def spans(found: BankedPlaces, left: int, right: int, result: int) -> list[tuple[int, int]]:
    sizes = [(found.left, left), (found.right, right), (found.result, result)]
    return [(start, start + size) for places, size in sizes for start in places]


def banks(places: tuple[int, ...], size: int) -> set[int]:
    return {byte // BANK_BYTES for start in places for byte in (start, start + size - 1)}


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (6144, 6144, 16384),  # bf16, 64 x 64 x 48: banks 0, 1, and one for each result
        (6656, 6656, 16384),  # i8, 64 x 64 x 104
        (8192, 4096, 8192),  # i16, 64 x 32 x 64: A fills a bank but for the stack
    ],
)
def test_operands_and_results_of_real_plans_share_no_bank(left: int, right: int, result: int) -> None:
    found = place_in_banks(left, right, [result, result], 0)
    used = [banks(found.left, left), banks(found.right, right), banks(found.result, result)]
    assert all(not (a & b) for a, b in itertools.combinations(used, 2))


@given(
    st.integers(1, 200).map(lambda n: 32 * n),
    st.integers(1, 200).map(lambda n: 32 * n),
    st.lists(st.just(4096), min_size=1, max_size=2),
    st.integers(0, 4096),
)
def test_nothing_overlaps_and_all_is_inside(left: int, right: int, results: list[int], rest: int) -> None:
    found = place_in_banks(left, right, results, rest)
    taken = sorted(spans(found, left, right, 4096))
    assert taken[0][0] >= STACK
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(taken))
    assert taken[-1][1] <= found.end <= MEMORY - rest
