"""IREE's options: which belong to a session and which to the whole process.

A session knows the options that plug-ins and phases bind to it; many others (`--iree-hal-memoization`,
`--iree-hal-indirect-command-buffers`, all of LLVM's) are process-wide, may be set once, and end the process
when they are wrong. So a forked child tries them first, and a process with others set asks to be replaced.
Source: iree/compiler/embedding_api.h (ireeCompilerSetupGlobalCL), tried with 3.13.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..errors import UsageError
from .framing import FreshProcessNeeded

# a user who chooses a target in one of these ways has chosen it
_TARGET_OPTIONS = frozenset({"--iree-hal-target-backends", "--iree-hal-target-device"})
_ACCEPTED = 77  # the exit code of a child that got past its flags (--help ends it with 0)
_NOT_A_SESSION_OPTION = "option not found"
_REMEDY = "see iree-compile --help for its options"

_api = cast("Any", importlib.import_module("iree.compiler.api"))
_loader = cast("Any", importlib.import_module("iree.compiler.api.ctypes_dl"))


@dataclass
class _ProcessState:
    flags: tuple[str, ...] = ()


_state = _ProcessState()


def option_name(flag: str) -> str:
    """`--name` of `--name=value`, with two dashes however it was written."""
    return "--" + flag.split("=", 1)[0].lstrip("-")


def with_defaults(defaults: Iterable[str], flags: Sequence[str]) -> list[str]:
    """Defaults that no flag overrides, then the flags in order.

    An option given twice is an error for LLVM's command line, so ours gives way.
    """
    given = {option_name(flag) for flag in flags}
    if given & _TARGET_OPTIONS:
        given |= _TARGET_OPTIONS
    return [flag for flag in defaults if option_name(flag) not in given] + list(flags)


def session_flags(flags: Sequence[str]) -> list[str]:
    """The flags for a session, after the others have been set for the process.

    Raises UsageError for what no compiler option is, FreshProcessNeeded when a fresh process is needed.
    """
    known: list[str] = []
    others: list[str] = []
    with _api.Session() as scratch:
        for flag in flags:
            if not flag.startswith("-"):
                raise UsageError(f"{flag!r} is no compiler option: it must begin with --", remedy=_REMEDY)
            try:
                scratch.set_flags(flag)
                known.append(flag)
            except ValueError as error:
                if _NOT_A_SESSION_OPTION not in str(error):
                    raise UsageError(_message(flag, str(error)), remedy=_REMEDY) from None
                others.append(flag)
    _set_for_process(tuple(others))
    return known


def _set_for_process(flags: tuple[str, ...]) -> None:
    if flags == _state.flags:
        return
    if _state.flags:
        raise FreshProcessNeeded
    _try_in_child(flags)
    _loader._initializeGlobalCL("iree-compile", *flags)
    _state.flags = flags


def _try_in_child(flags: tuple[str, ...]) -> None:
    """Sets the flags in a forked child, since LLVM ends the process over a wrong one."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write_end, 1)
        os.dup2(write_end, 2)
        _loader._initializeGlobalCL("iree-compile", *flags)
        os._exit(_ACCEPTED)
    os.close(write_end)
    said = b""
    while part := os.read(read_end, 1 << 16):
        said += part
    os.close(read_end)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != _ACCEPTED:
        first = said.decode("utf-8", "replace").strip().split("\n")[0]
        raise UsageError(_message(" ".join(flags), first.removeprefix("iree-compile: ")), remedy=_REMEDY)


def _message(flags: str, reason: str) -> str:
    return f"the compiler refuses {flags}: {reason.removeprefix('Error parsing flags:').strip()}"
