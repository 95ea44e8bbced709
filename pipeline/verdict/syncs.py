"""What the host did, and what the sanitizer found in it."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class EventKind(enum.Enum):
    """An event of the device API, as the run log lists it."""

    WRITE = "write"
    READ = "read"
    SYNC_TO = "sync to device"
    SYNC_FROM = "sync from device"
    START = "start"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class HostEvent:
    """One host action. `buffer` is its name; `note` says why ("poison", "input", "state COMPLETED")."""

    sequence: int
    run: int
    kind: EventKind
    buffer: str
    offset_bytes: int
    length_bytes: int
    note: str = ""


class Severity(enum.Enum):
    """How bad a hazard is."""

    ERROR = "error"  # wrong numbers are possible on the device at hand
    WARNING = "warning"  # suspicious, or wrong only together with something else
    PORTABILITY = "portability"  # right here, wrong under another coherency policy
    PERFORMANCE = "performance"  # right, and more work than needed


class Confidence(enum.Enum):
    """How sure a finding is."""

    DEFINITE = "definite"  # the accesses were declared or observed
    POSSIBLE = "possible"  # an access was assumed (a view that may have been read)


@dataclass(frozen=True, slots=True)
class AccessRecord:
    """One side of a hazard. `what` is "host write", "device read", "sync from device", "start", ...;
    `site` is file:line of the host program, with its purpose where the runner is the host program."""

    what: str
    site: str | None = None
    run: int | None = None


@dataclass(frozen=True, slots=True)
class SyncRecord:
    """A sync between the two accesses of a finding, and why it does not suffice."""

    direction: str
    offset_bytes: int
    length_bytes: int
    site: str
    why: str


@dataclass(frozen=True, slots=True)
class SyncFinding:
    """A synchronisation hazard, independent of the values that this run happened to see.

    `hazard` is its stable id ("S002"), `name` the same for people ("DIRTY_OUTPUT_LINE"); `ranges` are
    bytes of `buffer` as (offset, length), joined, `lines` the 64-byte lines around them as (first,
    count); `argument` is the index of the kernel's argument, where one is concerned. `policies` are the
    coherency policies on which it bites; `count` how often the same two places met.
    """

    hazard: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    buffer: str
    argument: int | None
    ranges: tuple[tuple[int, int], ...]
    lines: tuple[tuple[int, int], ...]
    prior: AccessRecord | None
    current: AccessRecord
    syncs: tuple[SyncRecord, ...]
    policies: tuple[str, ...]
    fix: str
    count: int = 1
