"""What one DMA task can move: nested word strides, as a buffer descriptor expresses them.

Limits are the fields of a BD (npu/descriptors.py), by default the shim's: three dimensions, the inner two
with a wrap of at most 1023, the outermost bounded by the length; steps of at most 2**20 words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

DIMENSIONS = 3

Dimension = tuple[int, int]
"""(count, stride in words)."""


@dataclass(frozen=True, slots=True)
class AddressingLimits:
    """The largest trip count of an inner dimension, and the largest step, in words."""

    wrap: int
    step: int


SHIM_LIMITS = AddressingLimits(wrap=1023, step=1 << 20)
CORE_LIMITS = AddressingLimits(wrap=255, step=1 << 13)
"""Of a core's BDs: eight bits of wrap, thirteen of step."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The addressing part of a BD; steps and lengths in words, innermost dimension first."""

    length_words: int
    steps: tuple[int, int, int]
    wraps: tuple[int, int]


def pattern(dimensions: Sequence[Dimension], limits: AddressingLimits = SHIM_LIMITS) -> Pattern | None:
    """The BD addressing of nested loops over words, outermost first; None where no BD has it."""
    length = 1
    for count, _ in dimensions:
        length *= count
    inner_first = _split(_merged(dimensions), limits.wrap)
    if inner_first is None or len(inner_first) > DIMENSIONS:
        return None
    if any(not 1 <= stride <= limits.step for _, stride in inner_first):
        return None
    steps, wraps = [1] * DIMENSIONS, [0] * (DIMENSIONS - 1)
    for d, (count, stride) in enumerate(inner_first):
        steps[d] = stride
        if d < len(inner_first) - 1:
            wraps[d] = count
    return Pattern(length, (steps[0], steps[1], steps[2]), (wraps[0], wraps[1]))


def _merged(dimensions: Sequence[Dimension]) -> list[Dimension]:
    """Innermost first, without dimensions of one step, adjacent ones joined where they are one run."""
    result: list[Dimension] = []
    for count, stride in reversed(dimensions):
        if count == 1:
            continue
        if result and stride == result[-1][0] * result[-1][1]:
            result[-1] = (result[-1][0] * count, result[-1][1])
        else:
            result.append((count, stride))
    return result


def _split(inner_first: list[Dimension], most: int) -> list[Dimension] | None:
    """Each dimension that needs a wrap as one or two that fit into it; None where a count is prime."""
    result: list[Dimension] = []
    for count, stride in inner_first[:-1]:
        if count <= most:
            result.append((count, stride))
            continue
        factor = next((f for f in range(most, 1, -1) if count % f == 0), None)
        if factor is None or count // factor > most:
            return None
        result += [(factor, stride), (count // factor, stride * factor)]
    return result + inner_first[-1:]
