"""One point of a sweep: its program's text, its run, its row, its key. Runs in any process or machine."""

from __future__ import annotations

import dataclasses
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import json_codec
from ..errors import AiepipeError
from ..frontend.compiler import Compiler
from ..hal.inspection import inspect
from ..testing.sweep import MatmulShape, SourceFile, SweepPoint, SweepRow, SweepVerdict
from ..verdict import Agreement, BuildRunReport, Severity
from .backend_options import compiler_identity
from .build_run import BuildRunOptions, build_run
from .content_store import ContentStore, content_key
from .device import RunSettings
from .emit import MatmulOptions, emit_matmul
from .problem import pose
from .repetition import repeat_line
from .source import STANDARD_INPUT, SourceText
from .test import kept_compiler

# a worker of a cluster may have several threads, the emulated device of a process is one
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class SweepJob:
    """A point and where builds are kept on the machine that runs it (None: nowhere)."""

    point: SweepPoint
    folder: str | None = None


def run_job(job: SweepJob) -> SweepRow:
    """Runs the point with this process's compiler; every way in which that ends is a row."""
    store = ContentStore(None if job.folder is None else Path(job.folder))
    with _one_at_a_time:
        compiler = kept_compiler()
        return _with_fills(job.point, run_point(job.point, compiler, store), compiler)


def _with_fills(point: SweepPoint, row: SweepRow, compiler: Compiler) -> SweepRow:
    """A wrong row with what its program does to buffers: the first thing to look at."""
    report = row.report
    if report is None or report.function is None or not report.dispatches:
        return row
    source, options = program_text(point), point_options(point)
    try:
        problem = pose(compiler, source, function=report.function, inputs=options.inputs)
        found = inspect(
            compiler,
            source.file,
            source.text,
            flags=point.flags,
            scalars={report.function: problem.scalars},
            functions=[report.function],
        )
    except AiepipeError as error:
        told = (*report.warnings, f"no inspection: {error.message}")
        return dataclasses.replace(row, report=dataclasses.replace(report, warnings=told))
    return dataclasses.replace(row, report=dataclasses.replace(report, inspection=found))


def run_point(point: SweepPoint, compiler: Compiler, store: ContentStore) -> SweepRow:
    """Builds and runs one point."""
    start = time.perf_counter()
    again = again_line(point)
    try:
        source = program_text(point)
        report = build_run(point_options(point), compiler=compiler, source=source, builds=store, look=False)
    except AiepipeError as error:
        return SweepRow(
            SweepVerdict.ERROR,
            error.message,
            type(error).__name__,
            error.stage or "",
            error.where() or "",
            seconds=time.perf_counter() - start,
            again=again,
        )
    except Exception as fault:  # noqa: BLE001  (a fault of ours is this point's row, not the sweep's end)
        kind = type(fault).__name__
        seconds = time.perf_counter() - start
        return SweepRow(SweepVerdict.CRASH, f"{kind}: {fault}", kind, seconds=seconds, again=again)
    return _row(report, time.perf_counter() - start, again)


def program_text(point: SweepPoint) -> SourceText:
    """The MLIR of the point. Raises UsageError for a shape or type that makes no program."""
    program = point.program
    if isinstance(program, SourceFile):
        return SourceText(program.file, program.text)
    text = emit_matmul(
        MatmulOptions(
            program.m,
            program.n,
            program.k,
            program.element,
            program.accumulator,
            program.fill,
            "a" in program.transpose,
            "b" in program.transpose,
        )
    )
    return SourceText("<stdin>", text)


def point_options(point: SweepPoint) -> BuildRunOptions:
    """The point as a call of build-run."""
    program = point.program
    settings = RunSettings(
        device=point.device,
        timeout_s=point.timeout_s,
        policy=point.policy,
        repeat=point.repeat,
        coherency_seed=point.seed,
    )
    if isinstance(program, MatmulShape):
        return BuildRunOptions(
            STANDARD_INPUT,
            backend=point.backend,
            seed=point.seed,
            iree_flags=point.flags,
            settings=settings,
        )
    return BuildRunOptions(
        program.file,
        function=program.function,
        inputs=program.inputs,
        expected=program.expected,
        backend=point.backend,
        seed=None if program.inputs else point.seed,
        iree_flags=point.flags,
        settings=settings,
    )


def again_line(point: SweepPoint) -> str:
    """The command that does the same by hand."""
    options = point_options(point)
    line = repeat_line("build-run", options, options.seed)
    return f"{point.program.command} | {line}" if isinstance(point.program, MatmulShape) else line


def point_key(point: SweepPoint, where: str) -> str:
    """The name of the point's row in the store; `where` it ran."""
    compiler = compiler_identity(point.backend)
    return content_key("sweep", where, type(point.program).__name__, dataclasses.asdict(point), compiler)


def row_document(row: SweepRow) -> dict[str, Any]:
    """The row as plain data, for the store."""
    return {"row": json_codec.encode(row)}


def row_of(document: dict[str, Any] | None) -> SweepRow | None:
    """The row of a document; None where it is not one."""
    if document is None:
        return None
    try:
        return json_codec.decode(document["row"], SweepRow)
    except (AiepipeError, KeyError, TypeError, ValueError):
        return None


def _row(report: BuildRunReport, seconds: float, again: str) -> SweepRow:
    right = report.agreement is not Agreement.FAIL
    statistics = report.statistics
    mismatches = [c.mismatch for c in report.comparisons if c.mismatch is not None]
    wrong = sum(m.count for m in mismatches)
    total = sum(c.type.count for c in report.comparisons)
    if right:
        message = ""
    elif statistics is not None:
        message = f"{statistics.wrong_runs} of {statistics.runs} runs are wrong"
    else:
        message = f"{wrong} of {total} elements are wrong"
    if not right and report.diagnoses:
        message += f": {report.diagnoses[0].sentence}"
    return SweepRow(
        SweepVerdict.RIGHT if right else SweepVerdict.WRONG,
        message,
        runs=1 if statistics is None else statistics.runs,
        wrong_runs=(0 if right else 1) if statistics is None else statistics.wrong_runs,
        wrong_elements=wrong,
        elements=total,
        cycles=report.cycles,
        hazards=tuple(sorted({f.hazard for f in report.findings if f.severity is Severity.ERROR})),
        seconds=seconds,
        again=again,
        artifact_bytes=report.artifact_bytes,
        report=None if right else report,
    )
