"""Evaluating the scalar body of a linalg op over whole arrays, and how far rounding may move the result.

Every body argument is an array with one axis per loop (length 1 where it does not depend on the loop), in
the working form of `scalars`. Values of the body are numbered as in `ScalarBody`: arguments, then ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import AiepipeError, CompileError
from ..program import ScalarBody, ScalarOp, SourceLocation
from . import scalars
from .rounding import SMALLEST_NORMAL, UNIT_ROUNDOFF, Float64

Number = npt.NDArray[Any]
Arguments = Sequence[Number]
Bounds = Sequence[Float64 | None]

# device libraries give these to a few units in the last place
_TRANSCENDENTAL_ROUNDINGS = 4
# ... but these lose what the argument loses when it is brought into one period
_REDUCE_THEIR_ARGUMENT = {"math.sin", "math.cos", "math.tan"}


class Body:
    """One body with the loop indices it may ask for. `loop_indices[i]` is loop i's index, full rank."""

    def __init__(self, body: ScalarBody, loop_indices: Sequence[Number], location: SourceLocation) -> None:
        self._body = body
        self._loop_indices = loop_indices
        self._location = location
        self._argument_count = len(body.arguments)
        for op in body.ops:
            if op.name != "linalg.index" and not scalars.is_known(op.name):
                raise CompileError(
                    f"the numpy reference does not know {op.name}", op=op.name, location=location
                )

    @classmethod
    def of_one(cls, op: ScalarOp, elements: Sequence[str], location: SourceLocation) -> Body:
        """A body of one op on all its arguments."""
        return cls(ScalarBody(tuple(elements), (op,), (len(elements),)), (), location)

    def element(self, value: int) -> str:
        """The element type of a value."""
        if value < self._argument_count:
            return self._body.arguments[value]
        return self._body.ops[value - self._argument_count].element

    def op(self, value: int) -> ScalarOp | None:
        """The op that makes a value; None for an argument."""
        return None if value < self._argument_count else self._body.ops[value - self._argument_count]

    def needs(self, value: int) -> tuple[int, ...]:
        """`value` and all values below it, in order."""
        needed: set[int] = set()
        waiting = [value]
        while waiting:
            current = waiting.pop()
            if current in needed:
                continue
            needed.add(current)
            op = self.op(current)
            waiting += () if op is None else op.operands
        return tuple(sorted(needed))

    def arguments_of(self, value: int) -> frozenset[int]:
        """The arguments that `value` depends on."""
        return frozenset(v for v in self.needs(value) if v < self._argument_count)

    def uses_index(self, value: int) -> bool:
        """Whether `value` depends on a loop index."""
        return any((op := self.op(v)) is not None and op.name == "linalg.index" for v in self.needs(value))

    def value(self, value: int, arguments: Arguments, *, wide: bool = False) -> Number:
        """The value's array. `wide` keeps float arithmetic in float64 until a truncf."""
        return self._values(value, arguments, wide=wide)[value]

    def bound(self, value: int, arguments: Arguments, bounds: Bounds) -> Float64 | None:
        """How far `value` may be off when the arguments are off by `bounds` and each float op rounds.

        The first is found by moving one argument at a time both ways; None when nothing can be off.
        """
        used = [a for a in self.arguments_of(value) if bounds[a] is not None]
        values = self._values(value, arguments, wide=False)
        total = self._rounding(value, values)
        for argument in used:
            move = bounds[argument]
            if move is None:
                continue
            moved = largest_change(
                lambda shifted, at=argument: self.value(value, replaced(arguments, at, shifted)),
                arguments[argument],
                move,
                values[value],
            )
            total = moved if total is None else total + moved
        return total

    def _values(self, value: int, arguments: Arguments, *, wide: bool) -> dict[int, Number]:
        found: dict[int, Number] = {}
        for current in self.needs(value):
            op = self.op(current)
            if op is None:
                found[current] = arguments[current]
            elif op.name == "linalg.index":
                found[current] = self._loop_indices[_dimension(op)]
            else:
                elements = [self.element(v) for v in op.operands]
                found[current] = self._apply(op, elements, [found[v] for v in op.operands], wide=wide)
        return found

    def _apply(
        self, op: ScalarOp, elements: Sequence[str], operands: Sequence[Number], *, wide: bool
    ) -> Number:
        try:
            return scalars.apply(op, elements, operands, wide=wide)
        except AiepipeError as error:
            error.location = error.location or self._location
            raise
        except KeyError as error:
            raise CompileError(
                f"the numpy reference cannot evaluate {op.name} on {', '.join(elements)}",
                op=op.name,
                location=self._location,
            ) from error

    def _rounding(self, value: int, values: dict[int, Number]) -> Float64 | None:
        """Roundings of the ops themselves: each up to the unit roundoff of the largest intermediate."""
        unit, scale, count, tiny = 0.0, np.zeros(()), 0, 0.0
        for current in self.needs(value):
            op = self.op(current)
            if op is None or op.name in scalars.EXACT or not dtypes.is_float(op.element):
                continue
            basic = op.name.startswith("arith.") or op.name in ("math.sqrt", "math.fma")
            count += 1 if basic else _TRANSCENDENTAL_ROUNDINGS
            unit = max(unit, UNIT_ROUNDOFF[op.element])
            tiny = max(tiny, SMALLEST_NORMAL[op.element])
            scale = np.maximum(scale, finite(np.abs(values[current])))
            if op.name in _REDUCE_THEIR_ARGUMENT:
                scale = np.maximum(scale, finite(np.abs(values[op.operands[0]])))
        if not count or not dtypes.is_float(self.element(value)):
            return None
        return np.asarray(count * unit * scale + tiny, np.float64)


def replaced(arguments: Arguments, at: int, value: Number) -> list[Number]:
    """`arguments` with one exchanged."""
    return [value if i == at else argument for i, argument in enumerate(arguments)]


def largest_change(function: Callable[[Number], Number], at: Number, move: Float64, base: Number) -> Float64:
    """max |f(at +- move) - base|; integers move by whole numbers."""
    step = move if at.dtype == np.float64 else np.ceil(move).astype(at.dtype)
    changes: Iterable[Number] = (
        np.abs(function(shifted).astype(np.float64) - base.astype(np.float64))
        for shifted in (at + step, at - step)
    )
    with np.errstate(invalid="ignore"):
        upper, lower = changes
    return finite(np.fmax(upper, lower))


def finite(values: Number) -> Float64:
    """NaN and infinity as 0: a bound says nothing about them."""
    return np.where(np.isfinite(values), values, 0.0)


def _dimension(op: ScalarOp) -> int:
    dimension = op.attributes["dim"]
    assert isinstance(dimension, int)
    return dimension
