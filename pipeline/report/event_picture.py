"""The host's actions and the device's runs as a picture: one lane per buffer, time from left to right.

The steps are the order of events, not their duration: what a sync misses is a matter of order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..verdict import EventKind, HostEvent
from .markup import Markup, joined, svg, table, tag
from .text import byte_range, count

_STEP = 46.0
_LANE = 34.0
_LEFT = 150.0
_TOP = 26.0
_MOST = 200
_DEVICE = "device"
_NAMES = {
    EventKind.WRITE: ("W", "host writes", "write"),
    EventKind.READ: ("R", "host reads", "read"),
    EventKind.SYNC_TO: ("↓", "sync to device", "to"),
    EventKind.SYNC_FROM: ("↑", "sync from device", "from"),
    EventKind.START: ("▶", "run starts", "start"),
    EventKind.WAIT: ("■", "run has ended", "wait"),
}


def event_picture(events: Sequence[HostEvent]) -> Markup:
    """The picture and the same as a table."""
    shown = events[:_MOST]
    lanes = list(dict.fromkeys(e.buffer for e in shown if e.kind not in (EventKind.START, EventKind.WAIT)))
    lanes.append(_DEVICE)
    width, height = _LEFT + _STEP * (len(shown) + 1), _TOP + _LANE * len(lanes) + 6
    pieces = [*_lanes(lanes, width), *_runs(shown, lanes), *_marks(shown, lanes)]
    syncs = sum(e.kind in (EventKind.SYNC_TO, EventKind.SYNC_FROM) for e in events)
    starts = sum(e.kind is EventKind.START for e in events)
    text = (
        f"{count(len(events), 'event')} in order: {count(syncs, 'sync')} and {count(starts, 'run')} of the "
        "device, one lane per buffer. The table below has each event."
    )
    picture = svg(
        "Host syncs and device activity", text, (width, height), "events", *pieces, width=int(width)
    )
    more = tag("p", f"The first {_MOST} of {len(events)} events.") if len(events) > _MOST else None
    legend = tag(
        "ul",
        [tag("li", tag("b", sign, aria_hidden="true"), f" {name}") for sign, name, _ in _NAMES.values()],
        _class="legend",
    )
    scrolled = tag(
        "div", picture, _class="scroll", tabindex=0, role="region", aria_label="Timeline of host and device"
    )
    return joined([tag("figure", scrolled, legend), more, _table(events)])


def _lanes(lanes: Sequence[str], width: float) -> Iterator[Markup]:
    for number, name in enumerate(lanes):
        y = _TOP + _LANE * (number + 0.5)
        yield tag("line", x1=_LEFT, y1=y, x2=width, y2=y, _class="lane")
        yield tag("text", name, x=4, y=y + 4, _class="lane-name")


def _runs(events: Sequence[HostEvent], lanes: Sequence[str]) -> Iterator[Markup]:
    """The device is busy from a start to the wait of the same run."""
    y = _TOP + _LANE * (len(lanes) - 1) + 6
    started: dict[int, int] = {}
    for place, event in enumerate(events):
        if event.kind is EventKind.START:
            started[event.run] = place
        elif event.kind is EventKind.WAIT and event.run in started:
            x, end = _x(started.pop(event.run)), _x(place)
            yield tag("rect", x=x, y=y, width=end - x, height=_LANE - 12, _class="busy")


def _marks(events: Sequence[HostEvent], lanes: Sequence[str]) -> Iterator[Markup]:
    for place, event in enumerate(events):
        sign, name, kind = _NAMES[event.kind]
        lane = _DEVICE if event.kind in (EventKind.START, EventKind.WAIT) else event.buffer
        y = _TOP + _LANE * (lanes.index(lane) + 0.5)
        told = f"{place + 1}. {name} {event.buffer} {_range(event)} {event.note}".strip()
        yield tag(
            "g",
            tag("title", told),
            tag("circle", cx=_x(place), cy=y, r=11.0),
            tag("text", sign, x=_x(place), y=y + 4.5, text_anchor="middle"),
            _class=f"mark {kind}",
        )


def _x(place: int) -> float:
    return _LEFT + _STEP * (place + 0.6)


def _table(events: Sequence[HostEvent]) -> Markup:
    rows = [
        (str(number), _NAMES[e.kind][1], e.buffer, _range(e), e.note) for number, e in enumerate(events, 1)
    ]
    return tag(
        "details",
        tag("summary", f"All {count(len(events), 'event')} as a table"),
        table("The host's log", ("no.", "what", "buffer", "bytes", "note"), rows, filtered=True),
    )


def _range(event: HostEvent) -> str:
    if event.kind in (EventKind.START, EventKind.WAIT):
        return ""
    return byte_range(event.offset_bytes, event.length_bytes)
