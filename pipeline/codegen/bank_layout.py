"""Where the buffers of a core stand in its 64 KiB, so that a bundle's accesses rarely meet in one bank.

A data memory is four banks of 16 KiB for vector accesses (AM020: eight of 8 KiB, two interleaved;
docs/emulator.md): what a bundle reads and writes in one bank costs a cycle more. A kernel reads A and B in
one bundle, and loads or stores results beside them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ..npu.limits import LIMITS
from ..npu.topology import TileKind
from .core_memory import STACK_BYTES

BANK_BYTES = 16 << 10
_MEMORY_BYTES = LIMITS[TileKind.COMPUTE].data_memory_bytes
_LEFT, _RIGHT, _RESULT = range(3)
_COST = {(_LEFT, _RIGHT): 4, (_LEFT, _RESULT): 2, (_RIGHT, _RESULT): 2}
"""How bad it is that two kinds of buffer share a bank, roughly by how often a bundle uses both."""


@dataclass(frozen=True, slots=True)
class BankedPlaces:
    """Offsets of the buffers in the core's memory, and where the rest of it begins."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    result: tuple[int, ...]
    end: int


def place_in_banks(left: int, right: int, results: Sequence[int], rest: int) -> BankedPlaces:
    """Two buffers of `left` and of `right` bytes each, one per size in `results`, `rest` bytes after them.

    Of all orders, each part at a bank's beginning or right after the one before, that which shares the fewest
    banks. They must fit one after another.
    """
    parts = [(_LEFT, 2 * left), (_RIGHT, 2 * right), *((_RESULT, size) for size in results)]
    best: tuple[int, int, dict[int, int]] | None = None
    for order in itertools.permutations(range(len(parts))):
        for aligned in itertools.product((False, True), repeat=len(parts)):
            starts, end = _starts(parts, order, aligned)
            if end + rest > _MEMORY_BYTES:
                continue
            found = (_shared(parts, starts), end, starts)
            if best is None or found[:2] < best[:2]:
                best = found
    assert best is not None, "the plan was checked to fit"
    _, end, starts = best
    result = tuple(starts[2 + number] for number in range(len(results)))
    return BankedPlaces((starts[0], starts[0] + left), (starts[1], starts[1] + right), result, end)


def _starts(
    parts: Sequence[tuple[int, int]], order: Sequence[int], aligned: Sequence[bool]
) -> tuple[dict[int, int], int]:
    at, starts = STACK_BYTES, dict[int, int]()
    for part, to_bank in zip(order, aligned, strict=True):
        if to_bank:
            at = -(-at // BANK_BYTES) * BANK_BYTES
        starts[part] = at
        at += parts[part][1]
    return starts, at


def _shared(parts: Sequence[tuple[int, int]], starts: dict[int, int]) -> int:
    """What sharing costs: for each bank, every two kinds of buffer in it."""
    kinds: list[set[int]] = [set() for _ in range(_MEMORY_BYTES // BANK_BYTES)]
    for number, (kind, size) in enumerate(parts):
        last = starts[number] + max(size, 1) - 1
        for bank in range(starts[number] // BANK_BYTES, last // BANK_BYTES + 1):
            kinds[bank].add(kind)
    return sum(_COST[pair] for bank in kinds for pair in itertools.combinations(sorted(bank), 2))
