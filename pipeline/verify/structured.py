"""A linalg op in its generic form, evaluated with numpy: elementwise, reductions, contractions.

    elementwise          the body once over whole arrays, each float op rounded to its type
    sum of products      `contraction`: integers modulo 2^n, floats in float64 and rounded once
    other reductions     terms in chunks; sums of floats in float64, the rest by folding halves
    anything else        one step of the reduction loops after the other, as MLIR orders them

What is assumed about float sums is returned as an `Accumulation`, and how far a device that rounds more
often may be off as a bound per element (`tolerance` says how it is derived).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import CompileError
from ..program import AffineResult, ScalarOp, Structured, TensorOp
from ..verdict import Accumulation
from . import scalars
from .body import Body, finite
from .contraction import sum_of_products, sum_of_products_modulo
from .rounding import Float64
from .storage import integer_bits, memory, widen
from .tolerance import sum_bound

Number = npt.NDArray[Any]
Array = npt.NDArray[Any]

_CHUNK_ELEMENTS = 1 << 22
_FOLDS = {
    "arith.addi", "arith.muli", "arith.andi", "arith.ori", "arith.xori", "arith.maxsi", "arith.minsi",
    "arith.maxui", "arith.minui", "arith.addf", "arith.mulf", "arith.maximumf", "arith.minimumf",
    "arith.maxnumf", "arith.minnumf",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Known:
    """A tensor of the program: its values as stored, how far rounding may put a device off (per
    element; None: not at all), and whether it has been written (tensor.empty is not)."""

    array: Array
    element: str
    bound: Float64 | None = None
    defined: bool = True


def evaluate_structured(
    op: TensorOp, structured: Structured, operands: Sequence[Known]
) -> tuple[tuple[Known, ...], Accumulation | None]:
    """The op's results. Raises CompileError naming the op when it is beyond this reference, or when it
    reads a tensor that nothing wrote."""
    return _Evaluation(op, structured, operands).run()


class _Evaluation:
    """One op being evaluated; `self._arguments` are its operands seen from the loops."""

    def __init__(self, op: TensorOp, structured: Structured, operands: Sequence[Known]) -> None:
        self._op = op
        self._structured = structured
        self._operands = operands
        self._loops = structured.loops
        self._reduced = tuple(i for i, kind in enumerate(structured.iterators) if kind != "parallel")
        self._kept = tuple(i for i, kind in enumerate(structured.iterators) if kind == "parallel")
        self._ranges = [np.arange(n) for n in self._loops]
        self._body = self._body_over(self._ranges)
        self._init_count = len(operands) - structured.input_count
        self._check()

    def run(self) -> tuple[tuple[Known, ...], Accumulation | None]:
        results = tuple(self._result(output) for output in range(self._init_count))
        if not self._reduced:
            return results, None
        element = self._structured.body.arguments[self._structured.input_count]
        length = math.prod(self._loops[axis] for axis in self._reduced)
        return results, Accumulation(self._op.name, self._op.location, element, length, self._how(element))

    def _check(self) -> None:
        for output in range(self._init_count):
            position = self._structured.input_count + output
            used = self._body.arguments_of(self._structured.body.yields[output])
            for argument in used:
                if not self._operands[argument].defined:
                    raise self._refuse("reads a tensor that nothing has written (tensor.empty)")
            dims = [r.dim for r in self._structured.maps[position] if any(r.coefficients)]
            if sorted(d for d in dims if d is not None) != list(self._kept):
                raise self._refuse("has an output map that is no permutation of its parallel loops")

    def _refuse(self, what: str) -> CompileError:
        return CompileError(f"{self._op.name} {what}", op=self._op.name, location=self._op.location)

    def _result(self, output: int) -> Known:
        position = self._structured.input_count + output
        value = self._structured.body.yields[output]
        element = self._structured.body.arguments[position]
        if self._is_forwarded(value):
            return self._forward(value, position)
        if not self._reduced:
            arguments, bounds = self._arguments(self._ranges)
            values, bound = self._body.value(value, arguments), self._body.bound(value, arguments, bounds)
        elif 0 in (self._loops[axis] for axis in self._reduced):
            return self._operands[position]
        elif (term := self._term(value, position)) is not None:
            values, bound = self._reduce(value, term, position)
        else:
            values, bound = self._in_order(output)
        return self._store(values, bound, element, position)

    # ---------------------------------------------------------------- operands seen from the loops

    def _body_over(self, ranges: Sequence[Number]) -> Body:
        rank = len(self._loops)
        grids = [r.reshape([-1 if i == axis else 1 for i in range(rank)]) for axis, r in enumerate(ranges)]
        return Body(self._structured.body, grids, self._op.location)

    def _arguments(self, ranges: Sequence[Number]) -> tuple[list[Number], list[Float64 | None]]:
        arguments: list[Number] = []
        bounds: list[Float64 | None] = []
        for known, results in zip(self._operands, self._structured.maps, strict=True):
            arguments.append(widen(self._view(known.array, results, ranges), known.element))
            bounds.append(None if known.bound is None else self._view(known.bound, results, ranges))
        return arguments, bounds

    def _view(self, array: Array, results: Sequence[AffineResult], ranges: Sequence[Number]) -> Array:
        """`array` with one axis per loop, taken at `ranges`."""
        rank = len(self._loops)
        if not results:
            return array.reshape((1,) * rank)
        index: list[Number] = []
        for size, result in zip(array.shape, results, strict=True):
            position = np.full((1,) * rank, result.constant, np.int64)
            for axis, factor in enumerate(result.coefficients):
                if factor:
                    grid = ranges[axis].reshape([-1 if i == axis else 1 for i in range(rank)])
                    position = position + factor * grid
            if position.size and (position.min() < 0 or position.max() >= size):
                raise self._refuse("reads outside one of its operands")
            index.append(position)
        return array[tuple(index)]

    # ---------------------------------------------------------------- results

    def _is_forwarded(self, value: int) -> bool:
        """A body that yields an argument untouched (fill, broadcast, transpose, copy)."""
        return value < len(self._structured.body.arguments) and not self._reduced

    def _forward(self, value: int, position: int) -> Known:
        source = self._operands[value]
        view = self._view(source.array, self._structured.maps[value], self._ranges)
        bound = source.bound
        if bound is not None:
            bound = self._view(bound, self._structured.maps[value], self._ranges)
        spread, moved = self._placed(view, position), None if bound is None else self._placed(bound, position)
        return Known(spread, source.element, moved)

    def _store(self, values: Number, bound: Float64 | None, element: str, position: int) -> Known:
        settled = scalars.settle(values, element)
        array = memory(self._placed(settled, position), element)
        return Known(array, element, None if bound is None else self._placed(bound, position))

    def _placed(self, values: Number, position: int) -> Array:
        """Values over the loops (reduced axes of length 1 or missing) as the output tensor."""
        kept_shape = [self._loops[axis] for axis in self._kept]
        rank = len(self._loops)
        full = values
        if values.ndim == rank:
            target = [1 if axis in self._reduced else n for axis, n in enumerate(self._loops)]
            full = np.broadcast_to(values, target).reshape(kept_shape)
        elif values.ndim != len(kept_shape):
            full = np.broadcast_to(values, kept_shape)
        results = self._structured.maps[position]
        shape = self._operands[position].array.shape
        order = [self._kept.index(r.dim) for r in results if r.dim is not None and any(r.coefficients)]
        moved = full.transpose(order)
        if moved.size == math.prod(shape) and all(not r.constant for r in results):
            return np.ascontiguousarray(moved).reshape(shape)
        raise self._refuse("writes only a part of its output")

    # ---------------------------------------------------------------- reductions

    def _term(self, value: int, position: int) -> int | None:
        """The term of `acc = acc (+) term`; None when the body is not of that form."""
        op = self._body.op(value)
        if op is None or op.name not in _FOLDS or position not in op.operands or len(op.operands) != 2:
            return None
        left, right = op.operands
        term = right if left == position else left
        first_init = self._structured.input_count
        return None if any(a >= first_init for a in self._body.arguments_of(term)) else term

    def _reduce(self, value: int, term: int, position: int) -> tuple[Number, Float64 | None]:
        combine = self._body.op(value)
        assert combine is not None
        arguments, bounds = self._arguments(self._ranges)
        start = self._without_reduced(arguments[position])
        start_bound = bounds[position]
        product = self._body.op(term)
        if product is not None and self._is_contraction(combine, product):
            return self._contract(product, position, combine.element, arguments, bounds)
        if combine.name == "arith.addf":
            return self._sum(term, start, start_bound, combine.element)
        return self._fold(combine, term, start, start_bound)

    def _is_contraction(self, combine: ScalarOp, product: ScalarOp) -> bool:
        if (combine.name, product.name) not in (("arith.addi", "arith.muli"), ("arith.addf", "arith.mulf")):
            return False
        left, right = product.operands
        if self._body.uses_index(left) or self._body.uses_index(right):
            return False
        return not self._body.arguments_of(left) & self._body.arguments_of(right)

    def _contract(
        self,
        product: ScalarOp,
        position: int,
        element: str,
        arguments: Sequence[Number],
        bounds: Sequence[Float64 | None],
    ) -> tuple[Number, Float64 | None]:
        start = self._without_reduced(arguments[position])
        rank, length = len(self._loops), math.prod(self._loops[axis] for axis in self._reduced)
        left, right = (_full_rank(self._body.value(v, arguments), rank) for v in product.operands)
        sizes = [finite(np.abs(factor)) for factor in (left, right)]
        bits, bound = integer_bits(element), None
        with np.errstate(all="ignore"):
            if bits is not None:
                total = start + sum_of_products_modulo(left, right, self._loops, self._reduced, bits)
            else:
                total = start + sum_of_products(left, right, self._loops, self._reduced)
                sums, squares = (
                    sum_of_products(sizes[0] ** power, sizes[1] ** power, self._loops, self._reduced)
                    for power in (1, 2)
                )
                bound = sum_bound(total, start, (sums, squares), length=length, element=element)
        for mine, other in ((0, 1), (1, 0)):
            off = self._body.bound(product.operands[mine], arguments, bounds)
            if off is not None:
                moved = sum_of_products(_full_rank(off, rank), sizes[other], self._loops, self._reduced)
                bound = moved if bound is None else bound + moved
        return total, self._plus(bound, bounds[position])

    def _sum(
        self, term: int, start: Number, start_bound: Float64 | None, element: str
    ) -> tuple[Number, Float64 | None]:
        total, sizes, squares, moved = start, np.zeros_like(start), np.zeros_like(start), np.zeros_like(start)
        for ranges in self._chunks():
            body, (arguments, bounds) = self._body_over(ranges), self._arguments(ranges)
            terms = self._spread(body.value(term, arguments), ranges)
            with np.errstate(all="ignore"):
                total = total + terms.sum(axis=self._reduced)
                known = finite(np.abs(terms))
                sizes = sizes + known.sum(axis=self._reduced)
                squares = squares + (known**2).sum(axis=self._reduced)
            off = body.bound(term, arguments, bounds)
            if off is not None:
                moved = moved + self._spread(off, ranges).sum(axis=self._reduced)
        length = math.prod(self._loops[axis] for axis in self._reduced)
        bound = sum_bound(total, start, (sizes, squares), length=length, element=element) + moved
        return total, self._plus(bound, start_bound)

    def _fold(
        self, combine: ScalarOp, term: int, start: Number, start_bound: Float64 | None
    ) -> tuple[Number, Float64 | None]:
        elements = [combine.element, combine.element]
        wide = combine.name == "arith.mulf"

        def folded(direction: int) -> Number:
            total = (
                start if start_bound is None else _moved(start, self._without_reduced(start_bound), direction)
            )
            for ranges in self._chunks():
                arguments, bounds = self._arguments(ranges)
                shifted = [_moved(a, b, direction) for a, b in zip(arguments, bounds, strict=True)]
                terms = self._spread(self._body_over(ranges).value(term, shifted), ranges)
                flat = np.moveaxis(terms, self._reduced, range(-len(self._reduced), 0))
                flat = flat.reshape(*flat.shape[: len(self._kept)], -1)
                while flat.shape[-1] > 1:
                    half = flat.shape[-1] // 2
                    joined = scalars.apply(
                        combine, elements, [flat[..., :half], flat[..., half : 2 * half]], wide=wide
                    )
                    flat = np.concatenate([joined, flat[..., 2 * half :]], axis=-1)
                total = scalars.apply(combine, elements, [total, flat[..., 0]], wide=wide)
            return total

        base = folded(0)
        return base, self._stepwise_bound(base, folded, combine.name != "arith.mulf", combine.element)

    def _in_order(self, output: int) -> tuple[Number, Float64 | None]:
        """One step of the reduction loops after the other."""
        yields = self._structured.body.yields
        first = self._structured.input_count

        def stepped(direction: int) -> Number:
            states: list[Number] | None = None
            for point in itertools.product(*(range(self._loops[axis]) for axis in self._reduced)):
                at = dict(zip(self._reduced, point, strict=True))
                ranges = [np.array([at[i]]) if i in at else r for i, r in enumerate(self._ranges)]
                arguments, bounds = self._arguments(ranges)
                moved = [_moved(a, b, direction) for a, b in zip(arguments, bounds, strict=True)]
                if states is not None:
                    moved[first:] = states
                body = self._body_over(ranges)
                states = [body.value(v, moved) for v in yields]
            assert states is not None
            return self._spread_kept(states[output])

        base = stepped(0)
        element = self._structured.body.arguments[first + output]
        return base, self._stepwise_bound(base, stepped, not dtypes.is_float(element), element)

    def _stepwise_bound(
        self, base: Number, function: Callable[[int], Number], exact: bool, element: str
    ) -> Float64 | None:
        off: Float64 | None = None
        if any(known.bound is not None for known in self._operands):
            both = [np.abs(function(d).astype(np.float64) - base.astype(np.float64)) for d in (1, -1)]
            off = finite(np.fmax(*both))
        if exact:
            return off
        length = math.prod(self._loops[axis] for axis in self._reduced)
        size = finite(np.abs(base))
        sums = (size * length, size**2 * length)
        rounding = sum_bound(base, np.zeros_like(size), sums, length=length, element=element)
        return rounding if off is None else rounding + off

    def _chunks(self) -> list[list[Number]]:
        """The loops' ranges, cut along the longest reduced loop so that a chunk's terms fit in memory."""
        axis = max(self._reduced, key=lambda a: self._loops[a])
        others = math.prod(n for i, n in enumerate(self._loops) if i != axis)
        step = max(1, _CHUNK_ELEMENTS // max(others, 1))
        return [
            [r[start : start + step] if i == axis else r for i, r in enumerate(self._ranges)]
            for start in range(0, self._loops[axis], step)
        ]

    def _spread(self, values: Number, ranges: Sequence[Number]) -> Number:
        return np.broadcast_to(values, [r.size for r in ranges])

    def _spread_kept(self, values: Number) -> Number:
        target = [1 if axis in self._reduced else n for axis, n in enumerate(self._loops)]
        return np.broadcast_to(values, target).reshape([self._loops[axis] for axis in self._kept])

    def _without_reduced(self, values: Number) -> Number:
        return self._spread_kept(_full_rank(values, len(self._loops)))

    def _plus(self, bound: Float64 | None, start: Float64 | None) -> Float64 | None:
        if start is None:
            return bound
        begin = self._without_reduced(start)
        return begin if bound is None else bound + begin

    def _how(self, element: str) -> str:
        yields = self._structured.body.yields
        term = self._term(yields[0], self._structured.input_count)
        bits = integer_bits(element)
        if bits is not None:
            return f"exact modulo 2^{bits}" if bits > 1 else "exact"
        combine = self._body.op(yields[0])
        if term is None:
            return f"in the order of the loops, each op rounded to {element}"
        if combine is not None and combine.name == "arith.addf":
            product = self._body.op(term)
            what = "exact products" if product is not None and product.name == "arith.mulf" else "terms"
            return f"{what} summed in f64, rounded once to {element}"
        return (
            f"folded in f64, rounded once to {element}"
            if combine and combine.name == "arith.mulf"
            else "exact"
        )


def _full_rank(values: Number, rank: int) -> Number:
    return values if values.ndim == rank else values.reshape((1,) * (rank - values.ndim) + values.shape)


def _moved(values: Number, bound: Float64 | None, direction: int) -> Number:
    if bound is None or direction == 0:
        return values
    return values + direction * (bound if values.dtype == np.float64 else np.ceil(bound).astype(values.dtype))
