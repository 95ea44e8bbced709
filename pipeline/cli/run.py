"""`aiepipe run`: run artifacts, of `aiepipe build` or of anybody."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import (
    CheckCores,
    CoherencySeed,
    Device,
    Engine,
    Expected,
    FailOn,
    Function,
    HostCache,
    Html,
    HtmlEarlier,
    Inputs,
    Json,
    Policy,
    Repeat,
    Sarif,
    Seed,
    Suppress,
    Timeout,
    TraceFile,
    TraceInstructions,
    Verbose,
)
from .output import show


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
      aiepipe run --xclbin final.xclbin --insts insts.txt \\
          --arg in:64x64xi32=1 --arg in:64x64xi32=2 --arg out:64x64xi32 --expected-output @want.npy
    """
    from ..flows.device import RunSettings, failed_condition  # noqa: PLC0415
    from ..flows.run import RunOptions, run  # noqa: PLC0415

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
    return show(
        run,
        options,
        as_json=as_json,
        verbose=verbose,
        sarif=sarif,
        condition=lambda asked, report: failed_condition(asked.settings.fail_on, report),
        page=(html, html_earlier),
    )
