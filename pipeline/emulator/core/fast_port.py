"""Memory that a tile shares with its core's compiled code, so that what a port can serve at once needs no
Python: locks that are granted, words that are there, room for words.

Everything is cells of 64 bits. What is here is served by `port_code` as `CorePort` would: same values, same
times. Whatever it cannot serve (a lock that is not granted, no word, no room, TLAST) it leaves to the port.
A lock's cells are its value, which of its times is the first, and when each unit of it was added, in a ring.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

LOCK_TIMES = 64
"""Entries of a lock's ring: one for each unit that its value can have, and one more."""
LOCK_VALUE, LOCK_FIRST, LOCK_RING = 0, 1, 2
LOCK_CELLS = LOCK_RING + LOCK_TIMES

SIDES = 4
WORDS = 256
"""Words that a direction of the stream holds here."""

OFFSET = 0
"""What the core's clock is ahead of its bundles and stalls."""
LOCK_WAIT = 1
"""Cycles waited for locks since the tile looked."""
RELEASED = 2
"""A bit for each lock id that the core released since the tile looked."""
BANKS = 3
"""Addresses of the four sides' locks; 0 where compiled code is to keep away."""
IN_FIRST, IN_COUNT = 7, 8
IN_LAST = 9
"""TLAST is on the last of the words."""
IN_READY = 10
"""When the core last took a word."""
OUT_COUNT, OUT_ROOM = 11, 12
IN_WORDS = 16
OUT_WORDS = IN_WORDS + WORDS
CELLS = OUT_WORDS + WORDS


class Cells:
    """Some cells: as a memoryview of ints, and where they are."""

    def __init__(self, count: int) -> None:
        self._array = np.zeros(count, np.int64)
        self.view: memoryview[int] = self._array.data
        self.address: int = self._array.ctypes.data


@runtime_checkable
class HasFastPort(Protocol):
    """A port that has such memory."""

    fast: Cells
