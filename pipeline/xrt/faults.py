"""Ways in which a real device fails, put over the emulated one, to try what the runner makes of them.

Nothing here is used unless it is asked for by name (`HostedDevice(fault=...)`).
"""

from __future__ import annotations

import enum
import os
import signal
import time
from types import SimpleNamespace
from typing import ClassVar, cast

from . import emulated
from .api import DeviceModule
from .contexts import kernel
from .values import ert_cmd_state

_FOR_EVER_S = 1e6
_RUNNING = ert_cmd_state(3)


class Fault(enum.Enum):
    """What goes wrong at the chosen run."""

    HANG = "hang"  # the run never ends; wait(ms) returns TIMEOUT, state() RUNNING
    STUCK = "stuck"  # wait(ms) does not return, and holds whatever it holds
    WATCHDOG = "watchdog"  # the driver's watchdog stops the run
    ERROR = "error"  # the firmware reports an error
    DEAD = "dead"  # the context is dead: the driver refuses the command
    ABORT = "abort"  # XRT calls abort()
    CRASH = "crash"  # XRT segfaults
    KILLED = "killed"  # kill -9, as the kernel does when memory is short


def faulty_module(fault: Fault, at_run: int) -> DeviceModule:
    """The emulated pyxrt whose `at_run`-th started run (from 1) goes wrong."""

    class run(emulated.run):  # noqa: N801 (pyxrt's name)
        started: ClassVar = 0

        def __init__(self, of: kernel | None = None, /) -> None:
            super().__init__(of)
            self._bad = False

        def start(self) -> None:
            run.started += 1
            self._bad = run.started == at_run
            if self._bad:
                _strike(fault)
            super().start()

        def wait(self, *timeout: object) -> ert_cmd_state:
            if not self._bad:
                return super().wait(*timeout)
            milliseconds = cast("int", timeout[0]) if timeout else 0
            if fault is Fault.STUCK or (fault is Fault.HANG and not milliseconds):
                time.sleep(_FOR_EVER_S)
            if fault is Fault.ERROR:
                return ert_cmd_state.ERT_CMD_STATE_ERROR
            time.sleep(milliseconds / 1000)
            return ert_cmd_state.ERT_CMD_STATE_TIMEOUT

        def state(self) -> ert_cmd_state:
            if not self._bad:
                return super().state()
            return ert_cmd_state.ERT_CMD_STATE_TIMEOUT if fault is Fault.WATCHDOG else _RUNNING

    members = {name: getattr(emulated, name) for name in emulated.__all__}
    return cast("DeviceModule", SimpleNamespace(**{**members, "run": run}))


def _strike(fault: Fault) -> None:
    match fault:
        case Fault.DEAD:
            raise RuntimeError("DRM_IOCTL_AMDXDNA_EXEC_CMD IOCTL failed (err=-5): Input/output error")
        case Fault.ABORT:
            os.write(2, b"terminate called without an active exception\n")
            os.abort()
        case Fault.CRASH:
            os.kill(os.getpid(), signal.SIGSEGV)
        case Fault.KILLED:
            os.kill(os.getpid(), signal.SIGKILL)
        case _:
            return
