"""`aiepipe inspect`: what the HAL IR does to buffers, and what became of each fill of the source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileError, UsageError
from ..frontend.compiler import Compiler
from ..hal.inspection import inspect as inspect_hal
from ..verdict import BuildRunReport, Inspection, InspectionDifference
from .compiler_wheels import WheelReleases
from .inspection_difference import Plain, as_plain, compare_inspections, read_inspection
from .other_compiler import Confirm, packages
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
    not given), and `diff_compiler` is another compiler for it: a release, or a folder that has one. `yes`
    lets a release be fetched unasked."""

    file: str
    fail_on: str | None = None
    iree_flags: tuple[str, ...] = ()
    diff: str | None = None
    diff_flags: tuple[str, ...] = ()
    diff_compiler: str | None = None
    yes: bool = False


def inspect(
    options: InspectOptions,
    progress: Progress = silent,
    *,
    compiler: Compiler | None = None,
    confirm: Confirm = lambda _: False,
) -> BuildRunReport:
    """Compiles the file to the HAL and reports; `compiler` is one that is there already. `confirm` is asked
    before a release is fetched.

    Raises UsageError, CompileError. `failed_condition` says whether `fail_on` was met.
    """
    if options.fail_on is not None and options.fail_on not in CONDITIONS:
        raise UsageError(
            f"--fail-on {options.fail_on} is no condition", remedy=f"one of: {', '.join(CONDITIONS)}"
        )
    compared = options.diff is not None or bool(options.diff_flags) or options.diff_compiler is not None
    if options.fail_on == DIFFERENCE and not compared:
        raise UsageError(f"--fail-on {DIFFERENCE} needs --diff, --diff-flag or --diff-compiler")
    clock = StageClock(progress)
    source = read_source(options.file)
    other = None
    if options.diff_compiler is not None:
        progress(f"looking for the compiler {options.diff_compiler}")
        other = packages(options.diff_compiler, WheelReleases(), confirm, yes=options.yes)
    with compiler or Compiler() as opened:
        with clock.stage("inspect", "compiling with IREE to the HAL") as notes:
            inspection = _inspect(opened, source, options.iree_flags, notes)
        difference = None
        if compared:
            with clock.stage("compare", "inspecting the other side") as notes:
                difference = _difference(opened, other, source, inspection, options, notes)
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
    compiler: Compiler,
    other_packages: Path | None,
    source: SourceText,
    inspection: Inspection,
    options: InspectOptions,
    notes: StageNotes,
) -> InspectionDifference:
    """The file against what `diff`, `diff_flags` and `diff_compiler` name; the other side is "after"."""
    flags = options.diff_flags or options.iree_flags
    before = " ".join([source.file, *options.iree_flags])
    other: Plain
    if options.diff is not None and options.diff.endswith(_REPORT_ENDING):
        if options.diff_flags or options.diff_compiler is not None:
            name = "--diff-flag" if options.diff_flags else "--diff-compiler"
            raise UsageError(f"{name} compiles, and a JSON report is compiled already")
        after, other = read_inspection(options.diff, read_input_file(options.diff, LARGEST_SOURCE_BYTES))
    else:
        second = source if options.diff is None else read_source(options.diff)
        after = " ".join([second.file, *flags])
        if other_packages is None:
            other = as_plain(_inspect(compiler, second, flags, notes))
        else:
            after += f" (iree-base-compiler {options.diff_compiler})"
            with Compiler(packages=other_packages) as another:
                try:
                    other = as_plain(_inspect(another, second, flags, notes))
                except CompileError as fault:
                    fault.message = f"with iree-base-compiler {options.diff_compiler}: {fault.message}"
                    raise
    return compare_inspections(as_plain(inspection), other, (before, after))
