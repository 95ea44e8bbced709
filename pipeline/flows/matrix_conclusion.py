"""The one sentence at the end of a sync matrix: which sync is missing, and why that makes runs wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..experiment import INPUTS, OUTPUTS, MatrixCell
from ..report.text import percent
from ..verdict import Severity

_WRITTEN = ("poisoned", "zeroed")


@dataclass(frozen=True, slots=True)
class _Cause:
    """A sync that a cell may leave out. `without` and `with_` choose cells that differ in it alone;
    `blame` are the hazards of its absence, `because` says what happens then."""

    sync: str
    without: Callable[[MatrixCell], bool]
    with_: Callable[[MatrixCell], bool]
    blame: tuple[str, ...]
    because: str


_CAUSES = (
    _Cause(
        "the sync of {buffers} to the device between the host's write and the start of the run",
        lambda c: c.group == OUTPUTS and c.output in _WRITTEN and not c.outputs_to and c.outputs_from,
        lambda c: c.group == OUTPUTS and c.output in _WRITTEN and c.outputs_to and c.outputs_from,
        ("S002",),
        "dirty lines of the host's cache are written back over what the device wrote",
    ),
    _Cause(
        "the sync of {buffers} from the device after the run",
        lambda c: c.group == OUTPUTS and c.output in _WRITTEN and c.outputs_to and not c.outputs_from,
        lambda c: c.group == OUTPUTS and c.output in _WRITTEN and c.outputs_to and c.outputs_from,
        ("S003",),
        "the host reads old lines of its own cache",
    ),
    _Cause(
        "the sync of {buffers} to the device before the run",
        lambda c: c.group == INPUTS,
        lambda c: c.group == OUTPUTS and c.output == "poisoned" and c.outputs_to and c.outputs_from,
        ("S001",),
        "the device reads what memory held before the host wrote",
    ),
)


def conclusion(cells: Sequence[MatrixCell], *, default_is_right: bool) -> str:
    """One sentence, for people."""
    if not default_is_right:
        return (
            "Every sync is there and runs are wrong all the same: no missing sync explains that; "
            "look at the program with aiepipe build-run."
        )
    clauses = [clause for cause in _CAUSES if (clause := _clause(cause, cells))]
    if clauses:
        return f"Runs are wrong without {'; and without '.join(clauses)}."
    return _nothing_wrong(cells)


def _clause(cause: _Cause, cells: Sequence[MatrixCell]) -> str | None:
    """What the cells say of one cause; None where it made no run wrong, or its presence mends nothing."""
    counts: list[str] = []
    blamed: list[MatrixCell] = []
    for coherency in dict.fromkeys(cell.coherency for cell in cells):
        here = [cell for cell in cells if cell.coherency == coherency]
        without = [cell for cell in here if cause.without(cell)]
        wrong, runs = _wrong(without)
        wrong_with, runs_with = _wrong(cell for cell in here if cause.with_(cell))
        if wrong and not wrong_with:
            counts.append(
                f"on {coherency} {wrong} of {runs} ({percent(wrong / runs)}{_model(without)}) "
                f"and none of {runs_with} with it"
            )
            blamed += without
    if not counts:
        return None
    named = ", ".join(h for h in cause.blame if any(h in cell.hazards for cell in blamed))
    sync = cause.sync.format(buffers=_buffers(blamed, cause.blame))
    return f"{sync} ({', '.join(counts)}), because {cause.because}{named and f' ({named})'}"


def _model(cells: Sequence[MatrixCell]) -> str:
    """The mean of the rates that the model gives, where it gives them."""
    known = [cell.predicted for cell in cells if cell.predicted is not None]
    return f"; the model says {percent(sum(known) / len(known))}" if len(known) == len(cells) else ""


def _wrong(cells: Iterable[MatrixCell]) -> tuple[int, int]:
    counted = [(cell.wrong_runs, cell.runs) for cell in cells]
    return sum(wrong for wrong, _ in counted), sum(runs for _, runs in counted)


def _buffers(cells: Iterable[MatrixCell], hazards: Sequence[str]) -> str:
    """The buffers that the findings of these kinds are about, in order."""
    names = dict.fromkeys(f.buffer for cell in cells for f in cell.findings if f.hazard in hazards)
    return " and ".join(names) or "the buffers"


def _nothing_wrong(cells: Sequence[MatrixCell]) -> str:
    errors = {f.hazard for cell in cells for f in cell.findings if f.severity is Severity.ERROR}
    runs = sum(cell.runs for cell in cells)
    if not errors:
        return f"No sync is missing in any cell: {runs} runs, none wrong, no hazard found."
    return (
        f"None of {runs} runs was wrong, which is luck where a sync is missing: the sanitizer finds "
        f"{', '.join(sorted(errors))} in the cells that leave one out, and more runs would show it."
    )
