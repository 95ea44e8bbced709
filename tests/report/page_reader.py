"""A page as a test reads it without a browser."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"meta", "link", "input", "br", "hr", "rect", "line", "circle", "path"}


class PageReader(HTMLParser):
    """Checks that elements are closed in order; gathers ids, headings and references."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.ids += [value for key, value in attrs if key == "id" and value]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.text += data


def read(page: str) -> PageReader:
    reader = PageReader()
    reader.feed(page)
    assert reader.open == []
    return reader
