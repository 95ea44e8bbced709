"""Findings as SARIF: the members that the standard (2.1.0, sections 3.13 to 3.27) asks for."""

from __future__ import annotations

import json

from aiepipe.report.sarif import findings_sarif
from aiepipe.verdict import AccessRecord, Confidence, Severity, SyncFinding

FINDING = SyncFinding(
    "S002",
    "DIRTY_OUTPUT_LINE",
    Severity.ERROR,
    Confidence.DEFINITE,
    "the device writes 4 lines",
    "C",
    5,
    ((0, 256),),
    ((0, 4),),
    AccessRecord("host write", "writing C, poison (/src/host.py:12)"),
    AccessRecord("device write", "host.py:20", 1),
    (),
    ("x86-clflush",),
    "sync C to the device",
    3,
)


def test_a_finding_in_full() -> None:
    log = json.loads(findings_sarif([FINDING, FINDING]))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert (rule["id"], rule["defaultConfiguration"]["level"]) == ("S002", "error")
    result = run["results"][0]
    assert (result["ruleId"], result["level"], result["occurrenceCount"]) == ("S002", "error", 3)
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "host.py"
    assert place["physicalLocation"]["region"]["startLine"] == 20
    (earlier,) = result["relatedLocations"]
    assert earlier["physicalLocation"]["artifactLocation"]["uri"] == "file:///src/host.py"
    assert earlier["physicalLocation"]["region"]["startLine"] == 12


def test_nothing_found_is_a_log_all_the_same() -> None:
    assert json.loads(findings_sarif([]))["runs"][0]["results"] == []
