"""What is said about a program and its runs: fills found, host events, comparisons, the verdict.

Made by hal/, xrt/ and verify/, shown by report/; frozen like `program.py`, and nothing here computes.
"""

from __future__ import annotations

from .array import ArrayFinding, ChannelCycles, TileCycles
from .bisection import BisectReport, Outcome, Transition, Trial
from .command import (
    BufferReport,
    BuildRunReport,
    Check,
    CheckStatus,
    DeviceReport,
    DispatchReport,
    DoctorReport,
    FileRecord,
    InputReport,
    StageReport,
    TrackActivity,
)
from .comparison import (
    Accumulation,
    Agreement,
    Comparison,
    Diagnosis,
    HeatMap,
    Likelihood,
    LineFrequency,
    Mismatch,
    MismatchGroup,
    RunStatistics,
    Tolerance,
)
from .inspection import (
    AnswerChange,
    BufferOperation,
    BufferWriter,
    FillFate,
    FillStage,
    Inspection,
    InspectionDifference,
    OutputHistory,
)
from .syncs import AccessRecord, Confidence, EventKind, HostEvent, Severity, SyncFinding, SyncRecord

__all__ = [
    "AccessRecord",
    "Accumulation",
    "Agreement",
    "AnswerChange",
    "ArrayFinding",
    "BisectReport",
    "BufferOperation",
    "BufferReport",
    "BufferWriter",
    "BuildRunReport",
    "ChannelCycles",
    "Check",
    "CheckStatus",
    "Comparison",
    "Confidence",
    "DeviceReport",
    "Diagnosis",
    "DispatchReport",
    "DoctorReport",
    "EventKind",
    "FileRecord",
    "FillFate",
    "FillStage",
    "HeatMap",
    "HostEvent",
    "InputReport",
    "Inspection",
    "InspectionDifference",
    "Likelihood",
    "LineFrequency",
    "Mismatch",
    "MismatchGroup",
    "Outcome",
    "OutputHistory",
    "RunStatistics",
    "Severity",
    "StageReport",
    "SyncFinding",
    "SyncRecord",
    "TileCycles",
    "Tolerance",
    "TrackActivity",
    "Transition",
    "Trial",
]
