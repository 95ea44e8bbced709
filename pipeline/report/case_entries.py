"""Test sessions and sweeps as entries of a page, and the verdicts of earlier ones out of their JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from ..errors import AiepipeError
from ..testing.case import CaseResult, TestSession
from ..testing.sweep import MatmulShape, Sweep, SweepPoint, SweepRow, SweepVerdict
from ..verdict import BuildRunReport
from . import sweep as sweep_report
from . import tests_json
from .case_page import Entry, Verdicts, case_page
from .failure import error_text
from .markup import tag
from .text import count, duration

NOT_RUN = "not run"
UNREADABLE = "unreadable"


def session_page(
    session: TestSession, errors: Sequence[AiepipeError], earlier: Verdicts | None = None, name: str = ""
) -> str:
    """The page of a test session; `errors` are headers that could not be read."""
    entries = [_of_case(result) for result in session.results]
    entries += [_unreadable(i, error) for i, error in enumerate(errors)]
    facts = (
        ("time", f"{duration(session.seconds)}, {count(session.processes, 'process', 'processes')}"),
        ("not selected", f"{session.deselected:,}" if session.deselected else None),
    )
    return case_page("aiepipe test", entries, facts, earlier=earlier, earlier_name=name)


def sweep_page(sweep: Sweep, title: str, earlier: Verdicts | None = None, name: str = "") -> str:
    """The page of a sweep; `title` names its spec."""
    entries = [_of_point(p, r) for p, r in zip(sweep.points, sweep.rows, strict=True)]
    facts = (
        ("time", f"{duration(sweep.seconds)}, {sweep.workers}"),
        ("known before", f"{sweep.cached:,}" if sweep.cached else None),
        ("left out", f"{sweep.left_out:,} of the grid, beyond the budget" if sweep.left_out else None),
        ("spec", tag("code", title)),
    )
    return case_page(f"aiepipe sweep: {title}", entries, facts, earlier=earlier, earlier_name=name)


def session_verdicts(text: str) -> Verdicts:
    """Verdicts by id of `aiepipe test --json`. Raises ValueError, KeyError, TypeError for other text."""
    document = json.loads(text)
    _check(document, tests_json.SCHEMA)
    return {str(test["id"]): str(test["outcome"]) for test in document["tests"]}


def sweep_verdicts(text: str) -> Verdicts:
    """Verdicts by point of `aiepipe sweep --json` or of its JSON lines. Raises as `session_verdicts`."""
    try:
        document = json.loads(text)
        _check(document, sweep_report.SCHEMA)
        rows = document.get("rows", [document])
    except json.JSONDecodeError:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
        for row in rows:
            _check(row, sweep_report.SCHEMA)
    return {_record_key(row): str(row["verdict"] or NOT_RUN) for row in rows}


def _check(document: Any, schema: str) -> None:
    found = cast("dict[str, Any]", document).get("schema") if isinstance(document, dict) else None
    if found != schema:
        raise ValueError(f"its schema is not {schema}")


def _of_case(result: CaseResult) -> Entry:
    given = [*result.case.inputs, *result.case.outputs]
    named = (text.partition("=")[0].rpartition("x")[2].strip() for text in given)
    xfail = (f"expected to fail: {result.case.xfail}",) if result.case.xfail else ()
    return Entry(
        result.id,
        result.outcome.value,
        result.outcome.good,
        result.backend,
        _types(result.report) or tuple(dict.fromkeys(name for name in named if name)),
        result.seconds,
        (*result.problems, *xfail),
        result.detail,
        result.again,
        _artifact_bytes(result.report),
        result.report,
    )


def _unreadable(number: int, error: AiepipeError) -> Entry:
    place = error.where() or f"header {number + 1}"
    return Entry(place, UNREADABLE, False, "", (), 0.0, (error.message,), error_text(error))


def _of_point(point: SweepPoint, row: SweepRow | None) -> Entry:
    key = _record_key(sweep_report.row_record(point, row))
    if row is None:
        return Entry(key, NOT_RUN, True, point.backend, _program_types(point), 0.0)
    notes = (f"{row.message} ({row.place})" if row.place else row.message,) if row.message else ()
    return Entry(
        key,
        row.verdict.value,
        row.verdict is SweepVerdict.RIGHT,
        point.backend,
        _program_types(point) or _types(row.report),
        row.seconds,
        notes,
        f"{row.kind} in {row.stage}" if row.kind and row.stage else row.kind,
        row.again,
        row.artifact_bytes,
        row.report,
    )


def _record_key(record: Mapping[str, Any]) -> str:
    """What tells a point from all others of its grid, as a person would say it."""
    parts = [str(record["program"]), str(record["backend"])]
    parts += [str(record["flags"])] if record["flags"] else []
    parts += [f"policy {record['sync_policy']}"] if record["sync_policy"] != "default" else []
    parts += [f"{record['repeat']} runs"] if record["repeat"] > 1 else []
    return ", ".join([*parts, f"seed {record['seed']}"])


def _program_types(point: SweepPoint) -> tuple[str, ...]:
    program = point.program
    if not isinstance(program, MatmulShape):
        return ()
    return tuple(dict.fromkeys(t for t in (program.element, program.accumulator) if t))


def _types(report: BuildRunReport | None) -> tuple[str, ...]:
    if report is None:
        return ()
    elements: Iterable[str] = (x.type.element for x in (*report.inputs, *report.comparisons))
    return tuple(dict.fromkeys(elements))


def _artifact_bytes(report: BuildRunReport | None) -> int | None:
    if report is None or not report.dispatches:
        return None
    return report.artifact_bytes
