"""The table of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .bisect import bisect_command
from .build import build_command
from .build_run import build_run_command
from .disasm import disasm_command
from .doctor import doctor_command
from .dump import dump_command
from .emit import emit
from .emulate import emulate_command
from .inspect import inspect_command
from .policies import policies_command
from .run import run_command_line
from .sweep import sweep_command
from .sync_matrix import sync_matrix_command
from .test import run_tests_command

app = typer.Typer(
    name="aiepipe",
    help="From an MLIR file to numbers on AMD's XDNA NPU, on an emulated device or the real one.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


app.command("build-run")(build_run_command)
app.command("build")(build_command)
app.command("run")(run_command_line)
app.command("inspect")(inspect_command)
app.command("policies")(policies_command)
app.command("sync-matrix")(sync_matrix_command)
app.command("dump")(dump_command)
app.command("disasm")(disasm_command)
# what follows the script is the script's own
app.command("emulate", context_settings={"allow_interspersed_args": False})(emulate_command)
app.command("doctor")(doctor_command)
app.command("test")(run_tests_command)
app.command("bisect")(bisect_command)
app.command("sweep")(sweep_command)
app.add_typer(emit, name="emit")
