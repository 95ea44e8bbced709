"""The one line that does a command again with the same draws."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any, cast

from .device import RunSettings

# option names that are not their field's name with dashes
_NAMES = {
    "arguments": "arg",
    "inputs": "input",
    "expected": "expected-output",
    "iree_flags": "iree-flag",
    "backend_options": "backend-option",
    "backend_flags": "backend-flag",
    "timeout_s": "timeout",
    "check_cores": "check",
}
_POSITIONAL = ("file", "folder")
_IRRELEVANT = ("output_directory", "trace", "trace_instructions", "record")


def repeat_line(command: str, options: Any, seed: int | None) -> str:
    """`aiepipe COMMAND ...` with all that differs from the defaults, and the seed that was drawn."""
    words = ["aiepipe", command]
    flags: list[str] = []
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.name in _POSITIONAL:
            words += [] if value is None else [str(value)]
        elif isinstance(value, RunSettings):
            flags += _flags(value)
        elif field.name != "seed" and field.name not in _IRRELEVANT and value != field.default:
            flags += _flag(field.name, value)
    if seed is not None:
        flags += ["--seed", str(seed)]
    return shlex.join([*words, *flags])


def _flags(settings: RunSettings) -> list[str]:
    found: list[str] = []
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if value is True and field.name not in _IRRELEVANT:
            found.append("--" + _NAMES.get(field.name, field.name.replace("_", "-")))
        elif value != field.default and field.name not in _IRRELEVANT:
            found += _flag("sync_policy" if field.name == "policy" else field.name, value)
    return found


def _flag(name: str, value: object) -> list[str]:
    option = "--" + _NAMES.get(name, name.replace("_", "-"))
    values = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    return [word for item in values for word in (option, str(item))]
