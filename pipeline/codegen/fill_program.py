"""The core's program for a fill: write the pattern once into its memory, then lend it to the DMA for ever.

The DMA sends the chunk as often as the shim asks for; its content never changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..isa.assembler import Label, ProgramStatement, Statement
from .core_memory import Lock

PATTERN_WORDS = 2
"""Patterns of 1 to 8 bytes are written as two words."""

_PAIRS_PER_LOOP = 8


@dataclass(frozen=True, slots=True)
class FillProgram:
    """`words` (even, or 1) of memory from the core's address `address` get the `pattern`, two words."""

    op: str
    address: int
    words: int
    pattern: tuple[int, int]


def pattern_words(element: bytes) -> tuple[int, int]:
    """The element's bytes repeated over eight bytes, as two words (signed, as assembly has them)."""
    data = element * (4 * PATTERN_WORDS // len(element))
    low, high = (int.from_bytes(data[at : at + 4], "little", signed=True) for at in (0, 4))
    return low, high


def statements(program: FillProgram) -> Iterator[ProgramStatement]:
    """The program as assembly, from address 0."""
    low, high = program.pattern
    pairs, single = divmod(program.words, PATTERN_WORDS)
    turns, rest = divmod(pairs, _PAIRS_PER_LOOP)
    yield Statement(f"movi p0, #{program.address}", f"{program.op}: the chunk that is sent")
    yield Statement(f"movi r0, #{low}", f"{program.op}: low word of the pattern")
    yield Statement(f"movi r1, #{high}", "high word")
    yield Statement("movi r2, #-1", "acquires: at least one")
    yield Statement("movi r3, #1", "releases")
    pair = (
        Statement("st r0, [p0], #4", f"{program.op}: pattern"),
        Statement("st r1, [p0], #4", f"{program.op}: pattern"),
    )
    if turns:
        yield Statement(f"movi r4, #{turns}", "turns of the loop")
        yield Label("fill")
        yield Statement("add r4, r4, #-1", "a turn is done")
        yield from pair * _PAIRS_PER_LOOP
        yield Statement("jnz r4, fill", "the next turn")
    yield from pair * rest
    yield from pair[:single]
    yield Label("chunk")
    yield Statement(f"acq #{Lock.RESULT_FREE.core_id}, r2", "wait until the chunk was sent")
    yield Statement(f"rel #{Lock.RESULT_FULL.core_id}, r3", "send it again")
    yield Statement("j chunk", "for ever")
