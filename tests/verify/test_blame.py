"""What the sanitizer found is the first explanation where the numbers agree with it, and no more than a
possible one where they do not."""

from __future__ import annotations

import numpy as np
import pytest

from aiepipe.verdict import AccessRecord, Confidence, Likelihood, Severity, SyncFinding
from aiepipe.verify.case import Share
from aiepipe.verify.diagnosis import diagnose

from .test_diagnosis import POISONED, RIGHT, TYPE, A, B, first, seed_case, with_lines

RESULT = "result0"


def finding(hazard: str, buffer: str, severity: Severity = Severity.ERROR) -> SyncFinding:
    at = AccessRecord("device write", "host.py:7")
    return SyncFinding(
        hazard,
        "NAME",
        severity,
        Confidence.DEFINITE,
        "it says",
        buffer,
        None,
        (),
        (),
        None,
        at,
        (),
        (),
        "sync",
    )


def test_old_lines_and_a_dirty_output_line_are_certain() -> None:
    case = seed_case(with_lines(3, hold=POISONED), buffer=RESULT, findings=[finding("S002", RESULT)])
    found = first(case)
    assert (found.rule, found.likelihood) == ("dirty-host-lines", Likelihood.CERTAIN)
    assert found.evidence[0] == "the sanitizer found S002 NAME on result0"


def test_a_hazard_on_another_buffer_does_not_back_it() -> None:
    case = seed_case(with_lines(3, hold=POISONED), buffer=RESULT, findings=[finding("S002", "other")])
    assert all("sanitizer" not in line for line in first(case).evidence)


def test_an_input_that_the_device_did_not_see_explains_any_number() -> None:
    noise = np.random.default_rng(5).integers(-9999, 9999, RIGHT.shape)
    found = first(seed_case(noise, buffer=RESULT, findings=[finding("S001", "arg0")]))
    assert (found.rule, found.likelihood) == ("sync-hazard", Likelihood.LIKELY)
    assert "fix: sync" in found.evidence


def test_a_mistake_of_the_compiler_stays_first_beside_a_hazard_that_the_numbers_do_not_show() -> None:
    without_the_fill = A @ B
    plain = first(seed_case(without_the_fill))
    beside = seed_case(without_the_fill, buffer=RESULT, findings=[finding("S002", RESULT)])
    assert first(beside).rule == plain.rule
    assert "sync-hazard" in [d.rule for d in diagnose(beside)]


def test_warnings_explain_nothing() -> None:
    warned = seed_case(A @ B, findings=[finding("S015", RESULT, Severity.WARNING)])
    assert diagnose(warned) == diagnose(seed_case(A @ B))


# ------------------------------------------------------------------ which way out of the array

HALVES = (
    Share("shim (0,0) S2MM 0", ((0, TYPE.size_bytes // 2),)),
    Share("shim (1,0) S2MM 0", ((TYPE.size_bytes // 2, TYPE.size_bytes // 2),)),
)


def test_wrong_elements_of_one_share_name_it() -> None:
    got = RIGHT.copy()
    got[32:] += np.random.default_rng(6).integers(1, 99, (32, 64))
    found = [d for d in diagnose(seed_case(got, shares=HALVES)) if d.rule == "one-share"]
    assert "shim (1,0) S2MM 0" in found[0].sentence
    assert found[0].evidence[0] == "2048 of that share's 2048 elements are wrong"
    assert found[0].likelihood is Likelihood.LIKELY


def test_wrong_elements_of_both_shares_name_none() -> None:
    got = RIGHT.copy()
    got[31:33] += 1
    assert all(d.rule != "one-share" for d in diagnose(seed_case(got, shares=HALVES)))


def test_the_only_share_says_nothing() -> None:
    assert all(d.rule != "one-share" for d in diagnose(seed_case(RIGHT + 1, shares=HALVES[:1])))


def test_a_cores_block_is_named() -> None:
    got = RIGHT.copy()
    got[16:32, 48:64] += np.random.default_rng(7).integers(1, 99, (16, 16))
    (found,) = [d for d in diagnose(seed_case(got)) if d.rule == "one-block"]
    assert "[16 to 31, 48 to 63] (16x16)" in found.sentence
    assert found.evidence == (
        "256 of the block's 256 elements are wrong",
        "the other 3840 elements are right",
    )


@pytest.mark.parametrize(
    "where",
    [
        (slice(15, 31), slice(48, 64)),  # not at a multiple of its size
        (slice(16, 32), slice(None)),  # whole rows: lines, a column of the array, or a batch
        (slice(None, None, 2), slice(None, None, 2)),  # everywhere
        (slice(3, 4), slice(5, 6)),  # one element
    ],
)
def test_other_shapes_are_no_block(where: tuple[slice, slice]) -> None:
    got = RIGHT.copy()
    got[where] += 1
    assert all(d.rule != "one-block" for d in diagnose(seed_case(got)))
