"""The parent's side of a device in a child process: it watches, survives, and says what happened.

    with ChildDevice(HostedDevice(hardware=True)) as device:
        run_program(..., device=device)

Real XRT can hang, abort the process or leave a dead context behind, and its waits hold the GIL. All of
that then happens to a child; the parent gives it a time, ends it, and starts another for the next call.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from types import TracebackType
from typing import IO, Any, Self, cast

from ..errors import AiepipeError, DeviceError, RunFailed
from ..program import Artifact, CpuKernel, HostFunction, Program
from ..verdict import SyncFinding
from .child import GO, REREAD, HostedDevice, Request
from .failures import BY_CODE, Failure, explain
from .results import Array, Repeat, RunOptions, RunResult

POLL_MS = 100
"""Length of the slices in which the child waits for a run, so that it hears of an end soon."""

CALL_LIMIT_S = 60.0
"""How long any device call but the wait for a run may take: loading a large xclbin takes seconds."""

GRACE_S = 2.0
"""What a run's time limit is exceeded by before the child is ended: its own time-out comes first."""

_LOOK_S = 0.05
_TAIL_LINES = 6


class ChildDevice:
    """A device in a process of its own; `run_program` and `run_kernel` take it as `device`."""

    def __init__(
        self, hosted: HostedDevice, *, call_limit_s: float = CALL_LIMIT_S, grace_s: float = GRACE_S
    ) -> None:
        self._hosted = hosted
        self._call_limit_s = call_limit_s
        self._grace_s = grace_s
        self._child: _Child | None = None
        self.findings: tuple[SyncFinding, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the child."""
        if self._child is not None:
            self._child.end()
            self._child = None

    @property
    def pid(self) -> int | None:
        """The child's process, while there is one."""
        return None if self._child is None else self._child.process.pid

    @property
    def waits_for_run(self) -> bool:
        """Whether the child has said that it waits for a run to end."""
        return self._child is not None and self._child.waits_for_run

    def run_program(
        self,
        program: Program,
        function: HostFunction,
        artifacts: Mapping[str, Artifact],
        inputs: Sequence[Array],
        *,
        options: RunOptions,
        seed: int | None,
        on_repeat: Callable[[Repeat], None] | None,
        cpu_kernels: Mapping[str, CpuKernel] | None = None,
    ) -> RunResult:
        """As `runner.run_program`, which calls it. Raises what that raises, and DeviceError or RunFailed
        for a child that hung or died; the next call gets a new one."""
        if self._child is None:
            self._child = _Child(self._hosted)
        child = self._child
        if options.poll_ms is None and (self._hosted.hardware or self._hosted.fault is not None):
            options = replace(options, poll_ms=POLL_MS)
        request = Request(
            program, function, dict(artifacts), list(inputs), options, seed, dict(cpu_kernels or {})
        )
        finished = False
        try:
            child.send(request)
            result = self._listen(child, options, on_repeat)
            finished = True
            return result
        finally:
            if not finished:  # an error, an interrupt, an exception of the callback: its state is unknown
                self.close()

    def _listen(
        self, child: _Child, options: RunOptions, on_repeat: Callable[[Repeat], None] | None
    ) -> RunResult:
        while True:
            message = child.receive(self._limit(child, options))
            match message[0]:
                case "doing":
                    child.doing = message[1]
                case "repeat":
                    repeat: Repeat = message[1]
                    if message[2]:
                        repeat = replace(repeat, reread=lambda: self._reread(child, options))
                    if on_repeat is not None:
                        on_repeat(repeat)
                    child.send(GO)
                case "result":
                    self.findings = message[2]
                    return message[1]
                case "error":
                    raise _rebuilt(message[1], message[2], message[3])
                case _:
                    raise RuntimeError(f"the device's process failed by a fault of ours:\n{message[1]}")

    def _reread(self, child: _Child, options: RunOptions) -> tuple[Array, ...]:
        child.send(REREAD)
        while True:
            message = child.receive(self._limit(child, options))
            if message[0] == "outputs":
                return message[1]
            child.doing = message[1]

    def _limit(self, child: _Child, options: RunOptions) -> float | None:
        """Seconds that the child may take for what it does now; None for a run without a time limit."""
        if not child.waits_for_run:
            return self._call_limit_s
        return None if options.timeout_s is None else options.timeout_s + self._grace_s


class _Child:
    """One process. What it writes to its outputs is kept, for XRT and the driver speak there."""

    def __init__(self, hosted: HostedDevice) -> None:
        ours, theirs = multiprocessing.Pipe()
        self.connection: Connection[Any, Any] = ours
        self.doing = "starting"
        self._output: IO[bytes] = tempfile.TemporaryFile(prefix="aiepipe-device-")  # noqa: SIM115 (till `end`)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "aiepipe.xrt.child", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,  # Ctrl-C is for the parent, which decides
        )
        theirs.close()
        self.end = weakref.finalize(self, _end, self.process, ours, self._output)
        self.send(hosted)

    @property
    def waits_for_run(self) -> bool:
        return self.doing.startswith("waiting for")

    def send(self, message: object) -> None:
        """Raises DeviceError when it is gone."""
        try:
            self.connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            raise self._died() from None

    def receive(self, limit_s: float | None) -> tuple[Any, ...]:
        """The next message. Raises DeviceError (RunFailed during a run) when none comes in time, or ever."""
        deadline = None if limit_s is None else time.monotonic() + limit_s
        try:
            while not self.connection.poll(_LOOK_S):
                if deadline is not None and time.monotonic() > deadline:
                    raise self._silent(cast("float", limit_s))
            return cast("tuple[Any, ...]", self.connection.recv())
        except (EOFError, ConnectionResetError):
            raise self._died() from None

    def _silent(self, limit_s: float) -> DeviceError:
        message = f"the device did not answer for {limit_s:g} s while {self.doing}; its process was ended"
        return self._error(message, BY_CODE["R001"] if self.waits_for_run else BY_CODE["R002"])

    def _died(self) -> DeviceError:
        code = self.process.wait()
        tail = self._tail()
        if code < 0:
            name = signal.Signals(-code).name
            how = f"was ended by {name}"
            known = explain(tail) or explain(name) or _BY_SIGNAL.get(name)
        else:
            how, known = f"ended with exit code {code}", explain(tail)
        said = f". Its last words: {tail}" if tail else ""
        return self._error(f"the device's process {how} while {self.doing}{said}", known)

    def _error(self, message: str, known: Failure | None) -> DeviceError:
        cause = "" if known is None else f" ({known.code}: {known.cause})"
        remedy = "see dmesg for amdxdna" if known is None else known.remedy
        error = DeviceError(f"{message}{cause}. Nothing was compared.", remedy=remedy)
        if self.waits_for_run:
            error = RunFailed(
                str(error),
                state="ERT_CMD_STATE_TIMEOUT" if known is BY_CODE["R001"] else "ERT_CMD_STATE_ABORT",
                dispatch=self.doing.removeprefix("waiting for ").strip("'"),
                remedy=remedy,
            )
        error.code = None if known is None else known.code
        return error

    def _tail(self) -> str:
        self._output.seek(0)
        lines = self._output.read().decode("utf-8", "replace").splitlines()
        return "\n".join([line for line in lines if line.strip()][-_TAIL_LINES:])


_BY_SIGNAL = {"SIGABRT": BY_CODE["L002"]}


def _rebuilt(kind: type[AiepipeError], arguments: tuple[Any, ...], state: dict[str, Any]) -> AiepipeError:
    """The child's error as it was there; its constructor's arguments are in its attributes."""
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(state)
    return error


def _end(process: subprocess.Popen[bytes], connection: Connection[Any, Any], output: IO[bytes]) -> None:
    connection.close()
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    output.close()
