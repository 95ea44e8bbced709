"""What a bisection found: each trial in a line, then what changed the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TextIO

from rich.text import Text

from ..verdict import BisectReport, Outcome, Transition, Trial
from .json_report import plain
from .lines import print_lines, table, titled
from .text import count, duration

SCHEMA = "aiepipe.bisect/1"
_STYLES = {
    Outcome.RIGHT: "green",
    Outcome.WRONG: "bold red",
    Outcome.ERROR: "yellow",
    Outcome.CRASH: "bold magenta",
}


def print_bisection(report: BisectReport, file: TextIO) -> None:
    """Prints the trials and the answer."""
    print_lines(bisection_lines(report), file)


def bisection_json(report: BisectReport) -> str:
    """The report as one JSON document."""
    members = plain(report)
    assert isinstance(members, dict)
    return json.dumps({"schema": SCHEMA, **members}, indent=2, ensure_ascii=False) + "\n"


def bisection_lines(report: BisectReport) -> Iterator[Text]:
    """The lines of `print_bisection`."""
    head = Text("aiepipe bisect", style="bold")
    head.append(f"  {report.file}  {report.over} {report.good or 'no flags'} to {report.bad or 'no flags'}")
    yield head
    title = f"{count(len(report.trials), 'trial')} of {count(report.points, 'point')}"
    rows = [(t.name, _verdict(t), duration(t.seconds), t.detail) for t in report.trials]
    yield from titled(title, table(("what", "verdict", "time", ""), rows, right=[2]))
    yield from (Text(f"note: {note}", style="yellow") for note in report.notes)
    if not report.transitions:
        yield Text("both ends have the same verdict: nothing to find", style="bold")
    for change in report.transitions:
        yield from _transition(change)


def _verdict(trial: Trial) -> Text:
    text = Text(trial.outcome.value, style=_STYLES[trial.outcome])
    return text.append(f" ({trial.answer})", style="default") if trial.answer else text


def _transition(change: Transition) -> Iterator[Text]:
    line = Text(f"{change.before.name} ", style="bold")
    line += _verdict(change.before)
    line.append(f"  ->  {change.after.name} ", style="bold")
    line += _verdict(change.after)
    line.append(f"  because of {change.cause}", style="default")
    yield line
    if change.first_pass is not None:
        yield Text(f"  the first pass that differs: {change.first_pass}")
    if change.files:
        yield Text(f"  kept: {', '.join(change.files)}")
