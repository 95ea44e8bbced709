"""Which step changed the outcome, of a list of versions, flags or backends."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Outcome(enum.Enum):
    """The four verdicts of a bisection."""

    RIGHT = "right"
    WRONG = "wrong"
    ERROR = "error"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Trial:
    """One thing that was tried: a compiler version, a set of flags, a backend.

    `answer` tells trials of one outcome apart where a question was asked ("stream.cmd.fill at start-up");
    `detail` is for people (the first error, what is wrong) and makes no difference.
    """

    name: str
    outcome: Outcome
    answer: str = ""
    detail: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> tuple[Outcome, str]:
        return self.outcome, self.answer


@dataclass(frozen=True, slots=True)
class Transition:
    """Two neighbours with different verdicts. `cause` says what stands between them, `first_pass` the
    first pass whose IR differs, where that was looked for; `files` are what was kept."""

    before: Trial
    after: Trial
    cause: str
    first_pass: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BisectReport:
    """What `aiepipe bisect` found. `over` is "compilers", "flags" or "backends"; `trials` are all that was
    tried, in order of the points; `points` how many there were to choose from."""

    file: str
    over: str
    good: str
    bad: str
    points: int
    trials: tuple[Trial, ...]
    transitions: tuple[Transition, ...]
    question: str
    notes: tuple[str, ...] = ()
