"""A timeline as Chrome trace events: complete, in order, nested."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from aiepipe.report.trace_json import trace_json
from aiepipe.timeline import Change, Mark, Span, Timeline, Track

CORE = Track("core (0,2)", "core", "core")
DMA = Track("core (0,2)", "S2MM 0", "dma")
LOCK = Track("core (0,2)", "lock 1", "lock")
HOST = Track("host", "calls", "host")


def sample() -> Timeline:
    timeline = Timeline()
    timeline.add(Mark(HOST, "sync to device A", 0, (("bytes", 64),)))
    timeline.add(Span(CORE, "running", 0, 1500))
    timeline.add(Span(CORE, "waits for lock 1 of core (0,2)", 1500, 2250))
    timeline.add(Span(DMA, "waits for its stream", 100, 400))
    timeline.add(Span(DMA, "BD 0", 100, 1000, (("words", 600),)))
    timeline.add(Change(LOCK, 2250, -1))
    timeline.add(Change(LOCK, 1000, 1))
    return timeline


def load(text: str) -> list[dict[str, Any]]:
    """The events, after what the format asks of each was checked."""
    document = json.loads(text)
    assert document["displayTimeUnit"] == "ns"
    assert "1 GHz" in document["otherData"]["clock"]
    events: list[dict[str, Any]] = document["traceEvents"]
    times: list[float] = []
    for event in events:
        assert event["ph"] in "MXiC"
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] != "M":
            assert event["ts"] >= 0
            times.append(event["ts"])
        if event["ph"] == "X":
            assert event["dur"] >= 0
        if event["ph"] == "i":
            assert event["s"] == "t"
        if event["ph"] == "C":
            assert event["args"]["value"] >= 0
    assert times == sorted(times)
    return events


def check_nesting(events: list[dict[str, Any]]) -> None:
    """Spans of one track nest or follow each other."""
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
    for spans in tracks.values():
        open_until: list[int] = []
        for span in spans:
            start = round(span["ts"] * 1000)
            end = start + round(span["dur"] * 1000)
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], span
            open_until.append(end)


def test_every_event_is_there_and_the_format_is_kept() -> None:
    events = load(trace_json(sample()))
    check_nesting(events)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert list(processes.values()) == ["host", "core (0,2)"]
    shown = [(names[e["pid"], e["tid"]], e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    # microseconds at 1 GHz; of two that begin together, the longer first
    assert shown == [
        ("core", "running", 0, 1.5),
        ("S2MM 0", "BD 0", 0.1, 0.9),
        ("S2MM 0", "waits for its stream", 0.1, 0.3),
        ("core", "waits for lock 1 of core (0,2)", 1.5, 0.75),
    ]
    assert [(e["name"], e["ts"], e["args"]["value"]) for e in events if e["ph"] == "C"] == [
        ("lock 1", 1.0, 1),
        ("lock 1", 2.25, 0),
    ]


def test_a_timeline_that_was_cut_says_so() -> None:
    timeline = Timeline(limit=1)
    for time in (1, 2):
        timeline.add(Mark(HOST, "x", time))
    assert "only the first 1 events" in json.loads(trace_json(timeline))["otherData"]["cut"]


def test_spans_that_cross_are_found_by_this_tests_own_check() -> None:
    timeline = Timeline()
    timeline.add(Span(CORE, "a", 0, 10))
    timeline.add(Span(CORE, "b", 5, 15))
    with pytest.raises(AssertionError):
        check_nesting(load(trace_json(timeline)))


def test_an_empty_timeline_is_a_document() -> None:
    assert load(trace_json(Timeline())) == []
