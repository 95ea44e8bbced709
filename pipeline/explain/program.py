"""Core ELFs explained: segments and symbols. Their code is explain/listing.py's."""

from __future__ import annotations

from ..description import CoreProgram, Segment, Symbol
from ..formats.elf import CoreElf
from .names import shortened
from .registers import DATA_MEMORY, PROGRAM_MEMORY


def explain_elf(found: CoreElf, size_bytes: int) -> CoreProgram:
    """The program that was read from `size_bytes` bytes."""
    return CoreProgram(
        size_bytes,
        found.entry,
        shortened(found.comment),
        tuple(
            Segment(
                segment.address,
                len(segment.data),
                segment.memory_bytes,
                segment.executable,
                PROGRAM_MEMORY if segment.is_program else DATA_MEMORY,
            )
            for segment in found.segments
        ),
        tuple(
            Symbol(s.address, s.size_bytes, s.kind, s.is_global, shortened(s.section), shortened(s.name))
            for s in sorted(found.symbols, key=lambda s: (s.address, s.name))
        ),
    )
