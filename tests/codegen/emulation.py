"""Runs artifacts on the emulated array: bytes in, arrays out, with DDR that is checked to the word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aiepipe.emulator.machine import Machine, RunReport
from aiepipe.errors import EmulationError
from aiepipe.formats import pdi, xclbin
from aiepipe.formats.instructions import parse_instructions
from aiepipe.program import Artifact

Array = npt.NDArray[Any]

_FIRST_ADDRESS = 0x10000
_GUARD_BYTES = 4096
_APERTURE = 0x80000000


class Ddr:
    """Buffers at known addresses. What lies more than their last word's end away is out of range."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.addresses: list[int] = []
        self.ends: list[int] = []
        at = _FIRST_ADDRESS
        for size in sizes:
            self.addresses.append(at)
            self.ends.append(at + -(-size // 4) * 4)
            at += -(-size // _GUARD_BYTES) * _GUARD_BYTES + _GUARD_BYTES
        self.data = np.full(at, 0xA5, np.uint8)

    def read(self, address: int, length: int) -> npt.NDArray[np.uint8]:
        first = self._checked(address, length)
        return self.data[first : first + length].copy()

    def write(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        first = self._checked(address, len(data))
        self.data[first : first + len(data)] = data

    def _checked(self, address: int, length: int) -> int:
        first = address & ~_APERTURE
        for start, end in zip(self.addresses, self.ends, strict=True):
            if start <= first and first + length <= end:
                return first
        raise EmulationError(f"{length} bytes at {address:#x} are in no buffer", kind="out-of-range")


@dataclass(frozen=True, slots=True)
class Execution:
    """All buffers after each run, and the last run's report."""

    runs: tuple[tuple[Array, ...], ...]
    report: RunReport


def execute(
    artifact: Artifact, buffers: Sequence[Array], *, repeat: int = 1, check: bool = False
) -> Execution:
    """Loads the xclbin's PDI once and runs the stream `repeat` times, the buffers restored before each.

    Fails on a warning of the emulator, and, where it is to `check`, on a finding: none of our programs
    gives one.
    """
    container = xclbin.parse(artifact.xclbin)
    memory = Ddr([buffer.nbytes for buffer in buffers])
    machine = Machine(container.partition().column_width, memory, check=check)
    machine.load(pdi.parse(container.pdi_for(artifact.kernel)).cdo)
    stream = parse_instructions(artifact.instructions)
    runs: list[tuple[Array, ...]] = []
    report: RunReport | None = None
    for _ in range(repeat):
        for address, buffer in zip(memory.addresses, buffers, strict=True):
            memory.data[address : address + buffer.nbytes] = np.frombuffer(buffer.tobytes(), np.uint8)
        report = machine.run(stream, memory.addresses)
        assert report.warnings == ()
        assert not check or report.findings == ()
        runs.append(
            tuple(
                memory.data[address : address + buffer.nbytes].copy().view(buffer.dtype).reshape(buffer.shape)
                for address, buffer in zip(memory.addresses, buffers, strict=True)
            )
        )
    assert report is not None
    return Execution(tuple(runs), report)
