"""Routes from register words: circuits, broadcasts, packets, and ways that lead nowhere."""

from __future__ import annotations

from aiepipe.description import Route
from aiepipe.explain.routes import MOST_ROUTES, routes
from aiepipe.npu.topology import TileAddress

from .arrays import CORE, MEMTILE, SHIM, Switches


def text(route: Route) -> str:
    """A route as "source -> tiles -> end", with the packet ids and what is wrong."""
    end = "" if route.end is None else f" {route.end.tile} {route.end.port}"
    ids = "" if route.packet_ids is None else f" ids {list(route.packet_ids)}"
    problem = f" ({route.problem})" if route.problem else ""
    return f"{route.source.tile} {route.source.port} ->{end}{ids}{problem}"


def texts(switches: Switches, columns: int = 1) -> list[str]:
    found, more = routes(switches.state, columns)
    assert not more
    return [text(route) for route in found]


def test_a_circuit_from_the_shim_to_a_core_passes_the_memory_tile() -> None:
    switches = Switches()
    switches.mux(SOUTH3=1)
    switches.circuit(SHIM, "South3", "North0")
    switches.circuit(MEMTILE, "South0", "North0")
    switches.circuit(CORE, "South0", "DMA0")
    ((route,), _) = routes(switches.state, 1)
    assert text(route) == "shim (0,0) MM2S 0 -> core (0,2) S2MM 0"
    assert [(hop.tile.name, hop.slave, hop.master) for hop in route.hops] == [
        ("shim (0,0)", "South3", "North0"),
        ("memory tile (0,1)", "South0", "North0"),
        ("core (0,2)", "South0", "DMA0"),
    ]
    assert route.packet_ids is None


def test_results_go_down_to_the_shims_dma_and_tokens_to_the_controller() -> None:
    switches = Switches()
    switches.demux(SOUTH2=1)
    switches.circuit(MEMTILE, "DMA2", "South2")
    switches.circuit(SHIM, "North2", "South2")
    switches.circuit(SHIM, "TileCtrl0", "South0")
    assert texts(switches) == [
        "shim (0,0) TileCtrl -> shim (0,0) controller",
        "memory tile (0,1) MM2S 2 -> shim (0,0) S2MM 0",
    ]


def test_a_shim_whose_muxes_are_not_on_the_dma_is_told() -> None:
    switches = Switches()
    switches.circuit(SHIM, "South3", "South2")
    assert texts(switches) == ["shim (0,0) South3 (mux not on DMA) -> shim (0,0) South2 (demux not on DMA)"]


def test_a_broadcast_is_a_route_for_each_end() -> None:
    switches = Switches()
    switches.circuit(MEMTILE, "DMA1", "North0")
    switches.circuit(CORE, "South0", "DMA0")
    switches.circuit(CORE, "South0", "North0")
    switches.circuit(TileAddress(0, 3), "South0", "DMA0")
    assert texts(switches) == [
        "memory tile (0,1) MM2S 1 -> core (0,2) S2MM 0",
        "memory tile (0,1) MM2S 1 -> core (0,3) S2MM 0",
    ]


def test_routes_cross_columns_only_where_there_are_some() -> None:
    switches = Switches()
    switches.circuit(CORE, "DMA0", "East1")
    switches.circuit(TileAddress(1, 2), "West1", "DMA1")
    assert texts(switches, columns=2) == ["core (0,2) MM2S 0 -> core (1,2) S2MM 1"]
    assert texts(switches, columns=1) == [
        "core (0,2) MM2S 0 -> (there is nothing behind East1 of core (0,2))"
    ]


def test_packets_go_by_the_first_rule_that_matches_their_id() -> None:
    switches = Switches()
    switches.rule(MEMTILE, "DMA0", 0, stream_id=2, arbiter=0, msel=0)
    switches.rule(MEMTILE, "DMA0", 1, stream_id=0, mask=0x1C, arbiter=0, msel=1)  # 0 to 3, without 2
    switches.listen(MEMTILE, "North0", arbiter=0, msels=0b01)
    switches.listen(MEMTILE, "North1", arbiter=0, msels=0b10)
    switches.circuit(CORE, "South0", "DMA0")
    switches.circuit(CORE, "South1", "DMA1")
    assert texts(switches) == [
        "memory tile (0,1) MM2S 0 -> core (0,2) S2MM 0 ids [2]",
        "memory tile (0,1) MM2S 0 -> core (0,2) S2MM 1 ids [0, 1, 3]",
    ]


def test_a_second_switch_narrows_the_ids_and_may_drop_the_header() -> None:
    switches = Switches()
    switches.rule(MEMTILE, "DMA0", 0, stream_id=0, mask=0, arbiter=1, msel=0)
    switches.listen(MEMTILE, "North0", arbiter=1, msels=1)
    switches.rule(CORE, "South0", 0, stream_id=7, arbiter=0, msel=3)
    switches.listen(CORE, "TileCtrl0", arbiter=0, msels=0b1000, drop_header=True)
    ((route,), _) = routes(switches.state, 1)
    assert text(route) == "memory tile (0,1) MM2S 0 -> core (0,2) TileCtrl ids [7]"
    assert [hop.drops_header for hop in route.hops] == [False, True]


def test_dead_ends_say_where_and_why() -> None:
    switches = Switches()
    switches.circuit(MEMTILE, "DMA0", "North0")  # the core does not take it
    switches.write(MEMTILE, "STREAM_SWITCH_SLAVE", 1, 0x80000000)  # DMA1, no master
    switches.write(MEMTILE, "STREAM_SWITCH_SLAVE", 2, 0xC0000000)  # DMA2, packets without a rule
    assert texts(switches) == [
        "memory tile (0,1) MM2S 0 -> (slave port South0 of core (0,2) is not enabled)",
        "memory tile (0,1) MM2S 1 -> (no master port takes slave port DMA1 of memory tile (0,1))",
        "memory tile (0,1) MM2S 2 -> "
        "(no rule of packet port DMA2 of memory tile (0,1) leads to a master port)",
    ]


def test_a_closed_circle_is_drawn_though_nothing_feeds_it() -> None:
    switches = Switches()
    switches.circuit(CORE, "North0", "North0")
    switches.circuit(TileAddress(0, 3), "South0", "South0")
    assert texts(switches) == ["core (0,2) North0 -> (in a circle to North0 of core (0,2))"]


def test_packets_that_run_into_a_circle_end_where_it_closes() -> None:
    switches = Switches()
    for slave in ("DMA0", "North0"):
        switches.rule(CORE, slave, 0, stream_id=1, arbiter=0, msel=0)
    switches.listen(CORE, "North0", arbiter=0, msels=1)
    switches.circuit(TileAddress(0, 3), "South0", "South0")
    assert texts(switches) == ["core (0,2) MM2S 0 -> ids [1] (in a circle to South0 of core (0,3))"]


def test_a_configuration_made_to_multiply_routes_stops() -> None:
    # every core broadcasts to every port that it has: the ways multiply
    switches = Switches()
    for row in range(2, 6):
        tile = TileAddress(0, row)
        for number in range(25):
            switches.write(tile, "STREAM_SWITCH_SLAVE", number, 0xC0000000)
            switches.write(tile, "STREAM_SWITCH_SLOT", 4 * number, 0x00000100)
        for number in range(23):
            switches.write(tile, "STREAM_SWITCH_MASTER", number, 0xC0000008)
    found, more = routes(switches.state, 1)
    assert more
    assert len(found) <= MOST_ROUTES
