"""Findings and cycles as people read them."""

from __future__ import annotations

from aiepipe.report.array_findings import array_lines, cycle_lines
from aiepipe.verdict import ArrayFinding, ChannelCycles, TileCycles


def test_a_finding_is_a_line_with_its_count() -> None:
    lines = array_lines(
        [
            ArrayFinding("race", "core (0,2)", "one thing", count=1200),
            ArrayFinding("lock-left", "core (0,2)", "another"),
        ]
    )
    assert [line.plain for line in lines] == ["race one thing (1,200 times)", "lock-left another"]


def test_cycles_of_cores_and_channels() -> None:
    tiles = [
        TileCycles("core (0,2)", 5000, 12, 300, 0, 0, (ChannelCycles("S2MM 0", 1024, 0, 24, 3.5),)),
        TileCycles("shim (0,0)", 0, 0, 0, 0, 0, (ChannelCycles("MM2S 0", 8, 0, 0, 4.0),)),
    ]
    assert [" ".join(line.plain.split()) for line in cycle_lines(tiles)] == [
        "core (0,2) 5,000 bundles, 12 bank conflicts waits 300 for lock",
        "core (0,2) S2MM 0 1,024 words, 3.50 bytes a cycle waits 24 for stream",
        "shim (0,0) MM2S 0 8 words, 4.00 bytes a cycle",
    ]
