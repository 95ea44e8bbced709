"""What reads and writes of a tile's lock registers do: values set, and requests by reading an address."""

from __future__ import annotations

from .fabric import Fabric
from .locks import LockBank
from .races import Actor

# a read of LOCK_REQUEST is a request: lock in 15:10, acquire in 9, value in 8:2 (aie-rt)
_REQUEST_LOCK_SHIFT, _REQUEST_ACQUIRE, _REQUEST_VALUE_SHIFT = 10, 1 << 9, 2


class LockRegisters:
    """The registers of one bank; whoever uses them acts as the controller does."""

    def __init__(self, bank: LockBank, fabric: Fabric) -> None:
        self._bank = bank
        self._fabric = fabric

    def set(self, lock: int, value: int) -> None:
        """A write of LOCK_VALUE."""
        before = self._bank.value(lock)
        self._bank.set(lock, value)
        self._changed(lock, before, granted=True)

    def is_request(self, offset: int) -> bool:
        """Whether an offset from LOCK_REQUEST on is one."""
        return 0 <= offset < self._bank.count << _REQUEST_LOCK_SHIFT

    def request(self, offset: int) -> int:
        """A read there: 1 when it was granted."""
        bank = self._bank
        lock = offset >> _REQUEST_LOCK_SHIFT
        value = offset >> _REQUEST_VALUE_SHIFT & 0x7F
        acquires = bool(offset & _REQUEST_ACQUIRE)
        before = bank.value(lock)
        if not acquires:
            bank.release(lock, value, who=Actor.CONTROLLER)
        elif bank.acquire(lock, value) is None:
            return 0
        self._changed(lock, before, granted=acquires)
        return 1

    def _changed(self, lock: int, before: int, *, granted: bool) -> None:
        tile, races, trace = self._bank.tile, self._fabric.checks.races, self._fabric.trace
        if races is not None:
            if granted:
                races.acquired(Actor.CONTROLLER, (tile, lock))
            races.released(Actor.CONTROLLER, (tile, lock))
        if trace is not None:
            trace.lock(tile, lock, self._fabric.now(), self._bank.value(lock) - before)
