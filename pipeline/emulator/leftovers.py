"""What stands in a strange state when a run is over and everything stands still.

Designs that loop wait for the next run: a BD that waits for its lock, or for the first word of its stream, is
no fault, nor is what stood there in the same way when the run began. But a BD in the middle, words that
nobody takes, a task that never began, or a lock that is not as it was when the run began mean that the next
run on the same configuration will not do what this one did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..npu.topology import Direction, TileAddress, TileKind
from .array import Array
from .channel import Channel
from .fabric import Relay
from .findings import Finding
from .switch import PacketInput
from .task import State
from .trace_ports import trace_receivers

Locks = Mapping[TileAddress, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Start:
    """What there was when a run began."""

    locks: Locks
    strange: frozenset[str]


def start_of_run(array: Array) -> Start:
    """To be called before anything of the run is done."""
    for tile in array.tiles.values():
        tile.locks.set_by_register.clear()
    locks = {address: tuple(tile.locks.values) for address, tile in array.tiles.items()}
    return Start(locks, frozenset(finding.message for finding in _stuck(array)))


def leftovers(array: Array, start: Start) -> Iterator[Finding]:
    """What is strange when the array stands still after a run."""
    for finding in _stuck(array):
        if finding.message not in start.strange:
            yield finding
    for address, tile in array.tiles.items():
        for number, (before, now) in enumerate(zip(start.locks[address], tile.locks.values, strict=True)):
            if now != before and number not in tile.locks.set_by_register:
                yield Finding(
                    "lock-left",
                    tile.name,
                    f"lock {number} of {tile.name} is {now} after the run; it was {before} before",
                )


def _stuck(array: Array) -> Iterator[Finding]:
    traced = trace_receivers(array)
    for channel in array.channels():
        if channel not in traced:
            yield from _channel(channel)
    yield from _words(array)


def _channel(channel: Channel) -> Iterator[Finding]:
    tile = str(channel.host.address)
    done, length = channel.progress
    shim = channel.host.address.kind is TileKind.SHIM
    if channel.running and (0 < done < length or shim):
        yield Finding(
            "descriptor-left",
            tile,
            f"at the end of the run {channel.name} {channel.situation()}",
            channel=channel.label,
            descriptor=channel.number,
        )
    if channel.queue:
        count = len(channel.queue)
        yield Finding(
            "queue-left",
            tile,
            f"at the end of the run {count} task{'s' if count > 1 else ''} of {channel.name} did not begin;"
            f" it {channel.situation()}",
            channel=channel.label,
            descriptor=channel.queue[0].descriptor,
        )
    if channel.direction is Direction.S2MM and channel.fifo.count and channel.state is not State.TRANSFER:
        yield Finding(
            "words-left",
            tile,
            f"at the end of the run {channel.fifo.count} words stand before {channel.name},"
            f" which {channel.situation()}",
            channel=channel.label,
        )


def _words(array: Array) -> Iterator[Finding]:
    for core in array.cores:
        count = core.input.fifo.count + core.input.taking
        if count:
            yield _left(core.name, f"{count} words stand before the stream input of {core.name}")
        if core.cascade:
            yield _left(core.name, f"{len(core.cascade)} words stand in the cascade to {core.name}")
    for agent in array.fabric.active:
        if isinstance(agent, PacketInput) and agent.fifo.count:
            yield _left(str(agent.switch.tile), f"{agent.fifo.count} words stand in {agent.describe()}")
        elif isinstance(agent, Relay) and agent.fifo.count:
            yield _left(str(agent.outlet.tile), f"{agent.fifo.count} words stand in {agent.describe()}")
    for tile in array.tiles.values():
        if tile.control.waiting:
            yield _left(tile.name, f"{tile.control.waiting} packets did not leave {tile.control.name}")
        if tile.control.unread:
            yield _left(tile.name, f"an incomplete packet stands in {tile.control.name}")


def _left(tile: str, what: str) -> Finding:
    return Finding("words-left", tile, f"at the end of the run {what}")
