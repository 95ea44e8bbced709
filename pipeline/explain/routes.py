"""Routes drawn from stream switch registers: from each source through the switches to all its ends.

A circuit-switched slave goes to every master that names it; a packet-switched one to the masters that
listen to the arbiter and msel of its rules, for the packet ids that a rule matches. Works on register
values alone, so what is drawn is what the file says, ways that lead nowhere included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..description import Endpoint, Hop, Route
from ..npu.limits import PACKET_IDS
from ..npu.registers import register
from ..npu.switching import MasterSetting, SlaveSetting, master_setting, packet_rule, slave_setting
from ..npu.topology import (
    MASTERS,
    OPPOSITE,
    ROWS,
    SHIM_DMA_MASTERS,
    SHIM_DMA_SLAVES,
    SHIM_MUX_DMA,
    SLAVES,
    SLOTS_PER_SLAVE,
    TOKEN_MASTER,
    Bundle,
    Port,
    TileAddress,
    TileKind,
    wire,
)
from .registers import RegisterState, tile_of

MOST_ROUTES, MOST_HOPS = 4096, 1 << 16
"""Broadcasts multiply; real designs have some dozens of routes of a few hops."""

MOST_COLUMNS = 16
"""Addresses can name 128 columns, no chip of this kind has more than eight."""

_ALL_IDS = frozenset(range(PACKET_IDS))
_INNER = {
    Bundle.CORE: "core",
    Bundle.CONTROL: "TileCtrl",
    Bundle.TRACE: "trace",
    Bundle.MEMORY_TRACE: "memory trace",
}


def routes(state: RegisterState, columns: int) -> tuple[tuple[Route, ...], bool]:
    """All routes of an array of `columns` columns, by source; and whether there were more than fit."""
    columns = min(columns, MOST_COLUMNS)
    found: list[Route] = []
    hops = 0
    passed: set[tuple[TileAddress, Port]] = set()
    for tile, slave in _sources(state, columns, passed):
        for route in _from(state, columns, tile, slave, passed):
            hops += len(route.hops)
            if len(found) == MOST_ROUTES or hops > MOST_HOPS:
                return tuple(found), True
            found.append(route)
    return tuple(found), False


def _slave(state: RegisterState, tile: TileAddress, port: Port) -> SlaveSetting:
    row = register(tile.kind, "STREAM_SWITCH_SLAVE")
    return slave_setting(state.read(tile, row.at(SLAVES[tile.kind].index(port))))


def _masters(state: RegisterState, tile: TileAddress) -> Iterator[tuple[Port, MasterSetting]]:
    row = register(tile.kind, "STREAM_SWITCH_MASTER")
    for number, port in enumerate(MASTERS[tile.kind]):
        setting = master_setting(state.read(tile, row.at(number)))
        if setting.enabled:
            yield port, setting


# --------------------------------------------------------------------------- where routes begin


def _sources(
    state: RegisterState, columns: int, passed: set[tuple[TileAddress, Port]]
) -> Iterator[tuple[TileAddress, Port]]:
    """Enabled slave ports into which words do not come from another switch; then closed circles.

    `passed` are the ports that routes drawn so far have passed: what is left when all sources are done is
    fed by nothing but itself.
    """
    enabled = [
        (tile, port)
        for tile in state.tiles()
        if tile.row < ROWS and tile.column < columns
        for port in SLAVES[tile.kind]
        if _slave(state, tile, port).enabled
    ]
    yield from (place for place in enabled if not _is_driven(state, *place, columns))
    yield from (place for place in enabled if place not in passed)


def _is_driven(state: RegisterState, tile: TileAddress, port: Port, columns: int) -> bool:
    """Whether an enabled master of a neighbour sends into this slave."""
    side = OPPOSITE.get(port.bundle)
    neighbour = None if side is None else tile.neighbour(port.bundle)
    if side is None or neighbour is None or neighbour.column >= columns:
        return False
    return any(
        master == Port(side, port.channel) and wire(neighbour, master, columns=columns) == (tile, port)
        for master, _ in _masters(state, neighbour)
    )


def _source(state: RegisterState, tile: TileAddress, slave: Port) -> Endpoint:
    if tile.kind is TileKind.SHIM:
        for channel, port in SHIM_DMA_SLAVES.items():
            if slave == port:
                selected = _selects_dma(state, tile, "MUX_CONFIG", slave)
                return Endpoint(tile_of(tile), f"MM2S {channel}" if selected else f"{slave} (mux not on DMA)")
    if slave.bundle is Bundle.DMA:
        return Endpoint(tile_of(tile), f"MM2S {slave.channel}")
    return Endpoint(tile_of(tile), _INNER.get(slave.bundle, str(slave)))


def _end(state: RegisterState, tile: TileAddress, master: Port) -> Endpoint | None:
    """What stands behind a master port; None for a wire to another tile."""
    name: str | None = None
    if tile.kind is TileKind.SHIM and master.bundle is Bundle.SOUTH:
        name = "controller" if master == TOKEN_MASTER else str(master)
        for channel, port in SHIM_DMA_MASTERS.items():
            if master == port:
                selected = _selects_dma(state, tile, "DEMUX_CONFIG", master)
                name = f"S2MM {channel}" if selected else f"{master} (demux not on DMA)"
    elif master.bundle is Bundle.DMA:
        name = f"S2MM {master.channel}"
    elif master.bundle is Bundle.FIFO:
        name = str(master)
    elif master.bundle in _INNER:
        name = _INNER[master.bundle]
    return None if name is None else Endpoint(tile_of(tile), name)


def _selects_dma(state: RegisterState, tile: TileAddress, name: str, port: Port) -> bool:
    row = register(tile.kind, name)
    field = row.field(f"{port.bundle.value.upper()}{port.channel}")
    return field.get(state.read(tile, row.offset)) == SHIM_MUX_DMA


# --------------------------------------------------------------------------- where they go


@dataclass(frozen=True, slots=True)
class _Way:
    """A route that is being followed: at slave `port` of `tile`, after `hops`."""

    tile: TileAddress
    port: Port
    hops: tuple[Hop, ...]
    ids: frozenset[int] | None
    seen: frozenset[tuple[TileAddress, Port]]


def _from(
    state: RegisterState,
    columns: int,
    tile: TileAddress,
    slave: Port,
    passed: set[tuple[TileAddress, Port]],
) -> Iterator[Route]:
    source = _source(state, tile, slave)
    ways = [_Way(tile, slave, (), None, frozenset())]
    while ways:
        way = ways.pop()
        passed.add((way.tile, way.port))
        onward = list(_onward(state, way))
        ids = None if way.ids is None else tuple(sorted(way.ids))
        if not onward:
            yield Route(source, way.hops, None, ids, _why_nowhere(state, way))
        further: list[_Way] = []
        for master, dropped, taken in onward:
            hops = (*way.hops, Hop(tile_of(way.tile), str(way.port), str(master), dropped))
            end = _end(state, way.tile, master)
            next_place = wire(way.tile, master, columns=columns) if end is None else None
            taken_ids = None if taken is None else tuple(sorted(taken))
            if next_place is None:
                problem = "" if end is not None else f"there is nothing behind {master} of {way.tile}"
                yield Route(source, hops, end, taken_ids, problem)
            elif next_place in way.seen:
                yield Route(
                    source, hops, None, taken_ids, f"in a circle to {next_place[1]} of {next_place[0]}"
                )
            else:
                further.append(_Way(*next_place, hops, taken, way.seen | {(way.tile, way.port)}))
        ways.extend(reversed(further))


def _onward(state: RegisterState, way: _Way) -> Iterator[tuple[Port, bool, frozenset[int] | None]]:
    """Masters that the words at a slave leave by, whether the header is dropped, and which packet ids."""
    setting = _slave(state, way.tile, way.port)
    if not setting.enabled:
        return
    number = SLAVES[way.tile.kind].index(way.port)
    masters = list(_masters(state, way.tile))
    if not setting.packet:
        for port, master in masters:
            if not master.packet and master.slave == number:
                yield port, False, way.ids
        return
    left = _ALL_IDS if way.ids is None else way.ids
    slots = register(way.tile.kind, "STREAM_SWITCH_SLOT")
    for slot in range(SLOTS_PER_SLAVE):
        rule = packet_rule(state.read(way.tile, slots.at(SLOTS_PER_SLAVE * number + slot)))
        matched = rule.ids() & left
        left -= matched  # the first rule that matches counts
        if matched:
            for port, master in masters:
                if master.listens(rule.arbiter, rule.msel):
                    yield port, master.drop_header, matched


def _why_nowhere(state: RegisterState, way: _Way) -> str:
    setting = _slave(state, way.tile, way.port)
    name = f"{way.port} of {way.tile}"
    if not setting.enabled:
        return f"slave port {name} is not enabled"
    if setting.packet:
        return f"no rule of packet port {name} leads to a master port"
    return f"no master port takes slave port {name}"
