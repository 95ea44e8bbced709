"""For each hazard a program that has it, and a twin that does not (docs/syncs.md).

The programs are host programs over the emulated pyxrt, as people write them. The device's numbers are
right in most of them: the sanitizer does not look at numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from aiepipe.errors import EmulationError
from aiepipe.verdict import Confidence, Severity, SyncFinding
from aiepipe.xrt import emulated as pyxrt
from aiepipe.xrt.emulation import Emulation, Settings, emulation
from aiepipe.xrt.events import Allocated, BoundArgument, Freed, RunFinished, RunObserved, RunStarted, Site
from aiepipe.xrt.hazards import HAZARDS
from aiepipe.xrt.memory import CacheModel, Coherency
from aiepipe.xrt.policy import POLICIES, named
from aiepipe.xrt.runner import run_program
from aiepipe.xrt.sanitizer import Sanitizer
from aiepipe.xrt.silicon import DeviceMemory

from .fake_silicon import FakeSilicon, fake_stream, fake_xclbin
from .programs import seed_inputs, seed_program, silicon

TO = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE
FROM = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE
SIZE = 256


def copy(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """256 bytes from the first buffer to the second."""
    memory.write(addresses[1], memory.read(addresses[0], SIZE))


def copy_half(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """32 bytes from the first buffer to the second."""
    memory.write(addresses[1], memory.read(addresses[0], 32))


def fail(memory: DeviceMemory, addresses: Sequence[int]) -> None:
    """Writes half of its output, then waits for ever."""
    memory.write(addresses[1], memory.read(addresses[0], 128))
    raise EmulationError("waits for lock 1", kind="deadlock")


@dataclass(slots=True)
class Host:
    """What a host program has at hand: a kernel, an input and an output of 256 bytes."""

    kernel: pyxrt.kernel
    behaviour: str = "copy"
    instructions: pyxrt.bo = field(init=False)
    source: pyxrt.bo = field(init=False)
    target: pyxrt.bo = field(init=False)

    def __post_init__(self) -> None:
        self.source = self.buffer("source")
        self.target = self.buffer("target")
        stream = fake_stream(self.behaviour, range(2))
        self.instructions = pyxrt.bo(
            self.kernel.context.get_device(), len(stream), pyxrt.bo.cacheable, self.kernel.group_id(1)
        )
        self.instructions.label = "instructions"
        self.instructions.write(stream, 0)
        self.instructions.sync(TO)

    def buffer(self, label: str, size: int = SIZE) -> pyxrt.bo:
        made = pyxrt.bo(self.kernel.context.get_device(), size, pyxrt.bo.host_only, self.kernel.group_id(3))
        made.label = label
        return made

    def run(self, source: pyxrt.bo | None = None, target: pyxrt.bo | None = None) -> pyxrt.run:
        made = pyxrt.run(self.kernel)
        buffers = (source or self.source, target or self.target)
        for index, value in enumerate((3, self.instructions, 10, *buffers)):
            made.set_arg(index, value)
        return made

    def write(self, buffer: pyxrt.bo, value: int = 1, size: int = SIZE, seek: int = 0) -> None:
        buffer.write(np.full(size, value, np.uint8), seek)

    def give_input(self) -> None:
        self.write(self.source)
        self.source.sync(TO)

    def launch(self) -> pyxrt.run:
        run = self.run()
        run.start()
        run.wait()
        return run


@pytest.fixture
def device(tmp_path: Path) -> Generator[Emulation]:
    fake = FakeSilicon({"copy": copy, "copy_half": copy_half, "fail": fail})
    with emulation(Settings(silicon=fake)) as current:
        (tmp_path / "x.xclbin").write_bytes(fake_xclbin("MLIR_AIE", buffers=2))
        yield current


def host_of(tmp_path: Path, behaviour: str = "copy") -> Host:
    device = pyxrt.device(0)
    uuid = device.register_xclbin(pyxrt.xclbin(str(tmp_path / "x.xclbin")))
    return Host(pyxrt.kernel(pyxrt.hw_context(device, uuid), "MLIR_AIE"), behaviour)


# --------------------------------------------------------------------------- the programs


def correct(host: Host) -> None:
    """Section 2.1's recipe, twice, with poison."""
    for value in (1, 2):
        host.write(host.source, value)
        host.write(host.target, 0xA5)
        host.source.sync(TO)
        host.target.sync(TO)
        host.launch()
        host.target.sync(FROM)
        assert host.target.read(1, 0)[0] == value


def correct_by_views(host: Host) -> None:
    """The same through views that stay alive."""
    source, target = np.frombuffer(host.source.map(), np.int32), np.frombuffer(host.target.map(), np.int32)
    for value in (1, 2):
        source[:] = value
        target[:] = -1
        host.source.sync(TO)
        host.target.sync(TO)
        host.launch()
        host.target.sync(FROM)
        assert target[0] == value


def output_never_written(host: Host) -> None:
    """AMD's shim test: no sync of the output before the run, as the host never wrote it."""
    host.give_input()
    host.launch()
    host.target.sync(FROM)
    host.target.read(SIZE, 0)


def input_not_synced(host: Host) -> None:
    host.write(host.source)
    host.launch()


def input_written_again_after_its_sync(host: Host) -> None:
    host.give_input()
    host.launch()
    host.write(host.source, 2)
    host.launch()


def instructions_not_synced(host: Host) -> None:
    host.give_input()
    host.instructions.write(fake_stream("copy", range(2)), 0)
    host.launch()


def output_cleared_and_not_synced(host: Host) -> None:
    """The seed."""
    host.give_input()
    host.write(host.target, 0)
    host.launch()


def output_cleared_through_a_view(host: Host) -> None:
    """The same, and the zeros were zeros before."""
    host.give_input()
    np.frombuffer(host.target.map(), np.uint8)[:] = 0
    host.launch()


def neighbour_of_the_output_not_synced(host: Host) -> None:
    """Dirty bytes beside the output, in its line."""
    host.give_input()
    host.write(host.target, 0, 32, 32)
    host.launch()


def no_readback(host: Host) -> None:
    host.give_input()
    host.launch()
    host.target.read(SIZE, 0)


def no_readback_through_a_view(host: Host) -> None:
    host.give_input()
    view = np.frombuffer(host.target.map(), np.uint8)
    host.launch()
    assert view[0] == 1


def readback_through_a_map_after_the_run(host: Host) -> None:
    host.give_input()
    host.launch()
    assert np.frombuffer(host.target.map(), np.uint8)[0] == 1


def read_before_the_wait(host: Host) -> None:
    host.give_input()
    run = host.run()
    run.start()
    host.target.read(4, 0)
    run.wait()
    host.target.sync(FROM)


def read_of_the_input_before_the_wait(host: Host) -> None:
    """Both only read it: no race."""
    host.give_input()
    run = host.run()
    run.start()
    host.source.read(4, 0)
    run.wait()


def write_before_the_wait(host: Host) -> None:
    host.give_input()
    run = host.run()
    run.start()
    host.write(host.source, 2)
    run.wait()
    host.source.sync(TO)


def write_of_another_buffer_before_the_wait(host: Host) -> None:
    host.give_input()
    other = host.buffer("other")
    run = host.run()
    run.start()
    host.write(other, 2)
    other.sync(TO)
    run.wait()


def write_beside_unsynced_results(host: Host) -> None:
    host.give_input()
    host.launch()
    host.write(host.target, 9, 16, 200)


def write_beside_synced_results(host: Host) -> None:
    host.give_input()
    host.launch()
    host.target.sync(FROM)
    host.write(host.target, 9, 16, 200)
    host.target.sync(TO)


def write_over_whole_lines_of_unsynced_results(host: Host) -> None:
    host.give_input()
    host.launch()
    host.write(host.target, 9, 64, 64)
    host.target.sync(TO, 64, 64)


def half_of_the_input_synced(host: Host) -> None:
    host.write(host.source)
    host.source.sync(TO, 128, 0)
    host.launch()


def both_halves_of_the_input_synced(host: Host) -> None:
    host.write(host.source)
    host.source.sync(TO, 128, 0)
    host.source.sync(TO, 120, 128)  # rounded outwards to the line's end
    host.launch()


def half_of_the_output_read_back(host: Host) -> None:
    host.give_input()
    host.launch()
    host.target.sync(FROM, 128, 0)
    host.target.read(SIZE, 0)


def half_of_the_output_read_back_and_used(host: Host) -> None:
    host.give_input()
    host.launch()
    host.target.sync(FROM, 128, 0)
    host.target.read(128, 0)


def dirty_output_read_back(host: Host) -> None:
    output_cleared_and_not_synced(host)
    host.target.sync(FROM)


def synced_before_the_wait(host: Host) -> None:
    host.give_input()
    run = host.run()
    run.start()
    host.target.sync(FROM)
    run.wait()


def input_synced_from_the_device(host: Host) -> None:
    host.write(host.source)
    host.source.sync(FROM)
    host.launch()


def input_synced_both_ways(host: Host) -> None:
    host.write(host.source)
    host.source.sync(TO)
    host.source.sync(FROM)
    host.launch()


def output_synced_to_the_device(host: Host) -> None:
    host.give_input()
    host.launch()
    host.target.sync(TO)
    host.target.read(SIZE, 0)


def failed_run_read_back(host: Host) -> None:
    host.give_input()
    host.launch()
    host.target.sync(FROM)


def failed_run_left_alone(host: Host) -> None:
    host.give_input()
    if host.launch().state() == pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED:
        host.target.sync(FROM)


def windows_in_one_line(host: Host) -> None:
    both = host.buffer("both", 128)
    host.write(both, 1, 128)
    both.sync(TO)
    run = host.run(pyxrt.bo(both, 32, 0), pyxrt.bo(both, 32, 32))
    run.start()
    run.wait()


def windows_in_lines_of_their_own(host: Host) -> None:
    both = host.buffer("both", 128)
    host.write(both, 1, 128)
    both.sync(TO)
    run = host.run(pyxrt.bo(both, 32, 0), pyxrt.bo(both, 32, 64))
    run.start()
    run.wait()


def nobody_wrote_the_input(host: Host) -> None:
    host.launch()


def one_buffer_as_input_and_output(host: Host) -> None:
    host.give_input()
    run = host.run(host.source, host.source)
    run.start()
    run.wait()


def instructions_changed_in_flight(host: Host) -> None:
    host.give_input()
    run = host.run()
    run.start()
    host.instructions.write(fake_stream("copy", range(2)), 0)
    run.wait()


def two_runs_one_wait(host: Host) -> None:
    """Runs of one context end in order: waiting for the last is waiting for both."""
    host.give_input()
    third = host.buffer("third")
    first, second = host.run(), host.run(host.target, third)
    first.start()
    second.start()
    second.wait()
    for buffer in (host.target, third):
        buffer.sync(FROM)
        buffer.read(SIZE, 0)


Program = Callable[[Host], None]


def output_half_written(host: Host) -> None:
    """The kernel copies 32 bytes; its output is said to be 256."""
    host.give_input()
    host.target.declare_output(0, SIZE)
    host.launch()


def output_written_as_declared(host: Host) -> None:
    host.give_input()
    host.target.declare_output(0, 32)
    host.launch()
    host.launch()  # of which nothing is said


def window_synced_past_its_end(host: Host) -> None:
    window = pyxrt.bo(host.source, 64, 0)
    host.write(host.source)
    window.sync(TO, 128, 0)


def window_synced_to_its_end(host: Host) -> None:
    window = pyxrt.bo(host.source, 128, 0)
    host.write(host.source, size=128)
    window.sync(TO, 64, 64)
    window.sync(TO, 64, 0)


def input_synced_from_the_device_after_the_run(host: Host) -> None:
    host.give_input()
    host.launch()
    host.source.sync(FROM)


def input_synced_twice(host: Host) -> None:
    host.give_input()
    host.source.sync(TO)


def whole_buffer_synced_for_a_line(host: Host) -> None:
    large = host.buffer("large", 1 << 14)
    host.write(large, size=64)
    large.sync(TO)


def a_line_synced_for_a_line(host: Host) -> None:
    large = host.buffer("large", 1 << 14)
    host.write(large, size=64)
    large.sync(TO, 64, 0)


def view_outlives_its_buffer(host: Host) -> None:
    buffer = host.buffer("short-lived")
    view = np.frombuffer(buffer.map(), np.uint8)
    del buffer
    host.give_input()
    assert view.size == SIZE


def view_goes_before_its_buffer(host: Host) -> None:
    buffer = host.buffer("short-lived")
    view = np.frombuffer(buffer.map(), np.uint8)
    assert view.size == SIZE
    del view
    del buffer
    host.give_input()


def window_of_a_window(host: Host) -> None:
    pyxrt.bo(pyxrt.bo(host.source, 128, 64), 64, 64)


def two_windows_of_one_buffer(host: Host) -> None:
    pyxrt.bo(host.source, 128, 64)
    pyxrt.bo(host.source, 64, 128)


def run_dropped_after_the_wait(host: Host) -> None:
    host.give_input()
    run = host.run(target=host.buffer("short-lived"))
    run.start()
    run.wait()


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
    (windows_in_lines_of_their_own, "copy_half"),
    (two_runs_one_wait, "copy"),
    (output_written_as_declared, "copy_half"),
    (window_synced_to_its_end, "copy"),
    (a_line_synced_for_a_line, "copy"),
    (run_dropped_after_the_wait, "copy"),
    (view_goes_before_its_buffer, "copy"),
    (two_windows_of_one_buffer, "copy"),
]


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
    assert finding.ranges
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
        assert "test_sanitizer.py:" in finding.prior.site
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
        by_place = Sanitizer.attach(device, suppress=["S002@*test_sanitizer.py:*"])
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
