"""The page of a test session or a sweep: its table, its cases, what changed; and in headless Chromium, where
that is installed, filters, sorting, links, the heat map's pixels and accessibility."""

from __future__ import annotations

import dataclasses
import html
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from aiepipe import json_codec
from aiepipe.errors import UsageError
from aiepipe.report.case_entries import session_page, session_verdicts, sweep_page, sweep_verdicts
from aiepipe.report.case_page import ABSENT, Entry, verdict_changes
from aiepipe.report.sweep import sweep_json, sweep_jsonl
from aiepipe.report.tests_json import session_json
from aiepipe.testing.case import Case, CaseOutcome, CaseResult, TestSession
from aiepipe.testing.sweep import MatmulShape, Sweep, SweepPoint, SweepRow, SweepVerdict
from aiepipe.verdict import BuildRunReport

from . import sample
from .browser import browse, screenshot, serious_issues
from .page_reader import read


def session() -> TestSession:
    """Three cases: right, wrong with a heat map, and a skipped one of another backend and type."""
    right = Case("mlir/matmul.mlir", 1, "matmul", "ones", inputs=("64x16xi32=1",))
    wrong = dataclasses.replace(right, name="dirty")
    other = Case("mlir/b.mlir", 3, "g", inputs=("4xbf16=random(1)",))
    return TestSession(
        (
            CaseResult(right, "builtin", CaseOutcome.PASSED, 0.5, report=sample.right()),
            CaseResult(
                wrong, "builtin", CaseOutcome.FAILED, 10.0, ("2 lines are wrong",), report=sample.wrong()
            ),
            CaseResult(other, "mlir-aie", CaseOutcome.SKIPPED, 2.0, ("not here",)),
        ),
        12.5,
        2,
    )


def sweep() -> Sweep:
    points = tuple(SweepPoint(MatmulShape(2, 2, 2, element)) for element in ("i32", "bf16", "i8"))
    rows = (
        SweepRow(SweepVerdict.RIGHT, seconds=1.0, artifact_bytes=4096),
        SweepRow(SweepVerdict.WRONG, "1 of 4 wrong", seconds=2.0, report=sample.wrong()),
        None,
    )
    return Sweep(points, rows, 3.0, "2 processes")


def test_a_session_shows_every_case_and_the_wrong_one_in_full() -> None:
    reader = read(session_page(session(), [UsageError("no such directive: outptu")]))
    for piece in ("2 of 4 cases not as wanted", "mlir/matmul.mlir::matmul[dirty-builtin]", "2 lines are",
                  "Where result 0 is wrong", "a 64-byte line ends", "no such directive: outptu",
                  "Dispatches and their artifacts", "unreadable", "bf16"):  # fmt: skip
        assert piece in reader.text
    cases = [a for name, a in reader.elements if name == "details" and a.get("class") == "case"]
    assert [case["id"] for case in cases] == ["case0", "case1", "case2", "case3"]
    assert len(set(reader.ids)) == len(reader.ids)
    assert all((a["href"] or "")[1:] in reader.ids for name, a in reader.elements if name == "a")


def test_a_sweep_shows_points_that_did_not_run_and_sizes() -> None:
    reader = read(sweep_page(sweep(), "sweep.toml"))
    for piece in ("1 of 3 cases not as wanted", "1 right, 1 wrong, 1 not run", "4,096 B",
                  "matmul 2x2x2 bf16 fill 0, builtin, seed 1", "Where result 0 is wrong"):  # fmt: skip
        assert piece in reader.text


@pytest.mark.parametrize("text", [sweep_json(sweep()), sweep_jsonl(sweep())])
def test_a_sweep_against_its_own_report_has_no_change(text: str) -> None:
    earlier = sweep_verdicts(text)
    assert sorted(earlier.values()) == ["not run", "right", "wrong"]
    assert "Every verdict is as in before.json." in sweep_page(sweep(), "s.toml", earlier, "before.json")


def test_what_changed_verdict_since_an_earlier_session() -> None:
    earlier = dict(session_verdicts(session_json(session(), [])))
    first, second, third = earlier
    earlier[second] = "passed"
    del earlier[third]
    earlier["gone.mlir::f[builtin]"] = "passed"
    entries = [Entry(r.id, r.outcome.value, True, r.backend, (), 0.0) for r in session().results]
    assert verdict_changes(entries, earlier) == (
        (second, "passed", "failed"),
        (third, ABSENT, "skipped"),
        ("gone.mlir::f[builtin]", "passed", ABSENT),
    )
    text = read(session_page(session(), [], earlier, "e.json")).text
    assert "3 verdicts not as in e.json" in text
    assert first in earlier


@pytest.mark.parametrize("text", ["[]", "{}", '{"schema": "aiepipe.report/1"}', "no json", ""])
def test_other_documents_are_refused(text: str) -> None:
    for reader in (session_verdicts, sweep_verdicts):
        if reader is sweep_verdicts and not text:
            assert sweep_verdicts(text) == {}  # a sweep of nothing, as JSON lines
            continue
        with pytest.raises((ValueError, KeyError, TypeError)):
            reader(text)


def test_text_of_a_case_cannot_become_markup() -> None:
    evil = '"><script>alert(1)</script><img src=x>'
    case = Case(evil, 1, evil, evil, inputs=(evil,), xfail=evil)
    result = CaseResult(case, evil, CaseOutcome.FAILED, 1.0, (evil,), evil, evil, again=evil)
    reader = read(session_page(TestSession((result,), 1.0, 1), [], {evil: evil}, evil))
    assert [name for name, _ in reader.elements].count("script") == 1
    assert "img" not in [name for name, _ in reader.elements]


# --------------------------------------------------------------------------- in a browser

_ACTS = """
const out = {};
const cases = document.querySelector('#cases table');
const names = () => [...cases.tBodies[0].rows].filter((row) => !row.hidden)
  .map((row) => row.cells[0].textContent.split('::')[1]);
const lists = [...document.querySelectorAll('#cases select')];
out.lists = lists.map((list) => list.parentElement.textContent.split(' ')[0]);
out.values = lists.map((list) => [...list.options].map((option) => option.value));
const choose = (at, value) => { lists[at].value = value; lists[at].dispatchEvent(new Event('change')); };
choose(0, 'failed'); out.failed = names(); choose(0, '');
choose(1, 'mlir-aie'); out.backend = names(); choose(1, '');
choose(2, 'bf16'); out.type = names(); out.status = document.querySelector('#cases .count').textContent;
choose(2, '');
const field = document.querySelector('#cases input');
field.value = 'matmul dirty'; field.dispatchEvent(new Event('input')); out.text = names();
field.value = ''; field.dispatchEvent(new Event('input')); out.all = names().length;
const time = [...cases.querySelectorAll('button.sort')].find((b) => b.textContent === 'time');
time.click(); out.up = names(); out.sort = time.closest('th').getAttribute('aria-sort');
time.click(); out.down = names();
cases.querySelector('a[href="#case1"]').click();
const shown = document.getElementById('case1');
out.open = shown.open;
out.focus = document.activeElement.closest('details')?.id + ' ' + document.activeElement.tagName;
out.heat = shown.querySelector('.heat').getBoundingClientRect().width > 100;
out.lines = shown.querySelectorAll('.heat .line64').length;
"""


@pytest.mark.slow
def test_filters_sorting_and_links_work_in_a_browser(tmp_path: Path) -> None:
    left, console = browse(session_page(session(), []), tmp_path, _ACTS)
    assert console == ""
    found: dict[str, Any] = json.loads(html.unescape(left).removeprefix("left:"))
    ones, dirty, other = "matmul[ones-builtin]", "matmul[dirty-builtin]", "g[mlir-aie]"
    assert found == {
        "lists": ["verdict", "backend", "types"],
        "values": [["", "failed", "passed", "skipped"], ["", "builtin", "mlir-aie"], ["", "bf16", "i32"]],
        "failed": [dirty],
        "backend": [other],
        "type": [other],
        "status": "1 of 3",
        "text": [dirty],
        "all": 3,
        "up": [ones, other, dirty],
        "sort": "ascending",
        "down": [dirty, other, ones],
        "open": True,
        "focus": "case1 SUMMARY",
        "heat": True,
        # 64 columns of i32 are four lines: three borders within
        "lines": 3,
    }


@pytest.mark.slow
def test_a_screenshot_shows_the_heat_map(tmp_path: Path) -> None:
    """The colour of poison (page.css, --poison of the light theme) is in the picture, and not without."""
    poison = (0x82, 0x50, 0xDF)
    page = session_page(session(), [])
    assert poison in pixels(screenshot(page, tmp_path, "#case1", "--force-color-profile=srgb"))
    assert poison not in pixels(screenshot(page, tmp_path, "#case0", "--force-color-profile=srgb"))


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_serious_issue(tmp_path: Path, dark: bool) -> None:
    earlier = {session().results[1].id: "passed"}
    assert serious_issues(session_page(session(), [], earlier, "e.json"), tmp_path, dark=dark) == []


def pixels(png: bytes) -> set[tuple[int, ...]]:
    """The colours of an 8-bit RGB or RGBA picture without interlacing (PNG specification, section 9)."""
    at, data, width, each = 8, b"", 0, 3
    while at < len(png):
        (length,), kind = struct.unpack_from(">I", png, at), png[at + 4 : at + 8]
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, _, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
            assert (depth, interlace) == (8, 0)
            each = {2: 3, 6: 4}[colour]
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    raw, stride = zlib.decompress(data), width * each
    above, found = bytearray(stride), set[tuple[int, ...]]()
    for start in range(0, len(raw), stride + 1):
        line = _unfilter(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), above, each)
        if line != above:
            found |= {tuple(line[i : i + 3]) for i in range(0, stride, each)}
        above = line
    return found


def _unfilter(kind: int, line: bytearray, above: bytearray, each: int) -> bytearray:
    for i in range(len(line)):
        left, up = (line[i - each] if i >= each else 0), above[i]
        corner = above[i - each] if i >= each else 0
        nearest = min((abs(up - corner), 0, left), (abs(left - corner), 1, up),
                      (abs(left + up - 2 * corner), 2, corner))[2]  # fmt: skip
        line[i] = (line[i] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
    return line


@pytest.mark.parametrize("report", [sample.right(), sample.wrong()])
def test_a_row_with_its_report_is_kept_whole(report: BuildRunReport) -> None:
    """As the store and xdist pass it on; some parts have a field named as the tag of the codec."""
    row = SweepRow(SweepVerdict.WRONG, report=report)
    assert json_codec.decode(json.loads(json.dumps(json_codec.encode(row))), SweepRow) == row
