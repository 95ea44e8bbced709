"""Collects the sanitizer's findings: the first of its kind in full, the rest counted."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import replace

from ..verdict import AccessRecord, Confidence, SyncFinding, SyncRecord
from .hazards import HAZARDS
from .shadow import Ranges, Shadow, lines_of


class Findings:
    """Findings by hazard, buffer and the two places that met. `suppress` takes "S013", or with a pattern
    of the site "S013@*/driver.py:12"."""

    def __init__(self, suppress: Sequence[str] = ()) -> None:
        self._suppress = tuple(suppress)
        self._by_place: dict[tuple[object, ...], SyncFinding] = {}
        self.suppressed = 0

    @property
    def all(self) -> tuple[SyncFinding, ...]:
        """In the order of the first occurrence."""
        return tuple(self._by_place.values())

    def report(
        self,
        hazard: str,
        shadow: Shadow,
        ranges: Ranges,
        *,
        current: AccessRecord,
        prior: AccessRecord | None = None,
        argument: int | None = None,
        syncs: tuple[SyncRecord, ...] = (),
        confidence: Confidence = Confidence.DEFINITE,
    ) -> None:
        """Adds a finding, or counts it. `ranges` are bytes of the allocation, `argument` the kernel's."""
        if self._is_suppressed(hazard, current, prior):
            self.suppressed += 1
            return
        key = hazard, shadow.label, current.what, current.site, None if prior is None else prior.site
        if self._counted(key):
            return
        self._by_place[key] = _finding(
            hazard, shadow.label, "", ranges, current, prior, argument, syncs, confidence
        )

    def misused(self, hazard: str, of: str, detail: str, current: AccessRecord, argument: int | None) -> None:
        """Adds a finding about a call rather than about bytes, or counts it."""
        if self._is_suppressed(hazard, current, None):
            self.suppressed += 1
            return
        key = hazard, of, current.what, current.site, argument
        if self._counted(key):
            return
        self._by_place[key] = _finding(
            hazard, of, detail, (), current, None, argument, (), Confidence.DEFINITE
        )

    def _counted(self, key: tuple[object, ...]) -> bool:
        known = self._by_place.get(key)
        if known is None:
            return False
        self._by_place[key] = replace(known, count=known.count + 1)
        return True

    def _is_suppressed(self, hazard: str, current: AccessRecord, prior: AccessRecord | None) -> bool:
        sites = [record.site or "" for record in (current, prior) if record is not None]
        for rule in self._suppress:
            name, at, pattern = rule.partition("@")
            if name == hazard and (not at or any(fnmatch.fnmatch(site, pattern) for site in sites)):
                return True
        return False


def _finding(
    hazard: str,
    label: str,
    detail: str,
    ranges: Ranges,
    current: AccessRecord,
    prior: AccessRecord | None,
    argument: int | None,
    syncs: tuple[SyncRecord, ...],
    confidence: Confidence,
) -> SyncFinding:
    facts, lines = HAZARDS[hazard], lines_of(ranges)
    words = {
        "buffer": label,
        "detail": detail,
        "bytes": _count(sum(length for _, length in ranges), "byte"),
        "lines": _count(sum(count for _, count in lines), "line"),
        "prior": "its start" if prior is None else str(prior.site),
        "current": str(current.site),
    }
    return SyncFinding(
        hazard,
        facts.name,
        facts.severity,
        confidence,
        facts.says.format(**words),
        label,
        argument,
        ranges,
        lines,
        prior,
        current,
        syncs,
        facts.policies,
        facts.fix.format(**words),
    )


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
