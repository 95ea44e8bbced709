"""The array: all tiles of a partition, and the rounds in which they get on.

Scheduling is cooperative. Streams and DMAs move as far as they can, in the order in which they were woken,
then each core runs until it stops; a round in which nothing happened is the end of progress. The order is
fixed, so the same program does the same each time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from ..errors import EmulationError
from ..npu.limits import COLUMNS, LIMITS
from ..npu.topology import MEMORY_TILE_SIDES, ROWS, Bundle, TileAddress, TileKind, split_address
from .channel import Channel
from .checked_core import CheckedCore
from .checks import Checks
from .core_unit import SLICE_BUNDLES, CoreUnit
from .engine import CoreEngine, CoreFactory
from .fabric import Fabric
from .memory import DdrStore, DeviceMemory, LocalMemory, MemoryTileStore, Store, TileStore
from .packets import Token, parse_token
from .races import Actor
from .streams import Stamp
from .tile import Tile
from .trace import Trace
from .transfers import TransferLog

_SIDES = (Bundle.SOUTH, Bundle.NORTH, Bundle.WEST, Bundle.EAST)
_WARNINGS = 100

_PATIENCE = 256
"""Rounds in which only cores run until a channel goes on that waits for others to catch up: a core may wait
for it in a loop of its own."""


class Limits:
    """What bounds a run. `steps` counts bundles of cores and BDs and slices of DMAs."""

    def __init__(self, steps: int, deadline: float | None) -> None:
        self.steps = steps
        self._deadline = deadline

    def slice(self, steps: int) -> int:
        """Bundles that a core may execute at once after so many steps: not beyond the limit."""
        return min(SLICE_BUNDLES, max(1, self.steps - steps + 1))

    def check(self, steps: int) -> None:
        """Raises EmulationError(kind="step-limit" or "deadline") past a bound."""
        if steps > self.steps:
            raise EmulationError(
                f"the run was stopped after {self.steps} steps",
                kind="step-limit",
                remedy="raise the step limit if the program is meant to run that long",
            )
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise EmulationError(
                "the run was stopped at its time limit",
                kind="deadline",
                remedy="raise the time limit (--timeout)",
            )


class Array:
    """`columns` columns of a shim, a memory tile and four compute tiles each.

    `check`: watch cores and compute tiles too (checks.py). `trace` records what happens.
    """

    def __init__(
        self,
        columns: int,
        memory: DeviceMemory,
        cores: CoreFactory,
        *,
        check: bool = False,
        trace: Trace | None = None,
    ) -> None:
        if not 1 <= columns <= COLUMNS + 1:
            raise ValueError(f"a partition has 1 to {COLUMNS + 1} columns, not {columns}")
        self.columns = columns
        self.checks = Checks(full=check)
        self.fabric = Fabric(columns, self.checks, trace)
        self.fabric.now = self.time
        self.transfers = TransferLog()
        self.tokens: Counter[Token] = Counter()
        self._quiet = 0
        """Rounds since streams or DMAs moved."""
        self.steps = 0
        self._warnings: dict[str, int] = {}
        self._memory = memory
        self._make_core = cores
        self.tiles: dict[TileAddress, Tile] = {
            address: Tile(self.fabric, address, self.warn, self._take_token)
            for address in (TileAddress(column, row) for column in range(columns) for row in range(ROWS))
        }
        for tile in self.tiles.values():
            found = ((side, tile.address.neighbour(side)) for side in _SIDES)
            neighbours = {side: self.tiles[at] for side, at in found if at is not None and at in self.tiles}
            tile.connect(neighbours, self._store)
        self.cores: list[CoreUnit] = [tile.core for tile in self.tiles.values() if tile.core is not None]
        for tile in self.tiles.values():
            tile.join_cascade()
            if tile.memory is not None and (check or tile.kind is TileKind.MEMORY):
                tile.memory.observer = self.checks
        for core in self.cores:
            core.make_engine = self._engine

    def reset(self) -> None:
        """All tiles as before any configuration; memories and clocks go on."""
        self.fabric.active.clear()
        for tile in self.tiles.values():
            tile.reset()
        self.fabric.active.clear()
        if self.checks.races is not None:
            self.checks.races.forget()

    # ----------------------------------------------------------------- registers

    def write(self, address: int, value: int) -> None:
        """Writes a word at an array address. Raises EmulationError."""
        tile, offset = self.locate(address)
        tile.write(offset, value)

    def mask_write(self, address: int, value: int, mask: int) -> None:
        """register = (register & ~mask) | (value & mask). Raises EmulationError."""
        tile, offset = self.locate(address)
        tile.write(offset, tile.read(offset) & ~mask | value & mask)

    def write_block(self, address: int, data: bytes) -> None:
        """Writes consecutive words. Raises EmulationError."""
        tile, offset = self.locate(address)
        tile.write_block(offset, data)

    def read(self, address: int) -> int:
        """Reads a word. Raises EmulationError."""
        tile, offset = self.locate(address)
        return tile.read(offset)

    def locate(self, address: int) -> tuple[Tile, int]:
        """The tile and offset of an array address. Raises EmulationError where the partition has none."""
        at, offset = split_address(address)
        tile = self.tiles.get(at)
        if tile is None:
            raise EmulationError(
                f"address {address:#x} is in column {at.column}, row {at.row}; the partition has columns 0 to"
                f" {self.columns - 1} and rows 0 to {ROWS - 1}",
                kind="out-of-range",
            )
        return tile, offset

    def start_queue(self, address: int) -> Channel | None:
        """The channel whose start queue stands at this address."""
        tile, offset = self.locate(address)
        return tile.queue_at(offset)

    # ----------------------------------------------------------------- getting on

    def round(self, limits: Limits, *, last: bool = True) -> bool:
        """Moves everything once as far as it goes; True when anything happened. `last`: nothing else will
        happen, unless here."""
        moved = self.settle(limits)
        self._quiet = 0 if moved else self._quiet + 1
        for core in self.cores:
            if core.ready():
                before = core.bundles
                moved |= core.run(limits.slice(self.steps))
                self.steps += core.bundles - before
                limits.check(self.steps)
        if self._quiet > _PATIENCE or (last and not moved):
            self._quiet = 0
            moved |= self._try_all(limits)
        return moved

    def _try_all(self, limits: Limits) -> bool:
        """Before it is said that nothing moves: also what waits to be woken tries once more, and what waits
        for others to catch up."""
        for channel in self.channels():
            channel.lock_changed()
        self.fabric.still = True
        try:
            return self.settle(limits)
        finally:
            self.fabric.still = False

    def settle(self, limits: Limits) -> bool:
        """Moves streams and DMAs until they stand still; True when anything moved."""
        active = self.fabric.active
        moved = False
        progress = True
        while progress:
            progress = False
            for agent in tuple(active):
                if agent.idle():
                    del active[agent]
                    continue
                before = agent.steps
                if agent.advance():
                    progress = True
                    self.steps += 1 + agent.steps - before
            if progress:
                moved = True
                limits.check(self.steps)
        return moved

    def channels(self) -> Iterator[Channel]:
        """All DMA channels."""
        for tile in self.tiles.values():
            yield from tile.channels.values()

    def time(self) -> int:
        """The latest of all clocks: an estimate in cycles since the array was made."""
        return max(
            max((core.time for core in self.cores), default=0),
            max((channel.time for channel in self.channels()), default=0),
        )

    def warn(self, message: str) -> None:
        """Something strange that does not stop the run; the same message is kept once."""
        if message in self._warnings or len(self._warnings) < _WARNINGS:
            self._warnings[message] = self._warnings.get(message, 0) + 1

    def take_warnings(self) -> tuple[str, ...]:
        """The warnings since the last call, with how often each came."""
        found = tuple(
            message if count == 1 else f"{message} ({count} times)"
            for message, count in self._warnings.items()
        )
        self._warnings.clear()
        return found

    # ----------------------------------------------------------------- making

    def _store(self, tile: Tile, channel: int) -> Store:
        if tile.kind is TileKind.SHIM or tile.memory is None:
            return DdrStore(self._memory, self.transfers, self.checks)
        if tile.kind is TileKind.COMPUTE:
            return TileStore(tile.memory)
        memories = [
            tile.memory if side is None else tile.neighbours[side].memory if side in tile.neighbours else None
            for side in MEMORY_TILE_SIDES
        ]
        return MemoryTileStore(memories, local_only=channel >= LIMITS[TileKind.MEMORY].channels - 2)

    def _engine(self, core: CoreUnit) -> CoreEngine:
        tile = self.tiles[core.tile]

        def memory(side: Bundle) -> LocalMemory | None:
            other = tile.neighbours.get(side)
            return None if other is None or other.kind is not TileKind.COMPUTE else other.memory

        memories = (memory(Bundle.SOUTH), memory(Bundle.WEST), memory(Bundle.NORTH), tile.memory)
        south, west, north, own = (None if found is None else found.bytes for found in memories)
        bytes_ = (south, west, north, own)
        core_id = core.tile.column << 16 | core.tile.row
        if not self.checks.full:
            return self._make_core(core.name, core, core.program, bytes_, core_id=core_id)
        watch = CheckedCore(core.name, self.checks, memories, tile.started_descriptors)
        engine = self._make_core(core.name, core, core.program, bytes_, core_id=core_id, checks=watch)
        watch.engine = engine
        core.watch = watch
        return engine

    def _take_token(self, word: int, time: int) -> None:
        token = parse_token(word)
        self.tokens[token] += 1
        if self.checks.races is not None and isinstance(time, Stamp):
            self.checks.races.received(Actor.CONTROLLER, time.clock)
        if self.fabric.trace is not None:
            self.fabric.trace.stream(
                "token", int(time), tile=str(token.tile), channel=f"{token.direction.name} {token.channel}"
            )
