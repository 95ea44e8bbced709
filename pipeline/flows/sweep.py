"""`aiepipe sweep`: a grid of programs and settings, on local processes or a cluster, resumable.

A row is kept under the hash of its point and of all code as soon as it is there, so that a sweep that was
killed goes on where it was, and a larger grid takes what a smaller one has computed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ..testing.sweep import Sweep, SweepPoint, SweepRow, SweepVerdict
from ..xrt.discovery import find_hardware
from .case import KeptCompiler
from .content_store import ContentStore, default_store
from .processes import Died, run_jobs, usable_processors
from .reduction import Reduced, reduce_point, write_regression
from .stages import Progress, silent
from .sweep_point import SweepJob, again_line, point_key, row_document, row_of, run_job, run_point
from .sweep_spec import SweepSpec

Done = tuple[int, SweepRow]
Runner = Callable[[Sequence[SweepJob], Callable[[], bool]], Generator[Done]]
# beyond every limit that a stage sets itself
_STAGES_S = 600.0
_KEPT = (SweepVerdict.RIGHT, SweepVerdict.WRONG, SweepVerdict.ERROR)


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """How to run a spec. Without `processes`, one per processor; `scheduler` is a dask address;
    `fresh` looks up no earlier row, `resume` also those of hardware."""

    processes: int | None = None
    scheduler: str | None = None
    fresh: bool = False
    resume: bool = False


def run_sweep(
    spec: SweepSpec,
    options: SweepOptions,
    progress: Progress = silent,
    listen: Callable[[SweepPoint, SweepRow], None] = lambda _point, _row: None,
    *,
    store: ContentStore | None = None,
) -> Sweep:
    """Runs what the store does not have; `listen` hears each row as it comes.

    Raises UsageError for a scheduler that cannot be reached or used.
    """
    start = time.monotonic()
    kept = store if store is not None else default_store()
    points = spec.points
    rows: list[SweepRow | None] = [None] * len(points)
    # a run on hardware is an observation and not a function of its input: it is taken for done only when
    # the user goes on with a sweep
    emulated = _is_emulated(points, options)
    where = "emulated" if emulated else f"hardware {options.scheduler or ''}"
    keys = [point_key(point, where) for point in points]
    if (emulated or options.resume) and not options.fresh:
        rows = [row_of(kept.find(key)) for key in keys]
    cached = sum(row is not None for row in rows)
    missing = [i for i, row in enumerate(rows) if row is None]
    folder = str(kept.folder) if kept.folder is not None else None
    jobs = [SweepJob(points[i], None if options.scheduler else folder) for i in missing]
    processes = min(options.processes or usable_processors(), max(1, len(jobs)))
    runner = _cluster(options.scheduler) if options.scheduler else _local(processes)

    def enough() -> bool:
        return spec.seconds is not None and time.monotonic() - start > spec.seconds

    meter = _Meter(len(points), progress)
    for row in rows:
        meter.count(row)
    meter.show()
    with closing(runner(jobs, enough)) as results:
        for number, row in results:
            index = missing[number]
            rows[index] = row
            if row.verdict in _KEPT:
                kept.keep(keys[index], row_document(row))
            listen(points[index], row)
            meter.count(row)
            meter.show(just_run=True)
    workers = options.scheduler or f"{processes} process{'' if processes == 1 else 'es'}"
    return Sweep(points, tuple(rows), time.monotonic() - start, workers, cached, spec.left_out)


def _is_emulated(points: Sequence[SweepPoint], options: SweepOptions) -> bool:
    """Whether no run can be on hardware."""
    kinds = {point.device for point in points}
    if kinds == {"auto"} and options.scheduler is None:
        return bool(find_hardware().absent)
    return kinds == {"emulated"}


def _local(processes: int) -> Runner:
    def run(jobs: Sequence[SweepJob], enough: Callable[[], bool]) -> Generator[Done]:
        limit = max((_STAGES_S + j.point.timeout_s * j.point.repeat for j in jobs), default=None)
        with closing(run_jobs(run_job, jobs, processes, limit_s=limit, enough=enough)) as done:
            for index, result in done:
                yield index, _alive(result, jobs[index])

    return run


def _cluster(address: str) -> Runner:
    from .cluster import run_on_cluster  # noqa: PLC0415  (dask is an extra)

    def run(jobs: Sequence[SweepJob], enough: Callable[[], bool]) -> Generator[Done]:
        npu = any(job.point.device != "emulated" for job in jobs)
        with closing(run_on_cluster(address, run_job, jobs, npu=npu, enough=enough)) as done:
            for index, result in done:
                yield index, _alive(result, jobs[index])

    return run


def _alive(result: SweepRow | Died, job: SweepJob) -> SweepRow:
    if isinstance(result, Died):
        return SweepRow(SweepVerdict.CRASH, result.message, "Died", again=again_line(job.point))
    return result


class _Meter:
    """The line of progress: how many, how they ended, how long it will take."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._total, self._progress = total, progress
        self._counts = dict.fromkeys(SweepVerdict, 0)
        self._start, self._ran = time.monotonic(), 0

    def count(self, row: SweepRow | None) -> None:
        if row is not None:
            self._counts[row.verdict] += 1

    def show(self, *, just_run: bool = False) -> None:
        done = sum(self._counts.values())
        parts = [f"{done} of {self._total}"]
        parts += [f"{number} {verdict.value}" for verdict, number in self._counts.items() if number]
        self._ran += just_run
        if self._ran:
            left = (time.monotonic() - self._start) / self._ran * (self._total - done)
            parts.append(f"about {left:.0f} s left" if left < 100 else f"about {left / 60:.0f} min left")
        self._progress(", ".join(parts))


def reduce_failures(
    sweep: Sweep, folder: Path, progress: Progress = silent
) -> tuple[tuple[Path, Reduced], ...]:
    """The first failure of each kind, shrunk, as a regression test in `folder`. Raises UsageError."""
    firsts: dict[tuple[str, ...], tuple[SweepPoint, SweepRow]] = {}
    for point, row in zip(sweep.points, sweep.rows, strict=True):
        if row is not None and row.verdict is not SweepVerdict.RIGHT:
            firsts.setdefault(row.signature, (point, row))
    written: list[tuple[Path, Reduced]] = []
    nothing_kept = ContentStore(None)
    with closing(KeptCompiler()) as compiler:
        for point, row in firsts.values():

            def here(candidate: SweepPoint) -> SweepRow:
                return run_point(candidate, compiler, nothing_kept)

            judge = _apart if row.verdict is SweepVerdict.CRASH else here
            reduced = reduce_point(point, row, judge, compiler, progress)
            written.append((write_regression(folder, reduced, point), reduced))
    return tuple(written)


def _apart(point: SweepPoint) -> SweepRow:
    """In a process of its own, which may die."""
    job = SweepJob(point)
    limit = _STAGES_S + point.timeout_s * point.repeat
    return next(_alive(result, job) for _, result in run_jobs(run_job, [job], 1, limit_s=limit))
