"""The device that a command runs on, and what its report says about it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import UsageError
from ..report.trace_json import trace_json
from ..timeline import Timeline
from ..verdict import BuildRunReport, DeviceReport, Severity, SyncFinding, TrackActivity
from ..xrt.api import DeviceModule
from ..xrt.array_watch import ArrayWatch, HostTrace
from ..xrt.child import HostedDevice
from ..xrt.child_device import ChildDevice
from ..xrt.discovery import open_device_module
from ..xrt.emulated_silicon import EmulatedSilicon
from ..xrt.emulation import Settings, current
from ..xrt.memory import Coherency, cache_model, parse_coherency
from ..xrt.policy import SyncPolicy, named
from ..xrt.sanitizer import Sanitizer
from ..xrt.write_ids import Loss
from .activity import summarised
from .program_directory import write_file

DEVICES = ("auto", "hardware", "emulated")
ENGINES = ("jit", "plain")
HAZARD = "hazard"
ARRAY = "array"
CONDITIONS = (HAZARD, ARRAY)

SANITIZE = "AIEPIPE_SYNC_SANITIZER"
"""Set to 1: the sanitizer watches the user's real pyxrt, too."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How to run, as the user asked. `timeout_s` bounds each run's wall time.

    `check_cores` watches cores and their memories; `trace` is the file for a timeline, which has each bundle
    too with `trace_instructions`; `record` keeps one for the report. `fail_on` is one or several of
    CONDITIONS, with commas. `suppress` are hazards that the sanitizer keeps to itself: "S013", or
    "S013@*/driver.py:12" with a pattern of the place.
    """

    device: str = "auto"
    timeout_s: float = 60.0
    policy: str = "default"
    repeat: int = 1
    coherency_seed: int = 0
    engine: str = "jit"
    fail_on: str | None = None
    check_cores: bool = False
    trace: str | None = None
    trace_instructions: bool = False
    record: bool = False
    coherency: str = Coherency.X86_CLFLUSH.value
    suppress: tuple[str, ...] = ()

    def check(self) -> SyncPolicy:
        """The policy, after all names were checked. Raises UsageError."""
        for what, value, known in (
            ("device", self.device, DEVICES),
            ("engine", self.engine, ENGINES),
        ):
            if value not in known:
                raise UsageError(f"no {what} is called {value!r}", remedy=f"one of: {', '.join(known)}")
        parse_coherency(self.coherency)
        check_conditions(self.fail_on)
        if self.trace_instructions and self.trace is None:
            raise UsageError("--trace-instructions belongs to --trace", remedy="add --trace FILE.json")
        return named(self.policy)


_LOSSES = {
    Loss.LOST: "{0}: the host's cache wrote older bytes over {1.size_bytes:,} that the device had written",
    Loss.UNSEEN_BY_HOST: "{0}: the host read {1.size_bytes:,} bytes that the device had written since",
    Loss.UNSEEN_BY_DEVICE: "{0}: the device read {1.size_bytes:,} bytes that the host had written since",
}


@dataclass(frozen=True, slots=True)
class OpenedDevice:
    """A pyxrt-like module and what to say about it. The sanitizer and `watch` look at an emulated one."""

    module: DeviceModule | ChildDevice
    report: DeviceReport
    sanitizer: Sanitizer | None = None
    watch: ArrayWatch = field(default_factory=ArrayWatch)
    trace: str | None = None

    def stop_watching(self) -> None:
        """The sanitizer has seen enough; what it found stays. It judges by what the host program does and
        not by values, so that repeats of the same add nothing but time."""
        if self.sanitizer is not None and self.sanitizer.observe in current().events.observers:
            current().events.observers.remove(self.sanitizer.observe)

    def findings(self) -> tuple[SyncFinding, ...]:
        """Sync hazards of all that ran so far; the host program is over."""
        if isinstance(self.module, ChildDevice):
            return self.module.findings
        return () if self.sanitizer is None else self.sanitizer.finish()

    def lost_writes(self) -> tuple[str, ...]:
        """What the host's cache did to writes, a line a buffer: told though the values may be equal."""
        if isinstance(self.module, ChildDevice) or self.sanitizer is None:
            return ()
        return tuple(
            _LOSSES[lost.loss].format(name, lost) + _times(lost.times)
            for name, lost in current().lost_writes()
        )

    def activity(self) -> tuple[TrackActivity, ...]:
        """When the parts of the array were at work, where that was recorded."""
        return () if self.watch.timeline is None else summarised(self.watch.timeline)

    def write_trace(self) -> None:
        """Writes the timeline, where one was asked for; also of runs that failed. Raises UsageError."""
        if self.trace is not None and self.watch.timeline is not None:
            write_file(Path(self.trace), trace_json(self.watch.timeline).encode())


def _times(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""


def open_device(settings: RunSettings) -> OpenedDevice:
    """The device that the settings name; an emulated one starts anew with its seed, the real one lives in a
    child process.

    Raises DeviceError where hardware was asked for and something is missing, UsageError where it cannot do
    what was asked.
    """
    watch = ArrayWatch(
        settings.check_cores,
        Timeline() if settings.trace is not None or settings.record else None,
        settings.trace_instructions,
    )
    plain = settings.engine == "plain" or settings.trace_instructions
    silicon = EmulatedSilicon("plain" if plain else "jit", watch)
    module, report = open_device_module(
        settings.device,
        settings=Settings(
            seed=settings.coherency_seed,
            cache=cache_model(settings.coherency, write_ids=True),
            silicon=silicon,
        ),
    )
    if report.kind == "hardware":
        for asked, option in ((settings.trace, "--trace"), (settings.check_cores, "--check")):
            if asked:
                raise UsageError(f"{option} watches the emulated device", remedy="add --device emulated")
        sanitize = os.environ.get(SANITIZE) == "1"
        return OpenedDevice(ChildDevice(HostedDevice(hardware=True, sanitize=sanitize)), report)
    if watch.timeline is not None:
        current().events.observers.append(HostTrace(watch.timeline).observe)
    return OpenedDevice(
        module, report, Sanitizer.attach(current(), suppress=settings.suppress), watch, settings.trace
    )


def check_conditions(fail_on: str | None) -> None:
    """Raises UsageError where `--fail-on` names something that a run has not."""
    for name in _conditions(fail_on):
        if name not in CONDITIONS:
            raise UsageError(
                f"--fail-on {name} is no condition of a run",
                remedy=f"one or several of: {', '.join(CONDITIONS)}",
            )


def _conditions(fail_on: str | None) -> tuple[str, ...]:
    return () if fail_on is None else tuple(fail_on.split(","))


def failed_condition(fail_on: str | None, report: BuildRunReport) -> str | None:
    """What to say where `--fail-on` names something that is there: a hazard that can give wrong numbers, a
    finding in the array."""
    found: list[str] = []
    if HAZARD in _conditions(fail_on):
        found += [f"{f.hazard} {f.name}" for f in report.findings if f.severity is Severity.ERROR]
    if ARRAY in _conditions(fail_on):
        found += [f"{f.kind} ({f.tile})" for f in report.array_findings]
    if not found:
        return None
    return f"--fail-on {fail_on}: {', '.join(dict.fromkeys(found))}"
