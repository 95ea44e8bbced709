"""`aiepipe build-run`: compile, run, compare."""

from __future__ import annotations

import functools

from .options import (
    Backend,
    BackendFlags,
    BackendOptions,
    CheckCores,
    Closeness,
    CoherencySeed,
    Cores,
    Device,
    Engine,
    Expected,
    FailOn,
    Fallback,
    File,
    Function,
    HostCache,
    Html,
    HtmlEarlier,
    Inputs,
    IreeFlags,
    IreeInstallDir,
    Json,
    Oracle,
    OutputDirectory,
    PeanoDir,
    Policy,
    Repeat,
    Sarif,
    Seed,
    Suppress,
    Tile,
    Timeout,
    TraceFile,
    TraceInstructions,
    Verbose,
    backend_options_of,
)
from .output import show


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
    from ..flows.early import started_compiler  # noqa: PLC0415  (keeps --help fast)

    compiler = started_compiler(file, function, iree_flags or ())
    from ..flows.build_run import BuildRunOptions, build_run  # noqa: PLC0415
    from ..flows.device import RunSettings, failed_condition  # noqa: PLC0415

    options = BuildRunOptions(
        file=file,
        function=function,
        inputs=tuple(inputs or ()),
        expected=tuple(expected or ()),
        output_directory=output,
        backend=backend,
        backend_options=backend_options_of(backend_options, iree_install_dir, peano_dir, cores, tile),
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
    return show(
        functools.partial(build_run, compiler=compiler),
        options,
        as_json=as_json,
        verbose=verbose,
        sarif=sarif,
        condition=lambda asked, report: failed_condition(asked.settings.fail_on, report),
        page=(html, html_earlier),
    )
