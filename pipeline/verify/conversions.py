"""Constants and conversions between the scalar types."""

from __future__ import annotations

import math

import numpy as np

from .operation import Call, Number, Operation, integer_width, plain, unsigned
from .rounding import Float64, Int64
from .storage import integer_bits, memory, working


def _constant(call: Call) -> Number:
    """The attribute as bytes in memory, or as a number."""
    value, element = call.op.attributes["value"], call.op.element
    if isinstance(value, bytes):
        return working(value, element)
    if isinstance(value, bool):
        return np.array(-1 if value else 0, np.int64)
    if isinstance(value, int):
        # an i64 may be written with the unsigned range
        return (
            np.array(value & (1 << 64) - 1, np.uint64).view(np.int64)
            if integer_bits(element)
            else _real(value)
        )
    if isinstance(value, float):
        return _real(value)
    raise KeyError("value")


def _real(value: float) -> Number:
    return np.array(value, np.float64)


def _to_integer(value: Float64, low: float, high: float) -> Int64:
    """Towards zero; out of range is poison in MLIR and saturates here; NaN gives 0."""
    inside = np.clip(np.trunc(np.where(np.isnan(value), 0.0, value)), low, high)
    # numbers from 2^63 on have no int64: their low 63 bits and the top bit apart
    top = inside >= 2.0**63
    rest = np.where(top, inside - 2.0**63, inside).astype(np.int64)
    return np.where(top, rest ^ np.int64(-(2**63)), rest)


def _float_to_signed(call: Call) -> Number:
    bits = integer_width(call.op.element)
    high = math.nextafter(2.0**63, 0) if bits == 64 else 2.0 ** (bits - 1) - 1
    return _to_integer(call.operands[0], -(2.0 ** (bits - 1)), high)


def _float_to_unsigned(call: Call) -> Number:
    bits = integer_width(call.op.element)
    return _to_integer(call.operands[0], 0.0, math.nextafter(2.0**64, 0) if bits == 64 else 2.0**bits - 1)


def _bitcast(call: Call) -> Number:
    source = call.operands[0]
    return working(memory(source, call.elements[0]).tobytes(), call.op.element, source.shape)


def _same(value: Number) -> Number:
    return value


def _as_float(value: Number) -> Number:
    return value.astype(np.float64)


def _unsigned_as_float(call: Call) -> Number:
    return call.unsigned(0).astype(np.float64)


TABLE: dict[str, Operation] = {
    "arith.constant": _constant,
    "arith.extsi": plain(_same),
    "arith.extui": unsigned(_same),
    "arith.trunci": plain(_same),
    "arith.index_cast": plain(_same),
    "arith.index_castui": unsigned(_same),
    "arith.sitofp": plain(_as_float),
    "arith.uitofp": _unsigned_as_float,
    "arith.fptosi": _float_to_signed,
    "arith.fptoui": _float_to_unsigned,
    "arith.extf": plain(_same),
    "arith.truncf": plain(_same),
    "arith.bitcast": _bitcast,
}
