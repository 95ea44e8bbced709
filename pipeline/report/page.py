"""A report as one HTML page that needs no network: verdict, heat maps, timeline, fills, sizes, what changed.

Style and script are in the page; a Content-Security-Policy forbids everything else. What a picture shows is
also in a table, and everything works without the script but the filters and the heat map's cursor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from ..verdict import Agreement, BuildRunReport, Comparison, Inspection
from .activity_picture import activity_picture
from .earlier import earlier_table
from .event_picture import event_picture
from .heat_picture import heat_picture, tile_of
from .inspection import fill_value, fills_line, stage_cell
from .json_report import report_document
from .markup import Child, Markup, definitions, joined, section, svg, table, tag
from .mismatch import how
from .text import byte_range, count, duration, percent

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_BAR = 320.0


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
    links = [tag("li", tag("a", title, href=f"#{key}")) for title, key, _ in parts]
    title = f"aiepipe {report.command}: {report.file}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", f"{_verdict(report)}: {title}"),
        tag("style", Markup(_asset("page.css"))),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", _class="skip"),
        tag(
            "header",
            tag("h1", title),
            tag("p", _verdict(report), _class=f"verdict {_verdict(report).lower().replace(' ', '-')}"),
            tag("button", "Light or dark", type="button", id="theme", aria_pressed="false"),
        ),
        tag("nav", tag("ul", links), aria_label="Parts of this report"),
        tag("main", [section(title, key, body) for title, key, body in parts], id="content"),
        tag("script", Markup(_asset("page.js"))),
    )
    return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"


def _parts(
    report: BuildRunReport, earlier: Mapping[str, Any] | None, name: str
) -> Iterator[tuple[str, str, Markup]]:
    yield "Summary", "summary", _summary(report)
    if earlier is not None:
        yield "What changed", "changes", earlier_table(report_document(report), earlier, name)
    yield "Results", "results", _results(report)
    yield "Why", "why", _why(report)
    yield "Sync hazards", "hazards", _hazards(report)
    yield "Timeline", "timeline", _timeline(report)
    yield "Fills", "fills", Markup("") if report.inspection is None else _fills(report.inspection)
    yield "Stages and files", "stages", _stages(report)
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
            ("results", [tag("div", _result_line(c)) for c in report.comparisons]),
            ("fills", None if report.inspection is None else fills_line(report.inspection)),
            ("array", None if report.cycles is None else f"about {report.cycles:,} cycles"),
            ("again", tag("code", report.repeat_with) if report.repeat_with else None),
            ("warnings", [tag("div", warning) for warning in report.warnings]),
        )
    )


def _result_line(comparison: Comparison) -> str:
    mismatch = comparison.mismatch
    state = "right" if mismatch is None else f"{mismatch.count:,} of {mismatch.total:,} elements wrong"
    return f"{comparison.name}, {comparison.type}: {state}, {how(comparison)}"


def _results(report: BuildRunReport) -> Markup:
    notes = [note for dispatch in report.dispatches for note in dispatch.notes]
    return joined(_result(c, notes, f"heat{i}") for i, c in enumerate(report.comparisons))


def _result(comparison: Comparison, notes: list[str], key: str) -> Markup:
    mismatch = comparison.mismatch
    title = tag("h3", f"{comparison.name}: {comparison.type}")
    if mismatch is None:
        return joined([title, tag("p", f"Right: {comparison.preview}; {how(comparison)}.")])
    rows = [
        (
            group.holds,
            f"{group.count:,}",
            str(list(group.example_index)),
            group.example_got,
            group.example_want,
        )
        for group in mismatch.groups
    ]
    groups = table(
        "What the wrong elements hold",
        ("holds", "elements", "for example at", "got", "want"),
        rows,
        numbers=(1, 3, 4),
    )
    tile = None if mismatch.heat is None else tile_of(notes, mismatch.heat)
    facts = definitions(
        (
            (
                "wrong",
                f"{mismatch.count:,} of {mismatch.total:,} ({percent(mismatch.count / mismatch.total)})",
            ),
            (
                "64-byte lines",
                f"{mismatch.touched_lines:,} touched, {mismatch.whole_lines:,} wrong as a whole",
            ),
            ("largest error", None if mismatch.largest_error is None else f"{mismatch.largest_error:.6g}"),
            ("compared", how(comparison)),
        )
    )
    return joined([title, facts, heat_picture(comparison, tile, key), groups])


def _why(report: BuildRunReport) -> Markup:
    items = [
        tag(
            "li",
            tag("b", d.likelihood.value),
            f": {d.result}: {d.sentence}",
            tag("ul", [tag("li", fact) for fact in d.evidence]),
        )
        for d in report.diagnoses
    ]
    return tag("ol", items) if items else Markup("")


def _hazards(report: BuildRunReport) -> Markup:
    if not report.findings:
        return Markup("")
    rows = [
        (f"{f.hazard} {f.name}", f.severity.value, f.buffer, f.message, f.fix, str(f.count))
        for f in report.findings
    ]
    head = ("hazard", "severity", "buffer", "what", "fix", "times")
    return table("What the sanitizer found", head, rows, numbers=(5,), filtered=True)


def _timeline(report: BuildRunReport) -> Markup:
    parts: list[Child] = []
    if report.events:
        parts += [tag("h3", "What the host did, in order"), event_picture(report.events)]
    if report.activity:
        parts += [tag("h3", "What the device did"), activity_picture(report.activity)]
    return joined(parts)


def _fills(inspection: Inspection) -> Markup:
    phases = ("flow", "stream", "hal")
    rows = [
        (
            f"{fate.location.line}:{fate.location.column} {fate.source_op}",
            fill_value(fate),
            f"@{fate.function}",
            fate.role,
            *(stage_cell(fate, phase) for phase in phases),
        )
        for fate in inspection.fates
    ]
    head = ("source", "value", "function", "used as", *phases)
    operations = [
        (
            op.form,
            op.target,
            byte_range(op.offset_bytes, op.length_bytes),
            "" if op.value is None else f"{op.value} : {op.element}",
            op.when,
            f"@{op.function}",
        )
        for op in inspection.operations
    ]
    parts: list[Child] = [tag("p", fills_line(inspection))]
    if rows:
        parts.append(table("Fills of the source, phase by phase", head, rows, filtered=True))
    if operations:
        columns = ("op", "target", "bytes", "value", "when", "function")
        parts.append(table("What the HAL IR does to buffers", columns, operations, filtered=True))
    if inspection.outputs:
        parts += [tag("h3", "Where each result comes from")]
        parts += [tag("ul", [tag("li", output.sentence) for output in inspection.outputs])]
    if inspection.sharing:
        parts += [tag("h3", "Memory with two uses"), tag("ul", [tag("li", s) for s in inspection.sharing])]
    return joined(parts)


def _stages(report: BuildRunReport) -> Markup:
    rows = [(s.name, duration(s.seconds), s.note) for s in report.stages]
    parts: list[Child] = [table("Stages", ("stage", "time", "note"), rows, numbers=(1,))] if rows else []
    sizes = [(f.path.rpartition("/")[2], f.size_bytes, f.sha256) for s in report.stages for f in s.files]
    if sizes:
        largest = max(size for _, size, _ in sizes) or 1
        shown = [
            (name, f"{size:,} B", _bar(size / largest, f"size{i}"), tag("code", sha[:16]))
            for i, (name, size, sha) in enumerate(sizes)
        ]
        parts.append(table("Files", ("file", "size", "", "sha256"), shown, numbers=(1,), filtered=True))
    return joined(parts)


def _bar(share: float, key: str) -> Markup:
    percentage = f"{share * 100:.0f} % of the largest"
    bar = tag("rect", x=0, y=1, width=max(share * _BAR, 1.0), height=10, _class="bar")
    return svg("size", percentage, (_BAR, 12), key, bar, _class="bar", width=int(_BAR), height=12)


def _origin(report: BuildRunReport) -> Markup:
    dispatches = [
        (d.dispatch, d.kernel, d.backend, tag("code", d.xclbin_sha256[:16]), d.fallback or "; ".join(d.notes))
        for d in report.dispatches
    ]
    inputs = [(i.name, str(i.type), i.origin) for i in report.inputs]
    buffers = [(b.name, b.role, str(b.type or ""), f"{b.size_bytes:,} B") for b in report.buffers]
    details = [tag("li", tag("code", line)) for stage in report.stages for line in stage.details]
    parts: list[Child] = []
    if dispatches:
        head = ("dispatch", "kernel", "backend", "sha256", "notes")
        parts.append(table("Dispatches", head, dispatches))
    if inputs:
        parts.append(table("Inputs", ("argument", "type", "from"), inputs))
    if buffers:
        parts.append(table("Buffers", ("buffer", "role", "type", "size"), buffers, numbers=(3,)))
    parts.append(definitions([(name, value) for name, value in report.versions.items()]))
    parts.append(definitions([(f"seed {name}", str(value)) for name, value in report.seeds.items()]))
    if details:
        parts.append(tag("details", tag("summary", "Steps in detail"), tag("ul", details)))
    return joined(parts)


def _asset(name: str) -> str:
    return files("aiepipe.report").joinpath(name).read_text(encoding="utf-8")
