"""A test session as one JSON document, and the list of tests as another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..errors import AiepipeError
from ..testing.case import CaseOutcome, CaseResult, TestSession
from .failure import error_document
from .json_report import report_document

SCHEMA = "aiepipe.tests/1"
LIST_SCHEMA = "aiepipe.test-list/1"


def session_json(session: TestSession, errors: Sequence[AiepipeError]) -> str:
    """The session with every result; a result has the report of its run where there was one."""
    document = {
        "schema": SCHEMA,
        "summary": {
            "total": len(session.results),
            **{outcome.value: session.count(outcome) for outcome in CaseOutcome},
            "deselected": session.deselected,
            "unreadable": len(errors),
            "seconds": round(session.seconds, 3),
            "processes": session.processes,
        },
        "tests": [_result(result) for result in session.results],
        "unreadable": [error_document(error) for error in errors],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def list_json(tests: Sequence[tuple[str, str, int]]) -> str:
    """Tests as (id, file, line)."""
    rows = [{"id": id_, "file": file, "line": line} for id_, file, line in tests]
    return json.dumps({"schema": LIST_SCHEMA, "tests": rows}, indent=2, ensure_ascii=False) + "\n"


def _result(result: CaseResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "file": result.case.file,
        "line": result.case.line,
        "function": result.case.function,
        "case": result.case.name,
        "backend": result.backend,
        "outcome": result.outcome.value,
        "seconds": round(result.seconds, 3),
        "problems": list(result.problems),
        "xfail": result.case.xfail,
        "stage": result.stage,
        "detail": result.detail,
        "again": result.again,
        "report": None if result.report is None else report_document(result.report),
    }
