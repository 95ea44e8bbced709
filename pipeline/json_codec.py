"""Frozen dataclasses to plain JSON data and back, driven by their type hints.

The program directory (`program.json`) and `--json` use it. Bytes become `{"hex": "..."}`, enums their
value, tuples lists; a union of dataclasses is told apart by a "kind" key. `decode(encode(x), type(x)) == x`.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from .errors import ArtifactError
from .program import Attribute

T = TypeVar("T")


def encode(value: object) -> Any:
    """Plain data (dict, list, str, int, float, bool, None) for any value made of our dataclasses."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"kind": type(value).__name__, **members}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(key): encode(item) for key, item in items}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in cast("list[object]", value)]
    return value


def decode(data: Any, kind: type[T], *, artifact: str = "program.json") -> T:
    """The inverse of `encode` for a dataclass type. Raises ArtifactError where `data` does not fit."""
    try:
        return cast("T", _decode(data, kind))
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise ArtifactError(
            f"this is not a {kind.__name__} that this version of aiepipe wrote: {fault}",
            artifact=artifact,
            remedy="build it again with `aiepipe build`",
        ) from fault


def _decode(data: Any, hint: Any) -> Any:
    if isinstance(hint, (str, typing.ForwardRef)):  # the one recursive alias of program.py
        hint = Attribute
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(data, typing.get_args(hint))
    if origin is tuple:
        return _decode_tuple(data, typing.get_args(hint))
    if origin is not None and issubclass(origin, Mapping):
        key_hint, value_hint = typing.get_args(hint)
        items = cast("dict[str, Any]", data).items()
        return {(int(k) if key_hint is int else k): _decode(v, value_hint) for k, v in items}
    if dataclasses.is_dataclass(hint):
        return _decode_dataclass(data, cast("type[Any]", hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(data)
    if hint is bytes:
        return bytes.fromhex(data["hex"])
    if hint is type(None):
        return _checked(data, type(None))
    if hint is float:
        return float(_checked(data, (int, float)))
    return _checked(data, hint)


def _checked(data: Any, kind: Any) -> Any:
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise TypeError(f"expected {kind}, found {data!r}")
    return data


def _decode_tuple(data: Any, hints: tuple[Any, ...]) -> tuple[Any, ...]:
    items = cast("list[Any]", _checked(data, list))
    if len(hints) == 2 and hints[1] is Ellipsis:
        return tuple(_decode(item, hints[0]) for item in items)
    if len(items) != len(hints):
        raise TypeError(f"expected {len(hints)} items, found {len(items)}")
    return tuple(_decode(item, hint) for item, hint in zip(items, hints, strict=True))


def _decode_union(data: Any, hints: tuple[Any, ...]) -> Any:
    """The first member that fits; dataclasses by their "kind"."""
    name = cast("dict[str, Any]", data).get("kind") if isinstance(data, dict) else None
    # "or None" needs no tag, and a field that is itself called "kind" has taken the tag's place
    tagged = sum(dataclasses.is_dataclass(hint) for hint in hints) > 1
    for hint in hints:
        if tagged and dataclasses.is_dataclass(hint) and getattr(hint, "__name__", None) != name:
            continue
        try:
            return _decode(data, hint)
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    raise TypeError(f"none of {hints} fits {data!r}")


@functools.cache
def _field_hints(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _decode_dataclass(data: Any, kind: type[Any]) -> Any:
    members = cast("dict[str, Any]", _checked(data, dict))
    hints = _field_hints(kind)
    names = {f.name for f in dataclasses.fields(kind)}
    unknown = set(members) - names - {"kind"}
    if unknown:
        raise TypeError(f"{kind.__name__} has no {sorted(unknown)}")
    return kind(**{name: _decode(members[name], hints[name]) for name in names if name in members})
