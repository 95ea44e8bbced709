"""From a command line to an exit code: the one place where errors become either text or JSON."""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Sequence
from typing import NoReturn

import typer

from .. import __version__
from ..errors import AiepipeError, UsageError
from ..report.failure import error_json, error_text
from ..report.streams import secure_streams
from .application import app
from .exits import EXIT_INTERNAL, EXIT_INTERRUPTED


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
