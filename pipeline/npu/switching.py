"""What the configuration words of a stream switch say: masters, slaves, packet rules.

A circuit-switched master names its slave. A packet-switched master listens to one arbiter and to some of
its msel values; a rule (slot) of a packet-switched slave sends the packets whose id it matches to an
arbiter with one msel value. Source: aie-rt's stream switch driver (MIT); checked on real designs
(facts/aie2-isa.md section 7 of the project's notes).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from .limits import PACKET_IDS
from .registers import register
from .topology import TileKind

# the fields are the same on every kind of tile
_MASTER = register(TileKind.COMPUTE, "STREAM_SWITCH_MASTER")
_SLAVE = register(TileKind.COMPUTE, "STREAM_SWITCH_SLAVE")
_SLOT = register(TileKind.COMPUTE, "STREAM_SWITCH_SLOT")

_KEPT = 1 << 10
"""Words taken apart that are kept; a design has some dozens of different ones."""

# a master's CONFIGURATION: the slave's number, or arbiter and mask of msel values
_SLAVE_MASK, _ARBITER_MASK, _MSEL_SHIFT = 0x1F, 7, 3


@dataclass(frozen=True, slots=True)
class MasterSetting:
    """A master port. `slave` counts for circuit switching, `arbiter` and `msels` for packets."""

    enabled: bool
    packet: bool
    drop_header: bool
    slave: int
    arbiter: int
    msels: int
    """Bit m is set where the port takes msel value m."""

    def listens(self, arbiter: int, msel: int) -> bool:
        """Whether packets that a rule sends to (arbiter, msel) leave here."""
        return self.enabled and self.packet and self.arbiter == arbiter and bool(self.msels >> msel & 1)


@dataclass(frozen=True, slots=True)
class SlaveSetting:
    """A slave port."""

    enabled: bool
    packet: bool


@dataclass(frozen=True, slots=True)
class PacketRule:
    """A slot: packets with `(id & mask) == (stream_id & mask)` go to (arbiter, msel)."""

    enabled: bool
    stream_id: int
    mask: int
    arbiter: int
    msel: int

    def matches(self, stream_id: int) -> bool:
        """Whether packets with this id follow the rule."""
        return self.enabled and stream_id & self.mask == self.stream_id & self.mask

    def ids(self) -> frozenset[int]:
        """The packet ids that match; none where the rule is not enabled."""
        return frozenset(filter(self.matches, range(PACKET_IDS)))


@functools.lru_cache(maxsize=_KEPT)
def master_setting(word: int) -> MasterSetting:
    """What a STREAM_SWITCH_MASTER word says."""
    fields = _MASTER.decode(word)
    configuration = fields["CONFIGURATION"]
    return MasterSetting(
        bool(fields["MASTER_ENABLE"]),
        bool(fields["PACKET_ENABLE"]),
        bool(fields["DROP_HEADER"]),
        configuration & _SLAVE_MASK,
        configuration & _ARBITER_MASK,
        configuration >> _MSEL_SHIFT,
    )


@functools.lru_cache(maxsize=_KEPT)
def slave_setting(word: int) -> SlaveSetting:
    """What a STREAM_SWITCH_SLAVE word says."""
    fields = _SLAVE.decode(word)
    return SlaveSetting(bool(fields["SLAVE_ENABLE"]), bool(fields["PACKET_ENABLE"]))


@functools.lru_cache(maxsize=_KEPT)
def packet_rule(word: int) -> PacketRule:
    """What a STREAM_SWITCH_SLOT word says."""
    fields = _SLOT.decode(word)
    return PacketRule(bool(fields["ENABLE"]), fields["ID"], fields["MASK"], fields["ARBIT"], fields["MSEL"])
