"""Records what tiles do and when, for a timeline: cores, DMA channels, locks, the instruction stream.

An array has a `Trace` only when somebody wants one. Its times are those of the array's clocks plus `base`,
so that several arrays, one after another, stand on one timeline.
"""

from __future__ import annotations

from ..errors import ArtifactError
from ..isa import assembly
from ..isa.decode import decode_bundle
from ..timeline import Change, Details, Mark, Span, Timeline, Track, TrackKind

CONTROLLER = Track("controller", "instruction stream", "controller")


class Trace:
    """The recorder. `instructions`: a span for each bundle of a core, too."""

    def __init__(self, timeline: Timeline, *, instructions: bool = False) -> None:
        self.timeline = timeline
        self.instructions = instructions
        self.base = 0
        self._tracks: dict[tuple[str, str], Track] = {}

    def begin(self, now: int) -> None:
        """An array whose clocks show `now` is about to act: after all that is on the timeline."""
        self.base = max(self.base, self.timeline.end - now)

    def core(self, tile: str, name: str, start: int, end: int, **details: str | int) -> None:
        """A core ran or stood still."""
        self._span(self._track(tile, "core", "core"), name, start, end, tuple(details.items()))

    def bundle(self, tile: str, text: str, start: int, end: int, pc: int) -> None:
        """A core executed one bundle."""
        self._span(self._track(tile, "instructions", "instructions"), text, start, end, (("pc", hex(pc)),))

    def channel(self, tile: str, label: str, name: str, start: int, end: int, **details: str | int) -> None:
        """A DMA channel executed a BD, or waited within one."""
        self._span(self._track(tile, label, "dma"), name, start, end, tuple(details.items()))

    def lock(self, tile: str, lock: int, time: int, delta: int) -> None:
        """A lock's value changed."""
        track = self._track(tile, f"lock {lock}", "lock")
        self.timeline.add(Change(track, self.base + time, delta))

    def stream(self, name: str, time: int, **details: str | int) -> None:
        """The instruction stream did something at one time."""
        self.timeline.add(Mark(CONTROLLER, name, self.base + time, tuple(details.items())))

    def run(self, name: str, start: int, end: int, **details: str | int) -> None:
        """The instruction stream as a whole."""
        self._span(CONTROLLER, name, start, end, tuple(details.items()))

    def _span(self, track: Track, name: str, start: int, end: int, details: Details) -> None:
        self.timeline.add(Span(track, name, self.base + start, self.base + end, details))

    def _track(self, tile: str, name: str, kind: TrackKind) -> Track:
        found = self._tracks.get((tile, name))
        if found is None:
            found = self._tracks[tile, name] = Track(tile, name, kind)
        return found


def bundle_text(program: bytearray, pc: int) -> str:
    """The bundle at `pc` in assembly."""
    try:
        bundle = decode_bundle(program, pc)
    except ArtifactError:
        return "?"
    return "; ".join(assembly.print(slot) for slot in bundle.slots) or "nop"
