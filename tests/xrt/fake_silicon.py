"""A machine small enough to read: it writes the right result into DDR, or fails as it is told.

An "xclbin" is JSON here, and an "instruction stream" a name and the arguments that it uses; what a name
does is a Python function over DDR.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from aiepipe.errors import ArtifactError
from aiepipe.program import CallingConvention
from aiepipe.xrt.silicon import (
    Array,
    DeviceMemory,
    InstructionStream,
    KernelImage,
    KernelParameter,
    MemoryBank,
    RunSummary,
    XclbinImage,
)

Behaviour = Callable[[DeviceMemory, Sequence[int]], None]

HOST, SRAM = 0, 1


def fake_xclbin(
    kernel: str = "MLIR_AIE", *, buffers: int = 3, columns: int = 1, convention: str = "txn"
) -> bytes:
    """The bytes that FakeSilicon.open reads."""
    return json.dumps(
        {"kernel": kernel, "buffers": buffers, "columns": columns, "convention": convention}
    ).encode()


def fake_stream(behaviour: str, arguments: Sequence[int]) -> bytes:
    """A stream with a TXN-like header (its size in word 3) that names what is to happen."""
    body = json.dumps([behaviour, list(arguments)]).encode()
    body += b" " * (-len(body) % 4)
    header = np.array([0x06030100, 0x0104, 1, 16 + len(body)], "<u4").tobytes()
    return header + body


@dataclass(frozen=True, slots=True)
class FakeStream:
    behaviour: str
    arguments: frozenset[int]


@dataclass(slots=True)
class FakeArray:
    memory: DeviceMemory
    behaviours: Mapping[str, Behaviour]

    def run(
        self, stream: InstructionStream, addresses: Sequence[int], *, deadline: float | None
    ) -> RunSummary:
        assert isinstance(stream, FakeStream)
        self.behaviours[stream.behaviour](self.memory, addresses)
        return RunSummary(cycles=1000)


@dataclass(slots=True)
class FakeSilicon:
    behaviours: dict[str, Behaviour]
    configured: int = field(default=0)

    def open(self, data: bytes) -> XclbinImage:
        try:
            facts = json.loads(data)
        except ValueError as error:
            raise ArtifactError("not an xclbin", artifact="xclbin", offset=0) from error
        is_txn = facts["convention"] == "txn"
        scalars = [KernelParameter("opcode", 8, None)] if is_txn else []
        parameters = [
            *scalars,
            KernelParameter("instr", 8, SRAM),
            KernelParameter("ninstr", 4, None),
            *(KernelParameter(f"bo{index}", 8, HOST) for index in range(facts["buffers"])),
        ]
        kernel = KernelImage(
            facts["kernel"],
            "MLIRAIE",
            tuple(parameters),
            CallingConvention.TXN if is_txn else CallingConvention.LX6,
            b"pdi",
        )
        banks = (MemoryBank("HOST", 0x4000000, 0x10000, True), MemoryBank("SRAM", 0x4000000, 0xC000, True))
        identity = f"00000000-0000-0000-0000-{zlib.crc32(data):012x}"
        return XclbinImage(identity, "", (kernel,), banks, facts["columns"])

    def decode(self, data: bytes) -> FakeStream:
        size = int.from_bytes(data[12:16], "little")
        if data[:4] != b"\x00\x01\x03\x06" or size != len(data):
            raise ArtifactError("no instruction stream", artifact="instruction stream", offset=0)
        behaviour, arguments = json.loads(data[16:])
        return FakeStream(behaviour, frozenset(arguments))

    def binary(self, data: bytes) -> bytes:
        return data

    def configure(
        self,
        columns: int,
        memory: DeviceMemory,
        configuration: bytes,
        *,
        images: Mapping[int, bytes],
        deadline: float | None = None,
    ) -> Array:
        assert configuration == b"pdi"
        self.configured += 1
        return FakeArray(memory, self.behaviours)
