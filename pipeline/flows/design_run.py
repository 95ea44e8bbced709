"""`aiepipe build-run` of a design in the `aie` dialect."""

from __future__ import annotations

from pathlib import Path

from ..backends.protocol import DesignBackend
from ..verdict import BuildRunReport
from .build import dispatch_reports, source_date_epoch
from .design import build_design
from .device import RunSettings, open_device
from .judgement import Judge, given_expectations
from .problem import make_arguments
from .program_directory import write_program
from .repetition import repeat_line
from .run import execute, run_built, seeds
from .source import SourceText
from .stages import Progress, StageClock
from .versions import tool_versions


def build_run_design(
    backend: DesignBackend,
    source: SourceText,
    options: object,
    *,
    inputs: tuple[str, ...],
    expected: tuple[str, ...],
    seed: int | None,
    output_directory: str | None,
    settings: RunSettings,
    progress: Progress,
) -> BuildRunReport:
    """Builds and runs a design; compared only with `expected`, for nothing says what it computes."""
    policy = settings.check()
    clock = StageClock(progress)
    with clock.stage("backend", f"compiling the design with {backend.name}") as notes:
        built = build_design(backend, source, source_date_epoch(), notes)
        if output_directory is not None:
            notes.files += write_program(Path(output_directory), built)
    (function,) = built.program.functions
    arguments = make_arguments(function.name, function.arguments, inputs, seed)
    judge = Judge(given_expectations(function, expected, arguments.arrays) if expected else ())
    device = open_device(settings)
    with clock.stage("run", f"running on {device.report.name}") as notes:
        work = run_built(built, function, arguments.arrays, device, policy, settings)
        result = execute(work, device, settings, judge, progress, notes)
    report = BuildRunReport(
        command="build-run",
        file=source.file,
        function=function.name,
        stages=clock.reports,
        dispatches=dispatch_reports(built),
        device=device.report,
        activity=device.activity(),
        policy=policy.name,
        inputs=arguments.reports,
        repeat_with=repeat_line("build-run", options, arguments.seed),
        output_directory=output_directory,
        seeds=seeds(settings, arguments.seed),
        versions=tool_versions(),
    )
    return judge.report(report, result, device.findings(), watch=device.watch)
