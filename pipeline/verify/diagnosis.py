"""What is wrong, in sentences: every rule that fits a wrong result, the likeliest first."""

from __future__ import annotations

from ..verdict import Diagnosis, Likelihood
from .blame import with_findings
from .case import Case
from .places import RULES, off_by_rounding
from .recomputation import recomputed

_ORDER = {Likelihood.CERTAIN: 0, Likelihood.LIKELY: 1, Likelihood.POSSIBLE: 2}
MOST = 4


def diagnose(case: Case, *, most: int = MOST) -> tuple[Diagnosis, ...]:
    """At most `most` explanations of a wrong result, those first that a sync hazard backs; none when it is
    right or nothing fits."""
    wrong = case.wrong()
    if not wrong.any():
        return ()
    found = [d for rule in RULES if (d := rule(case, wrong)) is not None]
    if not any(d.rule in _CONCLUSIVE for d in found):
        found += recomputed(case, wrong)
    if all(d.rule in _CIRCUMSTANCES for d in found):
        found += [d for d in (off_by_rounding(case, wrong),) if d is not None]
    told = with_findings(case, wrong, found)
    return tuple(sorted(told, key=lambda d: (_ORDER[d.likelihood], d.rule in _PLACES))[:most])


# what the buffer held before says all; recomputing would only find coincidences
_CONCLUSIVE = {"dirty-host-lines", "never-written", "not-read-back", "part-not-written", "stale"}
_PLACES = {"one-block", "one-share"}
# these say when or where, and leave the why open
_CIRCUMSTANCES = {"one-batch", "one-block", "one-share", "intermittent"}
