"""The sanitizer's findings as SARIF 2.1.0, which code hosts and editors show beside the line to blame."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from ..verdict import AccessRecord, Severity, SyncFinding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.PORTABILITY: "warning",
    Severity.PERFORMANCE: "note",
}
# "FILE:LINE", or "PURPOSE (FILE:LINE)" where our runner is the host program
_SITE = re.compile(r"^(?:.* \()?(?P<file>[^()]+):(?P<line>\d+)\)?$")


def findings_sarif(findings: Sequence[SyncFinding]) -> str:
    """One SARIF log with one run; the second access of a finding is its place, the first a related one."""
    rules = {f.hazard: f for f in reversed(findings)}
    driver = {
        "name": "aiepipe sync sanitizer",
        "version": __version__,
        "rules": [
            {
                "id": hazard,
                "name": rule.name,
                "defaultConfiguration": {"level": _LEVELS[rule.severity]},
            }
            for hazard, rule in sorted(rules.items())
        ],
    }
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(finding) for finding in findings]}],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _result(finding: SyncFinding) -> dict[str, object]:
    locations = _location(finding.current)
    result: dict[str, object] = {
        "ruleId": finding.hazard,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}. Fix: {finding.fix}"},
        "locations": locations,
        "occurrenceCount": finding.count,
        "properties": {
            "buffer": finding.buffer,
            "argument": finding.argument,
            "confidence": finding.confidence.value,
            "policies": list(finding.policies),
            "byteRanges": [list(pair) for pair in finding.ranges],
            "lines": [list(pair) for pair in finding.lines],
        },
    }
    if finding.prior is not None:
        result["relatedLocations"] = _location(finding.prior)
    return result


def _location(access: AccessRecord) -> list[dict[str, object]]:
    """The place of an access; nothing where it has none."""
    place = _SITE.match(access.site or "")
    if place is None:
        return []
    path = Path(place["file"])
    artifact = {"uri": path.as_uri() if path.is_absolute() else path.as_posix()}
    region = {"startLine": max(int(place["line"]), 1)}
    return [
        {
            "physicalLocation": {"artifactLocation": artifact, "region": region},
            "message": {"text": access.what},
        }
    ]
