"""The timeline of a run: what cores, channels, locks and the stream did, in the array's cycles."""

from __future__ import annotations

import itertools

import pytest

from aiepipe.emulator.machine import Machine, RunReport
from aiepipe.emulator.trace import Trace
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.timeline import Span, Timeline

from .core.bench import ENGINES, Engine
from .designs import MM2S, S2MM, Ddr, Design, compute, dma, memtile, north, south, words
from .programs import OWN_LOCK, OWN_MEMORY, acquire, load, program, release, store


def doubled(timeline: Timeline | None, *, engine: Engine = "jit", instructions: bool = False) -> RunReport:
    """A core adds a word to itself, twice; its DMA waits for it."""
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.shim_out(0, 0, north(0))
    design.tokens()
    design.connect(memtile(), south(0), north(0))
    design.connect(memtile(), north(0), south(0))
    design.connect(compute(), south(0), dma(0))
    design.connect(compute(), dma(0), south(0))
    design.lock(compute(), 0, 1)
    for bd, (acquires, releases) in enumerate(((0, 1), (2, 0))):
        design.bd(
            compute(),
            bd,
            BufferDescriptor(
                0x400,
                1,
                acquire_enable=True,
                acquire_lock=acquires,
                acquire_value=-1,
                release_lock=releases,
                release_value=1,
                next_bd=bd,
            ),
        )
    design.start(compute(), S2MM, 0, 0)
    design.start(compute(), MM2S, 0, 1)
    program(
        design,
        compute(),
        "again:",
        *acquire(OWN_LOCK + 1),
        *load(OWN_MEMORY + 0x400),
        "add r0, r0, r0",
        *store(OWN_MEMORY + 0x400),
        *release(OWN_LOCK + 2),
        "j again",
    )
    design.transfer(S2MM, 1, 2)
    design.transfer(MM2S, 0, 2)
    design.sync()
    trace = None if timeline is None else Trace(timeline, instructions=instructions)
    machine = Machine(1, ddr, engine=engine, trace=trace)
    machine.load(design.cdo)
    got = ddr.add(words([0, 0]))
    report = machine.run(design.stream, [ddr.add(words([3, 4])), got])
    assert ddr.get(got).tolist() == [6, 8]
    return report


def spans(timeline: Timeline, process: str, name: str) -> list[Span]:
    return [span for span in timeline.spans if (span.track.process, span.track.name) == (process, name)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_core_runs_and_waits_in_turn(engine: Engine) -> None:
    timeline = Timeline()
    report = doubled(timeline, engine=engine)
    core = spans(timeline, "core (0,2)", "core")
    assert {span.name for span in core} == {"running", "waits for lock 1 of core (0,2)"}
    for before, after in itertools.pairwise(core):
        assert before.start < before.end <= after.start
    cycles = report.tile_cycles["core (0,2)"].core
    ran = sum(span.end - span.start for span in core if span.name == "running")
    waited = sum(span.end - span.start for span in core if span.name != "running")
    # what the core did before the run, up to its first acquire, is on the timeline and not in the report
    assert ran - cycles.bundles - cycles.bank_conflicts < 20
    assert waited == cycles.lock_wait


def test_channels_show_their_bds_and_what_they_wait_for_within_them() -> None:
    timeline = Timeline()
    doubled(timeline)
    sent = spans(timeline, "core (0,2)", "MM2S 0")
    bds = [span for span in sent if span.name == "BD 1"]
    assert len(bds) == 2
    assert dict(bds[0].details) == {"words": 1, "address": "0x400"}
    waits = [span for span in sent if span.name == "waits for lock 2 of core (0,2)"]
    assert waits
    for wait in waits:
        assert any(bd.start <= wait.start and wait.end <= bd.end for bd in bds)


def test_the_value_of_a_lock_is_the_sum_of_its_changes_and_never_below_zero() -> None:
    timeline = Timeline()
    doubled(timeline)
    for lock in (0, 1, 2):
        changes = [change for change in timeline.changes if change.track.name == f"lock {lock}"]
        value = 0
        for change in sorted(changes, key=lambda change: change.time):
            value += change.delta
            assert 0 <= value <= 1
        assert changes


def test_the_stream_shows_its_tokens_and_its_run() -> None:
    timeline = Timeline()
    report = doubled(timeline)
    (run,) = [span for span in timeline.spans if span.track.process == "controller"]
    assert run.name == "run 1"
    assert run.end - run.start >= report.cycles
    assert [(mark.name, dict(mark.details)["tile"]) for mark in timeline.marks] == [("token", "shim (0,0)")]
    assert run.start <= timeline.marks[0].time <= run.end


def test_each_bundle_shows_on_request() -> None:
    timeline = Timeline()
    report = doubled(timeline, engine="plain", instructions=True)
    bundles = spans(timeline, "core (0,2)", "instructions")
    assert len(bundles) >= report.bundles["core (0,2)"]
    assert any("acq #49, r15" in span.name for span in bundles)
    assert dict(bundles[0].details)["pc"] == "0x0"


def test_a_timeline_has_an_end() -> None:
    timeline = Timeline(limit=10)
    doubled(timeline)
    assert timeline.cut
    assert len(timeline.spans) + len(timeline.marks) + len(timeline.changes) == 10


def test_a_second_array_comes_after_the_first() -> None:
    timeline = Timeline()
    doubled(timeline)
    end = timeline.end
    count = len(timeline.spans)
    doubled(timeline)
    assert min(span.start for span in timeline.spans[count:]) >= end


def test_a_trace_changes_nothing() -> None:
    assert doubled(Timeline()) == doubled(None)
