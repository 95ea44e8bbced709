"""What a run gives: the results of every repeat, and how it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from ..verdict import BufferReport, HostEvent
from .policy import DEFAULT, SyncPolicy

Array = npt.NDArray[Any]

POISON = b"\xa5" * 16
"""What outputs hold before each run: -1515870811 as i32, -23131 as i16, -91 as i8, -2.87e-16 as f32 and
bf16, -0.02205 as f16. One byte repeated, so that any element at any offset shows it."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """One execution of the function. `index` counts from 1; `outputs` are its results in order; `events`
    what the host did (those of the start-up are in the first one's); `cycles` only where emulated."""

    index: int
    outputs: tuple[Array, ...]
    events: tuple[HostEvent, ...]
    seconds: float
    cycles: int | None
    reread: Callable[[], tuple[Array, ...]] | None = field(default=None, compare=False)
    """Syncs the results from the device once more and reads them again; None where the policy does not sync
    all of them. To be called before the next repeat only."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """All repeats.

    `variants` holds each distinct set of outputs once, in order of appearance, and `variant_of[i]` which
    of them repeat i + 1 gave (None where it was not kept). `events` are the first repeat's; `poison` is
    what the outputs held before each run, None when they were left alone.
    """

    variants: tuple[tuple[Array, ...], ...]
    variant_of: tuple[int | None, ...]
    events: tuple[HostEvent, ...]
    buffers: tuple[BufferReport, ...]
    policy: SyncPolicy
    poison: bytes | None
    seconds: tuple[float, ...]
    cycles: int | None
    warnings: tuple[str, ...]
    state: str = "ERT_CMD_STATE_COMPLETED"

    @property
    def outputs(self) -> tuple[Array, ...]:
        """Results of the first repeat."""
        return self.variants[0]

    def outputs_of(self, repeat: int) -> tuple[Array, ...]:
        """Results of repeat `repeat` (from 1). Raises KeyError when they were not kept."""
        variant = self.variant_of[repeat - 1]
        if variant is None:
            raise KeyError(repeat)
        return self.variants[variant]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run. `timeout_s` bounds each run's wall time; `poison` is written over the outputs before
    each run (None: they are left alone); `keep` bounds how many distinct outputs are held. `poll_ms`: a run
    is waited for in slices of that length (None: in one, which on hardware holds the GIL)."""

    policy: SyncPolicy = DEFAULT
    repeat: int = 1
    timeout_s: float | None = None
    poison: bytes | None = POISON
    keep: int = 1024
    poll_ms: int | None = None
