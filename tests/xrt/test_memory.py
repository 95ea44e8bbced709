"""The host cache before DDR: what a sync, an eviction and a device write each move."""

from __future__ import annotations

import os

import numpy as np
import pytest

from aiepipe.xrt.events import Direction
from aiepipe.xrt.memory import ABSENT, CLEAN, DIRTY, CachedMemory, Coherency, line_range

needs_pagemap = pytest.mark.skipif(
    not os.access("/proc/self/pagemap", os.R_OK), reason="/proc/self/pagemap cannot be read"
)
TO, FROM = Direction.TO_DEVICE, Direction.FROM_DEVICE


def memory(size: int = 256, coherency: Coherency = Coherency.X86_CLFLUSH) -> CachedMemory:
    return CachedMemory(size, coherency)


def filled(count: int, value: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.full(count, value, np.uint8)


@pytest.mark.parametrize(
    ("offset", "length", "lines"),
    [(10, 10, (0, 1)), (0, 64, (0, 1)), (60, 8, (0, 2)), (64, 0, (1, 2)), (0, 0, (0, 1)), (63, 1, (0, 1))],
)
def test_ranges_are_rounded_outwards_to_lines_and_nothing_is_one_line(
    offset: int, length: int, lines: tuple[int, int]
) -> None:
    # xdna-driver's do-while: last = (cur + len - 1) | 63, one line at least
    assert line_range(offset, length) == lines


def test_a_write_stays_in_the_cache_until_it_is_synced() -> None:
    buffer = memory()
    buffer.write(0, filled(64, 7))
    assert buffer.ddr[0] == 0
    buffer.sync(TO, 0, 64)
    assert buffer.ddr[:64].tolist() == [7] * 64
    assert buffer.line_state(0) == ABSENT


def test_partial_sync_leaves_the_rest_stale_on_the_device() -> None:
    buffer = memory()
    buffer.write(0, filled(256, 7))
    buffer.sync(TO, 0, 128)
    assert buffer.ddr[:128].tolist() == [7] * 128
    assert buffer.ddr[128:].tolist() == [0] * 128


def test_a_sync_of_ten_bytes_moves_their_whole_line() -> None:
    buffer = memory()
    buffer.write(0, filled(64, 7))
    buffer.sync(TO, 10, 10)
    assert buffer.ddr[:64].tolist() == [7] * 64


def test_on_x86_the_sync_from_device_itself_writes_dirty_lines_over_the_result() -> None:
    """CLFLUSH (xdna-driver buffer.cpp) knows no direction: the seed bug without any eviction."""
    buffer = memory()
    buffer.write(0, filled(256, 0xA5))
    buffer.ddr[:] = 1  # the device's result
    buffer.sync(FROM, 0, 256)
    assert buffer.host.tolist() == [0xA5] * 256
    assert buffer.ddr.tolist() == [0xA5] * 256


def test_where_from_invalidates_the_dirty_bytes_are_lost_instead() -> None:
    buffer = memory(coherency=Coherency.INVALIDATE_ON_FROM)
    buffer.write(0, filled(256, 0xA5))
    buffer.ddr[:] = 1
    buffer.sync(FROM, 0, 256)
    assert buffer.host.tolist() == [1] * 256


def test_where_from_invalidates_a_sync_to_keeps_clean_lines() -> None:
    buffer = memory(coherency=Coherency.INVALIDATE_ON_FROM)
    buffer.write(0, filled(64, 3))
    buffer.sync(TO, 0, 64)
    assert buffer.ddr[0] == 3
    assert buffer.line_state(0) == CLEAN


def test_a_coherent_device_needs_no_sync() -> None:
    buffer = memory(coherency=Coherency.COHERENT)
    buffer.write(0, filled(256, 7))
    assert buffer.ddr.tolist() == [7] * 256
    buffer.ddr[:] = 9
    buffer.refresh()
    assert buffer.read(0, 4).tolist() == [9] * 4
    assert buffer.dirty_lines == 0


def test_a_line_in_the_cache_hides_what_the_device_wrote() -> None:
    buffer = memory()
    buffer.read(0, 1)
    assert [buffer.line_state(0), buffer.line_state(1)] == [CLEAN, ABSENT]
    buffer.ddr[:] = 9
    buffer.refresh()
    assert buffer.read(0, 64).tolist() == [0] * 64  # stale
    assert buffer.read(64, 64).tolist() == [9] * 64
    buffer.sync(FROM, 0, 64)
    assert buffer.read(0, 64).tolist() == [9] * 64


def test_host_dirty_half_and_device_written_half_of_a_line_lose_the_device_half() -> None:
    """32 bytes are lost on FROM."""
    buffer = memory(64)
    buffer.write(0, filled(32, 5))
    buffer.ddr[32:] = 9
    buffer.sync(FROM, 0, 64)
    assert buffer.host.tolist() == [5] * 32 + [0] * 32


def test_eviction_writes_back_and_forgets_the_line() -> None:
    buffer = memory()
    buffer.write(0, filled(256, 7))
    assert buffer.evict(1.0, np.random.default_rng(0)) == 4
    assert buffer.ddr.tolist() == [7] * 256
    assert buffer.dirty_lines == 0
    assert buffer.evict(1.0, np.random.default_rng(0)) == 0


def test_the_default_chance_loses_a_line_in_about_half_of_the_runs() -> None:
    """docs/syncs.md: 256 unsynced lines, 1 - 0.997**256 = 0.537 of the runs (binomial sigma of 2000
    draws: 0.011)."""
    random = np.random.default_rng(1)
    kept: list[int] = []
    for _ in range(2000):
        buffer = memory(64 * 256)
        buffer.write(0, filled(64 * 256, 1))
        buffer.evict(0.997, random)
        kept.append(buffer.dirty_lines)
    hit = np.count_nonzero(kept) / 2000
    assert abs(hit - (1 - 0.997**256)) < 0.045
    assert max(kept) <= 6


def test_evictions_repeat_with_their_seed() -> None:
    def states(seed: int) -> list[int]:
        buffer = memory(64 * 64)
        buffer.write(0, filled(64 * 64, 1))
        buffer.evict(0.5, np.random.default_rng(seed))
        return [buffer.line_state(line) for line in range(64)]

    assert states(3) == states(3)
    assert states(3) != states(4)
    assert set(states(3)) == {ABSENT, DIRTY}


def test_a_prefetched_line_is_stale_after_the_run() -> None:
    buffer = memory()
    buffer.prefetch(1.0, np.random.default_rng(0))
    buffer.ddr[:] = 9
    buffer.refresh()
    assert buffer.host.tolist() == [0] * 256
    buffer.sync(FROM, 0, 256)
    assert buffer.host.tolist() == [9] * 256


class TestViews:
    """Stores through `map` are found by comparing at the next call."""

    def test_a_store_through_a_view_is_dirty_once_observed(self) -> None:
        buffer = memory()
        view = buffer.view(0, 256)
        view[70] = 1
        assert buffer.observe() == [(64, 8)]  # whole elements
        assert [buffer.line_state(line) for line in range(4)] == [ABSENT, DIRTY, ABSENT, ABSENT]
        assert not buffer.observe()

    def test_a_bulk_store_that_leaves_some_lines_as_they_were_dirties_all_between(self) -> None:
        buffer = memory()
        view = buffer.view(0, 256)
        view[:] = [1] + [0] * 254 + [1]
        assert buffer.observe() == [(0, 256)]
        assert buffer.dirty_lines == 4

    def test_what_the_device_wrote_is_no_store(self) -> None:
        buffer = memory()
        view = buffer.view(0, 256)
        buffer.ddr[:] = 9
        buffer.refresh()
        assert not buffer.observe()
        assert view[0] == 9

    def test_watching_ends_with_the_last_view_but_not_before_its_stores_are_seen(self) -> None:
        buffer = memory()
        view = buffer.view(0, 256)
        view[0] = 1
        del view
        assert buffer.observe() == [(0, 8)]
        assert not buffer.watched

    def test_an_array_made_from_the_view_keeps_the_watch(self) -> None:
        buffer = memory()
        array = np.frombuffer(buffer.view(0, 256).data, np.int32)
        assert not buffer.observe()
        assert buffer.watched
        array[3] = 5
        assert buffer.observe() == [(8, 8)]

    @needs_pagemap
    def test_zeros_stored_over_the_zeros_of_a_fresh_buffer_are_a_store(self) -> None:
        """A program that clears its output: the seed bug without any byte that differs."""
        buffer = memory(3 * 4096)
        view = buffer.view(0, 3 * 4096)
        assert view[5000] == 0  # a read is no store
        assert not buffer.observe()
        view[4096:8192] = 0
        assert buffer.observe() == [(4096, 4096)]
        assert [buffer.line_state(line) for line in (63, 64, 127, 128)] == [ABSENT, DIRTY, DIRTY, ABSENT]
        assert not buffer.observe()

    @needs_pagemap
    def test_clearing_a_buffer_that_is_smaller_than_a_page(self) -> None:
        buffer = memory(100)
        buffer.view(0, 100)[:] = 0
        assert buffer.observe() == [(0, 100)]

    def test_what_the_model_itself_stores_is_no_store_of_the_program(self) -> None:
        buffer = memory(2 * 4096)
        view = buffer.view(0, 2 * 4096)
        buffer.sync(FROM, 0, 2 * 4096)
        assert not buffer.observe()
        buffer.ddr[5000] = 1
        buffer.refresh()
        assert not buffer.observe()
        assert view[5000] == 1
