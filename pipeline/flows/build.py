"""`aiepipe build`: an MLIR file to a program directory; and the steps of it that build-run shares."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..backends import registry
from ..backends.llvm_cpu import compile_for_host
from ..backends.protocol import AnyBackend, CompileOptions, DesignBackend, Linker, ModuleBackend
from ..errors import CompileError, UnsupportedOp, UsageError
from ..frontend.compiler import Compiler
from ..program import Artifact, CpuKernel, Dispatch, DispatchCommand, HostFunction, Program
from ..verdict import BuildRunReport, DispatchReport
from .backend_options import backend_request
from .problem import pose, refusal
from .program_directory import BuiltProgram, write_program
from .source import SourceText, read_source
from .stages import Progress, StageClock, StageNotes, silent
from .versions import tool_versions

FALLBACKS = ("cpu",)
EMITTED = {"asm": ".s", "aie": ".aie.mlir"}
"""What --emit gives, by the ending of the file of each kernel."""


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
    fallback: str | None = None
    emit: str | None = None


def build(options: BuildOptions, progress: Progress = silent) -> BuildRunReport:
    """Compiles the file and writes the program directory.

    Raises UsageError, CompileError.
    """
    check_fallback(options.fallback)
    if options.emit is not None and options.emit not in EMITTED:
        raise UsageError(f"--emit {options.emit} is not known", remedy=f"one of: {', '.join(EMITTED)}")
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
        built = compile_dispatches(
            program, functions, backend, notes, options.fallback, aie=options.emit == "aie"
        )
        notes.files += write_program(Path(options.output_directory), built)
    return BuildRunReport(
        command="build",
        file=source.file,
        function=options.function,
        stages=clock.reports,
        dispatches=dispatch_reports(built),
        warnings=(
            *(f"{f.name} was left out: {f.message}" for f in program.refused),
            *fallback_warnings(built),
        ),
        output_directory=options.output_directory,
        versions=tool_versions(),
    )


def _build_design(
    backend: DesignBackend, source: SourceText, options: BuildOptions, clock: StageClock
) -> BuildRunReport:
    """A design of the `aie` dialect: IREE does not read it."""
    from .design import build_design  # noqa: PLC0415  (what explains streams is a tenth of all imports)

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


def emit_text(
    options: BuildOptions, progress: Progress = silent, *, keep: bool = False
) -> tuple[str, tuple[str, ...]]:
    """The text that `options.emit` names of all dispatches, one after the other, and the build's warnings.
    Files stay in the output folder only with `keep`.

    Raises as `build`, UsageError where the backend leaves no such text.
    """
    if not keep:
        with tempfile.TemporaryDirectory(prefix="aiepipe-emit-") as scratch:
            return emit_text(replace(options, output_directory=scratch), progress, keep=True)
    report = build(options, progress)
    ending = EMITTED[options.emit or "asm"]
    files = [file.path for stage in report.stages for file in stage.files if file.path.endswith(ending)]
    on_npu = [d for d in report.dispatches if d.fallback is None]
    if on_npu and not files:
        raise UsageError(
            f"backend {options.backend} leaves no {ending} file", remedy="use the built-in backend"
        )
    return "".join(Path(name).read_text(encoding="utf-8") for name in files), report.warnings


def compile_dispatches(
    program: Program,
    functions: Sequence[HostFunction],
    backend: AnyBackend,
    notes: StageNotes,
    fallback: str | None = None,
    *,
    aie: bool = False,
) -> BuiltProgram:
    """Artifacts for all that `functions` and the start-up dispatch, each compiled once. With a `fallback`,
    what the backend cannot lower is compiled for the host's CPU."""
    commands = [*program.startup, *(c for f in functions for c in f.commands)]
    wanted = dict.fromkeys(c.dispatch for c in commands if isinstance(c, DispatchCommand))
    dispatches = {d.name: d for d in program.dispatches}
    epoch = source_date_epoch()
    cpu_kernels: dict[str, CpuKernel] = {}
    artifacts = _artifacts(
        program,
        [dispatches[name] for name in wanted],
        backend,
        epoch,
        None if fallback is None else cpu_kernels,
        aie=aie,
    )
    for name, artifact in artifacts.items():
        notes.details.append(f"{name}: kernel {artifact.kernel} by {artifact.backend}")
        notes.details += artifact.notes
    for name, kernel in cpu_kernels.items():
        notes.details.append(f"{name}: on the CPU by IREE's llvm-cpu, since {kernel.reason}")
    count = len(artifacts) + len(cpu_kernels)
    notes.note = (
        f"{count} dispatch{'' if count == 1 else 'es'}"
        if count
        else "nothing to compile: the host does it all"
    )
    if cpu_kernels:
        notes.note += f", {len(cpu_kernels)} of them for the CPU"
    return BuiltProgram(program, artifacts, cpu_kernels)


def _artifacts(
    program: Program,
    dispatches: Sequence[Dispatch],
    backend: AnyBackend,
    epoch: int,
    cpu_kernels: dict[str, CpuKernel] | None,
    *,
    aie: bool,
) -> dict[str, Artifact]:
    """What the backend makes of each; what it cannot lower goes to `cpu_kernels`, where that is there."""
    if isinstance(backend, DesignBackend):
        raise UsageError(
            f"backend {backend.name} compiles the aie dialect, not dispatches of linalg",
            remedy="give it a file with an aie.device, or choose another backend",
        )
    if isinstance(backend, ModuleBackend):
        options = CompileOptions(source_date_epoch=epoch)
        return dict(backend.compile_module(program, dispatches, options=options)) if dispatches else {}
    artifacts: dict[str, Artifact] = {}
    for ordinal, dispatch in enumerate(dispatches):
        options = CompileOptions(source_date_epoch=epoch, ordinal=ordinal, aie=aie)
        try:
            artifacts[dispatch.name] = backend.compile(dispatch, options=options)
        except UnsupportedOp as refused:
            if cpu_kernels is None:
                other = "or let IREE do this dispatch on the CPU: --fallback cpu"
                refused.remedy = f"{refused.remedy}; {other}" if refused.remedy else other
                raise
            cpu_kernels[dispatch.name] = compile_for_host(dispatch, refused.message)
    if isinstance(backend, Linker):
        return {artifact.dispatch: artifact for artifact in backend.link(tuple(artifacts.values()))}
    return artifacts


def check_fallback(name: str | None) -> None:
    """Raises UsageError for a fallback that does not exist."""
    if name is not None and name not in FALLBACKS:
        raise UsageError(f"no fallback is called {name!r}", remedy=f"one of: {', '.join(FALLBACKS)}")


def fallback_warnings(built: BuiltProgram) -> tuple[str, ...]:
    """What is not done by the NPU, and why, a line each."""
    return tuple(
        f"{name} runs on the CPU (IREE's llvm-cpu), not on the NPU: {kernel.reason}"
        for name, kernel in built.cpu_kernels.items()
    )


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
            xclbin_bytes=len(a.xclbin),
            instructions_bytes=len(a.instructions),
        )
        for a in built.artifacts.values()
    ) + tuple(
        DispatchReport(k.dispatch, k.function, "llvm-cpu", digest, digest, fallback=k.reason)
        for k in built.cpu_kernels.values()
        for digest in [hashlib.sha256(k.module).hexdigest()]
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
