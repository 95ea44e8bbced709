"""The rates that the cache model predicts, against the cache model itself.

Closed forms: a line that is dirty when a run starts stays with chance 1 - evict, independently, so n lines
all leave with evict^n (docs/syncs.md).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from aiepipe.verdict import AccessRecord, Confidence, Severity, SyncFinding
from aiepipe.xrt.memory import CachedMemory, CacheModel, Coherency
from aiepipe.xrt.odds import wrong_rate

X86, INV = CacheModel(), CacheModel(Coherency.INVALIDATE_ON_FROM)


def finding(hazard: str, lines: int, *, buffer: str = "out", run: int = 1) -> SyncFinding:
    current = AccessRecord("device write", "host.py:1", run)
    return SyncFinding(
        hazard,
        hazard,
        Severity.ERROR,
        Confidence.DEFINITE,
        "",
        buffer,
        None,
        ((0, lines * 64),),
        ((0, lines),),
        None,
        current,
        (),
        (),
        "",
    )


def test_the_seed_program_is_wrong_in_54_percent() -> None:
    # 64x64xi32 is 256 lines; 1 - 0.997^256 = 0.5366
    assert wrong_rate(X86, [finding("S002", 256)], runs=1) == pytest.approx(1 - 0.997**256)


def test_lines_found_twice_count_once() -> None:
    found = [finding("S002", 8), finding("S002", 8), finding("S002", 4, buffer="other")]
    assert wrong_rate(X86, found, runs=1) == pytest.approx(1 - 0.997**12)


def test_nothing_found_is_never_wrong_and_a_coherent_device_neither() -> None:
    assert wrong_rate(X86, [], runs=9) == 0
    assert wrong_rate(CacheModel(Coherency.COHERENT), [finding("S002", 9)], runs=9) == 0


def test_a_sync_from_the_device_that_drops_dirty_lines_saves_the_output() -> None:
    assert wrong_rate(INV, [finding("S002", 256)], runs=1) == 0
    unread = [finding("S002", 256), finding("S003", 256)]
    assert wrong_rate(INV, unread, runs=1) == pytest.approx(1 - 0.997**256)


def test_clean_lines_that_nothing_drops_are_stale_always() -> None:
    assert wrong_rate(INV, [finding("S003", 4)], runs=5) == 1
    assert wrong_rate(INV, [finding("S003", 4)], runs=5, outputs_written=False) == 0
    assert wrong_rate(X86, [finding("S003", 4)], runs=5) == 0


def test_an_input_that_arrived_once_stays_right() -> None:
    # written again with the same bytes: run r is wrong where a line stayed r times, chance (1 - e)^r
    cache = dataclasses.replace(X86, evict=0.5)
    first, second = 1 - 0.5**3, 1 - 0.75**3
    rate = wrong_rate(cache, [finding("S001", 3)], runs=2)
    assert rate == pytest.approx((first + second) / 2)
    assert wrong_rate(cache, [finding("S001", 3, run=2)], runs=2) == 0, "the bytes of run 1 are the same"


def test_what_has_no_closed_form_has_no_number() -> None:
    assert wrong_rate(X86, [finding("S006", 3)], runs=2) is None
    assert wrong_rate(dataclasses.replace(X86, prefetch=0.1), [], runs=2) is None


def test_the_model_itself_agrees() -> None:
    """2,000 runs of 40 dirty lines at evict 0.98: 1 - 0.98^40 = 55.4 %, standard error 1.1 %."""
    random = np.random.default_rng(5)
    memory = CachedMemory(40 * 64, Coherency.X86_CLFLUSH)
    stayed = 0
    for _ in range(2000):
        memory.write(0, np.zeros(40 * 64, np.uint8))
        memory.evict(0.98, random)
        stayed += memory.dirty_lines > 0
    cache = dataclasses.replace(X86, evict=0.98)
    predicted = wrong_rate(cache, [finding("S002", 40)], runs=1)
    assert predicted is not None
    assert stayed / 2000 == pytest.approx(predicted, abs=0.04)
