"""The doctor's look at the NPU: what there is, whether this user may use it, and whether it answers.

Facts: PCI ids, sysfs files and limits of the amdxdna driver. Without an NPU one check says so; with one
every link from the PCI device to an opened pyxrt device is tried, each with its remedy.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..verdict import Check, CheckStatus
from .discovery import Probe, find_pyxrt
from .failures import BY_CODE, explain
from .system import System

STAGE = "NPU"

AMD_VENDOR = "0x1022"

HEAP_BYTES = 64 << 20
"""What the driver pins for each process on KMQ devices."""


@dataclass(frozen=True, slots=True)
class Generation:
    """An NPU by its PCI id: columns of its array, and how many contexts it has in all."""

    name: str
    columns: int
    contexts: int


_GENERATIONS: dict[tuple[str | None, str | None], Generation] = {
    ("0x1502", None): Generation("npu1 (Phoenix, Hawk Point)", 5, 6),
    ("0x17f0", "0x10"): Generation("npu4 (Strix)", 8, 16),
    ("0x17f0", "0x11"): Generation("npu5 (Strix Halo)", 8, 16),
    ("0x17f0", "0x20"): Generation("npu6 (Krackan)", 8, 16),
}
_NEWER = frozenset({"0x17f1", "0x17f2", "0x17f3", "0x1b0a", "0x1b0b", "0x1b0c"})

_DEVICE_TYPES = {
    "0": "KMQ: not cache coherent, so missing syncs show on this machine",
    "1": "UMQ: cache coherent; missing syncs cannot show on this machine, and do on others",
    "2": "PF: the management function, not the one that programs use",
}

_OPEN = (
    "import pyxrt; d = pyxrt.device(0); k = getattr(pyxrt, 'xrt_info_device', None); "
    "print(d.get_info(k.name) if k is not None else 'opened')"
)


def examine_npu(system: System) -> tuple[bool, tuple[Check, ...]]:
    """Whether a run could use an NPU, and the checks that say so."""
    found = _pci_devices(system)
    nodes = system.glob("dev/accel/accel*")
    if not found and not nodes:
        detail = "there is no NPU on this machine (no PCI device, no /dev/accel): the emulated one is used"
        return False, (_check("device", CheckStatus.ABSENT, detail),)
    checks = tuple(_all(system, found, nodes))
    return all(check.status is not CheckStatus.FAILED for check in checks), checks


def _all(system: System, found: list[Path], nodes: list[Path]) -> Iterator[Check]:
    generation = _generation(found)
    yield _device(found, generation)
    yield _node(nodes)
    yield _driver(system)
    yield _firmware(system)
    yield _device_type(system)
    yield _memlock(system)
    yield _pyxrt(system)
    yield _contexts(system, nodes, generation)
    if nodes:
        yield _opened(system)


# --------------------------------------------------------------------------- one link each


def _pci_devices(system: System) -> list[Path]:
    known = {device for device, _ in _GENERATIONS} | _NEWER
    return [
        folder
        for folder in system.glob("sys/bus/pci/devices/*")
        if _text(folder / "vendor") == AMD_VENDOR and _text(folder / "device") in known
    ]


def _generation(found: list[Path]) -> Generation | None:
    for folder in found:
        device = _text(folder / "device")
        for revision in (_text(folder / "revision"), None):
            known = _GENERATIONS.get((device, revision))
            if known is not None:
                return known
    return None


def _device(found: list[Path], generation: Generation | None) -> Check:
    if not found:
        return _check(
            "device",
            CheckStatus.WARNING,
            "no PCI device of a known NPU, but a device node",
            "a container may hide /sys; else this is another accelerator",
        )
    where = found[0].name
    if generation is None:
        identity = f"{_text(found[0] / 'device')}, revision {_text(found[0] / 'revision')}"
        return _check(
            "device", CheckStatus.WARNING, f"{where}: an NPU of a generation that aiepipe does not know "
            f"({identity})", "the built-in backend compiles for npu1 only",
        )  # fmt: skip
    detail = f"{where}: {generation.name}, {generation.columns} columns"
    if generation.columns != 5:
        remedy = "the built-in backend compiles for npu1; use an external one"
        return _check("device", CheckStatus.WARNING, detail, remedy)
    return _check("device", CheckStatus.OK, detail)


def _node(nodes: list[Path]) -> Check:
    if not nodes:
        return _check(
            "device node",
            CheckStatus.FAILED,
            "the NPU has no device node (/dev/accel/accel*): no driver is bound to it",
            "install the amdxdna driver (package amdxdna-dkms, or Linux 6.14 and later)",
        )
    node = nodes[0]
    if not os.access(node, os.R_OK | os.W_OK):
        state = node.stat()
        detail = f"no right to open {node} (group {state.st_gid}, mode {stat.S_IMODE(state.st_mode):04o})"
        return _failed("device node", detail, "E003")
    return _check("device node", CheckStatus.OK, f"{node}, readable and writable")


def _driver(system: System) -> Check:
    if not (system.root / "sys/module/amdxdna").is_dir():
        return _check(
            "driver",
            CheckStatus.FAILED,
            "the kernel module amdxdna is not loaded",
            "modprobe amdxdna; if there is none: package amdxdna-dkms, or Linux 6.14 and later",
        )
    kernel = system.read("proc/sys/kernel/osrelease") or "?"
    version = system.read("sys/module/amdxdna/version") or "that of the kernel"
    return _check("driver", CheckStatus.OK, f"amdxdna {version}, Linux {kernel}")


def _firmware(system: System) -> Check:
    version = _attribute(system, "fw_version")
    if not version or set(version) <= set("0."):
        return _failed("firmware", "the driver reports no firmware: it was not loaded", "E004")
    return _check("firmware", CheckStatus.OK, version)


def _device_type(system: System) -> Check:
    kind = _attribute(system, "device_type")
    if kind is None:
        detail = "unknown (an older driver does not tell); npu1 to npu6 are not cache coherent"
        return _check("device type", CheckStatus.WARNING, detail)
    return _check("device type", CheckStatus.OK, _DEVICE_TYPES.get(kind, f"unknown type {kind}"))


def _memlock(system: System) -> Check:
    limit = system.locked_memory_limit()
    if limit is not None and limit < HEAP_BYTES:
        detail = f"RLIMIT_MEMLOCK is {limit >> 20} MiB, the driver pins {HEAP_BYTES >> 20} MiB"
        return _failed("locked memory", detail, "E001")
    shown = "no limit" if limit is None else f"{limit >> 20} MiB"
    return _check("locked memory", CheckStatus.OK, shown)


def _pyxrt(system: System) -> Check:
    module, fault, remedy = find_pyxrt(Probe(import_module=system.import_module))
    if module is None:
        return _check("pyxrt", CheckStatus.FAILED, fault, remedy)
    return _check("pyxrt", CheckStatus.OK, str(getattr(module, "__file__", "?")))


def _contexts(system: System, nodes: list[Path], generation: Generation | None) -> Check:
    limit = "" if generation is None else f" of {generation.contexts} contexts"
    holders = _holders(system, {str(Path("/") / node.relative_to(system.root)) for node in nodes})
    if not holders:
        return _check("other users", CheckStatus.OK, f"no other process of this user holds the NPU{limit}")
    names = ", ".join(f"{name} ({pid})" for pid, name in holders)
    detail = f"the NPU is open in {names}; they share its time and the number{limit or ' of contexts'}"
    return _check("other users", CheckStatus.WARNING, detail, "close them before measuring or testing")


def _opened(system: System) -> Check:
    answer = system.execute([system.python, "-c", _OPEN])
    if answer.code == 0:
        return _check("opening it", CheckStatus.OK, answer.first_line)
    said = answer.text.strip().splitlines()
    last = said[-1] if said else f"exit code {answer.code}"
    known = explain(answer.text)
    if known is None:
        return _check("opening it", CheckStatus.FAILED, last, "see dmesg for amdxdna")
    return _failed("opening it", last, known.code)


# --------------------------------------------------------------------------- small things


def _check(name: str, status: CheckStatus, detail: str, remedy: str | None = None) -> Check:
    return Check(STAGE, name, status, detail, remedy)


def _failed(name: str, detail: str, code: str) -> Check:
    return _check(name, CheckStatus.FAILED, f"{code}: {detail}", BY_CODE[code].remedy)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


def _attribute(system: System, name: str) -> str | None:
    """A file of the driver's in sysfs."""
    for folder in system.glob("sys/class/accel/accel*/device"):
        text = _text(folder / name)
        if text is not None:
            return text
    return None


def _holders(system: System, nodes: set[str]) -> list[tuple[int, str]]:
    """Other processes with a descriptor on one of the nodes, as far as this user may look."""
    found: dict[int, str] = {}
    for link in system.root.glob("proc/[0-9]*/fd/*"):
        try:
            target = str(link.readlink())
        except OSError:
            continue  # it has ended, or is another user's
        if target in nodes:
            pid = int(link.parent.parent.name)
            if pid != os.getpid():
                found[pid] = system.read(f"proc/{pid}/comm") or "?"
    return sorted(found.items())
