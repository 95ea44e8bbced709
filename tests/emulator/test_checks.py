"""Reads of memory nobody wrote, races and stacks: small designs with assembled programs, on both engines."""

from __future__ import annotations

from typing import Any

import pytest

from aiepipe.emulator.findings import Finding
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.npu.topology import Direction, TileAddress

from .core.bench import ENGINES, Engine
from .designs import (
    MM2S,
    OWN,
    S2MM,
    Ddr,
    Design,
    compute,
    dma,
    memtile,
    memtile_bd,
    north,
    south,
    words,
)
from .programs import OWN_LOCK, OWN_MEMORY, acquire, load, program, release, run, store


def kinds(findings: tuple[Finding, ...]) -> list[str]:
    return [found.kind for found in findings]


def out_of(design: Design, tile: TileAddress, address: int, length: int, **fields: Any) -> None:
    """BD 5 of `tile` sends `length` words from `address` to DDR, argument 0."""
    design.shim_out(0, 0, north(0))
    design.tokens()
    if tile == compute():
        design.connect(memtile(), north(0), south(0))
        design.bd(tile, 5, BufferDescriptor(address, length, **fields))
    else:
        design.bd(tile, 5, memtile_bd(address, length, **fields))
    design.connect(tile, dma(0), south(0))
    design.start(tile, MM2S, 0, 5)
    design.transfer(S2MM, 0, length)
    design.sync()


def into(design: Design, length: int, *, channel: int = 0, **fields: Any) -> None:
    """BD `channel` of core (0,2) takes `length` words from DDR (argument 0) to 0x400."""
    design.shim_in(0, channel, north(channel))
    design.connect(memtile(), south(channel), north(channel))
    design.connect(compute(), south(channel), dma(channel))
    design.bd(compute(), channel, BufferDescriptor(0x400, length, **fields))
    design.start(compute(), S2MM, channel, channel)
    design.transfer(MM2S, 0, length, channel=channel)


def test_a_memory_tiles_dma_that_reads_what_nobody_wrote_is_told_without_asking() -> None:
    design, ddr = Design(), Ddr()
    design.data(memtile(), 0x200, words([1] * 12))
    out_of(design, memtile(), OWN + 0x200, 16)
    report = run(design, ddr, ddr.add(words([0] * 16)))
    assert report.findings == (
        Finding(
            "unwritten-read",
            "memory tile (0,1)",
            "memory tile (0,1) MM2S 0 BD 5 reads 4 words that nobody wrote, the first at 0x230",
            channel="MM2S 0",
            descriptor=5,
            address=0x230,
        ),
    )


def test_padding_is_no_read() -> None:
    design, ddr = Design(), Ddr()
    design.data(memtile(), 0x200, words([1] * 12))
    out_of(
        design, memtile(), OWN + 0x200, 16, wraps=(12, 0, 0), zeros_before=(2, 0, 0), zeros_after=(2, 0, 0)
    )
    assert run(design, ddr, ddr.add(words([0] * 16))).findings == ()


@pytest.mark.parametrize("check", [False, True])
def test_a_compute_tiles_dma_is_watched_with_check(check: bool) -> None:
    design, ddr = Design(), Ddr()
    out_of(design, compute(), 0x400, 16)
    report = run(design, ddr, ddr.add(words([0] * 16)), check=check)
    assert kinds(report.findings) == ["unwritten-read"] * check


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_core_stored_may_be_sent(engine: Engine) -> None:
    design, ddr = Design(), Ddr()
    out_of(design, compute(), 0x400, 1, acquire_enable=True, acquire_lock=0, acquire_value=-1)
    program(design, compute(), "mova r0, #77", *store(OWN_MEMORY + 0x400), *release(OWN_LOCK))
    got = ddr.add(words([0]))
    report = run(design, ddr, got, check=True, engine=engine)
    assert ddr.get(got).tolist() == [77]
    assert report.findings == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_core_that_loads_what_nobody_wrote_is_told_with_its_pc(engine: Engine) -> None:
    design, ddr = Design(), Ddr()
    design.data(compute(), 0x500, words([5]))
    program(
        design, compute(), *load(OWN_MEMORY + 0x500), *load(OWN_MEMORY + 0x504), *load(OWN_MEMORY + 0x504)
    )
    (found,) = run(design, ddr, check=True, engine=engine).findings
    assert (found.kind, found.tile, found.address, found.count) == ("unwritten-read", "core (0,2)", 0x504, 1)
    assert found.pc is not None
    assert found.message == (
        f"core (0,2) at pc {found.pc:#06x} loads 4 bytes of its own memory that nobody wrote,"
        " the first at 0x504"
    )
    assert run(design, ddr, engine=engine).findings == ()


def consumer(design: Design, *, locks: bool) -> None:
    """A core that reads what its DMA brings to 0x400."""
    held = {"release_lock": 1, "release_value": 1} if locks else {}
    into(design, 16, **held)
    waits = acquire(OWN_LOCK + 1) if locks else ()
    program(design, compute(), *waits, *load(OWN_MEMORY + 0x400))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_core_that_reads_before_its_dma_may_have_written_is_a_race(engine: Engine) -> None:
    design, ddr = Design(), Ddr()
    design.data(compute(), 0x400, words([0] * 16))
    consumer(design, locks=False)
    report = run(design, ddr, ddr.add(words(range(16))), check=True, engine=engine)
    assert kinds(report.findings) == ["race"]
    message = report.findings[0].message
    assert "core (0,2) (between pc " in message
    assert "core (0,2) S2MM 0 BD 0" in message
    assert message.endswith("no lock, stream or token orders the two")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lock_orders_a_core_and_its_dma(engine: Engine) -> None:
    design, ddr = Design(), Ddr()
    design.data(compute(), 0x400, words([0] * 16))
    consumer(design, locks=True)
    assert run(design, ddr, ddr.add(words(range(16))), check=True, engine=engine).findings == ()


def test_two_channels_that_fill_one_buffer_are_a_race() -> None:
    design, ddr = Design(), Ddr()
    into(design, 16, channel=0)
    into(design, 16, channel=1)
    report = run(design, ddr, ddr.add(words(range(16))), check=True)
    assert report.findings == (
        Finding(
            "race",
            "core (0,2)",
            "core (0,2) S2MM 1 BD 1 writes 64 bytes of core (0,2), the first at 0x400, that"
            " core (0,2) S2MM 0 BD 0 wrote; no lock, stream or token orders the two",
            channel="S2MM 1",
            descriptor=1,
            address=0x400,
        ),
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ordered", [False, True])
def test_neighbours_that_write_one_word(engine: Engine, *, ordered: bool) -> None:
    """(0,2) writes its own memory; (0,3) writes the same word as its South memory."""
    design, ddr = Design(), Ddr()
    program(
        design,
        compute(0, 2),
        "mova r0, #1",
        *store(OWN_MEMORY + 0x80),
        *(release(OWN_LOCK) if ordered else ()),
    )
    program(design, compute(0, 3), *(acquire(0) if ordered else ()), "mova r0, #2", *store(0x40000 + 0x80))
    report = run(design, ddr, check=True, engine=engine)
    assert kinds(report.findings) == ([] if ordered else ["race"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("late", [False, True])
def test_a_parameter_that_the_stream_writes_is_ordered_by_the_data_that_follows(
    engine: Engine, *, late: bool
) -> None:
    """Written before the transfer is started whose data the core waits for: fine; after it: a race."""
    design, ddr = Design(), Ddr()
    parameter = compute().address(0x800)

    def write() -> None:
        since = len(design.commands)
        design.write(compute(), parameter & 0xFFFFF, 7)
        design.in_stream(since)

    design.data(compute(), 0x800, words([0]))
    if not late:
        write()
    into(design, 16, release_lock=1, release_value=1)
    if late:
        write()
    program(design, compute(), *acquire(OWN_LOCK + 1), *load(OWN_MEMORY + 0x800))
    report = run(design, ddr, ddr.add(words(range(16))), check=True, engine=engine)
    assert kinds(report.findings) == ["race"] * late
    if late:
        assert "the controller" in report.findings[0].message


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_from_where_no_memory_is_is_told_and_the_run_goes_on(engine: Engine, check: bool) -> None:
    design, ddr = Design(), Ddr()
    into(design, 16)
    program(design, compute(), *load(0x80000), *load(0x3FFFC))
    report = run(design, ddr, ddr.add(words(range(16))), check=check, engine=engine)
    (found,) = report.findings
    assert (found.kind, found.tile) == ("outside-read", "core (0,2)")
    assert "it gets zeros here" in found.message


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stack_that_grows_into_a_buffer(engine: Engine) -> None:
    """Linkers give a stack 0x400 bytes from 0x70000 up; this one takes 0x440, and BD 0 begins at 0x400."""
    design, ddr = Design(), Ddr()
    into(design, 16)
    program(design, compute(), "movxm sp, #0x70000", "paddb [sp], #0x440", "paddb [sp], #-0x440")
    (found,) = run(design, ddr, ddr.add(words(range(16))), check=True, engine=engine).findings
    assert (found.kind, found.descriptor, found.address) == ("stack-overflow", 0, 0x400)
    assert "the stack of core (0,2) grows from 0x0 to 0x440" in found.message


def test_a_token_tells_the_controller_that_a_buffer_is_free() -> None:
    """The stream overwrites what a DMA has sent, after the token of its task."""
    for waits in (True, False):
        design, ddr = Design(), Ddr()
        design.data(memtile(), 0x200, words([1] * 16))
        out_of(design, memtile(), OWN + 0x200, 16)
        if not waits:
            design.ops.pop()
        since = len(design.commands)
        design.write(memtile(), 0x200, 2)
        design.in_stream(since)
        if not waits:
            design.sync(direction=Direction.S2MM)
        report = run(design, ddr, ddr.add(words([0] * 16)), check=True)
        assert kinds(report.findings) == ([] if waits else ["race"])
