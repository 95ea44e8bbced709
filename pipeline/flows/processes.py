"""Jobs on several processes. A job that kills its process is named, and the others go on.

Each lane is an executor of one process, so that there is never a doubt whose death it was.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Generic, TypeVar

_GLANCE_S = 0.5  # how often jobs are held against their limit

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Died:
    """The process ended while it did the job, by itself or because the job took too long."""

    message: str


def usable_processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_jobs(
    work: Callable[[Job], Result],
    jobs: Sequence[Job],
    processes: int,
    *,
    limit_s: float | None = None,
    enough: Callable[[], bool] = lambda: False,
) -> Generator[tuple[int, Result | Died]]:
    """Each job's index and what `work` made of it, as they end. `work` and the jobs must be picklable.

    Whatever `work` raises is raised here. A job that takes longer than `limit_s` is ended; when `enough`
    says so no more are begun. When the caller stops listening (an interrupt, say), the processes are
    killed.
    """
    lanes = [_Lane(work) for _ in range(max(1, min(processes, len(jobs))))]
    waiting = iter(enumerate(jobs))
    running: dict[Future[Result], tuple[int, _Lane[Job, Result]]] = {}

    def give(lane: _Lane[Job, Result]) -> None:
        index, job = (None, None) if enough() else next(waiting, (None, None))
        if index is not None and job is not None:
            running[lane.submit(job)] = index, lane
            lane.started = time.monotonic()

    finished = False
    try:
        for lane in lanes:
            give(lane)
        while running:
            done, _ = wait(running, timeout=_GLANCE_S, return_when=FIRST_COMPLETED)
            for _, lane in running.values():
                lane.end_after(limit_s)
            for future in done:
                index, lane = running.pop(future)
                try:
                    result: Result | Died = future.result()
                except BrokenProcessPool:
                    result = Died(
                        "its process died" if not lane.ended else f"it took over {limit_s or 0:g} s"
                    )
                    lane.renew()
                give(lane)
                yield index, result
        finished = True
    finally:
        for lane in lanes:
            lane.close(kill=not finished)


class _Lane(Generic[Job, Result]):
    """One process that does one job after the other."""

    def __init__(self, work: Callable[[Job], Result]) -> None:
        self._work = work
        self.started = 0.0
        self.ended = False
        self._executor = self._new()

    def submit(self, job: Job) -> Future[Result]:
        return self._executor.submit(self._work, job)

    def end_after(self, limit_s: float | None) -> None:
        """Ends the process where its job has taken too long."""
        if limit_s is not None and not self.ended and time.monotonic() - self.started > limit_s:
            self.ended = True
            _kill(self._pid)

    def renew(self) -> None:
        self._executor.shutdown(wait=False)
        self.ended = False
        self._executor = self._new()

    def close(self, *, kill: bool) -> None:
        if kill:
            self._executor.shutdown(wait=False, cancel_futures=True)
            _kill(self._pid)
        else:
            self._executor.shutdown()

    def _new(self) -> ProcessPoolExecutor:
        # spawn: a fork of a process with threads (IREE's, LLVM's) may hang
        executor = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_prepare)
        self._pid = executor.submit(os.getpid)
        return executor


def _prepare() -> None:
    """In the new process: an interrupt at the terminal is the parent's business, which ends this one; and
    a parent that is killed leaves no process behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _kill(pid: Future[int]) -> None:
    if pid.done() and not pid.cancelled() and pid.exception() is None:
        try:
            os.kill(pid.result(), signal.SIGKILL)
        except ProcessLookupError:
            return
