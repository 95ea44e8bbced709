"""The commands: options in, a flow, a report out. No logic.

Standard output is data, standard error is talk. `run_command` is the only place where an error becomes
an exit code; docs/errors.md lists them.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import typer

from . import __version__
from .errors import AiepipeError, ConditionNotMet, DeviceError, UsageError
from .report.failure import error_json, error_text
from .report.json_report import report_json
from .report.progress import progress_line
from .report.streams import secure_streams
from .report.terminal import print_report
from .verdict import Agreement, BuildRunReport, SyncFinding

EXIT_WRONG = 1
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="aiepipe",
    help="From an MLIR file to numbers on AMD's XDNA NPU, on an emulated device or the real one.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> NoReturn:
    """Entry point of the `aiepipe` command."""
    secure_streams()
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code; every way out goes through here."""
    as_json = "--json" in arguments
    try:
        code = typer.main.get_command(app).main(list(arguments), prog_name="aiepipe", standalone_mode=False)
        sys.stdout.flush()
        if code == EXIT_INTERRUPTED:  # newer click catches the interrupt itself
            sys.stderr.write("interrupted\n")
        return code if isinstance(code, int) else 0
    except AiepipeError as error:
        return _failed(error, as_json=as_json)
    except (typer.Abort, KeyboardInterrupt):
        sys.stderr.write("interrupted\n")
        return EXIT_INTERRUPTED
    except Exception as fault:  # noqa: BLE001  (a fault of ours: never a bare traceback)
        if type(fault).__name__ == "NoArgsIsHelpError":
            sys.stderr.write(str(fault) + "\n")
            return UsageError.exit_code
        usage = _usage_error(fault)
        return _internal(fault, arguments) if usage is None else _failed(usage, as_json=as_json)


def _usage_error(fault: Exception) -> UsageError | None:
    """The parser's complaint as ours. Typer carries a click of its own or uses the installed one, by its
    version, so its exceptions are known by what they offer and not by their class."""
    format_message = getattr(fault, "format_message", None)
    if not callable(format_message):
        return None
    return UsageError(str(format_message()), remedy="see `aiepipe --help` and `aiepipe COMMAND --help`")


def _failed(error: AiepipeError, *, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(error_json(error) + "\n")
    sys.stderr.write(error_text(error) + "\n")
    return error.exit_code


def _internal(fault: Exception, arguments: Sequence[str]) -> int:
    """A fault of ours: a short message, the traceback in a file, how to report it."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="aiepipe-fault-", suffix=".txt", delete=False, encoding="utf-8"
    ) as out:
        out.write(f"aiepipe {__version__}, Python {sys.version}\naiepipe {' '.join(arguments)}\n\n")
        out.write(traceback.format_exc())
    sys.stderr.write(
        f"aiepipe failed by a fault of its own: {type(fault).__name__}: {fault}\n"
        f"  help: please report it with the file {out.name} and, if you can, the input\n"
    )
    return EXIT_INTERNAL


Options = TypeVar("Options")


def _show(
    flow: Callable[[Options, Callable[[str], None]], BuildRunReport],
    options: Options,
    *,
    as_json: bool,
    verbose: bool,
    condition: Callable[[Options, BuildRunReport], str | None] | None = None,
    page: tuple[str | None, str | None] = (None, None),
    sarif: str | None = None,
) -> int:
    """Runs a flow under a progress line, prints its report, and gives the exit code. `page` are the HTML
    file to write and the JSON report to compare with."""
    from .flows.html_report import read_earlier, write_html  # noqa: PLC0415  (keeps --help fast)

    path, earlier = page
    if earlier is not None and path is None:
        raise UsageError("--html-earlier belongs to --html", remedy="add --html FILE.html")
    before = None if earlier is None else read_earlier(earlier)
    with progress_line() as progress:
        report = flow(options, progress)
    _write_sarif(sarif, report.findings)
    if path is not None:
        write_html(report, path, before, earlier or "")
    if as_json:
        sys.stdout.write(report_json(report))
    else:
        print_report(report, sys.stdout, verbose=verbose)
    if report.agreement is Agreement.FAIL:
        return EXIT_WRONG
    failed = None if condition is None else condition(options, report)
    if failed is None:
        return 0
    sys.stderr.write(failed + "\n")
    return ConditionNotMet.exit_code


def _write_sarif(path: str | None, findings: Sequence[SyncFinding]) -> None:
    if path is not None:
        from .flows.program_directory import write_file  # noqa: PLC0415
        from .report.sarif import findings_sarif  # noqa: PLC0415

        write_file(Path(path), findings_sarif(findings).encode())


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"aiepipe {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """From an MLIR file to numbers on AMD's XDNA NPU, on an emulated device or the real one."""
    del version


# --------------------------------------------------------------------------- options that commands share

File = Annotated[str, typer.Argument(help="An MLIR file; - reads standard input.", show_default=False)]
Artifact = Annotated[str, typer.Argument(help="An artifact; - reads standard input.", show_default=False)]
Function = Annotated[
    str | None,
    typer.Option(
        "--function",
        "-f",
        help="The public function; needed where there are several and none is called main.",
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        help="One argument, in order: 64x16xi32=1 (splat), 2x2xi32=1,2,3,4, 3 (scalar), "
        "64x16xi32=@file, @file.npy. Without any, drawn from --seed.",
        show_default=False,
    ),
]
Expected = Annotated[
    list[str] | None,
    typer.Option(
        "--expected-output",
        "--expected_output",
        help="One result, in order, in the syntax of --input. Without any, numpy evaluates the MLIR.",
        show_default=False,
    ),
]
OutputDirectory = Annotated[
    str | None, typer.Option("-o", "--output", help="Keep every file in this folder.", show_default=False)
]
IreeFlags = Annotated[
    list[str] | None,
    typer.Option(
        "--iree-flag", help="Passed to IREE's compiler, in order; may be given again.", show_default=False
    ),
]
Backend = Annotated[str, typer.Option("--backend", help="The compiler of dispatches.")]
BackendOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--backend-option",
        help="NAME=VALUE for an external compiler: install-dir, peano-dir, device-hal, target-device, "
        "work-dir, timeout, ... (docs/backends.md).",
        show_default=False,
    ),
]
BackendFlags = Annotated[
    list[str] | None,
    typer.Option(
        "--backend-flag",
        help="Passed to the external compiler as it is, in order; may be given again.",
        show_default=False,
    ),
]
IreeInstallDir = Annotated[
    str | None,
    typer.Option(
        "--iree-install-dir",
        help="Where iree-amd-aie is; the same as --backend-option install-dir=DIR, or IREE_INSTALL_DIR.",
        show_default=False,
    ),
]
PeanoDir = Annotated[
    str | None,
    typer.Option(
        "--peano-dir",
        help="Where Peano is; the same as --backend-option peano-dir=DIR, or PEANO_INSTALL_DIR.",
        show_default=False,
    ),
]
Device = Annotated[str, typer.Option("--device", help="auto, hardware or emulated.")]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds until a run is given up.", min=0.001)]
Policy = Annotated[
    str,
    typer.Option(
        "--sync-policy",
        help="Which buffers are synced, which way, when; `aiepipe policies` lists the names.",
    ),
]
Repeat = Annotated[int, typer.Option("--repeat", help="Run this many times.", min=1)]
CoherencySeed = Annotated[
    int, typer.Option("--coherency-seed", help="Seed of the emulated host cache's evictions.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", help="Seed of random inputs; drawn and printed when not given.", show_default=False
    ),
]
Engine = Annotated[str, typer.Option("--engine", help="How emulated cores run: jit or plain.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="The equivalent iree-compile and XRT steps, and the whole run log."),
]
Oracle = Annotated[str, typer.Option("--oracle", help="numpy, or iree: IREE's llvm-cpu as a second opinion.")]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        help="Exit 5 where there is one: hazard (the sync sanitizer's), array (a finding in the array), or "
        "both with a comma.",
        show_default=False,
    ),
]
CheckCores = Annotated[
    bool,
    typer.Option(
        "--check",
        help="Watch the array's memories: reads of bytes nobody wrote, races, stacks that overflow.",
    ),
]
TraceFile = Annotated[
    str | None,
    typer.Option(
        "--trace", help="Write a timeline for ui.perfetto.dev to this JSON file.", show_default=False
    ),
]
TraceInstructions = Annotated[
    bool,
    typer.Option("--trace-instructions", help="In the timeline, each bundle too (slow; the plain engine)."),
]
Closeness = Annotated[
    str | None,
    typer.Option(
        "--tolerance",
        help="exact, rtol=1e-3, atol=1e-6 or both with a comma; without it, derived from the types.",
        show_default=False,
    ),
]
HostCache = Annotated[
    str,
    typer.Option(
        "--coherency",
        help="The emulated host cache: x86-clflush, inv-on-from or coherent; with +unfenced or +whole-bo.",
    ),
]
Suppress = Annotated[
    list[str] | None,
    typer.Option(
        "--suppress", help="A hazard not to report: S013, or S013@*/driver.py:12.", show_default=False
    ),
]
Sarif = Annotated[
    str | None,
    typer.Option(
        "--sarif", help="Write the sanitizer's findings to this file, as SARIF 2.1.0.", show_default=False
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="What the backend chose, why, and what bounds it.")]


Fallback = Annotated[
    str | None,
    typer.Option(
        "--fallback",
        help="cpu: dispatches that the backend cannot lower run on the CPU through IREE (and are named).",
        show_default=False,
    ),
]
Cores = Annotated[
    str | None,
    typer.Option(
        "--cores", help="How many cores at most, or which: 4x4, rows and columns.", show_default=False
    ),
]
Tile = Annotated[
    str | None,
    typer.Option("--tile", help="The largest tile of a core: m,n,k.", metavar="M,N,K", show_default=False),
]


def _backend_options(
    given: list[str] | None,
    install_dir: str | None,
    peano_dir: str | None,
    cores: str | None,
    tile: str | None,
) -> tuple[str, ...]:
    """The options of a backend, those with a name of their own first."""
    named = (("install-dir", install_dir), ("peano-dir", peano_dir), ("cores", cores), ("tile", tile))
    return (*(f"{name}={value}" for name, value in named if value is not None), *(given or ()))


Html = Annotated[
    str | None,
    typer.Option("--html", help="Write the report as one self-contained page.", show_default=False),
]
HtmlEarlier = Annotated[
    str | None,
    typer.Option(
        "--html-earlier", help="In the page, compare with this earlier --json report.", show_default=False
    ),
]


@app.command("build-run")
def build_run_command(
    file: File,
    function: Function = None,
    inputs: Inputs = None,
    expected: Expected = None,
    output: OutputDirectory = None,
    backend: Backend = "builtin",
    backend_options: BackendOptions = None,
    backend_flags: BackendFlags = None,
    iree_install_dir: IreeInstallDir = None,
    peano_dir: PeanoDir = None,
    cores: Cores = None,
    tile: Tile = None,
    fallback: Fallback = None,
    device: Device = "auto",
    timeout: Timeout = 60.0,
    policy: Policy = "default",
    repeat: Repeat = 1,
    coherency_seed: CoherencySeed = 0,
    seed: Seed = None,
    engine: Engine = "jit",
    fail_on: FailOn = None,
    oracle: Oracle = "numpy",
    tolerance: Closeness = None,
    iree_flags: IreeFlags = None,
    check: CheckCores = False,
    coherency: HostCache = "x86-clflush",
    suppress: Suppress = None,
    sarif: Sarif = None,
    trace: TraceFile = None,
    trace_instructions: TraceInstructions = False,
    html: Html = None,
    html_earlier: HtmlEarlier = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> int:
    """Compile an MLIR file, run it, and compare with numpy.

    \b
    Examples:
      aiepipe build-run mlir/matmul.mlir
      aiepipe build-run mlir/matmul.mlir --input 64x16xi32=1 --input 16x64xi32=2 \\
          --expected-output 64x64xi32=39
      aiepipe build-run mlir/matmul.mlir --sync-policy no-output-presync --repeat 200 --coherency-seed 1
      aiepipe emit matmul -m 8 -n 32 -k 16 | aiepipe build-run -

    Exit code 0: the numbers are right; 1: wrong; 2: usage; 3: it does not compile; 4: artifact or device.
    """
    from .flows.early import started_compiler  # noqa: PLC0415  (keeps --help fast)

    compiler = started_compiler(file, function, iree_flags or ())
    from .flows.build_run import BuildRunOptions, build_run  # noqa: PLC0415
    from .flows.device import RunSettings, failed_condition  # noqa: PLC0415

    options = BuildRunOptions(
        file=file,
        function=function,
        inputs=tuple(inputs or ()),
        expected=tuple(expected or ()),
        output_directory=output,
        backend=backend,
        backend_options=_backend_options(backend_options, iree_install_dir, peano_dir, cores, tile),
        backend_flags=tuple(backend_flags or ()),
        seed=seed,
        settings=RunSettings(
            device,
            timeout,
            policy,
            repeat,
            coherency_seed,
            engine,
            fail_on,
            check_cores=check,
            trace=trace,
            trace_instructions=trace_instructions,
            coherency=coherency,
            suppress=tuple(suppress or ()),
            record=html is not None,
        ),
        oracle=oracle,
        tolerance=tolerance,
        iree_flags=tuple(iree_flags or ()),
        fallback=fallback,
    )
    return _show(
        functools.partial(build_run, compiler=compiler),
        options,
        as_json=as_json,
        verbose=verbose,
        sarif=sarif,
        condition=lambda asked, report: failed_condition(asked.settings, report),
        page=(html, html_earlier),
    )


@app.command("build")
def build_command(
    file: File,
    output: OutputDirectory = None,
    function: Function = None,
    inputs: Inputs = None,
    backend: Backend = "builtin",
    backend_options: BackendOptions = None,
    backend_flags: BackendFlags = None,
    iree_install_dir: IreeInstallDir = None,
    peano_dir: PeanoDir = None,
    cores: Cores = None,
    tile: Tile = None,
    fallback: Fallback = None,
    iree_flags: IreeFlags = None,
    explain: Explain = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> int:
    """Compile an MLIR file to xclbins and instruction streams.

    \b
    Examples:
      aiepipe build mlir/matmul.mlir -o out        # out/*.xclbin, out/*.npu_inst.txt, out/program.json
      aiepipe build mlir/matmul.mlir -o out --explain
    """
    from .flows.build import BuildOptions, build  # noqa: PLC0415

    options = BuildOptions(
        file=file,
        output_directory=output or "aiepipe-out",
        function=function,
        inputs=tuple(inputs or ()),
        backend=backend,
        backend_options=_backend_options(backend_options, iree_install_dir, peano_dir, cores, tile),
        backend_flags=tuple(backend_flags or ()),
        iree_flags=tuple(iree_flags or ()),
        fallback=fallback,
    )
    return _show(build, options, as_json=as_json, verbose=verbose or explain)


@app.command("run")
def run_command_line(
    folder: Annotated[
        str | None, typer.Argument(help="A folder that `aiepipe build -o` made.", show_default=False)
    ] = None,
    xclbin: Annotated[
        str | None, typer.Option("--xclbin", help="Anybody's xclbin.", show_default=False)
    ] = None,
    insts: Annotated[
        str | None,
        typer.Option(
            "--insts", help="Its instruction stream: TXN or lx6, text or binary.", show_default=False
        ),
    ] = None,
    arguments: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            help="in|out|inout:SPEC, in the kernel's buffer order; out:64x64xi32=@c.npy writes the file.",
            show_default=False,
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", help="The kernel, where the xclbin has several.", show_default=False),
    ] = None,
    function: Function = None,
    inputs: Inputs = None,
    expected: Expected = None,
    device: Device = "auto",
    timeout: Timeout = 60.0,
    policy: Policy = "default",
    repeat: Repeat = 1,
    coherency_seed: CoherencySeed = 0,
    seed: Seed = None,
    engine: Engine = "jit",
    fail_on: FailOn = None,
    check: CheckCores = False,
    coherency: HostCache = "x86-clflush",
    suppress: Suppress = None,
    sarif: Sarif = None,
    trace: TraceFile = None,
    trace_instructions: TraceInstructions = False,
    html: Html = None,
    html_earlier: HtmlEarlier = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> int:
    """Run a built folder, or any xclbin with its instruction stream.

    \b
    Examples:
      aiepipe run out --input 64x16xi32=1 --input 16x64xi32=2 --expected-output 64x64xi32=39
      aiepipe run --xclbin final.xclbin --insts insts.txt \\
          --arg in:64x64xi32=@a.npy --arg in:64x64xi32=@b.npy --arg out:64x64xi32=@c.npy
    """
    from .flows.device import RunSettings, failed_condition  # noqa: PLC0415
    from .flows.run import RunOptions, run  # noqa: PLC0415

    options = RunOptions(
        folder=folder,
        xclbin=xclbin,
        insts=insts,
        arguments=tuple(arguments or ()),
        kernel=kernel,
        function=function,
        inputs=tuple(inputs or ()),
        expected=tuple(expected or ()),
        seed=seed,
        settings=RunSettings(
            device,
            timeout,
            policy,
            repeat,
            coherency_seed,
            engine,
            fail_on,
            check_cores=check,
            trace=trace,
            trace_instructions=trace_instructions,
            coherency=coherency,
            suppress=tuple(suppress or ()),
            record=html is not None,
        ),
    )
    return _show(
        run,
        options,
        as_json=as_json,
        verbose=verbose,
        sarif=sarif,
        condition=lambda asked, report: failed_condition(asked.settings, report),
        page=(html, html_earlier),
    )


@app.command("inspect")
def inspect_command(
    file: File,
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            help="Exit 5 where the HAL IR has one: fill, copy or update; or where --diff finds a difference.",
            show_default=False,
        ),
    ] = None,
    phase: Annotated[
        bool, typer.Option("--phase", help="The op that stands for each fill, phase by phase.")
    ] = False,
    diff: Annotated[
        str | None,
        typer.Option(
            "--diff",
            help="Compare with another MLIR file, or with a JSON report that another compiler version made.",
            show_default=False,
        ),
    ] = None,
    diff_flags: Annotated[
        list[str] | None,
        typer.Option(
            "--diff-flag",
            help="Compare with these IREE flags in place of --iree-flag; may be given again.",
            show_default=False,
        ),
    ] = None,
    iree_flags: IreeFlags = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> int:
    """What IREE's HAL IR does to buffers, what became of each fill of the source, where results come from.

    \b
    Examples:
      aiepipe inspect mlir/matmul.mlir
      aiepipe inspect mlir/fill_two_users.mlir --phase
      aiepipe inspect mlir/fill_bf16.mlir --diff-flag=--iree-opt-const-expr-hoisting=false
      aiepipe inspect mlir/matmul.mlir --fail-on fill --json
    """
    from .flows.inspect import InspectOptions, failed_condition, inspect  # noqa: PLC0415

    options = InspectOptions(
        file=file,
        fail_on=fail_on,
        iree_flags=tuple(iree_flags or ()),
        diff=diff,
        diff_flags=tuple(diff_flags or ()),
    )
    return _show(inspect, options, as_json=as_json, verbose=verbose or phase, condition=failed_condition)


emit = typer.Typer(
    help="Print the MLIR of a builder: matmul or fill.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(emit, name="emit")


@emit.command("matmul")
def emit_matmul_command(
    m: Annotated[int, typer.Option("-m", help="Rows of the result.", min=0)],
    n: Annotated[int, typer.Option("-n", help="Columns of the result.", min=0)],
    k: Annotated[int, typer.Option("-k", help="Length of the sum.", min=0)],
    element: Annotated[str, typer.Option("--type", help="Element type of the operands.")] = "i32",
    accumulator: Annotated[
        str | None,
        typer.Option(
            "--accumulator",
            help="Element type of the result; as the operands', or i32 for i8 and i16, f32 for bf16.",
            show_default=False,
        ),
    ] = None,
    fill: Annotated[
        str | None,
        typer.Option(
            "--fill",
            help="What the result is filled with first; without it, it is the third argument.",
            show_default=False,
        ),
    ] = None,
    transpose_a: Annotated[bool, typer.Option("--transpose-a", help="A is k x m.")] = False,
    transpose_b: Annotated[bool, typer.Option("--transpose-b", help="B is n x k.")] = False,
) -> None:
    """linalg.matmul on tensors.

    \b
    Examples:
      aiepipe emit matmul -m 64 -n 64 -k 16 --type i32 --fill 7     # mlir/matmul.mlir
      aiepipe emit matmul -m 32 -n 32 -k 64 --type i8 --fill 0 --transpose-b
    """
    from .flows.emit import MatmulOptions, emit_matmul  # noqa: PLC0415

    typer.echo(
        emit_matmul(MatmulOptions(m, n, k, element, accumulator, fill, transpose_a, transpose_b)), nl=False
    )


@emit.command("fill")
def emit_fill_command(
    type_text: Annotated[str, typer.Argument(metavar="TYPE", help="Shape and element type: 4x5xi32.")],
    value: Annotated[str, typer.Argument(help="The value.")],
) -> None:
    """linalg.fill of a tensor.

    \b
    Example:
      aiepipe emit fill 3x7xbf16 1.5
    """
    from .flows.emit import emit_fill  # noqa: PLC0415

    typer.echo(emit_fill(type_text, value), nl=False)


@app.command("policies")
def policies_command(as_json: Json = False) -> None:
    """The named sync policies and what each leaves out."""
    from .flows.policies import list_policies  # noqa: PLC0415

    typer.echo(list_policies(as_json=as_json), nl=False)


@app.command("sync-matrix")
def sync_matrix_command(
    file: File,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            help="Runs of each cell; as many as fit into some 15 s when not given.",
            min=1,
            show_default=False,
        ),
    ] = None,
    function: Function = None,
    inputs: Inputs = None,
    coherency_seed: CoherencySeed = 0,
    seed: Seed = None,
    device: Device = "auto",
    evict: Annotated[
        float,
        typer.Option(
            "--evict", help="Chance that a dirty line leaves the cache before a run.", min=0.0, max=1.0
        ),
    ] = 0.997,
    timeout: Timeout = 60.0,
    backend: Backend = "builtin",
    backend_options: BackendOptions = None,
    iree_flags: IreeFlags = None,
    sarif: Sarif = None,
    as_json: Json = False,
) -> int:
    """Run a program under every combination of syncs: which sync is missing when runs are wrong?

    Outputs untouched, zeroed, poisoned; their syncs to and from the device on and off; inputs unsynced; the
    named policies; each on every kind of host cache.

    \b
    Examples:
      aiepipe sync-matrix mlir/matmul.mlir
      aiepipe sync-matrix mlir/matmul.mlir --runs 100 --coherency-seed 1 --json

    Exit code 0: the default policy is right in all runs; 1: it is not.
    """
    from .flows.sync_matrix import SyncMatrixOptions, sync_matrix  # noqa: PLC0415
    from .report.sync_matrix import matrix_json, print_matrix  # noqa: PLC0415

    options = SyncMatrixOptions(
        file=file,
        function=function,
        inputs=tuple(inputs or ()),
        runs=runs,
        coherency_seed=coherency_seed,
        seed=seed,
        device=device,
        evict=evict,
        backend=backend,
        backend_options=tuple(backend_options or ()),
        iree_flags=tuple(iree_flags or ()),
        timeout_s=timeout,
    )
    with progress_line() as progress:
        matrix = sync_matrix(options, progress)
    _write_sarif(sarif, matrix.findings)
    if as_json:
        sys.stdout.write(matrix_json(matrix))
    else:
        print_matrix(matrix, sys.stdout)
    return 0 if matrix.default_is_right else EXIT_WRONG


@app.command("dump")
def dump_command(
    file: Artifact,
    sections: Annotated[
        list[str] | None,
        typer.Option(
            "--section",
            help="Only this part; may be given again: header, sections, banks, kernels, entries, partition, "
            "routes, bds, locks, tasks, memory, commands, transfers, operations, segments, symbols, packets.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="What to take the file for, instead of what its bytes say: xclbin, pdi, cdo, txn, lx6, "
            "elf, vmfb, control-packets.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain any artifact by its content: registers by name, BDs in words, routes drawn.

    Reads xclbins, PDIs, CDOs, instruction streams (TXN, lx6; text or binary), core ELFs, IREE modules
    (.vmfb) and control packets, whatever they are called.

    \b
    Examples:
      aiepipe dump final.xclbin
      aiepipe dump final.xclbin --section routes --section bds
      aiepipe dump insts.txt --json
    """
    from .flows.dump import DumpOptions, dump  # noqa: PLC0415  (keeps --help fast)
    from .report.dump import print_dump  # noqa: PLC0415
    from .report.dump_json import print_dump_json  # noqa: PLC0415

    found = dump(DumpOptions(file, tuple(sections or ()), kind))
    if as_json:
        print_dump_json(found, sys.stdout)
    else:
        print_dump(found, sys.stdout)


@app.command("disasm")
def disasm_command(
    file: Artifact,
    core: Annotated[
        str | None, typer.Option("--core", help="Only this core: COLUMN,ROW.", show_default=False)
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Each bundle's bytes, too.")] = False,
    as_json: Json = False,
) -> None:
    """Disassemble the core programs of an ELF, xclbin, PDI, CDO or IREE module (.vmfb).

    A bundle per line, a column per slot; branch targets and loops are labelled. Bytes that are no
    instruction are shown as data.

    \b
    Examples:
      aiepipe disasm core_0_2.elf
      aiepipe disasm final.xclbin --core 0,3 --raw
    """
    from .flows.disasm import DisasmOptions, disasm  # noqa: PLC0415
    from .report.dump_json import print_listing_json  # noqa: PLC0415
    from .report.listing import print_listing  # noqa: PLC0415

    listing = disasm(DisasmOptions(file, core))
    if as_json:
        print_listing_json(listing, sys.stdout)
    else:
        print_listing(listing, sys.stdout, raw=raw)


@app.command("emulate", context_settings={"allow_interspersed_args": False})
def emulate_command(
    script: Annotated[
        str, typer.Argument(help="A Python program that imports pyxrt; - reads it from standard input.")
    ],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="The program's own arguments.", show_default=False)
    ] = None,
    release: Annotated[
        str, typer.Option("--xrt-version", help="Which XRT release's pyxrt: 2.16 to 2.26.")
    ] = "2.26",
    lenient: Annotated[
        bool,
        typer.Option(
            "--lenient", help="Do as real pyxrt does where it silently goes wrong, instead of refusing."
        ),
    ] = False,
    coherency: Annotated[
        str | None,
        typer.Option(
            "--coherency",
            help="The host cache: x86-clflush, inv-on-from or coherent.",
            show_default=False,
        ),
    ] = None,
    evict: Annotated[
        float | None,
        typer.Option(
            "--evict",
            help="Chance that a dirty line leaves the cache before a run (0.997).",
            min=0.0,
            max=1.0,
            show_default=False,
        ),
    ] = None,
    coherency_seed: CoherencySeed = 0,
    engine: Engine = "jit",
    suppress: Annotated[
        list[str] | None,
        typer.Option(
            "--suppress", help="A hazard not to report: S013, or S013@*/driver.py:12.", show_default=False
        ),
    ] = None,
    fail_on: FailOn = None,
    hardware: Annotated[
        bool,
        typer.Option(
            "--hardware", help="On the real pyxrt and NPU, under the same sanitizer.", show_default=False
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Both accesses and the syncs between, per finding.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Run anybody's pyxrt program, unmodified, on the emulated NPU under the sync sanitizer.

    What it finds is told on standard error when the program ends; the exit code is the program's own.
    With --json the findings are a document on standard output, and what the program prints goes to
    standard error.

    \b
    Examples:
      aiepipe emulate test.py -x final.xclbin -i insts.bin
      aiepipe emulate --xrt-version 2.21.75 --fail-on hazard test.py
    """
    from .flows.emulate import EmulateOptions, emulate, output_to_stderr  # noqa: PLC0415
    from .report.script import print_script_report  # noqa: PLC0415

    options = EmulateOptions(
        script=script,
        arguments=tuple(arguments or ()),
        release=release,
        lenient=lenient,
        coherency=coherency,
        evict=evict,
        coherency_seed=coherency_seed,
        engine=engine,
        suppress=tuple(suppress or ()),
        fail_on=fail_on,
        hardware=hardware or os.environ.get("AIEPIPE_SYNC_SANITIZER") == "1",
    )
    if as_json:
        with output_to_stderr():
            done = emulate(options)
        sys.stdout.write(report_json(done.report))
    else:
        done = emulate(options)
        sys.stdout.flush()
        print_script_report(done.report, sys.stderr, verbose=verbose)
    failed = done.failed_condition(options)
    if failed is None:
        return done.exit_code
    sys.stderr.write(failed + "\n")
    return ConditionNotMet.exit_code


@app.command("doctor")
def doctor_command(as_json: Json = False) -> int:
    """Execute what a run needs, stage by stage, and say what to do about what fails.

    Exit code 0: all that the emulated device needs works; 4: it does not.
    """
    from .flows.doctor import doctor  # noqa: PLC0415
    from .report.doctor import doctor_json, print_doctor  # noqa: PLC0415

    with progress_line() as progress:
        report = doctor(progress)
    if as_json:
        sys.stdout.write(doctor_json(report))
    else:
        print_doctor(report, sys.stdout)
    return 0 if report.usable else DeviceError.exit_code


@app.command("test")
def run_tests_command(
    paths: Annotated[list[str], typer.Argument(help="MLIR files, and folders of them.", show_default=False)],
    select: Annotated[
        str | None,
        typer.Option(
            "-k",
            help='Only tests whose name fits: "matmul and not i8".',
            metavar="EXPRESSION",
            show_default=False,
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option("-j", help="Processes; one per processor by default.", min=1, show_default=False),
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="Name the tests; run none.")] = False,
    backends: Annotated[
        list[str] | None,
        typer.Option(
            "--backend",
            help="Run on this one, instead of those of the headers (builtin by default); may be given again.",
            show_default=False,
        ),
    ] = None,
    device: Device = "auto",
    timeout: Timeout = 60.0,
    repeat: Repeat = 1,
    engine: Engine = "jit",
    junit: Annotated[
        str | None, typer.Option("--junit", help="Write JUnit XML to this file.", show_default=False)
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line for each test.")] = False,
    as_json: Json = False,
) -> int:
    """Run the tests that the headers of MLIR files state (docs/tests-in-mlir.md).

    \b
    Examples:
      aiepipe test mlir/
      aiepipe test mlir/ -j 4 -k "matmul and not i8" --junit report.xml
      aiepipe test mlir/matmul.mlir --list

    Exit code 0: all as stated; 1: some are not; 2: usage, or an unreadable header; 70: a fault of ours.
    """
    from .flows.case import CaseSettings  # noqa: PLC0415
    from .flows.program_directory import write_file  # noqa: PLC0415
    from .flows.test import TestOptions, collect, run_tests  # noqa: PLC0415
    from .report.junit import session_junit  # noqa: PLC0415
    from .report.tests import print_session  # noqa: PLC0415
    from .report.tests_json import list_json, session_json  # noqa: PLC0415
    from .testing.case import CaseOutcome  # noqa: PLC0415

    options = TestOptions(
        tuple(paths),
        select,
        processes,
        CaseSettings(tuple(backends or ()), device, timeout, engine, repeat),
    )
    collected = collect(options)
    if list_only:
        rows = [(test.id, test.case.file, test.case.line) for test in collected.tests]
        text = list_json(rows) if as_json else "".join(f"{id_}\n" for id_, _, _ in rows)
        sys.stdout.write(text)
        sys.stderr.writelines(error_text(error) + "\n" for error in collected.errors)
        return UsageError.exit_code if collected.errors else 0
    with progress_line() as progress:
        session = run_tests(collected, options, progress)
    if junit is not None:
        write_file(Path(junit), session_junit(session, collected.errors))
    if as_json:
        sys.stdout.write(session_json(session, collected.errors))
    else:
        print_session(session, collected.errors, sys.stdout, verbose=verbose)
    if session.count(CaseOutcome.BROKEN):
        return EXIT_INTERNAL
    if collected.errors:
        return UsageError.exit_code
    return 0 if all(result.outcome.good for result in session.results) else EXIT_WRONG


@app.command("bisect")
def bisect_command(
    file: File,
    good: Annotated[
        str,
        typer.Option(
            "--good", help="A release (3.6.0), flags in one text, or a backend.", show_default=False
        ),
    ],
    bad: Annotated[
        str, typer.Option("--bad", help="The same, where the verdict is another.", show_default=False)
    ],
    over: Annotated[
        str | None,
        typer.Option(
            "--over", help="compilers, flags or backends, where it is not plain.", show_default=False
        ),
    ] = None,
    question: Annotated[
        str,
        typer.Option(
            "--ask",
            help="verdict: right, wrong, error, crash; of releases also compiles, and fills: how many, when.",
        ),
    ] = "verdict",
    function: Function = None,
    inputs: Inputs = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of random inputs.")] = 0,
    iree_flags: IreeFlags = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Fetch releases without asking.")] = False,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep", help="Keep the IR of both sides of a change in this folder.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Which compiler release, flag or backend changed the verdict.

    There are four verdicts: right, wrong, error, crash. Releases of iree-base-compiler come from PyPI, each
    into an environment of its own that is kept; you are asked before anything is fetched. Flags and backends
    are tried on the emulated device.

    \b
    Examples:
      aiepipe bisect old.mlir --good 3.6.0 --bad 3.13.0
      aiepipe bisect mlir/fill.mlir --good 3.6.0 --bad 3.13.0 --ask fills --keep changed
      aiepipe bisect mlir/matmul.mlir --good "" --bad="--iree-opt-level=O3 --iree-opt-data-tiling"
      aiepipe bisect mlir/matmul.mlir --good builtin --bad iree-amd-aie
    """
    from .flows.bisect import bisect  # noqa: PLC0415  (keeps --help fast)
    from .flows.bisect_options import BisectOptions  # noqa: PLC0415
    from .flows.compiler_wheels import WheelReleases  # noqa: PLC0415
    from .report.bisect import bisection_json, print_bisection  # noqa: PLC0415

    options = BisectOptions(
        file=file,
        good=good,
        bad=bad,
        over=over,
        question=question,
        function=function,
        inputs=tuple(inputs or ()),
        seed=seed,
        iree_flags=tuple(iree_flags or ()),
        yes=yes,
        keep=keep,
    )
    with progress_line() as progress:
        report = bisect(options, WheelReleases(), _confirm, progress)
    if as_json:
        sys.stdout.write(bisection_json(report))
    else:
        print_bisection(report, sys.stdout)
    return 0


def _confirm(question: str) -> bool:
    """Asks on the terminal; where there is none, nobody said yes."""
    return sys.stdin.isatty() and typer.confirm(question, default=False, err=True)


@app.command("sweep")
def sweep_command(
    spec: Annotated[str, typer.Argument(help="A TOML file (docs/sweeps.md).", show_default=False)],
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="Rows as JSON lines, or as .parquet (extra parquet).", show_default=False
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option("-j", help="Processes; one per processor by default.", min=1, show_default=False),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler", help="A dask scheduler, tcp://HOST:PORT (extra cluster).", show_default=False
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run also what is known from before.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="On hardware, too: take for done what ran before.")
    ] = False,
    reduce_to: Annotated[
        str | None,
        typer.Option(
            "--reduce",
            help="Shrink the first failure of each kind and write it to this folder as a regression test.",
            show_default=False,
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line for each point.")] = False,
    as_json: Json = False,
) -> int:
    """Run a grid of shapes, types, backends, flags, sync policies and repeats.

    A sweep that was interrupted goes on where it was: what is known is not run again.

    \b
    Examples:
      aiepipe sweep sweep.toml -o rows.jsonl
      aiepipe sweep sweep.toml --reduce mlir/regressions
      aiepipe sweep sweep.toml --scheduler tcp://npu-hosts:8786

    Exit code 0: all right; 1: wrong numbers or errors; 2: usage; 70: a fault of ours.
    """
    from .flows.program_directory import write_file  # noqa: PLC0415
    from .flows.sweep import SweepOptions, reduce_failures, run_sweep  # noqa: PLC0415
    from .flows.sweep_spec import read_spec  # noqa: PLC0415
    from .report.sweep import print_sweep, sweep_json, sweep_jsonl, sweep_parquet  # noqa: PLC0415
    from .testing.sweep import SweepVerdict  # noqa: PLC0415

    asked = read_spec(spec)
    with progress_line() as progress:
        sweep = run_sweep(asked, SweepOptions(processes, scheduler, fresh, resume), progress)
        reduced = () if reduce_to is None else reduce_failures(sweep, Path(reduce_to), progress)
    if output is not None:
        parquet = output.endswith(".parquet")
        write_file(Path(output), sweep_parquet(sweep) if parquet else sweep_jsonl(sweep).encode())
    if as_json:
        sys.stdout.write(sweep_json(sweep))
    else:
        print_sweep(sweep, sys.stdout, verbose=verbose)
    sys.stderr.writelines(f"{path}: {r.point.program}, after {r.tries} tries\n" for path, r in reduced)
    verdicts = {row.verdict for row in sweep.rows if row is not None}
    if SweepVerdict.CRASH in verdicts:
        return EXIT_INTERNAL
    return EXIT_WRONG if verdicts - {SweepVerdict.RIGHT} else 0
