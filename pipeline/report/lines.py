"""Lines of styled text: indenting, aligning in columns, wrapping with a hanging indent.

Reports are made of these. In a pipe each is one line, as long as it needs to be; on a terminal a long one
continues below, indented under its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

Cell = str | Text
_CONTINUED = 2
_LEAST_WIDTH = 20
_WIDEST = 44


def indented(lines: Iterable[Text], by: int = 2) -> Iterator[Text]:
    """Each line moved to the right."""
    for line in lines:
        yield Text(" " * by) + line


def titled(title: str, lines: Iterable[Text]) -> Iterator[Text]:
    """A section: its title, then its lines indented."""
    yield Text(title, style="bold cyan")
    yield from indented(lines)


def aligned(rows: Sequence[Sequence[Cell]], *, right: Sequence[int] = ()) -> Iterator[Text]:
    """Rows in columns two spaces apart; the columns `right` are aligned to the right. A very long cell
    moves only its own row."""
    widths: list[int] = []
    for row in rows:
        widths.extend([0] * (len(row) - len(widths)))
        for i, cell in enumerate(row):
            width = _width(cell)
            widths[i] = max(widths[i], width if width <= _WIDEST else 0)
    for row in rows:
        line = Text()
        for i, entry in enumerate(row):
            cell = entry if isinstance(entry, Text) else Text(entry)
            space = " " * (widths[i] - cell.cell_len)
            line += Text(space) + cell if i in right else cell + Text(space)
            line += Text("  " if i + 1 < len(row) and (widths[i] or cell.cell_len) else "")
        line.rstrip()
        yield line


def _width(cell: Cell) -> int:
    return cell.cell_len if isinstance(cell, Text) else cell_len(cell)


def table(
    head: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Sequence[int] = ()
) -> Iterator[Text]:
    """`aligned` rows under a dim head; a line that says so where there are none."""
    body = list(rows)
    if not body:
        yield Text("none")
        return
    yield from aligned([[Text(name, style="dim") for name in head], *body], right=right)


def printable(line: Text) -> Text:
    """The line with characters that steer a terminal spelled out."""
    if line.plain.isprintable():
        return line
    shown = line.copy()
    shown.plain = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line.plain
    )
    return shown


def print_lines(lines: Iterable[Text], file: TextIO) -> None:
    """Prints the lines. Colour only on a terminal, and not with NO_COLOR (https://no-color.org) set."""
    if not file.isatty():
        file.writelines(f"{line.plain}\n" for line in lines)
        return
    console = _console_for(file)
    for line in lines:
        for part in _wrapped(line, console):
            console.print(part, soft_wrap=True)


def _console_for(file: TextIO) -> Console:
    """A console that interprets no markup: file names may hold brackets."""
    return Console(file=file, force_terminal=True, markup=False, highlight=False, emoji=False)


def _wrapped(line: Text, console: Console) -> Iterator[Text]:
    width = max(console.width, _LEAST_WIDTH)
    if line.cell_len <= width:
        yield line
        return
    indent = min(len(line.plain) - len(line.plain.lstrip()) + _CONTINUED, width // 2)
    first, *rest = line.wrap(console, width)
    first.rstrip()
    yield first
    if rest:
        remainder = Text(" ").join(rest)
        for part in remainder.wrap(console, width - indent):
            part.rstrip()
            yield Text(" " * indent) + part
