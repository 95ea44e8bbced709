"""Tiles, port numbers and wires, against the words of real designs."""

from __future__ import annotations

import pytest

from aiepipe.npu import topology
from aiepipe.npu.limits import LIMITS, usable_descriptors
from aiepipe.npu.topology import (
    MASTERS,
    Bundle,
    Port,
    TileAddress,
    TileKind,
    master_number,
    slave_number,
    split_address,
    wire,
)


def test_addresses_are_column_row_offset() -> None:
    # a lock of memory tile (1,1) in a real design: 0x021C0010
    assert TileAddress(1, 1).address(0xC0010) == 0x021C0010
    assert split_address(0x021C0010) == (TileAddress(1, 1), 0xC0010)
    assert split_address(0x00232000) == (TileAddress(0, 2), 0x32000)
    with pytest.raises(ValueError, match="outside"):
        TileAddress(0, 0).address(0x100000)


def test_kinds_by_row() -> None:
    kinds = [TileAddress(0, row).kind for row in range(6)]
    assert kinds == [TileKind.SHIM, TileKind.MEMORY, *[TileKind.COMPUTE] * 4]
    with pytest.raises(ValueError, match="no row 6"):
        _ = TileAddress(0, 6).kind


@pytest.mark.parametrize(
    ("kind", "port", "master", "slave"),
    [
        (TileKind.COMPUTE, Port(Bundle.SOUTH, 0), 5, 5),
        (TileKind.COMPUTE, Port(Bundle.NORTH, 0), 13, 15),
        (TileKind.COMPUTE, Port(Bundle.EAST, 3), 22, 22),
        (TileKind.MEMORY, Port(Bundle.NORTH, 0), 11, 13),
        (TileKind.MEMORY, Port(Bundle.DMA, 5), 5, 5),
        (TileKind.SHIM, Port(Bundle.NORTH, 0), 12, 14),
        (TileKind.SHIM, Port(Bundle.WEST, 0), 8, 10),
    ],
)
def test_port_numbers(kind: TileKind, port: Port, master: int, slave: int) -> None:
    assert master_number(kind, port) == master
    assert slave_number(kind, port) == slave


def test_the_shim_dma_ports_of_a_real_design() -> None:
    # 0x3F030 = 0x80000005: North0 from slave 5 (South3, MM2S 0); 0x3F048 = 0x80000009: East0 from South7
    assert slave_number(TileKind.SHIM, topology.SHIM_DMA_SLAVES[0]) == 5
    assert slave_number(TileKind.SHIM, topology.SHIM_DMA_SLAVES[1]) == 9
    # 0x3F010 = 0x80000012: South2 (S2MM 0) from East0
    assert master_number(TileKind.SHIM, topology.SHIM_DMA_MASTERS[0]) == 4
    assert slave_number(TileKind.SHIM, Port(Bundle.EAST, 0)) == 0x12


def test_wires_go_to_the_neighbour() -> None:
    tile = TileAddress(1, 1)
    assert wire(tile, Port(Bundle.NORTH, 3), columns=4) == (TileAddress(1, 2), Port(Bundle.SOUTH, 3))
    assert wire(tile, Port(Bundle.SOUTH, 3), columns=4) == (TileAddress(1, 0), Port(Bundle.NORTH, 3))
    shim = TileAddress(0, 0)
    assert wire(shim, Port(Bundle.EAST, 0), columns=4) == (TileAddress(1, 0), Port(Bundle.WEST, 0))
    assert wire(shim, Port(Bundle.EAST, 0), columns=1) is None
    assert wire(shim, Port(Bundle.WEST, 0), columns=4) is None
    assert wire(shim, Port(Bundle.SOUTH, 0), columns=4) is None
    assert wire(TileAddress(0, 5), Port(Bundle.NORTH, 0), columns=4) is None
    assert wire(TileAddress(0, 2), Port(Bundle.DMA, 0), columns=4) is None


def test_every_inner_wire_ends_at_a_port() -> None:
    for row in range(1, 5):
        tile = TileAddress(1, row)
        for port in MASTERS[tile.kind]:
            if port.bundle in topology.OPPOSITE:
                assert wire(tile, port, columns=4) is not None, (tile, port)


def test_memory_tile_channels_share_the_descriptors() -> None:
    assert usable_descriptors(TileKind.MEMORY, 2) == range(24)
    assert usable_descriptors(TileKind.MEMORY, 3) == range(24, 48)
    assert usable_descriptors(TileKind.COMPUTE, 1) == range(16)
    assert LIMITS[TileKind.COMPUTE].data_memory_bytes == 64 * 1024
