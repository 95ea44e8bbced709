"""A configuration of the array for people: routes, BDs, locks, tasks, memories, and every command."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from rich.text import Text

from ..description import Configuration, LockValue, Route
from .lines import Cell, aligned, titled
from .steps import memory_text, step_lines
from .text import count, listed
from .transfers import descriptor_cells, task_text

Wanted = frozenset[str] | None
"""Sections that were asked for; None is all."""


def is_wanted(wanted: Wanted, section: str) -> bool:
    """Whether a section is to be shown."""
    return wanted is None or section in wanted


def configuration_lines(found: Configuration, wanted: Wanted) -> Iterator[Text]:
    """What the array looks like after it, then how it comes to that."""
    if wanted is None:
        cores = ", ".join(core.name for core in found.cores) or "none"
        number = sum(step.count for step in found.commands)
        yield Text(
            f"{count(number, 'command')}, {found.size_bytes:,} bytes; {count(found.columns, 'column')}; "
            f"cores that run: {cores}"
        )
    if is_wanted(wanted, "routes") and (found.routes or wanted is not None):
        yield from titled("routes", route_lines(found.routes))
    if is_wanted(wanted, "bds") and (found.bds or wanted is not None):
        rows = [[bd.tile.name, f"BD {bd.number}", *descriptor_cells(bd)] for bd in found.bds]
        yield from titled("buffer descriptors", _table(rows))
    if is_wanted(wanted, "locks") and (found.locks or wanted is not None):
        yield from titled("locks", _table([[*row] for row in _lock_rows(found.locks)]))
    if is_wanted(wanted, "tasks") and (found.tasks or wanted is not None):
        rows = [[task.tile.name, task_text(task)] for task in found.tasks]
        yield from titled("tasks", _table(rows))
    if is_wanted(wanted, "memory") and (found.memory or wanted is not None):
        rows = [
            ["no such tile" if w.tile is None else w.tile.name, memory_text(w), f"sha256 {w.sha256[:12]}"]
            for w in found.memory
        ]
        yield from titled("memory", _table(rows))
    if is_wanted(wanted, "commands"):
        yield from titled("commands", step_lines(found.commands, "command"))
    yield from (Text(note, style="yellow") for note in found.notes)


def route_lines(routes: Sequence[Route]) -> Iterator[Text]:
    """A route per line: the tiles from its source to its end, how it is switched, the ports passed."""
    rows: list[list[Cell]] = []
    for route in routes:
        way = [f"{route.source.tile} {route.source.port}"]
        way += [hop.tile.name for hop in route.hops[1:]]
        if route.end is not None and len(route.hops) > 1:
            way[-1] += f" {route.end.port}"
        elif route.end is not None:
            way.append(route.end.port)
        ways: Cell = " -> ".join(way)
        if route.problem:
            ways = Text(f"{ways}: {route.problem}", style="yellow")
        how = "circuit" if route.packet_ids is None else f"packet id {listed(route.packet_ids)}"
        ports = "  ".join(
            f"{hop.slave}>{hop.master}{' (drops header)' if hop.drops_header else ''}" for hop in route.hops
        )
        rows.append([ways, how, Text(ports, style="dim")])
    yield from _table(rows)


def _lock_rows(locks: Sequence[LockValue]) -> Iterator[tuple[str, str, str]]:
    """A row per tile: locks that hold something, then those that hold 0."""
    for tile, group in itertools.groupby(locks, key=lambda lock: lock.tile):
        values = list(group)
        held = ", ".join(f"lock {lock.lock} = {lock.value}" for lock in values if lock.value)
        zeros = [lock.lock for lock in values if not lock.value]
        yield tile.name, held, f"0 in {listed(zeros)}" if zeros else ""


def _table(rows: Sequence[Sequence[Cell]], *, right: Sequence[int] = ()) -> Iterator[Text]:
    if not rows:
        yield Text("none")
    yield from aligned(rows, right=right)
