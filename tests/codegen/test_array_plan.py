"""Plans: every value has its place exactly once, buffers fit, small problems take few cores."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe.codegen import array_search
from aiepipe.codegen.array_plan import CORE_BYTES, ArrayPlan, Split
from aiepipe.codegen.array_search import plans
from aiepipe.codegen.array_stream import expressible, inner_runs, rounds
from aiepipe.codegen.matching import match
from aiepipe.codegen.problem import Contraction

from .dispatches import matmul


def plans_of(m: int, n: int, k: int, *, operand: str = "i8", cores: int = 16) -> list[ArrayPlan]:
    problem = match(matmul(m, n, k, operand=operand, accumulator="f32" if operand == "bf16" else "i32"))
    assert isinstance(problem, Contraction)
    return list(plans(problem, cores=cores))


@settings(deadline=None)
@given(st.integers(1, 4096), st.integers(1, 4), st.data())
def test_parts_follow_each_other_and_differ_by_a_grain(grains: int, grain: int, data: st.DataObject) -> None:
    parts = data.draw(st.integers(1, grains))
    split = Split(grains * grain, parts, grain)
    sizes = [split.size(part) for part in range(parts)]
    assert sum(sizes) == split.total
    assert [split.start(part) for part in range(parts)] == [sum(sizes[:part]) for part in range(parts)]
    assert min(sizes) >= max(1, max(sizes) - grain)
    assert set(sizes) == set(split.sizes)
    assert [size for _, size, count in inner_runs(split) for _ in range(count)] == sizes


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 300), st.integers(1, 70), st.integers(1, 70), st.integers(1, 16))
def test_plans_keep_the_limits(m: int, n: int, k: int, cores: int) -> None:
    for plan in plans_of(m, 4 * n, 4 * k, cores=cores):
        assert plan.cores <= cores
        words = 2 * (plan.left_words + plan.right_words) + plan.result_buffers * plan.result_words
        assert 4 * words <= CORE_BYTES
        assert len(list(rounds(plan))) == plan.tile_count
        assert expressible(plan)
        assert plan.kernel.rows >= plan.rows.longest
        assert plan.kernel.columns >= plan.columns.longest
        assert plan.kernel.inner >= plan.inner.longest


def test_rows_of_broken_words_have_no_plan() -> None:
    assert plans_of(8, 8, 7) == []
    assert plans_of(8, 7, 8) == []
    assert plans_of(7, 7, 7, operand="i32") != []


@pytest.mark.parametrize("size", [(4, 4, 4), (8, 16, 64)])
def test_a_problem_of_one_group_takes_one_core(size: tuple[int, int, int]) -> None:
    assert plans_of(*size)[0].cores == 1


def test_a_further_core_has_to_be_worth_its_configuration() -> None:
    """The seed's matmul: eight cores save some 3,600 cycles, and their configuration is 18,000 bytes more."""
    best = plans_of(64, 64, 16, operand="i32")[0]
    assert best.cores < 4
    for other in plans_of(64, 64, 16, operand="i32", cores=1) + plans_of(64, 64, 16, operand="i32"):
        assert best.cycles + best.setup_cycles <= other.cycles + other.setup_cycles


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 200),
    st.integers(1, 50),
    st.integers(1, 50),
    st.integers(1, 16),
    st.sampled_from(["i8", "i16", "bf16", "i32"]),
)
def test_what_the_search_leaves_out_is_not_among_the_cheapest(
    m: int, n: int, k: int, cores: int, operand: str
) -> None:
    found = plans_of(m, 4 * n, 4 * k, operand=operand, cores=cores)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_search, "PLANS_TRIED", sys.maxsize)  # then nothing is left out
        every = plans_of(m, 4 * n, 4 * k, operand=operand, cores=cores)
    assert found == every[: array_search.PLANS_TRIED]


def test_a_large_one_takes_all() -> None:
    best = plans_of(512, 512, 512)[0]
    assert best.cores == 16
    assert best.result_buffers == 2
    assert best.bound in ("the multiplier", "the operands' way in", "the results' way out")
