"""The event stream of one run: every access, in order, with the line of the host program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aiepipe.xrt import emulated as pyxrt
from aiepipe.xrt.emulation import Emulation
from aiepipe.xrt.events import (
    Allocated,
    DeviceRead,
    DeviceWrite,
    Direction,
    Event,
    Freed,
    HostRead,
    HostWrite,
    Mapped,
    RunFinished,
    RunObserved,
    RunStarted,
    Synced,
    Via,
)

from .fake_silicon import fake_stream, fake_xclbin

TO = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
FROM = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE


@pytest.fixture
def events(emulated_device: Emulation) -> list[Event]:
    seen: list[Event] = []
    emulated_device.events.observers.append(seen.append)
    return seen


def test_a_run_from_allocation_to_release(events: list[Event], tmp_path: Path) -> None:
    path = tmp_path / "x.xclbin"
    path.write_bytes(fake_xclbin("MLIR_AIE", buffers=2))
    device = pyxrt.device(0)
    context = pyxrt.hw_context(device, device.register_xclbin(pyxrt.xclbin(str(path))))
    kernel = pyxrt.kernel(context, "MLIR_AIE")
    stream = fake_stream("add_one", range(2))
    instructions = pyxrt.bo(device, len(stream), pyxrt.bo.cacheable, kernel.group_id(1))
    source = pyxrt.bo(device, 16, pyxrt.bo.host_only, kernel.group_id(3))
    target = pyxrt.bo(device, 128, pyxrt.bo.host_only, kernel.group_id(4))
    window = pyxrt.bo(target, 16, 64)
    instructions.write(stream, 0)
    instructions.sync(TO)
    view = np.frombuffer(source.map(), np.int32)
    view[1:3] = 7
    source.sync(TO)
    run = pyxrt.run(kernel)
    for index, value in enumerate((3, instructions, len(stream) // 4, source, window)):
        run.set_arg(index, value)
    run.start()
    run.wait()
    window.sync(FROM, 16, 0)
    window.read(4, 0)
    window.host_read(4, 4)
    told = [(type(event), getattr(event, "allocation", None)) for event in events]
    assert told == [
        (Allocated, 1),
        (Allocated, 2),
        (Allocated, 3),
        (HostWrite, 1),
        (Synced, 1),
        (Mapped, 2),
        (HostWrite, 2),
        (Synced, 2),
        (RunStarted, None),
        (DeviceRead, 1),
        (DeviceRead, 2),
        (DeviceWrite, 3),
        (RunFinished, None),
        (RunObserved, None),
        (Synced, 3),
        (HostRead, 3),
        (HostRead, 3),
    ]
    by_map = events[6]
    assert isinstance(by_map, HostWrite)
    assert (by_map.offset_bytes, by_map.length_bytes, by_map.via) == (0, 16, Via.MAP)
    started = events[8]
    assert isinstance(started, RunStarted)
    assert [
        (a.index, a.allocation, a.offset_bytes, a.length_bytes, a.instructions) for a in started.arguments
    ] == [
        (1, 1, 0, len(stream), True),
        (3, 2, 0, 16, False),
        (4, 3, 64, 16, False),
    ]
    assert Path(started.site.file).name == "test_events.py"
    assert started.site.function == "test_a_run_from_allocation_to_release"
    assert events[11] == DeviceWrite(1, 3, 64, 16)
    synced = events[14]
    assert isinstance(synced, Synced)
    assert (synced.offset_bytes, synced.length_bytes, synced.direction) == (64, 16, Direction.FROM_DEVICE)
    del view, source, run
    assert [event for event in events if isinstance(event, Freed)] == [Freed(2)]


def test_nobody_listening_costs_no_events(emulated_device: Emulation) -> None:
    assert not emulated_device.events.active
    pyxrt.bo(pyxrt.device(0), 16, pyxrt.bo.host_only, 0).sync(TO)
