"""`aiepipe inspect`: what IREE makes of fills and buffers."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from .options import File, IreeFlags, Json, Verbose
from .output import confirm, show


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
    diff_compiler: Annotated[
        str | None,
        typer.Option(
            "--diff-compiler",
            help="Compare with what another IREE says: a release (3.8.0, from PyPI) or a folder with one.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Fetch a release without asking.")] = False,
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
      aiepipe inspect mlir/fill.mlir --diff-compiler 3.8.0
      aiepipe inspect mlir/matmul.mlir --fail-on fill --json
    """
    from ..flows.inspect import InspectOptions, failed_condition, inspect  # noqa: PLC0415

    options = InspectOptions(
        file=file,
        fail_on=fail_on,
        iree_flags=tuple(iree_flags or ()),
        diff=diff,
        diff_flags=tuple(diff_flags or ()),
        diff_compiler=diff_compiler,
        yes=yes,
    )
    asking = partial(inspect, confirm=confirm)
    return show(asking, options, as_json=as_json, verbose=verbose or phase, condition=failed_condition)
