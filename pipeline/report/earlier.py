"""A report against the JSON document of an earlier one: what is the same, what is better or worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from .json_report import Json
from .markup import Markup, table, tag
from .text import duration

Document = Mapping[str, Any]
Row = tuple[str, str, str, str]

_SAME = "same"
_CHANGED = "changed"
_SLOWER = 1.25
"""Times of one machine differ by less from run to run."""


def earlier_table(now: Document, then: Document, name: str) -> Markup:
    """The table; both are `report_document`s."""
    rows = [
        (what, old, new, tag("span", verdict, _class="same" if verdict == _SAME else "changed"))
        for what, old, new, verdict in compare_documents(now, then)
    ]
    return table(f"Against {name}", ("what", "earlier", "now", ""), rows)


def compare_documents(now: Document, then: Document) -> Iterator[Row]:
    """Rows: what, earlier, now, and how they compare."""
    yield _row("verdict", then.get("agreement"), now.get("agreement"))
    old, new = _rate(then), _rate(now)
    if old or new:
        yield _row("wrong runs", old, new)
    yield from _by_name("results", "name", now, then, _result)
    yield from _by_name("stages", "name", now, then, _seconds, _time_verdict)
    yield from _by_name("dispatches", "dispatch", now, then, _hashes)
    yield from _sizes(now, then)
    yield _row("sync hazards", _hazards(then), _hazards(now))
    yield _row("fills in the HAL IR", _fills(then), _fills(now))
    versions = _mapping(now, "versions"), _mapping(then, "versions")
    for tool in dict.fromkeys([*versions[1], *versions[0]]):
        if versions[0].get(tool) != versions[1].get(tool):
            yield _row(tool, versions[1].get(tool), versions[0].get(tool))


def _row(what: str, old: object, new: object) -> Row:
    before, after = ("none" if value in (None, "") else str(value) for value in (old, new))
    return what, before, after, _SAME if before == after else _CHANGED


def _by_name(
    group: str, key: str, now: Document, then: Document, show: Any, judge: Any = None
) -> Iterator[Row]:
    name = "comparisons" if group == "results" else group
    old, new = ({str(item[key]): item for item in _list(doc, name)} for doc in (then, now))
    for what in dict.fromkeys([*old, *new]):
        before = show(old[what]) if what in old else None
        after = show(new[what]) if what in new else None
        title = f"stage {what}" if group == "stages" else what
        row = _row(title, before, after)
        if judge is not None and what in old and what in new:
            row = (*row[:3], judge(old[what], new[what]))
        yield row


def _result(item: Document) -> str:
    mismatch = item.get("mismatch")
    return "right" if mismatch is None else f"{mismatch['count']} of {mismatch['total']} wrong"


def _seconds(item: Document) -> str:
    return duration(float(item["seconds"]))


def _time_verdict(old: Document, new: Document) -> str:
    before, after = float(old["seconds"]), float(new["seconds"])
    if before > 0 and after > before * _SLOWER:
        return f"{after / before:.1f} x as long"
    if after > 0 and before > after * _SLOWER:
        return f"{before / after:.1f} x as fast"
    return _SAME


def _hashes(item: Document) -> str:
    sizes = item.get("xclbin_bytes", 0), item.get("instructions_bytes", 0)
    return (
        f"xclbin {str(item['xclbin_sha256'])[:12]} of {sizes[0]:,} B, "
        f"stream {str(item['instructions_sha256'])[:12]} of {sizes[1]:,} B"
    )


def _sizes(now: Document, then: Document) -> Iterator[Row]:
    old, new = _files(then), _files(now)
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield _row(name, _bytes(old.get(name)), _bytes(new.get(name)))


def _files(document: Document) -> dict[str, int]:
    return {
        str(file["path"]).rpartition("/")[2]: int(file["size_bytes"])
        for stage in _list(document, "stages")
        for file in stage.get("files", ())
    }


def _bytes(size: int | None) -> str | None:
    return None if size is None else f"{size:,} B"


def _rate(document: Document) -> str:
    found: Any = document.get("statistics")
    return "" if not found else f"{found['wrong_runs']} of {found['runs']}"


def _hazards(document: Document) -> str:
    return ", ".join(dict.fromkeys(f"{f['hazard']} {f['name']}" for f in _list(document, "findings")))


def _fills(document: Document) -> str:
    inspection: Any = document.get("inspection") or {}
    forms = [op["form"] for op in inspection.get("operations", ()) if op["kind"] == "fill"]
    return ", ".join(forms)


def _list(document: Document, name: str) -> Sequence[Document]:
    return cast("Sequence[Document]", document.get(name) or ())


def _mapping(document: Document, name: str) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", document.get(name) or {})
