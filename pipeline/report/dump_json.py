"""Dumps and listings as JSON documents; the first key is "schema".

Keys are the fields of the dataclasses in `description.py`. With `--section`, an artifact has only those of
its parts that were asked for; what else it says of itself stays.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import cast

from ..description import Content, Dump, Listing
from .json_report import Json

DUMP_SCHEMA = "aiepipe.dump/1"
LISTING_SCHEMA = "aiepipe.disasm/1"


def dump_document(dump: Dump) -> dict[str, Json]:
    """All of a dump as plain data, "schema" first."""
    wanted = None if dump.sections is None else frozenset(dump.sections)
    members: dict[str, Json] = {"schema": DUMP_SCHEMA, "file": dump.file, "kind": dump.kind}
    members |= {"size_bytes": dump.size_bytes, "sha256": dump.sha256}
    members["sections"] = None if dump.sections is None else list(dump.sections)
    members["content"] = _plain(dump.content, wanted)
    return members


def dump_json(dump: Dump) -> str:
    """`dump_document` as text."""
    return _text(dump_document(dump))


def listing_document(listing: Listing) -> dict[str, Json]:
    """All of a listing as plain data, "schema" first."""
    members = _plain(listing, None)
    assert isinstance(members, dict)
    return {"schema": LISTING_SCHEMA, **members}


def listing_json(listing: Listing) -> str:
    """`listing_document` as text."""
    return _text(listing_document(listing))


def _text(document: dict[str, Json]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _plain(value: object, wanted: frozenset[str] | None) -> Json:
    if isinstance(value, Content):
        return {"kind": value.kind, **dict(_members(value, wanted, value.parts))}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dict(_members(value, wanted, ()))
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_plain(item, wanted) for item in cast("tuple[object, ...]", value)]
    assert value is None or isinstance(value, (str, int, bool)), type(value)
    return value


def _members(
    value: object, wanted: frozenset[str] | None, parts: tuple[str, ...]
) -> Iterator[tuple[str, Json]]:
    assert dataclasses.is_dataclass(value)
    for entry in dataclasses.fields(value):
        if wanted is None or entry.name not in parts or entry.name in wanted:
            yield entry.name, _plain(getattr(value, entry.name), wanted)
