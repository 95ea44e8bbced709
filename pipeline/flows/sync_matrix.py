"""`aiepipe sync-matrix`: one program under every combination of syncs, and how often each is wrong.

The experiment of iree-amd-aie PR #224 for any program: what the host does to the outputs before a run,
their syncs on and off, on each kind of host cache. Compiled once; every run is executed.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..backends import registry
from ..backends.protocol import DesignBackend
from ..errors import ArtifactError, DeviceError, RunFailed, UsageError
from ..experiment import HARDWARE, INPUTS, OUTPUTS, POLICIES, MatrixCell, SyncMatrix
from ..frontend.compiler import Compiler
from ..program import DispatchCommand, HostFunction, Program
from ..verdict import DeviceReport, SyncFinding
from ..verify.comparison import compare
from ..verify.reference import reference
from ..verify.statistics import wilson
from ..xrt.api import DeviceModule
from ..xrt.child import HostedDevice
from ..xrt.child_device import ChildDevice
from ..xrt.discovery import open_device_module
from ..xrt.emulated_silicon import EmulatedSilicon
from ..xrt.emulation import Settings, current
from ..xrt.memory import SEED_EVICTION, CacheModel, Coherency
from ..xrt.odds import wrong_rate
from ..xrt.policy import DEFAULT, SyncPolicy, Which
from ..xrt.policy import POLICIES as NAMED
from ..xrt.results import POISON, Repeat
from ..xrt.runner import run_program
from ..xrt.sanitizer import Sanitizer
from .backend_options import backend_request
from .build import compile_dispatches, host_function
from .device import DEVICES
from .judgement import Expectation, numpy_expectations
from .matrix_conclusion import conclusion
from .problem import Arguments, pose
from .program_directory import BuiltProgram
from .repetition import repeat_line
from .source import read_source
from .stages import Progress, StageNotes, silent
from .versions import tool_versions

Array = npt.NDArray[Any]

BUDGET_SECONDS = 14.0
"""What the runs of the whole matrix may take where nobody says how many: compiling comes on top."""
LEAST_RUNS, MOST_RUNS = 4, 200
_TIMED_RUNS = 3
# the first repeat writes everything anew, the second restores, the third is as all that follow
_WATCHED_REPEATS = 3


@dataclass(frozen=True, slots=True)
class SyncMatrixOptions:
    """What the user asked. Without `runs`, as many as fit into BUDGET_SECONDS."""

    file: str
    function: str | None = None
    inputs: tuple[str, ...] = ()
    runs: int | None = None
    coherency_seed: int = 0
    seed: int | None = None
    device: str = "auto"
    evict: float = SEED_EVICTION
    backend: str = "builtin"
    backend_options: tuple[str, ...] = ()
    iree_flags: tuple[str, ...] = ()
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class _Plan:
    """A cell before it has run. `poison` is what the host writes over outputs; None: nothing."""

    group: str
    output: str
    poison: bytes | None
    policy: SyncPolicy
    name: str | None


@dataclass(frozen=True, slots=True)
class _Subject:
    """The program, what it is called with, and what should come out."""

    built: BuiltProgram
    function: HostFunction
    arguments: Arguments
    expected: tuple[Expectation, ...]

    @property
    def launches(self) -> int:
        """How many kernels one repeat starts."""
        return sum(isinstance(command, DispatchCommand) for command in self.function.commands)


def sync_matrix(options: SyncMatrixOptions, progress: Progress = silent) -> SyncMatrix:
    """Compiles the file once and runs every cell.

    Raises UsageError, CompileError, DeviceError. Wrong numbers are what it looks for.
    """
    _check(options)
    subject, source_file = _subject(options, progress)
    began = time.perf_counter()
    places = _places(options)
    plans = tuple(_plans())
    runs = options.runs or _affordable(subject, options, places[0], len(plans) * len(places))
    cells: list[MatrixCell] = []
    device: DeviceReport | None = None
    for place in places:
        for plan in plans:
            progress(f"cell {len(cells) + 1} of {len(plans) * len(places)}, {runs} runs each")
            seed = cell_seed(options.coherency_seed, len(cells))
            cell, device = _run_cell(subject, options, place, plan, runs=runs, seed=seed)
            cells.append(cell)
    assert device is not None
    seconds = time.perf_counter() - began
    good = all(not c.wrong_runs for c in cells if c.policy == DEFAULT.name)
    again = dataclasses.replace(options, runs=runs)
    return SyncMatrix(
        source_file,
        subject.function.name,
        device,
        runs,
        seconds,
        None if places[0] is None else options.evict,
        tuple(cells),
        good,
        conclusion(cells, default_is_right=good),
        subject.arguments.reports,
        repeat_line("sync-matrix", again, subject.arguments.seed),
        {"coherency": options.coherency_seed}
        | ({} if subject.arguments.seed is None else {"inputs": subject.arguments.seed}),
        tool_versions(),
    )


def cell_seed(seed: int, number: int) -> int:
    """The seed of one cell's draws: cells do not repeat each other's."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def _check(options: SyncMatrixOptions) -> None:
    if options.device not in DEVICES:
        raise UsageError(f"no device is called {options.device!r}", remedy=f"one of: {', '.join(DEVICES)}")
    if options.coherency_seed < 0:
        raise UsageError("--coherency-seed is negative", remedy="0 or more")


def _subject(options: SyncMatrixOptions, progress: Progress) -> tuple[_Subject, str]:
    backend = registry.load(options.backend, backend_request(options.backend, options.backend_options, ()))
    if isinstance(backend, DesignBackend):
        raise UsageError(
            f"sync-matrix compiles linalg, and backend {options.backend} takes designs of the aie dialect"
        )
    source = read_source(options.file)
    progress("compiling with IREE")
    with Compiler() as compiler:
        problem = pose(compiler, source, function=options.function, inputs=options.inputs)
        name = problem.function.name
        program: Program = compiler.compile(
            source.file,
            source.text,
            flags=options.iree_flags,
            scalars={name: problem.scalars},
            functions=[name],
        )
    function = host_function(program, name)
    arguments = problem.arguments(options.inputs, options.seed)
    progress(f"compiling dispatches with {options.backend}")
    built = compile_dispatches(program, [function], backend, StageNotes())
    evaluated = reference(problem.function, arguments.arrays)
    expected = numpy_expectations(function, evaluated, arguments.arrays)
    return _Subject(built, function, arguments, expected), source.file


# --------------------------------------------------------------------------- the cells


def _plans() -> Iterator[_Plan]:
    """The cells of one coherency policy, the default first. A named policy that is such a cell names it."""
    known: dict[tuple[bytes | None, SyncPolicy], str] = {
        (POISON, _anonymous(policy)): policy.name for policy in NAMED.values()
    }
    used: set[str] = set()
    grid = [
        (OUTPUTS, output, poison, SyncPolicy("", "", outputs_to=to, outputs_from=back))
        for output, poison in (("poisoned", POISON), ("zeroed", b"\0"), ("untouched", None))
        for to in (Which.ALL, Which.NONE)
        for back in (Which.ALL, Which.NONE)
    ]
    grid.append((INPUTS, "poisoned", POISON, SyncPolicy("", "", inputs=False, inouts=False)))
    for group, output, poison, policy in grid:
        name = known.get((poison, policy))
        used |= {name} if name else set()
        yield _Plan(group, output, poison, policy, name)
    for name, policy in NAMED.items():
        if name not in used:
            yield _Plan(POLICIES, "poisoned", POISON, policy, name)


def _anonymous(policy: SyncPolicy) -> SyncPolicy:
    """What the policy does, without its name."""
    return dataclasses.replace(policy, name="", description="", seen_in="")


def _places(options: SyncMatrixOptions) -> tuple[CacheModel | None, ...]:
    """The host caches to try: all that the model knows, or the one that is there (None)."""
    if options.device != "emulated":
        module, report = open_device_module(options.device)
        del module
        if report.kind == HARDWARE:
            return (None,)
    return tuple(CacheModel(coherency, options.evict) for coherency in Coherency)


def _affordable(subject: _Subject, options: SyncMatrixOptions, place: CacheModel | None, cells: int) -> int:
    """How many runs each of `cells` cells can have."""
    plan = next(_plans())
    _run_cell(subject, options, place, plan, runs=1, seed=0)  # compiles what the emulator compiles
    began = time.perf_counter()
    _run_cell(subject, options, place, plan, runs=_TIMED_RUNS, seed=0)
    each = (time.perf_counter() - began) / _TIMED_RUNS
    return max(LEAST_RUNS, min(MOST_RUNS, int(BUDGET_SECONDS / (cells * each))))


def _run_cell(
    subject: _Subject,
    options: SyncMatrixOptions,
    place: CacheModel | None,
    plan: _Plan,
    *,
    runs: int,
    seed: int,
) -> tuple[MatrixCell, DeviceReport]:
    """All runs of one cell, on a device of its own. A run that fails is a wrong one, and the last."""
    module, report, sanitizer = _open(place, seed)
    outcomes: list[bool] = []

    def listen(repeat: Repeat) -> None:
        outcomes.append(not _right(subject.expected, repeat.outputs))
        if repeat.index == _WATCHED_REPEATS and sanitizer is not None:
            current().events.observers.remove(sanitizer.observe)

    failure = None
    try:
        run_program(
            subject.built.program,
            subject.function,
            subject.built.artifacts,
            subject.arguments.arrays,
            device=module,
            policy=plan.policy,
            repeat=runs,
            seed=seed,
            timeout_s=options.timeout_s,
            poison=plan.poison,
            keep=1,
            on_repeat=listen,
        )
    except (RunFailed, ArtifactError, DeviceError) as error:
        if plan.name == DEFAULT.name:
            raise
        failure = str(error)
        outcomes.append(True)
    wrong = sum(outcomes)
    low, high = wilson(wrong, len(outcomes))
    findings = _findings(module, sanitizer)
    cell = MatrixCell(
        plan.group,
        HARDWARE if place is None else place.coherency.value,
        plan.output,
        plan.policy.outputs_to is Which.ALL,
        plan.policy.outputs_from is Which.ALL,
        plan.policy.inputs,
        plan.name,
        seed,
        len(outcomes),
        wrong,
        low,
        high,
        outcomes.index(True) + 1 if wrong else None,
        failure,
        None
        if place is None
        else wrong_rate(
            place,
            findings,
            runs=len(outcomes),
            first_launches=subject.launches,
            outputs_written=plan.poison is not None,
        ),
        findings,
    )
    return cell, report


def _open(
    place: CacheModel | None, seed: int
) -> tuple[DeviceModule | ChildDevice, DeviceReport, Sanitizer | None]:
    """A device that nothing has run on; the emulated one under the sanitizer."""
    if place is None:
        _, report = open_device_module(HARDWARE)
        return ChildDevice(HostedDevice(hardware=True, sanitize=True)), report, None
    settings = Settings(seed=seed, cache=place, silicon=EmulatedSilicon("jit"))
    module, report = open_device_module("emulated", settings=settings)
    return module, dataclasses.replace(report, detail=""), Sanitizer.attach(current())


def _findings(module: DeviceModule | ChildDevice, sanitizer: Sanitizer | None) -> tuple[SyncFinding, ...]:
    if isinstance(module, ChildDevice):
        return module.findings
    return () if sanitizer is None else sanitizer.finish()


def _right(expected: Sequence[Expectation], outputs: Sequence[Array]) -> bool:
    """Whether all results are as expected; equal bytes need no closer look."""
    for expectation, got in zip(expected, outputs, strict=True):
        if got.tobytes() == expectation.want.tobytes() and got.dtype == expectation.want.dtype:
            continue
        found = compare(
            expectation.name,
            got,
            expectation.want,
            expectation.type,
            tolerance=expectation.tolerance,
            bound=expectation.bound,
            against=expectation.against,
        )
        if found.mismatch is not None:
            return False
    return True
