"""When each part of the emulated device was at work: a lane per core and DMA channel, cycles from left to
right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..verdict import TrackActivity
from .markup import Markup, joined, svg, table, tag

_WIDTH = 900.0
_LEFT = 190.0
_LANE = 20.0
_TICKS = 5
_MOST_LANES = 120


def activity_picture(activity: Sequence[TrackActivity]) -> Markup:
    """The picture and the same as a table; nothing where nothing was recorded."""
    shown = activity[:_MOST_LANES]
    end = max((span[1] for track in shown for span in track.spans), default=0)
    if not end:
        return Markup("")
    scale = (_WIDTH - _LEFT - 10) / end
    height = _LANE * (len(shown) + 1) + 8
    pieces = [*_axis(end, scale, height), *(_lane(track, i, scale) for i, track in enumerate(shown))]
    text = f"{len(shown)} parts of the device over {end:,} cycles; the table below says how busy each was."
    title = "Device activity in cycles"
    picture = svg(title, text, (_WIDTH, height), "activity", *pieces, width=int(_WIDTH))
    scrolled = tag("div", picture, _class="scroll", tabindex=0, role="region", aria_label=title)
    rows = [(f"{t.process} {t.name}", t.kind, *_busy(t, end)) for t in activity]
    busy = table("How busy each part was", ("part", "kind", "cycles", "share"), rows, numbers=(2, 3))
    return joined([tag("figure", scrolled), tag("details", tag("summary", "The same as a table"), busy)])


def _axis(end: int, scale: float, height: float) -> Iterator[Markup]:
    for tick in range(_TICKS + 1):
        cycle = end * tick // _TICKS
        x = _LEFT + cycle * scale
        anchor = "end" if tick == _TICKS else "middle"
        yield tag("line", x1=x, y1=_LANE, x2=x, y2=height, _class="lane")
        yield tag("text", f"{cycle:,}", x=x, y=13, text_anchor=anchor)


def _lane(track: TrackActivity, number: int, scale: float) -> Markup:
    y = _LANE * (number + 1)
    bars = [
        tag(
            "rect",
            x=_LEFT + start * scale,
            y=y + 3,
            width=max((end - start) * scale, 1.0),
            height=_LANE - 6,
            _class=f"work {track.kind}",
        )
        for start, end in track.spans
    ]
    return tag("g", tag("text", f"{track.process} {track.name}", x=4, y=y + 14), bars)


def _busy(track: TrackActivity, end: int) -> tuple[str, str]:
    cycles = sum(last - first for first, last in track.spans)
    return f"{cycles:,}", f"{cycles / end * 100:.0f} %"
