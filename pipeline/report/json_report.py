"""A report as one JSON document; its first key is "schema".

Everything of `BuildRunReport` is there under its field names; dataclasses carry no type tag here, as the
schema's name says what it is. What is not a number in JSON (NaN, infinity) is a string.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from collections.abc import Mapping
from typing import cast

from ..program import SourceLocation, TensorType
from ..verdict import BuildRunReport

SCHEMA = "aiepipe.report/1"

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


def report_document(report: BuildRunReport) -> dict[str, Json]:
    """The report as plain data, "schema" first."""
    members = plain(report)
    assert isinstance(members, dict)
    return {"schema": SCHEMA, **members}


def report_json(report: BuildRunReport) -> str:
    """`report_document` as text, with a final newline."""
    return json.dumps(report_document(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: object) -> Json:
    """Any value of a report as plain data."""
    if isinstance(value, SourceLocation):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        # a type is read by people and given back to --input: as text it is both
        return {**members, "text": str(value)} if isinstance(value, TensorType) else members
    if isinstance(value, enum.Enum):
        return cast("str", value.value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, tuple):
        return [plain(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    assert value is None or isinstance(value, (str, int, float, bool)), type(value)
    return value
