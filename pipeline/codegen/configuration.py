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
    loaded = {PROGRAM_MEMORY_OFFSET: design.code, **design.data} if design.code else {}
    control = register(_KIND, "CORE_CONTROL")
    enable = control.field("ENABLE")
    return Configuration(
        elfs=Cdo(
            tuple(
                DmaWrite(CORE.address(offset), data + bytes(-len(data) % WORD_BYTES))
                for offset, data in loaded.items()
            )
        ),
        init=Cdo(tuple(_init(design))),
        enable=Cdo(
            (MaskWrite(CORE.address(control.at()), enable.mask, enable.place(1)),) if design.code else (),
        ),
    )


def _init(design: Design) -> Iterator[Command]:
    control = register(_KIND, "CORE_CONTROL")
    reset = control.field("RESET")
    for value in (1, 0):
        yield MaskWrite(CORE.address(control.at()), reset.mask, reset.place(value))
    lock = register(_KIND, "LOCK_VALUE")
    for number in range(LIMITS[_KIND].locks):
        yield Write(CORE.address(lock.at(number)), lock.encode(LOCK_VALUE=design.locks.get(number, 0)))
    for number, descriptor in design.descriptors.items():
        words = encode(_KIND, descriptor)
        data = b"".join(word.to_bytes(4, "little") for word in words)
        yield DmaWrite(CORE.address(descriptor_offset(_KIND, number)), data)
    for channel in design.channels:
        name = f"DMA_{channel.direction.name}"
        queue, control = register(_KIND, f"{name}_START_QUEUE"), register(_KIND, f"{name}_CTRL")
        yield Write(CORE.address(queue.at(channel.number)), queue.encode(START_BD_ID=channel.first))
        # aie-rt's enable, a masked write that changes nothing: the queue starts a channel
        yield MaskWrite(CORE.address(control.at(channel.number)), 1, 0)
    yield from commands(design.connections)
