"""Values as people write them on the command line: the syntax of iree-run-module, read strictly.

    64x16xi32=1           every element 1              3, 1.5, nan, true     a scalar
    2x2xi8=[[-1 2][3 -4]] a list, row major            i32=5                 a scalar with its type
    2x2xi32=1,2,3,4       the same without brackets    4x0xf32               zeros (here: nothing)
    @a.npy                an array with its own type   64x16xi32=@a.npy      the same, checked
    64x16xi32=@a.bin      raw bytes, exactly as many as the type has
    64x16xi32=random(7)   drawn from that seed, as `random_inputs` draws the first of its arrays

and, for a kernel's arguments, `in:`, `out:` or `inout:` before one of these. Integers may be hex and may
use the unsigned range of their width; floats follow C's strtod (`0x1.8p3`, `inf`, `nan`), as they do in
iree-run-module (iree/hal/buffer_view_util and string_util.c).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import UsageError
from ..program import TensorType
from .npy import read_npy
from .rounding import stored

Array = npt.NDArray[Any]
ReadFile = Callable[[str], bytes]
Nested = str | list["Nested"]

_TYPE = re.compile(r"((?:[0-9?]+x)*)([a-z][A-Za-z0-9<>]*)")
_TOKEN = re.compile(r"[\[\]]|[^\s,\[\]]+")
_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
_RANDOM = re.compile(r"random\(([0-9]{1,18})\)")
_TRUTH = {"true": 1, "false": 0}
_MAX_DIGITS = 64  # no 64-bit integer is longer, in any base we read
_MAX_ELEMENTS = 1 << 31
_DIRECTIONS = ("in", "out", "inout")


@dataclass(frozen=True, slots=True)
class ValueSpec:
    """A value as written. At most one of `elements`, `file` and `seed` is there; none means zeros.

    `type` is None where the text does not give it; `elements` may be one number that stands for all.
    """

    text: str
    type: TensorType | None
    elements: tuple[str, ...] | None = None
    file: str | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """A kernel argument: `direction` is "in", "out" or "inout". For "out", `value.file` is where the
    result goes, not where the value comes from."""

    direction: str
    value: ValueSpec

    @property
    def reads(self) -> bool:
        return self.direction != "out"

    @property
    def writes(self) -> bool:
        return self.direction != "in"


def parse_type(text: str) -> TensorType:
    """ "64x16xi32" as a type. Raises UsageError for an unknown element type or a dynamic dimension."""
    match = _TYPE.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not a type", remedy="write it as in 64x16xi32")
    return _type(match, text)


def parse_value(text: str) -> ValueSpec:
    """Reads one value in the syntax above. Raises UsageError."""
    spec = text.strip()
    if spec.startswith("@"):
        return ValueSpec(text, None, file=_file_name(spec, text))
    left, equals, right = spec.partition("=")
    match = _TYPE.fullmatch(left.strip())
    if equals:
        if match is None:
            raise UsageError(
                f"{left.strip()!r} is not a type, in {text!r}", remedy="write it as in 64x16xi32=1"
            )
        type_ = _type(match, text)
        contents = right.strip()
        if contents.startswith("@"):
            return ValueSpec(text, type_, file=_file_name(contents, text))
        drawn = _RANDOM.fullmatch(contents)
        if drawn is not None:
            return ValueSpec(text, type_, seed=int(drawn.group(1)))
        elements = _elements(contents, type_, text)
        return ValueSpec(text, type_, elements=elements if elements or type_.count == 0 else None)
    if match is not None and spec not in ("nan", "inf", "infinity", *_TRUTH):
        return ValueSpec(text, _type(match, text))
    if not re.fullmatch(r"[^\s,\[\]]+", spec):
        raise UsageError(
            f"cannot read the value {text!r}", remedy="a list needs its type before it: 2x2xi32=1,2,3,4"
        )
    return ValueSpec(text, None, elements=(spec,))


def parse_argument(text: str) -> ArgumentSpec:
    """Reads `in:VALUE`, `out:TYPE[=@file]` or `inout:VALUE`. Raises UsageError."""
    direction, colon, rest = text.partition(":")
    if not colon or direction not in _DIRECTIONS:
        raise UsageError(
            f"the argument {text!r} does not begin with in:, out: or inout:",
            remedy="for example --arg in:64x16xi32=@a.npy --arg out:64x64xi32=@c.npy",
        )
    value = parse_value(rest)
    if direction == "out" and value.type is None:
        raise UsageError(f"the output {text!r} has no type", remedy="write it as in out:64x64xi32=@c.npy")
    if direction == "out" and (value.elements is not None or value.seed is not None):
        raise UsageError(
            f"the output {text!r} has a value", remedy="use inout: for a buffer that is read too"
        )
    return ArgumentSpec(direction, value)


def read_file(name: str) -> bytes:
    """The bytes of a file; "-" is standard input. Raises UsageError when it cannot be read."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error


def resolve(
    spec: ValueSpec, wanted: TensorType | None, name: str, *, read: ReadFile = read_file
) -> tuple[TensorType, Array]:
    """The value as an array of shape `type.shape` and `dtypes.numpy_dtype(type.element)`.

    `wanted` is the type that the program gives `name` ("argument 0"); None when nothing is known about it.
    Raises UsageError naming the argument, what was expected and what was given.
    """
    if wanted is not None and spec.type is not None and not same_type(spec.type, wanted):
        raise UsageError(f"{name} is {wanted}, but {spec.text!r} gives {spec.type}")
    type_ = wanted if wanted is not None else spec.type
    if spec.file is not None:
        return _from_file(spec.file, type_, name, read)
    if type_ is None:
        type_ = _guess(spec)
    if spec.type is None and spec.elements is not None and type_.shape:
        raise UsageError(
            f"{name} is {type_}, but {spec.text!r} is a scalar",
            remedy=f"write {type_}={spec.elements[0]} to give every element that value",
        )
    check_size(type_, name)
    if spec.seed is not None:
        return type_, random_inputs([type_], spec.seed)[0]
    if spec.elements is None:
        return type_, np.zeros(type_.shape, dtypes.numpy_dtype(type_.element))
    return type_, _array(spec.elements, type_, name)


def same_type(left: TensorType, right: TensorType) -> bool:
    """Equal up to signedness, which numbers in memory do not have (si8 and ui8 are i8)."""
    return left.shape == right.shape and dtypes.canonical(left.element) == dtypes.canonical(right.element)


def check_size(type_: TensorType, name: str) -> None:
    """Raises UsageError for an array too large to be held in memory here."""
    if type_.count > _MAX_ELEMENTS:
        raise UsageError(f"{name} is {type_}: {type_.count} elements are more than we can hold")


def load(spec: str, wanted: TensorType | None, name: str, *, read: ReadFile = read_file) -> Array:
    """`parse_value` and `resolve` in one, the array only."""
    return resolve(parse_value(spec), wanted, name, read=read)[1]


# --------------------------------------------------------------------------- random values


_EXTREME_SHARE = 1 / 16
_SMALL = 8
_ZERO_SHARE = 1 / 16


def random_inputs(types: Sequence[TensorType], seed: int) -> tuple[Array, ...]:
    """One array per type, the same for the same seed; an array does not depend on the other types.

    Integers: half uniform in [-8, 8], half uniform over the whole range of the type (so that narrow
    loads, sign extension and wrap-around all matter), and one in 16 one of the extremes -2^(n-1),
    2^(n-1)-1, -1, 0, 1. i1: even odds. Floats: N(0, 1) rounded once to the type, one in 16 a zero, half
    of those negative.
    """
    return tuple(_random(type_, np.random.default_rng([seed, i])) for i, type_ in enumerate(types))


def _random(type_: TensorType, draw: np.random.Generator) -> Array:
    check_size(type_, "a random input")
    element, shape = dtypes.canonical(type_.element), type_.shape
    if dtypes.is_float(element):
        return stored(_random_float(shape, draw), element)
    if not dtypes.is_integer(element):
        real, imaginary = _random_float(shape, draw), _random_float(shape, draw)
        return (real + 1j * imaginary).astype(dtypes.numpy_dtype(element))
    if element == "i1":
        return draw.integers(0, 2, shape).astype(np.bool_)
    if element == "index":
        return draw.integers(0, _SMALL, shape, dtype=np.int64)
    bits = int(element[1:])
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    small = draw.integers(max(low, -_SMALL), min(high, _SMALL), shape, dtype=np.int64, endpoint=True)
    whole = draw.integers(low, high, shape, dtype=np.int64, endpoint=True)
    extreme = draw.choice(np.array([low, high, -1, 0, 1], np.int64), shape)
    kind = draw.random(shape)
    values = np.where(kind < _EXTREME_SHARE, extreme, np.where(kind < 0.5, whole, small))
    return values.astype(dtypes.numpy_dtype(element))


def _random_float(shape: tuple[int, ...], draw: np.random.Generator) -> npt.NDArray[np.float64]:
    values = draw.standard_normal(shape)
    zeros = np.where(draw.random(shape) < 0.5, -0.0, 0.0)
    return np.where(draw.random(shape) < _ZERO_SHARE, zeros, values)


# --------------------------------------------------------------------------- reading


def _type(match: re.Match[str], text: str) -> TensorType:
    dims, element = match.group(1), match.group(2)
    if not dtypes.is_known(element):
        raise UsageError(
            f"unknown element type {element!r} in {text!r}", remedy=f"one of: {', '.join(dtypes.NAMES)}"
        )
    if "?" in dims:
        raise UsageError(f"{text!r} has a dynamic dimension; give its size")
    sizes = dims.split("x")[:-1]
    if any(len(size) > 10 for size in sizes):
        raise UsageError(f"a dimension of {text!r} is too large")
    return TensorType(tuple(map(int, sizes)), element)


def _file_name(contents: str, text: str) -> str:
    if len(contents) == 1:
        raise UsageError(f"no file name after @ in {text!r}")
    return contents[1:]


def _elements(contents: str, type_: TensorType, text: str) -> tuple[str, ...]:
    """The numbers of a list, row major, checked against the shape where brackets are used."""
    stack: list[list[Nested]] = [[]]
    for part in _TOKEN.findall(contents):
        if part == "[":
            if len(stack) > len(type_.shape) + 1:
                raise UsageError(f"more brackets than {type_} has dimensions, in {text!r}")
            stack.append([])
            stack[-2].append(stack[-1])
        elif part == "]":
            if len(stack) == 1:
                raise UsageError(f"a closing bracket too many in {text!r}")
            stack.pop()
        else:
            stack[-1].append(part)
    if len(stack) != 1:
        raise UsageError(f"a bracket is not closed in {text!r}")
    top = stack[0]
    if len(top) == 1 and isinstance(top[0], list):
        top = top[0]
    if any(isinstance(item, list) for item in top):
        shape = _shape_of(top)
        if shape is None or shape not in (type_.shape, type_.shape[1:] if type_.shape[:1] == (1,) else None):
            raise UsageError(f"the brackets in {text!r} do not have the shape of {type_}")
    flat = tuple(_flat(top))
    if flat and len(flat) not in (1, type_.count):
        raise UsageError(f"{text!r} has {len(flat)} elements, {type_} needs {type_.count} (or one for all)")
    return flat


def _shape_of(items: Sequence[Nested]) -> tuple[int, ...] | None:
    """The shape of nested lists; None when they are ragged."""
    inner = {_shape_of(item) if isinstance(item, list) else () for item in items}
    if len(inner) != 1:
        return None if inner else (0,)
    (shape,) = inner
    return None if shape is None else (len(items), *shape)


def _flat(items: Sequence[Nested]) -> list[str]:
    flat: list[str] = []
    for item in items:
        if isinstance(item, list):
            flat += _flat(item)
        else:
            flat.append(item)
    return flat


def _guess(spec: ValueSpec) -> TensorType:
    """The type of a bare scalar that nothing else determines: i1, i32 or f32."""
    token = spec.elements[0] if spec.elements else "0"
    if token in _TRUTH:
        return TensorType((), "i1")
    return TensorType((), "i32" if _INTEGER.fullmatch(token) else "f32")


def _array(tokens: Sequence[str], type_: TensorType, name: str) -> Array:
    element = dtypes.canonical(type_.element)
    if dtypes.is_integer(element):
        values = np.array([_integer(t, element, name) for t in tokens], np.int64)
        flat = values.astype(dtypes.numpy_dtype(element))
    elif dtypes.is_float(element):
        flat = stored(np.array([_float(t, element, name) for t in tokens], np.float64), element)
        for token, value in zip(tokens, flat.astype(np.float64), strict=True):
            if not math.isfinite(value) and "n" not in token.lower():
                raise UsageError(f"{name}: {token} is out of the range of {element}")
    else:
        flat = np.array([_complex(t, name) for t in tokens], dtypes.numpy_dtype(element))
    if type_.count and len(tokens) == 1:
        flat = np.repeat(flat, type_.count)
    return flat[: type_.count].reshape(type_.shape)


def _integer(token: str, element: str, name: str) -> int:
    """The value as stored: sign-extended, so that 255 as i8 is -1."""
    if element == "i1" and token in _TRUTH:
        return _TRUTH[token]
    if not _INTEGER.fullmatch(token) or len(token) > _MAX_DIGITS:
        raise UsageError(f"{name}: {token!r} is not an integer, and the type is {element}")
    digits = token.lstrip("+-")
    value = int(digits, 16 if digits[:2].lower() == "0x" else 10) * (-1 if token[0] == "-" else 1)
    bits = 64 if element == "index" else int(element[1:])
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise UsageError(f"{name}: {token} is out of the range of {element}")
    if element == "i1":
        return abs(value)
    return value - (1 << bits) if value >= 1 << (bits - 1) else value


def _float(token: str, element: str, name: str) -> float:
    try:
        return float.fromhex(token) if "0x" in token.lower() else float(token.replace("_", "!"))
    except (ValueError, OverflowError):
        raise UsageError(f"{name}: {token!r} is not a number, and the type is {element}") from None


def _complex(token: str, name: str) -> complex:
    try:
        return complex(token.replace("i", "j") if token.endswith("i") else token)
    except ValueError:
        raise UsageError(f"{name}: {token!r} is not a complex number (as in 1.5-2j)") from None


def _from_file(file: str, type_: TensorType | None, name: str, read: ReadFile) -> tuple[TensorType, Array]:
    data = read(file)
    if file.endswith(".npy"):
        return read_npy(data, type_, name, file)
    if type_ is None:
        raise UsageError(
            f"{name}: the raw bytes of {file} have no type", remedy=f"write it before: 64x64xi32=@{file}"
        )
    if len(data) != type_.size_bytes:
        raise UsageError(f"{name} is {type_}, which has {type_.size_bytes} bytes, but {file} has {len(data)}")
    return type_, dtypes.unpack(data, type_.element, type_.shape)
