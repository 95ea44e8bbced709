"""Packet-switched routes, control packets, task tokens, and the DMA modes that go with packets."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from aiepipe.emulator.machine import Machine, RunReport
from aiepipe.emulator.packets import (
    Token,
    packet_header,
    parse_control_header,
    parse_token,
    token_word,
    with_odd_parity,
)
from aiepipe.errors import EmulationError
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.npu.topology import TOKEN_MASTER, Bundle, Port, TileAddress

from .designs import (
    MM2S,
    OWN,
    S2MM,
    Array,
    Ddr,
    Design,
    compute,
    dma,
    memtile,
    memtile_bd,
    north,
    shim,
    south,
    words,
)

CONTROL = Port(Bundle.CONTROL)


def ramp(count: int, first: int = 1) -> Array:
    return np.arange(first, first + count, dtype=np.uint32)


def machine(design: Design, ddr: Ddr, columns: int = 1) -> Machine:
    made = Machine(columns, ddr)
    made.load(design.cdo)
    return made


def run(design: Design, ddr: Ddr, *arguments: int, **limits: Any) -> RunReport:
    return machine(design, ddr).run(design.stream, arguments, **limits)


def memory(made: Machine, tile: TileAddress) -> Array:
    found = made.array.tiles[tile].memory
    assert found is not None
    return found.words


def test_a_token_says_which_channel_has_done_a_task() -> None:
    for token in (Token(shim(), S2MM, 1), Token(compute(3, 5), MM2S, 0), Token(memtile(2), MM2S, 5)):
        assert parse_token(token_word(token, 15)) == token
        assert token_word(token, 15) & 0x1F == 15
        assert token_word(token, 15).bit_count() % 2 == 1


def test_a_control_header_as_mlir_aie_writes_it() -> None:
    """golden/mlir-aie-words.json: address 0x1F000, one beat, opcode 0, stream id 0, parity in bit 31."""
    header = parse_control_header(with_odd_parity(0x1F000))
    assert (header.address, header.beats, header.operation, header.response_id) == (0x1F000, 1, 0, 0)
    assert header.parity_good
    assert not parse_control_header(0x8001F000 ^ 0x80000000 ^ 1).parity_good


def two_ways(design: Design, *, drop: bool) -> None:
    """Packets of id 1 go to S2MM 0 of the memory tile, those of id 2 to S2MM 2, over one stream."""
    tile = memtile()
    design.shim_in(0, 0, north(0))
    design.packet_slave(tile, south(0), (1, 0, 0), (2, 0, 1))
    design.packet_master(tile, dma(0), 0, 0, drop=drop)
    design.packet_master(tile, dma(2), 0, 1, drop=drop)
    design.tokens()


@pytest.mark.parametrize("drop", [True, False])
def test_packets_go_where_their_id_says(drop: bool) -> None:
    design, ddr = Design(), Ddr()
    two_ways(design, drop=drop)
    extra = 0 if drop else 1
    for number, channel in ((0, 0), (1, 2)):
        design.bd(memtile(), number, memtile_bd(OWN + 0x1000 * number, 200 + 2 * extra))
        design.start(memtile(), S2MM, channel, number)
    for bd, (packet, part) in enumerate(((2, 0), (1, 1), (2, 2), (1, 3))):
        design.transfer(
            MM2S, 0, 100, bd=bd, offset_bytes=400 * part, packet_enable=True, packet_id=packet, packet_type=2
        )
    made = machine(design, ddr)
    report = made.run(design.stream, [ddr.add(ramp(400))])
    assert report.settled
    header = [] if drop else [packet_header(shim(), 1, 2)]
    got = memory(made, memtile())
    assert got[: 200 + 2 * extra].tolist() == header + list(range(101, 201)) + header + list(range(301, 401))
    header = [] if drop else [packet_header(shim(), 2, 2)]
    assert got[0x400 : 0x400 + 200 + 2 * extra].tolist() == header + list(range(1, 101)) + header + list(
        range(201, 301)
    )


def test_two_senders_take_turns_at_an_arbiter() -> None:
    """Compute tiles (0,2) and (0,3) send packets to one channel of the memory tile; none is torn apart."""
    design, ddr = Design(), Ddr()
    design.packet_slave(compute(row=3), dma(0), (3, 0, 0))
    design.packet_master(compute(row=3), south(1), 0, 0)
    design.packet_slave(compute(row=2), north(1), (3, 2, 1))
    design.packet_slave(compute(row=2), dma(1), (4, 2, 1))
    design.packet_master(compute(row=2), south(3), 2, 1)
    design.packet_slave(memtile(), north(3), (0, 1, 0), mask=0)
    design.packet_master(memtile(), dma(4), 1, 0)
    for row, channel, packet in ((3, 0, 3), (2, 1, 4)):
        tile = compute(row=row)
        design.data(tile, 0x100, ramp(64, 1000 * row))
        design.bd(
            tile,
            0,
            BufferDescriptor(
                0x100, 16, packet_enable=True, packet_id=packet, iteration_step=16, iteration_wrap=4
            ),
        )
        design.start(tile, MM2S, channel, 0, repeat=4)
    design.bd(memtile(), 5, memtile_bd(OWN, 8 * 17))
    design.start(memtile(), S2MM, 4, 5)
    made = machine(design, ddr)
    assert made.run(design.stream, []).settled
    got = memory(made, memtile())[: 8 * 17].reshape(8, 17)
    ids = [int(header) & 0x1F for header in got[:, 0]]
    assert sorted(ids) == [3, 3, 3, 3, 4, 4, 4, 4]
    # both had packets waiting all the time
    assert all(one != other for one, other in itertools.pairwise(ids))
    counts = {3: 0, 4: 0}
    for packet in got:
        sender = int(packet[0]) & 0x1F
        row = {3: 3, 4: 2}[sender]
        assert packet[0] == packet_header(compute(row=row), sender, 0)
        assert np.array_equal(packet[1:], ramp(16, 1000 * row + 16 * counts[sender]))
        counts[sender] += 1


@pytest.mark.parametrize("size", [8, 200])
def test_packets_of_two_channels_alternate_where_they_share_a_wire(size: int) -> None:
    """A consumer needs a packet of each in turn and has room for one of each: were two of the same to come
    first, the second would hold the wire that the other needs."""
    design, ddr, rounds = Design(), Ddr(), 5
    for channel in (0, 1):
        design.shim_in(0, channel)
        design.packet_slave(shim(), Port(Bundle.SOUTH, 3 + 4 * channel), (1 + channel, 0, 0))
    design.packet_master(shim(), north(0), 0, 0)
    design.packet_slave(memtile(), south(0), (1, 1, 0), (2, 2, 0))
    design.shim_out(0, 0, north(0))
    design.connect(memtile(), dma(2), south(0))
    design.tokens()
    for channel in (0, 1):
        design.packet_master(memtile(), dma(channel), 1 + channel, 0, drop=True)
        design.lock(memtile(), channel, 1)
        free, full = 64 + channel, 66 + channel
        locked: dict[str, Any] = {"acquire_enable": True, "acquire_value": -1, "release_value": 1}
        filled, sent, base = 24 * channel, 2 + channel, OWN + 4 * size * channel
        into = memtile_bd(base, size, **locked, acquire_lock=free, release_lock=full, next_bd=filled)
        out = memtile_bd(base, size, **locked, acquire_lock=full, release_lock=free, next_bd=5 - sent)
        design.bd(memtile(), filled, into)
        design.bd(memtile(), sent, out)
        design.start(memtile(), S2MM, channel, filled)
    design.start(memtile(), MM2S, 2, 2)
    design.transfer(S2MM, 2, 2 * rounds * size)
    for channel in (0, 1):
        design.transfer(
            MM2S, channel, size, channel=channel, bd=4 + channel, repeat=rounds, packet_enable=True,
            packet_id=1 + channel, iteration_step=size, iteration_wrap=rounds,
        )  # fmt: skip
    design.sync()
    given = [ramp(rounds * size, 1 + 10_000 * channel) for channel in (0, 1)]
    got = ddr.add(words([0] * (2 * rounds * size)))
    run(design, ddr, ddr.add(given[0]), ddr.add(given[1]), got)
    expected = np.stack([each.reshape(rounds, size) for each in given], axis=1)
    assert np.array_equal(ddr.get(got), expected.ravel())


def test_deterministic_merge_prescribes_the_turns() -> None:
    design, ddr = Design(), Ddr()
    tile = compute()
    for channel, packet in ((0, 7), (1, 8)):
        design.packet_slave(tile, dma(channel), (packet, 0, 0))
        design.bd(tile, channel, BufferDescriptor(0, 4, packet_enable=True, packet_id=packet))
        design.start(tile, MM2S, channel, channel, repeat=3 if channel else 6)
    design.packet_master(tile, south(0), 0, 0)
    # slave 1 (DMA 0) sends two packets, then slave 2 (DMA 1) one
    design.set(
        tile, "STREAM_SWITCH_DETERMINISTIC_MERGE_ARB_SLAVE0_1", SLAVE_ID_0=1, PACKET_COUNT_0=2, SLAVE_ID_1=2,
        PACKET_COUNT_1=1,
    )  # fmt: skip
    design.set(tile, "STREAM_SWITCH_DETERMINISTIC_MERGE_ARB_CTRL", ENABLE=1)
    design.connect(memtile(), north(0), dma(0))
    design.bd(memtile(), 0, memtile_bd(OWN, 45))
    design.start(memtile(), S2MM, 0, 0)
    made = machine(design, ddr)
    made.run(design.stream, [])
    headers = memory(made, memtile())[:45].reshape(9, 5)[:, 0]
    assert [int(header) & 0x1F for header in headers] == [7, 7, 8] * 3


def test_an_id_without_a_rule_is_named_in_the_deadlock() -> None:
    design, ddr = Design(), Ddr()
    two_ways(design, drop=True)
    design.transfer(MM2S, 0, 100, packet_enable=True, packet_id=9)
    design.sync(direction=MM2S)
    with pytest.raises(EmulationError, match=r"packet port South0 of memory tile .* no rule for packet id 9"):
        run(design, ddr, ddr.add(ramp(100)))


def test_finish_on_tlast_ends_a_bd_early() -> None:
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.connect(memtile(), south(0), dma(0))
    design.set(memtile(), "DMA_S2MM_CTRL", 0, FOT_MODE=1)
    design.bd(memtile(), 0, memtile_bd(OWN, 64, next_bd=1))
    design.bd(memtile(), 1, memtile_bd(OWN + 0x1000, 64))
    design.start(memtile(), S2MM, 0, 0)
    design.transfer(MM2S, 0, 10, bd=0)
    design.transfer(MM2S, 0, 20, bd=1, offset_bytes=400)
    made = machine(design, ddr)
    made.run(design.stream, [ddr.add(ramp(200))])
    got = memory(made, memtile())
    assert got[:12].tolist() == [*range(1, 11), 0, 0]
    assert got[0x400:0x416].tolist() == [*range(101, 121), 0, 0]


@pytest.mark.parametrize("chained", [False, True])
def test_an_out_of_order_channel_takes_the_bd_that_the_packet_names(*, chained: bool) -> None:
    """Whether or not the BDs are chained: only the packets say which one is next."""
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.packet_slave(memtile(), south(0), (0, 0, 0), mask=0)
    design.packet_master(memtile(), dma(0), 0, 0)
    design.set(memtile(), "DMA_S2MM_CTRL", 0, ENABLE_OUT_OF_ORDER=1)
    for number in (6, 7):
        following = 13 - number if chained else None
        iteration: dict[str, Any] = {"iteration_wrap": 2, "iteration_step": 0x100}
        design.bd(memtile(), number, memtile_bd(OWN + 0x1000 * number, 8, next_bd=following, **iteration))
    design.start(memtile(), S2MM, 0, 0, repeat=4)
    for bd, target in ((0, 7), (1, 6), (2, 7), (3, 6)):
        design.transfer(MM2S, 0, 8, bd=bd, offset_bytes=32 * bd, packet_enable=True, out_of_order_id=target)
    made = machine(design, ddr)
    report = made.run(design.stream, [ddr.add(ramp(32))])
    got = memory(made, memtile())
    for first, start in ((1, 0x1C00), (9, 0x1800), (17, 0x1D00), (25, 0x1900)):
        assert got[start : start + 8].tolist() == list(range(first, first + 8))
    assert report.findings == ()


def test_a_memory_tiles_token_travels_to_the_controller_as_a_packet() -> None:
    """The way of mlir-aie's designs since TXN: controller id 26 of the memory tile, rules in both tiles."""
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.connect(memtile(), south(0), dma(0))
    design.set(memtile(), "DMA_S2MM_CTRL", 0, CONTROLLER_ID=26)
    design.packet_slave(memtile(), CONTROL, (26, 0, 0))
    design.packet_master(memtile(), south(0), 0, 0)
    design.packet_slave(shim(), north(0), (26, 5, 3))
    design.packet_master(shim(), TOKEN_MASTER, 5, 3)
    design.bd(memtile(), 0, memtile_bd(OWN, 8))
    design.start(memtile(), S2MM, 0, 0, token=True)
    design.transfer(MM2S, 0, 8)
    design.sync(row=1)
    assert run(design, ddr, ddr.add(ramp(8))).settled


def test_a_token_that_cannot_leave_is_named() -> None:
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.connect(memtile(), south(0), dma(0))
    design.bd(memtile(), 0, memtile_bd(OWN, 8))
    design.start(memtile(), S2MM, 0, 0)
    design.transfer(MM2S, 0, 8)
    since = len(design.commands)
    design.start(shim(), MM2S, 0, 2, token=True)
    design.in_stream(since)
    design.sync(direction=MM2S)
    design.bd(memtile(), 0, memtile_bd(OWN, 8, next_bd=0))
    with pytest.raises(
        EmulationError, match=r"control port of shim .* slave port TileCtrl0 of shim .* not enabled"
    ):
        run(design, ddr, ddr.add(ramp(8)))


def control_route(design: Design) -> None:
    """Packets of id 5 reach the control port of (0,2); answers of id 6 come back to the shim's S2MM 0."""
    design.shim_in(0, 0, north(0))
    design.connect(memtile(), south(0), north(0))
    design.packet_slave(compute(), south(0), (5, 0, 0))
    design.packet_master(compute(), CONTROL, 0, 0)
    design.packet_slave(compute(), CONTROL, (6, 1, 0))
    design.packet_master(compute(), south(0), 1, 0, drop=True)
    design.connect(memtile(), north(0), south(0))
    design.shim_out(0, 0, north(0))
    design.tokens()


def control_packet(
    address: int, *data: int, operation: int = 0, beats: int = 0, answer: int = 0
) -> list[int]:
    header = address | ((beats or len(data)) - 1) << 20 | operation << 22 | answer << 24
    return [with_odd_parity(header), *data]


def test_control_packets_write_and_read_registers() -> None:
    design, ddr = Design(), Ddr()
    control_route(design)
    # lock 3, then four words of data memory, then read three of these
    packets = [
        control_packet(0x1F030, 21),
        control_packet(0x400, 11, 12, 13, 14),
        control_packet(0x404, operation=1, beats=3, answer=6),
    ]
    at = 0
    for bd, packet in enumerate(packets):
        design.transfer(
            MM2S, 0, len(packet), bd=bd + 4, offset_bytes=at, packet_enable=True, packet_id=5, packet_type=1
        )
        at += 4 * len(packet)
    design.transfer(S2MM, 1, 3)
    design.sync()
    given = ddr.add(words([word for packet in packets for word in packet]))
    got = ddr.add(words([0] * 3))
    made = machine(design, ddr)
    made.run(design.stream, [given, got])
    assert ddr.get(got).tolist() == [12, 13, 14]
    assert made.array.read(compute().address(0x1F030)) == 21


def test_a_control_packet_of_wrong_parity_is_dropped() -> None:
    design, ddr = Design(), Ddr()
    control_route(design)
    bad = control_packet(0x1F030, 21)
    bad[0] ^= 1 << 31
    good = control_packet(0x1F040, 5)
    design.transfer(MM2S, 0, 2, bd=4, packet_enable=True, packet_id=5)
    design.transfer(MM2S, 0, 2, bd=5, offset_bytes=8, packet_enable=True, packet_id=5)
    made = machine(design, ddr)
    report = made.run(design.stream, [ddr.add(words(bad + good))])
    assert report.warnings == (
        "control port of core (0,2) dropped a control packet: its control header has the wrong parity",
    )
    assert made.array.read(compute().address(0x3FF30)) == 2
    assert made.array.read(compute().address(0x1F030)) == 0
    assert made.array.read(compute().address(0x1F040)) == 5


def test_the_fifo_of_a_switch_is_a_detour() -> None:
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, Port(Bundle.FIFO))
    design.connect(shim(), Port(Bundle.FIFO), Port(Bundle.SOUTH, 2))
    design.shim_out(0, 0, None)
    design.tokens()
    design.transfer(S2MM, 1, 100)
    design.transfer(MM2S, 0, 100)
    design.sync()
    given, got = ddr.add(ramp(100)), ddr.add(words([0] * 100))
    run(design, ddr, given, got)
    assert np.array_equal(ddr.get(got), ramp(100))
