"""Syncs that were not needed: right, and slower. What makes a sync needed is the shadow's to say."""

from __future__ import annotations

import numpy as np

from ..verdict import AccessRecord
from .events import Direction, Synced
from .findings import Findings
from .memory import DIRTY, LINE_BYTES, line_range
from .shadow import Shadow

LARGE_LINES = 64
"""Less than a page is not worth a word: a sync of 4 KiB takes 0.7 us (mlir-aie, commit 70e5ac83)."""

SPARSE = 0.25
"""A sync of a whole buffer of which less than this share needs it."""


def judge_sync(found: Findings, shadow: Shadow, event: Synced, *, unseen_stores: bool) -> None:
    """Reports P101, P102 or P103, if the sync is one; called before it takes effect.

    `unseen_stores`: the host holds a view, through which it may have stored the very values that stood
    there; such a sync is never called needless.
    """
    if unseen_stores:
        return
    low, length = event.offset_bytes, event.length_bytes
    first, end = line_range(low, length)
    dirty = shadow.line[first:end] == DIRTY
    window = slice(first * LINE_BYTES, end * LINE_BYTES)
    start, size = window.start, window.stop - window.start
    results = shadow.unsynced_to_host(start, size).reshape(-1, LINE_BYTES).any(axis=1)
    writes = shadow.unsynced_to_device(start, size).reshape(-1, LINE_BYTES).any(axis=1)
    needed = dirty | results | writes
    current = AccessRecord(f"sync {event.direction.value}", str(event.site))
    whole = ((low, max(length, 1)),)
    if not needed.any():
        last = shadow.syncs[-1] if shadow.syncs else None
        if event.direction is Direction.TO_DEVICE and last is None:
            return  # "sync everything once" is how good programs begin, and cheap
        again = last is not None and (last.direction, last.offset, last.length) == (
            event.direction,
            low,
            length,
        )
        prior = AccessRecord(f"sync {event.direction.value}", str(last.site)) if last and again else None
        found.report("P102" if again else "P101", shadow, whole, prior=prior, current=current)
        return
    share = np.count_nonzero(needed) / needed.size
    if needed.size >= LARGE_LINES and length >= shadow.size_bytes and share < SPARSE:
        found.report("P103", shadow, whole, current=current)
