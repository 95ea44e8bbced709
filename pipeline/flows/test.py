"""`aiepipe test`: the cases in the headers of MLIR files, on as many processes as are wanted."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from ..errors import AiepipeError, UsageError
from ..testing.case import Case, CaseOutcome, CaseResult, TestSession
from ..testing.selection import parse_selection
from .case import CaseSettings, KeptCompiler, backends_of, run_case
from .case_files import find_cases
from .processes import Died, run_jobs, usable_processors
from .stages import Progress, silent

_STAGES_S = 600.0


@dataclass(frozen=True, slots=True)
class TestOptions:
    """What the user asked of `aiepipe test`. Without `processes`, one per processor."""

    __test__ = False  # pytest: not a class of tests

    paths: tuple[str, ...]
    select: str | None = None
    processes: int | None = None
    settings: CaseSettings = field(default_factory=CaseSettings)


@dataclass(frozen=True, slots=True)
class Test:
    """A case on a backend."""

    __test__ = False

    case: Case
    backend: str
    settings: CaseSettings

    @property
    def id(self) -> str:
        return f"{self.case.file}::{self.case.label(self.backend)}"


@dataclass(frozen=True, slots=True)
class Collected:
    """The tests to run, how many -k left out, and the headers that cannot be read."""

    tests: tuple[Test, ...]
    deselected: int
    errors: tuple[AiepipeError, ...]


def collect(options: TestOptions) -> Collected:
    """The tests that the options mean. Raises UsageError where there is none at all."""
    found = find_cases(options.paths)
    tests = [
        Test(case, backend, options.settings)
        for case in found.cases
        for backend in backends_of(case, options.settings)
    ]
    wanted = parse_selection(options.select) if options.select is not None else None
    chosen = [test for test in tests if wanted is None or wanted(test.id)]
    if not chosen and not found.errors:
        raise UsageError(
            f"no test matches -k {options.select!r}" if tests else f"no tests in {', '.join(options.paths)}",
            remedy="see `aiepipe test --list`" if tests else "see docs/tests-in-mlir.md",
        )
    return Collected(tuple(chosen), len(tests) - len(chosen), found.errors)


def run_tests(
    collected: Collected,
    options: TestOptions,
    progress: Progress = silent,
    listen: Callable[[CaseResult], None] = lambda _: None,
) -> TestSession:
    """Runs the tests; `listen` hears each result as it comes, the session has them in order."""
    start = time.perf_counter()
    tests = collected.tests
    processes = min(options.processes or usable_processors(), max(1, len(tests)))
    results: dict[int, CaseResult] = {}
    bad = 0
    progress(f"running {len(tests)} tests")
    # closed at once when this is interrupted: its processes end then
    with closing(_results(tests, processes)) as coming:
        for index, result in coming:
            results[index] = result
            bad += not result.outcome.good
            listen(result)
            progress(f"{len(results)} of {len(tests)} tests" + (f", {bad} failed" if bad else ""))
    return TestSession(
        tuple(results[i] for i in range(len(tests))),
        time.perf_counter() - start,
        processes,
        collected.deselected,
    )


def _results(tests: Sequence[Test], processes: int) -> Generator[tuple[int, CaseResult]]:
    if processes == 1:
        with closing(KeptCompiler()) as compiler:
            compiler.start()
            for index, test in enumerate(tests):
                yield index, run_case(test.case, test.backend, test.settings, compiler)
        return
    # beyond every limit that a stage sets itself: what is ended here is a fault of ours
    limit = max(_STAGES_S + test.settings.timeout_s * (test.case.repeat or 1) for test in tests)
    with closing(run_jobs(run_test, tests, processes, limit_s=limit)) as done:
        for index, result in done:
            yield index, _dead(tests[index], result) if isinstance(result, Died) else result


def _dead(test: Test, death: Died) -> CaseResult:
    return CaseResult(test.case, test.backend, CaseOutcome.BROKEN, 0.0, (death.message,))


_kept: list[KeptCompiler] = []


def run_test(test: Test) -> CaseResult:
    """The same in a process of its own, which keeps its compiler until it ends."""
    return run_case(test.case, test.backend, test.settings, kept_compiler())


def kept_compiler() -> KeptCompiler:
    """This process's compiler."""
    if not _kept:
        _kept.append(KeptCompiler())
        atexit.register(_kept[0].close)
    return _kept[0]
