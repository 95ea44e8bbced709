"""Another iree.compiler than the one installed here: a release from PyPI, or a folder that has one.

The front end's worker imports it in place of the installed one, and reads its IR as it reads ours. The
releases 3.6 to 3.13 were tried, on the programs of mlir/.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ..errors import UsageError
from .compiler_wheels import DISK_MEGABYTES, DOWNLOAD_MEGABYTES, Releases, is_release

Confirm = Callable[[str], bool]
"""Asks the user a question with the answer yes or no."""

_PACKAGE = Path("iree") / "compiler"
_WHERE = "import iree.compiler.ir, iree.compiler as c; print(c.__file__)"
_PROBE_S = 60.0


def packages(named: str, releases: Releases, confirm: Confirm, *, yes: bool = False) -> Path:
    """The folder of packages that has the compiler `named`: a release (3.8.0), an environment, or such a
    folder. A release that is not here is fetched; `confirm` is asked before, unless `yes`.

    Raises UsageError where there is none, or none that this Python can load.
    """
    if is_release(named):
        if not yes and not releases.is_ready(named):
            _ask(named, confirm)
        place = releases.tools(named).compile.parents[1]
    else:
        place = Path(named)
    found = _below(place, named)
    _check(found, named)
    return found


def _ask(version: str, confirm: Confirm) -> None:
    question = (
        f"iree-base-compiler {version} is fetched from PyPI: some {DOWNLOAD_MEGABYTES} MB to download and "
        f"{DISK_MEGABYTES} MB on disk, kept for the next time. Go on?"
    )
    if not confirm(question):
        raise UsageError("nothing was fetched", remedy="say yes, or give --yes")


def _below(place: Path, named: str) -> Path:
    candidates = [place, *sorted(place.glob("lib/python*/site-packages")), *place.glob("Lib/site-packages")]
    for folder in candidates:
        if (folder / _PACKAGE).is_dir():
            return folder.resolve()
    raise UsageError(
        f"{named} is neither a release nor a folder with iree/compiler in it",
        remedy="name a release (3.12.0), a virtual environment, or its site-packages",
    )


def _check(folder: Path, named: str) -> None:
    """An extension for another Python would be passed over, and the installed compiler would answer."""
    ran = subprocess.run(
        [sys.executable, "-P", "-c", _WHERE],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=_PROBE_S,
    )
    if ran.returncode == 0 and Path(ran.stdout.strip()).is_relative_to(folder):
        return
    said = ran.stderr.strip().splitlines()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    raise UsageError(
        f"the compiler in {named} cannot be loaded: {said[-1] if said else 'another one is found first'}",
        remedy=f"it must be one for Python {python}",
    )
