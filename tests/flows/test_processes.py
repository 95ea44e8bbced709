"""Jobs on several processes: all are done, a death is its job's own."""

from __future__ import annotations

import os
import time

import pytest

from aiepipe.flows.processes import Died, run_jobs


def work(job: int) -> int:
    """Dies for 2, hangs for 3, fails for 4."""
    if job == 2:
        os._exit(9)
    if job == 3:
        time.sleep(600)
    if job == 4:
        raise ValueError("four")
    return job * job


def test_a_process_that_dies_or_hangs_costs_its_own_job_only() -> None:
    results = dict(run_jobs(work, [0, 1, 2, 3, 5, 6], 2, limit_s=2.0))
    assert results == {0: 0, 1: 1, 2: Died("its process died"), 3: Died("it took over 2 s"), 4: 25, 5: 36}


def test_what_the_work_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="four"):
        dict(run_jobs(work, [4, 1], 1))


def test_nothing_to_do_is_done_at_once() -> None:
    assert dict(run_jobs(work, [], 4)) == {}


def test_when_it_is_enough_no_more_are_begun() -> None:
    done: list[int] = []
    results = run_jobs(work, [0, 1, 5, 6, 7, 8], 1, enough=lambda: len(done) >= 2)
    for index, _ in results:
        done.append(index)
    # the one that was under way is finished
    assert done == [0, 1, 2]
