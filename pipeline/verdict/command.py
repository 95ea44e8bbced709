"""A whole command: files, stages, dispatches, buffers, checks of the machine, the verdict of a run."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..program import TensorType
from .array import ArrayFinding, TileCycles
from .comparison import Accumulation, Agreement, Comparison, Diagnosis, RunStatistics
from .inspection import Inspection, InspectionDifference
from .syncs import HostEvent, SyncFinding


@dataclass(frozen=True, slots=True)
class TrackActivity:
    """When one part of the emulated device was at work: `process` "core (0,2)", `name` "S2MM 0"; spans are
    (start, end) in cycles, in order, near ones joined."""

    process: str
    name: str
    kind: str
    spans: tuple[tuple[int, int], ...]


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

    @property
    def artifact_bytes(self) -> int:
        """Bytes of all instruction streams, and of the xclbins: one that dispatches share counts once."""
        xclbins = {d.xclbin_sha256: d.xclbin_bytes for d in self.dispatches}
        return sum(xclbins.values()) + sum(d.instructions_bytes for d in self.dispatches)
