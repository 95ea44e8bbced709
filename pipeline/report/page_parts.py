"""Parts of a run's page that a page of many runs shows, too: heat maps, diagnoses, hazards, fills, files.

`key` goes before every id, for a page may have the parts of several runs.
"""

from __future__ import annotations

from ..verdict import BuildRunReport, Comparison, Inspection
from .heat_picture import heat_picture, tile_of
from .inspection import fill_value, fills_line, stage_cell
from .markup import Child, Markup, definitions, joined, svg, table, tag
from .mismatch import how
from .text import byte_range, duration, percent

_BAR = 320.0


def result_line(comparison: Comparison) -> str:
    """One result in a line."""
    mismatch = comparison.mismatch
    state = "right" if mismatch is None else f"{mismatch.count:,} of {mismatch.total:,} elements wrong"
    return f"{comparison.name}, {comparison.type}: {state}, {how(comparison)}"


def results_part(report: BuildRunReport, key: str = "") -> Markup:
    """Each result: right, or where it is wrong and what is there instead."""
    notes = [note for dispatch in report.dispatches for note in dispatch.notes]
    return joined(_result(c, notes, f"{key}heat{i}") for i, c in enumerate(report.comparisons))


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


def why_part(report: BuildRunReport) -> Markup:
    """The diagnoses with their evidence, the likeliest first."""
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


def hazards_part(report: BuildRunReport) -> Markup:
    """What the sanitizer found."""
    if not report.findings:
        return Markup("")
    rows = [
        (f"{f.hazard} {f.name}", f.severity.value, f.buffer, f.message, f.fix, str(f.count))
        for f in report.findings
    ]
    head = ("hazard", "severity", "buffer", "what", "fix", "times")
    return table("What the sanitizer found", head, rows, numbers=(5,), filtered=True)


def fills_part(inspection: Inspection) -> Markup:
    """What became of each fill, and what else writes buffers."""
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


def stages_part(report: BuildRunReport, key: str = "") -> Markup:
    """Stages with their times, and the sizes of what they made."""
    rows = [(s.name, duration(s.seconds), s.note) for s in report.stages]
    parts: list[Child] = [table("Stages", ("stage", "time", "note"), rows, numbers=(1,))] if rows else []
    sizes = [(f.path.rpartition("/")[2], f.size_bytes, f.sha256) for s in report.stages for f in s.files]
    if sizes:
        largest = max(size for _, size, _ in sizes) or 1
        shown = [
            (name, f"{size:,} B", _bar(size / largest, f"{key}size{i}"), tag("code", sha[:16]))
            for i, (name, size, sha) in enumerate(sizes)
        ]
        parts.append(table("Files", ("file", "size", "", "sha256"), shown, numbers=(1,), filtered=True))
    return joined(parts)


def _bar(share: float, key: str) -> Markup:
    percentage = f"{share * 100:.0f} % of the largest"
    bar = tag("rect", x=0, y=1, width=max(share * _BAR, 1.0), height=10, _class="bar")
    return svg("size", percentage, (_BAR, 12), key, bar, _class="bar", width=int(_BAR), height=12)


def dispatches_part(report: BuildRunReport) -> Markup:
    """The artifacts of each dispatch and their sizes."""
    rows = [
        (
            d.dispatch,
            d.kernel,
            d.backend,
            f"{d.xclbin_bytes:,} B",
            f"{d.instructions_bytes:,} B",
            tag("code", d.xclbin_sha256[:16]),
            d.fallback or "; ".join(d.notes),
        )
        for d in report.dispatches
    ]
    head = ("dispatch", "kernel", "backend", "xclbin", "stream", "sha256", "notes")
    return table("Dispatches and their artifacts", head, rows, numbers=(3, 4)) if rows else Markup("")
