"""The sanitizer's findings beside the numbers: a hazard on the right buffer explains a wrong result before
any guess from the values does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..verdict import Diagnosis, Likelihood, Severity, SyncFinding
from .case import Case
from .comparison import Mask

_OLD_BYTES_IN_THE_RESULT = frozenset({"S002", "S006", "S007", "S009", "S013", "S016"})
_RESULT_NOT_SEEN = frozenset({"S003", "S004", "S008", "S010", "S012", "S017"})
_INPUT_NOT_SEEN = frozenset({"S001", "S005", "S007", "S010", "S014", "S017", "S019"})

_EXPLAINED_BY = {
    "dirty-host-lines": _OLD_BYTES_IN_THE_RESULT,
    "never-written": _RESULT_NOT_SEEN,
    "not-read-back": _RESULT_NOT_SEEN,
    "stale": _RESULT_NOT_SEEN | _INPUT_NOT_SEEN,
}
"""Rules of places.py that say what the numbers hold, and the hazards that make them so."""


def with_findings(case: Case, wrong: Mask, found: Sequence[Diagnosis]) -> list[Diagnosis]:
    """The diagnoses, those first that a finding backs; where none is backed, the finding speaks itself.

    Findings of warnings and of portability do not explain wrong numbers here, and are left out.
    """
    serious = [finding for finding in case.findings if finding.severity is Severity.ERROR]
    if not serious:
        return list(found)
    pairs = [(diagnosis, _behind(diagnosis, serious, case.buffer)) for diagnosis in found]
    backed = [_backed(diagnosis, finding) for diagnosis, finding in pairs if finding is not None]
    rest = [diagnosis for diagnosis, finding in pairs if finding is None]
    return [*backed, *rest] if backed else [_spoken(case, serious, wrong), *rest]


def _behind(diagnosis: Diagnosis, findings: Sequence[SyncFinding], buffer: str | None) -> SyncFinding | None:
    hazards = _EXPLAINED_BY.get(diagnosis.rule, frozenset())
    for finding in findings:
        about_it = finding.buffer == buffer or finding.hazard in _INPUT_NOT_SEEN
        if finding.hazard in hazards and about_it:
            return finding
    return None


def _backed(diagnosis: Diagnosis, finding: SyncFinding) -> Diagnosis:
    evidence = f"the sanitizer found {finding.hazard} {finding.name} on {finding.buffer}"
    return replace(diagnosis, evidence=(evidence, *diagnosis.evidence), likelihood=Likelihood.CERTAIN)


def _spoken(case: Case, findings: Sequence[SyncFinding], wrong: Mask) -> Diagnosis:
    """An input that the device did not see can make any number; old bytes are not what is there, or the
    numbers would have said so."""
    inputs = [finding for finding in findings if finding.hazard in _INPUT_NOT_SEEN]
    finding = (inputs or list(findings))[0]
    return case.says(
        "sync-hazard",
        f"{finding.hazard} {finding.name}: {finding.message}",
        [
            f"{int(wrong.sum())} of {wrong.size} elements are wrong",
            "the sanitizer found it whatever the values",
            f"fix: {finding.fix}",
        ],
        Likelihood.LIKELY if inputs else Likelihood.POSSIBLE,
    )
