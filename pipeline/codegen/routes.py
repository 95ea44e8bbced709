"""Circuit-switched routes in one column: between shim, memory tile and core, and for completion tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..formats.cdo import Command, MaskWrite, Write
from ..npu.registers import register
from ..npu.topology import (
    FIRST_COMPUTE_ROW,
    SHIM_DMA_MASTERS,
    SHIM_DMA_SLAVES,
    SHIM_MUX_DMA,
    TOKEN_MASTER,
    Bundle,
    Port,
    TileAddress,
    TileKind,
    master_number,
    slave_number,
)

SHIM = TileAddress(0, 0)
MEMORY = TileAddress(0, 1)
CORE = TileAddress(0, FIRST_COMPUTE_ROW)


@dataclass(frozen=True, slots=True)
class Connection:
    """Inside one tile's stream switch: what `slave` receives goes out at `master`."""

    tile: TileAddress
    slave: Port
    master: Port


def to_core(channel: int) -> tuple[Connection, ...]:
    """Shim MM2S `channel` through the memory tile's row to the core's S2MM of the same number."""
    north, south = Port(Bundle.NORTH, channel), Port(Bundle.SOUTH, channel)
    return (
        Connection(SHIM, SHIM_DMA_SLAVES[channel], north),
        Connection(MEMORY, south, north),
        Connection(CORE, south, Port(Bundle.DMA, channel)),
    )


def from_core(channel: int) -> tuple[Connection, ...]:
    """The core's MM2S `channel` to the shim's S2MM of the same number."""
    north, south = Port(Bundle.NORTH, channel), Port(Bundle.SOUTH, channel)
    return (
        Connection(SHIM, north, SHIM_DMA_MASTERS[channel]),
        Connection(MEMORY, north, south),
        Connection(CORE, Port(Bundle.DMA, channel), south),
    )


TOKENS = (Connection(SHIM, Port(Bundle.CONTROL), TOKEN_MASTER),)


def commands(connections: tuple[Connection, ...]) -> Iterator[Command]:
    """The register writes of these connections, and of the shim's switches between wires and DMA."""
    for connection in connections:
        tile, kind = connection.tile, connection.tile.kind
        master, slave = register(kind, "STREAM_SWITCH_MASTER"), register(kind, "STREAM_SWITCH_SLAVE")
        source = slave_number(kind, connection.slave)
        at_master = tile.address(master.at(master_number(kind, connection.master)))
        yield Write(at_master, master.encode(MASTER_ENABLE=1, CONFIGURATION=source))
        yield Write(tile.address(slave.at(source)), slave.encode(SLAVE_ENABLE=1))
    for connection in connections:
        if connection.tile.kind is not TileKind.SHIM:
            continue
        if connection.slave in SHIM_DMA_SLAVES.values():
            yield _select_dma(connection.tile, "MUX_CONFIG", connection.slave)
        if connection.master in SHIM_DMA_MASTERS.values():
            yield _select_dma(connection.tile, "DEMUX_CONFIG", connection.master)


def _select_dma(shim: TileAddress, name: str, port: Port) -> Command:
    switch = register(shim.kind, name)
    field = switch.field(f"{port.bundle.name}{port.channel}")
    return MaskWrite(shim.address(switch.at()), field.mask, field.place(SHIM_MUX_DMA))
