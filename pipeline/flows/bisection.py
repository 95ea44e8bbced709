"""Finding where a verdict changes: along a line of points, and in a set of changes.

There are four verdicts, not two, so a line may have several transitions; each that halving meets is found.
Nothing here knows what a point is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from ..verdict import Trial

Point = TypeVar("Point")


class Line(Generic[Point]):
    """Points in order, each tried at most once; `trials` are those tried so far, by index."""

    def __init__(self, points: Sequence[Point], judge: Callable[[Point], Trial]) -> None:
        self._points = tuple(points)
        self._judge = judge
        self.trials: dict[int, Trial] = {}

    def trial(self, index: int) -> Trial:
        """The verdict at a point."""
        if index not in self.trials:
            self.trials[index] = self._judge(self._points[index])
        return self.trials[index]

    def transitions(self) -> list[int]:
        """Indices i whose verdict differs from that of i + 1, as halving from both ends finds them. A line
        whose ends agree has none, whatever it does between."""
        return self._between(0, len(self._points) - 1)

    def _between(self, low: int, high: int) -> list[int]:
        if low >= high or self.trial(low).verdict == self.trial(high).verdict:
            return []
        if high - low == 1:
            return [low]
        middle = (low + high) // 2
        return [*self._between(low, middle), *self._between(middle, high)]


def minimal_changes(
    changes: Sequence[Point], changed: Callable[[Sequence[Point]], bool]
) -> tuple[Point, ...]:
    """A part of `changes` that suffices for `changed` and of which nothing can be left out.

    `changed` must hold for all of them and not for none (Zeller and Hildebrandt's ddmin).
    """
    kept: list[Point] = list(changes)
    parts = 2
    while len(kept) >= 2:
        size = -(-len(kept) // parts)
        chunks: list[list[Point]] = [kept[i : i + size] for i in range(0, len(kept), size)]
        rests: list[list[Point]] = [_without(chunks, i) for i in range(len(chunks))]
        smaller = next((chunk for chunk in chunks if changed(chunk)), None)
        rest = None if smaller is not None else next((r for r in rests if r and changed(r)), None)
        if smaller is not None:
            kept, parts = smaller, 2
        elif rest is not None:
            kept, parts = rest, max(parts - 1, 2)
        elif parts >= len(kept):
            break
        else:
            parts = min(2 * parts, len(kept))
    return tuple(kept)


def _without(chunks: list[list[Point]], index: int) -> list[Point]:
    return [item for i, chunk in enumerate(chunks) if i != index for item in chunk]
