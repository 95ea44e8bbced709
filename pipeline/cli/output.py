"""What a command with a run report shows, writes and exits with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from ..errors import ConditionNotMet, UsageError
from ..report.progress import progress_line
from .exits import EXIT_WRONG

if TYPE_CHECKING:
    from ..verdict import BuildRunReport, SyncFinding

Options = TypeVar("Options")


def show(
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
    # numpy and all that imports it would be half of what --help takes
    from ..flows.html_report import read_earlier, write_html  # noqa: PLC0415
    from ..report.json_report import report_json  # noqa: PLC0415
    from ..report.terminal import print_report  # noqa: PLC0415
    from ..verdict import Agreement  # noqa: PLC0415

    path, earlier = page
    if earlier is not None and path is None:
        raise UsageError("--html-earlier belongs to --html", remedy="add --html FILE.html")
    before = None if earlier is None else read_earlier(earlier)
    with progress_line() as progress:
        report = flow(options, progress)
    write_sarif(sarif, report.findings)
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


def write_sarif(path: str | None, findings: Sequence[SyncFinding]) -> None:
    """The findings of the sync sanitizer as SARIF, where a file is asked for."""
    if path is not None:
        from ..flows.program_directory import write_file  # noqa: PLC0415
        from ..report.sarif import findings_sarif  # noqa: PLC0415

        write_file(Path(path), findings_sarif(findings).encode())


def confirm(question: str) -> bool:
    """Asks on the terminal; where there is none, nobody said yes."""
    return sys.stdin.isatty() and typer.confirm(question, default=False, err=True)
