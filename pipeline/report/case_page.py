"""Many runs as one HTML page: a table to filter and sort, each case in detail, what changed verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..verdict import BuildRunReport
from .inspection import fills_line
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
from .text import count, duration

Verdicts = Mapping[str, str]
ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Entry:
    """One case: `key` names it in every session, `verdict` is a word, `types` are its element types.

    `notes` say what is not as it should be; `detail` is a text of several lines.
    """

    key: str
    verdict: str
    good: bool
    backend: str
    types: tuple[str, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    detail: str = ""
    again: str = ""
    artifact_bytes: int | None = None
    report: BuildRunReport | None = None


def case_page(
    title: str,
    entries: Sequence[Entry],
    facts: Sequence[tuple[str, Child]],
    *,
    earlier: Verdicts | None = None,
    earlier_name: str = "an earlier report",
) -> str:
    """The whole page. `earlier` has the verdicts of another session by the entries' keys."""
    counts = _counts(entries)
    head = ", ".join(f"{number:,} {verdict}" for verdict, number in counts.items()) or "no cases"
    summary = definitions([("cases", f"{len(entries):,}: {head}" if entries else head), *facts])
    parts = [("Summary", "summary", summary)]
    if earlier is not None:
        parts.append(("What changed", "changes", _changes(entries, earlier, earlier_name)))
    parts.append(("Cases", "cases", _cases(entries, earlier)))
    details = joined(_detail(entry, f"case{i}") for i, entry in enumerate(entries))
    parts.append(("In detail", "details", details))
    bad = sum(not entry.good for entry in entries)
    verdict = f"{bad:,} of {count(len(entries), 'case')} not as wanted" if bad else "ALL AS WANTED"
    shown = [part for part in parts if part[2]]
    return page_document(title, verdict, shown, state="wrong" if bad else "right")


def verdict_changes(entries: Sequence[Entry], earlier: Verdicts) -> tuple[tuple[str, str, str], ...]:
    """(key, earlier, now) of what is not as it was; `ABSENT` where one of the two does not have it."""
    now = {entry.key: entry.verdict for entry in entries}
    both = dict.fromkeys([*now, *earlier])
    rows = ((key, earlier.get(key, ABSENT), now.get(key, ABSENT)) for key in both)
    return tuple(row for row in rows if row[1] != row[2])


def _counts(entries: Sequence[Entry]) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in entries:
        found[entry.verdict] = found.get(entry.verdict, 0) + 1
    return found


def _changes(entries: Sequence[Entry], earlier: Verdicts, name: str) -> Markup:
    places = {entry.key: i for i, entry in enumerate(entries)}
    changed = verdict_changes(entries, earlier)
    if not changed:
        return tag("p", f"Every verdict is as in {name}.")
    rows = [
        (_link(key, places[key]) if key in places else key, old, tag("span", new, _class="changed"))
        for key, old, new in changed
    ]
    caption = f"{count(len(rows), 'verdict')} not as in {name}"
    return table(caption, ("case", "earlier", "now"), rows, filtered=True, choices=(1, 2), ordered=True)


def _link(text: str, number: int) -> Markup:
    return tag("a", text, href=f"#case{number}")


def _cases(entries: Sequence[Entry], earlier: Verdicts | None) -> Markup:
    rows: list[list[Child]] = []
    for i, entry in enumerate(entries):
        row: list[Child] = [
            _link(entry.key, i),
            tag("span", entry.verdict, _class=f"state {'good' if entry.good else 'bad'}"),
            entry.backend,
            " ".join(entry.types),
            tag("data", duration(entry.seconds), value=entry.seconds),
            _size(entry),
        ]
        if earlier is not None:
            before = earlier.get(entry.key, ABSENT)
            row.append(tag("span", before, _class="same" if before == entry.verdict else "changed"))
        rows.append([*row, entry.notes[0] if entry.notes else ""])
    head = ["case", "verdict", "backend", "types", "time", "artifacts"]
    head += [*(["earlier"] if earlier is not None else []), "what"]
    choices = (1, 2, 3, 6) if earlier is not None else (1, 2, 3)
    return table("Cases", head, rows, numbers=(4, 5), filtered=True, choices=choices, ordered=True)


def _size(entry: Entry) -> Child:
    size = entry.artifact_bytes
    return "" if size is None else tag("data", f"{size:,} B", value=size)


def _detail(entry: Entry, key: str) -> Markup:
    """One case, folded; the script opens what a link points to."""
    report = entry.report
    facts = definitions(
        (
            ("backend", entry.backend),
            ("not as wanted" if not entry.good else "note", [tag("div", note) for note in entry.notes]),
            ("again", tag("code", entry.again) if entry.again else None),
            ("results", [tag("div", result_line(c)) for c in report.comparisons] if report else None),
            ("fills", fills_line(report.inspection) if report and report.inspection else None),
        )
    )
    state = tag("span", entry.verdict, _class=f"state {'good' if entry.good else 'bad'}")
    parts: list[Child] = [tag("summary", state, " ", entry.key), facts]
    if entry.detail:
        # it may be long, and is reached and scrolled with the keyboard
        parts.append(tag("pre", entry.detail, tabindex=0, role="region", aria_label=f"Text of {entry.key}"))
    if report is not None:
        parts += _of_run(report, key)
    return tag("details", *parts, _class="case", id=key)


def _of_run(report: BuildRunReport, key: str) -> list[Child]:
    """The parts of a run's own page that explain its verdict."""
    named = (
        ("Why", why_part(report)),
        ("Sync hazards", hazards_part(report)),
        ("Fills", fills_part(report.inspection) if report.inspection else Markup("")),
        ("Artifacts", joined([dispatches_part(report), stages_part(report, key)])),
    )
    wrong = any(c.mismatch for c in report.comparisons)
    results = [results_part(report, key)] if wrong else []
    return [*results, *(tag("div", tag("h3", name), body) for name, body in named if body)]
