"""What a core's tile and the engine that executes its bundles need of each other."""

from __future__ import annotations

from typing import Protocol

from .core.port import CoreChecks, CorePort, CoreStop
from .memory import Bytes


class CoreEngine(Protocol):
    """What executes bundles: `emulator.core`'s Core."""

    @property
    def bundles(self) -> int: ...
    @property
    def stalls(self) -> int:
        """Cycles lost to bank conflicts of its own accesses since it was made."""
        ...

    @property
    def stack(self) -> tuple[int, int, int] | None:
        """Lowest and highest value of the stack pointer, and the pc of the latter; only with checks."""
        ...

    @property
    def pc(self) -> int: ...
    def take_outside(self) -> int | None:
        """The pc of the last load from where the core has no memory since somebody asked; it gave zeros."""
        ...

    def reset(self) -> None: ...
    def program_changed(self) -> None: ...
    def run(self, budget: int) -> CoreStop: ...
    def read_register(self, name: str) -> int: ...
    def write_register(self, name: str, value: int) -> None: ...


class CoreFactory(Protocol):
    """Makes an engine. `memories`: South, West, North, own; None where the core has no neighbour.

    With `checks` each memory is followed in its storage by its shadow (memory.LocalMemory).
    """

    def __call__(
        self,
        name: str,
        port: CorePort,
        program: bytearray,
        memories: tuple[Bytes | None, Bytes | None, Bytes | None, Bytes | None],
        *,
        core_id: int,
        checks: CoreChecks | None = None,
    ) -> CoreEngine: ...


class CoreWatch(Protocol):
    """Looks, in check mode, at what a core did to memory; see checked_core.py."""

    def meets_others(self, pc: int) -> None:
        """The core is at `pc` and others are about to act, or it is about to learn of them."""
        ...
