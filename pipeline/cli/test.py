"""`aiepipe test`: the tests that MLIR files state."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from ..report.failure import error_text
from ..report.progress import progress_line
from .exits import EXIT_INTERNAL, EXIT_WRONG
from .options import Compare, Device, Engine, Html, Json, Repeat, Timeout


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
    html: Html = None,
    compare: Compare = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line for each test.")] = False,
    as_json: Json = False,
) -> int:
    """Run the tests that the headers of MLIR files state (docs/tests-in-mlir.md).

    \b
    Examples:
      aiepipe test mlir/
      aiepipe test mlir/ -j 4 -k "matmul and not i8" --junit report.xml
      aiepipe test mlir/ --html page.html --compare earlier.json
      aiepipe test mlir/matmul.mlir --list

    Exit code 0: all as stated; 1: some are not; 2: usage, or an unreadable header; 70: a fault of ours.
    """
    from ..flows.case import CaseSettings  # noqa: PLC0415
    from ..flows.case_html import earlier_session, write_session_page  # noqa: PLC0415
    from ..flows.program_directory import write_file  # noqa: PLC0415
    from ..flows.test import TestOptions, collect, run_tests  # noqa: PLC0415
    from ..report.junit import session_junit  # noqa: PLC0415
    from ..report.tests import print_session  # noqa: PLC0415
    from ..report.tests_json import list_json, session_json  # noqa: PLC0415
    from ..testing.case import CaseOutcome  # noqa: PLC0415

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
    before = earlier_session(compare, html)
    with progress_line() as progress:
        session = run_tests(collected, options, progress)
    if junit is not None:
        write_file(Path(junit), session_junit(session, collected.errors))
    if html is not None:
        write_session_page(html, session, collected.errors, before, compare)
    if as_json:
        sys.stdout.write(session_json(session, collected.errors))
    else:
        print_session(session, collected.errors, sys.stdout, verbose=verbose)
    if session.count(CaseOutcome.BROKEN):
        return EXIT_INTERNAL
    if collected.errors:
        return UsageError.exit_code
    return 0 if all(result.outcome.good for result in session.results) else EXIT_WRONG
