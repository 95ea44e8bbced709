"""How often a program is wrong, from repeats: a rate with its uncertainty, and which lines it hits.

The interval is Wilson's score interval (1927): unlike the usual one it is sensible for 0 wrong runs of n
and for rates near 0 and 1, which is where a coherency fault lives.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from ..verdict import Comparison, LineFrequency, RunStatistics

CONFIDENCE = 0.95
_LINES_SHOWN = 16


@dataclass(frozen=True, slots=True)
class RepeatOutcome:
    """One run: the wrong 64-byte lines of each wrong result, by its name; empty when all was right."""

    lines: Mapping[str, Sequence[int]]

    @property
    def wrong(self) -> bool:
        return bool(self.lines)


def outcome(comparisons: Sequence[Comparison]) -> RepeatOutcome:
    """The outcome that the comparisons of a run's results tell."""
    found = {c.name: c.mismatch.line_numbers for c in comparisons if c.mismatch is not None}
    return RepeatOutcome(found)


def summarise(outcomes: Sequence[RepeatOutcome], confidence: float = CONFIDENCE) -> RunStatistics:
    """What repeats say together; `first_wrong_run` counts from 1."""
    wrong = [i for i, run in enumerate(outcomes, 1) if run.wrong]
    lines: Counter[tuple[str, int]] = Counter()
    for run in outcomes:
        for name, numbers in run.lines.items():
            lines.update((name, line) for line in numbers)
    low, high = wilson(len(wrong), len(outcomes), confidence)
    frequent = sorted(lines.items(), key=lambda item: (-item[1], item[0]))
    return RunStatistics(
        runs=len(outcomes),
        wrong_runs=len(wrong),
        rate=len(wrong) / len(outcomes) if outcomes else 0.0,
        rate_low=low,
        rate_high=high,
        confidence=confidence,
        first_wrong_run=wrong[0] if wrong else None,
        wrong_lines=len(lines),
        lines_per_wrong_run=lines.total() / len(wrong) if wrong else 0.0,
        lines=tuple(LineFrequency(name, line, n) for (name, line), n in frequent[:_LINES_SHOWN]),
    )


def wilson(wrong: int, runs: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval that holds the true rate with this confidence; (0, 1) without a run."""
    if not runs:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate, share = wrong / runs, z * z / runs
    middle = rate + share / 2
    spread = z * math.sqrt((rate * (1 - rate) + share / 4) / runs)
    # the ends are 0 and 1 themselves where no or every run was wrong; arithmetic gives them up to rounding
    low = 0.0 if wrong == 0 else (middle - spread) / (1 + share)
    high = 1.0 if wrong == runs else (middle + spread) / (1 + share)
    return low, high
