"""What the emulated device API needs from an xclbin and from the array, and nothing more.

`Silicon` is the seam between the API and the machine behind it: the real one reads artifacts with
`formats/` and runs them on `emulator/`; tests put a small fake in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..program import CallingConvention
from .memory import Bytes

NO_BANK = 0xFFFF
"""Bank of an argument without memory (a scalar), as `group_id` gives it."""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A declared argument. `bank` is its memory bank, None for a scalar; `size_bytes` that of the slot
    in the command (8 for a buffer's address)."""

    name: str
    size_bytes: int
    bank: int | None

    @property
    def is_buffer(self) -> bool:
        return self.bank is not None


@dataclass(frozen=True, slots=True)
class KernelImage:
    """A kernel of an xclbin: its declared arguments and the configuration that it runs on."""

    name: str
    instance: str
    parameters: tuple[KernelParameter, ...]
    convention: CallingConvention
    pdi: bytes

    @property
    def instruction_index(self) -> int:
        """Which argument is the instruction buffer."""
        return 0 if self.convention is CallingConvention.LX6 else 1

    @property
    def count_index(self) -> int:
        """Which argument is the instruction count."""
        return self.instruction_index + 1

    @property
    def first_data_index(self) -> int:
        """Which argument is the first data buffer."""
        return self.instruction_index + 2


@dataclass(frozen=True, slots=True)
class MemoryBank:
    """An entry of MEM_TOPOLOGY."""

    tag: str
    base_address: int
    size_kb: int
    used: bool


@dataclass(frozen=True, slots=True)
class XclbinImage:
    """An xclbin as the device sees it. `uuid` in text form; `columns` that its partition asks for."""

    uuid: str
    platform: str
    kernels: tuple[KernelImage, ...]
    banks: tuple[MemoryBank, ...]
    columns: int
    pdis: Mapping[int, bytes] = field(default_factory=dict[int, bytes])
    """All configurations by PDI id, for streams that load another one."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What is worth telling of a finished run: emulated cycles and warnings."""

    cycles: int
    warnings: tuple[str, ...] = ()


class DeviceMemory(Protocol):
    """DDR as the array reaches it (the same protocol as the emulator's)."""

    def read(self, address: int, length: int) -> Bytes: ...

    def write(self, address: int, data: Bytes) -> None: ...


class InstructionStream(Protocol):
    """A decoded instruction stream."""

    @property
    def arguments(self) -> frozenset[int]:
        """Indices of the data buffers whose addresses it uses (0 is the first one)."""
        ...


class Array(Protocol):
    """A configured partition."""

    def run(
        self, stream: InstructionStream, addresses: Sequence[int], *, deadline: float | None
    ) -> RunSummary:
        """Executes the stream to its end. `deadline` is a time of time.monotonic().

        Raises EmulationError; the array is then in no defined state.
        """
        ...


class Silicon(Protocol):
    """Reads artifacts and makes arrays."""

    def open(self, data: bytes) -> XclbinImage:
        """Raises ArtifactError."""
        ...

    def decode(self, data: bytes) -> InstructionStream:
        """Raises ArtifactError."""
        ...

    def binary(self, data: bytes) -> bytes:
        """The stream's bytes as the device takes them, from text or binary. Raises ArtifactError."""
        ...

    def configure(
        self,
        columns: int,
        memory: DeviceMemory,
        configuration: bytes,
        *,
        images: Mapping[int, bytes],
        deadline: float | None = None,
    ) -> Array:
        """A fresh partition of `columns` columns with a PDI loaded; `images` are all PDIs of the xclbin,
        `deadline` a time of time.monotonic().

        Raises ArtifactError, EmulationError.
        """
        ...
