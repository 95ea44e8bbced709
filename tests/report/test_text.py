"""Small pieces of text."""

from __future__ import annotations

import pytest

from aiepipe.report.text import byte_range, count, duration, index, listed, percent


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 ms"),
        (0.00064, "0.6 ms"),
        (0.0123, "12 ms"),
        (0.9991, "999 ms"),
        (0.9999, "1.00 s"),
        (59.99, "59.99 s"),
        (125.2, "2 min 5 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_counts() -> None:
    assert count(1, "line") == "1 line"
    assert count(1234, "line") == "1,234 lines"
    assert count(2, "dispatch", "dispatches") == "2 dispatches"


def test_percents() -> None:
    assert [percent(v) for v in (0.0, 0.0002, 0.0078125, 0.535, 1.0)] == [
        "0 %",
        "0.02 %",
        "0.78 %",
        "53.5 %",
        "100 %",
    ]


def test_places() -> None:
    assert index((17, 32)) == "[17, 32]"
    assert byte_range(128, 64) == "[128, 192)"
    assert byte_range(None, None) == "range unknown"
    assert byte_range(4, None) == "from 4"


def test_lists_join_ranges_and_are_cut() -> None:
    assert listed([3, 5, 8, 9, 10]) == "3, 5, 8 to 10"
    assert listed([]) == ""
    assert listed(range(0, 100, 2), most=2) == "0, 2, ... (48 more)"
