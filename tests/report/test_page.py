"""The HTML page: what it says, that it needs nothing from outside, that text cannot become markup; and, in
headless Chromium where that is installed, that its script works.

"""

from __future__ import annotations

import dataclasses
import html
import json
import re
from pathlib import Path

import pytest

from aiepipe.report import markup
from aiepipe.report.earlier import compare_documents
from aiepipe.report.heat_picture import tile_of
from aiepipe.report.json_report import report_document
from aiepipe.report.markup import Markup, table
from aiepipe.report.page import html_page
from aiepipe.verdict import BuildRunReport, HeatMap, TrackActivity

from . import sample
from .browser import browse, serious_issues
from .page_reader import read


def wrong() -> BuildRunReport:
    activity = (TrackActivity("core (0,2)", "program", "core", ((0, 50), (70, 100))),)
    return dataclasses.replace(sample.wrong(), activity=activity, inspection=sample.busy_inspection())


def test_a_wrong_run_shows_what_where_and_why() -> None:
    reader = read(html_page(wrong()))
    for piece in (
        "WRONG",
        "Where result 0 is wrong",
        "64-byte line",
        "Timeline",
        "sync",
        "Why",
        "core (0,2)",
    ):
        assert piece in reader.text
    heat = [found for _, found in reader.elements if found.get("class") == "heat"]
    assert len(heat) == 1
    assert heat[0]["tabindex"] == "0"


def test_a_right_run_has_no_heat_map() -> None:
    reader = read(html_page(sample.right()))
    assert "RIGHT" in reader.text
    assert not [found for _, found in reader.elements if found.get("class") == "heat"]


def test_the_page_needs_nothing_from_outside() -> None:
    page = html_page(wrong(), earlier=report_document(sample.right()))
    reader = read(page)
    references = [
        value
        for _, attributes in reader.elements
        for key, value in attributes.items()
        if key in ("src", "href", "data", "action") and value
    ]
    assert references
    assert all(reference.startswith("#") for reference in references)
    assert "@import" not in page
    assert "url(" not in page
    assert not re.search(r"\b(fetch|XMLHttpRequest|importScripts)\b", page)
    assert [a["content"] for _, a in reader.elements if a.get("http-equiv")] == [
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    ]


def test_it_can_be_used_without_seeing_it() -> None:
    reader = read(html_page(wrong(), earlier=report_document(sample.right())))
    assert len(set(reader.ids)) == len(reader.ids)
    names = [name for name, _ in reader.elements]
    assert names.count("h1") == names.count("main") == 1
    assert dict(reader.elements)["html"]["lang"] == "en"
    for name, attributes in reader.elements:
        if name == "svg":
            assert attributes["role"] == "img"
        for key in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(key) is None or attributes[key] in reader.ids
        if name == "a":
            assert (attributes["href"] or "").removeprefix("#") in reader.ids
    assert names.count("table") == names.count("caption")


def test_text_cannot_become_markup() -> None:
    evil = '<script>alert("x")</script>&<img src=x onerror=y>'
    report = dataclasses.replace(wrong(), file=evil, function=evil, warnings=(evil,), repeat_with=evil)
    page = html_page(report, earlier=report_document(report), earlier_name=evil)
    reader = read(page)
    assert [name for name, _ in reader.elements].count("script") == 1
    assert "img" not in [name for name, _ in reader.elements]
    assert evil in reader.text


def test_elements_and_attributes_are_escaped_once() -> None:
    assert (
        markup.tag("p", "a < b & c", title='say "x"') == '<p title="say &quot;x&quot;">a &lt; b &amp; c</p>'
    )
    assert markup.tag("b", markup.tag("i", "<"), None, hidden=True, id=None) == "<b hidden><i>&lt;</i></b>"
    assert markup.tag("rect", x=0.5, stroke_width=2) == '<rect x="0.5" stroke-width="2"/>'
    assert isinstance(table("t", ("a",), [("<",)]), Markup)


def test_what_changed_against_an_earlier_report() -> None:
    now, then = report_document(sample.wrong()), report_document(sample.right())
    rows = {row[0]: row[1:] for row in compare_documents(now, then)}
    assert rows["verdict"] == ("PASS", "FAIL", "changed")
    assert rows["result 0"][0] == "right"
    assert rows["result 0"][2] == "changed"
    assert {row[2] for row in (r[1:] for r in compare_documents(now, now))} == {"same"}


def test_a_tile_is_read_out_of_the_notes_where_it_is_a_part() -> None:
    heat = HeatMap(64, 64, 1, 1, (), ())
    assert tile_of(["left box", "tile 16 x 32 x 8, 4 x 2 x 2 of them"], heat) == (16, 32)
    assert tile_of(["tile 64 x 64 x 16, 1 x 1 x 1 of them"], heat) is None
    assert tile_of(["tile of 3", "tile a x b x c"], heat) is None


# --------------------------------------------------------------------------- in a browser

_ACTS = """
const out = {};
const field = document.querySelector('input[type="search"]');
const table = document.querySelector('table[data-filter]');
field.value = 'no such thing';
field.dispatchEvent(new Event('input'));
out.hidden = [...table.tBodies[0].rows].every((row) => row.hidden);
out.status = document.querySelector('.count').textContent;
const map = document.querySelector('.heat');
map.focus();
for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowUp', 'ArrowLeft'])
  map.dispatchEvent(new KeyboardEvent('keydown', {key, cancelable: true}));
out.told = map.parentElement.querySelector('.told').textContent;
const before = getComputedStyle(document.body).backgroundColor;
document.getElementById('theme').click();
out.theme = [before, getComputedStyle(document.body).backgroundColor];
"""


@pytest.mark.slow
def test_filters_keys_and_theme_work_in_a_browser(tmp_path: Path) -> None:
    left, console = browse(html_page(wrong()), tmp_path, _ACTS)
    assert console == ""
    assert '"hidden":true' in left
    assert '"status":"0 of' in left
    # down, right, right, up, left from the corner: row 0, column 1
    assert "rows 0, columns 1, 64-byte line 0:" in left
    assert '"theme":["rgb(255, 255, 255)","rgb(13, 17, 23)"]' in left


_LOOKS = """
const out = {};
const map = document.querySelector('.heat');
for (const kind of ['tile', 'line64']) {
  const lines = [...map.querySelectorAll(`line.${kind}`)];
  const at = (name) => lines.filter((l) => l.getAttribute(name + '1') === l.getAttribute(name + '2'))
    .map((l) => Number(l.getAttribute(name + '1')));
  out[kind] = {across: at('x'), down: at('y'),
    drawn: lines.length > 0 && lines.every((l) => getComputedStyle(l).stroke !== 'none'
      && Math.max(l.getBoundingClientRect().width, l.getBoundingClientRect().height) > 100)};
}
"""


@pytest.mark.slow
def test_borders_of_tiles_and_lines_are_drawn_where_they_are(tmp_path: Path) -> None:
    """64 x 64 of i32 on 640 x 640: a line of 64 bytes is 16 columns; the tile is 16 rows of 32 columns."""
    report = sample.wrong()
    dispatches = tuple(
        dataclasses.replace(d, notes=("tile 16 x 32 x 8, 1 per core",)) for d in report.dispatches
    )
    left, console = browse(html_page(dataclasses.replace(report, dispatches=dispatches)), tmp_path, _LOOKS)
    assert console == ""
    assert json.loads(html.unescape(left.removeprefix("left:"))) == {
        "tile": {"across": [320], "down": [160, 320, 480], "drawn": True},
        "line64": {"across": [160, 320, 480], "down": [], "drawn": True},
    }


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_serious_issue(tmp_path: Path, dark: bool) -> None:
    page = html_page(wrong(), earlier=report_document(sample.right()))
    assert serious_issues(page, tmp_path, dark=dark) == []
