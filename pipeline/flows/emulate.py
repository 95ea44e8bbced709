"""`aiepipe emulate`: anybody's pyxrt program, unmodified, on the emulated device, under the sanitizer."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from ..report.trace_json import trace_json
from ..timeline import Timeline
from ..verdict import BuildRunReport, DeviceReport
from ..xrt.array_watch import ArrayWatch, HostTrace
from ..xrt.discovery import open_device_module
from ..xrt.emulated_silicon import EmulatedSilicon
from ..xrt.emulation import Emulation, Settings
from ..xrt.hosting import emulated_pyxrt, run_script
from ..xrt.memory import CacheModel, cache_model
from ..xrt.releases import LATEST, check_release
from ..xrt.sanitized import sanitized_pyxrt
from .device import ENGINES, check_conditions
from .program_directory import write_file
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
    """Conditions of `device.CONDITIONS`, with commas."""
    check_cores: bool = False
    trace: str | None = None
    """A file for a timeline."""
    hardware: bool = False
    """On the real pyxrt, under the same sanitizer."""


@dataclass(frozen=True, slots=True)
class EmulatedScript:
    """What came of it: the program's own exit code, and the report with all that was found."""

    exit_code: int
    report: BuildRunReport


def emulate(options: EmulateOptions) -> EmulatedScript:
    """Runs the program to its end. Raises UsageError, DeviceError where the real pyxrt is asked for and
    something is missing; whatever the program raises is its exit code."""
    watch = ArrayWatch(options.check_cores, None if options.trace is None else Timeline())
    settings = _settings(options, watch)
    if options.hardware:
        return _on_hardware(options)
    with emulated_pyxrt(settings, suppress=options.suppress) as host:
        if watch.timeline is not None:
            host.emulation.events.observers.append(HostTrace(watch.timeline).observe)
        exit_code = run_script(options.script, options.arguments, host)
    if options.trace is not None and watch.timeline is not None:
        write_file(Path(options.trace), trace_json(watch.timeline).encode())
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
        array_findings=watch.findings,
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


def _settings(options: EmulateOptions, watch: ArrayWatch) -> Settings:
    if options.engine not in ENGINES:
        raise UsageError(f"no engine is called {options.engine!r}", remedy=f"one of: {', '.join(ENGINES)}")
    check_conditions(options.fail_on)
    for asked, option in ((options.trace, "--trace"), (options.check_cores, "--check")):
        if asked and options.hardware:
            raise UsageError(f"{option} watches the emulated device", remedy="leave --hardware out")
    default = CacheModel()
    name = options.coherency or default.coherency.value
    evict = default.evict if options.evict is None else options.evict
    return Settings(
        seed=options.coherency_seed,
        cache=cache_model(name, evict=evict),
        silicon=EmulatedSilicon("plain" if options.engine == "plain" else "jit", watch),
        release=check_release(options.release),
        lenient=options.lenient,
    )


def _repeat_with(options: EmulateOptions) -> str:
    words = ["aiepipe", "emulate", "--xrt-version", options.release]
    words += ["--coherency-seed", str(options.coherency_seed)]
    words += ["--lenient"] if options.lenient else []
    words += ["--coherency", options.coherency] if options.coherency else []
    words += ["--check"] if options.check_cores else []
    words += ["--evict", f"{options.evict:g}"] if options.evict is not None else []
    return shlex.join([*words, options.script, *options.arguments])
