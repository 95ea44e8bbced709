"""What a run did inside the array: findings, and where cycles went, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from ..verdict import ArrayFinding, TileCycles
from .lines import aligned


def array_lines(findings: Sequence[ArrayFinding]) -> Iterator[Text]:
    """A line for each finding."""
    for finding in findings:
        line = Text(finding.kind, style="yellow")
        times = f" ({finding.count:,} times)" if finding.count > 1 else ""
        line.append(f" {finding.message}{times}", style="default")
        yield line


def cycle_lines(tiles: Sequence[TileCycles]) -> Iterator[Text]:
    """A line for each core and each DMA channel that did something."""
    rows: list[tuple[str, str, str]] = []
    for tile in tiles:
        waits = _waits(lock=tile.lock_wait, stream=tile.stream_wait, cascade=tile.cascade_wait)
        if tile.bundles or waits:
            spent = f"{tile.bundles:,} bundles, {tile.bank_conflicts:,} bank conflicts"
            rows.append((tile.tile, spent, waits))
        for channel in tile.channels:
            spent = f"{channel.words:,} words, {channel.bytes_per_cycle:.2f} bytes a cycle"
            waits = _waits(lock=channel.lock_wait, stream=channel.stream_wait)
            rows.append((f"{tile.tile} {channel.name}", spent, waits))
    yield from aligned(rows)


def _waits(**cycles: int) -> str:
    waited = [f"{number:,} for {what}" for what, number in cycles.items() if number]
    return f"waits {', '.join(waited)}" if waited else ""
