"""The parent's side of the worker: starts it, watches it, and says what happened when it dies.

The worker has its own pipes; its standard output and error go to a temporary file, for IREE and LLVM write
there past Python, and what they wrote last belongs into the error. Time is limited per request, memory by
watching the resident size: an address-space limit would count the arenas of LLVM's threads too, which grow
with the number of processors.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ..errors import AiepipeError, WorkerCrash
from .framing import LENGTH_BYTES, FreshProcessNeeded, write_frame

# how often a busy worker is looked at, in seconds
_WATCH_INTERVAL_S = 0.05
_TAIL_BYTES = 2000
_TAIL_LINES = 12
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# the child's size appears here on Linux; elsewhere memory is not watched
_STATM = "/proc/{pid}/statm"


class WorkerFault(Exception):
    """The worker met an error that it should not have: a fault of ours, with its traceback."""


class WorkerProcess:
    """One worker process. It dies with this object, or at `close`."""

    def __init__(self, packages: Path | None = None) -> None:
        """Starts the process and returns at once. What is in `packages` comes before what is installed."""
        child_requests, self._requests = os.pipe()
        self._replies, child_replies = os.pipe()
        self._log = _open_log()
        command = [sys.executable, "-P", "-m", "aiepipe.frontend.worker"]
        try:
            self._process = subprocess.Popen(
                [*command, str(child_requests), str(child_replies)],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(child_requests, child_replies),
                env=None if packages is None else {**os.environ, "PYTHONPATH": str(packages)},
            )
        finally:
            os.close(child_requests)
            os.close(child_replies)
        self.close = weakref.finalize(self, _end, self._process, (self._requests, self._replies, self._log))

    @property
    def pid(self) -> int:
        """The process id, for tests that kill it."""
        return self._process.pid

    def output(self) -> str:
        """What the worker wrote to its standard error during the last request."""
        return os.pread(self._log, os.fstat(self._log).st_size, 0).decode("utf-8", "replace")

    def request(
        self,
        handler: str,
        arguments: Mapping[str, object],
        *,
        timeout_s: float,
        memory_limit_bytes: int | None,
    ) -> Any:
        """Calls a handler and waits for its result.

        Raises the handler's AiepipeError, WorkerFault, FreshProcessNeeded, or WorkerCrash when the process
        died or had to be killed; it is of no use after that.
        """
        deadline = time.monotonic() + timeout_s
        os.ftruncate(self._log, 0)
        try:
            write_frame(self._requests, pickle.dumps((handler, dict(arguments)), protocol=5))
        except BrokenPipeError:
            raise self._crash() from None
        answer = pickle.loads(self._receive(deadline, timeout_s, memory_limit_bytes))  # noqa: S301
        if answer[0] == "result":
            return answer[1]
        if answer[0] == "restart":
            raise FreshProcessNeeded
        if answer[0] == "error":
            _, kind, args, state = cast(
                "tuple[str, type[AiepipeError], tuple[Any, ...], dict[str, Any]]", answer
            )
            error = kind.__new__(kind, *args)
            error.args = args
            error.__dict__.update(state)
            raise error
        raise WorkerFault(str(answer[1]))

    def _receive(self, deadline: float, timeout_s: float, memory_limit_bytes: int | None) -> bytes:
        data = bytearray()
        needed = LENGTH_BYTES
        poll = select.poll()
        poll.register(self._replies, select.POLLIN)
        while len(data) < needed:
            if poll.poll(_WATCH_INTERVAL_S * 1000):
                part = os.read(self._replies, min(needed - len(data), 1 << 20))
                if not part:
                    raise self._crash()
                data += part
                if len(data) == LENGTH_BYTES and needed == LENGTH_BYTES:
                    needed += int.from_bytes(data, "little")
            elif time.monotonic() > deadline:
                raise self._stop(f"the compiler did not finish within {timeout_s:g} s", "raise --timeout")
            elif memory_limit_bytes is not None and self._resident_bytes() > memory_limit_bytes:
                raise self._stop(
                    f"the compiler used more than {memory_limit_bytes // 2**20} MiB of memory",
                    "make the program smaller, or raise the limit",
                )
        return bytes(data[LENGTH_BYTES:])

    def _resident_bytes(self) -> int:
        try:
            with open(_STATM.format(pid=self._process.pid), encoding="ascii") as statm:
                return int(statm.read().split()[1]) * _PAGE_BYTES
        except (OSError, IndexError, ValueError):
            return 0  # it has just ended, or there is no /proc: the reply pipe tells

    def _stop(self, message: str, remedy: str) -> WorkerCrash:
        self._process.kill()
        self._process.wait()
        return WorkerCrash(message, signal=None, remedy=remedy, diagnostics=self._tail())

    def _crash(self) -> WorkerCrash:
        code = self._process.wait()
        if code < 0:
            name = _signal_name(-code)
            return WorkerCrash(
                f"the compiler crashed ({name})",
                signal=name,
                remedy="IREE crashes on this input: see its last words, and report it to IREE with the file",
                diagnostics=self._tail(),
            )
        return WorkerCrash(
            f"the compiler ended with exit code {code}",
            signal=None,
            remedy="see its last words; iree-base-compiler must be installed beside aiepipe",
            diagnostics=self._tail(),
        )

    def _tail(self) -> str:
        return "\n".join(self.output()[-_TAIL_BYTES:].splitlines()[-_TAIL_LINES:])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"  # a real-time signal


def _open_log() -> int:
    """A file without a name that is written at its end, so that we may cut it between requests."""
    with tempfile.TemporaryFile(prefix="aiepipe-worker-") as file:
        descriptor = os.dup(file.fileno())
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)
    return descriptor


def _end(process: subprocess.Popen[bytes], descriptors: tuple[int, ...]) -> None:
    """Ends the process, which holds no state, and frees what belongs to it."""
    process.kill()
    process.wait()
    for descriptor in descriptors:
        os.close(descriptor)
