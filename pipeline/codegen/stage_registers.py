"""The core's scalar registers as the stages' programs use them.

r0 to r26 and r29 to r31 hold values, r27 the condition of a choice, r28 what is needed for a moment. p0 to p6
walk over tensors, p7 over the frame; m0 to m6 hold their steps, m7 one for a moment. Numbers that change from
step to step wait in the registers of 2D addressing, which is not used.
"""

from __future__ import annotations

from collections import deque

CONDITION, SCRATCH = "r27", "r28"
FRAME_POINTER, SCRATCH_MODIFIER = "p7", "m7"
VALUES = tuple(f"r{number}" for number in (*range(27), 29, 30, 31))
POINTERS = tuple(f"p{number}" for number in range(7))
MODIFIERS = tuple(f"m{number}" for number in range(7))
STORAGE = tuple(f"{kind}{number}" for kind in ("dn", "dj", "dc") for number in range(8))


class TooFewRegisters(Exception):
    """The words say of what there is too much."""


class Pool:
    """Hands out registers; what was given back longest ago first, so that code can overlap."""

    def __init__(self, names: tuple[str, ...], what: str) -> None:
        self._free = deque(names)
        self._what = what

    def take(self) -> str:
        if not self._free:
            raise TooFewRegisters(self._what)
        return self._free.popleft()

    def give(self, name: str) -> None:
        self._free.append(name)
