"""The locks of a tile: counters that cores and DMAs take from and add to.

A value is 0 to 63 (six bits of LOCK_VALUE). A request carries a signed 7-bit value: an acquire of -n waits
for at least n and subtracts n, one of n waits for exactly n and subtracts n; a release adds. What would
leave the range is clamped, and shown in LOCKS_OVERFLOW / LOCKS_UNDERFLOW (aie-rt; facts/emulation.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..npu.limits import LOCK_MAXIMUM

REQUEST_BITS = 7


def signed_request(value: int) -> int:
    """The value of a request, of which hardware takes seven bits with sign."""
    low = value & ((1 << REQUEST_BITS) - 1)
    return low - (1 << REQUEST_BITS) if low >> (REQUEST_BITS - 1) else low


class LockBank:
    """All locks of one tile.

    Of each unit of a lock's value it is known when (in the array's estimate of cycles) it was added, so that
    an acquire knows when it could have been granted. `releasers`: who ever added to it.
    """

    def __init__(self, tile: str, count: int, warn: Callable[[str], None]) -> None:
        self.tile = tile
        self.values = [0] * count
        self._times: list[deque[int]] = [deque() for _ in range(count)]
        self.releasers: list[set[str]] = [set() for _ in range(count)]
        self.set_by_register: set[int] = set()
        """Locks whose register was written since somebody cleared this."""
        self.overflow = 0
        self.underflow = 0
        self._warn = warn

    def set(self, lock: int, value: int) -> None:
        """A write to the lock's register."""
        self._put(lock, value & LOCK_MAXIMUM, 0)
        self.set_by_register.add(lock)

    def grants(self, lock: int, value: int) -> bool:
        """Whether an acquire with this request would succeed now."""
        value = signed_request(value)
        return self.values[lock] >= -value if value < 0 else self.values[lock] == value

    def acquire(self, lock: int, value: int) -> int | None:
        """Tries. When granted, the time from which on it could have been; else None."""
        if not self.grants(lock, value):
            return None
        count = abs(signed_request(value))
        self.values[lock] -= count
        times = self._times[lock]
        time = 0
        for _ in range(count):
            time = max(time, times.popleft())
        return time

    def release(self, lock: int, value: int, *, who: str, time: int = 0) -> None:
        """Adds the request's value."""
        new = self.values[lock] + signed_request(value)
        if new > LOCK_MAXIMUM:
            self.overflow |= 1 << lock
            self._warn(f"{who} released lock {lock} of {self.tile} past {LOCK_MAXIMUM}")
        elif new < 0:
            self.underflow |= 1 << lock
            self._warn(f"{who} released lock {lock} of {self.tile} below 0")
        self._put(lock, min(max(new, 0), LOCK_MAXIMUM), time)
        self.releasers[lock].add(who)

    def _put(self, lock: int, value: int, time: int) -> None:
        times = self._times[lock]
        while len(times) > value:
            times.pop()
        times.extend([time] * (value - len(times)))
        self.values[lock] = value


def wanted(value: int) -> str:
    """What an acquire with this request waits for, in words."""
    value = signed_request(value)
    return f">= {-value}" if value < 0 else f"== {value}"
