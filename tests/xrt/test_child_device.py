"""A device in a child process: whatever happens to it, the parent says what it was and stays usable."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from aiepipe.errors import DeviceError, RunFailed, UsageError
from aiepipe.xrt.child import HostedDevice
from aiepipe.xrt.child_device import ChildDevice
from aiepipe.xrt.emulation import Settings
from aiepipe.xrt.faults import Fault
from aiepipe.xrt.memory import CacheModel
from aiepipe.xrt.policy import named
from aiepipe.xrt.results import Repeat, RunResult
from aiepipe.xrt.runner import run_program

from .programs import seed_inputs, seed_program, silicon

ROOT = Path(__file__).resolve().parents[2]

SETTINGS = Settings(seed=1, silicon=silicon())


@pytest.fixture(autouse=True)
def _child_finds_the_fake_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def device(fault: Fault | None = None, at_run: int = 1, *, sanitize: bool = False) -> ChildDevice:
    hosted = HostedDevice(settings=SETTINGS, fault=fault, at_run=at_run, sanitize=sanitize)
    return ChildDevice(hosted, grace_s=0.5)


def run(child: ChildDevice, *, repeat: int = 1, timeout_s: float | None = 5.0, **more: object) -> RunResult:
    program, function, artifacts = seed_program()
    policy = named(str(more.get("policy", "default")))
    return run_program(
        program, function, artifacts, seed_inputs(), device=child, repeat=repeat, timeout_s=timeout_s,
        policy=policy, seed=1,
    )  # fmt: skip


def is_right(result: RunResult) -> bool:
    return all(bool(np.all(outputs[0] == 39)) for outputs in result.variants)


def alive(pid: int | None) -> bool:
    return pid is not None and Path(f"/proc/{pid}").exists()


def test_the_same_results_as_in_this_process_and_one_child_for_many_calls() -> None:
    with device() as child:
        assert is_right(run(child, repeat=3))
        first = child.pid
        assert is_right(run(child))
        assert child.pid == first
    assert not alive(first)


@pytest.mark.parametrize(
    ("fault", "code", "told"),
    [
        pytest.param(Fault.HANG, "R001", "ended TIMEOUT (limit 0.3 s)", marks=pytest.mark.slow),
        (Fault.STUCK, "R001", "did not answer for 0.8 s while waiting for 'filled_matmul'"),
        (Fault.WATCHDOG, "R001", "ended TIMEOUT"),
        (Fault.ERROR, "R002", "ended ERROR: the firmware reported an error"),
        pytest.param(
            Fault.DEAD,
            "R002",
            "starting 'filled_matmul' failed: DRM_IOCTL_AMDXDNA_EXEC_CMD",
            marks=pytest.mark.slow,
        ),
        (Fault.ABORT, "L002", "was ended by SIGABRT while starting 'filled_matmul'"),
        (Fault.CRASH, "A001", "was ended by SIGSEGV while starting"),
        (Fault.KILLED, None, "was ended by SIGKILL while starting"),
    ],
)
def test_what_it_was_is_said_and_the_next_call_works(fault: Fault, code: str | None, told: str) -> None:
    with device(fault) as child:
        with pytest.raises(DeviceError) as caught:
            run(child, timeout_s=0.3)
        assert told in str(caught.value)
        assert caught.value.code == code
        assert caught.value.remedy
        assert "compared" in str(caught.value) or fault is Fault.DEAD
        assert child.pid is None
        child._hosted = HostedDevice(settings=SETTINGS)  # pyright: ignore[reportPrivateUsage] (mended)
        assert is_right(run(child))


def test_a_failure_in_a_later_run_keeps_nothing_and_names_the_state() -> None:
    seen: list[int] = []
    program, function, artifacts = seed_program()
    with device(Fault.WATCHDOG, at_run=3) as child, pytest.raises(RunFailed) as caught:
        run_program(
            program, function, artifacts, seed_inputs(), device=child, repeat=5, timeout_s=1.0,
            on_repeat=lambda repeat: seen.append(repeat.index),
        )  # fmt: skip
    assert seen == [1, 2]
    assert caught.value.state == "ERT_CMD_STATE_TIMEOUT"


def test_kill_9_from_outside() -> None:
    with device(Fault.STUCK) as child:
        killer = threading.Thread(target=lambda: _kill_when_there(child))
        killer.start()
        with pytest.raises(RunFailed, match=r"was ended by SIGKILL while waiting for 'filled_matmul'"):
            run(child, timeout_s=None)
        killer.join()


def _kill_when_there(child: ChildDevice) -> None:
    deadline = time.monotonic() + 60
    while not child.waits_for_run and time.monotonic() < deadline:
        time.sleep(0.01)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)


def test_an_exception_in_the_callback_comes_out_and_the_child_goes() -> None:
    def broken(repeat: Repeat) -> None:
        raise KeyError("mine")

    program, function, artifacts = seed_program()
    with device() as child:
        with pytest.raises(KeyError, match="mine"):
            run_program(program, function, artifacts, seed_inputs(), device=child, on_repeat=broken)
        assert child.pid is None
        assert is_right(run(child))


def test_an_interrupt_ends_the_child_and_passes() -> None:
    def interrupt(repeat: Repeat) -> None:
        raise KeyboardInterrupt

    pids: list[int | None] = []
    program, function, artifacts = seed_program()
    with device() as child, pytest.raises(KeyboardInterrupt):
        run_program(
            program, function, artifacts, seed_inputs(), device=child,
            on_repeat=lambda repeat: (pids.append(child.pid), interrupt(repeat))[0],
        )  # fmt: skip
    assert not alive(pids[0])


def test_the_childs_own_errors_keep_their_class_and_facts() -> None:
    program, function, artifacts = seed_program()
    with device() as child, pytest.raises(UsageError, match="takes 2 arguments"):
        run_program(program, function, artifacts, [], device=child)
    with device() as child, pytest.raises(DeviceError, match="no artifact for dispatch") as caught:
        run_program(program, function, {}, seed_inputs(), device=child)
    assert caught.value.remedy == "build the program again"


def test_the_sanitizer_watches_in_the_child() -> None:
    with device(sanitize=True) as child:
        run(child, policy="no-output-presync")
        assert "S002" in [finding.hazard for finding in child.findings]


def test_a_reread_reaches_the_child() -> None:
    """Without evictions the lost lines stay lost: the second reading is as wrong as the first."""
    hosted = HostedDevice(settings=Settings(seed=1, silicon=silicon(), cache=CacheModel(evict=0.0)))
    program, function, artifacts = seed_program()
    again: list[bool] = []

    def look(repeat: Repeat) -> None:
        assert repeat.reread is not None
        again.append(bool(np.array_equal(repeat.reread()[0], repeat.outputs[0])))

    with ChildDevice(hosted) as child:
        run_program(
            program, function, artifacts, seed_inputs(), device=child, repeat=2, on_repeat=look,
            policy=named("no-output-presync"),
        )  # fmt: skip
    assert again == [True, True]
