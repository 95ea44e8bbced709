"""The small tables of an xclbin: MEM_TOPOLOGY, IP_LAYOUT and CONNECTIVITY.

Source: XRT's xclbin.h (Apache-2.0), checked on real files. facts/formats.md section 1.3.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .reader import Reader

MEMORY_DRAM = 2
IP_PS_KERNEL = 7
NO_BASE_ADDRESS = 0xFFFFFFFFFFFFFFFF
IP_NAME_BYTES = 64

_BANK = struct.Struct("<BB6xQQ16s")
_IP = struct.Struct("<IIQ64s")
_CONNECTION = struct.Struct("<iii")


@dataclass(frozen=True, slots=True)
class MemoryBank:
    """A memory that arguments can lie in."""

    tag: str
    size_kb: int
    base_address: int
    used: bool = True
    memory_type: int = MEMORY_DRAM


BANKS = (MemoryBank("HOST", 0x10000, 0x4000000), MemoryBank("SRAM", 0xC000, 0x4000000))
"""What every NPU xclbin has: bank 0 for data buffers, bank 1 for the instruction stream."""

HOST_BANK, SRAM_BANK = 0, 1


@dataclass(frozen=True, slots=True)
class Ip:
    """An instance of a kernel (a compute unit); the name is "KERNEL:INSTANCE"."""

    name: str
    kernel_id: int
    subtype: int = 1
    """0 PS, 1 DPU."""
    functional: int = 0
    """0 DPU, 1 PREPOST (the lx6 era's kernels say 1)."""
    other_properties: int = 0
    """The properties' bits besides these three."""
    ip_type: int = IP_PS_KERNEL
    base_address: int = NO_BASE_ADDRESS


@dataclass(frozen=True, slots=True)
class Connection:
    """Argument `argument` of the `ip`-th instance lies in memory bank `bank`."""

    argument: int
    ip: int
    bank: int


def parse_memory_topology(data: bytes, *, base: int = 0) -> tuple[MemoryBank, ...]:
    """Reads MEM_TOPOLOGY or ASK_GROUP_TOPOLOGY. Raises ArtifactError."""
    rows: Iterable[tuple[int, int, int, int, bytes]]
    rows = _BANK.iter_unpack(_rows(Reader(data, "MEM_TOPOLOGY", base=base), _BANK.size, 8))
    return tuple(
        MemoryBank(_text(tag), size, address, bool(used), kind) for kind, used, size, address, tag in rows
    )


def encode_memory_topology(banks: Sequence[MemoryBank]) -> bytes:
    """The section's bytes."""
    rows = (_BANK.pack(b.memory_type, b.used, b.size_kb, b.base_address, b.tag.encode()) for b in banks)
    return struct.pack("<I4x", len(banks)) + b"".join(rows)


# the fields of an IP's properties: bits 1:0, 5:4, 27:16
_SUBTYPE, _FUNCTIONAL, _KERNEL_ID = (0, 0x3), (4, 0x3), (16, 0xFFF)
_PROPERTY_MASK = sum(mask << shift for shift, mask in (_SUBTYPE, _FUNCTIONAL, _KERNEL_ID))


def parse_ip_layout(data: bytes, *, base: int = 0) -> tuple[Ip, ...]:
    """Reads IP_LAYOUT. Raises ArtifactError."""
    found: list[Ip] = []
    rows: Iterable[tuple[int, int, int, bytes]]
    rows = _IP.iter_unpack(_rows(Reader(data, "IP_LAYOUT", base=base), _IP.size, 8))
    for kind, properties, address, name in rows:
        subtype, functional, kernel_id = (
            properties >> shift & mask for shift, mask in (_SUBTYPE, _FUNCTIONAL, _KERNEL_ID)
        )
        rest = properties & ~_PROPERTY_MASK
        found.append(Ip(_text(name), kernel_id, subtype, functional, rest, kind, address))
    return tuple(found)


def encode_ip_layout(ips: Sequence[Ip]) -> bytes:
    """The section's bytes. Raises ValueError where a name or id does not fit."""
    rows: list[bytes] = []
    for ip in ips:
        name = ip.name.encode()
        if len(name) >= IP_NAME_BYTES:
            raise ValueError(f"{ip.name!r} is longer than the {IP_NAME_BYTES - 1} bytes of an instance name")
        properties = ip.other_properties
        for value, (shift, mask) in (
            (ip.subtype, _SUBTYPE),
            (ip.functional, _FUNCTIONAL),
            (ip.kernel_id, _KERNEL_ID),
        ):
            if value & ~mask:
                raise ValueError(f"{value:#x} is too large for the properties of an instance")
            properties |= value << shift
        rows.append(_IP.pack(ip.ip_type, properties, ip.base_address, name))
    return struct.pack("<I4x", len(ips)) + b"".join(rows)


def parse_connectivity(data: bytes, *, base: int = 0) -> tuple[Connection, ...]:
    """Reads CONNECTIVITY or ASK_GROUP_CONNECTIVITY. Raises ArtifactError."""
    rows: Iterable[tuple[int, int, int]]
    rows = _CONNECTION.iter_unpack(_rows(Reader(data, "CONNECTIVITY", base=base), _CONNECTION.size, 4))
    return tuple(Connection(*row) for row in rows)


def encode_connectivity(connections: Sequence[Connection]) -> bytes:
    """The section's bytes."""
    rows = (_CONNECTION.pack(c.argument, c.ip, c.bank) for c in connections)
    return struct.pack("<I", len(connections)) + b"".join(rows)


def _rows(reader: Reader, row_bytes: int, start: int) -> bytes:
    """The bytes of all rows; their count is the first word."""
    count = reader.u32(0, "the count")
    return reader.take(start, count * row_bytes, f"{count} entries")


def _text(name: bytes) -> str:
    return name.split(b"\0", 1)[0].decode("latin-1")
