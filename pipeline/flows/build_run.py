"""`aiepipe build-run`: from an MLIR file to a verdict.

IREE looks at the HAL in its own process while this one compiles dispatches, evaluates the reference and
runs.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from .. import dtypes
from ..backends import registry
from ..backends.protocol import DesignBackend
from ..errors import CompileError, UsageError
from ..frontend.compiler import COMPILE, PARSE, Compiler
from ..hal.inspection import INSPECT, inspect
from ..program import HostFunction
from ..verdict import Accumulation, BuildRunReport, Inspection
from ..verify.comparison import compare
from ..verify.reference import Reference, reference
from ..verify.tolerance import parse_tolerance
from .backend_options import backend_request, compiler_identity
from .build import (
    check_fallback,
    compile_dispatches,
    describe_front_end,
    dispatch_reports,
    fallback_warnings,
    host_function,
    source_date_epoch,
)
from .content_store import ContentStore, content_key
from .device import RunSettings, open_device
from .judgement import NUMPY, Expectation, Judge, Recomputable, given_expectations, numpy_expectations
from .oracle import ORACLES, iree_results
from .problem import Arguments, Problem, pose
from .program_directory import write_program
from .repetition import repeat_line
from .run import execute, run_built, seeds
from .shares import shares_of
from .source import SourceText, read_source
from .stages import Progress, StageClock, StageNotes, silent
from .versions import tool_versions


@dataclass(frozen=True, slots=True)
class BuildRunOptions:
    """What the user asked of `aiepipe build-run`."""

    file: str
    function: str | None = None
    inputs: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    output_directory: str | None = None
    backend: str = "builtin"
    backend_options: tuple[str, ...] = ()
    backend_flags: tuple[str, ...] = ()
    seed: int | None = None
    oracle: str = "numpy"
    tolerance: str | None = None
    iree_flags: tuple[str, ...] = ()
    fallback: str | None = None
    settings: RunSettings = field(default_factory=RunSettings)


def build_run(
    options: BuildRunOptions,
    progress: Progress = silent,
    *,
    compiler: Compiler | None = None,
    source: SourceText | None = None,
    builds: ContentStore | None = None,
    look: bool = True,
) -> BuildRunReport:
    """Compiles, runs and compares. A `compiler` that the caller has started is used and closed.

    `source` stands for the text of `options.file`; `builds` keeps what is built and gives what was;
    without `look` the HAL IR is not inspected.

    Raises UsageError, CompileError, ArtifactError, DeviceError. Wrong numbers are no error: the report's
    `agreement` says so.
    """
    settings = options.settings
    policy = settings.check()
    check_fallback(options.fallback)
    if options.oracle not in ORACLES:
        raise UsageError(f"no oracle is called {options.oracle!r}", remedy=f"one of: {', '.join(ORACLES)}")
    clock = StageClock(progress)
    source = source or read_source(options.file)
    backend = registry.load(
        options.backend, backend_request(options.backend, options.backend_options, options.backend_flags)
    )
    if isinstance(backend, DesignBackend):
        from .design_run import build_run_design  # noqa: PLC0415  (a tenth of a second, and rarely wanted)

        return build_run_design(
            backend,
            source,
            options,
            inputs=options.inputs,
            expected=options.expected,
            seed=options.seed,
            output_directory=options.output_directory,
            settings=settings,
            progress=progress,
        )
    with compiler or Compiler() as compiler, ThreadPoolExecutor(1) as beside:  # noqa: PLR1704
        compiler.start()
        with clock.stage("front end", "compiling with IREE") as notes:
            problem = pose(compiler, source, function=options.function, inputs=options.inputs)
            name = problem.function.name
            key = "" if builds is None else _build_key(options, source, problem)
            kept = None if builds is None else builds.find_build(key)
            program = (
                kept.program
                if kept is not None
                else compiler.compile(
                    source.file,
                    source.text,
                    flags=options.iree_flags,
                    scalars={name: problem.scalars},
                    functions=[name],
                )
            )
            function = host_function(program, name)
            arguments = problem.arguments(options.inputs, options.seed)
            describe_front_end(notes, source, program, options.iree_flags)
            notes.seconds = sum(compiler.seconds.get(asked, 0.0) for asked in (PARSE, COMPILE))
        looking = beside.submit(_inspect, compiler, source, options.iree_flags, problem) if look else None
        with clock.stage("backend", f"compiling dispatches with {options.backend}") as notes:
            built = kept or compile_dispatches(program, [function], backend, notes, options.fallback)
            if builds is not None and kept is None:
                builds.keep_build(key, built)
            if options.output_directory is not None:
                notes.files += write_program(Path(options.output_directory), built)
        with clock.stage("reference", "evaluating the MLIR with numpy") as notes:
            expected, accumulations = _expectations(options.expected, problem, arguments, function, notes)
            if options.tolerance is not None:
                asked = parse_tolerance(options.tolerance)
                expected = tuple(dataclasses.replace(e, tolerance=asked, bound=None) for e in expected)
            notes_on_oracle = _second_opinion(options, source, problem, arguments, expected)
        judge = Judge(expected)
        device = open_device(settings)
        with clock.stage("run", f"running on {device.report.name}") as notes:
            work = run_built(built, function, arguments.arrays, device, policy, settings)
            result = execute(work, device, settings, judge, progress, notes)
        inspection = None
        if looking is not None:
            progress("inspecting the HAL IR")
            inspection, seconds = looking.result()
            clock.add("inspect", seconds, StageNotes("beside the stages above"))
    report = BuildRunReport(
        command="build-run",
        file=source.file,
        function=name,
        stages=clock.reports,
        inspection=inspection,
        dispatches=dispatch_reports(built),
        device=device.report,
        activity=device.activity(),
        policy=policy.name,
        inputs=arguments.reports,
        accumulations=accumulations,
        warnings=(*fallback_warnings(built), *notes_on_oracle, *device.lost_writes()),
        repeat_with=repeat_line("build-run", options, arguments.seed),
        output_directory=options.output_directory,
        seeds=seeds(settings, arguments.seed),
        versions=tool_versions(),
    )
    again = Recomputable(
        problem.function, arguments.arrays, lambda index: shares_of(built, function, function.results[index])
    )
    return judge.report(report, result, device.findings(), again, watch=device.watch)


def _build_key(options: BuildRunOptions, source: SourceText, problem: Problem) -> str:
    """All that a build depends on. The file's name is in it, for a program carries its source's."""
    scalars = {str(index): value.hex() for index, value in problem.scalars.items()}
    backend = (options.backend, options.backend_options, options.backend_flags, options.fallback)
    epoch = source_date_epoch()
    name = problem.function.name
    installed = compiler_identity(options.backend, options.backend_options, options.backend_flags)
    return content_key(
        "build", source.file, source.text, name, options.iree_flags, *backend, installed, scalars, epoch
    )


def _inspect(
    compiler: Compiler, source: SourceText, flags: Sequence[str], problem: Problem
) -> tuple[Inspection, float]:
    """What the HAL IR does to the buffers of this one function."""
    start = time.perf_counter()
    name = problem.function.name
    inspection = inspect(
        compiler,
        source.file,
        source.text,
        flags=flags,
        scalars={name: problem.scalars},
        functions=[name],
    )
    return inspection, max(time.perf_counter() - start, compiler.seconds.get(INSPECT, 0.0))


def _expectations(
    given: Sequence[str], problem: Problem, arguments: Arguments, function: HostFunction, notes: StageNotes
) -> tuple[tuple[Expectation, ...], tuple[Accumulation, ...]]:
    """What the results should be: as given, else as numpy evaluates the source."""
    if given:
        notes.note = "given by --expected-output"
        asked_of_numpy = any(text.endswith(NUMPY) for text in given)
        bounds = (
            reference(problem.function, arguments.arrays)
            if asked_of_numpy
            else _bounds(problem, arguments, function)
        )
        return given_expectations(function, given, arguments.arrays, bounds), ()
    evaluated = reference(problem.function, arguments.arrays)
    notes.note = "; ".join(dict.fromkeys(a.how for a in evaluated.accumulations))
    expected = numpy_expectations(function, evaluated, arguments.arrays)
    return expected, evaluated.accumulations


def _bounds(problem: Problem, arguments: Arguments, function: HostFunction) -> Reference | None:
    """What rounding may do to the results; None where nothing rounds or the reference does not know an op."""
    if not any(dtypes.is_float(result.type.element) for result in function.results):
        return None
    try:
        return reference(problem.function, arguments.arrays)
    except CompileError:
        return None


def _second_opinion(
    options: BuildRunOptions,
    source: SourceText,
    problem: Problem,
    arguments: Arguments,
    expected: Sequence[Expectation],
) -> tuple[str, ...]:
    """Where IREE's CPU backend differs from what is expected, one line per result."""
    if options.oracle != "iree":
        return ()
    theirs = iree_results(source, problem.function, arguments.arrays, options.iree_flags)
    lines: list[str] = []
    for expectation, got in zip(expected, theirs, strict=True):
        found = compare(
            expectation.name,
            got,
            expectation.want,
            expectation.type,
            tolerance=expectation.tolerance,
            bound=expectation.bound,
            against=expectation.against,
        )
        if found.mismatch is None:
            lines.append(f"iree (llvm-cpu) agrees with {expectation.against} on {expectation.name}")
        else:
            lines.append(
                f"iree (llvm-cpu) differs from {expectation.against} on {expectation.name}: "
                f"{found.mismatch.count} of {found.mismatch.total} elements, first at {found.mismatch.first}"
            )
    return tuple(lines)
