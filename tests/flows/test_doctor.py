"""The doctor on a machine without an NPU: what the emulated way needs is executed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aiepipe.flows.doctor import BASE, EXTERNAL_TOOLS, Trouble, cache_folder, doctor
from aiepipe.report.doctor import doctor_json
from aiepipe.verdict import Check, CheckStatus, DoctorReport
from aiepipe.xrt.system import System, ToolAnswer

NOTHING = ToolAnswer(None, "not found")


@pytest.mark.slow
def test_the_emulated_way_works_here_and_the_npu_is_one_line(tmp_path: Path) -> None:
    report = doctor(system=System(tmp_path, lambda _: NOTHING))
    failed = [check for check in report.checks if check.status is CheckStatus.FAILED]
    assert not failed
    assert report.usable
    assert not report.hardware
    assert len([check for check in report.checks if check.stage == "NPU"]) == 1
    tools = [check.name for check in report.checks if check.status is CheckStatus.ABSENT]
    assert tools[1:] == [tool.name for tool in EXTERNAL_TOOLS]


def test_a_cache_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("AIEPIPE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(Trouble) as caught:
        cache_folder()
    assert "AIEPIPE_CACHE_DIR" in caught.value.remedy


def test_only_what_is_needed_decides() -> None:
    broken = Check(BASE, "LLVM JIT", CheckStatus.FAILED, "no", "reinstall", needed=True)
    unneeded = Check("NPU", "driver", CheckStatus.FAILED, "no", "modprobe")
    assert not DoctorReport((broken,), hardware=False).usable
    assert DoctorReport((unneeded,), hardware=False).usable


def test_json_says_its_schema_first() -> None:
    check = Check(BASE, "Python", CheckStatus.OK, "3.11", needed=True, seconds=0.12345)
    document = json.loads(doctor_json(DoctorReport((check,), hardware=False)))
    assert next(iter(document)) == "schema"
    assert document["checks"][0]["status"] == "ok"
    assert document["usable"] is True
