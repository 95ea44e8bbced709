"""The device's address space: allocations by address, and what a run touched of them.

`AddressSpace` is the DDR that the emulated array reads and writes (`emulator.machine.DeviceMemory`). An
access that is not wholly inside one allocation is an error: on the real device it is an IO page fault.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..errors import EmulationError
from .memory import Bytes, CachedMemory

BASE_ADDRESS = 0x1_0000_0000
"""First address given out. Fits a BD's 48-bit base with room for the firmware's 2 GiB aperture offset."""

PAGE_BYTES = 4096
"""Allocations are page aligned (AMDXDNA_BO_SHARE) with an unused page between them."""


@dataclass(slots=True)
class Allocation:
    """A root buffer object's memory at `address`. `id` counts from 1 and is never used again."""

    id: int
    address: int
    memory: CachedMemory
    label: str
    reads: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    writes: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def size_bytes(self) -> int:
        return self.memory.size_bytes

    @property
    def end(self) -> int:
        return self.address + self.memory.size_bytes


class AddressSpace:
    """All live allocations. Addresses are never used twice, so a stale one is found."""

    def __init__(self) -> None:
        self._next_address = BASE_ADDRESS
        self._next_id = 1
        self._by_id: dict[int, Allocation] = {}
        self._starts: list[int] = []
        self._ordered: list[Allocation] = []
        self._last: Allocation | None = None

    def __iter__(self) -> Iterator[Allocation]:
        """Live allocations, the oldest first."""
        return iter(tuple(self._ordered))

    def allocate(self, memory: CachedMemory, label: str) -> Allocation:
        """Gives `memory` an address."""
        allocation = Allocation(self._next_id, self._next_address, memory, label)
        self._next_id += 1
        pages = -(-memory.size_bytes // PAGE_BYTES) + 1
        self._next_address += pages * PAGE_BYTES
        self._by_id[allocation.id] = allocation
        self._starts.append(allocation.address)
        self._ordered.append(allocation)
        return allocation

    def by_id(self, allocation_id: int) -> Allocation | None:
        """The live allocation with this id."""
        return self._by_id.get(allocation_id)

    def free(self, allocation_id: int) -> None:
        """Forgets an allocation; unknown ids are ignored (a buffer may be freed after a reset)."""
        allocation = self._by_id.pop(allocation_id, None)
        if allocation is None:
            return
        index = bisect.bisect_left(self._starts, allocation.address)
        del self._starts[index], self._ordered[index]
        if self._last is allocation:
            self._last = None

    def find(self, address: int, length: int, action: str) -> Allocation:
        """The allocation that holds the whole range. Raises EmulationError ("out-of-range")."""
        last = self._last
        if last is not None and last.address <= address and address + length <= last.end:
            return last
        index = bisect.bisect_right(self._starts, address) - 1
        below = self._ordered[index] if index >= 0 else None
        if below is None or address + length > below.end or length < 0:
            raise EmulationError(
                f"the device {action} {length} bytes at {address:#x}, {_nearest(below, address, length)}",
                kind="out-of-range",
                remedy="check the buffer sizes, and the offsets and lengths in the instruction stream",
            )
        self._last = below
        return below

    def peek(self, address: int, length: int) -> Bytes:
        """DDR bytes, unrecorded: not an access of the device. Raises EmulationError as `read` does."""
        allocation = self.find(address, length, "reads")
        offset = address - allocation.address
        return allocation.memory.ddr[offset : offset + length].copy()

    # ----------------------------------------------------------------- DeviceMemory

    def read(self, address: int, length: int) -> Bytes:
        """DDR bytes, as a copy. Raises EmulationError outside of every buffer."""
        allocation = self.find(address, length, "reads")
        offset = address - allocation.address
        allocation.reads.append((offset, length))
        if allocation.memory.ids is not None:
            allocation.memory.ids.device_read(offset, length)
        return self.peek(address, length)

    def write(self, address: int, data: Bytes) -> None:
        """Changes DDR; the cache does not hear of it. Raises EmulationError outside of every buffer."""
        allocation = self.find(address, data.size, "writes")
        offset = address - allocation.address
        allocation.writes.append((offset, data.size))
        allocation.memory.ddr[offset : offset + data.size] = data
        if allocation.memory.ids is not None:
            allocation.memory.ids.device_wrote(offset, data.size)


def joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """(offset, length) ranges, sorted, overlapping and adjoining ones made one."""
    if not ranges:
        return []
    table = np.array(ranges, np.int64)
    table = table[np.argsort(table[:, 0], kind="stable")]
    starts = table[:, 0]
    ends = np.maximum.accumulate(starts + table[:, 1])
    breaks = np.flatnonzero(starts[1:] > ends[:-1])
    first = starts[np.concatenate(([0], breaks + 1))]
    last = ends[np.concatenate((breaks, [starts.size - 1]))]
    return [(int(low), int(high - low)) for low, high in zip(first, last, strict=True)]


def _nearest(below: Allocation | None, address: int, length: int) -> str:
    if below is None:
        return "below every buffer"
    name = f"{below.label} ({below.size_bytes} bytes at {below.address:#x})"
    if address >= below.end:
        return f"which is in no buffer: {address - below.end} bytes past the end of {name}"
    return f"which runs {address + length - below.end} bytes past the end of {name}"
