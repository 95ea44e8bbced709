"""Runs an external compiler: its output kept in a log, its time limited, its end told apart.

The tool gets a process group of its own, so that what it started ends with it.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileError, WorkerCrash

# what a log is read back to: the compiler's errors are at its beginning, its last words at its end
_HEAD_BYTES = 256 << 10
_TAIL_BYTES = 64 << 10
# iree-compile from pip ends with 256 minus the signal, a shell with 128 plus it
_LARGEST_SIGNAL = 64


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A command that ended. `output` is what it wrote to both of its streams, the middle left out where
    that was very much; `log` holds all of it."""

    command: tuple[str, ...]
    exit_code: int
    output: str
    seconds: float
    log: Path

    @property
    def line(self) -> str:
        """The command as one types it into a shell."""
        return shlex.join(self.command)


def run_tool(command: Sequence[str], *, folder: Path, log: Path, timeout_s: float) -> ToolRun:
    """Runs a command in `folder` and waits for it; any exit code is a result.

    Raises CompileError where it cannot be started, WorkerCrash where a signal or the time limit ended it.
    """
    start = time.monotonic()
    try:
        with log.open("wb") as out:
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as fault:
        reason = os.strerror(fault.errno) if fault.errno else str(fault)
        raise CompileError(
            f"cannot start {command[0]}: {reason}", remedy="check the path, and that it may be executed"
        ) from fault
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        _end(process)
        raise WorkerCrash(
            f"{Path(command[0]).name} did not finish within {timeout_s:g} s",
            signal=None,
            remedy=f"raise --backend-option timeout=SECONDS; its log is {log}",
            diagnostics=_read(log),
        ) from None
    except BaseException:  # an interrupt: nothing of ours may go on behind the user's back
        _end(process)
        raise
    done = ToolRun(tuple(command), process.returncode, _read(log), time.monotonic() - start, log)
    name = _signal_name(process.returncode)
    if name is not None:
        raise WorkerCrash(
            f"{Path(command[0]).name} crashed ({name})",
            signal=name,
            remedy=f"report it to its authors with the input; its log is {log}",
            diagnostics=done.output,
        )
    return done


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
    process.wait()


def _signal_name(code: int) -> str | None:
    number = -code if code < 0 else 256 - code if code >= 256 - _LARGEST_SIGNAL else code - 128
    if code >= 0 and number not in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGKILL):
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _read(log: Path) -> str:
    with log.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(_HEAD_BYTES, size - _TAIL_BYTES))
        tail = file.read()
    left_out = size - len(head) - len(tail)
    middle = f"\n... {left_out} bytes ...\n".encode() if left_out > 0 else b""
    return (head + middle + tail).decode("utf-8", "replace")
