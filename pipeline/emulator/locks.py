"""The locks of a tile: counters that cores and DMAs take from and add to.

A value is 0 to 63 (six bits of LOCK_VALUE). A request carries a signed 7-bit value: an acquire of -n waits
for at least n and subtracts n, one of n waits for exactly n and leaves it; a release adds. What would
leave the range is clamped, and shown in LOCKS_OVERFLOW / LOCKS_UNDERFLOW (aie-rt; facts/emulation.md).

That an exact acquire takes nothing says UG1583 ("Locks": acquire_equal "doesn't modify the value"), and
designs that run on hardware need it: in mlir-aie a core waits for its barrier to be 1, reads its parameters
and adds 1, so that it next waits until the instruction stream has set 1 again (ml/scale_shift, twice a run).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..npu.limits import LOCK_MAXIMUM
from .core.fast_port import LOCK_CELLS, LOCK_FIRST, LOCK_RING, LOCK_TIMES, LOCK_VALUE, Cells

REQUEST_BITS = 7


def signed_request(value: int) -> int:
    """The value of a request, of which hardware takes seven bits with sign."""
    low = value & ((1 << REQUEST_BITS) - 1)
    return low - (1 << REQUEST_BITS) if low >> (REQUEST_BITS - 1) else low


class Waiting(Protocol):
    """Somebody who waits for a lock."""

    def lock_changed(self) -> None:
        """A lock of the bank has another value."""
        ...


class Taker(Protocol):
    """A channel that took a lock."""

    def goes_before(self, bank: LockBank, lock: int, lead: int) -> bool:
        """Whether one that took the lock `lead` times more often has to wait for it."""
        ...


class LockBank:
    """All locks of one tile.

    Of each unit of a lock's value it is known when (in the array's estimate of cycles) it was added, so that
    an acquire knows when it could have been granted. `releasers`: who ever added to it. All of it but that
    stands in `cells`, where compiled code of cores gets at it (core/fast_port.py).
    """

    def __init__(self, tile: str, count: int, warn: Callable[[str], None]) -> None:
        self.tile = tile
        self.count = count
        self.cells = Cells(count * LOCK_CELLS)
        self._view = self.cells.view
        self.releasers: list[set[str]] = [set() for _ in range(count)]
        self.set_by_register: set[int] = set()
        """Locks whose register was written since somebody cleared this."""
        self.overflow = 0
        self.underflow = 0
        self.takers: list[dict[Taker, int]] = [{} for _ in range(count)]
        """Of each lock the channels in the middle of a task that took it, and at which turn they are."""
        self.waiting: list[Waiting] = []
        """Who is to be told when a lock has changed."""
        self._warn = warn

    @property
    def values(self) -> list[int]:
        """Of all locks."""
        return self._view[LOCK_VALUE::LOCK_CELLS].tolist()

    def value(self, lock: int) -> int:
        """Of one lock."""
        return self._view[lock * LOCK_CELLS + LOCK_VALUE]

    def tell(self) -> None:
        """A lock has changed: whoever waits for one may try again."""
        waiting, self.waiting = self.waiting, []
        for agent in waiting:
            agent.lock_changed()

    def set(self, lock: int, value: int) -> None:
        """A write to the lock's register."""
        self._put(lock, value & LOCK_MAXIMUM, 0)
        self.set_by_register.add(lock)
        self.takers[lock].clear()

    def reset(self) -> None:
        """All at 0, and nobody waits."""
        self.waiting.clear()
        for lock in range(self.count):
            self.set(lock, 0)
            self.releasers[lock].clear()
        self.overflow = self.underflow = 0

    def grants(self, lock: int, value: int) -> bool:
        """Whether an acquire with this request would succeed now."""
        value = signed_request(value)
        held = self._view[lock * LOCK_CELLS + LOCK_VALUE]
        return held >= -value if value < 0 else held == value

    def awaited(self, lock: int, value: int, name: str) -> str:
        """An acquire's wait, in words. One that would be granted by now only did not have its turn yet."""
        wait = "is about to take" if self.grants(lock, value) else "waits for"
        return f"{wait} {name} {wanted(value)}, which is {self.value(lock)}"

    def acquire(self, lock: int, value: int) -> int | None:
        """Tries. When granted, the time from which on it could have been; else None."""
        if not self.grants(lock, value):
            return None
        view, at, count = self._view, lock * LOCK_CELLS, taken(value)
        first = view[at + LOCK_FIRST]
        time = 0
        for unit in range(first, first + abs(signed_request(value))):
            time = max(time, view[at + LOCK_RING + unit % LOCK_TIMES])
        view[at + LOCK_VALUE] -= count
        view[at + LOCK_FIRST] = (first + count) % LOCK_TIMES
        if self.waiting and count:
            self.tell()
        return time

    def release(self, lock: int, value: int, *, who: str, time: int = 0) -> None:
        """Adds the request's value."""
        new = self.value(lock) + signed_request(value)
        if new > LOCK_MAXIMUM:
            self.overflow |= 1 << lock
            self._warn(f"{who} released lock {lock} of {self.tile} past {LOCK_MAXIMUM}")
        elif new < 0:
            self.underflow |= 1 << lock
            self._warn(f"{who} released lock {lock} of {self.tile} below 0")
        self._put(lock, min(max(new, 0), LOCK_MAXIMUM), time)
        self.releasers[lock].add(who)

    def _put(self, lock: int, value: int, time: int) -> None:
        view, at = self._view, lock * LOCK_CELLS
        first = view[at + LOCK_FIRST]
        for unit in range(first + view[at + LOCK_VALUE], first + value):
            view[at + LOCK_RING + unit % LOCK_TIMES] = time
        view[at + LOCK_VALUE] = value
        if self.waiting:
            self.tell()


def taken(value: int) -> int:
    """What an acquire with this request subtracts."""
    return max(-signed_request(value), 0)


def wanted(value: int) -> str:
    """What an acquire with this request waits for, in words."""
    value = signed_request(value)
    return f">= {-value}" if value < 0 else f"== {value}"
