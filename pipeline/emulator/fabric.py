"""The wires between stream switches, and routes along them.

`Fabric` follows circuit-switched connections from a slave port through any number of tiles to all their
ends, once; writes to switch registers make routes be followed anew. An `Outlet` is a place where words
enter, a `Relay` the FIFO that each switch has.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Protocol

from ..npu.topology import SLAVES, Bundle, Port, TileAddress, wire
from .checks import Checks
from .streams import DeadEnd, Fifo, Route, Sink, Words
from .trace import Trace

FIFO_WORDS = 16
"""The FIFO of a switch (port FIFO) holds 16 words (AM020)."""


class Active(abc.ABC):
    """Something that may have words to move on. `steps`: what it has done, where one `advance` does much."""

    steps = 0

    @abc.abstractmethod
    def advance(self) -> bool:
        """Moves what can move; True when something did."""

    @abc.abstractmethod
    def idle(self) -> bool:
        """Nothing to do until somebody wakes it."""


class Node(Protocol):
    """A stream switch as routes see it."""

    def enabled(self, slave: int) -> bool:
        """Whether the slave port takes words."""
        ...

    def packet_input(self, slave: int) -> Sink | None:
        """What takes the words of a packet-switched slave port; None where it is circuit-switched."""
        ...

    def circuit_masters(self, slave: int) -> list[Port]:
        """Circuit-switched masters that take this slave's words."""
        ...

    def end(self, master: Port) -> Sink | None:
        """What stands behind an inner master port; None for a wire."""
        ...


class Fabric:
    """All switches of the array. `active` holds, in order of waking, what has words to move.

    `checks` and `trace` are told what happens; they are here as all that moves words knows the fabric.
    """

    def __init__(self, columns: int, checks: Checks | None = None, trace: Trace | None = None) -> None:
        self.columns = columns
        self.checks = Checks() if checks is None else checks
        self.trace = trace
        self.now: Callable[[], int] = lambda: 0
        """The array's time, an estimate in cycles."""
        self.version = 0
        self.still = False
        """Nothing moves: one channel may take a lock although it is ahead of another (Channel)."""
        self.active: dict[Active, None] = {}
        self._nodes: dict[TileAddress, Node] = {}

    def add(self, tile: TileAddress, node: Node) -> None:
        """Puts a tile's switch in its place."""
        self._nodes[tile] = node

    def wake(self, agent: Active) -> None:
        """`agent` may have something to do."""
        self.active[agent] = None

    def changed(self) -> None:
        """Some switch has a new configuration."""
        self.version += 1

    def from_slave(self, tile: TileAddress, slave: Port) -> Route:
        """Where a slave port's words go."""
        sinks: list[Sink] = []
        self._follow_slave(tile, slave, 1, set(), sinks)
        return Route(tuple(sinks))

    def from_master(self, tile: TileAddress, master: Port) -> Route:
        """Where the words go that a (packet-switched) master sends out."""
        sinks: list[Sink] = []
        self._follow_master(tile, master, 1, set(), sinks)
        return Route(tuple(sinks))

    def _follow_slave(
        self,
        tile: TileAddress,
        slave: Port,
        depth: int,
        seen: set[tuple[TileAddress, Port]],
        sinks: list[Sink],
    ) -> None:
        if (tile, slave) in seen:
            sinks.append(DeadEnd(f"the route goes in a circle through {slave} of {tile}"))
            return
        seen.add((tile, slave))
        node = self._nodes[tile]
        number = SLAVES[tile.kind].index(slave)
        if not node.enabled(number):
            sinks.append(DeadEnd(f"slave port {slave} of {tile}, which is not enabled"))
            return
        packets = node.packet_input(number)
        if packets is not None:
            packets.connect(depth)
            sinks.append(packets)
            return
        masters = node.circuit_masters(number)
        if not masters:
            sinks.append(DeadEnd(f"slave port {slave} of {tile}, which no master port takes"))
        for master in masters:
            self._follow_master(tile, master, depth, seen, sinks)

    def _follow_master(
        self,
        tile: TileAddress,
        master: Port,
        depth: int,
        seen: set[tuple[TileAddress, Port]],
        sinks: list[Sink],
    ) -> None:
        end = self._nodes[tile].end(master)
        if end is not None:
            end.connect(depth)
            sinks.append(end)
            return
        wired = wire(tile, master, columns=self.columns)
        if wired is None:
            sinks.append(DeadEnd(f"master port {master} of {tile}, behind which there is nothing"))
            return
        self._follow_slave(*wired, depth + 1, seen, sinks)


class Outlet:
    """A place from which words enter the fabric; keeps its route until a switch changes."""

    def __init__(self, fabric: Fabric, tile: TileAddress, slave: Port) -> None:
        self.slave = slave
        self.tile = tile
        self._fabric = fabric
        self._version = -1
        self._route = Route((DeadEnd(""),))

    def route(self) -> Route:
        """Where the words go now."""
        if self._version != self._fabric.version:
            self._version = self._fabric.version
            self._route = self._follow()
        return self._route

    def _follow(self) -> Route:
        return self._fabric.from_slave(self.tile, self.slave)


class Relay(Active):
    """A switch's own FIFO: master port FIFO in, slave port FIFO out."""

    def __init__(self, fabric: Fabric, tile: TileAddress, master: Port) -> None:
        self._fabric = fabric
        self._name = f"{master} of {tile}"
        self.fifo = Fifo(FIFO_WORDS)
        self.outlet = Outlet(fabric, tile, Port(Bundle.FIFO, master.channel))

    def room(self) -> int:
        return self.fifo.free

    def push(self, words: Words, last: bool, time: int) -> None:
        self.fifo.put(words, last, time)
        self._fabric.wake(self)

    def ready_time(self) -> int:
        return 0

    def connect(self, switches: int) -> None:
        self.fifo.connect(switches)

    def describe(self) -> str:
        return self._name

    def holder(self) -> str:
        return self._name

    def idle(self) -> bool:
        return self.fifo.count == 0

    def advance(self) -> bool:
        route = self.outlet.route()
        moved = False
        while self.fifo.count and (room := route.room()):
            route.push(*self.fifo.take(room))
            moved = True
        return moved
