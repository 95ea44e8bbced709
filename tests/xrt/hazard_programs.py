"""Host programs over the emulated pyxrt, as people write them: with one hazard, or with none."""

from __future__ import annotations

import numpy as np

from aiepipe.xrt import emulated as pyxrt

from .fake_silicon import fake_stream
from .hazard_host import FROM, SIZE, TO, Host


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
    first.wait()  # or XRT would take it for dropped in flight


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
