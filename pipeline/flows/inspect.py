"""`aiepipe inspect`: what the HAL IR does to buffers, and what became of each fill of the source."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError
from ..frontend.compiler import Compiler
from ..hal.inspection import inspect as inspect_hal
from ..verdict import BuildRunReport, Inspection, InspectionDifference
from .inspection_difference import Plain, as_plain, compare_inspections, read_inspection
from .source import LARGEST_SOURCE_BYTES, SourceText, read_input_file, read_source
from .stages import Progress, StageClock, StageNotes, silent
from .versions import tool_versions

DIFFERENCE = "difference"
CONDITIONS = ("fill", "copy", "update", DIFFERENCE)
_REPORT_ENDING = ".json"


@dataclass(frozen=True, slots=True)
class InspectOptions:
    """`fail_on` is one of CONDITIONS. `diff` is another file, or a JSON report of one; `diff_flags` are
    flags instead of `iree_flags` for the other side of the comparison (with the same file, where `diff` is
    not given)."""

    file: str
    fail_on: str | None = None
    iree_flags: tuple[str, ...] = ()
    diff: str | None = None
    diff_flags: tuple[str, ...] = ()


def inspect(
    options: InspectOptions, progress: Progress = silent, *, compiler: Compiler | None = None
) -> BuildRunReport:
    """Compiles the file to the HAL and reports; `compiler` is one that is there already.

    Raises UsageError, CompileError. `failed_condition` says whether `fail_on` was met.
    """
    if options.fail_on is not None and options.fail_on not in CONDITIONS:
        raise UsageError(
            f"--fail-on {options.fail_on} is no condition", remedy=f"one of: {', '.join(CONDITIONS)}"
        )
    compared = options.diff is not None or bool(options.diff_flags)
    if options.fail_on == DIFFERENCE and not compared:
        raise UsageError(f"--fail-on {DIFFERENCE} needs --diff or --diff-flag")
    clock = StageClock(progress)
    source = read_source(options.file)
    with compiler or Compiler() as opened:
        with clock.stage("inspect", "compiling with IREE to the HAL") as notes:
            inspection = _inspect(opened, source, options.iree_flags, notes)
        difference = None
        if compared:
            with clock.stage("compare", "inspecting the other side") as notes:
                difference = _difference(opened, source, inspection, options, notes)
    return BuildRunReport(
        command="inspect",
        file=source.file,
        stages=clock.reports,
        inspection=inspection,
        difference=difference,
        versions=tool_versions(),
    )


def failed_condition(options: InspectOptions, report: BuildRunReport) -> str | None:
    """What to say where what `--fail-on` names is there, else None."""
    if options.fail_on is None or report.inspection is None:
        return None
    if options.fail_on == DIFFERENCE:
        changes = () if report.difference is None else report.difference.changes
        return f"--fail-on {DIFFERENCE}: {len(changes)} answers differ" if changes else None
    found = [op for op in report.inspection.operations if op.kind == options.fail_on]
    if not found:
        return None
    first = found[0]
    return f"--fail-on {options.fail_on}: the HAL IR has {len(found)}, first {first.form} at {first.location}"


def _inspect(compiler: Compiler, source: SourceText, flags: tuple[str, ...], notes: StageNotes) -> Inspection:
    inspection = inspect_hal(compiler, source.file, source.text, flags=flags)
    notes.details.append(f"iree-compile {source.file} --compile-to=hal {' '.join(flags)}".rstrip())
    return inspection


def _difference(
    compiler: Compiler, source: SourceText, inspection: Inspection, options: InspectOptions, notes: StageNotes
) -> InspectionDifference:
    """The file against what `diff` and `diff_flags` name; the other side is "after"."""
    flags = options.diff_flags or options.iree_flags
    before = " ".join([source.file, *options.iree_flags])
    other: Plain
    if options.diff is not None and options.diff.endswith(_REPORT_ENDING):
        if options.diff_flags:
            raise UsageError("--diff-flag compiles, and a JSON report is compiled already")
        after, other = read_inspection(options.diff, read_input_file(options.diff, LARGEST_SOURCE_BYTES))
    else:
        second = source if options.diff is None else read_source(options.diff)
        after = " ".join([second.file, *flags])
        other = as_plain(_inspect(compiler, second, flags, notes))
    return compare_inspections(as_plain(inspection), other, (before, after))
