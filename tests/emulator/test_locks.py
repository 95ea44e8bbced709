"""Lock counters: facts/emulation.md and aie-rt."""

from __future__ import annotations

import pytest

from aiepipe.emulator.locks import LockBank, signed_request, wanted


def bank(value: int) -> tuple[LockBank, list[str]]:
    warnings: list[str] = []
    made = LockBank("core (0,2)", 16, warnings.append)
    made.set(3, value)
    return made, warnings


@pytest.mark.parametrize(
    ("held", "request_", "left"),
    [
        (2, -1, 1),
        (2, -2, 0),
        (2, -3, None),
        (0, -1, None),
        (2, 2, 2),
        (2, 1, None),
        (0, 0, 0),
        (63, -63, 0),
        (63, 63, 63),
    ],
)
def test_negative_takes_at_least_and_positive_sees_exactly(
    held: int, request_: int, left: int | None
) -> None:
    made, _ = bank(held)
    granted = made.acquire(3, request_)
    assert (granted is None) == (left is None)
    assert made.values[3] == (held if left is None else left)


def test_a_request_has_seven_bits() -> None:
    assert signed_request(0x7F) == -1
    assert signed_request(0xFFFFFFFF) == -1
    assert signed_request(63) == 63
    assert signed_request(64) == -64
    assert wanted(-1) == ">= 1"
    assert wanted(2) == "== 2"


def test_release_adds_and_stays_within_six_bits() -> None:
    made, warnings = bank(60)
    made.release(3, 3, who="x")
    assert made.values[3] == 63
    assert warnings == []
    made.release(3, 1, who="x")
    made.set(4, 1)
    made.release(4, -2, who="y")
    assert made.values[3:5] == [63, 0]
    assert (made.overflow, made.underflow) == (1 << 3, 1 << 4)
    assert warnings == [
        "x released lock 3 of core (0,2) past 63",
        "y released lock 4 of core (0,2) below 0",
    ]


def test_an_acquire_knows_since_when_it_could_have_been_granted() -> None:
    made, _ = bank(1)
    made.release(3, 1, who="x", time=10)
    made.release(3, 1, who="x", time=25)
    assert made.acquire(3, -1) == 0
    assert made.acquire(3, -1) == 10
    made.release(3, 1, who="x", time=40)
    assert made.acquire(3, -2) == 40
