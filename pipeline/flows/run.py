"""`aiepipe run`: a program directory, or anybody's xclbin with its instruction stream, once more."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArtifactError, DeviceError, UsageError
from ..program import HostFunction
from ..verdict import BuildRunReport, FileRecord, InputReport
from ..verify.values import ArgumentSpec, parse_argument, resolve
from ..xrt.policy import SyncPolicy
from ..xrt.results import Repeat, RunResult
from ..xrt.runner import BufferDirection, KernelBuffer, kernel_as_program, run_kernel, run_program
from .build import dispatch_reports, fallback_warnings
from .device import OpenedDevice, RunSettings, open_device
from .judgement import Expectation, Judge, given_expectations
from .problem import DEFAULT_FUNCTION, make_arguments
from .program_directory import BuiltProgram, read_program, write_file
from .repetition import repeat_line
from .source import read_input_file
from .stages import Progress, StageClock, StageNotes, silent
from .versions import tool_versions

Array = npt.NDArray[Any]

LARGEST_ARTIFACT_BYTES = 256 << 20
# the first repeat writes everything anew, the second restores, the third is as all that follow
WATCHED_REPEATS = 3


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked of `aiepipe run`: either a folder with inputs, or artifacts with arguments."""

    folder: str | None = None
    xclbin: str | None = None
    insts: str | None = None
    arguments: tuple[str, ...] = ()
    kernel: str | None = None
    function: str | None = None
    inputs: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    seed: int | None = None
    settings: RunSettings = field(default_factory=RunSettings)


def run(options: RunOptions, progress: Progress = silent) -> BuildRunReport:
    """Runs what the options name.

    Raises UsageError, ArtifactError, DeviceError. Wrong numbers are no error: `agreement` says so.
    """
    policy = options.settings.check()
    if options.folder is not None:
        if options.xclbin is not None or options.insts is not None or options.arguments:
            raise UsageError("give either a folder, or --xclbin with --insts and --arg")
        return _run_folder(options, options.folder, policy, progress)
    if options.xclbin is None or options.insts is None:
        raise UsageError(
            "nothing to run",
            remedy="give a folder that `aiepipe build -o` made, or --xclbin X --insts I --arg ...",
        )
    return _run_artifacts(options, options.xclbin, options.insts, policy, progress)


def execute(
    work: Callable[[Callable[[Repeat], None]], RunResult],
    device: OpenedDevice,
    settings: RunSettings,
    judge: Judge,
    progress: Progress,
    notes: StageNotes,
) -> RunResult:
    """Does `work`, which takes a listener to repeats; every repeat is judged as it ends."""

    def listen(repeat: Repeat) -> None:
        judge.look(repeat)
        device.watch.counting = False
        if repeat.index == WATCHED_REPEATS:
            device.stop_watching()
        if settings.repeat > 1:
            progress(f"run {repeat.index} of {settings.repeat}")

    try:
        result = work(listen)
    except DeviceError as error:
        error.findings = device.watch.findings
        raise
    finally:
        device.write_trace()
    notes.note = (
        f"{settings.repeat} runs" if settings.repeat > 1 else result.state.removeprefix("ERT_CMD_STATE_")
    )
    return result


def run_built(
    built: BuiltProgram,
    function: HostFunction,
    inputs: Sequence[Array],
    device: OpenedDevice,
    policy: SyncPolicy,
    settings: RunSettings,
) -> Callable[[Callable[[Repeat], None]], RunResult]:
    """The work of running a program, for `execute`."""
    return lambda listen: run_program(
        built.program,
        function,
        built.artifacts,
        inputs,
        device=device.module,
        policy=policy,
        repeat=settings.repeat,
        seed=settings.coherency_seed,
        timeout_s=settings.timeout_s,
        keep=1,
        on_repeat=listen,
        cpu_kernels=built.cpu_kernels,
    )


# --------------------------------------------------------------------------- a program directory


def _run_folder(options: RunOptions, folder: str, policy: SyncPolicy, progress: Progress) -> BuildRunReport:
    clock = StageClock(progress)
    built = read_program(Path(folder))
    function = _function(built, options.function)
    arguments = make_arguments(function.name, function.arguments, options.inputs, options.seed)
    expected = given_expectations(function, options.expected, arguments.arrays) if options.expected else ()
    judge = Judge(expected)
    device = open_device(options.settings)
    with clock.stage("run", f"running on {device.report.name}") as notes:
        work = run_built(built, function, arguments.arrays, device, policy, options.settings)
        result = execute(work, device, options.settings, judge, progress, notes)
    return judge.report(
        BuildRunReport(
            command="run",
            file=folder,
            function=function.name,
            stages=clock.reports,
            dispatches=dispatch_reports(built),
            device=device.report,
            activity=device.activity(),
            policy=policy.name,
            inputs=arguments.reports,
            repeat_with=repeat_line("run", options, arguments.seed),
            warnings=(*fallback_warnings(built), *device.lost_writes()),
            seeds=seeds(options.settings, arguments.seed),
            versions=tool_versions(),
        ),
        result,
        device.findings(),
        watch=device.watch,
    )


def _function(built: BuiltProgram, name: str | None) -> HostFunction:
    functions = {f.name: f for f in built.program.functions}
    if name is None:
        name = next(iter(functions)) if len(functions) == 1 else DEFAULT_FUNCTION
    name = name.removeprefix("@")
    if name not in functions:
        raise UsageError(
            f"the program has no function {name!r}",
            remedy=f"choose one with --function: {', '.join(functions)}",
        )
    return functions[name]


# --------------------------------------------------------------------------- anybody's artifacts


def _run_artifacts(
    options: RunOptions, xclbin: str, insts: str, policy: SyncPolicy, progress: Progress
) -> BuildRunReport:
    if options.inputs or options.function:
        raise UsageError("--input and --function belong to a folder; a kernel takes --arg")
    clock = StageClock(progress)
    specs = [parse_argument(text) for text in options.arguments]
    buffers = [_buffer(spec, index) for index, spec in enumerate(specs)]
    data = {name: read_input_file(name, LARGEST_ARTIFACT_BYTES) for name in (xclbin, insts)}
    judge = Judge(_kernel_expectations(options, buffers))
    device = open_device(options.settings)
    with clock.stage("run", f"running on {device.report.name}") as notes, naming(xclbin, insts):
        result = execute(
            lambda listen: run_kernel(
                data[xclbin],
                data[insts],
                buffers,
                kernel=options.kernel,
                device=device.module,
                policy=policy,
                repeat=options.settings.repeat,
                seed=options.settings.coherency_seed,
                timeout_s=options.settings.timeout_s,
                keep=1,
                on_repeat=listen,
            ),
            device,
            options.settings,
            judge,
            progress,
            notes,
        )
        notes.files += _write_outputs(specs, result.outputs)
    return judge.report(
        BuildRunReport(
            command="run",
            file=xclbin,
            stages=clock.reports,
            device=device.report,
            activity=device.activity(),
            policy=policy.name,
            inputs=tuple(
                InputReport(f"argument {i}", buffer.type, spec.value.text)
                for i, (spec, buffer) in enumerate(zip(specs, buffers, strict=True))
                if buffer.direction is not BufferDirection.OUT
            ),
            repeat_with=repeat_line("run", options, None),
            warnings=device.lost_writes(),
            seeds=seeds(options.settings, None),
            versions=tool_versions(),
        ),
        result,
        device.findings(),
        watch=device.watch,
    )


def _kernel_expectations(options: RunOptions, buffers: Sequence[KernelBuffer]) -> tuple[Expectation, ...]:
    """One for each out and inout buffer, where any is given. Raises UsageError."""
    if not options.expected:
        return ()
    _, kernel = kernel_as_program(options.kernel or "the kernel", buffers)
    given = [buffer.data for buffer in buffers if buffer.data is not None]
    return given_expectations(kernel, options.expected, given)


def _buffer(spec: ArgumentSpec, index: int) -> KernelBuffer:
    """The kernel buffer that one --arg describes. Raises UsageError."""
    name = f"argument {index}"
    direction = BufferDirection(spec.direction)
    if direction is BufferDirection.OUT:
        if spec.value.type is None:
            raise UsageError(f"{name} has no type", remedy="write it as in out:64x64xi32=@c.npy")
        return KernelBuffer(direction, spec.value.type)
    type_, data = resolve(spec.value, None, name)
    return KernelBuffer(direction, type_, data)


def _write_outputs(specs: Sequence[ArgumentSpec], outputs: Sequence[Array]) -> list[FileRecord]:
    """Writes each out:TYPE=@FILE: .npy as .npy, anything else as raw bytes. Raises UsageError."""
    written: list[FileRecord] = []
    for spec, array in zip([s for s in specs if s.writes], outputs, strict=True):
        if spec.direction == "out" and spec.value.file is not None:
            data = npy_bytes(array) if spec.value.file.endswith(".npy") else array.tobytes()
            write_file(Path(spec.value.file), data)
            written.append(FileRecord(spec.value.file, len(data), hashlib.sha256(data).hexdigest()))
    return written


def npy_bytes(array: Array) -> bytes:
    """The array as a .npy file. bf16 and other types that numpy does not have are stored as raw void
    items of their size, which is how numpy itself writes them."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


@contextmanager
def naming(xclbin: str, insts: str) -> Generator[None]:
    """Adds to an ArtifactError which of the two files it is about."""
    try:
        yield
    except ArtifactError as error:
        if error.path is None:
            error.path = insts if "stream" in error.artifact else xclbin
        raise


def seeds(settings: RunSettings, inputs: int | None) -> dict[str, int]:
    """Every random draw of a command, by name."""
    drawn = {} if inputs is None else {"inputs": inputs}
    return {**drawn, "coherency": settings.coherency_seed}
