"""What the doctor says of machines with and without an NPU. The machine is a folder of files here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TypedDict

import pytest
from typing_extensions import Unpack

from aiepipe.verdict import Check, CheckStatus
from aiepipe.xrt.discovery import NEEDED
from aiepipe.xrt.examination import examine_npu
from aiepipe.xrt.system import System, ToolAnswer, execute

PHOENIX = {
    "sys/bus/pci/devices/0000:c6:00.1/vendor": "0x1022",
    "sys/bus/pci/devices/0000:c6:00.1/device": "0x1502",
    "sys/bus/pci/devices/0000:c6:00.1/revision": "0x00",
    "dev/accel/accel0": "",
    "sys/module/amdxdna/version": "2.21.0",
    "sys/class/accel/accel0/device/fw_version": "1.5.5.391",
    "sys/class/accel/accel0/device/device_type": "0",
    "proc/sys/kernel/osrelease": "6.14.0",
}


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def pyxrt(name: str) -> object:
    module = ModuleType(name)
    for needed in NEEDED:
        setattr(module, needed, object())
    return module


def no_pyxrt(name: str) -> object:
    raise ModuleNotFoundError(f"No module named '{name}'", name=name)


def answering(code: int | None, text: str):
    def answer(command: Sequence[str]) -> ToolAnswer:
        return ToolAnswer(code, text)

    return answer


class Change(TypedDict, total=False):
    without: list[str]
    with_: dict[str, str]
    module: bool
    memlock: int
    opened: ToolAnswer


def phoenix(root: Path, **change: Unpack[Change]) -> dict[str, Check]:
    files = {name: text for name, text in PHOENIX.items() if name not in change.get("without", [])}
    files |= change.get("with_", {})
    opened = change.get("opened", ToolAnswer(0, "RyzenAI-npu1\n"))
    system = System(
        tree(root, files),
        answering(opened.code, opened.text),
        pyxrt if change.get("module", True) else no_pyxrt,
        lambda: change.get("memlock"),
    )
    _, checks = examine_npu(system)
    return {check.name: check for check in checks}


def test_without_an_npu_one_line_says_so(tmp_path: Path) -> None:
    hardware, checks = examine_npu(System(tmp_path))
    assert not hardware
    (check,) = checks
    assert check.status is CheckStatus.ABSENT
    assert "there is no NPU on this machine" in check.detail
    assert "the emulated one is used" in check.detail


def test_a_phoenix_in_order(tmp_path: Path) -> None:
    checks = phoenix(tmp_path)
    assert {check.status for check in checks.values()} == {CheckStatus.OK}
    assert checks["device"].detail == "0000:c6:00.1: npu1 (Phoenix, Hawk Point), 5 columns"
    assert checks["driver"].detail == "amdxdna 2.21.0, Linux 6.14.0"
    assert "missing syncs show on this machine" in checks["device type"].detail
    assert checks["opening it"].detail == "RyzenAI-npu1"
    assert "of 6 contexts" in checks["other users"].detail


@pytest.mark.parametrize(
    ("change", "name", "told", "remedy"),
    [
        ({"without": ["dev/accel/accel0"]}, "device node", "no driver is bound", "amdxdna-dkms"),
        ({"without": ["sys/module/amdxdna/version"]}, "driver", "not loaded", "modprobe amdxdna"),
        ({"with_": {"sys/class/accel/accel0/device/fw_version": "0.0.0.0"}}, "firmware", "E004", "firmware"),
        ({"memlock": 8 << 20}, "locked memory", "E001: RLIMIT_MEMLOCK is 8 MiB", "ulimit -l unlimited"),
        ({"module": False}, "pyxrt", "no module pyxrt for Python", "not from PyPI"),
        (
            {"opened": ToolAnswer(1, "RuntimeError: mmap(...) failed (err=-11): Resource temporarily unav")},
            "opening it",
            "E001",
            "ulimit",
        ),
        ({"opened": ToolAnswer(-6, "strange\nlast words")}, "opening it", "last words", "dmesg"),
    ],
)
def test_what_is_wrong_is_named_with_its_remedy(
    tmp_path: Path, change: Change, name: str, told: str, remedy: str
) -> None:
    check = phoenix(tmp_path, **change)[name]
    assert check.status is CheckStatus.FAILED
    assert told in check.detail
    assert remedy in (check.remedy or "")


def test_a_coherent_device_cannot_show_sync_bugs(tmp_path: Path) -> None:
    checks = phoenix(tmp_path, with_={"sys/class/accel/accel0/device/device_type": "1"})
    assert "missing syncs cannot show" in checks["device type"].detail


def test_another_generation_is_named_and_the_backend_does_not_fit(tmp_path: Path) -> None:
    folder = "sys/bus/pci/devices/0000:c6:00.1"
    check = phoenix(tmp_path, with_={f"{folder}/device": "0x17f0", f"{folder}/revision": "0x11"})["device"]
    assert check.status is CheckStatus.WARNING
    assert "npu5 (Strix Halo), 8 columns" in check.detail
    assert "external one" in (check.remedy or "")


def test_other_processes_that_hold_the_npu_are_listed(tmp_path: Path) -> None:
    descriptors = tmp_path / "proc/4242/fd"
    descriptors.mkdir(parents=True)
    (descriptors / "7").symlink_to("/dev/accel/accel0")
    check = phoenix(tmp_path, with_={"proc/4242/comm": "llm-server"})["other users"]
    assert check.status is CheckStatus.WARNING
    assert "llm-server (4242)" in check.detail


def test_a_tool_is_executed_and_not_looked_for(tmp_path: Path) -> None:
    """Debian 12's xclbinutil is a wrapper of a missing file: `which` finds it."""
    wrapper = tmp_path / "xclbinutil"
    wrapper.write_text("#!/bin/sh\nexec /usr/bin/unwrapped/none/xclbinutil\n")
    wrapper.chmod(0o755)
    assert execute([str(wrapper), "--version"]).code == 127
    assert execute([str(tmp_path / "absent")]) == ToolAnswer(None, "not found")
