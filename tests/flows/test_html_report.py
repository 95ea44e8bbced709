"""`--html`: written whole, compared with an earlier report, and bad earlier reports refused before a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aiepipe.cli import run_command
from aiepipe.errors import UsageError
from aiepipe.flows.activity import summarised
from aiepipe.flows.html_report import read_earlier
from aiepipe.timeline import Span, Timeline, Track
from aiepipe.verdict import TrackActivity

SAMPLE = str(Path(__file__).resolve().parents[2] / "mlir" / "fill.mlir")


def test_build_run_writes_a_page_and_compares_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    arguments = ["build-run", SAMPLE, "--device", "emulated", "--json"]
    assert run_command(arguments) == 0
    earlier = tmp_path / "earlier.json"
    earlier.write_text(capsys.readouterr().out)
    assert run_command([*arguments, "--html", str(page), "--html-earlier", str(earlier)]) == 0
    assert "Against" in page.read_text()
    assert "--html" not in json.loads(capsys.readouterr().out)["repeat_with"]


@pytest.mark.parametrize(
    "document",
    ["", "[]", '{"schema": "other/1"}', '{"schema": "aiepipe.report/1", "stages": [{"name": "x"}]}'],
)
def test_what_is_no_report_is_refused(tmp_path: Path, document: str) -> None:
    path = tmp_path / "earlier.json"
    path.write_text(document)
    with pytest.raises(UsageError, match="no report of aiepipe"):
        read_earlier(str(path))


def test_an_earlier_report_without_a_page_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["build-run", SAMPLE, "--html-earlier", "x.json"]) == 2
    assert "--html" in capsys.readouterr().err


def test_near_spans_are_one_and_instructions_are_left_out() -> None:
    core, lock = Track("core (0,2)", "program", "core"), Track("core (0,2)", "0", "lock")
    timeline = Timeline()
    events: list[Any] = [
        Span(core, "a", 0, 100),
        Span(core, "b", 101, 200),
        Span(core, "c", 5000, 10000),
        Span(lock, "l", 0, 10),
    ]
    for event in events:
        timeline.add(event)
    # 10000 cycles in 500 parts: what is within 20 cycles is one
    assert summarised(timeline) == (
        TrackActivity("core (0,2)", "program", "core", ((0, 200), (5000, 10000))),
    )


def test_of_many_runs_the_last_four_are_kept_from_their_own_start() -> None:
    host, core = Track("host", "runs", "host"), Track("core (0,2)", "program", "core")
    timeline = Timeline()
    for run in range(10):
        timeline.add(Span(host, "run", run * 1000, run * 1000 + 900))
        timeline.add(Span(core, "program", run * 1000 + 10, run * 1000 + 800))
    by_kind = {track.kind: track.spans for track in summarised(timeline)}
    assert by_kind["host"] == ((0, 900), (1000, 1900), (2000, 2900), (3000, 3900))
    assert by_kind["core"][0] == (10, 800)
