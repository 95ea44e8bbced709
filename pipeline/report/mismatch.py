"""How a comparison looks: one line when all is right; what, where and why when not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from rich.text import Text

from ..verdict import Agreement, Comparison, Diagnosis, Likelihood, Mismatch, RunStatistics
from .lines import indented
from .text import count, index, listed, percent

_HELD = {"poison": "the poison that the host wrote before the run", "old value": "an old value"}
_ROWS_DRAWN = 2


def comparison_lines(comparison: Comparison) -> Iterator[Text]:
    """One result."""
    mismatch = comparison.mismatch
    line = Text(f"{comparison.name}  ")
    if mismatch is None:
        line.append("equal", style="green")
        line.append(f"  {comparison.type}, {comparison.preview}; {how(comparison)}")
        yield line
        return
    line.append(f"{mismatch.count:,} of {count(mismatch.total, 'element')} wrong", style="bold red")
    line.append(f" ({percent(mismatch.count / mismatch.total)})  {comparison.type}; {how(comparison)}")
    yield line
    yield from indented(_facts(mismatch))


def how(comparison: Comparison) -> str:
    """Against what, and how strictly."""
    tolerance = comparison.tolerance
    if tolerance.exact:
        return f"exactly against {comparison.against}"
    parts: list[str] = []
    if tolerance.relative:
        parts.append(f"{tolerance.relative:.3g} relative")
    if tolerance.absolute:
        parts.append(f"{tolerance.absolute:.3g} absolute")
    return f"within {' + '.join(parts)} of {comparison.against} ({tolerance.origin})"


def _facts(mismatch: Mismatch) -> Iterator[Text]:
    for group in mismatch.groups:
        verb = "holds" if group.count == 1 else "hold"
        held = "something else" if group.holds == "other" else _HELD.get(group.holds, group.holds)
        line = Text(f"{group.count:,} {verb} {held}", style="red")
        place = f" at {index(group.example_index)}" if group.example_index else ""
        line.append(
            f", for example{place} {group.example_got} instead of {group.example_want}", style="default"
        )
        yield line
    if mismatch.first:
        yield Text(
            f"first at {index(mismatch.first)}, last at {index(mismatch.last)}, "
            f"all within {index(mismatch.box_low)} to {index(mismatch.box_high)}"
        )
    lines, whole = mismatch.touched_lines, mismatch.whole_lines
    complete = "all" if whole == lines else "none" if whole == 0 else f"{whole:,} of them"
    which = f"in {count(lines, '64-byte line')} of the buffer, {complete} wrong as a whole: lines"
    if lines == 1:
        which = f"in one 64-byte line of the buffer, {'' if whole else 'not '}wrong as a whole: line"
    yield Text(f"{which} {listed(mismatch.line_numbers)}")
    if mismatch.batches:
        shown = ", ".join(f"{index(at)} {n:,}" for at, n in mismatch.batches[:4])
        more = f", ... ({len(mismatch.batches) - 4} more)" if len(mismatch.batches) > 4 else ""
        yield Text(f"by batch: {shown}{more}; the map shows the first of them")
    # what poison differs by says nothing
    if mismatch.largest_error is not None and any(group.holds == "other" for group in mismatch.groups):
        yield Text(f"largest error {mismatch.largest_error:.6g}")
    if mismatch.total > 1:
        yield Text("map: . right   + some wrong   # all wrong", style="dim")
        yield from _drawing(mismatch.map)


def _drawing(rows: Sequence[str]) -> Iterator[Text]:
    """The map; many rows that are right, or wrong, as a whole become one line."""
    for row, group in itertools.groupby(rows, set):
        lines = list(group)
        if len(lines) > _ROWS_DRAWN and row in ({"."}, {"#"}):
            how_all = "right" if row == {"."} else "wrong in all elements"
            style = "dim" if row == {"."} else "bold red"
            yield Text(f"  ({len(lines)} rows of blocks are {how_all})", style=style)
        else:
            yield from map(_drawn, lines)


def _drawn(line: str) -> Text:
    drawn = Text("  ")
    for cell, run in itertools.groupby(line):
        drawn.append("".join(run), style="dim" if cell == "." else "bold red")
    return drawn


def diagnosis_lines(diagnoses: Sequence[Diagnosis]) -> Iterator[Text]:
    """Explanations, the likeliest first, each with its evidence."""
    for diagnosis in diagnoses:
        sure = diagnosis.likelihood is not Likelihood.POSSIBLE
        line = Text(f"{diagnosis.likelihood.value}: ", style="bold" if sure else "dim")
        line.append(f"{diagnosis.result}: {diagnosis.sentence}", style="default")
        yield line
        yield from (Text(f"  - {fact}") for fact in diagnosis.evidence)


def statistics_lines(statistics: RunStatistics) -> Iterator[Text]:
    """What repeats say."""
    line = Text(
        f"{statistics.wrong_runs:,} of {count(statistics.runs, 'run')} wrong",
        style="bold red" if statistics.wrong_runs else "green",
    )
    line.append(
        f", {percent(statistics.rate)} ({statistics.confidence * 100:.0f} % interval "
        f"{percent(statistics.rate_low)} to {percent(statistics.rate_high)})",
        style="default",
    )
    yield line
    if statistics.wrong_runs:
        different = count(statistics.wrong_lines, "different one")
        often = [entry for entry in statistics.lines[:6] if entry.wrong_runs > 1]
        most = ", ".join(f"{entry.line} ({entry.wrong_runs}x)" for entry in often)
        yield Text(
            f"first in run {statistics.first_wrong_run}; {statistics.lines_per_wrong_run:.2g} wrong 64-byte "
            f"lines per wrong run, {different} in all; {f'most often {most}' if often else 'none twice'}"
        )


def verdict_style(agreement: Agreement) -> str:
    """Colour of PASS and FAIL."""
    return "bold green" if agreement is Agreement.PASS else "bold red"
