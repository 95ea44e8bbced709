"""The timers of a tile: 64-bit counters of cycles, one per module, as far as registers show them.

They count the array's estimate of time. What events would do to them is not modelled.
"""

from __future__ import annotations

from collections.abc import Callable

from .fabric import Fabric

RESET = 1 << 31
"""Bit of TIMER_CONTROL that sets a timer to zero (aie-rt, XAie_ResetTimer)."""

MODULES: tuple[str, ...] = ("CORE_", "MEMORY_", "")
"""What the names of a tile's timer registers begin with."""


class Timers:
    """All timers of a tile, by module."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._since = dict.fromkeys(MODULES, 0)

    def control(self, module: str, value: int) -> None:
        """A write of TIMER_CONTROL."""
        if value & RESET:
            self._since[module] = self._fabric.now()

    def read(self, module: str, *, high: bool) -> int:
        """A read of TIMER_LOW or TIMER_HIGH."""
        count = self._fabric.now() - self._since[module]
        return (count >> 32 if high else count) & 0xFFFFFFFF

    def handlers(self) -> dict[str, Callable[[int, int], None]]:
        """What writes do, by register name."""
        return {
            f"{module}TIMER_CONTROL": lambda _, value, module=module: self.control(module, value)
            for module in MODULES
        }

    def readers(self) -> dict[str, Callable[[int], int]]:
        """What reads give, by register name."""
        return {
            f"{module}TIMER_{part}": lambda _, module=module, high=high: self.read(module, high=high)
            for module in MODULES
            for part, high in (("LOW", False), ("HIGH", True))
        }
