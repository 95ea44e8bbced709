"""How an error looks: one message, where it is, what to do; the same for every command."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from .. import __version__
from ..errors import AiepipeError, CompileError, DeviceError

SCHEMA = "aiepipe.error/1"
# IREE prints the whole module after an error; what helps is at the top.
MOST_DIAGNOSTIC_LINES = 12


def error_text(error: AiepipeError) -> str:
    """Lines for standard error, without a final newline."""
    where = error.where()
    head = f"error: {error.message}" if where is None else f"{where}: error: {error.message}"
    lines = [head]
    if isinstance(error, CompileError):
        lines += _diagnostic_lines(error)
    if error.remedy:
        lines.append(f"  help: {error.remedy}")
    if isinstance(error, DeviceError):
        lines += [f"  before that, {found.kind}: {found.message}" for found in error.findings]
    return "\n".join(lines)


def error_document(error: AiepipeError) -> dict[str, Any]:
    """The JSON document of a command that failed."""
    facts = {
        name: value
        for name, value in vars(error).items()
        if isinstance(value, (str, int, float, bool)) and name not in ("message", "remedy", "location")
    }
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "aiepipe": __version__,
        "error": type(error).__name__,
        "message": error.message,
        "where": error.where(),
        "remedy": error.remedy,
        "exit_code": error.exit_code,
        "facts": facts,
    }
    if isinstance(error, DeviceError) and error.findings:
        document["array_findings"] = [asdict(found) for found in error.findings]
    return document


def error_json(error: AiepipeError) -> str:
    """`error_document` as text."""
    return json.dumps(error_document(error), indent=2, ensure_ascii=False)


def _diagnostic_lines(error: CompileError) -> list[str]:
    lines = [line for line in error.diagnostics.splitlines() if line.strip() and error.message not in line]
    shown = lines[:MOST_DIAGNOSTIC_LINES]
    rest = len(lines) - len(shown)
    return [f"  {line}" for line in shown] + ([f"  ... {rest} more lines"] if rest else [])
