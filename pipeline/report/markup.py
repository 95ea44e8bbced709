"""HTML and SVG elements as text that is escaped once: `tag("p", "a < b")` gives `<p>a &lt; b</p>`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_VOID = frozenset({"br", "hr", "input", "link", "meta", "rect", "line", "path", "circle", "use"})
_SVG_VOID = frozenset({"rect", "line", "path", "circle", "use"})


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | Markup | None | Iterable["Child"]


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Markup:
    """An element. Names of attributes lose a leading "_" and get "-" for "_"; None and False leave one
    out."""
    parts: list[str] = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.lstrip("_").replace("_", "-")
        parts.append(
            f" {label}" if value is True else f' {label}="{html.escape(_number(value), quote=True)}"'
        )
    head = f"<{name}{''.join(parts)}"
    if name in _VOID and not children:
        return Markup(head + ("/>" if name in _SVG_VOID else ">"))
    return Markup(f"{head}>{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Markup:
    """Children one after the other, escaped where they are no markup."""
    out: list[str] = []
    for child in children:
        if isinstance(child, Markup):
            out.append(child)
        elif isinstance(child, str):
            out.append(html.escape(child, quote=False))
        elif child is not None:
            out.append(joined(child))
    return Markup("".join(out))


def section(title: str, key: str, *children: Child) -> Markup:
    """A part of the page with a heading that names it."""
    heading = tag("h2", title, id=f"{key}-title")
    return tag("section", heading, *children, id=key, aria_labelledby=f"{key}-title")


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[Child]],
    *,
    numbers: Sequence[int] = (),
    filtered: bool = False,
    choices: Sequence[int] = (),
    ordered: bool = False,
) -> Markup:
    """A table; the first column names its rows, columns `numbers` are aligned to the right.

    The page's script gives it a search field with `filtered`, lists of the values of columns `choices` to
    choose from, and with `ordered` headings that sort (by a `<data value>` where a cell has one). The
    table scrolls on its own when it is wide."""
    heads = [
        tag("th", name, scope="col", _class="number" if i in numbers else None, data_choose=i in choices)
        for i, name in enumerate(head)
    ]
    body: list[Markup] = []
    for row in rows:
        first, *rest = row
        cells = [tag("th", first, scope="row")]
        cells += [
            tag("td", cell, _class="number" if i in numbers else None) for i, cell in enumerate(rest, 1)
        ]
        body.append(tag("tr", cells))
    inner = tag(
        "table", tag("caption", caption), tag("thead", tag("tr", heads)), tag("tbody", body),
        data_filter=filtered, data_sort=ordered,
    )  # fmt: skip
    # a region that scrolls must be reachable with the keyboard
    return tag("div", inner, _class="scroll", tabindex=0, role="region", aria_label=caption)


def definitions(rows: Iterable[tuple[str, Child]]) -> Markup:
    """Names with their values; what is None or empty is left out."""
    items = [(name, joined([value])) for name, value in rows]
    return tag("dl", [(tag("dt", name), tag("dd", value)) for name, value in items if value])


def svg(
    title: str,
    description: str,
    box: tuple[float, float],
    key: str,
    /,
    *children: Child,
    **attributes: str | int,
) -> Markup:
    """A picture of the size `box` with a name and a description for who does not see it."""
    return tag(
        "svg",
        tag("title", title, id=f"{key}-name"),
        tag("desc", description, id=f"{key}-text"),
        *children,
        role="img",
        viewBox=f"0 0 {_number(box[0])} {_number(box[1])}",
        aria_labelledby=f"{key}-name",
        aria_describedby=f"{key}-text",
        **attributes,
    )


def _number(value: str | int | float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
