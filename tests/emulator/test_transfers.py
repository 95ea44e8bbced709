"""Which ranges of DDR a run touched."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aiepipe.emulator.transfers import Transfer, TransferLog


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 20)), max_size=60))
def test_ranges_are_joined_where_they_touch(ranges: list[tuple[int, int]]) -> None:
    log = TransferLog()
    for address, length in ranges[::2]:
        log.wrote(address, length)
    if ranges[1::2]:
        log.wrote_many(np.array([a for a, _ in ranges[1::2]]), np.array([n for _, n in ranges[1::2]]))
    covered = {byte for address, length in ranges for byte in range(address, address + length)}
    found = [(transfer.address, transfer.address + transfer.length) for transfer in log.transfers()]
    assert {byte for start, end in found for byte in range(start, end)} == covered
    assert all(end < start for (_, end), (start, _) in itertools.pairwise(found))
    assert log.written() == len(covered)


def test_reads_come_before_writes() -> None:
    log = TransferLog()
    log.wrote(0, 4)
    log.read(64, 4)
    assert log.transfers() == (Transfer("read", 64, 4), Transfer("write", 0, 4))
    log.clear()
    assert log.transfers() == ()
