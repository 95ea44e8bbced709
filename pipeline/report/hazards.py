"""The sync sanitizer's findings for people: what meets what, where, and the one line that mends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from ..verdict import AccessRecord, Severity, SyncFinding
from .lines import indented
from .text import byte_range

_STYLES = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "yellow",
    Severity.PORTABILITY: "yellow",
    Severity.PERFORMANCE: "dim",
}
_RANGES_SHOWN = 3
# what is right and only slower, or right here, is for -v
_ALWAYS = (Severity.ERROR, Severity.WARNING)


def hazard_lines(findings: Sequence[SyncFinding], *, verbose: bool) -> Iterator[Text]:
    """Each finding, errors first; without `verbose` only those that can give wrong numbers, in short."""
    order = list(Severity)
    shown = [f for f in findings if verbose or f.severity in _ALWAYS]
    for finding in sorted(shown, key=lambda f: order.index(f.severity)):
        yield from _finding(finding, verbose=verbose)
    if len(shown) < len(findings):
        yield Text(f"... and {len(findings) - len(shown)} of portability or speed (-v)", style="dim")


def _finding(finding: SyncFinding, *, verbose: bool) -> Iterator[Text]:
    head = Text(f"{finding.hazard} {finding.severity.value}", style=_STYLES[finding.severity])
    times = f" ({finding.count} times)" if finding.count > 1 else ""
    head.append(f" {finding.name}: {finding.message}{times}", style="default")
    yield head
    yield from indented([Text(f"fix: {finding.fix}")])
    if verbose:
        yield from indented(Text(line, style="dim") for line in _details(finding))


def _details(finding: SyncFinding) -> Iterator[str]:
    ranges = ", ".join(byte_range(*r) for r in finding.ranges[:_RANGES_SHOWN])
    more = f" and {len(finding.ranges) - _RANGES_SHOWN} more" if len(finding.ranges) > _RANGES_SHOWN else ""
    yield f"bytes {ranges}{more} of {finding.buffer}; {finding.confidence.value}"
    if finding.prior is not None:
        yield f"first: {_access(finding.prior)}"
    yield f"then:  {_access(finding.current)}"
    for sync in finding.syncs:
        where = byte_range(sync.offset_bytes, sync.length_bytes)
        yield f"between: sync {sync.direction} {where} at {sync.site}: {sync.why}"
    yield f"bites on: {', '.join(finding.policies)}"


def _access(access: AccessRecord) -> str:
    run = "" if access.run is None else f", run {access.run}"
    return access.what + (f" at {access.site}" if access.site else "") + run
