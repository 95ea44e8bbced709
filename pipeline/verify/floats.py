"""Float arithmetic of arith and math, in float64 before the one rounding to the op's type.

For +, -, *, / and sqrt that is what IEEE asks of the narrower types (53 >= 2p + 2; Figueroa, "When is
double rounding innocuous?", 1995).
"""

from __future__ import annotations

import math

import numpy as np

from .integers import RELATIONS, predicate
from .operation import Call, Number, Operation, plain, truth
from .rounding import Float64

_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip


def _compare(call: Call) -> Number:
    name = predicate(call, _PREDICATES)
    left, right = call.operands
    unordered = np.isnan(left) | np.isnan(right)
    if name in ("false", "true"):
        return truth(np.full(unordered.shape, name == "true"))
    if name in ("ord", "uno"):
        return truth(unordered == (name == "uno"))
    holds = RELATIONS[name[1:]](left, right)
    return truth((holds | unordered) if name[0] == "u" else (holds & ~unordered))


def _minimum(left: Float64, right: Float64) -> Float64:
    """minimumf: NaN wins, and -0 is below +0 (numpy leaves that open)."""
    lower = np.minimum(left, right)
    return np.where((left == 0) & (right == 0), np.where(np.signbit(left), left, right), lower)


def _maximum(left: Float64, right: Float64) -> Float64:
    return -_minimum(-left, -right)


def _minimum_number(left: Float64, right: Float64) -> Float64:
    """minnumf: NaN loses. Which of two zeros it is, LLVM leaves open and numpy to the operands' order; here,
    as in IEEE 754-2019's minimumNumber and in our backend's code, -0 is below +0."""
    return np.where(np.isnan(left), right, np.where(np.isnan(right), left, _minimum(left, right)))


def _maximum_number(left: Float64, right: Float64) -> Float64:
    return -_minimum_number(-left, -right)


def _clamp(value: Float64, low: Float64, high: Float64) -> Float64:
    return np.minimum(np.maximum(value, low), high)


def _round_away(value: Float64) -> Float64:
    """math.round: halves away from zero (np.round goes to even)."""
    whole = np.trunc(value)
    return np.copysign(np.where(np.abs(value - whole) >= 0.5, np.abs(whole) + 1.0, np.abs(whole)), value)


def _error_function(value: Float64) -> Float64:
    flat: list[float] = value.reshape(-1).tolist()
    return np.array([math.erf(v) for v in flat], np.float64).reshape(value.shape)


def _error_complement(value: Float64) -> Float64:
    flat: list[float] = value.reshape(-1).tolist()
    return np.array([math.erfc(v) for v in flat], np.float64).reshape(value.shape)


def _reciprocal_root(value: Float64) -> Float64:
    return 1.0 / np.sqrt(value)


def _fused(left: Float64, right: Float64, addend: Float64) -> Float64:
    return left * right + addend


def _integer_power(value: Float64, exponent: Number) -> Float64:
    return np.power(value, exponent.astype(np.float64))


def _is_nan(value: Float64) -> Number:
    return truth(np.isnan(value))


def _is_infinite(value: Float64) -> Number:
    return truth(np.isinf(value))


def _is_finite(value: Float64) -> Number:
    return truth(np.isfinite(value))


TABLE: dict[str, Operation] = {
    "arith.addf": plain(np.add),
    "arith.subf": plain(np.subtract),
    "arith.mulf": plain(np.multiply),
    "arith.divf": plain(np.divide),
    "arith.remf": plain(np.fmod),
    "arith.negf": plain(np.negative),
    "arith.cmpf": _compare,
    "arith.minimumf": plain(_minimum),
    "arith.maximumf": plain(_maximum),
    "arith.minnumf": plain(_minimum_number),
    "arith.maxnumf": plain(_maximum_number),
    "math.absf": plain(np.abs),
    "math.acos": plain(np.arccos),
    "math.acosh": plain(np.arccosh),
    "math.asin": plain(np.arcsin),
    "math.asinh": plain(np.arcsinh),
    "math.atan": plain(np.arctan),
    "math.atan2": plain(np.arctan2),
    "math.atanh": plain(np.arctanh),
    "math.cbrt": plain(np.cbrt),
    "math.ceil": plain(np.ceil),
    "math.clampf": plain(_clamp),
    "math.copysign": plain(np.copysign),
    "math.cos": plain(np.cos),
    "math.cosh": plain(np.cosh),
    "math.erf": plain(_error_function),
    "math.erfc": plain(_error_complement),
    "math.exp": plain(np.exp),
    "math.exp2": plain(np.exp2),
    "math.expm1": plain(np.expm1),
    "math.floor": plain(np.floor),
    "math.fma": plain(_fused),
    "math.fpowi": plain(_integer_power),
    "math.isfinite": plain(_is_finite),
    "math.isinf": plain(_is_infinite),
    "math.isnan": plain(_is_nan),
    "math.log": plain(np.log),
    "math.log10": plain(np.log10),
    "math.log1p": plain(np.log1p),
    "math.log2": plain(np.log2),
    "math.powf": plain(np.power),
    "math.round": plain(_round_away),
    "math.roundeven": plain(np.rint),
    "math.rsqrt": plain(_reciprocal_root),
    "math.sin": plain(np.sin),
    "math.sinh": plain(np.sinh),
    "math.sqrt": plain(np.sqrt),
    "math.tan": plain(np.tan),
    "math.tanh": plain(np.tanh),
    "math.trunc": plain(np.trunc),
}
