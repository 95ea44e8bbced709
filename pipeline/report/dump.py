"""`aiepipe dump` on a terminal or in a pipe: any artifact as text.

`print_dump` is the whole face of this module. Stable: the same file gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from rich.text import Text

from ..description import (
    Configuration,
    Container,
    Content,
    ControlPackets,
    CoreProgram,
    Dump,
    Module,
    PdiImage,
    Stream,
)
from .configuration import Wanted, configuration_lines, is_wanted
from .container import container_lines, image_lines, module_lines
from .lines import aligned, print_lines, printable, table, titled
from .stream import stream_lines
from .text import count

_HASH_DIGITS = 12


def print_dump(dump: Dump, file: TextIO) -> None:
    """Prints it. Colour only on a terminal."""
    print_lines(dump_lines(dump), file)


def dump_lines(dump: Dump) -> Iterator[Text]:
    """The lines of `print_dump`."""
    head = Text("aiepipe dump", style="bold")
    head.append(f"  {dump.file}  {dump.kind}, {dump.size_bytes:,} bytes, ", style="default")
    head.append(f"sha256 {dump.sha256[:_HASH_DIGITS]}", style="dim")
    yield printable(head)
    wanted = None if dump.sections is None else frozenset(dump.sections)
    # names in an artifact are anybody's: none of them may steer the terminal
    yield from map(printable, _content(dump.content, wanted))


def _content(content: Content, wanted: Wanted) -> Iterator[Text]:
    match content:
        case Container():
            yield from container_lines(content, wanted)
        case PdiImage():
            yield from image_lines(content, wanted)
        case Configuration():
            yield from configuration_lines(content, wanted)
        case Stream():
            yield from stream_lines(content, wanted)
        case CoreProgram():
            yield from _program(content, wanted)
        case Module():
            yield from module_lines(content, wanted)
        case ControlPackets():
            yield from _packets(content)


def _program(found: CoreProgram, wanted: Wanted) -> Iterator[Text]:
    if is_wanted(wanted, "header"):
        rows = [("entry", f"{found.entry:#x}"), ("compiler", found.comment or "does not say")]
        yield from titled("header", aligned(rows))
    if is_wanted(wanted, "segments"):
        segments = (
            (
                f"{s.address:#x}",
                f"{s.size_bytes:,}",
                f"{s.memory_bytes:,}",
                s.memory,
                "executable" if s.executable else "",
            )
            for s in found.segments
        )
        head = ("address", "in file", "in memory", "where", "")
        yield from titled("segments", table(head, segments, right=[0, 1, 2]))
    if is_wanted(wanted, "symbols"):
        symbols = (
            (
                f"{s.address:#x}",
                f"{s.size_bytes:,}",
                s.kind,
                "global" if s.is_global else "local",
                s.section,
                s.name,
            )
            for s in found.symbols
        )
        head = ("address", "bytes", "kind", "binding", "section", "name")
        yield from titled(count(len(found.symbols), "symbol"), table(head, symbols, right=[0, 1]))


def _packets(found: ControlPackets) -> Iterator[Text]:
    yield from map(Text, found.notes)
    rows: list[tuple[str, ...]] = []
    for packet in found.packets:
        rows.append(
            (
                str(packet.index),
                f"{packet.offset:#x}",
                packet.operation,
                f"{packet.address:#x}",
                " ".join(f"{word:#x}" for word in packet.data) or count(packet.beats, "word"),
                f"id {packet.stream_id}",
                "; ".join(f"{r.register} ({r.tile_kind})" for r in packet.registers) or "nothing known",
            )
        )
    head = ("#", "offset", "operation", "address", "data", "answers to", "register")
    yield from titled(count(len(rows), "control packet"), table(head, rows, right=[0, 1]))
