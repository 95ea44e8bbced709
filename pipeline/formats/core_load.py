"""A core's program as CDO commands: what aie-rt's ELF loader writes to the array, segment by segment.

The ELF itself is not in a PDI; its segments are, as writes to program and data memory. Zero-initialised
memory is not written. Source: aie-rt's XAie_LoadElf, checked on the CDO files of real designs.
"""

from __future__ import annotations

from ..npu.limits import PROGRAM_MEMORY_BYTES, PROGRAM_MEMORY_OFFSET
from ..npu.topology import CORE_QUADRANT_BYTES, CORE_QUADRANTS, TileAddress
from .cdo import DmaWrite
from .elf import CoreElf, Segment


def load_commands(program: CoreElf, tile: TileAddress) -> tuple[DmaWrite, ...]:
    """One write per segment that has bytes, in the ELF's order; each padded to whole words.

    Raises ValueError for a segment in a neighbour's memory where there is no compute tile.
    """
    return tuple(
        DmaWrite(_address(segment, tile), segment.data + bytes(-len(segment.data) % 4))
        for segment in program.segments
        if segment.data
    )


def _address(segment: Segment, tile: TileAddress) -> int:
    if segment.address < PROGRAM_MEMORY_BYTES:
        return tile.address(PROGRAM_MEMORY_OFFSET + segment.address)
    offset = segment.address % CORE_QUADRANT_BYTES
    side = CORE_QUADRANTS[segment.address - offset]
    owner = tile if side is None else tile.neighbour(side)
    if owner is None or owner.kind is not tile.kind:
        raise ValueError(f"{segment.address:#x} is in no compute tile's memory as {tile} sees it")
    return owner.address(offset)
