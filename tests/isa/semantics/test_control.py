"""Branches, loops, locks, streams and the cascade; what a stall leaves alone."""

from __future__ import annotations

import pytest

from tests.emulator.core.bench import ENGINES, OWN, Bench, Engine, assemble

DRAIN = [""] * 14


@pytest.mark.parametrize("engine", ENGINES)
def test_five_more_bundles_run_after_a_branch(engine: Engine) -> None:
    code = assemble("j {there}", *["add r0, r0, #1"] * 9, "there:", "mov r1, r0", *DRAIN)
    bench = Bench(code, engine).step(8)
    assert bench["r1"] == 5


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("statement", "r1", "taken"), [("jz", 0, True), ("jz", 2, False), ("jnz", 2, True)])
def test_conditions(statement: str, r1: int, taken: bool, engine: Engine) -> None:
    code = assemble(f"{statement} r1, {{there}}", *[""] * 5, "add r0, r0, #1", *[""] * 9, "there:", *DRAIN)
    assert Bench(code, engine).set({"r1": r1}).step(12)["r0"] == (0 if taken else 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_leaves_the_address_after_its_delay_slots(engine: Engine) -> None:
    """lr is there from the fourth bundle on (AIE2Schedule.td, II_JL); the callee returns to after them."""
    code = assemble(
        "jl {callee}", "mov r0, lr", "mov r1, lr", "mov r2, lr", "mov r3, lr", "",
        "after:", "mov r4, #1", *[""] * 20,
        "callee:", "mov r5, #2", "ret lr", *[""] * 5, *DRAIN,
    )  # fmt: skip
    bench = Bench(code, engine).set({"lr": 0x999}).step(20)
    assert [bench[f"r{n}"] for n in range(3)] == [0x999] * 3
    assert bench["r3"] == bench["lr"] == len(assemble("jl #0", *["mov r0, lr"] * 4, ""))
    assert (bench["r4"], bench["r5"]) == (1, 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_jnzd_tests_before_it_counts(engine: Engine) -> None:
    code = assemble("loop:", "add r0, r0, #1", "jnzd r1, r1, p0", *[""] * 5, "mov r2, #7", *DRAIN)
    bench = Bench(code, engine).set({"r1": 3, "p0": 0}).step(7 * 4 + 2)
    assert (bench["r0"], bench["r2"]) == (4, 7)


LOOP = (
    "movxm ls, {start}", "movxm le, {end}", "mov lc, r1", *[""] * 60,
    "start:", "|16|add r0, r0, #1", *["|16|"] * 7, "end:", "|16|add r2, r2, r0", "mov r3, #1", "", "done",
)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("trips", [1, 2, 5])
def test_a_zero_overhead_loop_runs_lc_times(trips: int, engine: Engine) -> None:
    code = assemble(*LOOP)
    bench = Bench(code, engine).set({"r1": trips})
    assert bench.core.run(200).kind == "done"
    assert (bench["r0"], bench["r2"], bench["r3"]) == (trips, sum(range(trips + 1)), 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stalled_acquire_holds_what_is_in_flight(engine: Engine) -> None:
    """A stall must not let the core's clock advance (emulation.md): the load lands 7 issued bundles on."""
    code = assemble("lda r0, [p0, #0]", "acq r1, r2", "mov r3, r0", *["mov r4, r0"] * 4, "mov r5, r0", *DRAIN)
    bench = Bench(code, engine).set({"r0": 1, "p0": OWN, "r1": 49, "r2": 0xFFFF_FFFF})
    bench.own[0] = 2
    bench.port.grant = False
    for _ in range(3):
        stop = bench.core.run(100)
        assert (stop.kind, stop.number, stop.value, stop.stalled) == ("acquire", 49, -1, True)
        assert bench.core.bundles == 1
    bench.port.grant = True
    bench.step(8)
    assert bench.port.log == [("acquire", 49, -1)]
    assert (bench["r3"], bench["r4"], bench["r5"]) == (1, 1, 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_conditional_locks_look_at_r26(engine: Engine) -> None:
    code = assemble("rel.cond #5, r1, r26", *DRAIN)
    for r26, log in ((0, []), (1, [("release", 5, 3)])):
        assert Bench(code, engine).set({"r1": 3, "r26": r26}).step(3).port.log == log


@pytest.mark.parametrize("engine", ENGINES)
def test_done_stops_for_good(engine: Engine) -> None:
    bench = Bench(assemble("mov r0, #1", "done", *DRAIN), engine)
    assert [bench.core.run(10).kind for _ in range(3)] == ["done"] * 3
    assert (bench["r0"], bench.core.bundles) == (1, 1)
    bench.core.reset()
    assert (bench["r0"], bench.core.pc) == (0, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stream_word_passes_when_both_sides_are_ready(engine: Engine) -> None:
    code = assemble("mov r0, SS; mov ms, r1", *DRAIN)
    bench = Bench(code, engine).set({"r1": 0x55})
    assert bench.core.run(5).kind == "stream-read"
    bench.port.words, bench.port.accepts = [(0xABCD, True)], False
    assert bench.core.run(5).kind == "stream-write"
    assert bench.core.bundles == 0
    bench.port.accepts = True
    bench.step(10)
    assert bench.port.sent == [(0x55, False)]
    assert (bench["r0"], bench["srSS0"]) == (0xABCD, 3)


@pytest.mark.parametrize("engine", ENGINES)
def test_streams_that_do_not_wait_say_whether_it_worked(engine: Engine) -> None:
    bench = Bench(assemble("mov.nb r0, SS", "mov.nb.tlast ms, r1", *DRAIN), engine)
    bench.port.accepts = False
    bench.step(12)
    assert (bench["srSS0"], bench["srMS0"], bench.port.sent) == (0, 0, [])


def test_the_cascade_passes_512_bits() -> None:
    bench = Bench(assemble("vmov x0, SCD", *[""] * 7, "vmov MCD, x0", *DRAIN))
    assert bench.core.run(20).kind == "cascade-read"
    bench.port.cascade_in = [bytes(range(64))]
    bench.step(12)
    assert bench.port.cascade_out == [bytes(range(64))]


def test_events_are_told() -> None:
    assert Bench(assemble("event #2", *DRAIN)).step(3).port.log == [("event", 2, 0)]


def test_packet_headers_have_odd_parity() -> None:
    """AM020: id [4:0], type [14:12], row [20:16], column [27:21], odd parity [31]."""
    bench = Bench(assemble("mov.ph ms, r1, #3", *DRAIN), core_id=(2 << 16) | 3).set({"r1": 9}).step(3)
    ((word, _),) = bench.port.sent
    assert word & 0x7FFF_FFFF == 9 | 3 << 12 | 3 << 16 | 2 << 21
    assert word.bit_count() % 2 == 1


def test_control_packet_headers() -> None:
    bench = Bench(assemble("mov.cph.tlast ms, m1, #2, #1, r3", *DRAIN)).set({"m1": 0x1D000, "r3": 5}).step(3)
    ((word, tlast),) = bench.port.sent
    assert word & 0x7FFF_FFFF == 0x1D000 | 2 << 20 | 1 << 22 | 5 << 24
    assert (word.bit_count() % 2, tlast) == (1, True)


def test_the_processor_bus_is_the_ports() -> None:
    bench = Bench(assemble("lda.tm r0, [p0]", "st.tm r1, [p0]", *DRAIN)).set({"p0": 0x80010, "r1": 7})
    bench.step(12)
    assert bench["r0"] == 0x80011
    assert bench.port.log == [("bus read", 0x80010, 0), ("bus write", 0x80010, 7)]
