"""One tile's stream switch: its configuration, arbiters, and packets on their way through.

It holds the configuration words of its master and slave ports and packet rules; `fabric.Fabric` follows the
circuit-switched connections. A packet-switched slave port is an end of one route and the beginning of
others: `PacketInput`. What the configuration words say: npu/switching.py.
"""

from __future__ import annotations

from collections.abc import Callable

from ..npu.switching import master_setting, packet_rule, slave_setting
from ..npu.topology import (
    MASTERS,
    SLAVES,
    SLOTS_PER_SLAVE,
    Bundle,
    Port,
    TileAddress,
)
from .fabric import Active, Fabric, Relay
from .packets import STREAM_ID_MASK
from .streams import Fifo, Route, Sink, Words

_ARBITERS = 8


class Arbiter:
    """Grants its masters to one packet at a time, in turns where several wait.

    With deterministic merge the turns are prescribed: `order` lists slave ports, each as often as it may
    send a packet, over and over.
    """

    def __init__(self) -> None:
        self.owner: PacketInput | None = None
        self.waiting: list[PacketInput] = []
        self.order: list[int] = []
        self._turn = 0

    def prescribe(self, order: list[int]) -> None:
        """Sets deterministic merge; an empty list switches it off."""
        self.order = order
        self._turn = 0

    def request(self, who: PacketInput) -> bool:
        """True when `who` may send its packet now."""
        if self.order:
            if self.owner is None and self.order[self._turn] == who.slave:
                self.owner = who
                self._turn = (self._turn + 1) % len(self.order)
                return True
            return False
        if self.owner is None and (not self.waiting or self.waiting[0] is who):
            if self.waiting:
                self.waiting.pop(0)
            self.owner = who
            return True
        if who not in self.waiting:
            self.waiting.append(who)
        return False

    def release(self) -> None:
        """The owner's packet has passed."""
        self.owner = None


class StreamSwitch:
    """One tile's switch: raw configuration words by port number, and who stands at its inner ports."""

    def __init__(self, fabric: Fabric, tile: TileAddress) -> None:
        kind = tile.kind
        fabric.add(tile, self)
        self.fabric = fabric
        self.tile = tile
        self.kind = kind
        self.masters = [0] * len(MASTERS[kind])
        self.slaves = [0] * len(SLAVES[kind])
        self.slots = [0] * (len(SLAVES[kind]) * SLOTS_PER_SLAVE)
        self.arbiters = [Arbiter() for _ in range(_ARBITERS)]
        self.ends: dict[Port, Callable[[], Sink]] = {}
        """What the tile has behind its master ports: DMA channels, core, control, ..."""
        self._inputs: dict[int, PacketInput] = {}
        self._relays: dict[Port, Relay] = {}

    def reset(self) -> None:
        """No port is enabled; words within are lost."""
        for ports in (self.masters, self.slaves, self.slots):
            ports[:] = [0] * len(ports)
        self.arbiters[:] = [Arbiter() for _ in range(_ARBITERS)]
        self._inputs.clear()
        self._relays.clear()
        self.fabric.changed()

    def set_master(self, number: int, word: int) -> None:
        """A write of STREAM_SWITCH_MASTER."""
        self.masters[number] = word
        self.fabric.changed()

    def set_slave(self, number: int, word: int) -> None:
        """A write of STREAM_SWITCH_SLAVE."""
        self.slaves[number] = word
        self.fabric.changed()

    def set_slot(self, number: int, word: int) -> None:
        """A write of STREAM_SWITCH_SLOT."""
        self.slots[number] = word
        self.fabric.changed()

    def enabled(self, slave: int) -> bool:
        """Whether the slave port takes words."""
        return slave_setting(self.slaves[slave]).enabled

    def packet_input(self, slave: int) -> PacketInput | None:
        """The packet-switched side of a slave port; None where it is circuit-switched."""
        if not slave_setting(self.slaves[slave]).packet:
            return None
        found = self._inputs.get(slave)
        if found is None:
            found = self._inputs[slave] = PacketInput(self, slave)
        return found

    def end(self, master: Port) -> Sink | None:
        """What stands behind an inner master port; None for a wire."""
        if master.bundle is Bundle.FIFO:
            relay = self._relays.get(master)
            if relay is None:
                relay = self._relays[master] = Relay(self.fabric, self.tile, master)
            return relay
        found = self.ends.get(master)
        return None if found is None else found()

    def set_merge(self, arbiter: int, slaves: list[tuple[int, int]], *, enable: bool) -> None:
        """Deterministic merge of an arbiter: (slave port, packets) in order."""
        order = [slave for slave, packets in slaves for _ in range(packets)]
        self.arbiters[arbiter].prescribe(order if enable else [])

    def circuit_masters(self, slave: int) -> list[Port]:
        """Circuit-switched masters that name this slave."""
        return [
            MASTERS[self.kind][number]
            for number, setting in enumerate(map(master_setting, self.masters))
            if setting.enabled and not setting.packet and setting.slave == slave
        ]

    def packet_masters(self, arbiter: int, msel: int) -> list[tuple[Port, bool]]:
        """Packet-switched masters that listen to (arbiter, msel), with whether they drop the header."""
        return [
            (MASTERS[self.kind][number], setting.drop_header)
            for number, setting in enumerate(map(master_setting, self.masters))
            if setting.listens(arbiter, msel)
        ]

    def rule(self, slave: int, header: int) -> tuple[int, int] | None:
        """(arbiter, msel) of the first rule that the packet's id matches."""
        stream_id = header & STREAM_ID_MASK
        for word in self.slots[slave * SLOTS_PER_SLAVE : (slave + 1) * SLOTS_PER_SLAVE]:
            rule = packet_rule(word)
            if rule.matches(stream_id):
                return rule.arbiter, rule.msel
        return None


class PacketInput(Active):
    """A packet-switched slave port: waits for its arbiter at each header, then passes the packet on."""

    def __init__(self, switch: StreamSwitch, slave: int) -> None:
        self.switch = switch
        self.slave = slave
        self.name = f"packet port {SLAVES[switch.kind][slave]} of {switch.tile}"
        self.fifo = Fifo()
        self._arbiter: Arbiter | None = None
        self._targets: list[tuple[Port, bool]] = []
        self._routes: list[Route] = []
        self._version = -1
        self._header_sent = False
        self._asking = False

    def room(self) -> int:
        # what a granted packet's way takes is certain to be passed on; a ring of routes must not ask itself
        if self._arbiter is None or not self._header_sent or self.fifo.packets or self._asking:
            return self.fifo.free
        self._asking = True
        try:
            beyond = min((route.room() for route in self._onward()), default=0)
        finally:
            self._asking = False
        return max(0, self.fifo.capacity + beyond - self.fifo.count)

    def push(self, words: Words, last: bool, time: int) -> None:
        self.fifo.put(words, last, time)
        self.switch.fabric.wake(self)

    def ready_time(self) -> int:
        return 0

    def connect(self, switches: int) -> None:
        self.fifo.connect(switches)

    def idle(self) -> bool:
        return self.fifo.count == 0

    def advance(self) -> bool:
        if not self.fifo.count:
            return False
        if self._arbiter is None and not self._granted():
            return False
        moved = False
        if not self._header_sent:
            if not self._send_header():
                return False
            moved = True
        while self._arbiter is not None and self.fifo.count:
            routes = self._onward()
            room = min(route.room() for route in routes)
            if not room:
                break
            words, last, time = self.fifo.take(room)
            for route in routes:
                route.push(words, last, time)
            moved = True
            if last:
                self._finish()
        return moved

    def describe(self) -> str:
        return self.name + self._why()

    def holder(self) -> str:
        return self.name

    def blocked_by(self) -> tuple[str, list[Sink]]:
        """Why its words do not go on: words for the report, and the full sinks or the arbiter's owner."""
        if self._arbiter is not None:
            return "", [sink for route in self._onward() for sink in route.full()]
        found = self.switch.rule(self.slave, self.fifo.peek()) if self.fifo.count else None
        owner = None if found is None else self.switch.arbiters[found[0]].owner
        return self._why(), [] if owner is None else [owner]

    def _why(self) -> str:
        if self._arbiter is not None or not self.fifo.count:
            return ""
        header = self.fifo.peek()
        found = self.switch.rule(self.slave, header)
        if found is None:
            return f", which has no rule for packet id {header & STREAM_ID_MASK}"
        if not self.switch.packet_masters(*found):
            return f", whose rule (arbiter {found[0]}, msel {found[1]}) no master port listens to"
        return f", which waits for arbiter {found[0]}"

    def _granted(self) -> bool:
        found = self.switch.rule(self.slave, self.fifo.peek())
        if found is None:
            return False
        targets = self.switch.packet_masters(*found)
        arbiter = self.switch.arbiters[found[0]]
        if not targets or not arbiter.request(self):
            return False
        self._arbiter, self._targets, self._version = arbiter, targets, -1
        return True

    def _onward(self) -> list[Route]:
        fabric = self.switch.fabric
        if self._version != fabric.version:
            self._version = fabric.version
            self._routes = [fabric.from_master(self.switch.tile, master) for master, _ in self._targets]
        return self._routes

    def _send_header(self) -> bool:
        routes = self._onward()
        keeping = [route for route, (_, drop) in zip(routes, self._targets, strict=True) if not drop]
        if any(route.room() == 0 for route in keeping):
            return False
        word, last, time = self.fifo.take(1)
        for route in keeping:
            route.push(word, last, time)
        self._header_sent = True
        if last:
            self._finish()
        return True

    def _finish(self) -> None:
        if self._arbiter is not None:
            self._arbiter.release()
        self._arbiter = None
        self._header_sent = False
