"""Who wrote a byte last, from which line of the host program, and which syncs came after."""

from __future__ import annotations

from ..verdict import AccessRecord, SyncRecord
from .events import Site
from .shadow import Ranges, Shadow


class Origins:
    """Kinds of writes by place; a shadow keeps their numbers per byte."""

    def __init__(self) -> None:
        self._known: list[tuple[str, Site]] = []
        self._numbers: dict[tuple[str, Site], int] = {}

    def number(self, shadow: Shadow, time: int, what: str, site: Site) -> int:
        """The number of this kind of write at this place; `time` is remembered as its last."""
        key = what, site
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._known)
            self._known.append(key)
        shadow.written[number] = time
        return number

    def record(self, shadow: Shadow, offset: int) -> AccessRecord:
        """Who wrote this byte."""
        what, site = self._known[int(shadow.origin[offset])]
        return AccessRecord(what, str(site), int(shadow.run[offset]) or None)

    def writer(self, shadow: Shadow, ranges: Ranges) -> AccessRecord:
        """Who wrote the first byte of these."""
        return self.record(shadow, ranges[0][0])


def syncs_since(shadow: Shadow, ranges: Ranges) -> tuple[SyncRecord, ...]:
    """The syncs after the write of the first byte; none of them reaches it."""
    written = shadow.written.get(int(shadow.origin[ranges[0][0]]), 0)
    return tuple(
        SyncRecord(
            sync.direction.value,
            sync.offset,
            sync.length,
            str(sync.site),
            "it does not reach these bytes",
        )
        for sync in shadow.syncs
        if sync.sequence > written
    )
