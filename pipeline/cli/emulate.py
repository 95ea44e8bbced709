"""`aiepipe emulate`: anybody's pyxrt program on the emulated NPU."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ..errors import ConditionNotMet
from .options import CheckCores, CoherencySeed, Engine, FailOn, Json, Sarif, TraceFile
from .output import write_sarif


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
    check: CheckCores = False,
    trace: TraceFile = None,
    hardware: Annotated[
        bool,
        typer.Option(
            "--hardware", help="On the real pyxrt and NPU, under the same sanitizer.", show_default=False
        ),
    ] = False,
    sarif: Sarif = None,
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
      aiepipe emulate --check --fail-on hazard,array --trace run.json test.py
    """
    from ..flows.device import failed_condition  # noqa: PLC0415
    from ..flows.emulate import EmulateOptions, emulate, output_to_stderr  # noqa: PLC0415
    from ..report.json_report import report_json  # noqa: PLC0415
    from ..report.script import print_script_report  # noqa: PLC0415

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
        check_cores=check,
        trace=trace,
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
    write_sarif(sarif, done.report.findings)
    failed = failed_condition(fail_on, done.report)
    if failed is None:
        return done.exit_code
    sys.stderr.write(failed + "\n")
    return ConditionNotMet.exit_code
