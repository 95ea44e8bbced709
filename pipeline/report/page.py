"""A run's report as one HTML page: verdict, heat maps, timeline, fills, sizes, what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..verdict import Agreement, BuildRunReport
from .activity_picture import activity_picture
from .earlier import earlier_table
from .event_picture import event_picture
from .inspection import fills_line
from .json_report import report_document
from .markup import Child, Markup, definitions, joined, table, tag
from .page_parts import (
    dispatches_part,
    fills_part,
    hazards_part,
    result_line,
    results_part,
    stages_part,
    why_part,
)
from .shell import page_document
from .text import count, percent


def html_page(
    report: BuildRunReport,
    *,
    earlier: Mapping[str, Any] | None = None,
    earlier_name: str = "an earlier report",
) -> str:
    """The whole page. `earlier` is the JSON document of another run of the same program."""
    parts: list[tuple[str, str, Markup]] = [
        (title, key, body) for title, key, body in _parts(report, earlier, earlier_name) if body
    ]
    title = f"aiepipe {report.command}: {report.file}"
    return page_document(title, _verdict(report), parts)


def _parts(
    report: BuildRunReport, earlier: Mapping[str, Any] | None, name: str
) -> Iterator[tuple[str, str, Markup]]:
    yield "Summary", "summary", _summary(report)
    if earlier is not None:
        yield "What changed", "changes", earlier_table(report_document(report), earlier, name)
    yield "Results", "results", results_part(report)
    yield "Why", "why", why_part(report)
    yield "Sync hazards", "hazards", hazards_part(report)
    yield "Timeline", "timeline", _timeline(report)
    yield "Fills", "fills", Markup("") if report.inspection is None else fills_part(report.inspection)
    yield "Stages and files", "stages", stages_part(report)
    yield "How it was made", "origin", _origin(report)


def _verdict(report: BuildRunReport) -> str:
    if report.agreement is None:
        return "NOT COMPARED"
    return "RIGHT" if report.agreement is Agreement.PASS else "WRONG"


def _summary(report: BuildRunReport) -> Markup:
    device = report.device
    statistics = report.statistics
    rate = None
    if statistics is not None:
        rate = (
            f"{statistics.wrong_runs:,} of {count(statistics.runs, 'run')} wrong, {percent(statistics.rate)} "
            f"({statistics.confidence * 100:.0f} % interval {percent(statistics.rate_low)} to "
            f"{percent(statistics.rate_high)})"
        )
    return definitions(
        (
            ("function", report.function),
            ("device", None if device is None else f"{device.kind} {device.name} {device.detail}".strip()),
            ("sync policy", report.policy),
            ("repeats", rate),
            ("results", [tag("div", result_line(c)) for c in report.comparisons]),
            ("fills", None if report.inspection is None else fills_line(report.inspection)),
            ("array", None if report.cycles is None else f"about {report.cycles:,} cycles"),
            ("again", tag("code", report.repeat_with) if report.repeat_with else None),
            ("warnings", [tag("div", warning) for warning in report.warnings]),
        )
    )


def _timeline(report: BuildRunReport) -> Markup:
    parts: list[Child] = []
    if report.events:
        parts += [tag("h3", "What the host did, in order"), event_picture(report.events)]
    if report.activity:
        parts += [tag("h3", "What the device did"), activity_picture(report.activity)]
    return joined(parts)


def _origin(report: BuildRunReport) -> Markup:
    inputs = [(i.name, str(i.type), i.origin) for i in report.inputs]
    buffers = [(b.name, b.role, str(b.type or ""), f"{b.size_bytes:,} B") for b in report.buffers]
    details = [tag("li", tag("code", line)) for stage in report.stages for line in stage.details]
    parts: list[Child] = []
    parts.append(dispatches_part(report))
    if inputs:
        parts.append(table("Inputs", ("argument", "type", "from"), inputs))
    if buffers:
        parts.append(table("Buffers", ("buffer", "role", "type", "size"), buffers, numbers=(3,)))
    parts.append(definitions([(name, value) for name, value in report.versions.items()]))
    parts.append(definitions([(f"seed {name}", str(value)) for name, value in report.seeds.items()]))
    if details:
        parts.append(tag("details", tag("summary", "Steps in detail"), tag("ul", details)))
    return joined(parts)
