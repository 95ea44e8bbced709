"""Every repeat against what is expected of it, and what the whole of them says.

The first wrong repeat is described in full; the others are counted, with the lines that were wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from ..program import HostFunction, Result, SourceFunction, TensorType
from ..verdict import (
    Agreement,
    BuildRunReport,
    Comparison,
    Diagnosis,
    HostEvent,
    RunStatistics,
    SyncFinding,
    Tolerance,
)
from ..verify.case import Case, Share
from ..verify.comparison import compare
from ..verify.diagnosis import diagnose
from ..verify.reference import Reference
from ..verify.statistics import RepeatOutcome, outcome, summarise
from ..verify.tolerance import by_type, derived
from ..verify.values import load
from ..xrt.array_watch import ArrayWatch
from ..xrt.failures import BY_CODE
from ..xrt.results import POISON, Repeat, RunResult
from .problem import check_count

Array = npt.NDArray[Any]

NUMPY = "=numpy"
"""Ends an expected output that numpy is to compute; before it stands the type."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What one result should be, and how near is near enough. `against` says who says so; `bound` is per
    element, where the reference gave one; `buffer` is where the result lies, `previous` what the caller
    put there (a result may overwrite an argument)."""

    name: str
    type: TensorType
    want: Array
    tolerance: Tolerance
    against: str
    bound: npt.NDArray[np.float64] | None = None
    buffer: str | None = None
    previous: Array | None = None


@dataclass(frozen=True, slots=True)
class Recomputable:
    """The source function and its inputs; `shares` says, for the index of a result, which way each of its
    bytes left the array."""

    function: SourceFunction
    inputs: tuple[Array, ...]
    shares: Callable[[int], tuple[Share, ...]] = lambda _: ()


def buffer_of(result: Result) -> str | None:
    """The name of the buffer that holds a whole result; None where it is a part of one."""
    part = result.slice
    return None if part is None or part.offset_bytes else part.buffer


def previous_of(function: HostFunction, result: Result, inputs: Sequence[Array]) -> Array | None:
    """What the caller put where `result` comes to lie; None where that is no argument of its shape."""
    name = buffer_of(result)
    for buffer in function.buffers:
        if buffer.name == name and buffer.argument is not None:
            given = inputs[buffer.argument]
            return given if given.shape == result.type.shape else None
    return None


def given_expectations(
    function: HostFunction, texts: Sequence[str], inputs: Sequence[Array], reference: Reference | None = None
) -> tuple[Expectation, ...]:
    """What `--expected-output` says, one per result. Raises UsageError.

    `TYPE=numpy` stands for what the reference computes; the type is checked. How near is near enough
    follows from the reference's bounds, where there is one.
    """
    check_count(function.name, "result", [str(result.type) for result in function.results], texts)
    found: list[Expectation] = []
    for index, (text, result) in enumerate(zip(texts, function.results, strict=True)):
        name, type_ = f"result {index}", result.type
        numpys = text.endswith(NUMPY)
        want = load(text.removesuffix(NUMPY), type_, f"the expected {name} of {function.name}")
        if numpys and reference is None:
            raise UsageError(
                f"{text!r} needs the source", remedy="give the value, or use build-run on the MLIR file"
            )
        if numpys and reference is not None:
            want = reference.results[index]
        bound = None if reference is None else reference.bounds[index]
        tolerance = by_type(type_.element) if bound is None else derived(type_, bound)
        found.append(
            Expectation(
                name,
                type_,
                want,
                tolerance,
                "numpy" if numpys else "--expected-output",
                bound,
                buffer_of(result),
                previous_of(function, result, inputs),
            )
        )
    return tuple(found)


def numpy_expectations(
    function: HostFunction, evaluated: Reference, inputs: Sequence[Array]
) -> tuple[Expectation, ...]:
    """What the reference says of each result, as near as its bounds."""
    return tuple(
        Expectation(
            f"result {i}",
            result.type,
            want,
            derived(result.type, bound),
            "numpy",
            bound,
            buffer_of(result),
            previous_of(function, result, inputs),
        )
        for i, (result, want, bound) in enumerate(
            zip(function.results, evaluated.results, evaluated.bounds, strict=True)
        )
    )


class Judge:
    """Looks at each repeat as it ends; keeps the first wrong one, else the last."""

    def __init__(self, expected: Sequence[Expectation]) -> None:
        self._expected = tuple(expected)
        self._outcomes: list[RepeatOutcome] = []
        self._shown: Repeat | None = None
        self._comparisons: tuple[Comparison, ...] = ()
        self._wrong_is_shown = False
        self._healed = 0

    def look(self, repeat: Repeat) -> None:
        """Takes one repeat into account; a wrong one is read once more."""
        comparisons = self._compare_all(repeat.outputs)
        found = outcome(comparisons)
        self._outcomes.append(found)
        if found.wrong and repeat.reread is not None:
            self._healed += not outcome(self._compare_all(repeat.reread())).wrong
        if not self._wrong_is_shown:
            self._shown, self._comparisons, self._wrong_is_shown = repeat, comparisons, found.wrong

    def _compare_all(self, outputs: Sequence[Array]) -> tuple[Comparison, ...]:
        return tuple(
            _compare(expectation, got)
            for expectation, got in zip(self._expected, outputs, strict=bool(self._expected))
        )

    def _settled(self) -> tuple[str, ...]:
        """What to say where wrong results were right when they were read again."""
        if not self._healed:
            return ()
        wrong, known = sum(outcome.wrong for outcome in self._outcomes), BY_CODE["T001"]
        return (f"T001: {self._healed} of {wrong} wrong repeats: {known.cause}. {known.remedy}",)

    @property
    def agreement(self) -> Agreement | None:
        """None where nothing was expected."""
        if not self._expected:
            return None
        return Agreement.FAIL if self._wrong_is_shown else Agreement.PASS

    def report(
        self,
        report: BuildRunReport,
        result: RunResult,
        findings: Sequence[SyncFinding],
        problem: Recomputable | None = None,
        *,
        watch: ArrayWatch | None = None,
    ) -> BuildRunReport:
        """The report with all that the run gave: comparisons, what is wrong with them and why, the log.

        `problem` lets the diagnosis compute the program again with one mistake in it.
        """
        shown = self._shown
        repeated = len(self._outcomes) > 1 and bool(self._expected)
        statistics = summarise(self._outcomes) if repeated else None
        events = result.events if shown is None else shown.events
        return dataclasses.replace(
            report,
            buffers=result.buffers,
            events=events,
            cycles=result.cycles,
            comparisons=self._comparisons,
            statistics=statistics,
            findings=tuple(findings),
            array_findings=() if watch is None else watch.findings,
            tile_cycles=() if watch is None else watch.tile_cycles,
            diagnoses=self._diagnoses(events, statistics, problem, findings),
            agreement=self.agreement,
            warnings=(*report.warnings, *result.warnings, *self._settled()),
        )

    def _diagnoses(
        self,
        events: Sequence[HostEvent],
        statistics: RunStatistics | None,
        problem: Recomputable | None,
        findings: Sequence[SyncFinding],
    ) -> tuple[Diagnosis, ...]:
        if self._shown is None or not self._wrong_is_shown:
            return ()
        found: list[Diagnosis] = []
        for index, (expectation, got) in enumerate(zip(self._expected, self._shown.outputs, strict=True)):
            case = Case(
                expectation.name,
                expectation.type,
                got,
                expectation.want,
                tolerance=expectation.tolerance,
                bound=expectation.bound,
                poison=POISON,
                previous=expectation.previous,
                function=None if problem is None else problem.function,
                inputs=() if problem is None else problem.inputs,
                result=index,
                events=events,
                buffer=expectation.buffer,
                statistics=statistics,
                shares=() if problem is None else problem.shares(index),
                findings=findings,
            )
            found += diagnose(case)
        return tuple(found)


def _compare(expectation: Expectation, got: Array) -> Comparison:
    return compare(
        expectation.name,
        got,
        expectation.want,
        expectation.type,
        tolerance=expectation.tolerance,
        bound=expectation.bound,
        poison=POISON,
        previous=expectation.previous,
        against=expectation.against,
    )
