"""Numbers that a stage's program needs and that may differ from step to step: the stream writes these into a
frame, one word each, in the order in which the program reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .stage_tiling import StageTiling, Step


@dataclass(frozen=True, slots=True)
class Number:
    """(constant + starts[axis] * ... + counts[axis] * ... ) // divisor + the tensor's skip, where given; and
    `at_first` in the first of the steps along the streamed axes."""

    constant: int = 0
    starts: tuple[tuple[int, int], ...] = ()
    counts: tuple[tuple[int, int], ...] = ()
    skip: int | None = None
    divisor: int = 1
    streamed: tuple[int, ...] = ()
    at_first: int = 0

    @property
    def fixed(self) -> bool:
        """Whether it is the same in all steps."""
        return not self.starts and not self.counts and self.skip is None and not self.at_first

    def value(self, step: Step, skips: Mapping[int, int]) -> int:
        total = self.constant
        total += sum(factor * step.starts[axis] for axis, factor in self.starts)
        total += sum(factor * step.counts[axis] for axis, factor in self.counts)
        total = total // self.divisor + (0 if self.skip is None else skips[self.skip])
        return total if any(step.starts[axis] for axis in self.streamed) else total + self.at_first

    def times(self, factor: int) -> Number:
        return replace(
            self,
            constant=self.constant * factor,
            starts=tuple((axis, factor * f) for axis, f in self.starts if factor),
            counts=tuple((axis, factor * f) for axis, f in self.counts if factor),
        )

    def plus(self, constant: int) -> Number:
        return replace(self, constant=self.constant + constant)


def count_of(tiling: StageTiling, axis: int | None, size: int) -> Number:
    """The trip count of a loop of `size` along an axis."""
    if axis is None:
        return Number(size)
    return Number(counts=((axis, 1),)) if tiling.varies(axis) else Number(tiling.tiles[axis])


def start_of(tiling: StageTiling, axis: int | None) -> Number:
    """The first value of such a loop."""
    tiled = axis is not None and tiling.tiles[axis] < tiling.axes.sizes[axis]
    return Number(starts=((axis, 1),)) if axis is not None and tiled else Number()


@dataclass(slots=True)
class Frame:
    """The words of a frame, in the order of reading."""

    words: list[Number] = field(default_factory=list[Number])

    def values(self, step: Step, skips: Mapping[int, int]) -> list[int]:
        return [word.value(step, skips) for word in self.words]
