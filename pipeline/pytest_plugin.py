"""The pytest plugin: MLIR files whose header comments state tests (docs/tests-in-mlir.md) are test files.

It is loaded into every pytest run of an environment that has aiepipe, so it imports nothing but pytest
until there is an MLIR test to collect or the fixture is asked for.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import pytest

if TYPE_CHECKING:
    from .flows.case import CaseSettings, KeptCompiler
    from .testing.case import Case, CaseResult
    from .verdict import BuildRunReport

ENDING = ".mlir"
COLLECT = "aiepipe_collect"
MODES = ("marked", "all", "off")
# a file of weights may be large; tests begin where a reader would see them
_SEARCHED_BYTES = 1 << 20
_SENT = "aiepipe_result"
_RESULT = pytest.StashKey["CaseResult"]()
_COMPILER = pytest.StashKey["KeptCompiler"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("aiepipe", "tests in MLIR files (aiepipe)")
    group.addoption(
        "--aiepipe", action="store_true", help="collect MLIR files with iree-amd-aie's header lines, too"
    )
    group.addoption(
        "--aiepipe-backend",
        action="append",
        default=[],
        metavar="NAME",
        help="run on this backend instead of those of the headers; may be given again",
    )
    group.addoption("--aiepipe-device", default="auto", metavar="NAME", help="auto, hardware or emulated")
    group.addoption("--aiepipe-timeout", type=float, default=60.0, metavar="S", help="seconds per run")
    group.addoption("--aiepipe-repeat", type=int, default=1, metavar="N", help="run each case N times")
    group.addoption("--aiepipe-engine", default="jit", metavar="NAME", help="jit or plain")
    group.addoption("--aiepipe-html", metavar="FILE", help="write the MLIR tests as one HTML page")
    group.addoption(
        "--aiepipe-compare", metavar="FILE", help="in the page, compare with an earlier `aiepipe test --json`"
    )
    parser.addini(COLLECT, f"which .mlir files are tests: {', '.join(MODES)}", default="marked")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "aiepipe: a test that an MLIR file states in its header")
    _mode(config)
    # xdist's workers send their results along with the reports
    if config.getoption("--aiepipe-html") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(PageWriter(config), "aiepipe-page")


def pytest_unconfigure(config: pytest.Config) -> None:
    compiler = config.stash.get(_COMPILER, None)
    if compiler is not None:
        compiler.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    result = item.stash.get(_RESULT, None)
    if result is not None and call.when == "call" and item.config.getoption("--aiepipe-html"):
        from . import json_codec  # noqa: PLC0415

        setattr(report, _SENT, json.dumps(json_codec.encode(result)))
    return report


class PageWriter:
    """Gathers the results of all processes, and writes their page when the session ends."""

    def __init__(self, config: pytest.Config) -> None:
        from .errors import UsageError  # noqa: PLC0415
        from .flows.case_html import earlier_session  # noqa: PLC0415

        self._config, self._start = config, time.perf_counter()
        self._page = str(config.getoption("--aiepipe-html"))
        self._compared: str | None = config.getoption("--aiepipe-compare")
        self._results: list[CaseResult] = []
        try:
            self._earlier = earlier_session(self._compared, self._page)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        sent: str | None = getattr(report, _SENT, None)
        if sent is not None:
            from . import json_codec  # noqa: PLC0415
            from .testing.case import CaseResult  # noqa: PLC0415

            self._results.append(json_codec.decode(json.loads(sent), CaseResult))

    def pytest_sessionfinish(self) -> None:
        from .flows.case_html import write_session_page  # noqa: PLC0415
        from .testing.case import TestSession  # noqa: PLC0415

        # workers end in any order
        results = sorted(self._results, key=lambda r: (r.case.file, r.case.line, r.backend))
        processes: int = getattr(self._config.option, "numprocesses", None) or 1
        session = TestSession(tuple(results), time.perf_counter() - self._start, processes)
        write_session_page(self._page, session, (), self._earlier, self._compared)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ENDING:
        return None
    mode = _mode(parent.config)
    if mode == "off" or (mode == "marked" and not _is_marked(file_path)):
        return None
    return MlirFile.from_parent(parent, path=file_path)


def _mode(config: pytest.Config) -> str:
    mode = str(config.getini(COLLECT))
    if mode not in MODES:
        raise pytest.UsageError(f"{COLLECT} = {mode}: it is one of {', '.join(MODES)}")
    return "all" if config.getoption("--aiepipe") and mode == "marked" else mode


def _is_marked(path: Path) -> bool:
    """A glance: whether the file can have a block at all. The parser decides."""
    try:
        with path.open("rb") as file:
            return b"aiepipe-test" in file.read(_SEARCHED_BYTES)
    except OSError:
        return False


class MlirFile(pytest.File):
    """An MLIR file with tests."""

    if TYPE_CHECKING:  # pytest leaves its keywords untyped

        @classmethod
        def from_parent(cls, parent: Any, **kw: Any) -> Self: ...

    def collect(self) -> Iterable[pytest.Item]:
        from .errors import AiepipeError  # noqa: PLC0415
        from .flows.case import backends_of  # noqa: PLC0415
        from .flows.source import read_source  # noqa: PLC0415
        from .report.failure import error_text  # noqa: PLC0415
        from .testing.header import read_cases  # noqa: PLC0415

        name, settings = _shown(self.path), _settings(self.config)
        try:
            cases = read_cases(name, read_source(name).text, foreign=_mode(self.config) == "all")
        except AiepipeError as error:
            raise self.CollectError(error_text(error)) from None
        for case in cases:
            for backend in backends_of(case, settings):
                yield MlirTest.make(self, case, backend)


class CaseFailed(Exception):
    """Something is not as the header states."""

    def __init__(self, result: CaseResult) -> None:
        super().__init__("; ".join(result.problems))
        self.result = result


class MlirTest(pytest.Item):
    """A case on a backend."""

    case: Case
    backend: str

    if TYPE_CHECKING:  # pytest leaves its keywords untyped

        @classmethod
        def from_parent(cls, parent: Any, **kw: Any) -> Self: ...

    @classmethod
    def make(cls, parent: pytest.Collector, case: Case, backend: str) -> MlirTest:
        """The item, marked as an expected failure where the header says so."""
        item = cls.from_parent(parent, name=case.label(backend))
        item.case, item.backend = case, backend
        item.add_marker("aiepipe")
        if case.xfail is not None:
            item.add_marker(pytest.mark.xfail(reason=case.xfail, strict=True, raises=CaseFailed))
        return item

    def runtest(self) -> None:
        from .flows.case import run_case  # noqa: PLC0415
        from .testing.case import CaseOutcome  # noqa: PLC0415

        __tracebackhide__ = True
        result = run_case(self.case, self.backend, _settings(self.config), _compiler(self.config))
        self.stash[_RESULT] = result
        if result.outcome is CaseOutcome.SKIPPED:
            pytest.skip("; ".join(result.problems))
        if result.outcome is CaseOutcome.BROKEN:
            # not as the exception that xfail names
            pytest.fail(_text(result), pytrace=False)
        if result.problems:
            raise CaseFailed(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, CaseFailed):
            return _text(excinfo.value.result)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.case.line - 1, self.name


class Check(Protocol):
    """What the fixture `aiepipe_check` gives: builds, runs and compares, as `aiepipe build-run` does."""

    def __call__(
        self,
        source: str | Path,
        *,
        function: str | None = None,
        inputs: Sequence[str] = (),
        expected: Sequence[str] = (),
        tolerance: str | None = None,
        backend: str | None = None,
        sync_policy: str = "default",
        repeat: int | None = None,
        seed: int | None = None,
        iree_flags: Sequence[str] = (),
    ) -> BuildRunReport: ...


@pytest.fixture
def aiepipe_check(request: pytest.FixtureRequest, tmp_path: Path) -> Check:
    """A function that builds and runs an MLIR file (or text, where `source` has several lines) and compares.

    Wrong numbers are an AssertionError with the report; every other failure is its AiepipeError.
    """
    config = request.config

    def check(
        source: str | Path,
        *,
        function: str | None = None,
        inputs: Sequence[str] = (),
        expected: Sequence[str] = (),
        tolerance: str | None = None,
        backend: str | None = None,
        sync_policy: str = "default",
        repeat: int | None = None,
        seed: int | None = None,
        iree_flags: Sequence[str] = (),
    ) -> BuildRunReport:
        __tracebackhide__ = True
        from .errors import AiepipeError  # noqa: PLC0415
        from .flows.build_run import BuildRunOptions, build_run  # noqa: PLC0415
        from .flows.case import DEFAULT_BACKEND  # noqa: PLC0415
        from .flows.device import RunSettings  # noqa: PLC0415
        from .report.terminal import report_lines  # noqa: PLC0415
        from .verdict import Agreement  # noqa: PLC0415

        file = source
        if isinstance(source, str) and "\n" in source:
            file = tmp_path / "source.mlir"
            file.write_text(source, encoding="utf-8")
        asked = _settings(config)
        chosen = backend or (asked.backends[0] if asked.backends else DEFAULT_BACKEND)
        options = BuildRunOptions(
            str(file),
            function=function,
            inputs=tuple(inputs),
            expected=tuple(expected),
            tolerance=tolerance,
            backend=chosen,
            seed=seed,
            iree_flags=tuple(iree_flags),
            settings=RunSettings(
                asked.device, asked.timeout_s, sync_policy, repeat or asked.repeat, engine=asked.engine
            ),
        )
        try:
            report = build_run(options, compiler=_compiler(config))
        except AiepipeError as error:
            # the caller's line is what matters, not where in aiepipe it was noticed
            raise error.with_traceback(None) from None
        if report.agreement is Agreement.FAIL:
            raise AssertionError("\n".join(line.plain for line in report_lines(report)))
        return report

    return check


def _settings(config: pytest.Config) -> CaseSettings:
    from .flows.case import CaseSettings  # noqa: PLC0415

    option: Any = config.option
    return CaseSettings(
        backends=tuple(option.aiepipe_backend),
        device=option.aiepipe_device,
        timeout_s=option.aiepipe_timeout,
        repeat=option.aiepipe_repeat,
        engine=option.aiepipe_engine,
    )


def _compiler(config: pytest.Config) -> KeptCompiler:
    """This process's compiler; xdist's workers have one each."""
    from .flows.case import KeptCompiler  # noqa: PLC0415

    return config.stash.setdefault(_COMPILER, KeptCompiler())


def _shown(path: Path) -> str:
    """The file as a person would name it: relative where it lies below the working folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return os.fspath(path)


def _text(result: CaseResult) -> str:
    from .report.tests import failure_lines  # noqa: PLC0415

    return "\n".join([result.case.place, *(line.plain for line in failure_lines(result))])
