"""A sweep as data: the points of a grid, the rows of its results."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ..verdict import BuildRunReport

MATMUL = "matmul"


@dataclass(frozen=True, slots=True)
class MatmulShape:
    """What `aiepipe emit matmul` takes.

    `accumulator` None is the operand's usual one; `fill` None: the result is an argument.
    """

    m: int
    n: int
    k: int
    element: str = "i32"
    accumulator: str | None = None
    fill: str | None = "0"
    transpose: str = ""

    def __str__(self) -> str:
        types = self.element if self.accumulator is None else f"{self.element}:{self.accumulator}"
        fill = "argument" if self.fill is None else self.fill
        transposed = f" transpose {self.transpose}" if self.transpose else ""
        return f"matmul {self.m}x{self.n}x{self.k} {types} fill {fill}{transposed}"

    @property
    def command(self) -> str:
        """The command that prints it."""
        words = [f"aiepipe emit matmul -m {self.m} -n {self.n} -k {self.k} --type {self.element}"]
        words += [f"--accumulator {self.accumulator}"] if self.accumulator else []
        words += [f"--fill {self.fill}"] if self.fill is not None else []
        words += [f"--transpose-{side}" for side in self.transpose]
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """An MLIR file of the user; its text goes along, for the process may be on another machine."""

    file: str
    text: str
    function: str | None = None
    inputs: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.file if self.function is None else f"{self.file} @{self.function}"


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One combination. `seed` is that of random inputs and of the emulated cache."""

    program: MatmulShape | SourceFile
    backend: str = "builtin"
    flags: tuple[str, ...] = ()
    policy: str = "default"
    repeat: int = 1
    seed: int = 1
    device: str = "auto"
    timeout_s: float = 60.0

    def __str__(self) -> str:
        parts = [str(self.program), self.backend]
        parts += [" ".join(self.flags)] if self.flags else []
        parts += [f"policy {self.policy}"] if self.policy != "default" else []
        parts += [f"{self.repeat} runs"] if self.repeat > 1 else []
        return ", ".join([*parts, f"seed {self.seed}"])


class SweepVerdict(enum.Enum):
    """Right, wrong, error and crash are four things; the last is a fault of ours or a dead process."""

    RIGHT = "right"
    WRONG = "wrong"
    ERROR = "error"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class SweepRow:
    """What became of a point. `kind`, `stage` and `place` are an error's class, the stage that it came from
    and what it is about; `artifact_bytes` are those of all xclbins and streams. `report` is that of the run
    where it is not right, with the fills of its program."""

    verdict: SweepVerdict
    message: str = ""
    kind: str = ""
    stage: str = ""
    place: str = ""
    runs: int = 0
    wrong_runs: int = 0
    wrong_elements: int = 0
    elements: int = 0
    cycles: int | None = None
    hazards: tuple[str, ...] = ()
    seconds: float = 0.0
    again: str = ""
    artifact_bytes: int | None = None
    report: BuildRunReport | None = None

    @property
    def signature(self) -> tuple[str, ...]:
        """What makes two failures the same one, for the search of a smaller case."""
        return (self.verdict.value, self.kind, self.stage)


@dataclass(frozen=True, slots=True)
class Sweep:
    """A finished or stopped sweep: each point with its row, None where the budget ended before it.

    `cached` rows were there already; `left_out` points of the grid are beyond the budget's number of cases.
    """

    points: tuple[SweepPoint, ...]
    rows: tuple[SweepRow | None, ...]
    seconds: float
    workers: str
    cached: int = 0
    left_out: int = 0
