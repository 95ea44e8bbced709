"""Sets of byte ranges, for a handful of ranges each."""

from __future__ import annotations

from collections.abc import Iterator


class Intervals:
    """Half-open ranges [low, high), sorted and apart from each other."""

    __slots__ = ("_ranges",)

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._ranges)

    def add(self, low: int, high: int) -> None:
        """Joins [low, high) to the set; ranges that touch become one."""
        if low >= high:
            return
        kept = [(a, b) for a, b in self._ranges if b < low or a > high]
        joined = [(a, b) for a, b in self._ranges if not (b < low or a > high)]
        for a, b in joined:
            low, high = min(low, a), max(high, b)
        self._ranges = sorted([*kept, (low, high)])

    def remove(self, low: int, high: int) -> None:
        """Takes [low, high) out of the set."""
        if low >= high:
            return
        left: list[tuple[int, int]] = []
        for a, b in self._ranges:
            left += [part for part in ((a, min(b, low)), (max(a, high), b)) if part[0] < part[1]]
        self._ranges = left

    def overlaps(self, low: int, high: int) -> bool:
        """Whether any byte of [low, high) is in the set."""
        return any(a < high and low < b for a, b in self._ranges)

    def within(self, low: int, high: int) -> list[tuple[int, int]]:
        """The parts of the set inside [low, high)."""
        return [(max(a, low), min(b, high)) for a, b in self._ranges if a < high and low < b]
