"""Tiles of an npu1 array, their ports, and the wires between neighbours.

Rows: 0 shim (DDR side), 1 memory tile, 2 to 5 compute. Columns count from 0 within the partition, as CDO
and instruction streams do. Sources: aie-rt's register header (order of the stream switch registers), and
the configuration words of real designs (facts/npu1-topology.md of the project's notes).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

ROWS = 6
SHIM_ROW = 0
MEMORY_ROW = 1
FIRST_COMPUTE_ROW = 2
COMPUTE_ROWS = range(FIRST_COMPUTE_ROW, ROWS)

COLUMN_SHIFT = 25
ROW_SHIFT = 20
OFFSET_MASK = (1 << ROW_SHIFT) - 1


class TileKind(enum.Enum):
    """The three kinds of tile."""

    SHIM = "shim"
    MEMORY = "memory"
    COMPUTE = "compute"


class Direction(enum.Enum):
    """Of a DMA channel; the value is the one that sync operations carry."""

    S2MM = 0
    """Stream to memory."""
    MM2S = 1
    """Memory to stream."""


class Bundle(enum.Enum):
    """Groups of ports of a stream switch."""

    CORE = "Core"
    DMA = "DMA"
    CONTROL = "TileCtrl"
    FIFO = "FIFO"
    SOUTH = "South"
    WEST = "West"
    NORTH = "North"
    EAST = "East"
    TRACE = "Trace"
    MEMORY_TRACE = "MemTrace"


@dataclass(frozen=True, slots=True)
class Port:
    """One port of a stream switch: the `channel`-th of its bundle."""

    bundle: Bundle
    channel: int = 0

    def __str__(self) -> str:
        return f"{self.bundle.value}{self.channel}"


@dataclass(frozen=True, slots=True, order=True)
class TileAddress:
    """A tile by column (within the partition) and row."""

    column: int
    row: int

    @property
    def kind(self) -> TileKind:
        """Raises ValueError for a row that npu1 does not have."""
        if self.row == SHIM_ROW:
            return TileKind.SHIM
        if self.row == MEMORY_ROW:
            return TileKind.MEMORY
        if self.row in COMPUTE_ROWS:
            return TileKind.COMPUTE
        raise ValueError(f"npu1 has no row {self.row}")

    @property
    def base(self) -> int:
        """Where the tile's address space begins."""
        return self.column << COLUMN_SHIFT | self.row << ROW_SHIFT

    def address(self, offset: int) -> int:
        """The array address of `offset` (below 1 MiB) in this tile. Raises ValueError."""
        if not 0 <= offset <= OFFSET_MASK:
            raise ValueError(f"offset {offset:#x} lies outside a tile")
        return self.base | offset

    def neighbour(self, side: Bundle) -> TileAddress | None:
        """The tile on that side; None past the south, north or west end. The east end is the caller's."""
        column, row = self.column, self.row
        if side is Bundle.SOUTH:
            row -= 1
        elif side is Bundle.NORTH:
            row += 1
        elif side is Bundle.WEST:
            column -= 1
        elif side is Bundle.EAST:
            column += 1
        else:
            raise ValueError(f"{side.value} is not a side")
        return TileAddress(column, row) if column >= 0 and 0 <= row < ROWS else None

    def __str__(self) -> str:
        name = {SHIM_ROW: "shim", MEMORY_ROW: "memory tile"}.get(self.row, "core")
        return f"{name} ({self.column},{self.row})"


def split_address(address: int) -> tuple[TileAddress, int]:
    """The tile and the offset within it of an array address. Any 32-bit address has both."""
    tile = TileAddress(address >> COLUMN_SHIFT, (address >> ROW_SHIFT) & 0x1F)
    return tile, address & OFFSET_MASK


# --------------------------------------------------------------------------- ports


def _ports(*bundles: tuple[Bundle, int]) -> tuple[Port, ...]:
    return tuple(Port(bundle, channel) for bundle, count in bundles for channel in range(count))


# in the order of their registers, so that a port's place is its number
MASTERS: dict[TileKind, tuple[Port, ...]] = {
    TileKind.COMPUTE: _ports(
        (Bundle.CORE, 1),
        (Bundle.DMA, 2),
        (Bundle.CONTROL, 1),
        (Bundle.FIFO, 1),
        (Bundle.SOUTH, 4),
        (Bundle.WEST, 4),
        (Bundle.NORTH, 6),
        (Bundle.EAST, 4),
    ),
    TileKind.MEMORY: _ports((Bundle.DMA, 6), (Bundle.CONTROL, 1), (Bundle.SOUTH, 4), (Bundle.NORTH, 6)),
    TileKind.SHIM: _ports(
        (Bundle.CONTROL, 1),
        (Bundle.FIFO, 1),
        (Bundle.SOUTH, 6),
        (Bundle.WEST, 4),
        (Bundle.NORTH, 6),
        (Bundle.EAST, 4),
    ),
}
SLAVES: dict[TileKind, tuple[Port, ...]] = {
    TileKind.COMPUTE: _ports(
        (Bundle.CORE, 1),
        (Bundle.DMA, 2),
        (Bundle.CONTROL, 1),
        (Bundle.FIFO, 1),
        (Bundle.SOUTH, 6),
        (Bundle.WEST, 4),
        (Bundle.NORTH, 4),
        (Bundle.EAST, 4),
        (Bundle.TRACE, 1),
        (Bundle.MEMORY_TRACE, 1),
    ),
    TileKind.MEMORY: _ports(
        (Bundle.DMA, 6), (Bundle.CONTROL, 1), (Bundle.SOUTH, 6), (Bundle.NORTH, 4), (Bundle.TRACE, 1)
    ),
    TileKind.SHIM: _ports(
        (Bundle.CONTROL, 1),
        (Bundle.FIFO, 1),
        (Bundle.SOUTH, 8),
        (Bundle.WEST, 4),
        (Bundle.NORTH, 4),
        (Bundle.EAST, 4),
        (Bundle.TRACE, 1),
    ),
}
SLOTS_PER_SLAVE = 4
"""Packet rules of a slave port; rule s of slave n is register STREAM_SWITCH_SLOT[4 n + s]."""

OPPOSITE = {
    Bundle.SOUTH: Bundle.NORTH,
    Bundle.NORTH: Bundle.SOUTH,
    Bundle.WEST: Bundle.EAST,
    Bundle.EAST: Bundle.WEST,
}


def master_number(kind: TileKind, port: Port) -> int:
    """The number of a master port: its register is STREAM_SWITCH_MASTER[number]. Raises ValueError."""
    return MASTERS[kind].index(port)


def slave_number(kind: TileKind, port: Port) -> int:
    """The number of a slave port, by which a circuit-switched master names it. Raises ValueError."""
    return SLAVES[kind].index(port)


def wire(tile: TileAddress, master: Port, *, columns: int) -> tuple[TileAddress, Port] | None:
    """The tile and slave port that a master port drives: North k drives South k of the tile above.

    None where the wire leaves the array of `columns` columns, or the port is no outer one.
    """
    side = OPPOSITE.get(master.bundle)
    if side is None:
        return None
    neighbour = tile.neighbour(master.bundle)
    if neighbour is None or neighbour.column >= columns:
        return None
    port = Port(side, master.channel)
    return (neighbour, port) if port in SLAVES[neighbour.kind] else None


# --------------------------------------------------------------------------- the shim's DMA

SHIM_DMA_SLAVES = {0: Port(Bundle.SOUTH, 3), 1: Port(Bundle.SOUTH, 7)}
"""Where MM2S channels enter the shim's stream switch."""

SHIM_DMA_MASTERS = {0: Port(Bundle.SOUTH, 2), 1: Port(Bundle.SOUTH, 3)}
"""Which masters of the shim's stream switch feed the S2MM channels."""

SHIM_MUX_DMA = 1
"""Value of a MUX_CONFIG or DEMUX_CONFIG field (named as the port, SOUTH3) that selects the DMA."""

TOKEN_MASTER = Port(Bundle.SOUTH, 0)
"""Task-completion tokens leave from the shim's TileCtrl slave through this master to the controller."""


# --------------------------------------------------------------------------- memory views

CORE_QUADRANT_BYTES = 0x10000
CORE_QUADRANTS = {
    0x40000: Bundle.SOUTH,
    0x50000: Bundle.WEST,
    0x60000: Bundle.NORTH,
    0x70000: None,
}
"""A core's view of data memory: base address to side; None is its own memory."""

CORE_LOCKS_PER_SIDE = 16
CORE_LOCK_SIDES = (Bundle.SOUTH, Bundle.WEST, Bundle.NORTH, None)
"""A core's lock ids 0-15 belong to the tile south, 16-31 west, 32-47 north, 48-63 its own."""

OWN_DATA_BASE = 0x70000
OWN_LOCK_BASE = 48

MEMORY_TILE_SIDES = (Bundle.WEST, None, Bundle.EAST)
"""A memory tile's DMA sees three tiles one after another, 512 KiB and 64 locks each."""

MEMORY_TILE_OWN_BASE_BYTES = 0x80000
MEMORY_TILE_OWN_LOCK_BASE = 64
