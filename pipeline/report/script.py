"""What the sanitizer and the array found in somebody's program, on standard error after its own output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from rich.text import Text

from ..verdict import BuildRunReport
from .array_findings import array_lines
from .hazards import hazard_lines
from .lines import print_lines
from .text import count


def print_script_report(report: BuildRunReport, file: TextIO, *, verbose: bool = False) -> None:
    """The findings, or one line that there are none."""
    print_lines(_lines(report, verbose=verbose), file)


def _lines(report: BuildRunReport, *, verbose: bool) -> Iterator[Text]:
    device = report.device
    where = "" if device is None else f" ({device.kind} {device.name}; {device.detail})"
    found = count(len(report.findings), "sync finding") if report.findings else "no sync hazard found"
    yield Text(f"aiepipe: {found}{where}", style="bold" if report.findings else "dim")
    yield from hazard_lines(report.findings, verbose=verbose)
    if report.array_findings:
        yield Text(f"aiepipe: {count(len(report.array_findings), 'finding')} in the array", style="bold")
        yield from array_lines(report.array_findings)
    for warning in report.warnings:
        yield Text(warning, style="yellow")
    if (report.findings or report.array_findings) and report.repeat_with:
        yield Text(f"repeat with: {report.repeat_with}", style="dim")
