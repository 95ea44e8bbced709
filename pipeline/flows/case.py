"""One test case of an MLIR file: build and run it, and hold what came out to what its header states."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import AiepipeError
from ..frontend.compiler import Compiler
from ..testing.case import Case, CaseOutcome, CaseResult, ExpectedFills
from ..verdict import Agreement, BufferOperation, BuildRunReport, Severity
from .build_run import BuildRunOptions, build_run
from .device import RunSettings
from .inspect import InspectOptions, inspect
from .repetition import repeat_line

DEFAULT_BACKEND = "builtin"
AVAILABLE_TARGETS = ("npu1",)
_STAGES = {"front end": "frontend"}


@dataclass(frozen=True, slots=True)
class CaseSettings:
    """What holds for all cases of a session. `backends` replace the default of those that name none;
    `repeat` and `timeout_s` stand where the header has no own."""

    backends: tuple[str, ...] = ()
    device: str = "auto"
    timeout_s: float = 60.0
    engine: str = "jit"
    repeat: int = 1


class KeptCompiler(Compiler):
    """A compiler for many cases: the end of one does not end its worker process; `close` does."""

    def __exit__(self, *_: object) -> None:
        return None


def backends_of(case: Case, settings: CaseSettings) -> tuple[str, ...]:
    """The backends on which the case is a test."""
    return settings.backends or case.backends or (DEFAULT_BACKEND,)


def run_case(case: Case, backend: str, settings: CaseSettings, compiler: Compiler) -> CaseResult:
    """Runs the case; every way in which that ends is a result."""
    start = time.perf_counter()
    reason = _why_not(case, backend)
    if reason is not None:
        return CaseResult(case, backend, CaseOutcome.SKIPPED, 0.0, (reason,))
    options = case_options(case, backend, settings)
    again = repeat_line("build-run", options, options.seed) if case.runs else f"aiepipe inspect {case.file}"
    report, detail, stage = None, "", ""
    try:
        if case.runs:
            report = build_run(options, compiler=compiler, look=bool(case.fills or case.fates))
        else:
            report = inspect(InspectOptions(case.file, iree_flags=case.flags), compiler=compiler)
    except AiepipeError as error:
        stage = _stage(error)
        problems, detail = _after_error(case, error, stage), _text(error)
    except Exception as fault:  # noqa: BLE001  (a fault of ours is this case's result, not the session's end)
        text = f"aiepipe failed by a fault of its own: {type(fault).__name__}: {fault}"
        seconds = time.perf_counter() - start
        return CaseResult(
            case, backend, CaseOutcome.BROKEN, seconds, (text,), traceback.format_exc(), again=again
        )
    else:
        problems = _after_run(case, report)
        again = report.repeat_with or again
    return CaseResult(
        case,
        backend,
        _outcome(case, problems),
        time.perf_counter() - start,
        tuple(problems),
        detail,
        stage,
        report,
        again,
    )


def case_options(case: Case, backend: str, settings: CaseSettings) -> BuildRunOptions:
    """The case as a call of build-run."""
    return BuildRunOptions(
        file=case.file,
        function=case.function,
        inputs=case.inputs,
        expected=case.outputs,
        backend=backend,
        seed=None if case.inputs else case.seed,
        tolerance=case.tolerance,
        iree_flags=case.flags,
        settings=RunSettings(
            settings.device,
            settings.timeout_s if case.timeout_s is None else case.timeout_s,
            case.policy,
            settings.repeat if case.repeat is None else case.repeat,
            case.coherency_seed,
            settings.engine,
        ),
    )


def _why_not(case: Case, backend: str) -> str | None:
    if case.target is not None and case.target not in AVAILABLE_TARGETS:
        return f"for target {case.target}; this version has {', '.join(AVAILABLE_TARGETS)}"
    if case.backends and backend not in case.backends:
        return f"for backend {', '.join(case.backends)} only"
    return None


def _outcome(case: Case, problems: Sequence[str]) -> CaseOutcome:
    if case.xfail is None:
        return CaseOutcome.FAILED if problems else CaseOutcome.PASSED
    return CaseOutcome.XFAILED if problems else CaseOutcome.XPASSED


# --------------------------------------------------------------------------- what is not as stated


def _after_error(case: Case, error: AiepipeError, stage: str) -> list[str]:
    where = error.where()
    said = f"{error.message}{'' if where is None else f' ({where})'}"
    of = f" in stage {stage}" if stage else ""
    if not case.errors:
        return [f"it ends with an error{of}: {said}"]
    problems: list[str] = []
    text = _text(error)
    for expected in case.errors:
        if expected.text not in text:
            problems.append(f"the error should say {expected.text!r}, but says: {said}")
        if expected.stage is not None and expected.stage != stage:
            problems.append(f"the error should come from stage {expected.stage}, but comes from {stage}")
    return problems


def _after_run(case: Case, report: BuildRunReport) -> list[str]:
    if case.errors:
        return [f"it should end with an error ({case.errors[0]}), but it runs to its end"]
    problems: list[str] = []
    if report.agreement is Agreement.FAIL:
        problems.append("the numbers are wrong")
    problems += _fill_problems(case, report)
    if case.hazards is not None:
        found = sorted({f.hazard for f in report.findings if f.severity is Severity.ERROR})
        if found != list(case.hazards):
            problems.append(
                f"sync hazards should be {', '.join(case.hazards) or 'none'}, "
                f"but are {', '.join(found) or 'none'}"
            )
    return problems


def _fill_problems(case: Case, report: BuildRunReport) -> list[str]:
    inspection = report.inspection
    if inspection is None:
        return []
    problems: list[str] = []
    if case.fills is not None and not _are_as_expected(inspection.fills, case.fills):
        forms = ", ".join(fill.form for fill in inspection.fills)
        problems.append(f"fills should be {case.fills}, but the HAL IR has {forms or 'none'}")
    if case.fates:
        fates = [fate for fate in inspection.fates if fate.function in (case.function, report.function)]
        if len(fates) != len(case.fates):
            problems.append(f"{len(case.fates)} fates are stated, but the source has {len(fates)} fills")
        problems += [
            f"the fill at {fate.location} should be {text!r}, but: {fate.fate}"
            for text, fate in zip(case.fates, fates, strict=False)
            if text not in fate.fate
        ]
    return problems


def _are_as_expected(fills: Sequence[BufferOperation], expected: ExpectedFills) -> bool:
    if len(fills) != expected.count:
        return False
    return all(sum(_is_kind(fill.form, kind) for fill in fills) == number for kind, number in expected.kinds)


def _is_kind(form: str, kind: str) -> bool:
    if kind == "builtin":
        return form.startswith("__builtin")
    return form == kind or form.endswith(f".{kind}")


def _stage(error: AiepipeError) -> str:
    name = error.stage or ""
    return _STAGES.get(name, name)


def _text(error: AiepipeError) -> str:
    """All that an error says, in the order in which the command line says it."""
    diagnostics = getattr(error, "diagnostics", "")
    parts = (error.where(), error.message, diagnostics, error.remedy)
    return "\n".join(str(part) for part in parts if part)
