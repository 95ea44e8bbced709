"""What to say when nothing moves and the instruction stream still waits: who waits for what.

The agents (cores, DMA channels, packet ports, the stream itself) are nodes, "can only go on after" the
edges; a circle among them, if there is one, is the deadlock.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable

from ..errors import EmulationError
from ..isa.flow import flow
from ..npu.topology import Direction
from .array import Array
from .channel import Channel, State
from .core_unit import CoreUnit
from .fabric import Outlet, Relay
from .packets import Token
from .streams import Sink
from .switch import PacketInput

STREAM = "the instruction stream"


def deadlock(array: Array, waiting: str, tokens: Iterable[Token]) -> EmulationError:
    """The error. `waiting` says what the stream waits for; `tokens` are those it waits for, if it does."""
    report = _Report(array)
    lines = [f"deadlock: {STREAM} waits for {waiting}, and nothing moves"]
    lines += [f"  {line}" for line in report.situations(tokens)]
    circle = report.circle(tokens)
    if circle:
        lines.append(f"  circle of waiting: {' -> '.join(circle)}")
    else:
        lines += report.chain(tokens)
    first = next((core for core in array.cores if core.enabled and core.stalled()), None)
    return EmulationError(
        "\n".join(lines),
        kind="deadlock",
        tile=None if first is None else first.name,
        pc=None if first is None or first.stop is None else first.stop.pc,
        remedy="compare lock start values, acquire and release values, and BD lengths along the route",
    )


def stopped(error: EmulationError, array: Array, waiting: str, tokens: Iterable[Token]) -> EmulationError:
    """The error of a run that was stopped at a limit, with the same picture as a deadlock's."""
    tokens = tuple(tokens)
    report = _Report(array)
    stands = f"{STREAM} waits for {waiting}" if waiting else f"{STREAM} goes on"
    lines = [f"{error.message}: {stands}", *(f"  {line}" for line in report.situations(tokens))]
    circle = report.circle(tokens, among=report.stuck())
    if circle:
        lines.append(f"  circle of waiting: {' -> '.join(circle)}")
    running = next((core for core in array.cores if core.ready()), None)
    return EmulationError(
        "\n".join(lines),
        kind=error.kind,
        tile=error.tile if running is None else running.name,
        pc=error.pc if running is None or running.engine is None else running.engine.pc,
        remedy=error.remedy,
    )


class _Report:
    def __init__(self, array: Array) -> None:
        self._array = array
        self._channels = {channel.name: channel for channel in array.channels()}
        self._cores = {core.name: core for core in array.cores}
        self._controls = {tile.control.name: tile.control for tile in array.tiles.values()}
        self._packets = {agent.name: agent for agent in array.fabric.active if isinstance(agent, PacketInput)}

    def situations(self, tokens: Iterable[Token]) -> list[str]:
        """A line for each agent that waits."""
        wanted = {channel.name for token in tokens if (channel := self._channel(token)) is not None}
        lines: list[str] = []
        for core in self._cores.values():
            if core.enabled and (core.stop is None or core.stop.kind != "done"):
                lines.append(f"{core.name} {core.situation()}")
            elif core.enabled or core.bundles:
                lines.append(f"{core.name} {core.situation() if core.enabled else 'is disabled'}")
        for channel in self._channels.values():
            if channel.running or channel.queue or channel.name in wanted:
                queued = f"; {len(channel.queue)} more queued" if channel.queue else ""
                lines.append(f"{channel.name} {channel.situation()}{queued}")
        lines += [f"{packet.describe()} holds words" for packet in self._packets.values()]
        lines += [
            f"{control.name} has {control.waiting} packets that do not leave: {_ends(control.outlet)}"
            for control in self._controls.values()
            if control.waiting
        ]
        return lines

    def circle(self, tokens: Iterable[Token], *, among: set[str] | None = None) -> list[str]:
        """The first circle that the stream's waiting leads to, the first name again at its end.

        `among`: only of these.
        """
        starts = [channel.name for token in tokens if (channel := self._channel(token)) is not None]
        done: set[str] = set()
        for start in starts or [*self._cores, *self._channels]:
            found = self._search(start, done, among) if among is None or start in among else []
            if found:
                return found
        return []

    def stuck(self) -> set[str]:
        """Who cannot go on while others still move: all that could help them are stuck themselves.

        Whoever waits in the middle of a run waits for somebody, and the run's own loops are circles then;
        only one that nobody outside can open is a deadlock.
        """
        names = (*self._channels, *self._cores, *self._packets, *self._controls)
        after = {name: self._after(name) for name in names if not self._may_go_on(name)}
        found = {name for name, following in after.items() if following}
        while free := {name for name in found if not found.issuperset(after[name])}:
            found -= free
        return found

    def _may_go_on(self, name: str) -> bool:
        """What it waits for is there already; it only did not have its turn yet."""
        channel = self._channels.get(name)
        if channel is None:
            return False
        lock = channel.waiting_lock()
        if lock is not None:
            bank, number, value = lock
            return bank.grants(number, value)
        return channel.direction is Direction.S2MM and channel.fifo.count > 0

    def chain(self, tokens: Iterable[Token]) -> list[str]:
        """Where there is no circle: from what the stream waits for to who has nothing to wait for."""
        starts = [channel.name for token in tokens if (channel := self._channel(token)) is not None]
        if not starts:
            return []
        path = [starts[0]]
        while following := [name for name in self._after(path[-1]) if name not in path]:
            path.append(following[0])
        return [f"  chain of waiting: {' -> '.join(path)}"] if len(path) > 1 else []

    def _search(self, start: str, done: set[str], among: set[str] | None) -> list[str]:
        def after(name: str) -> list[str]:
            return [other for other in self._after(name) if among is None or other in among]

        stack: list[tuple[str, list[str]]] = [(start, after(start))]
        path = [start]
        while stack:
            name, following = stack[-1]
            if not following:
                stack.pop()
                path.pop()
                done.add(name)
                continue
            successor = following.pop(0)
            if successor in path:
                return [*path[path.index(successor) :], successor]
            if successor not in done:
                path.append(successor)
                stack.append((successor, after(successor)))
        return []

    def _after(self, name: str) -> list[str]:
        """Agents of which one has to act before `name` can go on."""
        if name in self._channels:
            return self._after_channel(self._channels[name])
        if name in self._cores:
            return self._after_core(self._cores[name])
        if name in self._packets:
            _, sinks = self._packets[name].blocked_by()
            return _holders(sinks)
        if name in self._controls:
            return _holders(self._controls[name].outlet.route().full())
        return []

    def _after_channel(self, channel: Channel) -> list[str]:
        lock = channel.waiting_lock()
        if lock is not None:
            return self._releasers(lock[0].tile, lock[0].releasers[lock[1]], lock[1])
        if channel.state is State.TOKEN:
            return [self._array.tiles[channel.host.address].control.name]
        if channel.state is State.IDLE:
            return []
        if channel.direction is Direction.S2MM:
            return self._sources(channel)
        return [] if channel.outlet is None else _holders(channel.outlet.route().full())

    def _after_core(self, core: CoreUnit) -> list[str]:
        stop = core.stop
        if stop is None or not core.stalled():
            return []
        if stop.kind == "acquire":
            bank, lock = core.lock(stop.number)
            return self._releasers(bank.tile, bank.releasers[lock], lock)
        if stop.kind == "stream-read":
            return self._sources(core.input)
        if stop.kind == "stream-write":
            return _holders(core.outlet.route().full())
        other = core.cascade_from if stop.kind == "cascade-read" else core.cascade_to
        return [] if other is None else [other.name]

    def _releasers(self, tile: str, before: set[str], lock: int) -> list[str]:
        """Who released the lock before, will by its BDs, or has it in its program; else the tile's own core,
        if it stands still."""
        found = {name for name in before if name in self._channels or name in self._cores}
        found |= {name for name, channel in self._channels.items() if (tile, lock) in channel.release_locks()}
        found |= {name for name, locks in self._releases.items() if (tile, lock) in locks}
        if not found and tile in self._cores and self._cores[tile].stalled():
            found.add(tile)
        return sorted(found)

    @functools.cached_property
    def _releases(self) -> dict[str, set[tuple[str, int]]]:
        """Locks (tile, number) that each running core's program releases by a number in the code."""
        return {core.name: _released_by(core) for core in self._cores.values() if core.enabled}

    def _sources(self, sink: Sink) -> list[str]:
        """Who sends to this end."""
        found: list[str] = []
        outlets: list[tuple[str, Outlet]] = [
            (channel.name, channel.outlet)
            for channel in self._channels.values()
            if channel.outlet is not None
        ]
        outlets += [(core.name, core.outlet) for core in self._cores.values()]
        outlets += [(control.name, control.outlet) for control in self._controls.values()]
        outlets += [
            (agent.holder(), agent.outlet) for agent in self._array.fabric.active if isinstance(agent, Relay)
        ]
        for name, outlet in outlets:
            if any(end is sink for end in outlet.route().sinks):
                found.append(name)
        return found

    def _channel(self, token: Token) -> Channel | None:
        tile = self._array.tiles.get(token.tile)
        return None if tile is None else tile.channels.get((token.direction, token.channel))


def _released_by(core: CoreUnit) -> set[tuple[str, int]]:
    found: set[tuple[str, int]] = set()
    for bundle in flow(bytes(core.program)).bundles.values():
        for slot in bundle.slots:
            number = slot.operands.get("id")
            if slot.opcode.mnemonic in ("rel", "rel.cond") and isinstance(number, int):
                with contextlib.suppress(EmulationError):  # a lock of a neighbour that is not there
                    bank, lock = core.lock(number)
                    found.add((bank.tile, lock))
    return found


def _holders(sinks: Iterable[Sink]) -> list[str]:
    return [name for sink in sinks if (name := sink.holder())]


def _ends(outlet: Outlet) -> str:
    return "; ".join(sink.describe() for sink in outlet.route().full())
