"""`aiepipe disasm` as text: a bundle per line, a column per slot, labels, loops and delay slots marked.

The lines between two heads are assembly that isa's `reassemble` turns into the same bytes; what is only
for people stands behind `//`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from rich.text import Text

from ..description import Line, Listing, Program
from .lines import print_lines, printable

# the order of the public assembler's listings
_COLUMNS = ("lda", "ldb", "st", "alu", "mv", "vec")
_SHORT_NOP = "nop"
_DATA_BYTES = 16
_WIDEST = 48


def print_listing(listing: Listing, file: TextIO, *, raw: bool = False) -> None:
    """Prints it. Colour only on a terminal; `raw` adds each bundle's bytes."""
    print_lines(listing_lines(listing, raw=raw), file)


def listing_lines(listing: Listing, *, raw: bool = False) -> Iterator[Text]:
    """The lines of `print_listing`."""
    yield printable(Text(f"// {listing.file}: {listing.kind}", style="dim"))
    for program in listing.programs:
        core = "core" if program.core is None else program.core.name
        size = f"{program.size_bytes:,} bytes from 0x0, entry {program.entry:#x}"
        yield printable(Text(f"// {core}: {size} ({program.origin})", style="bold"))
        yield from map(printable, _lines(program, raw=raw))


def _lines(program: Program, *, raw: bool) -> Iterator[Text]:
    code = [line for line in program.lines if line.slots]
    widths = {
        column: max((_width(s.text) for line in code for s in line.slots if s.slot == column), default=0)
        for column in _COLUMNS
    }
    texts = {line.address: _bundle(line, widths) for line in code}
    width = min(max(map(len, texts.values()), default=0), sum(widths.values()) + len(_COLUMNS))
    bytes_width = max((2 * line.size_bytes for line in code), default=0)
    for line in program.lines:
        yield from (Text(f"{label}:", style="bold cyan") for label in line.labels)
        notes = list(_notes(line))
        if not line.slots:
            yield from _data(line.address, line.raw, "  ".join(notes))
            continue
        if raw:
            notes.insert(0, line.raw.hex().ljust(bytes_width))
        row = Text(f"{line.address:#06x}  ", style="dim")
        row.append(texts[line.address].ljust(width) if notes else texts[line.address], style="default")
        if notes:
            row.append("  // " + "  ".join(notes).rstrip(), style="dim")
        yield row


def _width(text: str) -> int:
    """What a statement asks of its column; a long name may stand over it."""
    return min(len(text), _WIDEST) + 2


def _data(address: int, data: bytes, note: str) -> Iterator[Text]:
    """Bytes that are no code, some to a line."""
    for at in range(0, len(data), _DATA_BYTES):
        row = Text(f"{address + at:#06x}  ", style="dim")
        row.append(
            ".byte " + ", ".join(f"{byte:#04x}" for byte in data[at : at + _DATA_BYTES]), style="yellow"
        )
        if not at and note:
            row.append(f"  // {note}", style="dim")
        yield row


def _bundle(line: Line, widths: dict[str, int]) -> str:
    by_slot = {slot.slot: slot.text for slot in line.slots}
    cells = [
        (f"{by_slot[column]} ;" if column in by_slot else "").ljust(widths[column])
        for column in _COLUMNS
        if widths[column]
    ]
    return " ".join(cells).rstrip().removesuffix(";").rstrip() or _SHORT_NOP


def _notes(line: Line) -> Iterator[str]:
    if line.delay_slot is not None:
        yield f"delay slot {line.delay_slot}"
    if line.loop:
        yield f"loop {line.loop.replace(' ', ' and ')}"
    if line.slots and not line.reachable:
        yield "no known way here"
    if line.comment:
        yield line.comment
