"""A test case as its header comments state it, and what became of it when it ran."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ..verdict import BuildRunReport


@dataclass(frozen=True, slots=True)
class ExpectedFills:
    """How many fills the HAL IR has for the function. `kinds` is empty where any form will do."""

    count: int
    kinds: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        if not self.kinds:
            return str(self.count) if self.count else "none"
        return ", ".join(f"{kind} {number}" for kind, number in self.kinds)


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """A part of the message of the error that the case must end with, and where it must come from."""

    text: str
    stage: str | None = None

    def __str__(self) -> str:
        return self.text if self.stage is None else f"{self.stage}: {self.text}"


@dataclass(frozen=True, slots=True)
class Case:
    """One case of one function.

    `file` is as the user named it, `line` that of the marker (from 1). `inputs` and `outputs` are values
    in the syntax of `--input`, files in them relative to the MLIR file already resolved; a type alone was
    made `TYPE=random(SEED)` or `TYPE=numpy`. No outputs: numpy's. `function` is None where the file
    has none to be seen; the compiler will say what is wrong.
    """

    file: str
    line: int
    function: str | None
    name: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    seed: int = 1
    tolerance: str | None = None
    fills: ExpectedFills | None = None
    fates: tuple[str, ...] = ()
    hazards: tuple[str, ...] | None = None
    errors: tuple[ExpectedError, ...] = ()
    backends: tuple[str, ...] = ()
    target: str | None = None
    repeat: int | None = None
    policy: str = "default"
    coherency_seed: int = 0
    flags: tuple[str, ...] = ()
    timeout_s: float | None = None
    xfail: str | None = None
    runs: bool = True
    """False: the case is about the IR alone."""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    def label(self, backend: str) -> str:
        """What a test is called within its file: "matmul[ones-builtin]"."""
        of = self.function or "module"
        return f"{of}[{'-'.join([*([self.name] if self.name else []), backend])}]"


class CaseOutcome(enum.Enum):
    """How a case ended. BROKEN is a fault of aiepipe or a dead process, which no xfail covers."""

    PASSED = "passed"
    FAILED = "failed"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    SKIPPED = "skipped"
    BROKEN = "broken"

    @property
    def good(self) -> bool:
        return self in (CaseOutcome.PASSED, CaseOutcome.XFAILED, CaseOutcome.SKIPPED)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of `case` on `backend`.

    `problems` say what is not as the header states, one sentence each; `report` is that of the run where
    there was one; `detail` holds the error's text or, for a fault of ours, the traceback. `again` is the
    command that does the same by hand.
    """

    case: Case
    backend: str
    outcome: CaseOutcome
    seconds: float
    problems: tuple[str, ...] = ()
    detail: str = ""
    stage: str = ""
    report: BuildRunReport | None = None
    again: str = ""

    @property
    def label(self) -> str:
        return self.case.label(self.backend)

    @property
    def id(self) -> str:
        return f"{self.case.file}::{self.label}"


@dataclass(frozen=True, slots=True)
class TestSession:
    """All results in the order of the files, and what was asked for."""

    __test__ = False  # pytest: not a class of tests

    results: tuple[CaseResult, ...]
    seconds: float
    processes: int
    deselected: int = 0

    def count(self, outcome: CaseOutcome) -> int:
        return sum(result.outcome is outcome for result in self.results)
