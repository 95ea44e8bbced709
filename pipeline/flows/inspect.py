"""`aiepipe inspect`: what the HAL IR does to buffers, and what became of each fill of the source."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError
from ..frontend.compiler import Compiler
from ..hal.inspection import inspect as inspect_hal
from ..verdict import BuildRunReport
from .source import read_source
from .stages import Progress, StageClock, silent
from .versions import tool_versions

CONDITIONS = ("fill", "copy", "update")


@dataclass(frozen=True, slots=True)
class InspectOptions:
    """`fail_on` is one of CONDITIONS: the kind of op that should not be there."""

    file: str
    fail_on: str | None = None
    iree_flags: tuple[str, ...] = ()


def inspect(options: InspectOptions, progress: Progress = silent) -> BuildRunReport:
    """Compiles the file to the HAL and reports.

    Raises UsageError, CompileError. `failed_condition` says whether `fail_on` was met.
    """
    if options.fail_on is not None and options.fail_on not in CONDITIONS:
        raise UsageError(
            f"--fail-on {options.fail_on} is no condition", remedy=f"one of: {', '.join(CONDITIONS)}"
        )
    clock = StageClock(progress)
    source = read_source(options.file)
    with Compiler() as compiler, clock.stage("inspect", "compiling with IREE to the HAL") as notes:
        inspection = inspect_hal(compiler, source.file, source.text, flags=options.iree_flags)
        notes.details.append(
            f"iree-compile {source.file} --compile-to=hal {' '.join(options.iree_flags)}".rstrip()
        )
    return BuildRunReport(
        command="inspect",
        file=source.file,
        stages=clock.reports,
        inspection=inspection,
        versions=tool_versions(),
    )


def failed_condition(options: InspectOptions, report: BuildRunReport) -> str | None:
    """What to say where the HAL IR has an op that `--fail-on` names, else None."""
    if options.fail_on is None or report.inspection is None:
        return None
    found = [op for op in report.inspection.operations if op.kind == options.fail_on]
    if not found:
        return None
    first = found[0]
    return f"--fail-on {options.fail_on}: the HAL IR has {len(found)}, first {first.form} at {first.location}"
