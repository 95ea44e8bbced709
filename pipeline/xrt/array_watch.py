"""What is to be watched while emulated arrays run, and what was seen: findings, and a timeline.

One `ArrayWatch` goes with one emulated device; the arrays of all its contexts report to it. The host's side
of the timeline comes from the device's event stream.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..emulator import cycles as emulated
from ..emulator.findings import Finding
from ..emulator.machine import RunReport
from ..emulator.trace import Trace
from ..timeline import Details, Mark, Span, Timeline, Track
from ..verdict import ArrayFinding, ChannelCycles, TileCycles
from . import events

CALLS = Track("host", "calls", "host")
RUNS = Track("host", "runs", "host")


@dataclass(slots=True)
class ArrayWatch:
    """`check`: cores and their memories too. `timeline`: record what happens; `instructions`: each bundle."""

    check: bool = False
    timeline: Timeline | None = None
    instructions: bool = False
    counting: bool = True
    """Cycles are added up; whoever wants those of one execution clears this after it."""
    _found: dict[Finding, ArrayFinding] = field(default_factory=dict[Finding, ArrayFinding])
    _cycles: dict[str, emulated.TileCycles] = field(default_factory=dict[str, emulated.TileCycles])

    @property
    def findings(self) -> tuple[ArrayFinding, ...]:
        """What all runs so far showed, the same thing once."""
        return tuple(self._found.values())

    @property
    def tile_cycles(self) -> tuple[TileCycles, ...]:
        """What cycles went to while they were counted, tile by tile."""
        return tuple(_shown(tile, cycles) for tile, cycles in self._cycles.items())

    def note(self, report: RunReport) -> None:
        """A run is over."""
        if self.counting:
            for tile, cycles in report.tile_cycles.items():
                known = self._cycles.get(tile, emulated.TileCycles())
                self._cycles[tile] = known.plus(cycles)
        self.found(report.findings)

    def found(self, findings: Iterable[Finding]) -> None:
        """Something was found; in a run that failed, too."""
        for finding in findings:
            key = dataclasses.replace(finding, count=1)
            known = self._found.get(key)
            count = finding.count + (0 if known is None else known.count)
            self._found[key] = ArrayFinding(
                finding.kind,
                finding.tile,
                finding.message,
                finding.pc,
                finding.channel,
                finding.descriptor,
                finding.address,
                count,
            )

    def trace(self) -> Trace | None:
        """The recorder of a new array."""
        return None if self.timeline is None else Trace(self.timeline, instructions=self.instructions)


def _shown(tile: str, cycles: emulated.TileCycles) -> TileCycles:
    core, rates = cycles.core, cycles.bytes_per_cycle
    channels = tuple(
        ChannelCycles(name, c.words, c.lock_wait, c.stream_wait, rates[name])
        for name, c in sorted(cycles.channels.items())
    )
    return TileCycles(
        tile,
        core.bundles,
        core.bank_conflicts,
        core.lock_wait,
        core.stream_wait,
        core.cascade_wait,
        channels,
    )


class HostTrace:
    """Puts what the host does on the timeline, at the time to which the array has come. `observe` is to be
    among the observers of the event stream."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._labels: dict[int, str] = {}
        self._started: dict[int, tuple[int, str]] = {}

    def observe(self, event: events.Event) -> None:
        """An event of the device API."""
        match event:
            case (
                events.Allocated(allocation=allocation, label=label)
                | events.Labelled(allocation=allocation, label=label)
            ):
                self._labels[allocation] = label
            case events.HostWrite():
                self._call("write", event)
            case events.HostRead():
                self._call("read", event)
            case events.Synced(direction=direction):
                self._call(f"sync {direction.value}", event)
            case events.RunStarted(run=run, kernel=kernel):
                self._started[run] = self._timeline.end, kernel
                self._mark("start", (("run", run), ("kernel", kernel), ("at", str(event.site))))
            case events.RunFinished(run=run, state=state):
                start, kernel = self._started.pop(run, (self._timeline.end, ""))
                details = (("run", run), ("state", state))
                self._timeline.add(Span(RUNS, kernel, start, self._timeline.end, details))
            case events.RunObserved(run=run, state=state):
                self._mark("wait", (("run", run), ("state", state), ("at", str(event.site))))
            case _:
                pass

    def _call(self, name: str, event: events.HostWrite | events.HostRead | events.Synced) -> None:
        label = self._labels.get(event.allocation, f"buffer {event.allocation}")
        self._mark(
            f"{name} {label}",
            (("offset", event.offset_bytes), ("bytes", event.length_bytes), ("at", str(event.site))),
        )

    def _mark(self, name: str, details: Details) -> None:
        self._timeline.add(Mark(CALLS, name, self._timeline.end, details))
