"""What a run did that hardware would not tell: each once, with tile, pc or BD, and how often.

Made by `checks` and `leftovers`, given out in `machine.RunReport`. They are no errors: the run goes on.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

FindingKind = Literal[
    "unwritten-read",
    "outside-read",
    "race",
    "stack-overflow",
    "lock-left",
    "queue-left",
    "descriptor-left",
    "words-left",
]

LARGEST_LOG = 200
"""Findings that are kept; a program that is wrong everywhere is told so by the first ones."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One of them. `message` is a whole sentence; the other fields say the same for programs.

    `pc` is a byte address in program memory, `channel` "S2MM 0", `address` a byte offset in the data
    memory of `tile`, or a device address where `message` speaks of DDR; None where the finding has none.
    `count` is how often it was met.
    """

    kind: FindingKind
    tile: str
    message: str
    pc: int | None = None
    channel: str | None = None
    descriptor: int | None = None
    address: int | None = None
    count: int = 1


class FindingLog:
    """Collects findings; what has the same key is the same one again."""

    def __init__(self) -> None:
        self._found: dict[object, Finding] = {}

    def add(self, key: object, finding: Finding) -> None:
        """Keeps the first of each key and counts the others."""
        known = self._found.get(key)
        if known is not None:
            self._found[key] = dataclasses.replace(known, count=known.count + 1)
        elif len(self._found) < LARGEST_LOG:
            self._found[key] = finding

    def known(self, key: object) -> bool:
        """Whether there is one of this key already."""
        return key in self._found

    def take(self) -> tuple[Finding, ...]:
        """All so far, in order of appearance; the log is empty then."""
        found = tuple(self._found.values())
        self._found.clear()
        return found
