"""Finds the device to run on: the user's pyxrt and an NPU, or the emulated one.

pyxrt is no PyPI package: XRT installs it for one CPython. Two other things answer to its names, PyPI's
and Debian 12's `xrt` (an X-ray tracer) and a pyxrt built for another Python; both are told apart here
(docs/syncs.md). The real module is imported only when it is wanted.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ..errors import DeviceError, UsageError
from ..verdict import DeviceReport
from . import emulated
from .api import DeviceModule, device_name
from .emulation import Settings, configure

NEEDED = ("device", "xclbin", "hw_context", "kernel", "run", "bo", "xclBOSyncDirection", "ert_cmd_state")
"""What the runner takes from pyxrt: a module without them is another one, or too old (before XRT 2.16)."""

INSTALL = Path("/opt/xilinx/xrt/python")
"""Where XRT's own packages put pyxrt; `setup.sh` adds it to PYTHONPATH."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What of the system discovery looks at; tests replace it."""

    import_module: Callable[[str], object] = importlib.import_module
    device_nodes: Callable[[], Sequence[Path]] = field(
        default=lambda: sorted(Path("/dev/accel").glob("accel*"))
    )
    readable: Callable[[Path], bool] = field(default=lambda path: os.access(path, os.R_OK | os.W_OK))
    install: Path = INSTALL


@dataclass(frozen=True, slots=True)
class Hardware:
    """What there is for a run on hardware. `absent` names in words what is missing; empty: all is there."""

    module: DeviceModule | None
    absent: tuple[str, ...]
    remedies: tuple[str, ...]


def find_hardware(probe: Probe | None = None) -> Hardware:
    """Looks for pyxrt and a device node that this user may open."""
    probe = probe if probe is not None else Probe()
    module, fault, remedy = find_pyxrt(probe)
    absent, remedies = ([fault], [remedy]) if fault else ([], [])
    nodes = probe.device_nodes()
    if not nodes:
        absent.append("no NPU device node (/dev/accel/accel*)")
        remedies.append("install the amdxdna driver (package amdxdna-dkms, or Linux 6.14 and later)")
    elif not any(probe.readable(node) for node in nodes):
        absent.append(f"no right to open {nodes[0]}")
        remedies.append("join the group 'render' (sudo usermod -aG render $USER), then log in again")
    return Hardware(module, tuple(absent), tuple(remedies))


def open_device_module(
    kind: str = "auto", *, settings: Settings | None = None, probe: Probe | None = None
) -> tuple[DeviceModule, DeviceReport]:
    """The pyxrt-like module to run on, and what to say of it.

    `kind` is "auto" (hardware where all of it is there, else emulated), "hardware" or "emulated";
    `settings` are those of the emulated device. Raises UsageError for another kind, DeviceError when
    hardware is asked for and something is absent.
    """
    if kind not in ("auto", "hardware", "emulated"):
        raise UsageError(f"no device is called '{kind}'", remedy="one of: auto, hardware, emulated")
    if kind != "emulated":
        found = find_hardware(probe)
        if found.module is not None and not found.absent:
            return found.module, _describe(found.module)
        if kind == "hardware":
            raise DeviceError(
                f"there is no NPU to run on: {'; '.join(found.absent)}",
                remedy="; ".join([*found.remedies, "or run on the emulated one: --device emulated"]),
            )
    settings = settings if settings is not None else Settings()
    configure(settings)
    cache = settings.cache
    prefetch = f", prefetch {cache.prefetch:g}" if cache.prefetch else ""
    return emulated, DeviceReport(
        "emulated",
        "npu1 (Phoenix)",
        f"host cache {cache.name}, evict {cache.evict:g}{prefetch}, seed {settings.seed}",
    )


def find_pyxrt(probe: Probe) -> tuple[DeviceModule | None, str, str]:
    """The module, or what is wrong and what to do."""
    try:
        module = probe.import_module("pyxrt")
    except ImportError as error:
        return None, *_explain_import(error, probe.install)
    missing = [name for name in NEEDED if not hasattr(module, name)]
    if missing:
        where = getattr(module, "__file__", "?")
        return (
            None,
            f"the module pyxrt ({where}) has no {', '.join(missing)}",
            "it is another package or an XRT before 2.16: put XRT's own python directory first in PYTHONPATH",
        )
    return cast("DeviceModule", module), "", ""


def _explain_import(error: ImportError, install: Path) -> tuple[str, str]:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    built = sorted(install.glob("pyxrt*.so")) if install.is_dir() else []
    if built:
        tag = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
        if any(tag in path.name for path in built):
            return (
                f"pyxrt is in {install} but not importable ({error})",
                f"source {install.parent}/setup.sh, or add {install} to PYTHONPATH",
            )
        return (
            f"pyxrt is built for another Python than this one ({version}): {built[0].name}",
            "run with the Python that it was built for, most often /usr/bin/python3",
        )
    trap = " (PyPI's and Debian 12's 'xrt' are an X-ray tracer)" if _installed("xrt") else ""
    return (
        f"no module pyxrt for Python {version}{trap}",
        "pyxrt comes with XRT, not from PyPI: package python3-xrt of ppa:amd-team/xrt, or XRT's own packages",
    )


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _describe(module: DeviceModule) -> DeviceReport:
    """Asks the device for its name."""
    try:
        device = module.device(0)
        name = device_name(module, device)
    except RuntimeError as error:
        raise DeviceError(
            f"the NPU could not be opened: {error}",
            remedy="see dmesg for amdxdna; another program may hold it",
        ) from error
    return DeviceReport("hardware", name, f"pyxrt from {getattr(module, '__file__', '?')}")
