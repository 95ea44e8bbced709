"""A test session as JUnit XML, in the form that Jenkins, GitLab and GitHub's reporters read
(https://github.com/testmoapp/junitxml; pytest's xunit2 family).

Expected failures and skips are "skipped", faults of ours are "error", everything else bad is "failure".
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from ..errors import AiepipeError
from ..testing.case import CaseOutcome, CaseResult, TestSession
from .failure import error_text
from .tests import failure_lines

# what XML 1.0 has no way to write, not even as a reference
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SKIPPED = (CaseOutcome.XFAILED, CaseOutcome.SKIPPED)


def session_junit(session: TestSession, errors: Sequence[AiepipeError]) -> bytes:
    """The document, UTF-8: a suite per file, a case per test, unreadable headers in a suite of their own."""
    root = ET.Element("testsuites", name="aiepipe")
    files: dict[str, list[CaseResult]] = {}
    for result in session.results:
        files.setdefault(result.case.file, []).append(result)
    for file, results in files.items():
        suite = _suite(root, file, results)
        for result in results:
            _case(suite, result)
    if errors:
        _unreadable(root, errors)
    _total(root, session, errors)
    ET.indent(root)
    out = io.BytesIO()
    ET.ElementTree(root).write(out, encoding="utf-8", xml_declaration=True)
    return out.getvalue() + b"\n"


def _suite(root: ET.Element, name: str, results: Sequence[CaseResult]) -> ET.Element:
    return ET.SubElement(
        root,
        "testsuite",
        name=_text(name),
        tests=str(len(results)),
        failures=str(sum(_is_failure(r) for r in results)),
        errors=str(sum(r.outcome is CaseOutcome.BROKEN for r in results)),
        skipped=str(sum(r.outcome in _SKIPPED for r in results)),
        time=f"{sum(r.seconds for r in results):.3f}",
    )


def _case(suite: ET.Element, result: CaseResult) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_text(result.case.file.removesuffix(".mlir").replace("/", ".")),
        name=_text(result.label),
        file=_text(result.case.file),
        line=str(result.case.line),
        time=f"{result.seconds:.3f}",
    )
    if result.outcome in _SKIPPED:
        why = result.case.xfail if result.outcome is CaseOutcome.XFAILED else "; ".join(result.problems)
        ET.SubElement(case, "skipped", message=_text(why or ""))
    elif not result.outcome.good:
        kind = "error" if result.outcome is CaseOutcome.BROKEN else "failure"
        lines = [line.plain for line in failure_lines(result)]
        element = ET.SubElement(
            case, kind, message=_text(lines[0] if lines else ""), type=result.outcome.value
        )
        element.text = _text("\n".join(lines))


def _unreadable(root: ET.Element, errors: Sequence[AiepipeError]) -> None:
    number = str(len(errors))
    suite = ET.SubElement(
        root, "testsuite", name="unreadable headers", tests=number, failures="0", errors=number, skipped="0"
    )
    for error in errors:
        where = _text(error.where() or "header")
        case = ET.SubElement(suite, "testcase", classname="header", name=where)
        element = ET.SubElement(case, "error", message=_text(error.message), type=type(error).__name__)
        element.text = _text(error_text(error))


def _total(root: ET.Element, session: TestSession, errors: Sequence[AiepipeError]) -> None:
    root.set("tests", str(len(session.results) + len(errors)))
    root.set("failures", str(sum(_is_failure(r) for r in session.results)))
    root.set("errors", str(session.count(CaseOutcome.BROKEN) + len(errors)))
    root.set("skipped", str(sum(r.outcome in _SKIPPED for r in session.results)))
    root.set("time", f"{session.seconds:.3f}")


def _is_failure(result: CaseResult) -> bool:
    return not result.outcome.good and result.outcome is not CaseOutcome.BROKEN


def _text(text: str) -> str:
    return _FORBIDDEN.sub("�", text)
