"""Writes that one side loses or does not see, told by who wrote last and not by what stands there."""

from __future__ import annotations

import numpy as np
import pytest

from aiepipe.errors import UsageError
from aiepipe.xrt.events import Direction
from aiepipe.xrt.memory import CachedMemory, CacheModel, Coherency, Modifier, cache_model, parse_coherency
from aiepipe.xrt.write_ids import Loss, LostWrites

SAME = np.full(64, 7, np.uint8)


def memory(*modifiers: Modifier) -> CachedMemory:
    return CachedMemory(256, Coherency.X86_CLFLUSH, modifiers=frozenset(modifiers), write_ids=True)


def device_writes(it: CachedMemory, offset: int, data: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> None:
    it.ddr[offset : offset + data.size] = data
    assert it.ids is not None
    it.ids.device_wrote(offset, data.size)
    it.refresh()


def found(it: CachedMemory) -> dict[Loss, LostWrites]:
    assert it.ids is not None
    return {lost.loss: lost for lost in it.ids.found}


def test_a_write_back_of_equal_bytes_still_loses_the_devices_write() -> None:
    it = memory()
    it.write(64, SAME)
    device_writes(it, 64, SAME)
    it.sync(Direction.FROM_DEVICE, 64, 64)
    assert found(it)[Loss.LOST] == LostWrites(Loss.LOST, 1, 64, 64)


def test_a_sync_before_the_run_loses_nothing() -> None:
    it = memory()
    it.write(64, SAME)
    it.sync(Direction.TO_DEVICE, 64, 64)
    device_writes(it, 64, SAME)
    it.sync(Direction.FROM_DEVICE, 64, 64)
    it.read(64, 64)
    assert found(it) == {}


def test_a_line_that_is_dirty_by_its_neighbours_loses_the_whole_line() -> None:
    """The store fetched the line before the device wrote it; all 64 bytes go back."""
    it = memory()
    it.write(100, SAME[:1])
    device_writes(it, 64, SAME)
    it.sync(Direction.TO_DEVICE, 100, 1)
    assert found(it)[Loss.LOST] == LostWrites(Loss.LOST, 1, 64, 64)


def test_the_device_reads_what_the_host_has_written_since() -> None:
    it = memory()
    it.write(0, SAME)
    assert it.ids is not None
    it.ids.device_read(0, 128)
    assert found(it)[Loss.UNSEEN_BY_DEVICE] == LostWrites(Loss.UNSEEN_BY_DEVICE, 1, 64, 0)


def test_the_host_reads_a_line_that_its_cache_kept() -> None:
    it = memory()
    it.read(0, 64)  # the cache holds the line now, clean
    device_writes(it, 0, SAME * 0)  # zeros over zeros
    it.read(0, 64)
    assert found(it)[Loss.UNSEEN_BY_HOST] == LostWrites(Loss.UNSEEN_BY_HOST, 1, 64, 0)


class TestModifiers:
    def test_unfenced_leaves_the_last_line_stale_until_the_next_sync(self) -> None:
        """xdna-driver 49fbb59c: without a fence the read behind the sync may come from the cache."""
        it = memory(Modifier.UNFENCED)
        it.read(0, 256)
        device_writes(it, 0, np.full(256, 9, np.uint8))
        it.sync(Direction.FROM_DEVICE, 0, 256)
        assert it.read(0, 256).tolist() == [9] * 192 + [0] * 64
        it.sync(Direction.FROM_DEVICE, 0, 256)
        assert it.read(0, 256).tolist() == [9] * 256

    def test_unfenced_shows_nothing_where_the_line_was_not_cached(self) -> None:
        it = memory(Modifier.UNFENCED)
        device_writes(it, 0, np.full(256, 9, np.uint8))
        it.sync(Direction.FROM_DEVICE, 0, 256)
        assert it.read(0, 256).tolist() == [9] * 256

    def test_whole_bo_flushes_what_was_not_asked_for(self) -> None:
        """xdna-driver before 8680ba1f: partial syncs were hidden by flushes of the whole buffer."""
        ranged, whole = memory(), memory(Modifier.WHOLE_BUFFER)
        for it in (ranged, whole):
            it.write(0, np.full(256, 5, np.uint8))
            it.sync(Direction.TO_DEVICE, 0, 64)
        assert ranged.ddr.tolist() == [5] * 64 + [0] * 192
        assert whole.ddr.tolist() == [5] * 256


def test_a_policy_is_named_with_its_modifiers() -> None:
    both = frozenset({Modifier.UNFENCED, Modifier.WHOLE_BUFFER})
    assert parse_coherency("x86-clflush+unfenced+whole-bo") == (Coherency.X86_CLFLUSH, both)
    assert cache_model("inv-on-from").name == "inv-on-from"
    assert cache_model("x86-clflush+unfenced").prefetch > 0
    assert CacheModel(modifiers=both).name == "x86-clflush+unfenced+whole-bo"
    for wrong in ("", "x86", "x86-clflush+", "x86-clflush+fenced", "unfenced"):
        with pytest.raises(UsageError, match="coherency policy"):
            parse_coherency(wrong)
