"""Tiles cover the result, steps cover the reduction, and what the core may not do twice it does once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe.codegen.core_memory import BUFFER_BYTES, INITIAL_CHAIN_STEPS
from aiepipe.codegen.matching import match
from aiepipe.codegen.problem import Contraction
from aiepipe.codegen.tiling import Tiling, choose, tiles
from aiepipe.errors import UnsupportedOp
from aiepipe.program import Dispatch

from .dispatches import DispatchBuilder, batch_matmul, matmul, projected


def tiling(dispatch: Dispatch, tile: tuple[int, int, int] | None = None) -> Tiling:
    problem = match(dispatch)
    assert isinstance(problem, Contraction)
    return choose(problem, tile)


def starts(size: int, loop: int) -> list[tuple[int, int]]:
    """(first value, values that an earlier tile has had) of each tile along a loop."""
    return [(min(i, loop - size), max(0, i - (loop - size))) for i in range(0, loop, size)]


def work(found: Tiling) -> Counter[tuple[int, int, int]]:
    """How often each (row, column, inner) is added, from the tiles' own numbers."""
    problem = found.problem
    rows, columns, inner = (problem.loops[d] for d in (problem.row, problem.column, problem.inner))
    count: Counter[tuple[int, int, int]] = Counter()
    cells = [(r, c) for r in starts(found.rows, rows) for c in starts(found.columns, columns)]
    for tile, ((row, _), (column, _)) in zip(tiles(found), cells, strict=True):
        for step, (depth, _) in zip(tile.steps, starts(found.inner, inner), strict=True):
            # what is skipped is skipped at the beginning
            for r in range(row + found.rows - step.rows, row + found.rows):
                for c in range(column + found.columns - step.columns, column + found.columns):
                    for k in range(depth + found.inner - step.inner, depth + found.inner):
                        count[r, c, k] += 1
    return count


sizes = st.integers(1, 12)


@settings(max_examples=60, deadline=None)
@given(sizes, sizes, sizes, st.tuples(sizes, sizes, sizes))
def test_in_place_each_product_is_added_exactly_once(
    m: int, n: int, k: int, tile: tuple[int, int, int]
) -> None:
    found = work(tiling(matmul(m, n, k, fill=None), tile))
    assert set(found.values()) == {1}
    assert len(found) == m * n * k


@settings(max_examples=60, deadline=None)
@given(sizes, sizes, sizes, st.tuples(sizes, sizes, sizes))
def test_with_a_fill_each_tile_is_complete(m: int, n: int, k: int, tile: tuple[int, int, int]) -> None:
    found = tiling(matmul(m, n, k), tile)
    assert len(work(found)) == m * n * k
    for result in tiles(found):
        assert all(step.rows == found.rows and step.columns == found.columns for step in result.steps)
        assert sum(step.inner for step in result.steps) == k
        assert [step.first for step in result.steps] == [True, *[False] * (len(result.steps) - 1)]
        assert result.steps[-1].last


@pytest.mark.parametrize("size", [(256, 256, 256), (251, 253, 255), (1, 4096, 4096), (4095, 3, 77)])
@pytest.mark.parametrize("operand", ["i8", "i16", "i32"])
@pytest.mark.parametrize("start", [7, None])
def test_large_problems_fit_into_a_core(size: tuple[int, int, int], operand: str, start: int | None) -> None:
    found = tiling(matmul(*size, operand=operand, fill=start))
    assert found.left.size_bytes + found.right.size_bytes + found.result.size_bytes <= BUFFER_BYTES
    if start is None:
        assert found.steps_per_tile <= INITIAL_CHAIN_STEPS


def test_more_steps_than_a_stream_should_have_are_refused() -> None:
    """result[b] += left[b, k] * right[b, k]: no operand is used twice, each b is a step."""
    builder = DispatchBuilder()
    left, right = builder.operand(200_000, 4), builder.operand(200_000, 4)
    target = builder.binding(200_000)
    maps = (projected(2, 0, 1), projected(2, 0, 1), projected(2, 0))
    start = builder.filled(0, 200_000)
    iterators = ("parallel", "reduction")
    builder.store(builder.contraction(left, right, start, maps, (200_000, 4), iterators), target)
    with pytest.raises(UnsupportedOp, match="100000 steps"):
        tiling(builder.done())


def test_small_problems_are_one_tile() -> None:
    found = tiling(matmul(64, 64, 16))
    assert found.counts == (1, 1, 1)


def test_blocks_lie_along_the_longer_side_of_a_thin_result() -> None:
    assert tiling(matmul(64, 1, 16)).columns == 64
    assert tiling(matmul(1, 64, 16)).columns == 64


def test_each_batch_has_its_own_tiles() -> None:
    found = tiling(batch_matmul(3, 4, 5, 6))
    assert [tile.result.offset_bytes for tile in tiles(found)] == [0, 80, 160]


def test_tiles_of_packed_operands_begin_at_words() -> None:
    found = tiling(matmul(64, 64, 64, operand="i8"), (10, 10, 10))
    assert found.left.regular
    assert found.inner % 4 == 0
    assert found.columns % 4 == 0


def test_a_result_over_an_operand_has_to_be_one_tile() -> None:
    def in_place(size: int) -> Dispatch:
        builder = DispatchBuilder()
        target = builder.binding(size, size)
        left, right = builder.load(target), builder.operand(size, size)
        maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
        builder.store(builder.contraction(left, right, left, maps, (size, size, size)), target)
        return builder.done()

    assert tiling(in_place(4)).tile_count == 1  # shared/reports/38
    with pytest.raises(UnsupportedOp, match="over one of its operands"):
        tiling(in_place(128))
