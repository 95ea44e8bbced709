"""How the operands of a dispatch reach its kernel: as whole buffers, as windows, or through copies.

A kernel gets buffer objects, a dispatch names byte ranges. A window (sub-buffer) is sound when it shares
no 64-byte line with bytes that anything else uses; else, and where a read operand overlaps one that the
same dispatch writes, the operand goes through a buffer of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..errors import DeviceError
from ..program import (
    Access,
    Binding,
    BufferSlice,
    Command,
    CopyCommand,
    Dispatch,
    DispatchCommand,
    FillCommand,
    HostFunction,
    Program,
)
from .memory import LINE_BYTES


@dataclass(frozen=True, slots=True)
class Operand:
    """One binding of a dispatch command: where its bytes live, and whether the kernel gets a copy."""

    binding: Binding
    home: BufferSlice
    copied: bool


def slices_of(commands: Iterable[Command]) -> list[BufferSlice]:
    """Every byte range that commands name."""
    found: list[BufferSlice] = []
    for command in commands:
        match command:
            case FillCommand(target=target):
                found.append(target)
            case CopyCommand(source=source, target=target):
                found += [source, target]
            case DispatchCommand(bindings=bindings):
                found += bindings
    return found


def used_ranges(program: Program, function: HostFunction) -> dict[str, list[tuple[int, int]]]:
    """All ranges in use by buffer name, as (low, high)."""
    named = slices_of([*program.startup, *function.commands])
    named += [result.slice for result in function.results if result.slice is not None]
    ranges: dict[str, list[tuple[int, int]]] = {}
    for part in named:
        ranges.setdefault(part.buffer, []).append((part.offset_bytes, part.offset_bytes + part.length_bytes))
    return ranges


def place(
    dispatch: Dispatch, command: DispatchCommand, used: dict[str, list[tuple[int, int]]]
) -> tuple[Operand, ...]:
    """Decides for each binding. Raises DeviceError where two bindings write the same bytes."""
    pairs = list(zip(dispatch.bindings, command.bindings, strict=True))
    _refuse_double_writes(dispatch, pairs)
    return tuple(
        Operand(binding, home, copied=_must_copy(index, pairs, used.get(home.buffer, [])))
        for index, (binding, home) in enumerate(pairs)
    )


def _must_copy(
    index: int, pairs: Sequence[tuple[Binding, BufferSlice]], used: Sequence[tuple[int, int]]
) -> bool:
    binding, home = pairs[index]
    if binding.access is Access.READ and any(
        other.access.writes and _overlap(home, target) for other, target in pairs
    ):
        return True
    if home.offset_bytes % LINE_BYTES:
        return True
    low, high = home.offset_bytes, home.offset_bytes + home.length_bytes
    line_end = -(-high // LINE_BYTES) * LINE_BYTES
    return any(a < line_end and b > high and not (a <= low and b >= high) for a, b in used)


def _overlap(one: BufferSlice, other: BufferSlice) -> bool:
    return (
        one.buffer == other.buffer
        and one.offset_bytes < other.offset_bytes + other.length_bytes
        and other.offset_bytes < one.offset_bytes + one.length_bytes
    )


def _refuse_double_writes(dispatch: Dispatch, pairs: Sequence[tuple[Binding, BufferSlice]]) -> None:
    writers = [(binding, home) for binding, home in pairs if binding.access.writes]
    for number, (first, home) in enumerate(writers):
        for second, target in writers[number + 1 :]:
            if _overlap(home, target):
                raise DeviceError(
                    f"bindings {first.index} and {second.index} of dispatch '{dispatch.name}' both write "
                    f"the same bytes of buffer '{home.buffer}'",
                    remedy="this is not a program that IREE makes; check the program directory",
                )
