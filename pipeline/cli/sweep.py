"""`aiepipe sweep`: a grid of cases."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..report.progress import progress_line
from .exits import EXIT_INTERNAL, EXIT_WRONG
from .options import Compare, Html, Json


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
    html: Html = None,
    compare: Compare = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line for each point.")] = False,
    as_json: Json = False,
) -> int:
    """Run a grid of shapes, types, backends, flags, sync policies and repeats.

    A sweep that was interrupted goes on where it was: what is known is not run again.

    \b
    Examples:
      aiepipe sweep sweep.toml -o rows.jsonl
      aiepipe sweep sweep.toml --html page.html --compare earlier-sweep.json
      aiepipe sweep sweep.toml --reduce mlir/regressions
      aiepipe sweep sweep.toml --scheduler tcp://npu-hosts:8786

    Exit code 0: all right; 1: wrong numbers or errors; 2: usage; 70: a fault of ours.
    """
    from ..flows.case_html import earlier_sweep, write_sweep_page  # noqa: PLC0415
    from ..flows.program_directory import write_file  # noqa: PLC0415
    from ..flows.sweep import SweepOptions, reduce_failures, run_sweep  # noqa: PLC0415
    from ..flows.sweep_spec import read_spec  # noqa: PLC0415
    from ..report.sweep import print_sweep, sweep_json, sweep_jsonl, sweep_parquet  # noqa: PLC0415
    from ..testing.sweep import SweepVerdict  # noqa: PLC0415

    asked = read_spec(spec)
    before = earlier_sweep(compare, html)
    with progress_line() as progress:
        sweep = run_sweep(asked, SweepOptions(processes, scheduler, fresh, resume), progress)
        reduced = () if reduce_to is None else reduce_failures(sweep, Path(reduce_to), progress)
    if output is not None:
        parquet = output.endswith(".parquet")
        write_file(Path(output), sweep_parquet(sweep) if parquet else sweep_jsonl(sweep).encode())
    if html is not None:
        write_sweep_page(html, sweep, spec, before, compare)
    if as_json:
        sys.stdout.write(sweep_json(sweep))
    else:
        print_sweep(sweep, sys.stdout, verbose=verbose)
    sys.stderr.writelines(f"{path}: {r.point.program}, after {r.tries} tries\n" for path, r in reduced)
    verdicts = {row.verdict for row in sweep.rows if row is not None}
    if SweepVerdict.CRASH in verdicts:
        return EXIT_INTERNAL
    return EXIT_WRONG if verdicts - {SweepVerdict.RIGHT} else 0
