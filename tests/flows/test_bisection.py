"""Halving with four verdicts, least sets of changes, dumps of passes: the logic, without any compiler."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.flows.bisection import Line, minimal_changes
from aiepipe.flows.pass_dumps import first_difference, split_dump
from aiepipe.verdict import Outcome, Trial

OUTCOMES = {"r": Outcome.RIGHT, "w": Outcome.WRONG, "e": Outcome.ERROR, "c": Outcome.CRASH}


def line(verdicts: str) -> Line[int]:
    return Line(range(len(verdicts)), lambda i: Trial(str(i), OUTCOMES[verdicts[i]]))


@pytest.mark.parametrize(
    ("verdicts", "changes"),
    [
        ("rrrrwwww", [3]),
        ("rw", [0]),
        ("rrrr", []),
        ("r", []),
        # an error between right and wrong is a verdict of its own
        ("rrrreeww", [3, 5]),
        ("rccccccw", [0, 6]),
        ("wwwwwwwr", [6]),
        # ends that agree: nothing to find, whatever is between
        ("rrwwrr", []),
    ],
)
def test_each_transition_on_the_way_is_found(verdicts: str, changes: list[int]) -> None:
    assert line(verdicts).transitions() == changes


def test_few_points_are_tried_and_none_twice() -> None:
    tried: list[int] = []

    def judge(point: int) -> Trial:
        tried.append(point)
        return Trial(str(point), Outcome.RIGHT if point < 700 else Outcome.WRONG)

    assert Line(range(1024), judge).transitions() == [699]
    assert len(tried) == len(set(tried)) <= 12


def test_answers_tell_trials_of_one_outcome_apart() -> None:
    answers = ["each call", "each call", "start-up"]
    found = Line(range(3), lambda i: Trial(str(i), Outcome.RIGHT, answers[i]))
    assert found.transitions() == [1]


@given(st.lists(st.sampled_from("rwec"), min_size=2, max_size=40))
def test_what_is_found_is_a_change_and_the_ends_are_explained(verdicts: list[str]) -> None:
    changes = line("".join(verdicts)).transitions()
    assert all(verdicts[i] != verdicts[i + 1] for i in changes)
    assert bool(changes) == (verdicts[0] != verdicts[-1])


@given(st.integers(1, 24), st.data())
def test_the_least_set_of_changes_is_found(total: int, data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.integers(0, total - 1), min_size=1, max_size=min(total, 4)))

    def changed(part: Sequence[int]) -> bool:
        return wanted <= set(part)

    assert set(minimal_changes(range(total), changed)) == wanted


DUMP = """some talk
// -----// IR Dump After CanonicalizerPass (canonicalize) //----- //
module { a }
// -----// IR Dump After CSEPass (cse) ('func.func' operation: @x) //----- //
module { b }
// -----// IR Dump After CanonicalizerPass (canonicalize) //----- //
module { %s }
"""


def test_a_dump_is_split_by_pass_with_its_number() -> None:
    found = split_dump(DUMP % "c")
    assert [(p.name, p.text) for p in found] == [
        ("CanonicalizerPass", "module { a }"),
        ("CSEPass", "module { b }"),
        ("CanonicalizerPass#2", "module { c }"),
    ]
    assert split_dump("") == []


def test_the_first_pass_that_differs_is_named_with_a_diff() -> None:
    one, other = split_dump(DUMP % "c"), split_dump(DUMP % "d")
    found = first_difference(one, other)
    assert found is not None
    assert (found.name, found.after) == ("CanonicalizerPass#2", "CSEPass")
    assert "-module { c }" in found.diff
    assert first_difference(one, one) is None
    shorter = first_difference(one, one[:2])
    assert shorter is not None
    assert shorter.name == "CanonicalizerPass#2 in one only"
    failed = first_difference(one, [])
    assert failed is not None
    assert failed.name.startswith("none")
