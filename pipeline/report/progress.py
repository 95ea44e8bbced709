"""What is being done right now, on standard error and only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def progress_line() -> Generator[Callable[[str], None]]:
    """A spinner whose text the given function sets; silent where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    console = Console(stderr=True)
    with console.status("starting", spinner="line") as status:
        yield status.update
