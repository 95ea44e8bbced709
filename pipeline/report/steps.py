"""Commands of a configuration and operations of a stream as a table: one row per thing that they touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from ..description import FieldValue, MemoryWrite, RegisterAccess, Step, Tile
from .lines import Cell, table
from .transfers import descriptor_line, patch_text, task_text, wait_text

_WORD_MASK = 0xFFFFFFFF
_TILE_BYTES_MASK = 0xFFFFF


def step_lines(steps: Sequence[Step], noun: str) -> Iterator[Text]:
    """The table, with a head; `noun` is "command" or "operation"."""
    rows: list[list[Cell]] = []
    for step in steps:
        items = list(_items(step)) or [(None, "", "")]
        for at, (tile, module, what) in enumerate(items):
            times = "" if step.count == 1 else f" x {step.count}"
            begin: list[Cell] = (
                [str(step.index), f"{step.offset:#x}", step.operation + times] if at == 0 else ["", "", ""]
            )
            rows.append([*begin, "" if tile is None else tile.name, module, what])
    yield from table(("#", "offset", noun, "tile", "module", "what"), rows, right=[0, 1])


def _items(step: Step) -> Iterator[tuple[Tile | None, str, str]]:
    """What a step touches, with the tile and its module."""
    poll = step.operation.startswith("MASK") and "POLL" in step.operation
    for register in step.registers:
        text = register_text(register, poll=poll)
        if step.task is not None:
            text += f": {task_text(step.task)}"
        yield register.tile, register.module, text
    for bd in step.descriptors:
        yield bd.tile, bd.module, descriptor_line(bd)
    for write in step.memory:
        yield write.tile, write.module, memory_text(write)
    if step.wait is not None:
        yield step.wait.tile, "", wait_text(step.wait)
    if step.patch is not None:
        yield step.patch.tile, step.patch.module, patch_text(step.patch)
    if step.facts:
        yield None, "", _fields(step.facts)


def register_text(register: RegisterAccess, *, poll: bool = False) -> str:
    """One access: "DMA_S2MM_START_QUEUE[0] = 0x80000003 (ENABLE_TOKEN_ISSUE 1, START_BD_ID 3)"."""
    name = register.register or f"{_unknown(register)}"
    if register.value is None:
        return name
    value, mask = register.value, register.mask
    if poll:
        return f"until {name} & {_WORD_MASK if mask is None else mask:#x} == {value:#x}"
    text = f"{name} = {value:#x}"
    if mask is not None and mask != _WORD_MASK:
        text += f" mask {mask:#x}"
    shown = [f for f in register.fields if f.value or mask is not None]
    if register.meaning:
        return f"{text}: {register.meaning}"
    if shown and (mask is not None or len(register.fields) > 1):
        text += f" ({_fields(shown)})"
    return text


def memory_text(write: MemoryWrite) -> str:
    """ "4,384 bytes of program memory from 0x0"; few words are shown."""
    words = "".join(f" {word:#x}" for word in write.words)
    return (
        f"{write.size_bytes:,} bytes of {write.memory} from {write.address:#x}{':' if words else ''}{words}"
    )


def _unknown(register: RegisterAccess) -> str:
    if register.tile is None:
        return f"{register.address:#x} (no such tile)"
    return f"{register.address & _TILE_BYTES_MASK:#x} (no known register)"


def _fields(fields: Sequence[FieldValue]) -> str:
    return ", ".join(f"{field.name} {_number(field.value)}" for field in fields)


def _number(value: int) -> str:
    return str(value) if -1024 < value < 1024 else f"{value:#x}"
