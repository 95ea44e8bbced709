"""Fails where a page of a built site would fetch something from elsewhere when it is looked at.

python scripts/check_site.py build/docs
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

ELSEWHERE = re.compile(r"(https?:)?//")
LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "use": "href"}
"""Elements that a browser fetches without being asked, and the attribute that says from where."""
STYLE_LOADS = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^\"')]*")


class Page(HTMLParser):
    """Collects what a page loads from other hosts."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get(LOADS.get(tag, ""))
        if address is not None and ELSEWHERE.match(address):
            self.loaded.append(f"<{tag}> {address}")


def loads_from_elsewhere(site: Path) -> list[str]:
    """A line for each thing that a page or a style sheet below `site` loads from another host."""
    found: list[str] = []
    for file in sorted(site.rglob("*.html")):
        page = Page()
        page.feed(file.read_text(encoding="utf-8"))
        found += [f"{file.relative_to(site)}: {each}" for each in page.loaded]
    for file in sorted(site.rglob("*.css")):
        text = file.read_text(encoding="utf-8")
        found += [f"{file.relative_to(site)}: {hit.group()}" for hit in STYLE_LOADS.finditer(text)]
    return found


def main() -> int:
    site = Path(sys.argv[1])
    if not (site / "index.html").is_file():
        sys.stderr.write(f"{site} holds no site\n")
        return 2
    found = loads_from_elsewhere(site)
    sys.stderr.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
