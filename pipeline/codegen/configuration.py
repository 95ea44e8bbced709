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
from ..npu.topology import Direction, TileAddress, TileKind
from .routes import Connection, commands


@dataclass(frozen=True, slots=True)
class Channel:
    """A DMA channel that starts with BD `first` and runs its ring for ever."""

    direction: Direction
    number: int
    first: int


@dataclass(frozen=True, slots=True)
class TileDesign:
    """A core's or memory tile's part. `code` and `data` (constants by their offset in memory) are a
    core's; locks not named start with 0; `channels` are those that start by themselves."""

    code: bytes
    data: Mapping[int, bytes]
    locks: Mapping[int, int]
    descriptors: Mapping[int, BufferDescriptor]
    channels: Sequence[Channel]


@dataclass(frozen=True, slots=True)
class Design:
    """What is in the array: tiles, and the wires between them and the shims, in `columns` columns."""

    tiles: Mapping[TileAddress, TileDesign]
    connections: tuple[Connection, ...]
    columns: int = 1


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
        elfs=Cdo(tuple(command for tile, part in design.tiles.items() for command in _load(tile, part))),
        init=Cdo((*_init(design), *commands(design.connections))),
        enable=Cdo(
            tuple(
                _field(tile, "CORE_CONTROL", 0, "ENABLE", 1)
                for tile, part in design.tiles.items()
                if part.code
            )
        ),
    )


def _load(tile: TileAddress, part: TileDesign) -> Iterator[Command]:
    """The program and its constants, into a core and DMA channels that stand still: they may be running
    another design."""
    count = LIMITS[tile.kind].channels
    channels = [(f"DMA_{way.name}_CTRL", number) for way in Direction for number in range(count)]
    if tile.kind is TileKind.COMPUTE:
        yield _field(tile, "CORE_CONTROL", 0, "ENABLE", 0)
    yield from (_field(tile, *channel, "RESET", 1) for channel in channels)
    loaded = {PROGRAM_MEMORY_OFFSET: part.code, **part.data} if part.code else {}
    for offset, data in loaded.items():
        yield DmaWrite(tile.address(offset), data + bytes(-len(data) % WORD_BYTES))
    yield from (_field(tile, *channel, "RESET", 0) for channel in channels)


def _init(design: Design) -> Iterator[Command]:
    for tile, part in design.tiles.items():
        if tile.kind is TileKind.COMPUTE:
            for value in (1, 0):
                yield _field(tile, "CORE_CONTROL", 0, "RESET", value)
        lock = register(tile.kind, "LOCK_VALUE")
        for number in range(LIMITS[tile.kind].locks):
            yield Write(tile.address(lock.at(number)), lock.encode(LOCK_VALUE=part.locks.get(number, 0)))
        for number, descriptor in part.descriptors.items():
            words = encode(tile.kind, descriptor)
            data = b"".join(word.to_bytes(4, "little") for word in words)
            yield DmaWrite(tile.address(descriptor_offset(tile.kind, number)), data)
    for tile, part in design.tiles.items():
        for channel in part.channels:
            name = f"DMA_{channel.direction.name}"
            queue, control = (register(tile.kind, f"{name}_{end}") for end in ("START_QUEUE", "CTRL"))
            yield Write(tile.address(queue.at(channel.number)), queue.encode(START_BD_ID=channel.first))
            # aie-rt's enable, a masked write that changes nothing: the queue starts a channel
            yield MaskWrite(tile.address(control.at(channel.number)), 0, 1)


def _field(tile: TileAddress, name: str, index: int, field: str, value: int) -> Command:
    """Sets one field of a register of the tile and leaves the others."""
    found = register(tile.kind, name)
    bits = found.field(field)
    return MaskWrite(tile.address(found.at(index)), bits.mask, bits.place(value))
