"""What is said about a program and its runs: fills found, host events, comparisons, the verdict.

Made by hal/, xrt/ and verify/, shown by report/; frozen like `program.py`, and nothing here computes.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from .program import SourceLocation, TensorType

# --------------------------------------------------------------------------- inspection


@dataclass(frozen=True, slots=True)
class BufferOperation:
    """An op of the HAL IR that changes a buffer.

    `form` is the op ("hal.command_buffer.fill_buffer", "hal.device.queue.fill", a builtin dispatch such
    as "__builtin_splat_i64", "hal.command_buffer.copy_buffer", "hal.command_buffer.update_buffer", ...);
    `kind` is "fill", "copy" or "update"; `target` says which buffer ("result 0", "argument 1",
    "transient", "global"); `when` is "start-up" or "each call". `pattern` is what the op writes,
    `pattern_type` its type in the IR, `value` the same in the element type of the tensor. Offsets and
    lengths are None when the IR does not know them.
    """

    form: str
    kind: str
    function: str
    target: str
    when: str
    offset_bytes: int | None
    length_bytes: int | None
    location: SourceLocation
    pattern: bytes | None = None
    pattern_type: str | None = None
    element: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class FillFate:
    """What became of one fill of the source: `fate` is a sentence, `stage` where it was decided."""

    source_op: str
    function: str
    location: SourceLocation
    element: str
    value: str | None
    fate: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """All that the HAL IR does to buffers, besides dispatches, and what became of the source's fills."""

    operations: tuple[BufferOperation, ...]
    fates: tuple[FillFate, ...]
    dispatches: tuple[str, ...]

    @property
    def fills(self) -> tuple[BufferOperation, ...]:
        return tuple(op for op in self.operations if op.kind == "fill")


# --------------------------------------------------------------------------- what the host did


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


# --------------------------------------------------------------------------- comparison


class Agreement(enum.Enum):
    """Outcome of a comparison or a whole command."""

    PASS = "PASS"  # noqa: S105
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How close is equal: |got - want| <= absolute + relative * |want|; both 0 is exact.

    `origin` says where the numbers come from.
    """

    relative: float
    absolute: float
    origin: str

    @property
    def exact(self) -> bool:
        return self.relative == 0 and self.absolute == 0


@dataclass(frozen=True, slots=True)
class MismatchGroup:
    """Wrong elements that hold the same kind of thing ("poison", "zero", "old value", "other")."""

    holds: str
    count: int
    example_index: tuple[int, ...]
    example_got: str
    example_want: str


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What is wrong with one array. `map` draws the matrix coarsely, one text line per row of blocks.

    `whole_lines` is the number of 64-byte lines that are wrong in all their elements, `touched_lines`
    the number that have any wrong element.
    """

    count: int
    total: int
    first: tuple[int, ...]
    last: tuple[int, ...]
    box_low: tuple[int, ...]
    box_high: tuple[int, ...]
    groups: tuple[MismatchGroup, ...]
    touched_lines: int
    whole_lines: int
    map: tuple[str, ...]
    largest_error: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One result against what was expected of it."""

    name: str
    type: TensorType
    agreement: Agreement
    tolerance: Tolerance
    against: str  # "numpy", "--expected-output", "iree"
    mismatch: Mismatch | None
    preview: str
    statistics: Mapping[str, float] = field(default_factory=dict[str, float])
