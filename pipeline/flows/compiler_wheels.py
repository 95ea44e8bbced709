"""Releases of iree-base-compiler, each in an environment of its own that is kept for the next time.

They come from PyPI through pip. An environment is built in its place, under a lock, and is ready when its
marker is written; one that was left half-way is built anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from filelock import FileLock
from platformdirs import user_cache_path

from ..errors import UsageError

COMPILER = "iree-base-compiler"
RUNTIME = "iree-base-runtime"
DOWNLOAD_MEGABYTES = 100
DISK_MEGABYTES = 550
"""Of one release with its runtime, measured with 3.6.0 and 3.13.0 on Linux."""

_MARKER = "ready"
_TIMEOUT_S = 900.0
_VERSION = re.compile(r"\d+(\.\d+)+(rc\d+)?\Z")


@dataclass(frozen=True, slots=True)
class Tools:
    """The programs of one release; `run` is None where its runtime is not installed."""

    compile: Path
    run: Path | None


class Releases(Protocol):
    """Where releases come from."""

    def versions(self) -> Sequence[str]:
        """All there are, oldest first. Raises UsageError."""
        ...

    def is_ready(self, version: str) -> bool:
        """Whether a release is here already."""
        ...

    def tools(self, version: str) -> Tools:
        """The programs of a release, which is fetched where it is not here. Raises UsageError."""
        ...


class WheelReleases:
    """Releases from PyPI, below the cache folder (AIEPIPE_CACHE_DIR, else the platform's)."""

    def __init__(self) -> None:
        named = os.environ.get("AIEPIPE_CACHE_DIR")
        cache = Path(named) if named else user_cache_path("aiepipe", appauthor=False)
        self._folder = cache / "compilers"

    def versions(self) -> Sequence[str]:
        done = _pip([sys.executable, "-m", "pip", "index", "versions", COMPILER])
        found = re.search(r"^Available versions: (.+)$", done, re.MULTILINE)
        if found is None:
            raise UsageError(f"pip lists no versions of {COMPILER}", remedy="check `pip index versions`")
        return sorted({v.strip() for v in found[1].split(",")}, key=version_key)

    def is_ready(self, version: str) -> bool:
        return (self._place(version) / _MARKER).is_file()

    def tools(self, version: str) -> Tools:
        place = self._place(version)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._folder / f"{place.name}.lock"):
                if not self.is_ready(version):
                    self._build(version, place)
        except OSError as fault:
            raise UsageError(
                f"cannot make an environment in {self._folder}: {fault}",
                remedy="name a folder with room in AIEPIPE_CACHE_DIR",
            ) from fault
        run = place / "bin" / "iree-run-module"
        return Tools(place / "bin" / "iree-compile", run if run.is_file() else None)

    def _place(self, version: str) -> Path:
        if not is_release(version):
            raise UsageError(f"{version!r} is no version of {COMPILER}")
        return self._folder / f"{COMPILER}-{version}"

    def _build(self, version: str, place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        venv.create(place, with_pip=False)
        python = str(place / "bin" / "python")
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
        _pip([*pip, "--disable-pip-version-check", f"{COMPILER}=={version}", runtime_for(version)])
        (place / _MARKER).write_text(version + "\n", encoding="utf-8")


def runtime_for(version: str) -> str:
    """The requirement on the runtime: a compiler of the same minor release runs on it, and patch releases
    come out for one of the two alone (there is a compiler 3.7.1 and no runtime 3.7.1)."""
    if "rc" in version:
        return f"{RUNTIME}=={version}"
    numbers = version.split(".")
    return f"{RUNTIME}=={'.'.join(numbers[:2])}.*" if len(numbers) > 1 else f"{RUNTIME}=={version}"


def is_release(name: str) -> bool:
    """Whether `name` is a version as compilers have them: 3.8.0, 3.14.0rc20260101."""
    return _VERSION.match(name) is not None


def version_key(version: str) -> tuple[tuple[int, ...], int]:
    """Versions in order: 3.9.0 before 3.10.0, a release candidate before its release."""
    numbers, _, candidate = version.partition("rc")
    return tuple(int(n) for n in numbers.split(".") if n.isdigit()), int(candidate or 1 << 30)


def _pip(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(list(command), capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise UsageError(f"pip failed: {fault}", remedy="see whether the network is there") from fault
    if done.returncode != 0:
        last = [line for line in done.stderr.splitlines() if line.strip()]
        raise UsageError(
            f"pip failed: {last[-1] if last else 'it said nothing'}",
            remedy=f"try it by hand: {' '.join(command)}",
        )
    return done.stdout
