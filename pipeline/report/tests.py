"""A test session: what failed, with what a person needs to act on it; then one table and one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.text import Text

from ..errors import AiepipeError
from ..testing.case import CaseOutcome, CaseResult, TestSession
from ..verdict import BuildRunReport, Severity
from .failure import error_text
from .hazards import hazard_lines
from .inspection import fill_lines
from .lines import Cell, aligned, indented, print_lines, titled
from .mismatch import comparison_lines, diagnosis_lines, statistics_lines
from .text import count, duration

_STYLES = {
    CaseOutcome.PASSED: "green",
    CaseOutcome.FAILED: "bold red",
    CaseOutcome.XFAILED: "yellow",
    CaseOutcome.XPASSED: "bold red",
    CaseOutcome.SKIPPED: "yellow",
    CaseOutcome.BROKEN: "bold red",
}
_DETAIL_LINES = 30


def print_session(
    session: TestSession, errors: Sequence[AiepipeError], file: TextIO, *, verbose: bool = False
) -> None:
    """Prints the session. `errors` are headers that could not be read; `verbose` shows every test."""
    print_lines(_session_lines(session, errors, verbose=verbose), file)


def failure_lines(result: CaseResult) -> Iterator[Text]:
    """One bad result in full: what is not as stated, what was seen, how to do it again."""
    yield from (Text(problem) for problem in _problems(result))
    detail = result.detail.splitlines()
    shown = detail if result.outcome is CaseOutcome.BROKEN else detail[:_DETAIL_LINES]
    if result.report is None and len(shown) > 1:
        yield from indented(Text(line, style="dim") for line in shown)
    if result.report is not None:
        yield from _seen(result.report)
    if result.again:
        yield Text(f"again: {result.again}")


def _session_lines(session: TestSession, errors: Sequence[AiepipeError], *, verbose: bool) -> Iterator[Text]:
    for error in errors:
        yield from map(Text, error_text(error).splitlines())
    for result in session.results:
        if not result.outcome.good:
            head = Text(result.outcome.value.upper(), style=_STYLES[result.outcome])
            yield head.append(f" {result.id}  ({result.case.place})", style="default")
            yield from indented(failure_lines(result))
    if session.results:
        yield from titled("tests", _table(session.results) if verbose else _by_file(session.results))
    yield _summary(session, errors)


def _problems(result: CaseResult) -> Iterable[str]:
    if result.outcome is CaseOutcome.XPASSED:
        return (f"it passes, but is expected to fail: {result.case.xfail}", "remove the xfail line")
    return result.problems


def _seen(report: BuildRunReport) -> Iterator[Text]:
    """The parts of the run's report that explain a failure."""
    if report.inputs:
        yield from titled("inputs", aligned([(i.name, str(i.type), i.origin) for i in report.inputs]))
    if report.inspection is not None:
        yield from titled("fills", fill_lines(report.inspection))
    if report.statistics is not None:
        yield from titled("repeats", statistics_lines(report.statistics))
    if report.comparisons:
        yield from titled("results", (line for c in report.comparisons for line in comparison_lines(c)))
    hazards = [f for f in report.findings if f.severity is Severity.ERROR]
    if hazards:
        yield from titled("sync hazards", hazard_lines(hazards, verbose=False))
    if report.diagnoses:
        yield from titled("diagnosis", diagnosis_lines(report.diagnoses))


def _table(results: Sequence[CaseResult]) -> Iterator[Text]:
    """Every test in a line."""
    rows: list[list[Cell]] = []
    for result in results:
        why = result.case.xfail if result.case.xfail else "; ".join(result.problems)
        outcome = Text(result.outcome.value, style=_STYLES[result.outcome])
        note = "" if result.outcome is CaseOutcome.PASSED else why
        rows.append([outcome, result.id, duration(result.seconds), note])
    return aligned(rows, right=[2])


def _by_file(results: Sequence[CaseResult]) -> Iterator[Text]:
    """A line per file: how its tests ended, and their time."""
    files: dict[str, list[CaseResult]] = {}
    for result in results:
        files.setdefault(result.case.file, []).append(result)
    rows: list[list[Cell]] = []
    for file, mine in files.items():
        counts = _counts(mine)
        rows.append([file, duration(sum(r.seconds for r in mine)), counts])
    return aligned(rows, right=[1])


def _counts(results: Sequence[CaseResult]) -> Text:
    parts = [
        Text(f"{sum(r.outcome is outcome for r in results)} {outcome.value}", style=_STYLES[outcome])
        for outcome in CaseOutcome
        if any(r.outcome is outcome for r in results)
    ]
    return Text(", ").join(parts)


def _summary(session: TestSession, errors: Sequence[AiepipeError]) -> Text:
    line = Text()
    line.append_text(_counts(session.results))
    if errors:
        line.append(
            f"{', ' if session.results else ''}{count(len(errors), 'unreadable header')}", style="bold red"
        )
    if session.deselected:
        line.append(f", {session.deselected} not selected", style="dim")
    processes = count(session.processes, "process", "processes")
    line.append(f" in {duration(session.seconds)}, {processes}", style="default")
    return line
