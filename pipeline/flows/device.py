"""The device that a command runs on, and what its report says about it."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError
from ..verdict import BuildRunReport, DeviceReport, Severity, SyncFinding
from ..xrt.api import DeviceModule
from ..xrt.discovery import open_device_module
from ..xrt.emulated_silicon import EmulatedSilicon
from ..xrt.emulation import Settings, current
from ..xrt.policy import SyncPolicy, named
from ..xrt.sanitizer import Sanitizer

DEVICES = ("auto", "hardware", "emulated")
ENGINES = ("jit", "plain")
HAZARD = "hazard"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How to run, as the user asked. `timeout_s` bounds each run's wall time."""

    device: str = "auto"
    timeout_s: float = 60.0
    policy: str = "default"
    repeat: int = 1
    coherency_seed: int = 0
    engine: str = "jit"
    fail_on: str | None = None

    def check(self) -> SyncPolicy:
        """The policy, after all names were checked. Raises UsageError."""
        for what, value, known in (("device", self.device, DEVICES), ("engine", self.engine, ENGINES)):
            if value not in known:
                raise UsageError(f"no {what} is called {value!r}", remedy=f"one of: {', '.join(known)}")
        if self.fail_on not in (None, HAZARD):
            raise UsageError(f"--fail-on {self.fail_on} is no condition of a run", remedy=f"it is: {HAZARD}")
        return named(self.policy)


@dataclass(frozen=True, slots=True)
class OpenedDevice:
    """A pyxrt-like module and what to say about it. The sanitizer watches an emulated one."""

    module: DeviceModule
    report: DeviceReport
    sanitizer: Sanitizer | None = None

    def stop_watching(self) -> None:
        """The sanitizer has seen enough; what it found stays. It judges by what the host program does and
        not by values, so that repeats of the same add nothing but time."""
        if self.sanitizer is not None and self.sanitizer.observe in current().events.observers:
            current().events.observers.remove(self.sanitizer.observe)

    def findings(self) -> tuple[SyncFinding, ...]:
        """Sync hazards of all that ran so far; the host program is over."""
        return () if self.sanitizer is None else self.sanitizer.finish()


def open_device(settings: RunSettings) -> OpenedDevice:
    """The device that the settings name; an emulated one starts anew with its seed.

    Raises DeviceError where hardware was asked for and something is missing.
    """
    silicon = EmulatedSilicon(engine="plain" if settings.engine == "plain" else "jit")
    module, report = open_device_module(
        settings.device, settings=Settings(seed=settings.coherency_seed, silicon=silicon)
    )
    return OpenedDevice(module, report, Sanitizer.attach(current()) if report.kind == "emulated" else None)


def failed_condition(settings: RunSettings, report: BuildRunReport) -> str | None:
    """What to say where `--fail-on hazard` was asked for and there is one that can give wrong numbers."""
    errors = [f for f in report.findings if f.severity is Severity.ERROR]
    if settings.fail_on is None or not errors:
        return None
    return f"--fail-on {HAZARD}: {', '.join(dict.fromkeys(f'{f.hazard} {f.name}' for f in errors))}"
