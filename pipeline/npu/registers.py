"""Registers of the npu1 tiles: names, offsets, and the fields in them, each bit position once.

The table is `registers.json` (our own form of AMD's aie-rt register header, MIT; made by
scripts/generate_registers.py). A row of equal registers is one entry with a count and a stride: a lock,
the start queue of a channel, a port of the stream switch. Registers that play the same part have the same
name on every kind of tile.
"""

from __future__ import annotations

import bisect
import functools
import importlib.resources
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from .topology import TileKind


@dataclass(frozen=True, slots=True)
class Field:
    """Bits `lowest` to `lowest + width - 1` of a register."""

    name: str
    lowest: int
    width: int

    @property
    def maximum(self) -> int:
        return (1 << self.width) - 1

    @property
    def mask(self) -> int:
        return self.maximum << self.lowest

    def get(self, word: int) -> int:
        """The field's value in `word`."""
        return (word >> self.lowest) & self.maximum

    def get_signed(self, word: int) -> int:
        """The field's value as a two's complement number."""
        value = self.get(word)
        return value - (1 << self.width) if value >> (self.width - 1) else value

    def place(self, value: int) -> int:
        """`value` (unsigned, or negative in two's complement) at its bits. Raises ValueError if too wide."""
        if not -(1 << (self.width - 1)) <= value <= self.maximum:
            raise ValueError(f"{self.name} = {value} does not fit into {self.width} bits")
        return (value & self.maximum) << self.lowest


@dataclass(frozen=True, slots=True)
class Register:
    """A register, or `count` equal ones `stride` bytes apart. Offsets are from the start of the tile."""

    name: str
    offset: int
    fields: tuple[Field, ...]
    count: int = 1
    stride: int = 4

    def at(self, index: int = 0) -> int:
        """Offset of the `index`-th register of the row. Raises IndexError past its end."""
        if not 0 <= index < self.count:
            raise IndexError(f"{self.name} has {self.count} registers, there is no number {index}")
        return self.offset + index * self.stride

    def field(self, name: str) -> Field:
        """The field of that name. Raises KeyError."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(f"{self.name} has no field {name}")

    def encode(self, **values: int) -> int:
        """The word with these field values, all other bits 0. Raises KeyError, ValueError."""
        word = 0
        for name, value in values.items():
            word |= self.field(name).place(value)
        return word

    def decode(self, word: int) -> dict[str, int]:
        """Every field's value, highest bits first."""
        return {field.name: field.get(word) for field in self.fields}


@dataclass(frozen=True, slots=True)
class Location:
    """What an offset in a tile means: a register of a row, and the byte within it."""

    register: Register
    index: int
    byte: int = 0

    def __str__(self) -> str:
        name = self.register.name
        return name if self.register.count == 1 else f"{name}[{self.index}]"


def register(kind: TileKind, name: str) -> Register:
    """The register `name` of a kind of tile. Raises KeyError."""
    return table(kind)[name]


def has_register(kind: TileKind, name: str) -> bool:
    """Whether that kind of tile has a register `name`."""
    return name in table(kind)


@functools.lru_cache(maxsize=1 << 14)  # a configuration writes the same registers in each run
def locate(kind: TileKind, offset: int) -> Location | None:
    """The register at `offset` of a tile; None where there is none (memories are no registers)."""
    offsets, locations = _index(kind)
    at = bisect.bisect_right(offsets, offset) - 1
    if at < 0:
        return None
    found = locations[at]
    byte = offset - offsets[at]
    bits = max((field.lowest + field.width for field in found.register.fields), default=32)
    return Location(found.register, found.index, byte) if byte < max(4, bits // 8) else None


@functools.cache
def table(kind: TileKind) -> Mapping[str, Register]:
    """All registers of a kind of tile by name."""
    text = importlib.resources.files("aiepipe.npu").joinpath("registers.json").read_text(encoding="utf-8")
    rows = cast("dict[str, list[list[str | int]]]", json.loads(text))[kind.value]
    return {found.name: found for found in map(_register, rows)}


def _register(row: list[str | int]) -> Register:
    name, offset, fields, *repeat = row
    count, stride = (int(repeat[0]), int(repeat[1])) if repeat else (1, 4)
    return Register(str(name), int(str(offset), 16), _fields(str(fields)), count, stride)


@functools.cache
def _fields(text: str) -> tuple[Field, ...]:
    parts = (entry.split(":") for entry in text.split())
    return tuple(Field(name, int(lowest), int(width)) for name, lowest, width in parts)


@functools.cache
def _index(kind: TileKind) -> tuple[list[int], list[Location]]:
    """Every register's offset, ascending, and what stands there. Memories are left out."""
    memories = ("DATAMEMORY", "PROGRAM_MEMORY")
    pairs = [
        (entry.at(index), Location(entry, index))
        for entry in table(kind).values()
        if entry.name not in memories
        for index in range(entry.count)
    ]
    pairs.sort(key=lambda pair: pair[0])
    return [offset for offset, _ in pairs], [location for _, location in pairs]
