"""What a tile offers to its core: locks, the two stream ports, the cascade, events.

The core engine calls these and never sees a tile. A method that cannot be served now says so by its
result (False or None) and leaves nothing changed; the core then stalls on that instruction and `Core.run`
returns a `CoreStop`, to be run again when the array has moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

StopKind = Literal[
    "acquire",
    "release",
    "stream-read",
    "stream-write",
    "cascade-read",
    "cascade-write",
    "done",
    "budget",
]

CASCADE_BYTES = 64
"""One word of the cascade is 512 bits (AM020: 512-bit cascade of AIE-ML)."""


class CorePort(Protocol):
    """The tile's side of a core. All calls are made between two bundles of the core."""

    def acquire(self, lock: int, value: int) -> bool:
        """Try lock `lock` (the core's id: 0-15 South, 16-31 West, 32-47 North, 48-63 own).

        `value` as in the register, signed: negative asks for at least `-value` and subtracts it; zero or
        positive asks for exactly `value` and subtracts it. True when granted and done.
        """
        ...

    def release(self, lock: int, value: int) -> bool:
        """Add `value` (signed, as in the register) to the lock. True when done."""
        ...

    def stream_get(self, port: int) -> tuple[int, bool] | None:
        """Take the next word of the core's stream input, with its TLAST; None when there is none yet."""
        ...

    def stream_put(self, port: int, word: int, tlast: bool) -> bool:
        """Offer a word to the core's stream output. True when taken."""
        ...

    def cascade_get(self) -> bytes | None:
        """Take the next `CASCADE_BYTES` bytes of the cascade input; None when there are none yet."""
        ...

    def cascade_put(self, data: bytes) -> bool:
        """Offer `CASCADE_BYTES` bytes to the cascade output. True when taken."""
        ...

    def event(self, number: int) -> None:
        """The core executed `event #number` (0 to 3)."""
        ...


@runtime_checkable
class ProcessorBus(Protocol):
    """What a port may offer besides: the tile's own registers, for `lda.tm` and `st.tm`.

    `address` is the core's, 20 bits. Raises EmulationError(kind="out-of-range") where there is nothing.
    """

    def bus_read(self, address: int) -> int: ...
    def bus_write(self, address: int, value: int) -> None: ...


class CoreChecks(Protocol):
    """Is told what only a checked engine looks for."""

    def unwritten_load(self, pc: int, address: int, size: int) -> None:
        """The bundle at `pc` loads `size` bytes at a core's address, of which not all were ever written."""
        ...


@dataclass(frozen=True, slots=True)
class CoreStop:
    """Why `Core.run` came back. `pc` is the byte address of the bundle that it will go on with.

    `number` is the lock's id (acquire, release) or the stream port (stream-read, stream-write), else 0;
    `value` is the register's value of an acquire or release, signed.
    """

    kind: StopKind
    pc: int
    number: int = 0
    value: int = 0

    @property
    def stalled(self) -> bool:
        """True when it waits for the array: neither done nor out of budget."""
        return self.kind not in ("done", "budget")
