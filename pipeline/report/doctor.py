"""The doctor's checks for people, and as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import TextIO

from rich.text import Text

from ..verdict import Check, CheckStatus, DoctorReport
from .lines import indented, print_lines

SCHEMA = "aiepipe.doctor/1"

_MARKS = {
    CheckStatus.OK: ("ok", "green"),
    CheckStatus.ABSENT: ("--", "dim"),
    CheckStatus.WARNING: ("warning", "yellow"),
    CheckStatus.FAILED: ("FAILED", "bold red"),
}
_MARK_WIDTH = max(len(mark) for mark, _ in _MARKS.values())


def print_doctor(report: DoctorReport, file: TextIO) -> None:
    """The checks by stage, and what they come to."""
    print_lines(_lines(report), file)


def doctor_json(report: DoctorReport) -> str:
    """All checks as one document."""
    document = {
        "schema": SCHEMA,
        "usable": report.usable,
        "hardware": report.hardware,
        "checks": [
            {
                "stage": check.stage,
                "name": check.name,
                "status": check.status.value,
                "detail": check.detail,
                "remedy": check.remedy,
                "needed": check.needed,
                "seconds": round(check.seconds, 3),
            }
            for check in report.checks
        ],
        "versions": dict(report.versions),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _lines(report: DoctorReport) -> Iterator[Text]:
    for stage, checks in groupby(report.checks, key=lambda check: check.stage):
        yield Text(stage, style="bold")
        for check in checks:
            yield from indented(_check(check))
    yield _verdict(report)


def _check(check: Check) -> Iterator[Text]:
    mark, style = _MARKS[check.status]
    line = Text(mark.ljust(_MARK_WIDTH), style=style)
    line.append(f"  {check.name}: {check.detail}", style="dim" if style == "dim" else "default")
    yield line
    if check.remedy is not None and check.status in (CheckStatus.WARNING, CheckStatus.FAILED):
        yield Text(f"{' ' * (_MARK_WIDTH + 2)}help: {check.remedy}")


def _verdict(report: DoctorReport) -> Text:
    if not report.usable:
        failed = [
            check.name for check in report.checks if check.needed and check.status is CheckStatus.FAILED
        ]
        return Text(f"aiepipe cannot run: {', '.join(failed)}", style="bold red")
    where = "on the NPU and on the emulated one" if report.hardware else "on the emulated NPU"
    return Text(f"aiepipe runs {where}", style="bold green")
