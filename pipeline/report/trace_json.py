"""A timeline as Chrome trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing show.

The format: "Trace Event Format" (Google, the document that both viewers name). Tiles are processes, their
cores, DMA channels and locks are threads and counters. Timestamps are microseconds there: one cycle is shown
as one nanosecond, so a core of 1 GHz.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from ..timeline import Details, Timeline, Track

CYCLES_PER_MICROSECOND = 1000
"""1 GHz: the order of the AIE-ML clock; Phoenix changes it with its power mode."""

TraceEvent = dict[str, "str | int | float | dict[str, str | int]"]

_FIRST = ("host", "controller")
_KINDS = ("host", "controller", "core", "instructions", "dma", "lock")


def trace_json(timeline: Timeline) -> str:
    """The document, with a final newline."""
    events = [*_names(timeline), *_sorted(timeline)]
    about: Mapping[str, str] = {
        "clock": "emulated cycles, shown at 1 GHz: one cycle is one nanosecond",
        "made by": "aiepipe --trace",
        **({"cut": f"only the first {timeline.limit} events were kept"} if timeline.cut else {}),
    }
    lines = ",\n".join(json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in events)
    head = f'{{"displayTimeUnit":"ns","otherData":{json.dumps(about)},"traceEvents":['
    return f"{head}\n{lines}\n]}}\n"


class _Numbers:
    """Process and thread numbers of the tracks."""

    def __init__(self, tracks: Iterable[Track]) -> None:
        found = set(tracks)
        processes = sorted({track.process for track in found}, key=_process_order)
        self.processes = {name: number for number, name in enumerate(processes, 1)}
        threads = sorted(found, key=lambda t: (_process_order(t.process), _KINDS.index(t.kind), t.name))
        self.threads = {track: number for number, track in enumerate(threads, 1)}

    def of(self, track: Track) -> dict[str, int]:
        return {"pid": self.processes[track.process], "tid": self.threads[track]}


def _process_order(name: str) -> tuple[int, str]:
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)


def _numbers(timeline: Timeline) -> _Numbers:
    return _Numbers(event.track for event in (*timeline.spans, *timeline.marks, *timeline.changes))


def _names(timeline: Timeline) -> Iterator[TraceEvent]:
    numbers = _numbers(timeline)
    for name, pid in numbers.processes.items():
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
    for track, tid in numbers.threads.items():
        if track.kind != "lock":
            at = numbers.of(track)
            yield {"ph": "M", "name": "thread_name", **at, "args": {"name": track.name}}
            yield {"ph": "M", "name": "thread_sort_index", **at, "args": {"sort_index": tid}}


def _sorted(timeline: Timeline) -> list[TraceEvent]:
    """All events by time; of spans that begin together the longest first, as nesting wants it."""
    numbers = _numbers(timeline)
    found: list[tuple[int, int, TraceEvent]] = []
    for span in timeline.spans:
        event: TraceEvent = {
            "ph": "X",
            "name": span.name,
            "cat": span.track.kind,
            **numbers.of(span.track),
            "ts": _microseconds(span.start),
            "dur": _microseconds(span.end - span.start),
            "args": _arguments(span.details),
        }
        found.append((span.start, span.start - span.end, event))
    for mark in timeline.marks:
        event = {
            "ph": "i",
            "s": "t",
            "name": mark.name,
            "cat": mark.track.kind,
            **numbers.of(mark.track),
            "ts": _microseconds(mark.time),
            "args": _arguments(mark.details),
        }
        found.append((mark.time, 0, event))
    values: dict[Track, int] = {}
    for change in sorted(timeline.changes, key=lambda change: change.time):
        value = values[change.track] = values.get(change.track, 0) + change.delta
        event = {
            "ph": "C",
            "name": change.track.name,
            "cat": "lock",
            **numbers.of(change.track),
            "ts": _microseconds(change.time),
            "args": {"value": value},
        }
        found.append((change.time, 0, event))
    found.sort(key=lambda item: item[:2])
    return [event for _, _, event in found]


def _microseconds(cycles: int) -> float:
    return cycles / CYCLES_PER_MICROSECOND


def _arguments(details: Details) -> dict[str, str | int]:
    return dict(details)
