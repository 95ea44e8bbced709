"""`aiepipe build`: an MLIR file to a program directory; and the steps of it that build-run shares."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..backends import registry
from ..backends.protocol import AnyBackend, CompileOptions, DesignBackend, ModuleBackend
from ..errors import CompileError, UsageError
from ..frontend.compiler import Compiler
from ..program import Artifact, Dispatch, DispatchCommand, HostFunction, Program
from ..verdict import BuildRunReport, DispatchReport
from .backend_options import backend_request
from .design import build_design
from .problem import pose, refusal
from .program_directory import BuiltProgram, write_program
from .source import SourceText, read_source
from .stages import Progress, StageClock, StageNotes, silent
from .versions import tool_versions


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What the user asked of `aiepipe build`.

    Without `function`, every public one is compiled. `inputs` are needed only where the function takes
    scalars, since those become part of the program.
    """

    file: str
    output_directory: str
    function: str | None = None
    inputs: tuple[str, ...] = ()
    backend: str = "builtin"
    backend_options: tuple[str, ...] = ()
    backend_flags: tuple[str, ...] = ()
    iree_flags: tuple[str, ...] = ()


def build(options: BuildOptions, progress: Progress = silent) -> BuildRunReport:
    """Compiles the file and writes the program directory.

    Raises UsageError, CompileError.
    """
    clock = StageClock(progress)
    backend = registry.load(
        options.backend, backend_request(options.backend, options.backend_options, options.backend_flags)
    )
    source = read_source(options.file)
    if isinstance(backend, DesignBackend):
        return _build_design(backend, source, options, clock)
    with Compiler() as compiler, clock.stage("front end", "compiling with IREE") as notes:
        scalars: dict[str, Mapping[int, bytes]] = {}
        if options.inputs:
            problem = pose(compiler, source, function=options.function, inputs=options.inputs)
            scalars[problem.function.name] = problem.scalars
        program = compiler.compile(source.file, source.text, flags=options.iree_flags, scalars=scalars)
        describe_front_end(notes, source, program, options.iree_flags)
    functions = _functions(program, options.function)
    with clock.stage("backend", f"compiling dispatches with {options.backend}") as notes:
        built = compile_dispatches(program, functions, backend, notes)
        notes.files += write_program(Path(options.output_directory), built)
    return BuildRunReport(
        command="build",
        file=source.file,
        function=options.function,
        stages=clock.reports,
        dispatches=dispatch_reports(built),
        warnings=tuple(f"{f.name} was left out: {f.message}" for f in program.refused),
        output_directory=options.output_directory,
        versions=tool_versions(),
    )


def _build_design(
    backend: DesignBackend, source: SourceText, options: BuildOptions, clock: StageClock
) -> BuildRunReport:
    """A design of the `aie` dialect: IREE does not read it."""
    with clock.stage("backend", f"compiling the design with {backend.name}") as notes:
        built = build_design(backend, source, source_date_epoch(), notes)
        notes.files += write_program(Path(options.output_directory), built)
    return BuildRunReport(
        command="build",
        file=source.file,
        stages=clock.reports,
        dispatches=dispatch_reports(built),
        output_directory=options.output_directory,
        versions=tool_versions(),
    )


def compile_dispatches(
    program: Program, functions: Sequence[HostFunction], backend: AnyBackend, notes: StageNotes
) -> BuiltProgram:
    """Artifacts for all that `functions` and the start-up dispatch, each compiled once."""
    commands = [*program.startup, *(c for f in functions for c in f.commands)]
    wanted = dict.fromkeys(c.dispatch for c in commands if isinstance(c, DispatchCommand))
    dispatches = {d.name: d for d in program.dispatches}
    epoch = source_date_epoch()
    artifacts = _artifacts(program, [dispatches[name] for name in wanted], backend, epoch)
    for name, artifact in artifacts.items():
        notes.details.append(f"{name}: kernel {artifact.kernel} by {artifact.backend}")
        notes.details += artifact.notes
    count = len(artifacts)
    notes.note = (
        f"{count} dispatch{'' if count == 1 else 'es'}"
        if count
        else "nothing to compile: the host does it all"
    )
    return BuiltProgram(program, artifacts)


def _artifacts(
    program: Program, dispatches: Sequence[Dispatch], backend: AnyBackend, epoch: int
) -> dict[str, Artifact]:
    if isinstance(backend, DesignBackend):
        raise UsageError(
            f"backend {backend.name} compiles the aie dialect, not dispatches of linalg",
            remedy="give it a file with an aie.device, or choose another backend",
        )
    if isinstance(backend, ModuleBackend):
        options = CompileOptions(source_date_epoch=epoch)
        return dict(backend.compile_module(program, dispatches, options=options)) if dispatches else {}
    return {
        dispatch.name: backend.compile(
            dispatch, options=CompileOptions(source_date_epoch=epoch, ordinal=ordinal)
        )
        for ordinal, dispatch in enumerate(dispatches)
    }


def dispatch_reports(built: BuiltProgram) -> tuple[DispatchReport, ...]:
    """What runs, with the hashes of its bytes."""
    return tuple(
        DispatchReport(
            a.dispatch,
            a.kernel,
            a.backend,
            hashlib.sha256(a.xclbin).hexdigest(),
            hashlib.sha256(a.instructions).hexdigest(),
            a.notes,
        )
        for a in built.artifacts.values()
    )


def describe_front_end(notes: StageNotes, source: SourceText, program: Program, flags: Sequence[str]) -> None:
    """The stage's note, and for -v the command that gives the same IR."""
    notes.note = program.compiler
    shown = " ".join([*program.flags, *(f for f in flags if f not in program.flags)])
    notes.details.append(f"iree-compile {source.file} --compile-to=executable-sources {shown}".rstrip())


def host_function(program: Program, name: str) -> HostFunction:
    """The compiled function `name`. Raises CompileError where the front end refused it."""
    for function in program.functions:
        if function.name == name:
            return function
    for refused in program.refused:
        if refused.name == name:
            raise refusal(refused)
    names = ", ".join(f.name for f in program.functions)
    raise UsageError(f"there is no public function {name!r}", remedy=f"there is: {names}")


def source_date_epoch() -> int:
    """The time that artifacts bear: SOURCE_DATE_EPOCH, else 0. Raises UsageError for no number."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"SOURCE_DATE_EPOCH is {text!r}, not a number of seconds")
    return int(text)


def _functions(program: Program, name: str | None) -> Sequence[HostFunction]:
    if name is not None:
        return [host_function(program, name.removeprefix("@"))]
    if not program.functions:
        if program.refused:
            raise refusal(program.refused[0])
        raise CompileError("there is no public function with a body", location=program.source.file)
    return program.functions
