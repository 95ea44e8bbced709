"""Numbers against a reference: agreement, where it fails, what it looks like, over many runs."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..program import SourceLocation, TensorType


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
