"""A recorded timeline in short: when each part of the device was at work, for a picture."""

from __future__ import annotations

from collections.abc import Iterable

from ..timeline import Timeline, Track
from ..verdict import TrackActivity

# instructions are too many to see, locks are no work
_SHOWN = ("host", "controller", "core", "dma")
_RUNS = 4
"""Of many repeats, the last ones suffice."""

_RESOLUTION = 500
"""Spans that are nearer to each other than this part of the whole are drawn as one."""


def summarised(timeline: Timeline) -> tuple[TrackActivity, ...]:
    """One entry per track that did something in the last runs; cycles count from the first of these."""
    spans = sorted((s for s in timeline.spans if s.track.kind in _SHOWN), key=lambda span: span.start)
    runs = [span.start for span in spans if span.track.kind == "host"]
    first = runs[-_RUNS] if len(runs) > _RUNS else 0
    found: dict[Track, list[tuple[int, int]]] = {}
    for span in spans:
        if span.start >= first:
            found.setdefault(span.track, []).append((span.start - first, span.end - first))
    gap = (timeline.end - first) // _RESOLUTION
    order = sorted(found, key=lambda track: (_SHOWN.index(track.kind), track.process, track.name))
    return tuple(TrackActivity(t.process, t.name, t.kind, tuple(_joined(found[t], gap))) for t in order)


def _joined(spans: Iterable[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in spans:
        if out and start - out[-1][1] <= gap:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out
