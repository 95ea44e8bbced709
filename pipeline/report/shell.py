"""What every HTML page has: title, verdict, links to its parts, the style and the script, and no network.

Style and script are in the page; a Content-Security-Policy forbids everything else. What a picture shows is
also in a table, and everything works without the script but filters, sorting and the heat map's cursor.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from .markup import Markup, section, tag

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page_document(
    title: str, verdict: str, parts: Sequence[tuple[str, str, Markup]], *, state: str = ""
) -> str:
    """The page. `parts` are titles, ids and contents; `state` is the class of the verdict's look ("right",
    "wrong") where it is not the verdict itself."""
    links = [tag("li", tag("a", name, href=f"#{key}")) for name, key, _ in parts]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", f"{verdict}: {title}"),
        tag("style", Markup(_asset("page.css"))),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", _class="skip"),
        tag(
            "header",
            tag("h1", title),
            tag("p", verdict, _class=f"verdict {state or verdict.lower().replace(' ', '-')}"),
            tag("button", "Light or dark", type="button", id="theme", aria_pressed="false"),
        ),
        tag("nav", tag("ul", links), aria_label="Parts of this report"),
        tag("main", [section(name, key, body) for name, key, body in parts], id="content"),
        tag("script", Markup(_asset("page.js"))),
    )
    return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"


def _asset(name: str) -> str:
    return files("aiepipe.report").joinpath(name).read_text(encoding="utf-8")
