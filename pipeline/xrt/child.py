"""The child process that a device lives in: `python -m aiepipe.xrt.child DESCRIPTOR`.

It takes requests from its parent, one at a time, says before each device call what it does (so that the
parent knows what it waits for), and hands back results or the error. After an error of the device it ends
without releasing anything: XRT would abort() on a run in flight, and the parent starts a new one.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import Any, cast

from ..errors import AiepipeError
from ..program import Artifact, CpuKernel, HostFunction, Program
from ..verdict import SyncFinding
from .api import DeviceModule
from .emulation import Settings, configure, current
from .events import listen_to_acts
from .faults import Fault, faulty_module
from .results import Array, Repeat, RunOptions
from .sanitized import sanitized_module
from .sanitizer import Sanitizer


@dataclass(frozen=True, slots=True)
class HostedDevice:
    """Which device the child opens: the real pyxrt, or the emulated one with `settings` and perhaps a
    `fault` at its `at_run`-th run. `sanitize`: the sync sanitizer watches."""

    hardware: bool = False
    settings: Settings = Settings()  # noqa: RUF009 (frozen)
    fault: Fault | None = None
    at_run: int = 1
    sanitize: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One call of run_program."""

    program: Program
    function: HostFunction
    artifacts: dict[str, Artifact]
    inputs: list[Array]
    options: RunOptions
    seed: int | None
    cpu_kernels: dict[str, CpuKernel] = field(default_factory=dict[str, CpuKernel])


# from the child: ("doing", text), ("repeat", Repeat), ("outputs", arrays), ("result", RunResult, findings),
# ("error", class, arguments, attributes), ("fault", traceback); to it: HostedDevice, then Request, and after
# a repeat "go" or "reread"

GO, REREAD = "go", "reread"


def main(descriptor: int) -> None:
    """Serves requests until the parent is gone."""
    parent: Connection[Any, Any] = Connection(descriptor)
    listen_to_acts(lambda doing: parent.send(("doing", doing)))
    try:
        module, sanitizer = _open(cast("HostedDevice", parent.recv()))
        while True:
            _serve(parent, cast("Request", parent.recv()), module, sanitizer)
    except AiepipeError as error:
        parent.send(("error", type(error), error.args, error.__dict__))
    except (EOFError, BrokenPipeError):
        pass  # the parent is gone: so is the reason to be here
    except BaseException:  # noqa: BLE001 (whatever it is, the parent must hear of it)
        parent.send(("fault", traceback.format_exc()))
    finally:
        os._exit(0)  # releases nothing: see above


def _serve(
    parent: Connection[Any, Any], request: Request, module: DeviceModule, sanitizer: Sanitizer | None
) -> None:
    from .runner import run_program  # noqa: PLC0415 (the runner knows the parent's side)

    def on_repeat(repeat: Repeat) -> None:
        parent.send(("repeat", replace(repeat, reread=None), repeat.reread is not None))
        while parent.recv() == REREAD:
            assert repeat.reread is not None
            parent.send(("outputs", repeat.reread()))

    options = request.options
    result = run_program(
        request.program,
        request.function,
        request.artifacts,
        request.inputs,
        device=module,
        policy=options.policy,
        repeat=options.repeat,
        seed=request.seed,
        timeout_s=options.timeout_s,
        poison=options.poison,
        keep=options.keep,
        on_repeat=on_repeat,
        poll_ms=options.poll_ms,
        cpu_kernels=request.cpu_kernels,
    )
    findings: tuple[SyncFinding, ...] = () if sanitizer is None else sanitizer.finish()
    parent.send(("result", result, findings))


def _open(hosted: HostedDevice) -> tuple[DeviceModule, Sanitizer | None]:
    if hosted.hardware:
        real = importlib.import_module("pyxrt")
        if not hosted.sanitize:
            return cast("DeviceModule", real), None
        module, watch = sanitized_module(real)
        return cast("DeviceModule", module), watch.sanitizer
    emulation = configure(hosted.settings)
    sanitizer = Sanitizer.attach(current()) if hosted.sanitize else None
    del emulation
    if hosted.fault is not None:
        return faulty_module(hosted.fault, hosted.at_run), sanitizer
    from . import emulated  # noqa: PLC0415

    return emulated, sanitizer


if __name__ == "__main__":
    main(int(sys.argv[1]))
