"""One result against what was expected of it: which elements are wrong, what they hold, and where.

Exact comparison is by bits (so -0 is not 0), except that any NaN equals any NaN. With a tolerance, zeros
are equal, infinities must agree, and `bound` (per element, from the reference) takes the place of the
tolerance's absolute part. Places are told in the array's indices and in the 64-byte lines of its buffer,
since cache lines are what a missing sync corrupts.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import UsageError
from ..program import TensorType
from ..verdict import Agreement, Comparison, Mismatch, MismatchGroup, Tolerance
from .heat import heat_map
from .map import draw
from .rounding import Float64, widened
from .tolerance import EXACT, ulp_distance

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

LINE_BYTES = 64
_MAX_LINES_LISTED = 4096
_PREVIEW = 4


def compare(
    name: str,
    got: Array,
    want: Array,
    type_: TensorType,
    *,
    tolerance: Tolerance = EXACT,
    bound: Float64 | None = None,
    previous: Array | None = None,
    poison: bytes | None = None,
    against: str = "numpy",
    offset_bytes: int = 0,
) -> Comparison:
    """Compares two arrays of `type_`; `name` is "result 0".

    `previous` is what the buffer held before the run, `poison` the bytes that the host repeated over it,
    `offset_bytes` where in its buffer the array begins. Raises UsageError when an array is not of the type.
    """
    for what, array in (("got", got), ("expected", want)):
        if array.shape != type_.shape or array.dtype != dtypes.numpy_dtype(type_.element):
            described = "x".join([*map(str, array.shape), array.dtype.name])
            raise UsageError(f"{name} is {type_}, but the {what} array is {described}")
    wrong = wrong_elements(got, want, type_, tolerance=tolerance, bound=bound)
    mismatch = None
    if wrong.any():
        kinds = _Kinds(previous, poison, type_, offset_bytes).split(got, wrong)
        groups = tuple(_group(kind, got, want, mask, type_) for kind, mask in kinds)
        mismatch = _mismatch(
            wrong, groups, lines_of(wrong, type_, offset_bytes), _largest_error(got, want, wrong)
        )
        mismatch = dataclasses.replace(mismatch, heat=heat_map(wrong, kinds))
    agreement = Agreement.PASS if mismatch is None else Agreement.FAIL
    numbers = _statistics(got, want, type_, bound)
    return Comparison(name, type_, agreement, tolerance, against, mismatch, preview(got, type_), numbers)


def wrong_elements(
    got: Array,
    want: Array,
    type_: TensorType,
    *,
    tolerance: Tolerance = EXACT,
    bound: Float64 | None = None,
) -> Mask:
    """Where `got` is wrong, in the shape of the arrays."""
    if not dtypes.is_integer(type_.element):
        both_nan = is_nan(got) & is_nan(want)
        if bound is None and tolerance.exact:
            return ~(same_bits(got, want) | both_nan)
        left, right = (v.astype(np.complex128) for v in (got, want))
        allowed = tolerance.absolute if bound is None else bound
        with np.errstate(invalid="ignore", over="ignore"):
            close = np.abs(left - right) <= allowed + tolerance.relative * np.abs(right)
        return ~((close & np.isfinite(right)) | (left == right) | both_nan)
    if bound is None and tolerance.exact:
        return got != want
    allowed = np.asarray(tolerance.absolute if bound is None else np.ceil(bound))
    left, right = (v.astype(np.float64) for v in (got, want))
    return (got != want) & ~(np.abs(left - right) <= allowed + tolerance.relative * np.abs(right))


def same_bits(left: Array, right: Array) -> Mask:
    """Elementwise equality of the bytes in memory."""
    size = left.dtype.itemsize
    one, other = (
        np.frombuffer(np.ascontiguousarray(v).tobytes(), np.uint8).reshape(*v.shape, size)
        for v in (left, right)
    )
    return np.asarray((one == other).all(axis=-1))


def is_nan(array: Array) -> Mask:
    """NaN of any float or complex type."""
    return np.isnan(array if array.dtype.kind == "c" else widened(array))


def lines_of(wrong: Mask, type_: TensorType, offset_bytes: int = 0) -> tuple[npt.NDArray[np.int64], int]:
    """The 64-byte lines of the buffer with a wrong element, and how many have nothing else.

    Lines are counted from the start of the buffer, which is aligned (XRT buffers are, to a page).
    """
    bits = dtypes.storage_bits(type_.element)
    number = np.arange(wrong.size, dtype=np.int64)
    flat = wrong.reshape(-1)
    first = (number * bits // 8 + offset_bytes) // LINE_BYTES
    last = (((number + 1) * bits - 1) // 8 + offset_bytes) // LINE_BYTES
    # an element may straddle two lines where the offset is odd: it counts in both
    straddles = last != first
    lines = np.concatenate([first, last[straddles]])
    states = np.concatenate([flat, flat[straddles]])
    base = int(lines.min(initial=offset_bytes // LINE_BYTES))
    elements = np.bincount(lines - base)
    bad = np.bincount(lines - base, weights=states)
    return np.flatnonzero(bad) + base, int(np.count_nonzero((bad == elements) & (elements > 0)))


def preview(array: Array, type_: TensorType) -> str:
    """The array in a few words: "all 39", or its first elements."""
    if not array.size:
        return "no elements"
    flat = array.reshape(-1)
    if not type_.shape:
        return show(flat[0], type_.element)
    if array.size > 1 and bool(same_bits(flat, np.broadcast_to(flat[:1], flat.shape)).all()):
        return f"all {show(flat[0], type_.element)}"
    shown = " ".join(show(v, type_.element) for v in flat[:_PREVIEW])
    return shown if flat.size <= _PREVIEW else f"{shown} ... {show(flat[-1], type_.element)}"


def show(value: Any, element: str) -> str:
    """One element for people. -0 and NaN show as such."""
    if dtypes.is_float(element):
        return f"{float(value):.6g}" if element not in ("f64", "f32") else f"{float(value):.9g}"
    if dtypes.is_integer(element):
        return str(bool(value)).lower() if element == "i1" else str(int(value))
    return str(complex(value))


# --------------------------------------------------------------------------- what wrong elements hold


class _Kinds:
    """Sorts wrong elements by what they hold; the first kind that fits counts."""

    def __init__(self, previous: Array | None, poison: bytes | None, type_: TensorType, offset: int) -> None:
        self._masks: list[tuple[str, Array]] = []
        if poison:
            self._masks.append(("poison", poison_array(poison, type_, offset)))
        self._masks.append(("zero", np.zeros(type_.shape, dtypes.numpy_dtype(type_.element))))
        if previous is not None:
            self._masks.append(("old value", previous))

    def split(self, got: Array, wrong: Mask) -> list[tuple[str, Mask]]:
        left = wrong.copy()
        found: list[tuple[str, Mask]] = []
        for kind, held in self._masks:
            mask = left & same_bits(got, held)
            if mask.any():
                found.append((kind, mask))
                left &= ~mask
        if left.any():
            found.append(("other", left))
        return found


def poison_array(poison: bytes, type_: TensorType, offset_bytes: int = 0) -> Array:
    """What an array at `offset_bytes` holds when the host repeated `poison` over its buffer."""
    phase = offset_bytes % len(poison)
    repeats = -(-(type_.size_bytes + phase) // len(poison))
    return dtypes.unpack((poison * repeats)[phase : phase + type_.size_bytes], type_.element, type_.shape)


# --------------------------------------------------------------------------- where


def _mismatch(
    wrong: Mask,
    groups: tuple[MismatchGroup, ...],
    lines: tuple[npt.NDArray[np.int64], int],
    largest_error: float | None,
) -> Mismatch:
    places = np.argwhere(wrong)
    touched, whole = lines
    return Mismatch(
        count=len(places),
        total=wrong.size,
        first=_index(places[0]),
        last=_index(places[-1]),
        box_low=_index(places.min(axis=0)),
        box_high=_index(places.max(axis=0)),
        groups=groups,
        touched_lines=len(touched),
        whole_lines=whole,
        map=draw(wrong),
        largest_error=largest_error,
        line_numbers=_index(touched[:_MAX_LINES_LISTED]),
        batches=_batches(wrong),
    )


def _group(kind: str, got: Array, want: Array, mask: Mask, type_: TensorType) -> MismatchGroup:
    at = _index(np.argwhere(mask)[0])
    return MismatchGroup(
        kind, int(mask.sum()), at, show(got[at], type_.element), show(want[at], type_.element)
    )


def _batches(wrong: Mask) -> tuple[tuple[tuple[int, ...], int], ...]:
    if wrong.ndim < 3:
        return ()
    counts = wrong.sum(axis=(-2, -1))
    return tuple((_index(at), int(counts[tuple(at)])) for at in np.argwhere(counts))


def _index(numbers: npt.NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(int(n) for n in numbers)


def _largest_error(got: Array, want: Array, wrong: Mask) -> float | None:
    with np.errstate(all="ignore"):
        if got.dtype.kind == "c":
            errors = np.abs(got[wrong] - want[wrong]).astype(np.float64)
        else:
            errors = np.abs(got[wrong].astype(np.float64) - want[wrong].astype(np.float64))
    known = errors[np.isfinite(errors)]
    return float(known.max()) if known.size else None


def _statistics(got: Array, want: Array, type_: TensorType, bound: Float64 | None) -> dict[str, float]:
    """For floats: errors in absolute terms, in ulp, and as a share of what rounding may explain."""
    if not dtypes.is_float(type_.element) or not got.size:
        return {}
    with np.errstate(all="ignore"):
        errors = np.abs(widened(got) - widened(want))
    known = np.isfinite(errors)
    distance = ulp_distance(got, want, type_.element)
    near = distance[np.isfinite(distance)]
    found = {
        "largest error": float(errors[known].max(initial=0.0)),
        "rms error": math.sqrt(float((errors[known] ** 2).mean())) if known.any() else 0.0,
        "largest ulp": float(near.max(initial=0.0)),
        "mean ulp": float(near.mean()) if near.size else 0.0,
    }
    if bound is not None:
        share = errors[known & (bound > 0)] / bound[known & (bound > 0)]
        found["largest share of the bound"] = float(share.max(initial=0.0))
    return found
