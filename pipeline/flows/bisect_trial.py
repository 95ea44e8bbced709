"""A verdict by our own pipeline: built, run on the emulated device and compared."""

from __future__ import annotations

import time

from ..errors import ArtifactError, CompileError, DeviceError, WorkerCrash
from ..verdict import Agreement, Outcome, Trial
from .bisect_options import BisectOptions
from .build_run import BuildRunOptions, build_run
from .device import RunSettings


def try_build_run(
    name: str, options: BisectOptions, *, iree_flags: tuple[str, ...], backend: str = "builtin"
) -> Trial:
    """The verdict of our own pipeline on the emulated device."""
    start = time.monotonic()
    outcome, detail = Outcome.ERROR, ""
    try:
        report = build_run(
            BuildRunOptions(
                file=options.file,
                function=options.function,
                inputs=options.inputs,
                seed=options.seed,
                backend=backend,
                iree_flags=iree_flags,
                settings=RunSettings(device="emulated"),
            )
        )
        outcome = Outcome.WRONG if report.agreement is Agreement.FAIL else Outcome.RIGHT
        wrong = [(c.name, c.mismatch.count) for c in report.comparisons if c.mismatch is not None]
        detail = ", ".join(f"{result} has {count} wrong elements" for result, count in wrong)
    except WorkerCrash as crash:
        outcome, detail = Outcome.CRASH, crash.message
    except (CompileError, ArtifactError, DeviceError) as error:
        detail = error.message
    return Trial(name, outcome, "", detail, time.monotonic() - start)
