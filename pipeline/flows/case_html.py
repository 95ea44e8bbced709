"""The HTML pages of test sessions and sweeps, with what changed against the JSON of an earlier one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import AiepipeError, UsageError
from ..report.case_entries import session_page, session_verdicts, sweep_page, sweep_verdicts
from ..report.case_page import Verdicts
from ..testing.case import TestSession
from ..testing.sweep import Sweep
from .html_report import LARGEST_REPORT_BYTES
from .program_directory import write_file
from .source import read_input_file


def earlier_session(name: str | None, page: str | None) -> Verdicts | None:
    """The verdicts of an `aiepipe test --json`; None where none is named. Raises UsageError."""
    return _earlier(name, page, session_verdicts, "aiepipe test DIR --json")


def earlier_sweep(name: str | None, page: str | None) -> Verdicts | None:
    """The same of an `aiepipe sweep --json` or `-o rows.jsonl`. Raises UsageError."""
    return _earlier(name, page, sweep_verdicts, "aiepipe sweep SPEC --json")


def write_session_page(
    path: str,
    session: TestSession,
    errors: Sequence[AiepipeError],
    earlier: Verdicts | None,
    name: str | None,
) -> None:
    """Raises UsageError where the file cannot be written."""
    write_file(Path(path), session_page(session, errors, earlier, name or "").encode())


def write_sweep_page(path: str, sweep: Sweep, spec: str, earlier: Verdicts | None, name: str | None) -> None:
    """Raises UsageError where the file cannot be written."""
    write_file(Path(path), sweep_page(sweep, spec, earlier, name or "").encode())


def _earlier(
    name: str | None, page: str | None, read: Callable[[str], Verdicts], command: str
) -> Verdicts | None:
    if name is None:
        return None
    if page is None:
        raise UsageError("--compare belongs to --html", remedy="add --html FILE.html")
    try:
        return read(bytes(read_input_file(name, LARGEST_REPORT_BYTES)).decode())
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise UsageError(
            f"{name} is no report to compare with: {fault}", remedy=f"make it with `{command} > earlier.json`"
        ) from fault
