"""Reads the TOML file of a sweep (docs/sweeps.md): what to vary, on what, and how much of it.

    kernel = "matmul"            # or: files = ["mlir/*.mlir"]
    [grid]
    shape = ["64x64x16", "8x32x16"]
    type = ["i32", "i8:i32"]
    [budget]
    cases = 200

Every fault names the file and the key; an unknown key is a fault.
"""

from __future__ import annotations

import difflib
import itertools
import random
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from .. import dtypes
from ..errors import UsageError
from ..testing.header import read_cases
from ..testing.sweep import MATMUL, MatmulShape, SourceFile, SweepPoint
from ..xrt.policy import named
from .device import DEVICES
from .source import read_input_file, read_source

LARGEST_SPEC_BYTES = 1 << 20
LARGEST_GRID = 10_000_000
_SHAPE = re.compile(r"([0-9]{1,6})x([0-9]{1,6})x([0-9]{1,6})")
_TOP = ("kernel", "files", "device", "timeout", "seed", "grid", "budget")
_PROGRAM = ("shape", "type", "fill", "transpose")
_COMMON = ("flags", "backend", "sync-policy", "repeat", "seed")


@dataclass(frozen=True, slots=True)
class SweepSpec:
    """The points to run, in the order of the grid; `left_out` is how many `budget.cases` cut away."""

    points: tuple[SweepPoint, ...]
    seconds: float | None
    left_out: int


def read_spec(name: str) -> SweepSpec:
    """Reads the file. Raises UsageError."""
    try:
        document = tomllib.loads(read_input_file(name, LARGEST_SPEC_BYTES).decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as fault:
        raise UsageError(f"cannot be read as TOML: {fault}", location=name) from fault
    try:
        return _spec(document, Path(name).parent)
    except UsageError as error:
        raise UsageError(error.message, location=error.location or name, remedy=error.remedy) from error


def _spec(document: Mapping[str, Any], folder: Path) -> SweepSpec:
    _check_keys(document, _TOP, "")
    grid, budget = _table(document, "grid"), _table(document, "budget")
    _check_keys(budget, ("cases", "seconds"), "budget.")
    programs = _programs(document, grid, folder)
    device = document.get("device", "auto")
    if device not in DEVICES:
        raise UsageError(f"device is {device!r}", remedy=f"one of: {', '.join(DEVICES)}")
    timeout = _number(document.get("timeout", 60.0), "timeout")
    axes: list[Sequence[Any]] = [
        programs,
        _axis(grid, "flags", [""], _flags),
        _axis(grid, "backend", ["builtin"], _text),
        _axis(grid, "sync-policy", ["default"], lambda value, key: named(_text(value, key)).name),
        _axis(grid, "repeat", [1], lambda value, key: _whole(value, key, 1)),
        _axis(grid, "seed", [1], lambda value, key: _whole(value, key, 0)),
    ]
    size = 1
    for axis in axes:
        size *= len(axis)
    if size > LARGEST_GRID:
        raise UsageError(f"the grid has {size:,} points; at most {LARGEST_GRID:,} are taken")
    cases = _whole(budget["cases"], "budget.cases", 1) if "cases" in budget else size
    wanted = range(size)
    if cases < size:
        draw = random.Random(_whole(document.get("seed", 1), "seed", 0))  # noqa: S311
        chosen = sorted(draw.sample(wanted, cases))
    else:
        chosen = list(wanted)
    keep, points = set(chosen), list[SweepPoint]()
    for index, (program, flags, backend, policy, repeat, seed) in enumerate(itertools.product(*axes)):
        if index in keep:
            points.append(SweepPoint(program, backend, flags, policy, repeat, seed, device, timeout))
    seconds = _number(budget["seconds"], "budget.seconds") if "seconds" in budget else None
    return SweepSpec(tuple(points), seconds, size - len(points))


# --------------------------------------------------------------------------- programs


def _programs(
    document: Mapping[str, Any], grid: Mapping[str, Any], folder: Path
) -> Sequence[MatmulShape | SourceFile]:
    if ("kernel" in document) == ("files" in document):
        raise UsageError("give either kernel or files", remedy='kernel = "matmul", or files = ["a.mlir"]')
    if "files" in document:
        _check_keys(grid, _COMMON, "grid.")
        return _files(_list(document["files"], "files"), folder)
    if document["kernel"] != MATMUL:
        raise UsageError(f"there is no kernel {document['kernel']!r}", remedy=f"it is: {MATMUL}")
    _check_keys(grid, (*_PROGRAM, *_COMMON), "grid.")
    if "shape" not in grid:
        raise UsageError("grid.shape is missing", remedy='for example shape = ["64x64x16"]: m x n x k')
    shapes = _axis(grid, "shape", [], _shape)
    types = _axis(grid, "type", ["i32"], _types)
    fills = _axis(grid, "fill", [0], _fill)
    transposes = _axis(grid, "transpose", [""], _transpose)
    return [
        MatmulShape(m, n, k, element, accumulator, fill, transpose)
        for (m, n, k), (element, accumulator), fill, transpose in itertools.product(
            shapes, types, fills, transposes
        )
    ]


def _files(patterns: Sequence[Any], folder: Path) -> Sequence[SourceFile]:
    """Each case of each file, or the file itself where it states none."""
    found: list[SourceFile] = []
    for pattern in patterns:
        text = _text(pattern, "files")
        paths = sorted(folder.glob(text)) if not Path(text).is_absolute() else [Path(text)]
        if not paths:
            raise UsageError(f"files: nothing is called {text!r} in {folder}")
        for path in paths:
            source = read_source(str(path))
            cases = [c for c in read_cases(source.file, source.text) if not c.errors]
            found += [
                SourceFile(source.file, source.text, c.function, c.inputs, c.outputs) for c in cases
            ] or [SourceFile(source.file, source.text)]
    return found


def _shape(value: Any, key: str) -> tuple[int, int, int]:
    match = _SHAPE.fullmatch(_text(value, key))
    if match is None:
        raise UsageError(f"{key}: {value!r} is no shape", remedy="m x n x k, as in 64x64x16")
    m, n, k = map(int, match.groups())
    return m, n, k


def _types(value: Any, key: str) -> tuple[str, str | None]:
    element, colon, accumulator = _text(value, key).partition(":")
    for name in (element, accumulator) if colon else (element,):
        if not dtypes.is_known(name):
            raise UsageError(f"{key}: there is no type {name!r}", remedy="as in i32, i8:i32, bf16:f32")
    return element, accumulator or None


def _fill(value: Any, key: str) -> str | None:
    if value == "argument":
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise UsageError(f"{key}: {value!r} is no fill", remedy='a number, or "argument"')
    return str(value)


def _transpose(value: Any, key: str) -> str:
    if value not in ("", "a", "b", "ab"):
        raise UsageError(f"{key}: {value!r}", remedy='one of: "", "a", "b", "ab"')
    return value


# --------------------------------------------------------------------------- plain values


def _axis(
    grid: Mapping[str, Any], name: str, default: Sequence[Any], read: Callable[[Any, str], Any]
) -> Sequence[Any]:
    """The values of one axis, each read; a single value is a list of one."""
    given = grid.get(name, default)
    values = _list(given, f"grid.{name}")
    if not values:
        raise UsageError(f"grid.{name} is empty")
    return [read(value, f"grid.{name}") for value in values]


def _list(value: Any, key: str) -> Sequence[Any]:
    if isinstance(value, dict):
        raise UsageError(f"{key} is a table, not a list")
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name, {})
    if not isinstance(found, dict):
        raise UsageError(f"{name} is no table", remedy=f"write it as [{name}]")
    return cast("dict[str, Any]", found)


def _check_keys(table: Mapping[str, Any], known: Sequence[str], prefix: str) -> None:
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise UsageError(f"unknown key {prefix}{key}", remedy=f"{hint}known: {', '.join(known)}")


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{key}: {value!r} is no text")
    return value


def _whole(value: Any, key: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 63:
        raise UsageError(f"{key}: {value!r} is no whole number from {least}")
    return value


def _number(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise UsageError(f"{key}: {value!r} is no number of seconds")
    return float(value)


def _flags(value: Any, key: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(_text(value, key)))
    except ValueError as fault:
        raise UsageError(f"{key}: {fault}") from fault
