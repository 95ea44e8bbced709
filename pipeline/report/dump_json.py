"""Dumps and listings as JSON documents; the first key is "schema".

Keys are the fields of the dataclasses in `description`. With `--section`, an artifact has only those of
its parts that were asked for; what else it says of itself stays. Written piece by piece, one command,
BD or line of a listing to a line of text, so that a large dump is never in memory a second time.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import TextIO, cast

from ..description import (
    Configuration,
    Container,
    Content,
    ControlPackets,
    CoreProgram,
    Dump,
    Listing,
    Module,
    PartitionImage,
    PdiImage,
    Program,
    Stream,
)
from .json_report import Json

DUMP_SCHEMA = "aiepipe.dump/1"
LISTING_SCHEMA = "aiepipe.disasm/1"

_OPENED = (
    *(Container, PdiImage, Configuration, Stream, CoreProgram, Module, ControlPackets),
    *(PartitionImage, Listing, Program),
)
"""Written field by field; everything smaller is one piece."""


def print_dump_json(dump: Dump, file: TextIO) -> None:
    """The dump as one document."""
    wanted = None if dump.sections is None else frozenset(dump.sections)
    members: list[tuple[str, object]] = [
        ("schema", DUMP_SCHEMA),
        *((name, getattr(dump, name)) for name in ("file", "kind", "size_bytes", "sha256", "sections")),
        ("content", dump.content),
    ]
    file.writelines(_object(iter(members), wanted, ""))
    file.write("\n")


def print_listing_json(listing: Listing, file: TextIO) -> None:
    """The listing as one document."""
    members = (("schema", LISTING_SCHEMA), *_members(listing, None))
    file.writelines(_object(iter(members), None, ""))
    file.write("\n")


def _pieces(value: object, wanted: frozenset[str] | None, indent: str) -> Iterator[str]:
    """The value as text, begun at the current place; lines that follow are indented."""
    items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else ()
    if isinstance(value, _OPENED):
        yield from _object(_members(value, wanted), wanted, indent)
    elif any(map(dataclasses.is_dataclass, items)):
        yield from _array(items, wanted, indent)
    else:
        yield json.dumps(_plain(cast("object", value)), ensure_ascii=False)


def _object(
    members: Iterator[tuple[str, object]], wanted: frozenset[str] | None, indent: str
) -> Iterator[str]:
    separator = "{\n"
    for name, value in members:
        yield f"{separator}{indent} {json.dumps(name)}: "
        yield from _pieces(value, wanted, indent + " ")
        separator = ",\n"
    yield f"\n{indent}}}"


def _array(items: tuple[object, ...], wanted: frozenset[str] | None, indent: str) -> Iterator[str]:
    separator = "[\n"
    for item in items:
        yield f"{separator}{indent} "
        yield from _pieces(item, wanted, indent + " ")
        separator = ",\n"
    yield f"\n{indent}]"


def _members(value: object, wanted: frozenset[str] | None) -> Iterator[tuple[str, object]]:
    """The fields of a dataclass, those parts of an artifact left out that were not asked for."""
    assert dataclasses.is_dataclass(value)
    parts: tuple[str, ...] = ()
    if isinstance(value, Content):
        parts = value.parts
        yield "kind", value.kind
    for entry in dataclasses.fields(value):
        if wanted is None or entry.name not in parts or entry.name in wanted:
            yield entry.name, getattr(value, entry.name)


def _plain(value: object) -> Json:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {entry.name: _plain(getattr(value, entry.name)) for entry in dataclasses.fields(value)}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    assert value is None or isinstance(value, (str, int, bool)), type(value)
    return value
