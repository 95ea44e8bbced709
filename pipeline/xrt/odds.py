"""How often the cache model makes a run wrong, from what the sanitizer found: the rate to compare with.

Only evictions are random, one draw per dirty line and run (docs/syncs.md), so the rate has a closed form:
a run is right when every line that matters had left the cache before the device acted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..verdict import SyncFinding
from .memory import CacheModel, Coherency

_UNDERSTOOD = frozenset({"S001", "S002", "S003", "S007", "S008", "S009", "S011", "S014", "S015", "S017"})
_PERFORMANCE = "P"


def wrong_rate(
    cache: CacheModel,
    findings: Sequence[SyncFinding],
    *,
    runs: int,
    first_launches: int = 1,
    outputs_written: bool = True,
) -> float | None:
    """The share of `runs` repeats of one program that the model makes wrong; None: no closed form.

    `first_launches` is how many kernels one repeat starts, `outputs_written` whether the host writes the
    outputs before each run (else what is stale is the same result of the run before).
    """
    if cache.coherency is Coherency.COHERENT:
        return 0.0
    hazards = {finding.hazard for finding in findings if not finding.hazard.startswith(_PERFORMANCE)}
    if cache.prefetch or not hazards <= _UNDERSTOOD:
        return None
    read_back = "S003" not in hazards
    overwritten = _lines(findings, "S002")
    unseen = _lines(findings, "S001", up_to_run=first_launches)
    x86 = cache.coherency is Coherency.X86_CLFLUSH
    if not x86 and not read_back and outputs_written and not overwritten:
        return 1.0  # the sync to the device left the lines in the cache, clean; nothing drops them
    # dirty again before each run: the line must leave the cache by chance, each time
    dirty_each_run = overwritten if x86 or not read_back else unseen & overwritten
    # written again with the same bytes: once the line has left the cache, DDR is right for good
    once = len(unseen - overwritten)
    numbers = np.arange(1, max(runs, 1) + 1)
    arrived = (1 - (1 - cache.evict) ** numbers) ** once
    return float(1 - cache.evict ** len(dirty_each_run) * arrived.mean())


def _lines(
    findings: Sequence[SyncFinding], hazard: str, *, up_to_run: int | None = None
) -> set[tuple[str, int]]:
    """The lines of all findings of one kind as (buffer, line)."""
    return {
        (finding.buffer, line)
        for finding in findings
        if finding.hazard == hazard and (up_to_run is None or (finding.current.run or 0) <= up_to_run)
        for first, count in finding.lines
        for line in range(first, first + count)
    }
