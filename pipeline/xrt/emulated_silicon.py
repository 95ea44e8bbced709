"""The real thing behind the emulated API: artifacts read by `formats/`, run by `emulator/`.

Imported only where an emulated run is wanted, as it brings the emulator with it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..emulator.machine import EngineName, Machine
from ..errors import ArtifactError, EmulationError
from ..formats import instructions, lx6, pdi, xclbin
from ..formats.cdo import Cdo
from ..formats.lx6 import Lx6Stream
from ..formats.txn import Transaction
from ..formats.txn_operations import DdrPatch, LoadPdi
from .array_watch import ArrayWatch
from .silicon import (
    Array,
    DeviceMemory,
    InstructionStream,
    KernelImage,
    KernelParameter,
    MemoryBank,
    RunSummary,
    XclbinImage,
)


@dataclass(frozen=True, slots=True)
class DecodedStream:
    """A stream, the data buffers that it patches into descriptors, the PDIs that it loads."""

    stream: Transaction | Lx6Stream
    arguments: frozenset[int]
    pdis: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class EmulatedSilicon:
    """Reads real artifacts; arrays are `emulator.machine.Machine`s whose cores run on `engine`."""

    engine: EngineName = "jit"
    watch: ArrayWatch = field(default_factory=ArrayWatch)

    def open(self, data: bytes) -> XclbinImage:
        """Raises ArtifactError: not an xclbin, a section missing, a kernel without a PDI, not for npu1."""
        parsed = xclbin.parse(data)
        partition = parsed.partition()
        return XclbinImage(
            str(parsed.uuid),
            parsed.platform,
            tuple(_kernel(parsed, info) for info in parsed.kernels()),
            tuple(
                MemoryBank(bank.tag, bank.base_address, bank.size_kb, bank.used)
                for bank in parsed.memory_banks()
            ),
            partition.column_width,
            {group.pdi_id: image.image for image in partition.pdis for group in image.groups},
        )

    def decode(self, data: bytes) -> DecodedStream:
        """Text or binary, TXN or lx6. Raises ArtifactError."""
        stream = instructions.parse_instructions(data)
        if isinstance(stream, Transaction):
            stream.require_npu1()
            used = {op.argument for op in stream.ops if isinstance(op, DdrPatch)}
            loaded = frozenset(op.pdi_id for op in stream.ops if isinstance(op, LoadPdi))
        else:
            used = {op.argument for op in stream.ops if isinstance(op, lx6.WriteBd)}
            loaded = frozenset[int]()
        return DecodedStream(stream, frozenset(used), loaded)

    def binary(self, data: bytes) -> bytes:
        """The words as the device takes them. Raises ArtifactError."""
        return instructions.to_binary(data)

    def configure(
        self,
        columns: int,
        memory: DeviceMemory,
        configuration: bytes,
        *,
        images: Mapping[int, bytes],
        deadline: float | None = None,
    ) -> Array:
        """A machine with the PDI's CDO loaded. Raises ArtifactError, EmulationError."""
        machine = Machine(
            columns, memory, engine=self.engine, check=self.watch.check, trace=self.watch.trace()
        )
        machine.load(_commands(configuration), deadline=deadline)
        return _MachineArray(machine, images, self.watch)


@dataclass(slots=True)
class _MachineArray:
    machine: Machine
    images: Mapping[int, bytes]
    watch: ArrayWatch

    def run(
        self, stream: InstructionStream, addresses: Sequence[int], *, deadline: float | None
    ) -> RunSummary:
        """Raises EmulationError."""
        assert isinstance(stream, DecodedStream), "decoded by another silicon"
        images = {number: _commands(self.images[number]) for number in stream.pdis & self.images.keys()}
        try:
            report = self.machine.run(stream.stream, addresses, images=images, deadline=deadline)
        except EmulationError:
            self.watch.found(self.machine.take_findings())
            raise
        self.watch.note(report)
        return RunSummary(report.cycles, report.warnings)


@functools.lru_cache(maxsize=32)  # kernels of one xclbin take turns: each turn configures the array anew
def _commands(image: bytes) -> Cdo:
    """What a PDI does to the array. Raises ArtifactError."""
    return pdi.parse(image).cdo


def _kernel(parsed: xclbin.Xclbin, info: xclbin.KernelInfo) -> KernelImage:
    parameters = tuple(
        KernelParameter(argument.name, argument.size_bytes, argument.bank if argument.is_global else None)
        for argument in info.arguments
    )
    image = KernelImage(info.name, info.instance, parameters, info.convention, parsed.pdi_for(info))
    if len(parameters) < image.first_data_index:
        raise ArtifactError(
            f"kernel '{info.name}' declares {len(parameters)} arguments: too few for an NPU kernel "
            f"called the {info.convention.value} way",
            artifact="xclbin",
        )
    return image
