"""An instruction stream for people: what it moves, and every operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from ..description import Stream, Transfer
from .configuration import Wanted, is_wanted, route_lines
from .lines import aligned, titled
from .steps import step_lines
from .text import count
from .transfers import descriptor_cells


def stream_lines(found: Stream, wanted: Wanted) -> Iterator[Text]:
    """The stream's head, transfers, routes if it sets any, operations."""
    if is_wanted(wanted, "header"):
        parts = [f"{found.form} as {found.encoding}", f"{found.size_bytes:,} bytes"]
        if found.device is not None:
            parts.append(f"for {found.device}")
        if found.columns is not None:
            size = f"{count(found.columns, 'column')} of {found.rows or 0} rows"
            parts.append(f"{size}, {found.memory_rows or 0} of memory tiles")
        parts.append(count(len(found.operations), "operation"))
        yield Text(", ".join(parts))
    if is_wanted(wanted, "transfers") and (found.transfers or wanted is not None):
        yield from titled("transfers", _transfers(found.transfers))
    if is_wanted(wanted, "routes") and (found.routes or wanted is not None):
        yield from titled("routes", route_lines(found.routes))
    if is_wanted(wanted, "operations"):
        yield from titled("operations", step_lines(found.operations, "operation"))
    yield from (Text(note, style="yellow") for note in found.notes)


def _transfers(transfers: Sequence[Transfer]) -> Iterator[Text]:
    if not transfers:
        yield Text("none")
    rows: list[list[str]] = []
    for transfer in transfers:
        task, bd = transfer.task, transfer.descriptor
        how = f"{task.count} times" if task.count > 1 else "once"
        what = descriptor_cells(bd)[1:] if bd is not None else ["as the configuration has it"]
        head = [f"#{transfer.step}", task.tile.name, task.channel, f"BD {task.bd}", how]
        rows.append([*head, "token" if task.token else "", *what])
    yield from aligned(rows)
