"""The error heat map of a result: its matrix with 64-byte lines and tile borders drawn, and a cursor.

A missing sync shows as whole lines, a wrong tile as whole tiles. The strength of a cell says how much of it
is wrong, its colour what it holds; the same is in a table and, cell by cell under the arrow keys, in words.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator

from .. import dtypes
from ..verdict import Comparison, HeatMap
from .markup import Markup, joined, svg, table, tag
from .text import count, index

LINE_BYTES = 64

_WIDTH = 640.0
_LEAST_HEIGHT = 12.0
_LARGEST_HEIGHT = 640.0
_MOST_BORDERS = 400
_ROWS_TOLD = 100
KINDS = {
    "p": "poison that the host wrote before the run",
    "z": "zero",
    "o": "an old value",
    "x": "something else",
}


def heat_picture(comparison: Comparison, tile: tuple[int, int] | None, key: str) -> Markup:
    """The picture of one wrong result; nothing where it is right. `tile` are rows and columns of a tile."""
    heat = comparison.mismatch.heat if comparison.mismatch is not None else None
    if heat is None:
        return Markup("")
    cell = _WIDTH / max(len(heat.wrong[0]), 1)
    height = min(max(cell * len(heat.wrong), _LEAST_HEIGHT), _LARGEST_HEIGHT)
    down = height / len(heat.wrong)
    lines = _line_elements(comparison)
    pieces = (
        tag("rect", x=0, y=0, width=_WIDTH, height=height, _class="right"),
        _cells(heat, cell, down),
        _borders(heat, lines, height, "line64"),
        _tiles(heat, tile, height),
        tag("rect", x=0, y=0, width=cell, height=down, _class="cursor"),
    )
    shown = f" of the matrix at {index(heat.at)}" if heat.at else ""
    title = f"Where {comparison.name} is wrong{shown}"
    picture = svg(title, _description(comparison, heat), (_WIDTH, height), key, *pieces)
    return tag(
        "figure",
        tag("figcaption", f"{title}: {heat.rows} x {heat.columns} {comparison.type.element}"),
        tag(
            "div",
            picture,
            _class="heat",
            tabindex=0,
            role="application",
            aria_roledescription="heat map",
            aria_label=f"{title}; move with the arrow keys",
            data_heat=json.dumps(_data(heat, lines)),
        ),
        tag("p", "Press an arrow key in the map.", _class="told", aria_live="polite"),
        _legend(heat, lines, tile),
        tag("details", tag("summary", "The same as a table"), _table(heat)),
    )


def tile_of(notes: Iterator[str] | list[str], heat: HeatMap) -> tuple[int, int] | None:
    """The tile's rows and columns out of a backend's notes ("tile 16 x 64 x 16, ..."), where it fits."""
    for note in notes:
        words = note.split()
        if words[:1] == ["tile"] and len(words) > 3 and words[2] == "x":
            sizes = [word.strip(",") for word in (words[1], words[3])]
            if all(size.isdigit() and int(size) > 0 for size in sizes):
                rows, columns = map(int, sizes)
                if (rows, columns) != (heat.rows, heat.columns):
                    return rows, columns
    return None


def _line_elements(comparison: Comparison) -> int | None:
    """Elements in a 64-byte line, where each row begins a new one; else lines cannot be drawn straight."""
    bits = dtypes.storage_bits(comparison.type.element)
    each = LINE_BYTES * 8 // bits
    heat = comparison.mismatch.heat if comparison.mismatch is not None else None
    return each if heat is not None and heat.columns % each == 0 else None


def _cells(heat: HeatMap, width: float, height: float) -> Iterator[Markup]:
    """Runs of equal cells as one rectangle."""
    for row, (shares, kinds) in enumerate(zip(heat.wrong, heat.kinds, strict=True)):
        column = 0
        for (share, kind), run in itertools.groupby(zip(shares, kinds, strict=True)):
            length = len(list(run))
            if share != "0":
                yield tag(
                    "rect",
                    x=column * width,
                    y=row * height,
                    width=length * width,
                    height=height,
                    _class=f"k{kind}",
                    fill_opacity=0.35 + 0.65 * int(share) / 9,
                )
            column += length


def _borders(heat: HeatMap, each: int | None, height: float, kind: str) -> Iterator[Markup]:
    if each is None or heat.columns // each > _MOST_BORDERS:
        return
    for element in range(each, heat.columns, each):
        x = _WIDTH * element / heat.columns
        yield tag("line", x1=x, y1=0, x2=x, y2=height, _class=kind)


def _tiles(heat: HeatMap, tile: tuple[int, int] | None, height: float) -> Iterator[Markup]:
    if tile is None:
        return
    yield from _borders(heat, tile[1], height, "tile")
    if heat.rows // tile[0] <= _MOST_BORDERS:
        for row in range(tile[0], heat.rows, tile[0]):
            y = height * row / heat.rows
            yield tag("line", x1=0, y1=y, x2=_WIDTH, y2=y, _class="tile")


def _description(comparison: Comparison, heat: HeatMap) -> str:
    mismatch = comparison.mismatch
    assert mismatch is not None
    groups = ", ".join(f"{group.count} hold {_held(group.holds)}" for group in mismatch.groups)
    return (
        f"{mismatch.count} of {mismatch.total} elements are wrong, from {index(mismatch.box_low)} to "
        f"{index(mismatch.box_high)}: {groups}. {count(mismatch.touched_lines, '64-byte line')} touched, "
        f"{mismatch.whole_lines} wrong as a whole. A cell is {heat.block_rows} x {heat.block_columns}."
    )


def _held(kind: str) -> str:
    return {"poison": KINDS["p"], "old value": KINDS["o"], "other": KINDS["x"]}.get(kind, kind)


def _legend(heat: HeatMap, lines: int | None, tile: tuple[int, int] | None) -> Markup:
    found = [k for k in KINDS if any(k in row for row in heat.kinds)]
    items = [
        tag("li", tag("span", "", _class=f"key k{k}", aria_hidden="true"), f" holds {KINDS[k]}")
        for k in found
    ]
    if lines is not None:
        border = tag("span", "", _class="key line64", aria_hidden="true")
        items.append(tag("li", border, f" a 64-byte line ends ({lines} elements)"))
    if tile is not None:
        border = tag("span", "", _class="key tile", aria_hidden="true")
        items.append(tag("li", border, f" a tile ends ({tile[0]} x {tile[1]})"))
    return tag("ul", items, _class="legend")


def _data(heat: HeatMap, lines: int | None) -> dict[str, object]:
    return {
        "wrong": heat.wrong,
        "kinds": heat.kinds,
        "names": KINDS,
        "block": [heat.block_rows, heat.block_columns],
        "size": [heat.rows, heat.columns],
        "line": lines,
    }


def _table(heat: HeatMap) -> Markup:
    """Rows of cells with something wrong: runs of columns, what they hold, how much."""
    rows = list(_runs(heat))
    shown = rows[:_ROWS_TOLD]
    more = tag("p", f"... and {len(rows) - len(shown)} more") if len(rows) > len(shown) else None
    return joined([table("Wrong parts", ("rows", "columns", "hold", "wrong"), shown), more])


def _runs(heat: HeatMap) -> Iterator[tuple[str, str, str, str]]:
    for row, (shares, kinds) in enumerate(zip(heat.wrong, heat.kinds, strict=True)):
        column = 0
        for (share, kind), run in itertools.groupby(zip(shares, kinds, strict=True)):
            length = len(list(run))
            if share != "0":
                part = "all" if share == "9" else f"up to {math.ceil(int(share) * 100 / 8)} %"
                yield (
                    _span(row, 1, heat.block_rows, heat.rows),
                    _span(column, length, heat.block_columns, heat.columns),
                    KINDS.get(kind, ""),
                    part,
                )
            column += length


def _span(first: int, length: int, block: int, end: int) -> str:
    low, high = first * block, min((first + length) * block, end) - 1
    return str(low) if low == high else f"{low} to {high}"
