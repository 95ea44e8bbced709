"""The device that a command runs on, and what its report says about it."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError
from ..verdict import DeviceReport
from ..xrt.api import DeviceModule
from ..xrt.discovery import open_device_module
from ..xrt.emulated_silicon import EmulatedSilicon
from ..xrt.emulation import Settings
from ..xrt.policy import SyncPolicy, named

DEVICES = ("auto", "hardware", "emulated")
ENGINES = ("jit", "plain")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How to run, as the user asked. `timeout_s` bounds each run's wall time."""

    device: str = "auto"
    timeout_s: float = 60.0
    policy: str = "default"
    repeat: int = 1
    coherency_seed: int = 0
    engine: str = "jit"

    def check(self) -> SyncPolicy:
        """The policy, after all names were checked. Raises UsageError."""
        for what, value, known in (("device", self.device, DEVICES), ("engine", self.engine, ENGINES)):
            if value not in known:
                raise UsageError(f"no {what} is called {value!r}", remedy=f"one of: {', '.join(known)}")
        return named(self.policy)


@dataclass(frozen=True, slots=True)
class OpenedDevice:
    """A pyxrt-like module and what to say about it."""

    module: DeviceModule
    report: DeviceReport


def open_device(settings: RunSettings) -> OpenedDevice:
    """The device that the settings name; an emulated one starts anew with its seed.

    Raises DeviceError where hardware was asked for and something is missing.
    """
    silicon = EmulatedSilicon(engine="plain" if settings.engine == "plain" else "jit")
    module, report = open_device_module(
        settings.device, settings=Settings(seed=settings.coherency_seed, silicon=silicon)
    )
    return OpenedDevice(module, report)
