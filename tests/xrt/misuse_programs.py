"""Host programs with one call that is wrong whatever the bytes are, and the same done right."""

from __future__ import annotations

import numpy as np
import pytest

from aiepipe.xrt import emulated as pyxrt

from .hazard_host import FROM, SIZE, Host


def one_buffer_too_many(host: Host) -> None:
    with pytest.raises(IndexError):
        host.run().set_arg(8, host.source)


def buffer_for_a_scalar(host: Host) -> None:
    with pytest.raises(IndexError):
        host.run().set_arg(0, host.source)


def group_of_a_scalar(host: Host) -> None:
    host.kernel.group_id(0)


def groups_of_buffers(host: Host) -> None:
    for index in (1, 3, 4):
        host.kernel.group_id(index)


def buffer_of_another_bank(host: Host) -> None:
    other_bank = host.kernel.group_id(3) ^ 1
    elsewhere = pyxrt.bo(host.kernel.context.get_device(), SIZE, pyxrt.bo.host_only, other_bank)
    with pytest.raises(RuntimeError):
        host.run().set_arg(3, elsewhere)


def no_instruction_count(host: Host) -> None:
    host.give_input()
    run = host.run()
    run.set_arg(2, 0)
    run.start()
    run.wait()


def every_second_column_written(host: Host) -> None:
    with pytest.raises(ValueError, match="strides"):
        host.source.write(np.zeros((16, 16), np.uint8)[:, ::2], 0)


def every_second_column_copied_and_written(host: Host) -> None:
    host.source.write(np.ascontiguousarray(np.zeros((16, 16), np.uint8)[:, ::2]), 0)


def float_as_an_argument(host: Host) -> None:
    with pytest.raises(TypeError):
        host.run().set_arg(0, 3.0)


def argument_forgotten(host: Host) -> None:
    run = pyxrt.run(host.kernel)
    for index, value in enumerate((3, host.instructions, 10, host.source)):
        run.set_arg(index, value)
    with pytest.raises(RuntimeError, match="never set"):
        run.start()


def run_dropped_in_flight(host: Host) -> None:
    host.give_input()
    run = host.run()
    run.start()
    del run


def launched_and_read_back(host: Host) -> None:
    host.give_input()
    host.launch()
    host.target.sync(FROM)
    host.target.read(SIZE, 0)


def launched_and_not_looked_at(host: Host) -> None:
    host.give_input()
    host.launch()


def run_started_twice(host: Host) -> None:
    host.give_input()
    run = host.run()
    run.start()
    with pytest.raises(RuntimeError, match="bad command state"):
        run.start()
    run.wait()


def run_started_again_after_its_wait(host: Host) -> None:
    host.give_input()
    run = host.run()
    for _ in range(2):
        run.start()
        run.wait()
        host.target.sync(FROM)
