"""`aiepipe emulate`: anybody's pyxrt program, unmodified, on the emulated device, under the sanitizer."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Generator
from dataclasses import dataclass

from ..errors import UsageError
from ..verdict import BuildRunReport, DeviceReport, Severity
from ..xrt.discovery import open_device_module
from ..xrt.emulated_silicon import EmulatedSilicon
from ..xrt.emulation import Emulation, Settings
from ..xrt.hosting import emulated_pyxrt, run_script
from ..xrt.memory import CacheModel, cache_model
from ..xrt.releases import LATEST, check_release
from ..xrt.sanitized import sanitized_pyxrt
from .device import ENGINES, HAZARD
from .versions import tool_versions


@dataclass(frozen=True, slots=True)
class EmulateOptions:
    """What the user asked. `coherency` and `evict` are None for the model's defaults."""

    script: str
    arguments: tuple[str, ...] = ()
    release: str = LATEST
    lenient: bool = False
    coherency: str | None = None
    evict: float | None = None
    coherency_seed: int = 0
    engine: str = "jit"
    suppress: tuple[str, ...] = ()
    fail_on: str | None = None
    hardware: bool = False
    """On the real pyxrt, under the same sanitizer."""


@dataclass(frozen=True, slots=True)
class EmulatedScript:
    """What came of it: the program's own exit code, and the report with the sanitizer's findings."""

    exit_code: int
    report: BuildRunReport

    def failed_condition(self, options: EmulateOptions) -> str | None:
        """What to say where `--fail-on hazard` was asked for and there is one."""
        errors = [f for f in self.report.findings if f.severity is Severity.ERROR]
        if options.fail_on is None or not errors:
            return None
        return f"--fail-on {HAZARD}: {', '.join(dict.fromkeys(f'{f.hazard} {f.name}' for f in errors))}"


def emulate(options: EmulateOptions) -> EmulatedScript:
    """Runs the program to its end. Raises UsageError, DeviceError where the real pyxrt is asked for and
    something is missing; whatever the program raises is its exit code."""
    settings = _settings(options)
    if options.hardware:
        return _on_hardware(options)
    with emulated_pyxrt(settings, suppress=options.suppress) as host:
        exit_code = run_script(options.script, options.arguments, host)
    cache = settings.cache
    report = BuildRunReport(
        command="emulate",
        file=options.script,
        device=DeviceReport(
            "emulated",
            "npu1 (Phoenix)",
            f"pyxrt {settings.release}{', lenient' if settings.lenient else ''}, host cache "
            f"{cache.coherency.value}, evict {cache.evict:g}, seed {settings.seed}",
        ),
        findings=host.findings,
        warnings=_warnings(host.emulation),
        repeat_with=_repeat_with(options),
        seeds={"coherency": options.coherency_seed},
        versions=tool_versions(),
    )
    return EmulatedScript(exit_code, report)


def _warnings(device: Emulation) -> tuple[str, ...]:
    passed = (f"passed silently: {note}" for note in device.notes)
    return tuple(dict.fromkeys((*device.failures, *passed)))


def _on_hardware(options: EmulateOptions) -> EmulatedScript:
    real, device = open_device_module("hardware")
    with sanitized_pyxrt(real, suppress=options.suppress) as watch:
        exit_code = run_script(options.script, options.arguments, watch)
    report = BuildRunReport(
        command="emulate",
        file=options.script,
        device=device,
        findings=watch.findings,
        repeat_with=shlex.join(["aiepipe", "emulate", "--hardware", options.script, *options.arguments]),
        versions=tool_versions(),
    )
    return EmulatedScript(exit_code, report)


@contextlib.contextmanager
def output_to_stderr() -> Generator[None]:
    """What the program prints goes to standard error, so that standard output is one document."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # where sys.stdout is not descriptor 1
            yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _settings(options: EmulateOptions) -> Settings:
    if options.engine not in ENGINES:
        raise UsageError(f"no engine is called {options.engine!r}", remedy=f"one of: {', '.join(ENGINES)}")
    if options.fail_on not in (None, HAZARD):
        raise UsageError(f"--fail-on {options.fail_on} is no condition of a run", remedy=f"it is: {HAZARD}")
    default = CacheModel()
    name = options.coherency or default.coherency.value
    evict = default.evict if options.evict is None else options.evict
    return Settings(
        seed=options.coherency_seed,
        cache=cache_model(name, evict=evict),
        silicon=EmulatedSilicon(engine="plain" if options.engine == "plain" else "jit"),
        release=check_release(options.release),
        lenient=options.lenient,
    )


def _repeat_with(options: EmulateOptions) -> str:
    words = ["aiepipe", "emulate", "--xrt-version", options.release]
    words += ["--coherency-seed", str(options.coherency_seed)]
    words += ["--lenient"] if options.lenient else []
    words += ["--coherency", options.coherency] if options.coherency else []
    words += ["--evict", f"{options.evict:g}"] if options.evict is not None else []
    return shlex.join([*words, options.script, *options.arguments])
