"""The array's configuration as CDO commands, in the order that real designs have (see npu1's facts):
programs; core reset, locks, BDs, start queues, switches; core enable.

The three parts are the files that mlir-aie's and IREE's tools write, under their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..formats.cdo import Cdo, Command, DmaWrite, MaskWrite, Write
from ..npu.descriptors import BufferDescriptor, descriptor_offset, encode
from ..npu.limits import LIMITS, PROGRAM_MEMORY_OFFSET, WORD_BYTES
from ..npu.registers import register
from ..npu.topology import Direction, TileKind
from .routes import CORE, Connection, commands

_KIND = TileKind.COMPUTE
_CHANNELS = LIMITS[_KIND].channels


@dataclass(frozen=True, slots=True)
class Channel:
    """A DMA channel of the core's tile that starts with BD `first` and runs its ring for ever."""

    direction: Direction
    number: int
    first: int


@dataclass(frozen=True, slots=True)
class Design:
    """One core's program and everything around it. `data` are constants by their offset in its memory."""

    code: bytes
    data: Mapping[int, bytes]
    locks: Mapping[int, int]
    descriptors: Mapping[int, BufferDescriptor]
    channels: Sequence[Channel]
    connections: tuple[Connection, ...]


@dataclass(frozen=True, slots=True)
class Configuration:
    """The CDO in three parts."""

    elfs: Cdo
    init: Cdo
    enable: Cdo

    @property
    def files(self) -> Mapping[str, Cdo]:
        """By the names of the files; the order is that of execution."""
        return {
            "aie_cdo_elfs.bin": self.elfs,
            "aie_cdo_init.bin": self.init,
            "aie_cdo_enable.bin": self.enable,
        }


def configure(design: Design) -> Configuration:
    """The commands that set the array up for `design`."""
    return Configuration(
        elfs=Cdo(tuple(_load(design))),
        init=Cdo(tuple(_init(design))),
        enable=Cdo((_field("CORE_CONTROL", 0, "ENABLE", 1),) if design.code else ()),
    )


def _load(design: Design) -> Iterator[Command]:
    """The program and its constants, into a core and DMA channels that stand still: they may be running
    another design."""
    channels = [(f"DMA_{way.name}_CTRL", number) for way in Direction for number in range(_CHANNELS)]
    yield _field("CORE_CONTROL", 0, "ENABLE", 0)
    yield from (_field(*channel, "RESET", 1) for channel in channels)
    loaded = {PROGRAM_MEMORY_OFFSET: design.code, **design.data} if design.code else {}
    for offset, data in loaded.items():
        yield DmaWrite(CORE.address(offset), data + bytes(-len(data) % WORD_BYTES))
    yield from (_field(*channel, "RESET", 0) for channel in channels)


def _init(design: Design) -> Iterator[Command]:
    for value in (1, 0):
        yield _field("CORE_CONTROL", 0, "RESET", value)
    lock = register(_KIND, "LOCK_VALUE")
    for number in range(LIMITS[_KIND].locks):
        yield Write(CORE.address(lock.at(number)), lock.encode(LOCK_VALUE=design.locks.get(number, 0)))
    for number, descriptor in design.descriptors.items():
        words = encode(_KIND, descriptor)
        data = b"".join(word.to_bytes(4, "little") for word in words)
        yield DmaWrite(CORE.address(descriptor_offset(_KIND, number)), data)
    for channel in design.channels:
        name = f"DMA_{channel.direction.name}"
        queue, control = (register(_KIND, f"{name}_{part}") for part in ("START_QUEUE", "CTRL"))
        yield Write(CORE.address(queue.at(channel.number)), queue.encode(START_BD_ID=channel.first))
        # aie-rt's enable, a masked write that changes nothing: the queue starts a channel
        yield MaskWrite(CORE.address(control.at(channel.number)), 0, 1)
    yield from commands(design.connections)


def _field(name: str, index: int, field: str, value: int) -> Command:
    """Sets one field of a register of the core's tile and leaves the others."""
    found = register(_KIND, name)
    bits = found.field(field)
    return MaskWrite(CORE.address(found.at(index)), bits.mask, bits.place(value))
