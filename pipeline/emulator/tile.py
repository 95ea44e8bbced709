"""One tile of the array: its registers, and the memory, locks, DMA, switch and core behind them.

Everything that configures a tile is a write to one of its registers. What a register does is found by its
name (npu.registers), which is the same on each kind of tile; registers that do nothing here (events,
traces, clocks) keep their value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ..errors import EmulationError
from ..npu.descriptors import BufferDescriptor, decode, descriptor_offset, descriptor_words
from ..npu.limits import LIMITS, PROGRAM_MEMORY_BYTES, PROGRAM_MEMORY_OFFSET
from ..npu.registers import Field, Location, locate, register
from ..npu.topology import (
    MEMORY_TILE_SIDES,
    SHIM_DMA_MASTERS,
    SHIM_DMA_SLAVES,
    TOKEN_MASTER,
    Bundle,
    Direction,
    Port,
    TileAddress,
    TileKind,
)
from .channel import Channel
from .control import ControlPort, TokenSink
from .core_unit import CoreUnit
from .fabric import Fabric, Outlet
from .lock_registers import LockRegisters
from .locks import LockBank
from .memory import LocalMemory, Store
from .packets import Token
from .races import Actor, Clock
from .shim import ShimOutlet, shim_end
from .status import channel_status, core_control, core_register, core_status
from .streams import Sink
from .switch import StreamSwitch
from .task import Task
from .timers import Timers

_BD_ROWS = "DMA_BD_WORD_"
_MERGE = "STREAM_SWITCH_DETERMINISTIC_MERGE_ARB"
_MERGE_PARTS = ("SLAVE0_1", "SLAVE2_3", "CTRL")

LOCKS_PER_MEMORY_TILE = 64
_LOCAL_ONLY_CHANNELS = (4, 5)
"""Channels of a memory tile that reach neither memories nor locks of neighbours (mlir-aie's verifier)."""


class Tile:
    """A tile. `connect` is called once, when all tiles are there."""

    def __init__(
        self,
        fabric: Fabric,
        address: TileAddress,
        warn: Callable[[str], None],
        token: Callable[[int, int], None],
    ) -> None:
        kind = address.kind
        limits = LIMITS[kind]
        self.address = address
        self.kind = kind
        self.name = str(address)
        self.fabric = fabric
        self.registers: dict[int, int] = {}
        self.locks = LockBank(self.name, limits.locks, warn)
        self._lock_registers = LockRegisters(self.locks, fabric)
        self.memory = LocalMemory(self.name, limits.data_memory_bytes) if limits.data_memory_bytes else None
        self.switch = StreamSwitch(fabric, address)
        self.control = ControlPort(fabric, address, read=self.read, write=self.write, warn=warn)
        self.core: CoreUnit | None = None
        self.channels: dict[tuple[Direction, int], Channel] = {}
        self.neighbours: dict[Bundle, Tile] = {}
        self.started_descriptors: dict[int, BufferDescriptor] = {}
        """BDs that some channel has executed, as they were then; kept in check mode."""
        self._warn = warn
        self._token = token
        self._unknown: set[int] = set()
        self._descriptors: dict[int, BufferDescriptor] = {}
        """BDs as their registers have them, until these are written."""
        timers = Timers(fabric)
        self._handlers: dict[str, Callable[[int, int], None]] = {
            **timers.handlers(),
            "LOCK_VALUE": self._lock_registers.set,
            "STREAM_SWITCH_MASTER": self.switch.set_master,
            "STREAM_SWITCH_SLAVE": self.switch.set_slave,
            "STREAM_SWITCH_SLOT": self.switch.set_slot,
            **{f"{_MERGE}_{part}": lambda index, _: self._set_merge(index) for part in _MERGE_PARTS},
            "MUX_CONFIG": lambda _index, _value: self.fabric.changed(),
            "DEMUX_CONFIG": lambda _index, _value: self.fabric.changed(),
            "DMA_S2MM_CTRL": lambda index, value: self._set_control(Direction.S2MM, index, value),
            "DMA_MM2S_CTRL": lambda index, value: self._set_control(Direction.MM2S, index, value),
            "DMA_S2MM_START_QUEUE": lambda index, value: self._start(Direction.S2MM, index, value),
            "DMA_MM2S_START_QUEUE": lambda index, value: self._start(Direction.MM2S, index, value),
            "CORE_CONTROL": lambda _, value: self._set_core_control(value),
            "DEBUG_CONTROL": self._set_debug_control,
            "ACCUMULATOR_CONTROL": lambda _index, _value: self._set_cascade(),
            "MEMORY_CONTROL": lambda _, value: self._zero_memory(value),
            "MEMORY_MEMORY_CONTROL": lambda _, value: self._zero_memory(value),
            "CONTROL_PACKET_HANDLER_STATUS": lambda _, value: self._clear_control_status(value),
        }
        self._readers: dict[str, Callable[[int], int]] = {
            **timers.readers(),
            "LOCK_VALUE": self.locks.value,
            "LOCKS_OVERFLOW": lambda index: self.locks.overflow >> 32 * index & 0xFFFFFFFF,
            "LOCKS_UNDERFLOW": lambda index: self.locks.underflow >> 32 * index & 0xFFFFFFFF,
            "DMA_S2MM_STATUS": lambda index: channel_status(self.kind, self.channels[Direction.S2MM, index]),
            "DMA_MM2S_STATUS": lambda index: channel_status(self.kind, self.channels[Direction.MM2S, index]),
            "CORE_CONTROL": lambda _: core_control(self._core()),
            "CORE_STATUS": lambda _: core_status(self._core()),
            "CONTROL_PACKET_HANDLER_STATUS": lambda _: self.control.status,
        }

    def connect(self, neighbours: dict[Bundle, Tile], store: Callable[[Tile, int], Store]) -> None:
        """Joins the tile to its neighbours; `store` makes what a DMA channel reads and writes."""
        self.neighbours = neighbours
        for direction in Direction:
            for index in range(LIMITS[self.kind].channels):
                outlet = self._outlet(index) if direction is Direction.MM2S else None
                self.channels[direction, index] = Channel(self, direction, index, store(self, index), outlet)
        ends = self.switch.ends
        ends[Port(Bundle.CONTROL)] = lambda: self.control
        if self.kind is TileKind.SHIM:
            sink = TokenSink(self._token)
            ends[TOKEN_MASTER] = lambda: sink
            for index, master in SHIM_DMA_MASTERS.items():
                ends[master] = shim_end(self.address, master, self.registers, self._dma_end(index))
        else:
            for index in range(LIMITS[self.kind].channels):
                ends[Port(Bundle.DMA, index)] = self._dma_end(index)
        if self.kind is TileKind.COMPUTE:
            sides = (Bundle.SOUTH, Bundle.WEST, Bundle.NORTH)
            banks: dict[Bundle | None, LockBank] = {
                side: neighbours[side].locks
                for side in sides
                if side in neighbours and neighbours[side].kind is TileKind.COMPUTE
            }
            banks[None] = self.locks
            self.core = core = CoreUnit(self.fabric, self.address, banks, self)
            ends[Port(Bundle.CORE)] = lambda: core.input

    def reset(self) -> None:
        """Back to the state before any configuration; memories and clocks go on."""
        self.registers.clear()
        self._descriptors.clear()
        self.started_descriptors.clear()
        self.locks.reset()
        self.switch.reset()
        self.control.reset()
        for direction, index in self.channels:
            self.channels[direction, index].reset()
            self._set_control(direction, index, 0)
        if self.core is not None:
            self.core.reset()
        self.join_cascade()

    # ----------------------------------------------------------------- reading and writing

    def write(self, offset: int, value: int) -> None:
        """A 32-bit write to the tile's address space. Raises EmulationError."""
        self._check_alignment(offset)
        if self.memory is not None and offset < self.memory.bytes.size:
            self.memory.words[offset // 4] = value
            self.fabric.checks.controller_writes(self.memory, offset, offset + 4)
            return
        if self._in_program(offset):
            self.write_block(offset, value.to_bytes(4, "little"))
            return
        self.registers[offset] = value
        found = locate(self.kind, offset)
        if found is None:
            self._note_unknown(offset)
        elif found.byte == 0:
            self._act(found, value)

    def write_block(self, offset: int, data: bytes) -> None:
        """Consecutive words, little endian. Raises EmulationError."""
        self._check_alignment(offset)
        end = offset + len(data)
        if self.memory is not None and end <= self.memory.bytes.size:
            self.memory.bytes[offset:end] = np.frombuffer(data, np.uint8)
            self.fabric.checks.controller_writes(self.memory, offset, end)
        elif self._in_program(offset) and end <= PROGRAM_MEMORY_OFFSET + PROGRAM_MEMORY_BYTES:
            core = self._core()
            core.program[offset - PROGRAM_MEMORY_OFFSET : end - PROGRAM_MEMORY_OFFSET] = data
            core.program_changed()
        else:
            for at in range(0, len(data), 4):
                self.write(offset + at, int.from_bytes(data[at : at + 4], "little"))

    def read(self, offset: int) -> int:
        """A 32-bit read. Reading LOCK_REQUEST makes a request of a lock. Raises EmulationError."""
        self._check_alignment(offset)
        if self.memory is not None and offset < self.memory.bytes.size:
            return int(self.memory.words[offset // 4])
        if self._in_program(offset):
            at = offset - PROGRAM_MEMORY_OFFSET
            return int.from_bytes(self._core().program[at : at + 4], "little")
        request = offset - register(self.kind, "LOCK_REQUEST").offset
        if self._lock_registers.is_request(request):
            return self._lock_registers.request(request)
        found = locate(self.kind, offset)
        reader = None if found is None or found.byte else self._readers.get(found.register.name)
        if found is not None and reader is not None:
            self._tell_controller()
            return reader(found.index)
        if found is not None and found.byte == 0:
            name = core_register(found.register.name, found.index)
            if name is not None and self.core is not None and self.core.engine is not None:
                return self.core.engine.read_register(name) & 0xFFFFFFFF
        return self.registers.get(offset, 0)

    def _act(self, found: Location, value: int) -> None:
        if found.register.name.startswith(_BD_ROWS):
            self._check_rewritten(found.index)
        handler = self._handlers.get(found.register.name)
        if handler is not None:
            handler(found.index, value)
            return
        name = core_register(found.register.name, found.index)
        if name is not None and self.core is not None and self.core.engine is not None:
            self.core.engine.write_register(name, value)

    def _check_rewritten(self, number: int) -> None:
        self._descriptors.pop(number, None)
        for channel in self.channels.values():
            if any(task.descriptor == number for task in channel.queue):
                self._warn(f"{channel.name}: BD {number} was rewritten while it waited in the start queue")

    def _check_alignment(self, offset: int) -> None:
        if offset % 4:
            raise EmulationError(
                f"offset {offset:#x} of {self.name} is not a multiple of 4",
                kind="out-of-range",
                tile=self.name,
            )

    def _in_program(self, offset: int) -> bool:
        return self.kind is TileKind.COMPUTE and (
            PROGRAM_MEMORY_OFFSET <= offset < PROGRAM_MEMORY_OFFSET + PROGRAM_MEMORY_BYTES
        )

    def _note_unknown(self, offset: int) -> None:
        if offset not in self._unknown:
            self._unknown.add(offset)
            self._warn(f"{self.name} has no register at {offset:#x}; the write has no effect")

    # ----------------------------------------------------------------- what a DMA channel needs

    def descriptor(self, number: int) -> BufferDescriptor:
        found = self._descriptors.get(number)
        if found is None:
            offset = descriptor_offset(self.kind, number)
            words = (self.registers.get(offset + 4 * word, 0) for word in range(descriptor_words(self.kind)))
            found = self._descriptors[number] = _decoded(self.kind, tuple(words))
        if self.fabric.checks.full:
            self.started_descriptors[number] = found
        return found

    def iterate(self, number: int, current: int) -> None:
        word, field = _ITERATION[self.kind]
        offset = descriptor_offset(self.kind, number) + 4 * word
        cleared = self.registers.get(offset, 0) & ~field.mask
        self.registers[offset] = cleared | field.place(current)
        self._descriptors.pop(number, None)

    def dma_lock(self, lock: int, channel: int) -> tuple[LockBank, int]:
        if self.kind is not TileKind.MEMORY:
            return self.locks, lock
        side, number = divmod(lock, LOCKS_PER_MEMORY_TILE)
        where = MEMORY_TILE_SIDES[side] if side < len(MEMORY_TILE_SIDES) else Bundle.TRACE
        if where is None:
            return self.locks, number
        neighbour = self.neighbours.get(where)
        if neighbour is None:
            raise EmulationError(
                f"lock {lock} belongs to a neighbour that the array does not have", kind="bad-lock"
            )
        if channel in _LOCAL_ONLY_CHANNELS:
            raise EmulationError(
                f"lock {lock} belongs to a neighbour; channels 4 and 5 reach only their own tile",
                kind="bad-lock",
            )
        return neighbour.locks, number

    def send_token(self, token: Token, controller: int, time: int) -> bool:
        return self.control.send_token(token, controller, time)

    # ----------------------------------------------------------------- registers that act

    def _set_merge(self, arbiter: int) -> None:
        fields: dict[str, int] = {}
        for part in _MERGE_PARTS:
            found = register(self.kind, f"{_MERGE}_{part}")
            fields |= found.decode(self.registers.get(found.at(arbiter), 0))
        slaves = [(fields[f"SLAVE_ID_{turn}"], fields[f"PACKET_COUNT_{turn}"]) for turn in range(4)]
        self.switch.set_merge(arbiter, slaves, enable=bool(fields["ENABLE"]))

    def _set_control(self, direction: Direction, index: int, value: int) -> None:
        channel = self.channels[direction, index]
        fields = register(self.kind, f"DMA_{direction.name}_CTRL").decode(value)
        channel.controller = fields["CONTROLLER_ID"]
        channel.finish_on_tlast = bool(fields.get("FOT_MODE", 0))
        channel.out_of_order = bool(fields.get("ENABLE_OUT_OF_ORDER", 0))
        channel.compression = bool(
            fields.get("COMPRESSION_ENABLE", 0) or fields.get("DECOMPRESSION_ENABLE", 0)
        )
        reset = bool(fields.get("RESET", 0))
        if reset and not channel.held:
            channel.reset()
        channel.held = reset or bool(fields.get("PAUSE_MEM", 0)) or bool(fields.get("PAUSE_STREAM", 0))
        if not channel.held:
            self.fabric.wake(channel)

    def _start(self, direction: Direction, index: int, value: int) -> None:
        channel = self.channels[direction, index]
        fields = register(self.kind, f"DMA_{direction.name}_START_QUEUE").decode(value)
        if channel.full:
            self._warn(f"{channel.name}: its start queue was full, a task was lost")
        channel.start(
            Task(
                fields["START_BD_ID"],
                fields["REPEAT_COUNT"] + 1,
                bool(fields["ENABLE_TOKEN_ISSUE"]),
                self._author(),
            )
        )

    def _author(self) -> Clock | None:
        """What the writer of a register knows, in check mode."""
        races = self.fabric.checks.races
        return None if races is None else races.sent(Actor.CONTROLLER)

    def _tell_controller(self) -> None:
        """Who reads a status register knows what those have done whom it speaks of."""
        races = self.fabric.checks.races
        if races is not None:
            agents = [channel.name for channel in self.channels.values()]
            for agent in agents if self.core is None else [*agents, self.name]:
                races.received(Actor.CONTROLLER, races.sent(agent))

    def _set_core_control(self, value: int) -> None:
        clock = self._author()
        if self.fabric.checks.races is not None and clock is not None:
            self.fabric.checks.races.received(self.name, clock)
        fields = register(self.kind, "CORE_CONTROL").decode(value)
        self._core().control(enable=bool(fields["ENABLE"]), reset=bool(fields["RESET"]))

    def _set_debug_control(self, index: int, value: int) -> None:
        # DEBUG_CONTROL0 bit 0 halts the core (aie-rt)
        if index == 0:
            self._core().halted = bool(value & 1)

    def _set_cascade(self) -> None:
        for tile in (self, *self.neighbours.values()):
            tile.join_cascade()

    def join_cascade(self) -> None:
        """Finds the core that feeds this one's cascade: both ends must name each other."""
        if self.core is None:
            return
        accumulator = register(self.kind, "ACCUMULATOR_CONTROL")
        # INPUT 0 is north, 1 west; OUTPUT 0 is south, 1 east (aie-rt)
        west = accumulator.decode(self.registers.get(accumulator.offset, 0))["INPUT"]
        source = self.neighbours.get(Bundle.WEST if west else Bundle.NORTH)
        for side in (Bundle.NORTH, Bundle.WEST):
            other = self.neighbours.get(side)
            if other is not None and other.core is not None and other.core.cascade_to is self.core:
                other.core.cascade_to = None
        self.core.cascade_from = None
        if source is not None and source.core is not None:
            east = accumulator.decode(source.registers.get(accumulator.offset, 0))["OUTPUT"]
            if east == west:
                self.core.cascade_from = source.core
                source.core.cascade_to = self.core

    def _zero_memory(self, value: int) -> None:
        if value & 1 and self.memory is not None:
            self.memory.words[:] = 0
            self.fabric.checks.controller_writes(self.memory, 0, self.memory.bytes.size)

    def _clear_control_status(self, value: int) -> None:
        self.control.status &= ~value

    def bus_read(self, address: int) -> int:
        """The tile's core reads one of its registers; the address counts from the tile's beginning."""
        self._check_bus()
        return self.read(address)

    def bus_write(self, address: int, value: int) -> None:
        """The tile's core writes one of its registers."""
        self._check_bus()
        self.write(address, value)

    def _check_bus(self) -> None:
        bus = register(self.kind, "CORE_PROCESSOR_BUS")
        if not bus.decode(self.registers.get(bus.offset, 0))["ENABLE"]:
            self._warn(f"{self.name} uses its processor bus, which is not enabled (CORE_PROCESSOR_BUS)")

    def queue_at(self, offset: int) -> Channel | None:
        """The channel whose start queue is the register at `offset`."""
        found = locate(self.kind, offset)
        for direction in Direction:
            if found is not None and found.register.name == f"DMA_{direction.name}_START_QUEUE":
                return self.channels[direction, found.index]
        return None

    # ----------------------------------------------------------------- what it is connected to

    def _outlet(self, index: int) -> Outlet:
        if self.kind is TileKind.SHIM:
            return ShimOutlet(self.fabric, self.address, SHIM_DMA_SLAVES[index], self.registers)
        return Outlet(self.fabric, self.address, Port(Bundle.DMA, index))

    def _dma_end(self, index: int) -> Callable[[], Sink]:
        return lambda: self.channels[Direction.S2MM, index]

    def _core(self) -> CoreUnit:
        if self.core is None:
            raise EmulationError(f"{self.name} has no core", kind="out-of-range", tile=self.name)
        return self.core


@functools.lru_cache(maxsize=4096)
def _decoded(kind: TileKind, words: tuple[int, ...]) -> BufferDescriptor:
    return decode(kind, words)


def _iteration_field(kind: TileKind) -> tuple[int, Field]:
    for word in range(descriptor_words(kind)):
        for field in register(kind, f"DMA_BD_WORD_{word}").fields:
            if field.name == "ITERATION_CURRENT":
                return word, field
    raise AssertionError(f"the BDs of {kind.value} tiles have no iteration counter")


_ITERATION = {kind: _iteration_field(kind) for kind in TileKind}
