"""The values of a dispatch as strided views of its buffers, as far as they only load, slice, reshape,
transpose, broadcast or extend; and the errors that name what cannot be lowered.
"""

from __future__ import annotations

from dataclasses import replace

from .. import dtypes
from ..errors import UnsupportedOp
from ..program import AffineResult, Binding, Dispatch, Structured, TensorOp, TensorType
from . import scalar_body
from .problem import View
from .remedies import remedies

CONTRACTIONS = (
    "the built-in backend lowers contractions (matmul, batch_matmul, matvec, or a linalg.generic that "
    "multiplies and adds) of i8, i16 and i32 operands into i32, or of bf16 operands into f32, begun with a "
    "fill or an accumulator; and "
    "fills of elements of 1, 2, 4 or 8 bytes; give other ops to another backend (--backend)"
)


class Views:
    """Looks at values of `dispatch` from the ops that make them."""

    def lowered_here(self) -> str:
        """What can be lowered, in one sentence: the end of each remedy."""
        return CONTRACTIONS

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch = dispatch
        self.producers = {result.id: op for op in dispatch.ops for result in op.results}
        self.types = {result.id: result.type for op in dispatch.ops for result in op.results}
        self.bindings = {binding.index: binding for binding in dispatch.bindings}

    def constant(self, value: str) -> bytes | None:
        """The bytes of the element that a constant scalar or splat `value` holds, or None."""
        op = self.producers.get(value)
        if op is None or op.name != "arith.constant":
            return None
        data = op.attributes.get("value")
        single = op.attributes.get("splat") is True or self.types[value].count == 1
        return data if isinstance(data, bytes) and single else None

    def fill_value(self, op: TensorOp, structured: Structured) -> bytes | None:
        """The bytes of the one element that `op` writes everywhere, or None when it is no fill."""
        body = structured.body
        if len(body.yields) != 1 or "reduction" in structured.iterators:
            return None
        expression = scalar_body.expression(body, body.yields[0])
        if isinstance(expression, scalar_body.Literal):
            return expression.data
        if isinstance(expression, scalar_body.Argument) and expression.index < structured.input_count:
            return self.constant(op.operands[expression.index])
        return None

    def loop_strides(
        self, op: TensorOp, map_: tuple[AffineResult, ...], strides: tuple[int, ...], loops: int
    ) -> tuple[int, ...]:
        moved = [0] * loops
        for result, stride in zip(map_, strides, strict=True):
            if any(result.coefficients):
                if result.dim is None:
                    raise self.unsupported(op, "an index that is more than one loop")
                moved[result.dim] += stride
            elif result.constant:
                raise self.unsupported(op, "an index that is a constant")
        return tuple(moved)

    def producer(self, value: str, user: TensorOp) -> TensorOp:
        op = self.producers.get(value)
        if op is None:
            raise self.unsupported(user)
        return op

    def view(self, value: str, user: TensorOp) -> View | None:
        """`value` as a view of a buffer, or None where it is computed."""
        op = self.producer(value, user)
        if op.name.endswith("dispatch.tensor.load"):
            return self.subview(op, op.results[0].type)
        if op.name == "tensor.extract_slice":
            inner = self.view(op.operands[0], op)
            return None if inner is None else self.sliced(op, inner, op.results[0].type.shape)
        if op.name in ("tensor.expand_shape", "tensor.collapse_shape"):
            inner = self.view(op.operands[0], op)
            return None if inner is None else self.reshaped(op, inner, op.results[0].type.shape)
        if op.name == "arith.constant":
            return self.literal(op)
        if op.structured is not None and op.structured.input_count == 1:
            return self.copied(op, op.structured)
        return None

    def literal(self, op: TensorOp) -> View | None:
        """A constant tensor of the dispatch; a splat is one element that does not move."""
        type_, data = op.results[0].type, op.attributes.get("value")
        if not isinstance(data, bytes) or not dtypes.is_known(type_.element):
            return None
        bits = dtypes.storage_bits(type_.element)
        if bits % 8:
            return None
        splat = op.attributes.get("splat") is True
        strides = (0,) * len(type_.shape) if splat else row_major(type_.shape)
        return View(None, type_.element, bits // 8, len(data), 0, type_.shape, strides, data=data)

    def copied(self, op: TensorOp, structured: Structured) -> View | None:
        """The result of an op that only transposes, broadcasts or extends its input, as a view of that."""
        factor = scalar_body.copied(structured.body)
        if factor is None or "reduction" in structured.iterators:
            return None
        inner = self.view(op.operands[0], op)
        if inner is None or (factor.signed is not None and inner.element != structured.body.arguments[0]):
            return None
        moved = self.loop_strides(op, structured.maps[0], inner.strides, len(structured.loops))
        order = [result.dim for result in structured.maps[-1]]
        if None in order or len(set(order)) != len(structured.loops):
            return None
        return replace(
            inner,
            shape=tuple(structured.loops[d] for d in order if d is not None),
            strides=tuple(moved[d] for d in order if d is not None),
            signed=inner.signed if factor.signed is None else factor.signed,
        )

    def subview(self, op: TensorOp, value: TensorType) -> View:
        """The part of its binding that a dispatch.tensor.load or store touches."""
        index = op.attributes.get("binding")
        binding = self.bindings.get(index) if isinstance(index, int) else None
        if binding is None or not dtypes.is_known(binding.type.element):
            raise self.unsupported(op)
        bits = dtypes.storage_bits(binding.type.element)
        if bits % 8:
            raise self.unsupported(op, f"part of a tensor of {binding.type.element}, packed into bytes")
        return self.sliced(op, self.whole(binding), value.shape)

    def whole(self, binding: Binding) -> View:
        """All of a buffer; elements of less than a byte as if they had one each."""
        bits = dtypes.storage_bits(binding.type.element)
        return View(
            binding=binding.index,
            element=binding.type.element,
            element_bytes=max(1, bits // 8),
            buffer_bytes=binding.type.size_bytes,
            base=0,
            shape=binding.type.shape,
            strides=row_major(binding.type.shape),
        )

    def sliced(self, op: TensorOp, view: View, shape: tuple[int, ...]) -> View:
        offsets = self.integers(op, "offsets", (0,) * len(view.shape))
        sizes = self.integers(op, "sizes", view.shape)
        steps = self.integers(op, "strides", (1,) * len(view.shape))
        if not len(offsets) == len(sizes) == len(steps) == len(view.shape):
            raise self.unsupported(op)
        base = view.base + sum(o * s for o, s in zip(offsets, view.strides, strict=True))
        strides = tuple(step * stride for step, stride in zip(steps, view.strides, strict=True))
        result = replace(view, base=base, shape=sizes, strides=strides)
        return result if shape == sizes else self.without_ones(op, result, shape)

    def without_ones(self, op: TensorOp, view: View, shape: tuple[int, ...]) -> View:
        """A rank-reduced slice: unit dimensions that the result's type does not have are dropped."""
        kept: list[int] = []
        for d, size in enumerate(view.shape):
            if len(kept) < len(shape) and size == shape[len(kept)]:
                kept.append(d)
            elif size != 1:
                raise self.unsupported(op)
        if len(kept) != len(shape):
            raise self.unsupported(op)
        return replace(view, shape=shape, strides=tuple(view.strides[d] for d in kept))

    def reshaped(self, op: TensorOp, view: View, shape: tuple[int, ...]) -> View:
        if not view.contiguous:
            raise self.unsupported(op, "a reshape of part of a tensor")
        return replace(view, shape=shape, strides=row_major(shape))

    def integers(self, op: TensorOp, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        found = op.attributes.get(name)
        if found is None:
            return default
        if not isinstance(found, tuple):
            raise self.unsupported(op)
        values = tuple(value for value in found if isinstance(value, int))
        if len(values) != len(found):
            raise self.unsupported(op)
        return values

    def unsupported(
        self, op: TensorOp, what: str = "", *, scalar: str | None = None, elements: tuple[str, ...] = ()
    ) -> UnsupportedOp:
        """The error for `op`: `what` is at fault, and of its body the op `scalar` on these `elements` (where
        not given: the op itself, on those of its operands and results)."""
        inside = op.attributes.get("unread_op")
        if isinstance(inside, str):
            scalar, what = scalar or inside, what or f"{inside} in its body is not lowered"
        values = [self.types[value] for value in op.operands if value in self.types]
        at_hand = elements or tuple(type_.element for type_ in (*values, *(r.type for r in op.results)))
        advice = remedies(scalar or op.name, at_hand)
        operands = ", ".join(f"tensor<{self.types[value]}>" for value in op.operands if value in self.types)
        results = ", ".join(f"tensor<{result.type}>" for result in op.results)
        types = f"({operands}) -> ({results})" if results else f"({operands})"
        detail = f": {what}" if what else ""
        return UnsupportedOp(
            f"the built-in backend cannot lower {op.name} {types}{detail}",
            location=op.location,
            remedy="; ".join((*advice, self.lowered_here())),
            op=op.name,
        )


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return tuple(strides)
