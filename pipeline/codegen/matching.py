"""Recognises in a dispatch what the built-in backend can lower: contractions and fills.

The op list is followed backwards from the dispatch's store. Loads, slices, reshapes, transpositions,
broadcasts and sign extensions become views of a buffer; the one op that computes is recognised by its
maps and by every op of its body, never by its name. Anything else is an UnsupportedOp that names the op,
its types and its place, and says what can be lowered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..errors import UnsupportedOp
from ..program import Dispatch, Structured, TensorOp
from . import scalar_body
from .expressions.bodies import body_graph
from .expressions.typed import Inexpressible
from .problem import Constant, Contraction, Epilogue, Fill, Nothing, Operand, Problem, View
from .vector_lanes import lanes_body
from .views import Views

OPERAND_ELEMENTS = {"i32": ("i8", "i16", "i32"), "f32": ("bf16",)}
"""Of a contraction, by the element of its result."""
FILL_BYTES = (1, 2, 4, 8)


def match(dispatch: Dispatch) -> Problem:
    """The problem that `dispatch` poses. Raises UnsupportedOp."""
    return _Matcher(dispatch).problem()


class _Matcher(Views):
    def problem(self) -> Problem:
        stores = [op for op in self.dispatch.ops if op.name.endswith("dispatch.tensor.store")]
        if len(stores) != 1:
            raise UnsupportedOp(
                f"{self.dispatch.name} stores {len(stores)} results; the built-in backend lowers one",
                location=self.dispatch.location,
                remedy=self.lowered_here(),
                op=stores[0].name if stores else "dispatch",
            )
        store = stores[0]
        source = self.producer(store.operands[0], store)
        target = self.subview(store, self.types[store.operands[0]])
        while source.name in ("tensor.expand_shape", "tensor.collapse_shape"):
            target = self.reshaped(source, target, self.types[source.operands[0]].shape)
            source = self.producer(source.operands[0], source)
        if source.structured is None:
            raise self.unsupported(source, "a dispatch that computes nothing")
        if 0 in target.shape:
            return Nothing(source.name, source.location)
        value = self.fill_value(source, source.structured)
        if value is not None:
            return self.fill(source, target, value)
        fused = self.fused(source, source.structured)
        if fused is None:
            return self.contraction(source, source.structured, target)
        return self.with_epilogue(source, source.structured, fused, target)

    # ----------------------------------------------------------------- fills

    def fill(self, op: TensorOp, target: View, value: bytes) -> Fill:
        sizes = (len(value), target.element_bytes)
        if (
            not target.contiguous
            or target.binding is None
            or sizes[0] != sizes[1]
            or sizes[0] not in FILL_BYTES
        ):
            raise self.unsupported(op, "a fill of part of a buffer, or of elements of another size")
        count = 1
        for size in target.shape:
            count *= size
        offset_bytes = target.base * target.element_bytes
        return Fill(op.name, op.location, target.binding, offset_bytes, count, value)

    # ----------------------------------------------------------------- contractions

    def contraction(self, op: TensorOp, structured: Structured, target: View) -> Problem:
        product = scalar_body.product(structured.body)
        if product is None or len(structured.maps) != structured.input_count + 1:
            strange = [e for e in structured.body.arguments if e not in OPERAND_ELEMENTS["i32"]]
            raise self.unsupported(op, f"elements of {strange[0]}" if strange else "")
        if target.element not in OPERAND_ELEMENTS or structured.body.arguments[-1] != target.element:
            raise self.unsupported(op, f"a sum in {target.element}")
        if not set(structured.iterators) <= {"parallel", "reduction"}:
            raise self.unsupported(op)
        initial = self.initial(op, target.element)
        if initial is None:
            raise self.unsupported(op, "an accumulator that is neither a fill nor a tensor in memory")
        result = self.operand(op, structured, structured.input_count, target)
        reduction = tuple(kind == "reduction" for kind in structured.iterators)
        if any(result.strides[d] and reduction[d] for d in range(len(reduction))):
            raise self.unsupported(op, "a result that moves along a reduction loop")
        if any(
            not (result.strides[d] or reduction[d]) and size > 1 for d, size in enumerate(structured.loops)
        ):
            raise self.unsupported(op, "a parallel loop along which the result does not move")
        incoming = (
            initial
            if isinstance(initial, Constant)
            else self.operand(op, structured, structured.input_count, initial)
        )
        if 0 in (size for size, reduced in zip(structured.loops, reduction, strict=True) if reduced):
            return self.empty_sum(op, target, incoming)
        left, right = (self.factor(op, structured, factor, target.element) for factor in product)
        if left.resident and right.resident:
            raise self.unsupported(op, "a product of two constants")
        return _Product(op, structured.loops, reduction, left, right, result, incoming).with_parts()

    # ----------------------------------------------------------------- epilogues

    def fused(self, op: TensorOp, structured: Structured) -> TensorOp | None:
        """The contraction whose sums `op` goes on with, element by element; None where it does not."""
        if set(structured.iterators) != {"parallel"} or len(op.results) != 1:
            return None
        found = [self.producers.get(operand) for operand in op.operands[: structured.input_count]]
        products = [
            producer
            for producer, map_ in zip(found, structured.maps, strict=False)
            if producer is not None
            and producer.structured is not None
            and scalar_body.product(producer.structured.body) is not None
            and map_ == structured.maps[-1]
            and 0 not in producer.structured.loops
        ]
        return products[0] if len(products) == 1 else None

    def with_epilogue(self, op: TensorOp, structured: Structured, product: TensorOp, target: View) -> Problem:
        assert product.structured is not None, "a product is a linalg op"
        total = product.results[0]
        sums = replace(target, element=total.type.element)
        found = self.contraction(product, product.structured, sums)
        if not isinstance(found, Contraction):
            raise self.unsupported(op, "an op on a sum of nothing")
        try:
            body = body_graph(structured.body)
        except Inexpressible as reason:
            raise self.unsupported(op, str(reason), scalar=reason.op, elements=reason.elements) from reason
        # loop of the op -> loop of the contraction, through the dimensions of the sums
        loops = {
            mine.dim: theirs.dim
            for mine, theirs in zip(structured.maps[-1], product.structured.maps[-1], strict=True)
            if mine.dim is not None and theirs.dim is not None
        }
        if len(loops) != len(structured.loops) or body.indices:
            raise self.unsupported(op, "a result that is no permutation of its loops")
        arguments = [
            self.epilogue_argument(op, structured, number, loops, len(found.loops))
            if number in body.needed and operand != total.id
            else None
            for number, operand in enumerate(op.operands)
        ]
        lanes = lanes_body(body, target.element, own_sums=total.type.element == "f32")
        epilogue = Epilogue(op.name, body, op.operands.index(total.id), tuple(arguments), lanes)
        result = replace(found.result, view=target)
        return replace(found, result=result, epilogue=epilogue)

    def epilogue_argument(
        self, op: TensorOp, structured: Structured, number: int, loops: Mapping[int, int], count: int
    ) -> Operand | bytes:
        value = op.operands[number]
        single = self.constant(value)
        if single is not None:
            return single
        producer = self.producers.get(value)
        view = None if producer is None or producer.structured is not None else self.view(value, op)
        if view is None or view.binding is None:
            raise self.unsupported(op, "an operand that is computed in the same dispatch")
        own = self.operand(op, structured, number, view)
        strides = [0] * count
        for loop, stride in enumerate(own.strides):
            strides[loops[loop]] = stride
        return replace(own, strides=tuple(strides))

    # ----------------------------------------------------------------- operands

    def factor(
        self, op: TensorOp, structured: Structured, factor: scalar_body.Factor, result: str
    ) -> Operand:
        view = self.view(op.operands[factor.index], op)
        if view is None:
            raise self.unsupported(op, "an operand that is computed in the same dispatch")
        if view.element not in OPERAND_ELEMENTS[result]:
            raise self.unsupported(op, f"operands of {view.element}")
        extended_before = self.types[op.operands[factor.index]].element != view.element
        if factor.signed is not None and not extended_before:
            view = replace(view, signed=factor.signed)
        return self.operand(op, structured, factor.index, view)

    def operand(self, op: TensorOp, structured: Structured, index: int, view: View) -> Operand:
        """The view in terms of the loops of `op`. Only projections of the loops are known."""
        map_ = structured.maps[index]
        if len(map_) != len(view.shape):
            raise self.unsupported(op)
        return Operand(view, self.loop_strides(op, map_, view.strides, len(structured.loops)))

    def initial(self, op: TensorOp, element: str) -> Constant | View | None:
        value = op.operands[-1]
        producer = self.producers.get(value)
        if producer is not None and producer.name == "tensor.empty":
            return Constant(0)  # the sum of nothing: what an empty tensor holds is undefined
        data = self.constant(value)
        if data is None and producer is not None and producer.structured is not None:
            data = self.fill_value(producer, producer.structured)
        if data is not None:
            return Constant(int.from_bytes(data, "little", signed=True))
        view = self.view(value, op)
        return view if view is not None and view.data is None and view.element == element else None

    def empty_sum(self, op: TensorOp, target: View, initial: Constant | Operand) -> Problem:
        """A reduction over no elements: the fill alone, or nothing where the accumulator is in place."""
        if isinstance(initial, Constant):
            return self.fill(op, target, initial.value.to_bytes(target.element_bytes, "little", signed=True))
        if initial.view != target:
            raise self.unsupported(op, "a sum over no elements that only copies its accumulator")
        return Nothing(op.name, op.location)


@dataclass(frozen=True, slots=True)
class _Product:
    """A contraction whose loops have no parts yet."""

    op: TensorOp
    loops: tuple[int, ...]
    reduction: tuple[bool, ...]
    left: Operand
    right: Operand
    result: Operand
    initial: Constant | Operand

    def with_parts(self) -> Contraction:
        """Gives the loops their parts: the longest loop that only the left operand has is the row, the
        longest that only the right one has the column, the longest reduction the inner one. A part that
        no loop can play is played by an added loop of one step."""
        loops, left, right = self.loops, self.left.strides, self.right.strides
        parallel = [d for d, reduced in enumerate(self.reduction) if not reduced]
        row = self.longest([d for d in parallel if right[d] == 0], left)
        column = self.longest([d for d in parallel if left[d] == 0 and d != row], right)
        inner = self.longest([d for d, reduced in enumerate(self.reduction) if reduced], left)
        parts: list[int] = []
        reduction = list(self.reduction)
        for part in (row, column, inner):
            parts.append(len(reduction) if part is None else part)
            if part is None:
                reduction.append(len(parts) == 3)
        added = len(reduction) - len(loops)

        def widened(operand: Operand) -> Operand:
            return replace(operand, strides=operand.strides + (0,) * added)

        return Contraction(
            op=self.op.name,
            location=self.op.location,
            loops=loops + (1,) * added,
            reduction=tuple(reduction),
            row=parts[0],
            column=parts[1],
            inner=parts[2],
            left=widened(self.left),
            right=widened(self.right),
            result=widened(self.result),
            initial=widened(self.initial) if isinstance(self.initial, Operand) else self.initial,
        )

    def longest(self, loops: list[int], strides: tuple[int, ...]) -> int | None:
        """The longest of these loops, those first that move the operand with these strides."""
        return max(loops, key=lambda d: (strides[d] != 0, self.loops[d], d), default=None)
