"""How a buffer descriptor looks in words: cells of a row, for tables of BDs and for lines of their own."""

from __future__ import annotations

from collections.abc import Iterator

from ..description import Descriptor, LockUse, Patch, Task, Tile, Wait
from .text import count


def descriptor_cells(bd: Descriptor) -> list[str]:
    """Who uses it, what it moves, how, with which locks, and what comes after."""
    return [
        ", ".join(bd.users),
        f"{count(bd.length_words, 'word')} {place(bd)}",
        dimensions(bd),
        "" if bd.acquire is None else f"acquire {_lock(bd, bd.acquire)}",
        "" if bd.release is None else f"release {_lock(bd, bd.release)}",
        "" if bd.next_bd is None else f"next BD {bd.next_bd}",
        ", ".join(_rest(bd)),
    ]


def descriptor_line(bd: Descriptor) -> str:
    """The same as one line, with the BD's number."""
    users, what, *others = descriptor_cells(bd)
    head = f"BD {bd.number}: {what}" if not users else f"BD {bd.number} ({users}): {what}"
    return "; ".join([head, *(part for part in others if part)])


def place(bd: Descriptor) -> str:
    """Where the words are: "at 0x400", "at data buffer 0 + 0x100", "at 0x0 of memory tile (1,1)"."""
    if bd.argument is not None:
        return f"at data buffer {bd.argument} + {bd.address:#x}"
    if bd.owner is None and bd.memory == "DDR":
        return f"at DDR {bd.address:#x}"
    owner = "" if bd.owner == bd.tile else f" of {bd.owner or 'no tile'}"
    return f"at {bd.address:#x}{owner}"


def dimensions(bd: Descriptor) -> str:
    """ "D0 8 step 1, D1 16 step 64, D2 step 8": innermost first; empty for consecutive words."""
    parts = [
        f"D{number} {'' if d.wrap is None else f'{d.wrap} '}step {d.step_words}"
        for number, d in enumerate(bd.dimensions)
    ]
    if bd.zeros_before or bd.zeros_after:
        before, after = (
            ", ".join(map(str, zeros or (0, 0, 0))) for zeros in (bd.zeros_before, bd.zeros_after)
        )
        parts.append(f"zeros before {before} after {after}")
    if bd.iteration is not None:
        iteration = bd.iteration
        current = f", now at {iteration.current}" if iteration.current else ""
        parts.append(f"each time {iteration.step_words} on, {iteration.wrap} times{current}")
    return ", ".join(parts)


def task_text(task: Task) -> str:
    """ "S2MM 0 starts BD 3, 2 times, with a token"."""
    times = "" if task.count == 1 else f", {task.count} times"
    return f"{task.channel} starts BD {task.bd}{times}{', with a token' if task.token else ''}"


def wait_text(wait: Wait) -> str:
    """What is waited for; the first tile stands beside it."""
    more = f" of {wait.columns} x {wait.rows} tiles" if wait.columns * wait.rows > 1 else ""
    return f"wait for a token of {wait.channel}{more}"


def patch_text(patch: Patch) -> str:
    """What goes where."""
    where = (
        f"address of BD {patch.bd}" if patch.bd is not None else f"{patch.address:#x}, no shim BD's address,"
    )
    folded = " (the file adds 0x80000000)" if patch.folded else ""
    return f"{where} = data buffer {patch.argument} + {patch.offset_bytes:#x}{folded}"


def _lock(bd: Descriptor, use: LockUse) -> str:
    sign = {"at least": ">=", "equal": "==", "add": "+="}[use.condition]
    owner: Tile | None = use.tile
    side = "" if owner == bd.tile else f" of {owner or 'no tile'}"
    return f"lock {use.lock}{side} {sign} {use.value}"


def _rest(bd: Descriptor) -> Iterator[str]:
    if bd.packet is not None:
        yield f"packet id {bd.packet.stream_id} type {bd.packet.packet_type}"
    if not bd.valid:
        yield "not valid"
    yield from bd.flags
