"""A wrong repeat is read once more before it is called wrong for good: T001."""

from __future__ import annotations

import numpy as np

from aiepipe.flows.judgement import Expectation, Judge
from aiepipe.program import TensorType
from aiepipe.verdict import Agreement, BuildRunReport, Tolerance
from aiepipe.xrt.policy import DEFAULT
from aiepipe.xrt.results import Repeat, RunResult

TYPE = TensorType((4,), "i32")
RIGHT, WRONG = np.full(4, 3, np.int32), np.zeros(4, np.int32)


def judged(first: np.ndarray, second: np.ndarray) -> BuildRunReport:
    judge = Judge([Expectation("result 0", TYPE, RIGHT, Tolerance(0, 0, "exact"), "numpy")])
    judge.look(Repeat(1, (first,), (), 0.0, None, lambda: (second,)))
    result = RunResult(((first,),), (0,), (), (), DEFAULT, None, (0.0,), None, ())
    return judge.report(BuildRunReport("run", "x"), result, ())


def test_right_on_the_second_reading_is_the_drivers_flush() -> None:
    report = judged(WRONG, RIGHT)
    assert report.agreement is Agreement.FAIL
    (warning,) = report.warnings
    assert warning.startswith("T001: 1 of 1 wrong repeats")
    assert "49fbb59c" in warning


def test_wrong_twice_is_not() -> None:
    assert judged(WRONG, WRONG).warnings == ()


def test_a_right_one_is_not_read_again() -> None:
    assert judged(RIGHT, WRONG).agreement is Agreement.PASS
