"""How an error of the device looks, with what was found before it."""

from __future__ import annotations

from aiepipe.errors import EmulationError, UsageError
from aiepipe.report.failure import error_document, error_text
from aiepipe.verdict import ArrayFinding

FOUND = ArrayFinding("race", "shim (0,0)", "two write the same", channel="S2MM 1", descriptor=5, count=2)


def test_findings_stand_below_the_error_of_their_run() -> None:
    error = EmulationError("nothing moves", kind="deadlock", remedy="look at the locks")
    assert "array_findings" not in error_document(error)
    error.findings = (FOUND,)
    assert error_text(error).splitlines() == [
        "error: nothing moves",
        "  help: look at the locks",
        "  before that, race: two write the same",
    ]
    (document,) = error_document(error)["array_findings"]
    assert (document["kind"], document["channel"], document["count"]) == ("race", "S2MM 1", 2)


def test_other_errors_have_none() -> None:
    assert "array_findings" not in error_document(UsageError("no"))
