"""`aiepipe bisect`: what changed the verdict."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..report.progress import progress_line
from .options import File, Function, Inputs, IreeFlags, Json
from .output import confirm


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
    from ..flows.bisect import bisect  # noqa: PLC0415  (keeps --help fast)
    from ..flows.bisect_options import BisectOptions  # noqa: PLC0415
    from ..flows.compiler_wheels import WheelReleases  # noqa: PLC0415
    from ..report.bisect import bisection_json, print_bisection  # noqa: PLC0415

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
        report = bisect(options, WheelReleases(), confirm, progress)
    if as_json:
        sys.stdout.write(bisection_json(report))
    else:
        print_bisection(report, sys.stdout)
    return 0
