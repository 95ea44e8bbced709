"""A wrong result with all that is known about it: what a diagnosis looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..program import SourceFunction, TensorType
from ..verdict import Diagnosis, HostEvent, Likelihood, RunStatistics, SyncFinding, Tolerance
from .comparison import LINE_BYTES, Mask, lines_of, poison_array, same_bits, wrong_elements
from .rounding import Float64
from .tolerance import EXACT

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a result that came one way: `name` says which ("shim (2,0) S2MM 0, column 2"), `ranges`
    are bytes of the result as (offset, length)."""

    name: str
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One result of one run.

    `poison` is what the host repeated over the buffer before the run, `previous` what it held before that
    or what the run before gave; `function`, `inputs` and `result` (its index) allow recomputing; `events`
    are the run's, in which `buffer` is the result's buffer, `findings` the sanitizer's of all repeats,
    `shares` the ways out of the array. Whatever is not known is left out.
    """

    name: str
    type: TensorType
    got: Array
    want: Array
    tolerance: Tolerance = EXACT
    bound: Float64 | None = None
    poison: bytes | None = None
    previous: Array | None = None
    offset_bytes: int = 0
    function: SourceFunction | None = None
    inputs: Sequence[Array] = ()
    result: int = 0
    events: Sequence[HostEvent] = ()
    buffer: str | None = None
    statistics: RunStatistics | None = None
    shares: Sequence[Share] = ()
    findings: Sequence[SyncFinding] = ()

    def wrong(self) -> Mask:
        """Where the result is wrong."""
        return self.differs_from(self.want)

    def differs_from(self, candidate: Array) -> Mask:
        """Where the result is not what `candidate` says, as strictly as it is compared."""
        return wrong_elements(self.got, candidate, self.type, tolerance=self.tolerance, bound=self.bound)

    def explained_by(self, candidate: Array, wrong: Mask) -> bool:
        """Whether every wrong element holds what `candidate` has there."""
        return candidate.shape == self.got.shape and not bool((self.differs_from(candidate) & wrong).any())

    def holding(self, wrong: Mask) -> dict[str, Mask]:
        """Wrong elements by what they hold: "poison", "old value", "zero" (one element may be in several)."""
        held: dict[str, Array] = {}
        if self.poison:
            held["poison"] = poison_array(self.poison, self.type, self.offset_bytes)
        if self.previous is not None:
            held["old value"] = self.previous
        held["zero"] = np.zeros_like(self.got)
        return {kind: wrong & same_bits(self.got, array) for kind, array in held.items()}

    def lines(self, mask: Mask) -> tuple[int, int, int]:
        """64-byte lines of the buffer: touched by the mask, filled by it, and that the result has in all."""
        touched, whole = lines_of(mask, self.type, self.offset_bytes)
        first = self.offset_bytes // LINE_BYTES
        last = (self.offset_bytes + max(self.type.size_bytes, 1) - 1) // LINE_BYTES
        return len(touched), whole, last - first + 1

    def says(self, rule: str, sentence: str, evidence: Sequence[str], likelihood: Likelihood) -> Diagnosis:
        """A diagnosis about this result."""
        return Diagnosis(rule, self.name, sentence, tuple(evidence), likelihood)
