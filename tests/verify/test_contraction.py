"""Sums of products: exact integers whatever the path, and every assignment of loops to factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.verify.contraction import sum_of_products, sum_of_products_modulo


def exact(left: npt.NDArray[Any], right: npt.NDArray[Any], reduced: tuple[int, ...], bits: int) -> Any:
    """Python's integers, which have no width."""
    product = left.astype(object) * right.astype(object)
    total = product.sum(axis=reduced)
    return ((np.asarray(total) + (1 << (bits - 1))) % (1 << bits)) - (1 << (bits - 1))


@given(
    data=st.data(),
    bits=st.sampled_from([8, 16, 32, 64]),
    operand_bits=st.sampled_from([8, 16, 31, 32, 63]),
    inner=st.integers(1, 40),
)
def test_integers_are_exact_modulo_their_width(
    data: st.DataObject, bits: int, operand_bits: int, inner: int
) -> None:
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    high = 1 << (operand_bits - 1)
    left = draw.integers(-high, high, (3, 1, inner), dtype=np.int64)
    right = draw.integers(-high, high, (1, 2, inner), dtype=np.int64)
    if data.draw(st.booleans()):
        left[...], right[...] = -high, -high
    got = sum_of_products_modulo(left, right, (3, 2, inner), (2,), bits)
    assert got.tolist() == exact(left, right, (2,), bits).tolist()


@given(
    loops=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    data=st.data(),
)
def test_any_loops(loops: list[int], data: st.DataObject) -> None:
    rank = len(loops)
    choose = st.lists(st.booleans(), min_size=rank, max_size=rank)
    in_left, in_right, is_reduced = (data.draw(choose) for _ in range(3))
    shapes = [
        [n if there else 1 for n, there in zip(loops, used, strict=True)] for used in (in_left, in_right)
    ]
    draw = np.random.default_rng(0)
    left, right = (draw.integers(-9, 9, shape, dtype=np.int64) for shape in shapes)
    reduced = tuple(i for i, r in enumerate(is_reduced) if r)
    whole = np.broadcast_to(left * right, loops)
    want = whole.sum(axis=reduced)
    for kind in (np.int64, np.float64):
        got = sum_of_products(left.astype(kind), right.astype(kind), loops, reduced)
        assert got.shape == want.shape
        assert np.array_equal(got, want)


@pytest.mark.parametrize("reduced", [(2,), (0, 2)])
def test_empty_loops(reduced: tuple[int, ...]) -> None:
    got = sum_of_products(np.zeros((2, 1, 0)), np.zeros((1, 3, 0)), (2, 3, 0), reduced)
    assert got.tolist() == np.zeros([n for i, n in enumerate((2, 3, 0)) if i not in reduced]).tolist()


def test_limbs_are_used_where_float64_would_lose_bits() -> None:
    # 2^31 * 2^31 * 64 = 2^68: far beyond 2^53
    left, right = np.full((1, 1, 64), 2**31 - 1), np.full((1, 1, 64), 2**31 - 1)
    got = sum_of_products_modulo(left, right, (1, 1, 64), (2,), 32)
    assert got.tolist() == [[64]]  # (2^31 - 1)^2 is 1 modulo 2^32
