"""How close is equal, with where the number comes from.

Integers and everything that only moves, fills or chooses data are exact. A float result may be off by
what rounding can explain, *per element*: the reference carries a bound through the program.

For a sum of n terms in an accumulator with unit roundoff u, rounded r times on the way, the errors
u * (partial sum) add up. Worst case: (r + 1) u S, with S the sum of |terms|. They do not all point the
same way, though: Hoeffding's inequality on independent errors (Higham and Mary, "A New Approach to
Probabilistic Rounding Error Analysis", 2019) gives lambda * u * sqrt(sum of squared partial sums), which
we take as lambda u sqrt(r + 1) sqrt(result^2 + start^2 + sum of squared terms), lambda = 4. The bound is
the smaller of the two, plus the smallest normal number (a device may flush below it).

How often an accumulator rounds is the assumption: f32 and f64 at every term; f16, bf16 and f8 once per 32
terms, since no backend we know keeps a 16-bit accumulator within a K tile (iree-amd-aie and mlir-aie
matmuls spill to bf16 between tiles of 32 or more). A plain 1e-2 refuses 7.9 % of right elements there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import UsageError
from ..program import TensorType
from ..verdict import Tolerance
from .rounding import SMALLEST_NORMAL, UNIT_ROUNDOFF, Float64, widened

LAMBDA = 4.0
NARROW_TILE = 32
EXACT = Tolerance(0.0, 0.0, "exact")


def roundings(length: int, element: str) -> int:
    """How often an accumulator of this type is assumed to round while it sums `length` terms."""
    return length if UNIT_ROUNDOFF[element] <= UNIT_ROUNDOFF["f32"] else -(-length // NARROW_TILE)


def sum_bound(
    total: Float64, start: Float64, sums: tuple[Float64, Float64], *, length: int, element: str
) -> Float64:
    """The bound above, per element: `sums` are those of |terms| and of terms squared."""
    sizes, squares = sums
    unit, steps = UNIT_ROUNDOFF[element], roundings(length, element) + 1
    with np.errstate(all="ignore"):
        known, begin = (np.where(np.isfinite(v), v, 0.0) for v in (total, start))
        likely = LAMBDA * math.sqrt(steps) * np.sqrt(known**2 + begin**2 + squares)
        worst = steps * (sizes + np.abs(begin))
        return np.asarray(unit * np.minimum(likely, worst) + SMALLEST_NORMAL[element], np.float64)


def derived(type_: TensorType, bound: Float64 | None) -> Tolerance:
    """The tolerance that goes with a bound of the reference (`compare` takes the bound itself too)."""
    if bound is None or not bound.size or not float(bound.max()):
        return EXACT
    return Tolerance(
        0.0,
        float(bound.max()),
        f"derived per element from {type_.element} rounding along the program (largest shown)",
    )


def by_type(element: str, length: int = 1) -> Tolerance:
    """For numbers that no reference gave: relative, by type and how many terms an element sums."""
    if not dtypes.is_float(element):
        return EXACT
    unit = UNIT_ROUNDOFF[element]
    relative = LAMBDA * math.sqrt(roundings(length, element) + 1) * unit
    return Tolerance(relative, SMALLEST_NORMAL[element], f"{element} rounding, sums of {length} terms")


def parse_tolerance(text: str) -> Tolerance:
    """ "exact", "rtol=1e-3", "atol=1e-6" or both with a comma, as numpy.allclose means them.

    Raises UsageError.
    """
    if text.strip() == "exact":
        return EXACT
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = (word.strip() for word in part.partition("="))
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if name not in ("rtol", "atol") or name in found or not 0 <= value < math.inf:
            raise UsageError(
                f"{text!r} is no tolerance", remedy="exact, rtol=1e-3, atol=1e-6, or rtol=1e-3,atol=1e-6"
            )
        found[name] = value
    return Tolerance(found.get("rtol", 0.0), found.get("atol", 0.0), "as asked")


def ulp_distance(got: npt.NDArray[Any], want: npt.NDArray[Any], element: str) -> Float64:
    """Representable numbers between got and want, per element; NaN against NaN is 0, else inf.

    Both zeros are one number here.
    """
    bits = dtypes.storage_bits(element)
    both = np.isnan(widened(got)) & np.isnan(widened(want))
    one = np.isnan(widened(got)) ^ np.isnan(widened(want))
    distance = np.abs(_ordinal(got, bits) - _ordinal(want, bits))
    return np.where(both, 0.0, np.where(one, np.inf, distance))


def _ordinal(values: npt.NDArray[Any], bits: int) -> Float64:
    """Numbers in the order of the reals, one apart: sign and magnitude turned into a count.

    As float64: of 64-bit floats, distances beyond 2^53 are approximate.
    """
    raw = np.ascontiguousarray(values).view(np.dtype(f"u{bits // 8}")).astype(np.uint64)
    raw = raw.reshape(values.shape)  # numpy makes a scalar contiguous by giving it an axis
    magnitude = (raw & np.uint64((1 << (bits - 1)) - 1)).astype(np.int64)
    negative = (raw >> np.uint64(bits - 1)).astype(np.bool_)
    return np.where(negative, -magnitude, magnitude).astype(np.float64)
