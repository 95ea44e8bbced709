"""The state of a core as one flat buffer that Python and compiled code both work on.

First a small header (where data memory is, how many bundles may still issue, why compiled code came
back), then the register file as `isa/semantics/registers.py` lays it out, then room for values in flight.
Plain values are ints (scalars, unsigned) and tuples of ints (vectors, lane 0 first).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ...isa.semantics.registers import file_size, register
from ...isa.semantics.value import Type
from ..memory import WRITTEN

PlainValue: TypeAlias = int | tuple[int, ...]
Memory: TypeAlias = npt.NDArray[np.uint8]

QUADRANT_BYTES = 0x10000
QUADRANTS = ("South", "West", "North", "own")
FIRST_QUADRANT = 4
"""A core sees its four data memories at 0x40000, 0x50000, 0x60000 and 0x70000 (facts 6)."""

NO_STACK = 0xFFFFFFFF
"""STACK_LOW while SP has not been set."""

_POINTERS = 16
"""One for each value of a 20-bit address' top four bits; 0 where the core has no memory."""
POINTER_TABLE = 0
FUEL = 8 * _POINTERS
EXIT_PC = FUEL + 8
EXIT_SHAPE = EXIT_PC + 4
STALLS = EXIT_SHAPE + 4
"""Cycles lost to bank conflicts, 64 bits."""
STACK_LOW = STALLS + 8
"""Lowest and highest value of SP, and the pc of the bundle that set the latter; kept by checked engines."""
STACK_HIGH = STACK_LOW + 4
STACK_PC = STACK_HIGH + 4
PORT = (STACK_PC + 4 + 7) // 8 * 8
"""Where the memory is that is shared with the tile (fast_port.py); 0 where there is none."""
BUNDLE_BASE = PORT + 8
"""Bundles issued when compiled code was entered, and its fuel: what has issued is that less FUEL."""
OUTSIDE_PC = BUNDLE_BASE + 8
"""One more than the pc of the last load from where the core has no memory; 0 where there was none."""
NOTHING = OUTSIDE_PC + 8
"""Where such loads find their zeros."""
REGISTERS = 256
_REGISTER_BYTES = (file_size() + 63) // 64 * 64
FLIGHT = REGISTERS + _REGISTER_BYTES
FLIGHT_BYTES = 16384
STATE_BYTES = FLIGHT + FLIGHT_BYTES


_NOTHING = np.zeros(2 * QUADRANT_BYTES + 64, dtype=np.uint8)
"""What is read where there is no memory, and a shadow in which it counts as written. Nobody writes it but
checked code, which marks it as loaded."""
_NOTHING[QUADRANT_BYTES:] = WRITTEN


@cache
def cell_bytes(type_: Type) -> int:
    """Bytes that a value takes in the buffer: scalars a power of two, bits of a mask one byte each."""
    if type_.is_vector:
        return type_.lanes * max(8, _power(type_.width)) // 8
    return max(8, _power(type_.width)) // 8


def _power(width: int) -> int:
    return 1 << (width - 1).bit_length()


def encode(type_: Type, value: PlainValue) -> bytes:
    """A value as `cell_bytes(type_)` bytes, little endian."""
    lane = cell_bytes(type_) // type_.lanes
    if isinstance(value, int):
        return value.to_bytes(lane, "little")
    return b"".join(v.to_bytes(lane, "little") for v in value)


def decode(type_: Type, data: bytes | memoryview) -> PlainValue:
    """The inverse of `encode`; bits above a lane's width are ignored."""
    lane = cell_bytes(type_) // type_.lanes
    if not type_.is_vector:
        return int.from_bytes(data, "little") & type_.mask
    return tuple(int.from_bytes(data[i : i + lane], "little") & type_.mask for i in range(0, len(data), lane))


class State:
    """Registers of one core, and the window on its data memories.

    `checked`: behind each memory, in the same storage, lies its shadow, a byte for each (emulator/memory.py).
    `fast_port` is the address of the memory that is shared with the tile.
    """

    def __init__(
        self, memories: Sequence[Memory | None], *, checked: bool = False, fast_port: int = 0
    ) -> None:
        self.checked = checked
        self.shadows: dict[int, memoryview] = {}
        self.buffer = np.zeros(STATE_BYTES + 64, dtype=np.uint8)
        start = -self.buffer.ctypes.data % 64
        self.buffer = self.buffer[start : start + STATE_BYTES]
        self.view = self.buffer.data
        self.address: int = self.buffer.ctypes.data
        """Where the buffer is, for compiled code."""
        self.memories: dict[int, memoryview] = {}
        self._arrays = tuple(memories)
        pointers = self.buffer[POINTER_TABLE:FUEL].view(np.uint64)
        for index, memory in enumerate(memories):
            if memory is None:
                continue
            if memory.nbytes != QUADRANT_BYTES or not memory.flags.c_contiguous:
                raise ValueError("a data memory is 64 KiB of contiguous bytes")
            pointers[FIRST_QUADRANT + index] = memory.ctypes.data
            self.memories[FIRST_QUADRANT + index] = memory.data
            if checked:
                shadow = (ctypes.c_uint8 * QUADRANT_BYTES).from_address(memory.ctypes.data + QUADRANT_BYTES)
                self.shadows[FIRST_QUADRANT + index] = memoryview(shadow).cast("B")
        self.set_word(STACK_LOW, NO_STACK)
        self.set_long(NOTHING, _NOTHING.ctypes.data)
        self.set_long(PORT, fast_port)

    def clear_registers(self) -> None:
        self.buffer[REGISTERS : REGISTERS + _REGISTER_BYTES] = 0

    def read(self, name: str) -> PlainValue:
        reg = register(name)
        start = REGISTERS + reg.offset
        return decode(reg.type, self.view[start : start + reg.size])

    def read_scalar(self, name: str) -> int:
        value = self.read(name)
        if not isinstance(value, int):
            raise TypeError(f"{name} is a vector register")
        return value

    def write(self, name: str, value: PlainValue) -> None:
        reg = register(name)
        start = REGISTERS + reg.offset
        self.view[start : start + reg.size] = encode(reg.type, value)

    def long(self, offset: int) -> int:
        """A signed 64-bit header field."""
        return int.from_bytes(self.view[offset : offset + 8], "little", signed=True)

    def set_long(self, offset: int, value: int) -> None:
        self.view[offset : offset + 8] = value.to_bytes(8, "little", signed=True)

    def word(self, offset: int) -> int:
        """A 32-bit header field."""
        return int.from_bytes(self.view[offset : offset + 4], "little")

    def set_word(self, offset: int, value: int) -> None:
        self.view[offset : offset + 4] = value.to_bytes(4, "little")
