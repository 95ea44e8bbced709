"""Array addresses by name: tile, module, register, fields; and the register state that writes leave.

Everything that configures the array is a write to an address; here is what the address is called. Sources:
npu/registers.json (aie-rt's register header), npu/limits.py for the memories.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..description import FieldValue, MemoryWrite, RegisterAccess, Tile
from ..formats.reader import unpack_words
from ..npu.limits import LIMITS, PROGRAM_MEMORY_BYTES, PROGRAM_MEMORY_OFFSET
from ..npu.registers import locate
from ..npu.topology import ROWS, TileAddress, TileKind, split_address
from .meanings import meaning

WORD_BYTES = 4
LARGEST_COLUMN = 127
"""A column has seven bits in a 32-bit address."""

MOST_REGISTERS = 512
"""A longer block is told as a block; the longest row of registers, a memory tile's BDs, has 384."""

KEPT = 1 << 12
"""Descriptions kept: files repeat themselves, and equal parts of a description can be one."""

MOST_WORDS_SHOWN = 16
"""Blocks for a memory of up to so many words are told word by word."""

# first offsets of the modules of a tile (aie-rt's names); the stream switch belongs to the core or PL module
_MODULES = {
    TileKind.COMPUTE: ((0x00000, "memory module"), (0x20000, "core module")),
    TileKind.MEMORY: ((0x00000, "memory tile module"),),
    TileKind.SHIM: ((0x00000, "NoC module"), (0x20000, "PL module")),
}

PROGRAM_MEMORY = "program memory"
DATA_MEMORY = "data memory"


@dataclass(frozen=True, slots=True)
class Place:
    """An array address taken apart; `kind` is None where there is no such tile."""

    address: TileAddress
    kind: TileKind | None
    offset: int

    @property
    def tile(self) -> Tile | None:
        return None if self.kind is None else tile_of(self.address)

    @property
    def module(self) -> str:
        return "" if self.kind is None else module_of(self.kind, self.offset)


def place_of(address: int) -> Place:
    """The tile and offset of an address of any width."""
    tile, offset = split_address(address)
    exists = tile.row < ROWS and tile.column <= LARGEST_COLUMN
    return Place(tile, tile.kind if exists else None, offset)


@functools.lru_cache(maxsize=1024)
def tile_of(address: TileAddress) -> Tile:
    """The tile as people read it. Raises ValueError for a row that npu1 does not have."""
    return Tile(str(address), address.column, address.row)


def module_of(kind: TileKind, offset: int) -> str:
    """The module that an offset in a tile belongs to."""
    return next(name for start, name in reversed(_MODULES[kind]) if offset >= start)


def memory_at(kind: TileKind, offset: int) -> tuple[str, int] | None:
    """The memory at an offset of a tile and where in it; None where a register stands there."""
    if offset < LIMITS[kind].data_memory_bytes:
        return DATA_MEMORY, offset
    program = range(PROGRAM_MEMORY_OFFSET, PROGRAM_MEMORY_OFFSET + PROGRAM_MEMORY_BYTES)
    if kind is TileKind.COMPUTE and offset in program:
        return PROGRAM_MEMORY, offset - PROGRAM_MEMORY_OFFSET
    return None


def register_name(kind: TileKind, offset: int) -> str | None:
    """ "DMA_BD_WORD_1[3]", "data memory + 0x400"; None where nothing is known."""
    memory = memory_at(kind, offset)
    if memory is not None:
        return f"{memory[0]} + {memory[1]:#x}"
    found = locate(kind, offset)
    if found is None:
        return None
    return str(found) if not found.byte else f"{found} + {found.byte}"


def is_register(address: int) -> bool:
    """Whether the chip has a register there."""
    place = place_of(address)
    return place.kind is not None and locate(place.kind, place.offset) is not None


@functools.lru_cache(maxsize=KEPT)
def access(address: int, value: int | None, mask: int | None = None) -> RegisterAccess:
    """One access by name, with the fields that `mask` touches (all without a mask)."""
    place = place_of(address)
    if place.kind is None:
        return RegisterAccess(None, "", None, address, value, mask)
    fields: list[FieldValue] = []
    means = ""
    found = locate(place.kind, place.offset) if memory_at(place.kind, place.offset) is None else None
    if found is not None and value is not None and not found.byte:
        bits = 0xFFFFFFFF if mask is None else mask
        fields = [
            FieldValue(entry.name, entry.get(value))
            for entry in found.register.fields
            if entry.mask & bits and entry.width <= 32
        ]
        means = meaning(place.kind, found, value) if mask is None else ""
    return RegisterAccess(
        place.tile,
        place.module,
        register_name(place.kind, place.offset),
        address,
        value,
        mask,
        tuple(fields),
        means,
    )


def memory_write(address: int, data: bytes, memory: str | None = None) -> MemoryWrite:
    """A block as one entry; `memory` where it is known to be none of the tile's memories."""
    place = place_of(address)
    found = None if place.kind is None or memory is not None else memory_at(place.kind, place.offset)
    name, start = (memory or "nothing known", place.offset) if found is None else found
    words = unpack_words(data) if len(data) <= WORD_BYTES * MOST_WORDS_SHOWN else ()
    digest = hashlib.sha256(data).hexdigest()
    return MemoryWrite(place.tile, place.module, name, start, len(data), digest, words)


@dataclass(slots=True)
class RegisterState:
    """Registers of the array by address, as writes leave them; memories are left out.

    Registers that were never written count as 0, which is what they hold after a reset.
    """

    values: dict[int, int] = field(default_factory=dict[int, int])

    def write(self, address: int, value: int, mask: int = 0xFFFFFFFF) -> None:
        """One register, where it is one."""
        if is_register(address):
            self.values[address] = self.values.get(address, 0) & ~mask | value & mask

    def write_block(self, address: int, words: Sequence[int]) -> None:
        """Consecutive registers."""
        for index, value in enumerate(words):
            self.write(address + WORD_BYTES * index, value)

    def read(self, tile: TileAddress, offset: int) -> int:
        return self.values.get(tile.base | offset, 0)

    def tiles(self) -> tuple[TileAddress, ...]:
        """Tiles of which a register was written, by column and row."""
        return tuple(sorted({split_address(address)[0] for address in self.values}))
