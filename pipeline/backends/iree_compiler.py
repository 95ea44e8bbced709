"""An installed iree-compile that has the plug-in of iree-amd-aie: where it is, what it can, how its options
are called. They changed names over the years, so `--help` is asked. facts/iree-amd-aie.md section 1.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileError, UsageError
from .settings import BackendSettings
from .tool import ToolRun, run_tool

TARGET = "amd-aie"
PROGRAM = "iree-compile"
_PLACES = ("bin", "install/bin", "tools", "iree-install/bin", ".")
_PROBE_TIMEOUT_S = 60.0
_OPTION = re.compile(r"^ {2}--([\w-]+)(?:=<([^>]*)>|=)?", re.MULTILINE)
_VALUE = re.compile(r"^ {4}=(\S+)")
_INSTALL_REMEDY = (
    "build iree-amd-aie and name its install folder: --iree-install-dir DIR or IREE_INSTALL_DIR "
    "(no wheel of it is published; docs/backends.md)"
)


@dataclass(frozen=True, slots=True)
class IreeCompiler:
    """A compiler that was probed. `options` are the ones it knows without dashes, with the values that an
    option of a few values takes."""

    path: Path
    version: str
    options: Mapping[str, tuple[str, ...]]

    def has(self, option: str) -> bool:
        """Whether `--option` is one of its own."""
        return option in self.options

    def choose(self, *names: str) -> str | None:
        """The first of these names that it knows: an option's newest name stands first."""
        return next((name for name in names if self.has(name)), None)


def find(settings: BackendSettings) -> Path:
    """The iree-compile that the settings name, else the one on PATH. Raises UsageError."""
    folder = settings.path("install-dir")
    if folder is None:
        on_path = shutil.which(PROGRAM)
        if on_path is None:
            raise UsageError("iree-amd-aie was not found", remedy=_INSTALL_REMEDY)
        return Path(on_path)
    if folder.is_file():
        return folder
    for place in _PLACES:
        candidate = folder / place / PROGRAM
        if candidate.is_file():
            return candidate
    raise UsageError(f"there is no {PROGRAM} in {folder} or its bin", remedy=_INSTALL_REMEDY)


def probe(path: Path, folder: Path) -> IreeCompiler:
    """Asks a compiler what it is; logs go to `folder`. Raises UsageError where it is not iree-amd-aie's."""
    listing = _ask(path, "--iree-hal-list-target-backends", folder).output
    targets = re.findall(r"^ +([a-z][\w-]*)$", listing, re.MULTILINE)
    if TARGET not in targets:
        raise UsageError(
            f"{path} has no target backend {TARGET}; it has: {', '.join(targets) or 'none'}",
            remedy=_INSTALL_REMEDY,
        )
    version = _ask(path, "--version", folder).output
    options = read_options(_ask(path, "--help", folder).output)
    return IreeCompiler(path, _version(version), options)


def _ask(path: Path, option: str, folder: Path) -> ToolRun:
    log = folder / f"{PROGRAM}{option}.log"
    done = run_tool([str(path), option], folder=folder, log=log, timeout_s=_PROBE_TIMEOUT_S)
    if done.exit_code != 0:
        raise CompileError(
            f"{path} {option} ended with exit code {done.exit_code}",
            remedy="try it by hand; the installation may be incomplete",
            diagnostics=done.output,
        )
    return done


def read_options(text: str) -> dict[str, tuple[str, ...]]:
    """The options in the output of an LLVM tool's --help, with their values where these are listed."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        option = _OPTION.match(line)
        value = _VALUE.match(line)
        if option is not None:
            current = found.setdefault(option[1], [])
        elif value is not None:
            current.append(value[1])
    return {name: tuple(values) for name, values in found.items()}


def _version(text: str) -> str:
    for line in text.splitlines():
        if "version" in line.lower():
            return line.strip()
    return text.strip().splitlines()[0] if text.strip() else "unknown version"


def unknown_to(compiler: IreeCompiler, flags: Sequence[str]) -> list[str]:
    """The flags whose option the compiler does not list."""
    return [flag for flag in flags if not compiler.has(flag.lstrip("-").split("=", 1)[0])]
