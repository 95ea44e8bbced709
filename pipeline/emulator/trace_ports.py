"""Where the packets of the hardware's trace units would go. The units themselves are not emulated.

A design that traces has routes from the tiles' trace ports to DMA channels, which wait for ever here. That is
no fault of the design.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..npu.switching import packet_rule
from ..npu.topology import SLAVES, SLOTS_PER_SLAVE, Bundle
from .array import Array
from .channel import Channel
from .streams import Route, Sink
from .switch import PacketInput

_TRACE = (Bundle.TRACE, Bundle.MEMORY_TRACE)


def trace_receivers(array: Array) -> frozenset[Channel]:
    """The DMA channels that words from a trace port would reach."""
    found: set[Channel] = set()
    seen: set[Sink] = set()
    pending: list[Sink] = []
    for tile in array.tiles.values():
        for number, port in enumerate(SLAVES[tile.kind]):
            if port.bundle in _TRACE and tile.switch.enabled(number):
                pending.extend(array.fabric.from_slave(tile.address, port).sinks)
    while pending:
        sink = pending.pop()
        if sink in seen:
            continue
        seen.add(sink)
        if isinstance(sink, Channel):
            found.add(sink)
        elif isinstance(sink, PacketInput):
            for route in _onward(sink):
                pending.extend(route.sinks)
    return frozenset(found)


def _onward(port: PacketInput) -> Iterator[Route]:
    """All ways on from a packet-switched port, whatever the packet's id."""
    switch, first = port.switch, port.slave * SLOTS_PER_SLAVE
    for word in switch.slots[first : first + SLOTS_PER_SLAVE]:
        rule = packet_rule(word)
        if rule.enabled:
            for master, _ in switch.packet_masters(rule.arbiter, rule.msel):
                yield switch.fabric.from_master(switch.tile, master)
