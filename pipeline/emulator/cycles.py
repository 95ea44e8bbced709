"""Where cycles go, tile by tile: an estimate from the same rules for both engines.

A core: one cycle a bundle; one more for each further access of a bundle to the same bank of data memory; and
what it waits for locks, stream words and the cascade. A DMA channel: one word a cycle, one cycle for an
acquire and for a packet header, and what it waits. Sources, and what is left out: docs/emulator.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..npu.limits import WORD_BYTES
from .array import Array
from .task import ChannelCycles

__all__ = ["CoreCycles", "TileCycles", "tile_cycles"]


@dataclass(frozen=True, slots=True)
class CoreCycles:
    """A core's cycles by what they went to."""

    bundles: int = 0
    bank_conflicts: int = 0
    lock_wait: int = 0
    stream_wait: int = 0
    cascade_wait: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.bundles + self.bank_conflicts + self.lock_wait + self.stream_wait + self.cascade_wait


@dataclass(frozen=True, slots=True)
class TileCycles:
    """A tile's cycles: of its core, and of each DMA channel ("S2MM 0") that did something."""

    core: CoreCycles = CoreCycles()
    channels: Mapping[str, ChannelCycles] = field(default_factory=dict[str, ChannelCycles])

    @property
    def bytes_per_cycle(self) -> Mapping[str, float]:
        """Of each channel over the time that it was not idle."""
        return {name: WORD_BYTES * c.words / c.total for name, c in self.channels.items() if c.total}

    def plus(self, other: TileCycles) -> TileCycles:
        """The sum, as of two runs."""
        core = CoreCycles(
            self.core.bundles + other.core.bundles,
            self.core.bank_conflicts + other.core.bank_conflicts,
            self.core.lock_wait + other.core.lock_wait,
            self.core.stream_wait + other.core.stream_wait,
            self.core.cascade_wait + other.core.cascade_wait,
        )
        channels = dict(self.channels)
        for name, more in other.channels.items():
            channels[name] = channels.get(name, ChannelCycles()).plus(more)
        return TileCycles(core, channels)

    def since(self, before: TileCycles) -> TileCycles | None:
        """The difference; None where nothing happened."""
        core = CoreCycles(
            self.core.bundles - before.core.bundles,
            self.core.bank_conflicts - before.core.bank_conflicts,
            self.core.lock_wait - before.core.lock_wait,
            self.core.stream_wait - before.core.stream_wait,
            self.core.cascade_wait - before.core.cascade_wait,
        )
        channels: dict[str, ChannelCycles] = {}
        for name, now in self.channels.items():
            spent = now.since(before.channels.get(name, ChannelCycles()))
            if spent.total:
                channels[name] = spent
        return TileCycles(core, channels) if core.total or channels else None


def tile_cycles(array: Array) -> dict[str, TileCycles]:
    """What each tile's cycles went to since the array was made."""
    found: dict[str, TileCycles] = {}
    for tile in array.tiles.values():
        core = CoreCycles()
        if tile.core is not None and tile.core.engine is not None:
            waits = tile.core.waits
            engine = tile.core.engine
            core = CoreCycles(engine.bundles, engine.stalls, waits.lock, waits.stream, waits.cascade)
        channels = {
            channel.label: channel.cycles.since(ChannelCycles())
            for channel in tile.channels.values()
            if channel.cycles.total
        }
        found[tile.name] = TileCycles(core, channels)
    return found
