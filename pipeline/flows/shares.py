"""Which way each byte of a result left the array: through which shim DMA channel, by the artifact's BDs."""

from __future__ import annotations

from ..formats.instructions import parse_instructions
from ..formats.stream_accesses import stream_accesses
from ..program import Artifact, BufferSlice, DispatchCommand, HostFunction, Result
from ..verify.case import Share
from .program_directory import BuiltProgram


def shares_of(built: BuiltProgram, function: HostFunction, result: Result) -> tuple[Share, ...]:
    """One share per column and channel that writes the result; none where no dispatch writes it last, or
    where the stream does not say what it writes."""
    if result.slice is None:
        return ()
    for command in reversed(function.commands):
        if isinstance(command, DispatchCommand):
            artifact = built.artifacts.get(command.dispatch)
            for index, part in enumerate(command.bindings):
                if (
                    artifact is not None
                    and artifact.bindings[index].access.writes
                    and _within(result.slice, part)
                ):
                    return _shares(artifact, index, result.slice, part)
    return ()


def _within(inner: BufferSlice, outer: BufferSlice) -> bool:
    start, end = inner.offset_bytes, inner.offset_bytes + inner.length_bytes
    return (
        inner.buffer == outer.buffer
        and outer.offset_bytes <= start
        and end <= outer.offset_bytes + outer.length_bytes
    )


def _shares(artifact: Artifact, argument: int, wanted: BufferSlice, part: BufferSlice) -> tuple[Share, ...]:
    moved = part.offset_bytes - wanted.offset_bytes
    ways: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for access in stream_accesses(parse_instructions(artifact.instructions)):
        if not access.writes or access.argument != argument:
            continue
        if access.ranges is None:
            return ()
        inside = [_cut(offset + moved, length, wanted.length_bytes) for offset, length in access.ranges]
        ways.setdefault((access.column, access.channel), []).extend(r for r in inside if r[1])
    return tuple(
        Share(f"shim ({column},0) S2MM {channel}, the way out of column {column}", tuple(ranges))
        for (column, channel), ranges in sorted(ways.items())
    )


def _cut(offset: int, length: int, size: int) -> tuple[int, int]:
    """The part of a range that is inside [0, size)."""
    low, high = max(0, offset), min(size, offset + length)
    return low, max(0, high - low)
