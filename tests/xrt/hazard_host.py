"""What the host programs of the sanitizer's tests have at hand: a kernel, what it does, its buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from aiepipe.errors import EmulationError
from aiepipe.xrt import emulated as pyxrt
from aiepipe.xrt.silicon import DeviceMemory

from .fake_silicon import fake_stream

TO = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
FROM = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE
SIZE = 256


def copy(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """256 bytes from the first buffer to the second."""
    memory.write(addresses[1], memory.read(addresses[0], SIZE))


def copy_half(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """32 bytes from the first buffer to the second."""
    memory.write(addresses[1], memory.read(addresses[0], 32))


def nothing(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """Reads its input and writes nowhere."""
    memory.read(addresses[0], SIZE)


def fail_at_once(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """Writes nothing and waits for ever."""
    raise EmulationError("waits for lock 1", kind="deadlock")


def fail(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """Writes half of its output, then waits for ever."""
    memory.write(addresses[1], memory.read(addresses[0], 128))
    raise EmulationError("waits for lock 1", kind="deadlock")


@dataclass(slots=True)
class Host:
    """What a host program has at hand: a kernel, an input and an output of 256 bytes."""

    kernel: pyxrt.kernel
    behaviour: str = "copy"
    instructions: pyxrt.bo = field(init=False)
    source: pyxrt.bo = field(init=False)
    target: pyxrt.bo = field(init=False)

    def __post_init__(self) -> None:
        self.source = self.buffer("source")
        self.target = self.buffer("target")
        stream = fake_stream(self.behaviour, range(2))
        self.instructions = pyxrt.bo(
            self.kernel.context.get_device(), len(stream), pyxrt.bo.cacheable, self.kernel.group_id(1)
        )
        self.instructions.label = "instructions"
        self.instructions.write(stream, 0)
        self.instructions.sync(TO)

    def buffer(self, label: str, size: int = SIZE) -> pyxrt.bo:
        made = pyxrt.bo(self.kernel.context.get_device(), size, pyxrt.bo.host_only, self.kernel.group_id(3))
        made.label = label
        return made

    def run(self, source: pyxrt.bo | None = None, target: pyxrt.bo | None = None) -> pyxrt.run:
        made = pyxrt.run(self.kernel)
        buffers = (source or self.source, target or self.target)
        for index, value in enumerate((3, self.instructions, 10, *buffers)):
            made.set_arg(index, value)
        return made

    def write(self, buffer: pyxrt.bo, value: int = 1, size: int = SIZE, seek: int = 0) -> None:
        buffer.write(np.full(size, value, np.uint8), seek)

    def give_input(self) -> None:
        self.write(self.source)
        self.source.sync(TO)

    def launch(self) -> pyxrt.run:
        run = self.run()
        run.start()
        run.wait()
        return run


def host_of(tmp_path: Path, behaviour: str = "copy") -> Host:
    device = pyxrt.device(0)
    uuid = device.register_xclbin(pyxrt.xclbin(str(tmp_path / "x.xclbin")))
    return Host(pyxrt.kernel(pyxrt.hw_context(device, uuid), "MLIR_AIE"), behaviour)
