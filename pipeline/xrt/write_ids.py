"""Who wrote each byte last, and which write each side sees: a lost write is one even where values are equal.

Every store of the host and every write of the device gets a number. The host's view and DDR hold, byte by
byte, the number of the write that they show; a write-back that puts an older number over a newer one loses
a write, and an access that sees an older number than the other side has is stale.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint32]
Lines = npt.NDArray[np.bool_] | slice

LINE_BYTES = 64


class Loss(enum.Enum):
    """What went wrong with a write."""

    LOST = "lost"  # the device's write was overwritten by older bytes of the host's cache
    UNSEEN_BY_HOST = "unseen by host"  # the host read bytes that the device has written since
    UNSEEN_BY_DEVICE = "unseen by device"  # the device read bytes that the host has written since


@dataclass(frozen=True, slots=True)
class LostWrites:
    """How often, and how many bytes in all; `first` is the lowest offset that was concerned."""

    loss: Loss
    times: int
    size_bytes: int
    first: int


class WriteIds:
    """The numbers of one allocation of `size` bytes (whole lines). Zero is "never written"."""

    def __init__(self, size: int) -> None:
        self._host: Ids = np.zeros(size, np.uint32)
        self._ddr: Ids = np.zeros(size, np.uint32)
        self._next = 1
        self._found: dict[Loss, LostWrites] = {}

    @property
    def found(self) -> tuple[LostWrites, ...]:
        """What was lost so far."""
        return tuple(self._found.values())

    def host_wrote(self, offset: int, length: int) -> None:
        self._host[offset : offset + length] = self._number()

    def device_wrote(self, offset: int, length: int) -> None:
        self._ddr[offset : offset + length] = self._number()

    def host_read(self, offset: int, length: int) -> None:
        window = slice(offset, offset + length)
        self._note(Loss.UNSEEN_BY_HOST, offset, self._host[window] < self._ddr[window])

    def device_read(self, offset: int, length: int) -> None:
        window = slice(offset, offset + length)
        self._note(Loss.UNSEEN_BY_DEVICE, offset, self._ddr[window] < self._host[window])

    def written_back(self, lines: npt.NDArray[np.intp]) -> None:
        """Those lines went from the cache to DDR."""
        host, ddr = (ids.reshape(-1, LINE_BYTES) for ids in (self._host, self._ddr))
        older = host[lines] < ddr[lines]
        if older.any():
            row, column = np.unravel_index(int(np.argmax(older)), older.shape)
            self._add(Loss.LOST, int(np.count_nonzero(older)), int(lines[row]) * LINE_BYTES + int(column))
        ddr[lines] = host[lines]

    def shown(self, lines: Lines) -> None:
        """Those lines are not in the cache: the host sees DDR there."""
        host, ddr = (ids.reshape(-1, LINE_BYTES) for ids in (self._host, self._ddr))
        host[lines] = ddr[lines]

    def _number(self) -> int:
        number, self._next = self._next, self._next + 1
        return number

    def _note(self, loss: Loss, offset: int, where: npt.NDArray[np.bool_]) -> None:
        if where.any():
            self._add(loss, int(np.count_nonzero(where)), offset + int(np.argmax(where)))

    def _add(self, loss: Loss, size_bytes: int, first: int) -> None:
        known = self._found.get(loss, LostWrites(loss, 0, 0, first))
        self._found[loss] = LostWrites(
            loss, known.times + 1, known.size_bytes + size_bytes, min(known.first, first)
        )
