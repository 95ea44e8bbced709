"""Register states written as port names, for the tests beside this file."""

from __future__ import annotations

from aiepipe.explain.registers import RegisterState
from aiepipe.npu.registers import register
from aiepipe.npu.topology import (
    SLOTS_PER_SLAVE,
    Bundle,
    Port,
    TileAddress,
    TileKind,
    master_number,
    slave_number,
)

SHIM, MEMTILE, CORE = TileAddress(0, 0), TileAddress(0, 1), TileAddress(0, 2)


def port(name: str) -> Port:
    """ "South3" as a port."""
    stem = name.rstrip("0123456789")
    return Port(Bundle(stem), int(name[len(stem) :] or 0))


class Switches:
    """Sets stream switches."""

    def __init__(self) -> None:
        self.state = RegisterState()

    def write(self, tile: TileAddress, name: str, index: int, value: int) -> None:
        self.state.write(tile.address(register(tile.kind, name).at(index)), value)

    def circuit(self, tile: TileAddress, slave: str, master: str) -> None:
        """`master` takes the words of `slave`."""
        number = slave_number(tile.kind, port(slave))
        self.write(tile, "STREAM_SWITCH_SLAVE", number, 0x80000000)
        self.write(tile, "STREAM_SWITCH_MASTER", master_number(tile.kind, port(master)), 0x80000000 | number)

    def rule(self, tile: TileAddress, slave: str, slot: int, *, stream_id: int, arbiter: int, msel: int,
             mask: int = 0x1F) -> None:  # fmt: skip
        """Rule `slot` of a packet-switched slave."""
        number = slave_number(tile.kind, port(slave))
        self.write(tile, "STREAM_SWITCH_SLAVE", number, 0xC0000000)
        word = register(tile.kind, "STREAM_SWITCH_SLOT").encode(
            ID=stream_id, MASK=mask, ENABLE=1, MSEL=msel, ARBIT=arbiter
        )
        self.write(tile, "STREAM_SWITCH_SLOT", SLOTS_PER_SLAVE * number + slot, word)

    def listen(
        self, tile: TileAddress, master: str, *, arbiter: int, msels: int, drop_header: bool = False
    ) -> None:
        """A packet-switched master."""
        word = register(tile.kind, "STREAM_SWITCH_MASTER").encode(
            MASTER_ENABLE=1, PACKET_ENABLE=1, DROP_HEADER=int(drop_header), CONFIGURATION=msels << 3 | arbiter
        )
        self.write(tile, "STREAM_SWITCH_MASTER", master_number(tile.kind, port(master)), word)

    def mux(self, **fields: int) -> None:
        """The shim's mux: SOUTH3=1 gives it to the DMA."""
        self.state.write(SHIM.address(0x1F000), register(TileKind.SHIM, "MUX_CONFIG").encode(**fields))

    def demux(self, **fields: int) -> None:
        self.state.write(SHIM.address(0x1F004), register(TileKind.SHIM, "DEMUX_CONFIG").encode(**fields))
