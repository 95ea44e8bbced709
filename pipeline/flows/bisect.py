"""`aiepipe bisect`: which compiler release, flag or backend changed the verdict on a file."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..backends import registry
from ..errors import CompileError, UsageError
from ..frontend.compiler import Compiler
from ..verdict import BisectReport, Transition, Trial
from ..verify.reference import reference
from ..verify.tolerance import derived
from .bisect_compilers import QUESTIONS, Call, dump_passes, try_release
from .bisect_flags import FLAGS, over_flags
from .bisect_options import BisectOptions
from .bisect_passes import with_passes
from .bisect_trial import try_build_run
from .bisection import Line
from .compiler_wheels import (
    DISK_MEGABYTES,
    DOWNLOAD_MEGABYTES,
    Releases,
    Tools,
    is_release,
    version_key,
)
from .judgement import Expectation
from .other_compiler import Confirm
from .problem import pose
from .source import SourceText, read_source
from .stages import Progress, silent

COMPILERS, BACKENDS = "compilers", "backends"


def bisect(
    options: BisectOptions, releases: Releases, confirm: Confirm, progress: Progress = silent
) -> BisectReport:
    """Finds what changed the verdict.

    `confirm` is asked before anything is downloaded, unless `yes` says so. Raises UsageError.
    """
    if options.question not in QUESTIONS:
        raise UsageError(
            f"no question is called {options.question!r}", remedy=f"one of: {', '.join(QUESTIONS)}"
        )
    over = options.over or kind_of(options.good, options.bad)
    source = read_source(options.file)
    if over == COMPILERS:
        return _over_compilers(options, source, releases, confirm, progress)
    if options.question != "verdict":
        raise UsageError(f"--ask {options.question} is a question to compiler releases")
    if over == FLAGS:
        return over_flags(options, source, progress)
    if over == BACKENDS:
        return _over_backends(options, progress)
    raise UsageError(f"cannot bisect over {over!r}", remedy=f"one of: {COMPILERS}, {FLAGS}, {BACKENDS}")


def kind_of(good: str, bad: str) -> str:
    """What two names are. Raises UsageError where they are not of one kind."""
    if is_release(good) and is_release(bad):
        return COMPILERS
    if all(not text or text.lstrip().startswith("-") for text in (good, bad)) and good != bad:
        return FLAGS
    if {good, bad} <= set(registry.names()):
        return BACKENDS
    raise UsageError(
        f"{good!r} and {bad!r} are neither two versions, two sets of flags nor two backends",
        remedy='for example --good 3.6.0 --bad 3.7.0, --good "" --bad=--iree-opt-level=O3, '
        "--good builtin --bad iree-amd-aie",
    )


# --------------------------------------------------------------------------- compilers


def _over_compilers(
    options: BisectOptions, source: SourceText, releases: Releases, confirm: Confirm, progress: Progress
) -> BisectReport:
    low, high = sorted((options.good, options.bad), key=version_key)
    points = [v for v in releases.versions() if version_key(low) <= version_key(v) <= version_key(high)]
    if not points or points[0] != low or points[-1] != high:
        missing = [v for v in (low, high) if v not in points]
        raise UsageError(f"there is no release {' and no release '.join(missing)}")
    if options.good != low:
        points.reverse()
    _ask(points, options, releases, confirm)
    call, note = _call(options, source) if options.question == "verdict" else (None, "")
    found: dict[str, Tools] = {}

    def judge(version: str) -> Trial:
        progress(f"trying {version}")
        found[version] = releases.tools(version)
        return try_release(version, found[version], source, options.iree_flags, options.question, call)

    line = Line(points, judge)
    changes = line.transitions()
    transitions = tuple(
        _release_change(options, source, line.trial(i), line.trial(i + 1), found, progress) for i in changes
    )
    return _report(options, source, COMPILERS, line, len(points), transitions, (note,) if note else ())


def _ask(points: Sequence[str], options: BisectOptions, releases: Releases, confirm: Confirm) -> None:
    """Says what will be downloaded, and whether it may be."""
    missing = [version for version in points if not releases.is_ready(version)]
    most = min(len(missing), math.ceil(math.log2(max(len(points), 2))) + 2)
    if not missing or options.yes:
        return
    question = (
        f"up to {most} releases of iree-base-compiler are fetched from PyPI: some {DOWNLOAD_MEGABYTES} MB to "
        f"download and {DISK_MEGABYTES} MB on disk each, kept for the next time. Go on?"
    )
    if not confirm(question):
        raise UsageError("nothing was fetched", remedy="say yes, or give --yes")


def _call(options: BisectOptions, source: SourceText) -> tuple[Call | None, str]:
    """What to run and to expect, by numpy; None with the reason where the file cannot be read here."""
    try:
        with Compiler() as compiler:
            problem = pose(compiler, source, function=options.function, inputs=options.inputs)
        arguments = problem.arguments(options.inputs, options.seed)
        evaluated = reference(problem.function, arguments.arrays)
    except CompileError as error:
        return None, f"only compiled, not run: the compiler that is installed here says: {error.message}"
    function = problem.function
    expected = tuple(
        Expectation(f"result {i}", value.type, want, derived(value.type, bound), "numpy", bound)
        for i, (value, want, bound) in enumerate(
            zip(function.returns, evaluated.results, evaluated.bounds, strict=True)
        )
    )
    types = tuple(value.type for value in function.arguments)
    return Call(function.name, types, arguments.arrays, function.scalars, expected), ""


def _release_change(
    options: BisectOptions,
    source: SourceText,
    before: Trial,
    after: Trial,
    found: dict[str, Tools],
    progress: Progress,
) -> Transition:
    cause = f"iree-base-compiler {after.name}"
    progress(f"comparing the passes of {before.name} and {after.name}")
    dumps = [dump_passes(found[trial.name], source, options.iree_flags) for trial in (before, after)]
    return with_passes(Transition(before, after, cause), dumps, options.keep)


# --------------------------------------------------------------------------- backends


def _over_backends(options: BisectOptions, progress: Progress) -> BisectReport:
    def judge(name: str) -> Trial:
        progress(f"trying {name}")
        return try_build_run(name, options, iree_flags=options.iree_flags, backend=name)

    line = Line((options.good, options.bad), judge)
    transitions = tuple(
        Transition(line.trial(i), line.trial(i + 1), f"backend {line.trial(i + 1).name}")
        for i in line.transitions()
    )
    return _report(options, SourceText(options.file, ""), BACKENDS, line, 2, transitions, ())


def _report(
    options: BisectOptions,
    source: SourceText,
    over: str,
    line: Line[str],
    points: int,
    transitions: tuple[Transition, ...],
    notes: tuple[str, ...],
) -> BisectReport:
    return BisectReport(
        file=source.file,
        over=over,
        good=options.good,
        bad=options.bad,
        points=points,
        trials=tuple(line.trials[i] for i in sorted(line.trials)),
        transitions=transitions,
        question=options.question,
        notes=notes,
    )
