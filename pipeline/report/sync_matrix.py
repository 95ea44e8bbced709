"""A sync matrix for people (a table for each kind of host cache) and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.text import Text

from ..experiment import POLICIES, MatrixCell, SyncMatrix
from ..verdict import Severity
from .json_report import plain
from .lines import Cell, indented, print_lines, table, titled
from .text import duration, percent

SCHEMA = "aiepipe.sync-matrix/1"

_HEAD = (
    "outputs",
    "to device",
    "from device",
    "inputs",
    "wrong",
    "rate",
    "95 % interval",
    "model",
    "hazards",
)
_RIGHT = (4, 5, 7)


def print_matrix(matrix: SyncMatrix, file: TextIO) -> None:
    """Prints the tables, then the sentence."""
    print_lines(_lines(matrix), file)


def matrix_json(matrix: SyncMatrix) -> str:
    """The matrix as one document, with a final newline. Cells have their rate, hazards and title, too."""
    members = plain(matrix)
    assert isinstance(members, dict)
    cells = [
        {"title": cell.title, "rate": cell.rate, "hazards": list(cell.hazards), **_members(cell)}
        for cell in matrix.cells
    ]
    document = {"schema": SCHEMA, **members, "cells": cells}
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _members(cell: MatrixCell) -> dict[str, object]:
    members = plain(cell)
    assert isinstance(members, dict)
    return dict(members)


def _lines(matrix: SyncMatrix) -> Iterator[Text]:
    yield Text.assemble((f"aiepipe sync-matrix  {matrix.file}  @{matrix.function}", "bold"))
    for coherency in matrix.coherencies:
        cells = [cell for cell in matrix.cells if cell.coherency == coherency]
        yield from titled(f"host cache {coherency}", _section(cells, matrix.runs))
    yield from titled("inputs", (Text(f"{i.name}  {i.type}  {i.origin}") for i in matrix.inputs))
    if matrix.evict is not None:
        yield Text(
            f"model: before a run each dirty line leaves the cache with probability {matrix.evict:g}; "
            f"{_formula(matrix)}"
        )
    shown = ", ".join(f"{name} {value}" for name, value in matrix.seeds.items())
    yield Text(f"seeds: {shown}")
    yield Text(f"again: {matrix.repeat_with}")
    total = sum(cell.runs for cell in matrix.cells)
    yield Text(
        f"{len(matrix.cells)} cells of {matrix.runs} runs, {total:,} in {duration(matrix.seconds)} on the "
        f"{matrix.device.kind} {matrix.device.name}",
        style="dim",
    )
    yield Text(matrix.conclusion, style="bold" if matrix.default_is_right else "bold red")


def _formula(matrix: SyncMatrix) -> str:
    """1 - evict^lines with the numbers of the cell that it was made for."""
    for cell in matrix.cells:
        lines = sum(n for f in cell.findings if f.hazard == "S002" for _, n in f.lines)
        if lines and cell.predicted:
            return (
                f"a run is wrong where one stays: 1 - evict^lines = 1 - {matrix.evict:g}^{lines} = "
                f"{percent(cell.predicted)} for the {lines:,} lines of the outputs"
            )
    return "a run is wrong where one stays: 1 - evict^lines"


def _section(cells: Sequence[MatrixCell], runs: int) -> Iterator[Text]:
    if not any(cell.wrong_runs or _shown(cell) for cell in cells):
        yield Text(f"none of {len(cells)} cells of {runs} runs was wrong or has a hazard")
        return
    yield from table(_HEAD, (_row(cell) for cell in cells if cell.group != POLICIES), right=_RIGHT)
    policies = [cell for cell in cells if cell.group == POLICIES]
    if policies:
        yield Text("named policies that are none of the above", style="dim")
        yield from indented(table(("policy", *_HEAD[4:]), map(_policy_row, policies), right=(1, 2, 4)))
    for cell in cells:
        if cell.failure is not None:
            yield Text(f"{cell.title}: run {cell.runs} failed: {cell.failure}", style="yellow")


def _row(cell: MatrixCell) -> tuple[Cell, ...]:
    return (
        cell.output,
        _sync(cell.outputs_to),
        _sync(cell.outputs_from),
        _sync(cell.inputs_to),
        *_counts(cell),
        f"= {cell.policy}" if cell.policy is not None else "",
    )


def _policy_row(cell: MatrixCell) -> tuple[Cell, ...]:
    return (str(cell.policy), *_counts(cell))


def _sync(there: bool) -> Cell:
    return "sync" if there else Text("no sync", style="yellow")


def _counts(cell: MatrixCell) -> tuple[Cell, ...]:
    style = "bold red" if cell.wrong_runs else "green"
    return (
        Text(f"{cell.wrong_runs} of {cell.runs}", style=style),
        percent(cell.rate),
        f"{percent(cell.low)} to {percent(cell.high)}",
        "" if cell.predicted is None else percent(cell.predicted),
        " ".join(_shown(cell)) or "none",
    )


def _shown(cell: MatrixCell) -> list[str]:
    """Hazards that can give wrong numbers somewhere; those of speed alone are for the JSON."""
    speed = {f.hazard for f in cell.findings if f.severity is Severity.PERFORMANCE}
    return [hazard for hazard in cell.hazards if hazard not in speed]
