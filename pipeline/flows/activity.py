"""A recorded timeline in short: when each part of the device was at work, for a picture."""

from __future__ import annotations

from collections.abc import Iterable

from ..timeline import Timeline, Track
from ..verdict import TrackActivity

# instructions are too many to see, locks are no work
_SHOWN = ("host", "controller", "core", "dma")
_RESOLUTION = 500
"""Spans that are nearer to each other than this part of the whole are drawn as one."""


def summarised(timeline: Timeline) -> tuple[TrackActivity, ...]:
    """One entry per track that did something, in the order in which they first did."""
    found: dict[Track, list[tuple[int, int]]] = {}
    for span in sorted(timeline.spans, key=lambda span: span.start):
        if span.track.kind in _SHOWN:
            found.setdefault(span.track, []).append((span.start, span.end))
    gap = timeline.end // _RESOLUTION
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
