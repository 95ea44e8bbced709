"""What the user asked of `aiepipe bisect`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BisectOptions:
    """What the user asked. `good` and `bad` are versions, sets of flags in one text, or backends; `over`
    says which where that is not plain. `yes` allows downloads; `keep` is a folder for the IR of a change."""

    file: str
    good: str
    bad: str
    over: str | None = None
    question: str = "verdict"
    function: str | None = None
    inputs: tuple[str, ...] = ()
    seed: int = 0
    iree_flags: tuple[str, ...] = ()
    yes: bool = False
    keep: str | None = None
