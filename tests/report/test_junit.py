"""JUnit XML of a session: one element per outcome, and only what XML can hold."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from aiepipe.errors import UsageError
from aiepipe.report.junit import session_junit
from aiepipe.testing.case import Case, CaseOutcome, CaseResult, TestSession

CASE = Case("dir/a.mlir", 3, "f", "ones")
XFAIL = Case("dir/b.mlir", 1, "g", xfail="a known bug")


def document(*results: CaseResult, errors: tuple[UsageError, ...] = ()) -> ET.Element:
    return ET.fromstring(session_junit(TestSession(results, 1.5, 2), errors))


def result(outcome: CaseOutcome, *problems: str, case: Case = CASE, detail: str = "") -> CaseResult:
    return CaseResult(case, "builtin", outcome, 0.25, problems, detail, again="aiepipe build-run dir/a.mlir")


def test_each_outcome_has_its_element() -> None:
    root = document(
        result(CaseOutcome.PASSED),
        result(CaseOutcome.FAILED, "the numbers are wrong"),
        result(CaseOutcome.SKIPPED, "for target npu4"),
        result(CaseOutcome.BROKEN, "its process died"),
        result(CaseOutcome.XFAILED, "the numbers are wrong", case=XFAIL),
        result(CaseOutcome.XPASSED, case=XFAIL),
    )
    suites = {suite.get("name"): suite for suite in root}
    assert {k: root.get(k) for k in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "6", "failures": "2", "errors": "1", "skipped": "2", "time": "1.500",
    }  # fmt: skip
    first = [[child.tag for child in case] for case in suites["dir/a.mlir"]]
    assert first == [[], ["failure"], ["skipped"], ["error"]]
    case = suites["dir/a.mlir"][1]
    assert (case.get("classname"), case.get("name")) == ("dir.a", "f[ones-builtin]")
    assert (case.get("file"), case.get("line"), case.get("time")) == ("dir/a.mlir", "3", "0.250")
    assert case[0].get("message") == "the numbers are wrong"
    assert str(case[0].text).endswith("again: aiepipe build-run dir/a.mlir")
    skipped, unexpected = suites["dir/b.mlir"]
    assert skipped[0].get("message") == "a known bug"
    assert unexpected[0].get("message") == "it passes, but is expected to fail: a known bug"


def test_what_xml_cannot_hold_is_replaced_and_what_it_can_is_kept() -> None:
    text = "error: \x00\x1b[31m \ud800 <a> & \u00e9 \U0001f41e\nnext"
    root = document(result(CaseOutcome.FAILED, text))
    assert root[0][0][0].get("message") == "error: �\ufffd[31m � <a> & é 🐞\nnext"


def test_an_unreadable_header_is_an_error_of_its_own() -> None:
    root = document(errors=(UsageError("there is no directive 'x'", location="a.mlir:2"),))
    (suite,) = root
    assert (suite.get("name"), suite.get("errors"), root.get("tests")) == ("unreadable headers", "1", "1")
    assert suite[0].get("name") == "a.mlir:2"
