"""What a run did inside the array that hardware would not tell, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from ..verdict import ArrayFinding


def array_lines(findings: Sequence[ArrayFinding]) -> Iterator[Text]:
    """A line for each finding."""
    for finding in findings:
        line = Text(finding.kind, style="yellow")
        times = f" ({finding.count:,} times)" if finding.count > 1 else ""
        line.append(f" {finding.message}{times}", style="default")
        yield line
