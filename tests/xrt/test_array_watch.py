"""What is collected over all runs of an emulated device: findings once, cycles, what the host does."""

from __future__ import annotations

from aiepipe.emulator.cycles import CoreCycles, TileCycles
from aiepipe.emulator.findings import Finding
from aiepipe.emulator.machine import RunReport
from aiepipe.emulator.task import ChannelCycles
from aiepipe.timeline import Mark, Span, Timeline
from aiepipe.xrt.array_watch import CALLS, RUNS, ArrayWatch, HostTrace
from aiepipe.xrt.events import (
    Allocated,
    Direction,
    HostWrite,
    Labelled,
    RunFinished,
    RunObserved,
    RunStarted,
    Site,
    Synced,
    Via,
)

SITE = Site("host.py", 7, "main")
RACE = Finding("race", "core (0,2)", "a race", pc=16, count=3)


def report(*findings: Finding, bundles: int = 10) -> RunReport:
    cycles = TileCycles(CoreCycles(bundles, 1, 2, 3, 4), {"S2MM 0": ChannelCycles(8, 0, 24, 0)})
    return RunReport({}, (), 0, {"core (0,2)": cycles}, (), findings, settled=True)


def test_the_same_finding_of_two_runs_is_one_with_both_counts() -> None:
    watch = ArrayWatch()
    watch.note(report(RACE))
    watch.note(report(RACE, Finding("lock-left", "core (0,2)", "a lock")))
    assert [(found.kind, found.count, found.pc) for found in watch.findings] == [
        ("race", 6, 16),
        ("lock-left", 1, None),
    ]


def test_cycles_are_added_up_while_they_are_counted() -> None:
    watch = ArrayWatch()
    watch.note(report())
    watch.note(report(bundles=5))
    watch.counting = False
    watch.note(report())
    (tile,) = watch.tile_cycles
    assert (tile.tile, tile.bundles, tile.bank_conflicts, tile.lock_wait) == ("core (0,2)", 15, 2, 4)
    (channel,) = tile.channels
    # 16 words in 64 cycles
    assert (channel.name, channel.words, channel.lock_wait, channel.bytes_per_cycle) == (
        "S2MM 0",
        16,
        48,
        1.0,
    )


def test_an_array_has_a_trace_only_where_there_is_a_timeline() -> None:
    assert ArrayWatch().trace() is None
    trace = ArrayWatch(timeline=Timeline(), instructions=True).trace()
    assert trace is not None
    assert trace.instructions


def test_the_host_stands_at_the_time_to_which_the_array_has_come() -> None:
    timeline = Timeline()
    host = HostTrace(timeline)
    host.observe(Allocated(1, 64, "buffer 1", SITE))
    host.observe(Labelled(1, "A"))
    host.observe(HostWrite(1, 0, 64, Via.CALL, SITE))
    host.observe(Synced(1, 0, 64, Direction.TO_DEVICE, SITE))
    host.observe(RunStarted(1, "MATMUL", (), SITE))
    timeline.add(Span(RUNS, "the array", 0, 500))
    host.observe(RunFinished(1, "ERT_CMD_STATE_COMPLETED"))
    host.observe(RunObserved(1, "ERT_CMD_STATE_COMPLETED", SITE))
    assert [(mark.name, mark.time) for mark in timeline.marks] == [
        ("write A", 0),
        ("sync to device A", 0),
        ("start", 0),
        ("wait", 500),
    ]
    assert timeline.marks[0] == Mark(CALLS, "write A", 0, (("offset", 0), ("bytes", 64), ("at", "host.py:7")))
    assert timeline.spans[-1] == Span(
        RUNS, "MATMUL", 0, 500, (("run", 1), ("state", "ERT_CMD_STATE_COMPLETED"))
    )
