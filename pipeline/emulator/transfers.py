"""Which ranges of DDR a run read and wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Direction = Literal["read", "write"]


@dataclass(frozen=True, slots=True, order=True)
class Transfer:
    """A range of DDR that the device read or wrote, neighbouring accesses joined. Bytes."""

    direction: Direction
    address: int
    length: int


class TransferLog:
    """Collects ranges and joins them from time to time, so that it stays small."""

    def __init__(self) -> None:
        self._reads = _Ranges()
        self._writes = _Ranges()

    def read(self, address: int, length: int) -> None:
        """One range, in bytes."""
        self._reads.add(np.array([address]), np.array([length]))

    def wrote(self, address: int, length: int) -> None:
        """One range, in bytes."""
        self._writes.add(np.array([address]), np.array([length]))

    def read_many(self, addresses: Indices, lengths: Indices) -> None:
        """Ranges, in bytes."""
        self._reads.add(addresses, lengths)

    def wrote_many(self, addresses: Indices, lengths: Indices) -> None:
        """Ranges, in bytes."""
        self._writes.add(addresses, lengths)

    def transfers(self) -> tuple[Transfer, ...]:
        """All ranges so far, joined, by direction and address."""
        found: list[Transfer] = []
        names: tuple[tuple[Direction, _Ranges], ...] = (("read", self._reads), ("write", self._writes))
        for direction, ranges in names:
            starts, ends = ranges.joined()
            found += [
                Transfer(direction, start, end - start)
                for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
            ]
        return tuple(found)

    def written(self) -> int:
        """Bytes of DDR written, each counted once."""
        starts, ends = self._writes.joined()
        return int((ends - starts).sum())

    def clear(self) -> None:
        """Forgets everything."""
        self._reads = _Ranges()
        self._writes = _Ranges()


class _Ranges:
    _JOIN_AT = 4096

    def __init__(self) -> None:
        self._starts: list[Indices] = []
        self._ends: list[Indices] = []
        self._pending = 0

    def add(self, starts: Indices, lengths: Indices) -> None:
        self._starts.append(starts)
        self._ends.append(starts + lengths)
        self._pending += 1
        if self._pending >= self._JOIN_AT:
            self.joined()

    def joined(self) -> tuple[Indices, Indices]:
        self._pending = 0
        if not self._starts:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        starts, ends = np.concatenate(self._starts), np.concatenate(self._ends)
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], np.maximum.accumulate(ends[order])
        first = np.concatenate((np.array([True]), starts[1:] > ends[:-1]))
        begin = np.flatnonzero(first)
        last = np.concatenate((begin[1:] - 1, np.array([starts.size - 1])))
        self._starts, self._ends = [starts[begin]], [ends[last]]
        return self._starts[0], self._ends[0]
