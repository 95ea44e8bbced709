"""Designs written as register writes, and a DDR of plain buffers, for the tests beside this file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from aiepipe.emulator.memory import Bytes
from aiepipe.errors import EmulationError
from aiepipe.formats import txn
from aiepipe.formats.cdo import Cdo, Command, DmaWrite, MaskWrite, Write
from aiepipe.npu.descriptors import BufferDescriptor, descriptor_offset, encode
from aiepipe.npu.registers import register
from aiepipe.npu.topology import (
    SHIM_DMA_MASTERS,
    SHIM_DMA_SLAVES,
    SHIM_MUX_DMA,
    SLOTS_PER_SLAVE,
    TOKEN_MASTER,
    Bundle,
    Direction,
    Port,
    TileAddress,
    master_number,
    slave_number,
)

S2MM, MM2S = Direction.S2MM, Direction.MM2S
Array = npt.NDArray[Any]


def shim(column: int = 0) -> TileAddress:
    return TileAddress(column, 0)


def memtile(column: int = 0) -> TileAddress:
    return TileAddress(column, 1)


def compute(column: int = 0, row: int = 2) -> TileAddress:
    return TileAddress(column, row)


def dma(channel: int) -> Port:
    return Port(Bundle.DMA, channel)


def north(channel: int) -> Port:
    return Port(Bundle.NORTH, channel)


def south(channel: int) -> Port:
    return Port(Bundle.SOUTH, channel)


OWN = 0x80000
"""Where a memory tile's own memory begins in its BDs."""


def memtile_bd(address: int, length_words: int, **fields: Any) -> BufferDescriptor:
    """A BD of a memory tile, linear unless `fields` say otherwise."""
    linear: dict[str, Any] = {"steps": (1, 1, 1, 1), "wraps": (0, 0, 0)}
    return BufferDescriptor(address=address, length_words=length_words, **linear | fields)


class Ddr:
    """Buffers at addresses of their own, 64 KiB apart."""

    def __init__(self) -> None:
        self._buffers: dict[int, Bytes] = {}
        self._next = 0x4000_0000

    def add(self, array: Array) -> int:
        """A buffer with these bytes; its address."""
        address = self._next
        self._buffers[address] = np.frombuffer(array.tobytes(), np.uint8).copy()
        self._next += (array.nbytes + 0x1FFFF) & ~0xFFFF
        return address

    def get(self, address: int, dtype: Any = np.uint32) -> Array:
        """What the buffer at `address` holds."""
        return self._buffers[address].view(dtype)

    def read(self, address: int, length: int) -> Bytes:
        buffer, offset = self._find(address, length)
        return buffer[offset : offset + length]

    def write(self, address: int, data: Bytes) -> None:
        buffer, offset = self._find(address, data.size)
        buffer[offset : offset + data.size] = data

    def _find(self, address: int, length: int) -> tuple[Bytes, int]:
        for start, buffer in self._buffers.items():
            if start <= address and address + length <= start + buffer.size:
                return buffer, address - start
        raise EmulationError(f"no buffer holds {length} bytes at {address:#x}", kind="out-of-range")


class Design:
    """Collects register writes; the same calls make the configuration and the instruction stream."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.ops: list[txn.Operation] = []
        self._mux: dict[tuple[TileAddress, str], int] = {}

    @property
    def cdo(self) -> Cdo:
        return Cdo(tuple(self.commands))

    @property
    def stream(self) -> txn.Transaction:
        return txn.Transaction(ops=tuple(self.ops))

    def write(self, tile: TileAddress, offset: int, value: int) -> None:
        self.commands.append(Write(tile.address(offset), value))

    def data(self, tile: TileAddress, offset: int, array: Array) -> None:
        self.commands.append(DmaWrite(tile.address(offset), array.tobytes()))

    def mask_write(self, tile: TileAddress, offset: int, value: int, mask: int) -> None:
        self.commands.append(MaskWrite(tile.address(offset), mask, value))

    def set(self, tile: TileAddress, name: str, index: int = 0, **fields: int) -> None:
        """A register by name and fields."""
        found = register(tile.kind, name)
        self.write(tile, found.at(index), found.encode(**fields))

    # ------------------------------------------------------------- streams

    def connect(self, tile: TileAddress, slave: Port, *masters: Port) -> None:
        """Circuit-switched."""
        number = slave_number(tile.kind, slave)
        self.set(tile, "STREAM_SWITCH_SLAVE", number, SLAVE_ENABLE=1)
        for master in masters:
            index = master_number(tile.kind, master)
            self.set(tile, "STREAM_SWITCH_MASTER", index, MASTER_ENABLE=1, CONFIGURATION=number)

    def packet_slave(
        self, tile: TileAddress, slave: Port, *rules: tuple[int, int, int], mask: int = 0x1F
    ) -> None:
        """Packet-switched; `rules` are (packet id, arbiter, msel)."""
        number = slave_number(tile.kind, slave)
        self.set(tile, "STREAM_SWITCH_SLAVE", number, SLAVE_ENABLE=1, PACKET_ENABLE=1)
        for slot, (packet, arbiter, msel) in enumerate(rules):
            at = number * SLOTS_PER_SLAVE + slot
            self.set(tile, "STREAM_SWITCH_SLOT", at, ID=packet, MASK=mask, ENABLE=1, MSEL=msel, ARBIT=arbiter)

    def packet_master(
        self, tile: TileAddress, master: Port, arbiter: int, *msels: int, drop: bool = False
    ) -> None:
        """Packet-switched."""
        configuration = arbiter | sum(1 << msel for msel in msels) << 3
        self.set(
            tile,
            "STREAM_SWITCH_MASTER",
            master_number(tile.kind, master),
            MASTER_ENABLE=1,
            PACKET_ENABLE=1,
            DROP_HEADER=int(drop),
            CONFIGURATION=configuration,
        )

    def shim_in(self, column: int, channel: int, *masters: Port) -> None:
        """From the shim's MM2S channel, through the mux, to `masters` of the shim."""
        slave = SHIM_DMA_SLAVES[channel]
        self._select("MUX_CONFIG", column, slave)
        if masters:
            self.connect(shim(column), slave, *masters)

    def shim_out(self, column: int, channel: int, slave: Port | None) -> None:
        """From `slave` of the shim, through the demux, to its S2MM channel."""
        master = SHIM_DMA_MASTERS[channel]
        self._select("DEMUX_CONFIG", column, master)
        if slave is not None:
            self.connect(shim(column), slave, master)

    def tokens(self, column: int = 0) -> None:
        """Task tokens of the shim itself go to the controller."""
        self.connect(shim(column), Port(Bundle.CONTROL), TOKEN_MASTER)

    def _select(self, name: str, column: int, port: Port) -> None:
        tile = shim(column)
        found = register(tile.kind, name)
        word = self._mux.get((tile, name), 0) | found.field(f"SOUTH{port.channel}").place(SHIM_MUX_DMA)
        self._mux[tile, name] = word
        self.write(tile, found.offset, word)

    # ------------------------------------------------------------- DMAs

    def lock(self, tile: TileAddress, number: int, value: int) -> None:
        self.set(tile, "LOCK_VALUE", number, LOCK_VALUE=value)

    def bd(self, tile: TileAddress, number: int, descriptor: BufferDescriptor) -> None:
        for word, value in enumerate(encode(tile.kind, descriptor)):
            self.write(tile, descriptor_offset(tile.kind, number) + 4 * word, value)

    def start(
        self,
        tile: TileAddress,
        direction: Direction,
        channel: int,
        bd: int,
        *,
        repeat: int = 1,
        token: bool = False,
    ) -> None:
        self.set(
            tile,
            f"DMA_{direction.name}_START_QUEUE",
            channel,
            ENABLE_TOKEN_ISSUE=int(token),
            REPEAT_COUNT=repeat - 1,
            START_BD_ID=bd,
        )

    # ------------------------------------------------------------- the instruction stream

    def in_stream(self, since: int) -> None:
        """Moves what was written to the configuration from command `since` on into the stream."""
        for command in self.commands[since:]:
            match command:
                case Write(address=address, value=value):
                    self.ops.append(txn.Write32(address, value))
                case MaskWrite(address=address, mask=mask, value=value):
                    self.ops.append(txn.MaskWrite32(address, value, mask))
                case _:
                    raise AssertionError(command)
        del self.commands[since:]

    def transfer(
        self,
        direction: Direction,
        argument: int,
        length_words: int,
        *,
        column: int = 0,
        channel: int = 0,
        bd: int | None = None,
        offset_bytes: int = 0,
        repeat: int = 1,
        **fields: Any,
    ) -> None:
        """In the stream: a shim BD over data buffer `argument`, started; S2MM issues a token."""
        number = channel + 2 * direction.value if bd is None else bd
        since = len(self.commands)
        self.bd(shim(column), number, BufferDescriptor(address=0, length_words=length_words, **fields))
        self.in_stream(since)
        at = shim(column).address(descriptor_offset(shim(column).kind, number) + 4)
        self.ops.append(txn.DdrPatch(at, argument, offset_bytes))
        self.push(direction, channel, number, column=column, repeat=repeat)

    def push(self, direction: Direction, channel: int, bd: int, *, column: int = 0, repeat: int = 1) -> None:
        """In the stream: starts a shim BD."""
        since = len(self.commands)
        self.start(shim(column), direction, channel, bd, repeat=repeat, token=direction is S2MM)
        self.in_stream(since)

    @staticmethod
    def poll(address: int, value: int, mask: int) -> txn.MaskPoll:
        """An operation that waits until register & mask == value."""
        return txn.MaskPoll(address, value, mask)

    def sync(self, *, column: int = 0, row: int = 0, direction: Direction = S2MM, channel: int = 0) -> None:
        self.ops.append(txn.Sync(column, row, direction.value, channel))


def words(values: Sequence[int]) -> npt.NDArray[np.uint32]:
    return np.array(values, np.uint32)
