"""`--html FILE`: the report as a page, with what changed since an earlier JSON report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ..errors import UsageError
from ..report.earlier import compare_documents
from ..report.json_report import SCHEMA
from ..report.page import html_page
from ..verdict import BuildRunReport
from .program_directory import write_file
from .source import read_input_file

LARGEST_REPORT_BYTES = 256 << 20


def write_html(report: BuildRunReport, path: str, earlier: Mapping[str, Any] | None, name: str = "") -> None:
    """Writes the page. Raises UsageError where the file cannot be written."""
    page = html_page(report, earlier=earlier, earlier_name=name or "an earlier report")
    write_file(Path(path), page.encode())


def read_earlier(name: str) -> Mapping[str, Any]:
    """The document of an earlier `--json`, checked for what the comparison reads. Raises UsageError."""
    try:
        document: Any = json.loads(read_input_file(name, LARGEST_REPORT_BYTES))
        if not isinstance(document, dict) or cast("dict[str, Any]", document).get("schema") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        known = cast("Mapping[str, Any]", document)
        list(compare_documents(known, known))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise UsageError(
            f"{name} is no report of aiepipe: {fault}",
            remedy="make it with `aiepipe build-run FILE --json > earlier.json`",
        ) from fault
    return known
