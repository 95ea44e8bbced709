"""Constructors of pyxrt's classes as a table: which forms each release has, and pybind11's way to choose.

Arguments are positional; from 2.23 on they have names, too. A form that no Python value fits (a raw
pointer) stands here for its text in the error. Source: pyxrt.cpp at XRT's tags (releases.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from .releases import ALWAYS, FIRST_CLASS_CONTEXTS, Span, at_least
from .values import as_unsigned, incompatible

Class = TypeVar("Class", bound=type)

_BOUND: dict[str, type] = {}


def bound(name: str) -> Callable[[Class], Class]:
    """Makes a class known to the table under its name in pyxrt."""

    def register(made: Class) -> Class:
        _BOUND[name] = made
        return made

    return register


@dataclass(frozen=True, slots=True)
class Parameter:
    """`kind` is a bound class's name, or "size", "int", "str", "config", "pointer"."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Form:
    """One overload. `key` says which, for the code behind it; `span` in which releases it is."""

    key: str
    parameters: tuple[Parameter, ...]
    span: Span = ALWAYS

    def text(self, owner: str, release: str) -> str:
        """As pybind11 prints it: names from 2.23 on, arg0, arg1, ... before."""
        named = at_least(release, FIRST_CLASS_CONTEXTS)
        shown = ", ".join(
            f"{p.name if named else f'arg{i}'}: {_SHOWN.get(p.kind, f'pyxrt.{p.kind}')}"
            for i, p in enumerate(self.parameters)
        )
        return f"pyxrt.{owner}({shown})"

    def fit(self, positional: Sequence[object], named: Mapping[str, object]) -> list[object] | None:
        """The values by parameter, converted; None where they do not fit."""
        if len(positional) + len(named) != len(self.parameters):
            return None
        found: list[object] = []
        for index, parameter in enumerate(self.parameters):
            if index < len(positional):
                given = positional[index]
            elif parameter.name in named:
                given = named[parameter.name]
            else:
                return None
            if not _fits(given, parameter.kind):
                return None
            found.append(as_unsigned(given) if parameter.kind == "size" else given)
        return found


def form(key: str, *parameters: str, span: Span = ALWAYS) -> Form:
    """A form from "name:kind" texts."""
    parts = [text.partition(":") for text in parameters]
    return Form(key, tuple(Parameter(name, kind) for name, _, kind in parts), span)


def choose(
    owner: str, release: str, positional: Sequence[object], named: Mapping[str, object]
) -> tuple[str, list[object]]:
    """Which constructor form of `owner` is meant, with its values. Raises TypeError as pybind11 does."""
    forms = [form for form in FORMS[owner] if form.span.has(release)]
    if not named or at_least(release, FIRST_CLASS_CONTEXTS):
        for candidate in forms:
            values = candidate.fit(positional, named)
            if values is not None:
                return candidate.key, values
    texts = tuple(candidate.text(owner, release) for candidate in forms)
    raise incompatible("__init__", texts, *positional, *named.values())


_SHOWN = {
    "size": "int",
    "str": "str",
    "config": "dict[str, int]",
    "pointer": "capsule",
}


def _fits(value: object, kind: str) -> bool:
    match kind:
        case "size":
            return as_unsigned(value) is not None
        case "str":
            return isinstance(value, str)
        case "config":
            return isinstance(value, dict) and all(
                isinstance(key, str) and as_unsigned(item) is not None
                for key, item in cast("dict[object, object]", value).items()
            )
        case "pointer":
            return type(value).__name__ == "PyCapsule"
        case _:
            return isinstance(value, _BOUND[kind])


_NEW = Span(FIRST_CLASS_CONTEXTS)
_ELF_CONTEXT = Span("2.21.75")

FORMS: dict[str, tuple[Form, ...]] = {
    "device": (form("empty"), form("index", "index:size"), form("bdf", "bdf:str")),
    "hw_context": (
        form("empty"),
        form("uuid", "device:device", "uuid:uuid"),
        form("uuid", "device:device", "uuid:uuid", "mode:hw_context.access_mode", span=_NEW),
        form("uuid", "device:device", "uuid:uuid", "cfg_param:config", span=_NEW),
        form("xclbin", "device:device", "xclbin:xclbin", span=_NEW),
        form("xclbin", "device:device", "xclbin:xclbin", "mode:hw_context.access_mode", span=_NEW),
        form("xclbin", "device:device", "xclbin:xclbin", "cfg_param:config", span=_NEW),
        form("path", "device:device", "xclbin_path:str", span=_NEW),
        form("path", "device:device", "xclbin_path:str", "mode:hw_context.access_mode", span=_NEW),
        form("path", "device:device", "xclbin_path:str", "cfg_param:config", span=_NEW),
        form("staged", "device:device", "cfg_param:config", "mode:hw_context.access_mode", span=_NEW),
        form("elf", "device:device", "elf:elf", span=_ELF_CONTEXT),
        form("elf", "device:device", "elf:elf", "cfg_param:config", "mode:hw_context.access_mode", span=_NEW),
    ),
    "kernel": (
        form("device", "device:device", "uuid:uuid", "name:str", "mode:kernel.cu_access_mode"),
        form("device", "device:device", "uuid:uuid", "name:str"),
        form("context", "hw_context:hw_context", "name:str"),
    ),
    "bo": (
        form("root", "device:device", "size:size", "flags:bo.flags", "group:size"),
        form("root", "hwctx:hw_context", "size:size", "flags:bo.flags", "group:size", span=_NEW),
        form("default", "hwctx:hw_context", "size:size", "group:size", span=_NEW),
        form("window", "parent:bo", "size:size", "offset:size"),
    ),
    "xclbin": (form("empty"), form("path", "filename:str"), form("pointer", "top:pointer")),
    "elf": (form("path", "filename:str"), form("pointer", "data:pointer", "size:size")),
    "program": (form("elf", "elf:elf"),),
    "module": (
        form("elf", "elf:elf"),
        form("pointer", "userptr:pointer", "size:size", "uuid:uuid", span=Span("2.20", FIRST_CLASS_CONTEXTS)),
        form("child", "parent:module", "hwctx:hw_context", span=Span("2.20", FIRST_CLASS_CONTEXTS)),
    ),
    "runlist": (form("empty"), form("context", "hwctx:hw_context")),
    "ext.bo": (
        form("pointer", "device:device", "userptr:pointer", "size:size", "access:ext.access_mode"),
        form("pointer", "device:device", "userptr:pointer", "size:size"),
        form("size", "device:device", "size:size", "access:ext.access_mode"),
        form("size", "device:device", "size:size"),
        form("import", "device:device", "pid:size", "export_handle:size"),
        form("size", "hwctx:hw_context", "size:size", "access:ext.access_mode"),
        form("size", "hwctx:hw_context", "size:size"),
        form("import", "hwctx:hw_context", "pid:size", "export_handle:size"),
    ),
    "ext.kernel": (
        form("module", "hwctx:hw_context", "module:module", "name:str"),
        form("name", "hwctx:hw_context", "name:str"),
    ),
}
"""By class; "kernel"'s first two make a hidden context and are deprecated since 2.23."""
