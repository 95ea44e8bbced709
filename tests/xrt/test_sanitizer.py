"""For each hazard a program that has it, and a twin that does not (docs/syncs.md).

The programs are host programs over the emulated pyxrt, as people write them. The device's numbers are
right in most of them: the sanitizer does not look at numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from aiepipe.verdict import Confidence, Severity, SyncFinding
from aiepipe.xrt import emulated as pyxrt
from aiepipe.xrt.emulation import Emulation, Settings, emulation
from aiepipe.xrt.events import (
    Allocated,
    BoundArgument,
    DeviceWrite,
    Freed,
    RunFinished,
    RunObserved,
    RunStarted,
    Site,
)
from aiepipe.xrt.hazards import HAZARDS
from aiepipe.xrt.memory import CacheModel, Coherency
from aiepipe.xrt.policy import POLICIES, named
from aiepipe.xrt.runner import run_program
from aiepipe.xrt.sanitizer import Sanitizer

from .fake_silicon import FakeSilicon, fake_xclbin
from .hazard_host import SIZE, Host, copy, copy_half, fail, fail_at_once, host_of, nothing
from .hazard_programs import (
    a_line_synced_for_a_line,
    both_halves_of_the_input_synced,
    correct,
    correct_by_views,
    dirty_output_read_back,
    failed_run_left_alone,
    failed_run_read_back,
    half_of_the_input_synced,
    half_of_the_output_read_back,
    half_of_the_output_read_back_and_used,
    input_not_synced,
    input_synced_both_ways,
    input_synced_from_the_device,
    input_synced_from_the_device_after_the_run,
    input_synced_twice,
    input_written_again_after_its_sync,
    instructions_changed_in_flight,
    instructions_not_synced,
    neighbour_of_the_output_not_synced,
    no_readback,
    no_readback_through_a_view,
    nobody_wrote_the_input,
    one_buffer_as_input_and_output,
    output_cleared_and_not_synced,
    output_cleared_through_a_view,
    output_half_written,
    output_never_written,
    output_synced_to_the_device,
    output_written_as_declared,
    read_before_the_wait,
    read_of_the_input_before_the_wait,
    readback_through_a_map_after_the_run,
    run_dropped_after_the_wait,
    synced_before_the_wait,
    two_runs_one_wait,
    two_windows_of_one_buffer,
    view_goes_before_its_buffer,
    view_outlives_its_buffer,
    whole_buffer_synced_for_a_line,
    window_of_a_window,
    window_synced_past_its_end,
    window_synced_to_its_end,
    windows_in_lines_of_their_own,
    windows_in_one_line,
    write_before_the_wait,
    write_beside_synced_results,
    write_beside_unsynced_results,
    write_of_another_buffer_before_the_wait,
    write_over_whole_lines_of_unsynced_results,
)
from .misuse_programs import (
    argument_forgotten,
    buffer_for_a_scalar,
    buffer_of_another_bank,
    every_second_column_copied_and_written,
    every_second_column_written,
    float_as_an_argument,
    group_of_a_scalar,
    groups_of_buffers,
    launched_and_not_looked_at,
    launched_and_read_back,
    no_instruction_count,
    one_buffer_too_many,
    run_dropped_in_flight,
    run_started_again_after_its_wait,
    run_started_twice,
)
from .programs import seed_inputs, seed_program, silicon

Program = Callable[[Host], None]


@pytest.fixture
def device(tmp_path: Path) -> Generator[Emulation]:
    fake = FakeSilicon(
        {"copy": copy, "copy_half": copy_half, "fail": fail, "fail_at_once": fail_at_once, "nothing": nothing}
    )
    with emulation(Settings(silicon=fake)) as current:
        (tmp_path / "x.xclbin").write_bytes(fake_xclbin("MLIR_AIE", buffers=2))
        yield current


WITH: list[tuple[str, Program, str]] = [
    ("S001", input_not_synced, "copy"),
    ("S001", input_written_again_after_its_sync, "copy"),
    ("S001", instructions_not_synced, "copy"),
    ("S002", output_cleared_and_not_synced, "copy"),
    ("S002", output_cleared_through_a_view, "copy"),
    ("S002", neighbour_of_the_output_not_synced, "copy_half"),
    ("S003", no_readback, "copy"),
    ("S003", no_readback_through_a_view, "copy"),
    ("S003", readback_through_a_map_after_the_run, "copy"),
    ("S003", output_synced_to_the_device, "none"),
    ("S004", read_before_the_wait, "copy"),
    ("S005", write_before_the_wait, "copy"),
    ("S006", write_beside_unsynced_results, "copy"),
    ("S007", half_of_the_input_synced, "copy"),
    ("S008", half_of_the_output_read_back, "copy"),
    ("S009", dirty_output_read_back, "copy"),
    ("S010", synced_before_the_wait, "copy"),
    ("S011", input_synced_from_the_device, "copy"),
    ("S012", failed_run_read_back, "fail"),
    ("S012", failed_run_read_back, "fail_at_once"),
    ("S013", windows_in_one_line, "copy_half"),
    ("S014", nobody_wrote_the_input, "copy"),
    ("S016", one_buffer_as_input_and_output, "copy"),
    ("S017", input_synced_from_the_device, "copy"),
    ("S017", output_synced_to_the_device, "copy"),
    ("S015", output_half_written, "copy_half"),
    ("S018", window_synced_past_its_end, "copy"),
    ("S019", instructions_changed_in_flight, "copy"),
    ("P101", input_synced_from_the_device_after_the_run, "copy"),
    ("P102", input_synced_twice, "copy"),
    ("P103", whole_buffer_synced_for_a_line, "copy"),
    ("L003", view_outlives_its_buffer, "copy"),
    ("L004", window_of_a_window, "copy"),
    ("L002", run_dropped_in_flight, "copy"),
    ("L005", run_started_twice, "copy"),
    ("A001", one_buffer_too_many, "copy"),
    ("A002", buffer_for_a_scalar, "copy"),
    ("A002", group_of_a_scalar, "copy"),
    ("A003", buffer_of_another_bank, "copy"),
    ("A004", no_instruction_count, "copy"),
    ("A005", every_second_column_written, "copy"),
    ("A005", float_as_an_argument, "copy"),
    ("A006", argument_forgotten, "copy"),
    ("D001", launched_and_read_back, "nothing"),
]

WITHOUT: list[tuple[Program, str]] = [
    (correct, "copy"),
    (correct_by_views, "copy"),
    (output_never_written, "copy"),
    (read_of_the_input_before_the_wait, "copy"),
    (write_of_another_buffer_before_the_wait, "copy"),
    (write_beside_synced_results, "copy"),
    (write_over_whole_lines_of_unsynced_results, "copy"),
    (both_halves_of_the_input_synced, "copy"),
    (half_of_the_output_read_back_and_used, "copy"),
    (input_synced_both_ways, "copy"),
    (failed_run_left_alone, "fail"),
    (failed_run_left_alone, "fail_at_once"),
    (windows_in_lines_of_their_own, "copy_half"),
    (two_runs_one_wait, "copy"),
    (output_written_as_declared, "copy_half"),
    (window_synced_to_its_end, "copy"),
    (a_line_synced_for_a_line, "copy"),
    (run_dropped_after_the_wait, "copy"),
    (view_goes_before_its_buffer, "copy"),
    (two_windows_of_one_buffer, "copy"),
    (groups_of_buffers, "copy"),
    (launched_and_read_back, "copy"),
    (launched_and_not_looked_at, "nothing"),
    (every_second_column_copied_and_written, "copy"),
    (run_started_again_after_its_wait, "copy"),
]


OF_A_CALL = {"A001", "A002", "A003", "A004", "A005", "A006", "D001", "L002", "L005"}
"""Hazards that have no bytes."""


def findings_of(
    program: Program, behaviour: str, device: Emulation, tmp_path: Path
) -> tuple[SyncFinding, ...]:
    sanitizer = Sanitizer.attach(device)
    program(host_of(tmp_path, behaviour))
    return sanitizer.finish()


@pytest.mark.parametrize(
    ("hazard", "program", "behaviour"),
    [case for case in WITH if case[2] != "none"],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_each_hazard_is_found(
    hazard: str, program: Program, behaviour: str, device: Emulation, tmp_path: Path
) -> None:
    found = [f for f in findings_of(program, behaviour, device, tmp_path) if f.hazard == hazard]
    assert len(found) == 1
    finding = found[0]
    assert finding.name == HAZARDS[hazard].name
    assert finding.ranges or hazard in OF_A_CALL
    assert finding.current.site is not None
    assert "{" not in finding.message + finding.fix


@pytest.mark.parametrize(("program", "behaviour"), WITHOUT, ids=lambda value: getattr(value, "__name__", ""))
def test_programs_without_a_hazard_have_no_finding(
    program: Program, behaviour: str, device: Emulation, tmp_path: Path
) -> None:
    needless = {"P101"} if program is input_synced_both_ways else set[str]()
    assert {f.hazard for f in findings_of(program, behaviour, device, tmp_path)} == needless


def test_every_hazard_of_the_table_has_its_program() -> None:
    # the emulated device keeps a buffer that a run uses: L001 is for a real one, and told as events below
    assert {hazard for hazard, _, _ in WITH} | {"L001"} == set(HAZARDS)


@pytest.mark.parametrize(("observed", "hazards"), [(False, ["L001"]), (True, [])])
def test_a_buffer_freed_while_a_run_uses_it(observed: bool, hazards: list[str]) -> None:
    site = Site("host.py", 3, "main")
    sanitizer = Sanitizer()
    sanitizer.observe(Allocated(1, SIZE, "target", site))
    sanitizer.observe(RunStarted(1, "k", (BoundArgument(3, 1, 0, SIZE),), site))
    if observed:
        sanitizer.observe(DeviceWrite(1, 1, 0, SIZE))
        sanitizer.observe(RunFinished(1, "ERT_CMD_STATE_COMPLETED"))
        sanitizer.observe(RunObserved(1, "ERT_CMD_STATE_COMPLETED", site))
    sanitizer.observe(Freed(1))
    assert [finding.hazard for finding in sanitizer.finish()] == hazards


@pytest.mark.parametrize(
    "program",
    [input_not_synced, output_cleared_and_not_synced, no_readback, synced_before_the_wait],
    ids=lambda program: program.__name__,
)
def test_on_a_coherent_device_a_missing_sync_is_no_hazard(program: Program, tmp_path: Path) -> None:
    (tmp_path / "x.xclbin").write_bytes(fake_xclbin("MLIR_AIE", buffers=2))
    settings = Settings(silicon=FakeSilicon({"copy": copy}), cache=CacheModel(Coherency.COHERENT))
    with emulation(settings) as current:
        assert findings_of(program, "copy", current, tmp_path) == ()


class TestAFinding:
    def test_the_seed_in_full(self, device: Emulation, tmp_path: Path) -> None:
        found = findings_of(output_cleared_and_not_synced, "copy", device, tmp_path)
        assert [f.hazard for f in found] == ["S002"]
        (finding,) = found
        assert (finding.severity, finding.confidence) == (Severity.ERROR, Confidence.DEFINITE)
        assert (finding.buffer, finding.argument) == ("target", 4)
        assert (finding.ranges, finding.lines) == (((0, 256),), ((0, 4),))
        assert finding.prior is not None
        assert finding.prior.what == "host write"
        assert finding.prior.site is not None
        assert "hazard_host.py:" in finding.prior.site
        assert (finding.current.what, finding.current.run) == ("device write", 1)
        assert finding.policies == ("x86-clflush", "inv-on-from")
        assert finding.message.startswith("the device writes 4 lines of target that may be dirty")
        assert finding.fix.startswith("sync target to the device after the write at ")

    def test_only_the_line_of_a_neighbour_is_at_risk(self, device: Emulation, tmp_path: Path) -> None:
        found = findings_of(neighbour_of_the_output_not_synced, "copy_half", device, tmp_path)
        assert [(f.hazard, f.ranges, f.lines) for f in found] == [("S002", ((0, 32),), ((0, 1),))]

    def test_a_partial_sync_is_shown_with_what_it_leaves_out(self, device: Emulation, tmp_path: Path) -> None:
        found = findings_of(half_of_the_input_synced, "copy", device, tmp_path)
        assert [f.hazard for f in found] == ["S001", "S007"]
        assert {f.ranges for f in found} == {((128, 128),)}
        (sync,) = found[1].syncs
        assert (sync.direction, sync.offset_bytes, sync.length_bytes) == ("to device", 0, 128)
        assert sync.why == "it does not reach these bytes"

    def test_a_view_that_may_have_been_read_is_only_possible(self, device: Emulation, tmp_path: Path) -> None:
        found = findings_of(no_readback_through_a_view, "copy", device, tmp_path)
        assert [(f.hazard, f.confidence) for f in found] == [("S003", Confidence.POSSIBLE)]

    def test_the_same_place_again_is_counted(self, device: Emulation, tmp_path: Path) -> None:
        def three_times(host: Host) -> None:
            host.give_input()
            for _ in range(3):
                host.write(host.target, 0)
                host.launch()

        (finding,) = findings_of(three_times, "copy", device, tmp_path)
        assert (finding.hazard, finding.count) == ("S002", 3)

    def test_suppression_by_id_and_by_place(self, device: Emulation, tmp_path: Path) -> None:
        everything = Sanitizer.attach(device)
        by_id = Sanitizer.attach(device, suppress=["S002"])
        by_place = Sanitizer.attach(device, suppress=["S002@*hazard_host.py:*"])
        elsewhere = Sanitizer.attach(device, suppress=["S002@*other.py:*"])
        output_cleared_and_not_synced(host_of(tmp_path))
        counts = [len(s.finish()) for s in (everything, by_id, by_place, elsewhere)]
        assert counts == [1, 0, 0, 1]
        assert by_id.suppressed == 1


class TestTheRunner:
    """The runner's policies under the sanitizer, on a device that evicts all in time: every run is right."""

    @staticmethod
    def findings(policy: str, repeat: int = 2) -> list[str]:
        program, function, artifacts = seed_program()
        settings = Settings(silicon=silicon(), cache=CacheModel(evict=1.0))
        with emulation(settings) as current:
            sanitizer = Sanitizer.attach(current)
            result = run_program(
                program,
                function,
                artifacts,
                seed_inputs(),
                device=pyxrt,
                policy=named(policy),
                repeat=repeat,
            )
            assert all((outputs[0] == 39).all() for outputs in result.variants)
            return sorted({finding.hazard for finding in sanitizer.finish()})

    @pytest.mark.parametrize(
        ("policy", "hazards"),
        [
            ("default", []),
            ("no-output-presync", ["S002", "S009"]),
            ("inputs-only", ["S002", "S009"]),
            ("last-output-presync", []),
            ("last-output-only", []),
            ("no-output-readback", ["S003"]),
            ("no-input-resync", ["S001"]),
            ("no-input-presync", ["S001"]),
            ("no-instruction-sync", ["S001"]),
            ("no-host-command-sync", []),
            ("none", ["S001", "S002", "S003"]),
        ],
    )
    def test_a_policy_has_just_its_hazards(self, policy: str, hazards: list[str]) -> None:
        assert self.findings(policy) == hazards

    def test_all_policies_are_tried(self) -> None:
        assert len(POLICIES) == 11

    def test_one_run_names_the_write_and_the_run(self) -> None:
        program, function, artifacts = seed_program()
        with emulation(Settings(seed=3, silicon=silicon())) as current:
            sanitizer = Sanitizer.attach(current)
            run_program(
                program, function, artifacts, seed_inputs(), device=pyxrt, policy=named("no-output-presync")
            )
            finding = sanitizer.finish()[0]
        assert finding.hazard == "S002"
        assert finding.lines == ((0, 256),)
        assert finding.buffer == "C"
        assert finding.prior is not None
        assert finding.prior.site is not None
        assert finding.prior.site.startswith("writing C, poison (")
        assert "execution.py:" in finding.prior.site
