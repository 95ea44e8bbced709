"""Rates over repeats."""

from __future__ import annotations

import numpy as np
import pytest

from aiepipe.program import TensorType
from aiepipe.verdict import Comparison
from aiepipe.verify.comparison import compare
from aiepipe.verify.statistics import RepeatOutcome, outcome, summarise, wilson


@pytest.mark.parametrize(
    ("wrong", "runs", "low", "high"),
    [
        # Newcombe, "Interval estimation for the difference between independent proportions" (1998), method 3
        (56, 70, 0.6921, 0.8768),
        (0, 10, 0.0, 0.2775),
        (9, 10, 0.5958, 0.9821),
        (10, 10, 0.7225, 1.0),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson(wrong: int, runs: int, low: float, high: float) -> None:
    assert wilson(wrong, runs) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))


def run(*wrong_lines: int) -> list[Comparison]:
    want = np.full((64, 16), 39, np.int32)  # a row is a line
    got = want.copy()
    got[list(wrong_lines)] = 0
    return [compare("result 0", got, want, TensorType((64, 16), "i32"))]


def test_runs_together() -> None:
    runs = [outcome(run(*lines)) for lines in ((), (3,), (), (3, 9))]
    assert [r.wrong for r in runs] == [False, True, False, True]
    told = summarise(runs)
    assert (told.runs, told.wrong_runs, told.rate, told.first_wrong_run) == (4, 2, 0.5, 2)
    assert told.rate_low < 0.5 < told.rate_high
    assert (told.wrong_lines, told.lines_per_wrong_run) == (2, 1.5)
    assert [(line.line, line.wrong_runs) for line in told.lines] == [(3, 2), (9, 1)]


def test_no_wrong_run() -> None:
    told = summarise([RepeatOutcome({})])
    assert (told.wrong_runs, told.rate_low, told.first_wrong_run, told.lines) == (0, 0.0, None, ())
