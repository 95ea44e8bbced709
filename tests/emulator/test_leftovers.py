"""What stands in a strange state after a run, and what only waits for the next one."""

from __future__ import annotations

from aiepipe.emulator.findings import Finding
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.npu.topology import Bundle, Port

from .designs import MM2S, OWN, S2MM, Ddr, Design, compute, dma, memtile, memtile_bd, north, south, words
from .programs import OWN_LOCK, acquire, program, release, run

CORE = Port(Bundle.CORE)


def found(design: Design, ddr: Ddr, *arguments: int) -> dict[str, list[str]]:
    """Messages by kind."""
    messages: dict[str, list[str]] = {}
    for finding in run(design, ddr, *arguments).findings:
        messages.setdefault(finding.kind, []).append(finding.message)
    return messages


def loop(design: Design) -> None:
    """Eight words in, eight words out of a memory tile, for ever."""
    design.shim_in(0, 0, north(0))
    design.shim_out(0, 0, north(0))
    design.tokens()
    design.connect(memtile(), south(0), dma(0))
    design.connect(memtile(), dma(0), south(0))
    design.lock(memtile(), 0, 1)
    for bd, (acquires, releases) in enumerate(((64, 65), (65, 64))):
        design.bd(
            memtile(),
            bd,
            memtile_bd(
                OWN,
                8,
                acquire_enable=True,
                acquire_lock=acquires,
                acquire_value=-1,
                release_lock=releases,
                release_value=1,
                next_bd=bd,
            ),
        )
    design.start(memtile(), S2MM, 0, 0)
    design.start(memtile(), MM2S, 0, 1)


def test_a_loop_that_waits_for_the_next_run_is_in_order() -> None:
    design, ddr = Design(), Ddr()
    loop(design)
    design.transfer(S2MM, 1, 8)
    design.transfer(MM2S, 0, 8)
    design.sync()
    assert found(design, ddr, ddr.add(words(range(8))), ddr.add(words([0] * 8))) == {}


def test_a_bd_that_got_only_a_part_of_its_words() -> None:
    design, ddr = Design(), Ddr()
    loop(design)
    design.transfer(S2MM, 1, 8)
    design.transfer(MM2S, 0, 12)
    design.sync()
    assert found(design, ddr, ddr.add(words(range(12))), ddr.add(words([0] * 8))) == {
        "descriptor-left": [
            "at the end of the run memory tile (0,1) S2MM 0 BD 0 waits for words from its stream"
            " (4 of 8 words moved)"
        ],
    }


def test_a_task_that_did_not_begin_and_words_that_nobody_took() -> None:
    design, ddr = Design(), Ddr()
    design.shim_in(0, 0, north(0))
    design.connect(memtile(), south(0), dma(0))
    design.bd(memtile(), 0, memtile_bd(OWN, 8, acquire_enable=True, acquire_lock=64, acquire_value=-1))
    design.start(memtile(), S2MM, 0, 0)
    since = len(design.commands)
    design.start(memtile(), S2MM, 0, 0)
    design.in_stream(since)
    design.transfer(MM2S, 0, 8)
    waits = "BD 0 waits for lock 0 of memory tile (0,1) >= 1, which is 0"
    assert found(design, ddr, ddr.add(words(range(8)))) == {
        "queue-left": [f"at the end of the run 1 task of memory tile (0,1) S2MM 0 did not begin; it {waits}"],
        "words-left": [f"at the end of the run 8 words stand before memory tile (0,1) S2MM 0, which {waits}"],
    }


def test_words_in_a_cores_stream_input_and_in_the_cascade() -> None:
    design, ddr = Design(), Ddr()
    design.connect(compute(row=3), CORE, south(0))
    design.connect(compute(row=2), north(0), CORE)
    program(design, compute(row=3), "mova r0, #1", "mov ms, r0", "mov ms, r0", "vmov mcd, x0")
    assert found(design, ddr) == {}, "it stood there before the run"
    design = Design()
    design.connect(compute(row=3), CORE, south(0))
    design.connect(compute(row=2), north(0), CORE)
    program(design, compute(row=3), *acquire(OWN_LOCK), "mova r0, #1", "mov ms, r0", "vmov mcd, x0")
    since = len(design.commands)
    design.lock(compute(row=3), 0, 1)
    design.in_stream(since)
    assert found(design, ddr)["words-left"] == [
        "at the end of the run 1 words stand before the stream input of core (0,2)",
        "at the end of the run 1 words stand in the cascade to core (0,2)",
    ]


def test_a_lock_that_is_not_as_it_was() -> None:
    design, ddr = Design(), Ddr()
    design.lock(compute(), 3, 2)
    program(design, compute(), *acquire(OWN_LOCK + 1), *release(OWN_LOCK + 3))
    since = len(design.commands)
    design.lock(compute(), 1, 1)
    design.in_stream(since)
    report = run(design, ddr)
    assert report.findings == (
        Finding("lock-left", "core (0,2)", "lock 3 of core (0,2) is 3 after the run; it was 2 before"),
    )


def test_a_transfer_of_the_shim_that_does_not_end() -> None:
    design, ddr = Design(), Ddr()
    design.shim_out(0, 0, north(0))
    design.connect(memtile(), dma(0), south(0))
    design.transfer(S2MM, 0, 8)
    assert found(design, ddr, ddr.add(words([0] * 8))) == {
        "descriptor-left": [
            "at the end of the run shim (0,0) S2MM 0 BD 0 waits for words from its stream"
            " (0 of 8 words moved)"
        ]
    }


def test_a_buffer_of_no_words_is_nothing() -> None:
    design, ddr = Design(), Ddr()
    design.bd(compute(), 0, BufferDescriptor(0x400, 0))
    design.start(compute(), MM2S, 0, 0)
    assert found(design, ddr) == {}
