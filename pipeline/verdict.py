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
class FillStage:
    """What stands for a fill of the source after one of IREE's phases ("input", "flow", "stream", "hal").

    `form` is the op ("linalg.fill", "flow.tensor.splat", "stream.cmd.fill", ...), or "gone"; `place` where
    it is: "@main", "dispatch main_dispatch_0", "start-up"; `text` the op itself. `sure` is False where it
    was found by the ops that use the fill, since IREE kept nothing of the fill's own location.
    """

    phase: str
    form: str
    place: str
    text: str = ""
    sure: bool = True


@dataclass(frozen=True, slots=True)
class FillFate:
    """What became of one fill of the source: `fate` is a sentence, `stage` where it was decided.

    `role` says what the source uses it for ("accumulator of linalg.matmul", "result 1", ""); `history` has
    one or more entries per phase, in order.
    """

    source_op: str
    function: str
    location: SourceLocation
    element: str
    value: str | None
    fate: str
    stage: str = ""
    role: str = ""
    history: tuple[FillStage, ...] = ()


@dataclass(frozen=True, slots=True)
class BufferWriter:
    """Something that writes bytes which a result ends up with. `kind` is "fill", "copy", "update",
    "dispatch" (it overwrites) or "accumulation" (it reads what is there, then writes); `what` says it in
    words, with what a copy's source was filled with."""

    kind: str
    form: str
    when: str
    offset_bytes: int | None
    length_bytes: int | None
    location: SourceLocation
    what: str


@dataclass(frozen=True, slots=True)
class OutputHistory:
    """The answer to "where is this result being filled or zeroed?", and what it rests on, in order."""

    function: str
    result: int
    buffer: str
    sentence: str
    writers: tuple[BufferWriter, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """All that the HAL IR does to buffers, besides dispatches, and what became of the source's fills.

    `outputs` has one entry per result; `sharing` are lines about memory that has two uses: bindings that
    overlap, results in one buffer, arguments that are written, transient bytes written twice.
    """

    operations: tuple[BufferOperation, ...]
    fates: tuple[FillFate, ...]
    dispatches: tuple[str, ...]
    outputs: tuple[OutputHistory, ...] = ()
    sharing: tuple[str, ...] = ()

    @property
    def fills(self) -> tuple[BufferOperation, ...]:
        return tuple(op for op in self.operations if op.kind == "fill")


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """One question about a program with two answers; an answer that is not there is None."""

    question: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class InspectionDifference:
    """Two inspections compared: two flag sets, files, or compiler versions, named by `before`, `after`."""

    before: str
    after: str
    changes: tuple[AnswerChange, ...]
    questions: int


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


# --------------------------------------------------------------------------- what the sanitizer found


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


# --------------------------------------------------------------------------- what the array showed


@dataclass(frozen=True, slots=True)
class ArrayFinding:
    """Something that a run did inside the emulated array and hardware would not tell.

    `kind` is a short stable name ("unwritten-read", "race", "stack-overflow", "lock-left", "queue-left",
    "descriptor-left", "words-left"), `message` a whole sentence. `pc` is a byte address in program memory,
    `channel` "S2MM 0", `descriptor` a BD, `address` a byte offset in data memory; None where the finding
    has none. `count` is how often it was met.
    """

    kind: str
    tile: str
    message: str
    pc: int | None = None
    channel: str | None = None
    descriptor: int | None = None
    address: int | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class ChannelCycles:
    """What a DMA channel's cycles went to; `bytes_per_cycle` over the time that it was not idle."""

    name: str
    words: int
    lock_wait: int
    stream_wait: int
    bytes_per_cycle: float


@dataclass(frozen=True, slots=True)
class TileCycles:
    """What a tile's cycles went to in one execution, as docs/emulator.md estimates them."""

    tile: str
    bundles: int
    bank_conflicts: int
    lock_wait: int
    stream_wait: int
    cascade_wait: int
    channels: tuple[ChannelCycles, ...]


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
class HeatMap:
    """A matrix in cells of `block_rows` x `block_columns` elements (those at the edges may have fewer).

    `wrong` has a text per row of cells: the wrong share of each, "0" none to "9" all. `kinds` says in the
    same way what most of its wrong elements hold: "p" poison, "z" zero, "o" an old value, "x" something
    else, "." nothing wrong. `at` is the leading index of the matrix that is shown, where there are several;
    a vector is wrapped into `columns` elements a row.
    """

    rows: int
    columns: int
    block_rows: int
    block_columns: int
    wrong: tuple[str, ...]
    kinds: tuple[str, ...]
    at: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What is wrong with one array. `map` draws the matrix coarsely, one text line per row of blocks.

    `whole_lines` is the number of 64-byte lines that are wrong in all their elements, `touched_lines`
    the number that have any wrong element, `line_numbers` the first of those (counted from the start of
    the buffer). `batches` has, for arrays of rank 3 and more, each leading index with wrong elements and
    their number.
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
    line_numbers: tuple[int, ...] = ()
    batches: tuple[tuple[tuple[int, ...], int], ...] = ()
    heat: HeatMap | None = None


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


@dataclass(frozen=True, slots=True)
class Accumulation:
    """How the reference summed one op: what a reader must know before calling a float wrong.

    `op` is the MLIR name, `element` the type of the accumulator, `length` how many terms one result
    element sums, `how` a phrase ("exact modulo 2^32", "exact products summed in f64, rounded once to
    bf16", "in order, rounded to f16 at each step").
    """

    op: str
    location: SourceLocation
    element: str
    length: int
    how: str


class Likelihood(enum.Enum):
    """How sure a diagnosis is, in words."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One explanation of wrong numbers. `rule` is a short stable name ("dirty-host-lines"), `result`
    the comparison it is about, `sentence` for people, `evidence` what was observed."""

    rule: str
    result: str
    sentence: str
    evidence: tuple[str, ...]
    likelihood: Likelihood


@dataclass(frozen=True, slots=True)
class LineFrequency:
    """A 64-byte line of a result and in how many runs it was wrong."""

    result: str
    line: int
    wrong_runs: int


@dataclass(frozen=True, slots=True)
class RunStatistics:
    """What repeats say. `rate` is wrong_runs / runs; low and high bound it (Wilson, at `confidence`).

    `first_wrong_run` counts from 1. `wrong_lines` is the number of distinct 64-byte lines that were wrong
    in any run, `lines` the most frequent of them, first the most frequent; `lines_per_wrong_run` their
    mean number.
    """

    runs: int
    wrong_runs: int
    rate: float
    rate_low: float
    rate_high: float
    confidence: float
    first_wrong_run: int | None
    wrong_lines: int
    lines_per_wrong_run: float
    lines: tuple[LineFrequency, ...]


@dataclass(frozen=True, slots=True)
class TrackActivity:
    """When one part of the emulated device was at work: `process` "core (0,2)", `name` "S2MM 0"; spans are
    (start, end) in cycles, in order, near ones joined."""

    process: str
    name: str
    kind: str
    spans: tuple[tuple[int, int], ...]


# --------------------------------------------------------------------------- a whole command


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that a stage left: path as shown to the user, size, and sha256 in hex."""

    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class StageReport:
    """One stage: `name` ("front end", "backend", "run", "compare"), wall time, what it left.

    `note` is one short line for everybody; `details` are the lines that -v shows (the equivalent
    iree-compile call, XRT steps).
    """

    name: str
    seconds: float
    files: tuple[FileRecord, ...] = ()
    note: str = ""
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DispatchReport:
    """A compiled dispatch: name, kernel name in its xclbin, backend, sha256 of what runs.

    `fallback` is there where the host's CPU does it: why the backend could not. Then there is no xclbin, and
    both hashes are that of IREE's module.
    """

    dispatch: str
    kernel: str
    backend: str
    xclbin_sha256: str
    instructions_sha256: str
    notes: tuple[str, ...] = ()
    fallback: str | None = None
    xclbin_bytes: int = 0
    instructions_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BufferReport:
    """A device buffer of the run: `role` is "argument 0", "result 0", "transient", "instructions"."""

    name: str
    role: str
    size_bytes: int
    type: TensorType | None = None


@dataclass(frozen=True, slots=True)
class InputReport:
    """Where one argument came from: `origin` is the spec as given, or "random, seed 42"."""

    name: str
    type: TensorType
    origin: str


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """Which device ran: `kind` is "emulated" or "hardware", `name` e.g. "npu1 (Phoenix)"; `detail`
    says more in one line (driver and firmware, or the emulator's seed and coherency model)."""

    kind: str
    name: str
    detail: str = ""


class CheckStatus(enum.Enum):
    """Outcome of one of the doctor's checks. ABSENT: not there, and nothing needs it."""

    OK = "ok"
    ABSENT = "absent"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One of the doctor's checks, done: not looked for but executed. `stage` groups them; `needed` ones
    decide whether the emulated way works."""

    stage: str
    name: str
    status: CheckStatus
    detail: str
    remedy: str | None = None
    needed: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All checks in order; `hardware`: whether there is an NPU that a run would use."""

    checks: tuple[Check, ...]
    hardware: bool
    versions: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def usable(self) -> bool:
        """Whether all that the emulated way needs works."""
        return all(check.status is not CheckStatus.FAILED for check in self.checks if check.needed)


@dataclass(frozen=True, slots=True)
class BuildRunReport:
    """All that `build`, `run` and `build-run` have to tell; parts that did not happen are empty or None.

    `agreement` is None when nothing was compared. `events` are those of the run to show (the first
    wrong one, else the last). `repeat_with` is the one line that does it again. `seeds` are all random
    draws by name ("inputs", "coherency"). `versions` maps tools to versions.
    """

    command: str
    file: str
    function: str | None = None
    stages: tuple[StageReport, ...] = ()
    inspection: Inspection | None = None
    difference: InspectionDifference | None = None
    dispatches: tuple[DispatchReport, ...] = ()
    device: DeviceReport | None = None
    policy: str | None = None
    inputs: tuple[InputReport, ...] = ()
    buffers: tuple[BufferReport, ...] = ()
    events: tuple[HostEvent, ...] = ()
    cycles: int | None = None
    activity: tuple[TrackActivity, ...] = ()
    accumulations: tuple[Accumulation, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    findings: tuple[SyncFinding, ...] = ()
    array_findings: tuple[ArrayFinding, ...] = ()
    tile_cycles: tuple[TileCycles, ...] = ()
    statistics: RunStatistics | None = None
    agreement: Agreement | None = None
    warnings: tuple[str, ...] = ()
    repeat_with: str = ""
    output_directory: str | None = None
    seeds: Mapping[str, int] = field(default_factory=dict[str, int])
    versions: Mapping[str, str] = field(default_factory=dict[str, str])


# --------------------------------------------------------------------------- bisection


class Outcome(enum.Enum):
    """The four verdicts of a bisection."""

    RIGHT = "right"
    WRONG = "wrong"
    ERROR = "error"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Trial:
    """One thing that was tried: a compiler version, a set of flags, a backend.

    `answer` tells trials of one outcome apart where a question was asked ("stream.cmd.fill at start-up");
    `detail` is for people (the first error, what is wrong) and makes no difference.
    """

    name: str
    outcome: Outcome
    answer: str = ""
    detail: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> tuple[Outcome, str]:
        return self.outcome, self.answer


@dataclass(frozen=True, slots=True)
class Transition:
    """Two neighbours with different verdicts. `cause` says what stands between them, `first_pass` the
    first pass whose IR differs, where that was looked for; `files` are what was kept."""

    before: Trial
    after: Trial
    cause: str
    first_pass: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BisectReport:
    """What `aiepipe bisect` found. `over` is "compilers", "flags" or "backends"; `trials` are all that was
    tried, in order of the points; `points` how many there were to choose from."""

    file: str
    over: str
    good: str
    bad: str
    points: int
    trials: tuple[Trial, ...]
    transitions: tuple[Transition, ...]
    question: str
    notes: tuple[str, ...] = ()
