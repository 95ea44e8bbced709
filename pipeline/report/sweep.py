"""A sweep's results: the table on the terminal, JSON lines and Parquet for other programs."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
from collections.abc import Iterator
from typing import Any, TextIO

from rich.text import Text

from ..errors import UsageError
from ..testing.sweep import MatmulShape, Sweep, SweepPoint, SweepRow, SweepVerdict
from .lines import Cell, aligned, indented, print_lines, titled
from .text import count, duration

SCHEMA = "aiepipe.sweep/1"
_STYLES = {
    SweepVerdict.RIGHT: "green",
    SweepVerdict.WRONG: "bold red",
    SweepVerdict.ERROR: "bold red",
    SweepVerdict.CRASH: "bold red",
}
_MOST_SHOWN = 20


def print_sweep(sweep: Sweep, file: TextIO, *, verbose: bool = False) -> None:
    """Prints what is not right, one group per reason, and how many of each there are."""
    print_lines(_sweep_lines(sweep, verbose=verbose), file)


def row_record(point: SweepPoint, row: SweepRow | None) -> dict[str, Any]:
    """A row as flat plain data: what was asked, then what came; verdict None where it did not run."""
    program = point.program
    matmul = program if isinstance(program, MatmulShape) else None
    came = SweepRow(SweepVerdict.RIGHT) if row is None else row
    return {
        "schema": SCHEMA,
        "program": str(program),
        "m": None if matmul is None else matmul.m,
        "n": None if matmul is None else matmul.n,
        "k": None if matmul is None else matmul.k,
        "type": None if matmul is None else matmul.element,
        "accumulator": None if matmul is None else matmul.accumulator,
        "fill": None if matmul is None else matmul.fill,
        "transpose": None if matmul is None else matmul.transpose,
        "backend": point.backend,
        "flags": " ".join(point.flags),
        "sync_policy": point.policy,
        "repeat": point.repeat,
        "seed": point.seed,
        "verdict": None if row is None else row.verdict.value,
        **{
            f.name: list(came.hazards) if f.name == "hazards" else getattr(came, f.name)
            for f in dataclasses.fields(came)
            if f.name not in ("verdict", "report")  # a row is flat; the HTML page has the rest
        },
    }


def sweep_jsonl(sweep: Sweep) -> str:
    """A line per point, in the order of the grid."""
    return "".join(
        json.dumps(row_record(point, row), ensure_ascii=False, allow_nan=False) + "\n"
        for point, row in zip(sweep.points, sweep.rows, strict=True)
    )


def sweep_parquet(sweep: Sweep) -> bytes:
    """The same as a Parquet table. Raises UsageError where pyarrow is not installed."""
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as fault:
        raise UsageError("Parquet needs pyarrow", remedy="pip install 'aiepipe[parquet]'") from fault
    records = [row_record(point, row) for point, row in zip(sweep.points, sweep.rows, strict=True)]
    out = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(records), out)
    return out.getvalue()


def sweep_json(sweep: Sweep) -> str:
    """The whole sweep as one document."""
    document = {
        "schema": SCHEMA,
        "summary": {
            "total": len(sweep.points),
            **{v.value: sum(_is(row, v) for row in sweep.rows) for v in SweepVerdict},
            "not_run": sum(row is None for row in sweep.rows),
            "cached": sweep.cached,
            "left_out": sweep.left_out,
            "seconds": round(sweep.seconds, 3),
            "workers": sweep.workers,
        },
        "rows": [row_record(p, r) for p, r in zip(sweep.points, sweep.rows, strict=True)],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _sweep_lines(sweep: Sweep, *, verbose: bool) -> Iterator[Text]:
    groups: dict[tuple[str, ...], list[tuple[SweepPoint, SweepRow]]] = {}
    for point, row in zip(sweep.points, sweep.rows, strict=True):
        if row is not None and row.verdict is not SweepVerdict.RIGHT:
            groups.setdefault(row.signature, []).append((point, row))
    for members in groups.values():
        yield from _group(members, verbose=verbose)
    if verbose:
        yield from titled("points", _table(sweep))
    yield _summary(sweep)


def _group(members: list[tuple[SweepPoint, SweepRow]], *, verbose: bool) -> Iterator[Text]:
    """Failures of one kind: the points, what the first says, and how to do it again."""
    first = members[0][1]
    head = Text(first.verdict.value, style=_STYLES[first.verdict])
    kind = f" {first.kind}" if first.kind else ""
    stage = f" in {first.stage}" if first.stage else ""
    yield head.append(f"{kind}{stage}, {count(len(members), 'point')}", style="default")
    shown = members if verbose else members[:_MOST_SHOWN]
    yield from indented(Text(str(point)) for point, _ in shown)
    if len(shown) < len(members):
        yield Text(f"  ... and {len(members) - len(shown)} more (-v)", style="dim")
    yield Text(f"  the first: {first.message}" + (f" ({first.place})" if first.place else ""))
    yield Text(f"  again: {first.again}")


def _table(sweep: Sweep) -> Iterator[Text]:
    rows: list[list[Cell]] = []
    for point, row in zip(sweep.points, sweep.rows, strict=True):
        if row is None:
            rows.append([Text("not run", style="dim"), str(point), "", ""])
        else:
            verdict = Text(row.verdict.value, style=_STYLES[row.verdict])
            cycles = "" if row.cycles is None else f"{row.cycles:,} cycles"
            rows.append([verdict, str(point), duration(row.seconds), cycles])
    return aligned(rows, right=[2, 3])


def _summary(sweep: Sweep) -> Text:
    line = Text()
    for verdict in SweepVerdict:
        number = sum(_is(row, verdict) for row in sweep.rows)
        if number:
            line.append(f"{number:,} {verdict.value}, ", style=_STYLES[verdict])
    not_run = sum(row is None for row in sweep.rows)
    if not_run:
        line.append(f"{not_run:,} not run (budget), ", style="yellow")
    if sweep.left_out:
        line.append(f"{sweep.left_out:,} of the grid left out (budget), ", style="yellow")
    if sweep.cached:
        line.append(f"{sweep.cached:,} known before, ", style="dim")
    return line.append(f"{duration(sweep.seconds)}, {sweep.workers}", style="default")


def _is(row: SweepRow | None, verdict: SweepVerdict) -> bool:
    return row is not None and row.verdict is verdict
