"""`aiepipe emit`: the MLIR text of a builder."""

from __future__ import annotations

from dataclasses import dataclass

from aiepipe.kernels import fill, matmul

from .. import dtypes
from ..errors import UsageError
from ..verify.values import parse_type

# what a sum of such products is kept in, where the user does not say
_ACCUMULATORS = {"i8": "i32", "i16": "i32", "bf16": "f32", "f16": "f32"}


@dataclass(frozen=True, slots=True)
class MatmulOptions:
    """What the user asked of `aiepipe emit matmul`; `fill` is a number as text, None for no fill."""

    m: int
    n: int
    k: int
    element: str = "i32"
    accumulator: str | None = None
    fill: str | None = None
    transpose_a: bool = False
    transpose_b: bool = False


def emit_matmul(options: MatmulOptions) -> str:
    """The module's text. Raises UsageError for types that no matmul has or a fill that does not fit."""
    accumulator = options.accumulator or _ACCUMULATORS.get(options.element, options.element)
    for element in (options.element, accumulator):
        _check_element(element)
    return matmul(
        options.m,
        options.n,
        options.k,
        operand=options.element,
        accumulator=accumulator,
        fill=None if options.fill is None else _number(options.fill, accumulator),
        transpose_a=options.transpose_a,
        transpose_b=options.transpose_b,
    )


def emit_fill(type_text: str, value: str) -> str:
    """The module's text. Raises UsageError."""
    type_ = parse_type(type_text)
    return fill(type_.shape, type_.element, _number(value, type_.element))


def _check_element(element: str) -> None:
    if not dtypes.is_known(element) or not (dtypes.is_integer(element) or dtypes.is_float(element)):
        raise UsageError(
            f"no element type is called {element!r}", remedy="for example i8, i16, i32, bf16, f32"
        )


def _number(text: str, element: str) -> int | float:
    """`text` as a number that `element` can hold. Raises UsageError."""
    _check_element(element)
    try:
        if dtypes.is_float(element):
            return float(text)
        number, bits = int(text, 0), dtypes.storage_bits(element)
    except ValueError as fault:
        raise UsageError(f"{text!r} is not a number of type {element}") from fault
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise UsageError(f"{text} does not fit into {element}")
    return number
