"""A dispatch to stages: every linalg op whose body the expression compiler takes is one, and so is a copy.

Loads, slices and reshapes of buffers are views; an access of its own is made for each use, unless two are
alike. What is not a tensor in memory, a constant or a linalg op is an UnsupportedOp that names it.
"""

from __future__ import annotations

from .. import dtypes
from ..program import AffineResult, Dispatch, ScalarBody, Structured, TensorOp, TensorType
from .expressions.bodies import BodyGraph, body_graph
from .expressions.typed import Inexpressible, is_known, known_ops
from .packed_elements import bytes_view, one_byte, packing, per_byte, unpacking
from .problem import View
from .stages import Map, Stage, Staged, Store, Tensor, Use, without_unused_tensors
from .views import Views

OPERANDS_MAXIMUM = 7
"""Transfers of a step, and tensors of a stage."""


def stage(dispatch: Dispatch) -> Staged | None:
    """The stages of the dispatch, None where it computes nothing. Raises UnsupportedOp."""
    return _Stager(dispatch).staged()


class _Stager(Views):
    def __init__(self, dispatch: Dispatch) -> None:
        super().__init__(dispatch)
        self.tensors: list[Tensor] = []
        self.stages: list[Stage] = []
        self.stores: list[Store] = []
        self.computed: dict[str, int] = {}
        self.seen: dict[tuple[str, Map, tuple[int, ...]], int] = {}

    def lowered_here(self) -> str:
        return (
            "the built-in backend lowers linalg ops on tensors of i1, i2, i4, i8, i16, i32, i64, bf16 and "
            f"f32 whose bodies are made of {', '.join(known_ops())}; give other ops to another backend "
            "(--backend)"
        )

    def staged(self) -> Staged | None:
        for op in self.dispatch.ops:
            if op.name.endswith("dispatch.tensor.store"):
                self.store(op)
            elif op.structured is not None and 0 not in _shape(op):
                self.linalg(op, op.structured)
        if not self.stores:
            return None
        found = Staged(
            self.dispatch.name,
            self.dispatch.location,
            tuple(self.tensors),
            tuple(self.needed_stages()),
            tuple(self.stores),
        )
        return without_unused_tensors(found)

    def needed_stages(self) -> list[Stage]:
        """Not fills that became constants of what they begin, say."""
        needed = {store.tensor for store in self.stores}
        for stage in reversed(self.stages):
            if needed & {result.tensor for result in stage.results}:
                needed |= {use.tensor for use in (*stage.inputs, *stage.initial) if isinstance(use, Use)}
        return [s for s in self.stages if needed & {result.tensor for result in s.results}]

    # ----------------------------------------------------------------- stores

    def store(self, op: TensorOp) -> None:
        value = op.operands[0]
        type_ = self.types[value]
        packed = self.packed_bytes(op, type_)
        if packed is not None:
            self.store_packed(op, value, packed)
            return
        target = self.subview(op, type_)
        if 0 in target.shape:
            return
        source = self.producer(value, op)
        while value not in self.computed and source.name in ("tensor.expand_shape", "tensor.collapse_shape"):
            value = source.operands[0]
            target = self.reshaped(source, target, self.types[value].shape)
            source = self.producer(value, source)
        number = self.computed.get(value)
        if number is None or any(store.tensor == number for store in self.stores):
            number = self.copied_stage(op, value)
        self.stores.append(Store(number, target))

    def packed_bytes(self, op: TensorOp, type_: TensorType) -> View | None:
        """The bytes of the whole buffer that a load or store moves, where several elements share one."""
        index = op.attributes.get("binding")
        binding = self.bindings.get(index) if isinstance(index, int) else None
        if binding is None or per_byte(binding.type.element) == 1 or binding.type.shape != type_.shape:
            return None
        return bytes_view(self.whole(binding))

    def store_packed(self, op: TensorOp, value: str, target: View) -> None:
        type_ = self.types[value]
        number = self.computed.get(value)
        source = self.copied_stage(op, value) if number is None else number
        packed = self.new_tensor(op, TensorType(target.shape, "i8"))
        self.stages.append(packing(op.location, type_.element, type_.shape, source, packed))
        self.stores.append(Store(packed, target))

    def unpacked(self, op: TensorOp, source: View) -> int:
        """The tensor that `op` loads from these bytes."""
        (result,) = op.results
        self.tensors.append(Tensor(source.shape, "i8", 1, source))
        packed, whole = len(self.tensors) - 1, self.new_tensor(op, result.type)
        self.stages.append(unpacking(op.location, result.type.element, result.type.shape, packed, whole))
        self.computed[result.id] = whole
        return whole

    def copied_stage(self, op: TensorOp, value: str) -> int:
        """A stage that only copies `value`."""
        type_ = self.types[value]
        loops = len(type_.shape)
        identity = tuple(AffineResult(tuple(int(i == d) for i in range(loops))) for d in range(loops))
        body = self.body(op, ScalarBody((type_.element,), (), (0,)))
        use = self.use(op, value, identity, type_.shape)
        result = self.new_tensor(op, type_)
        self.stages.append(
            Stage(
                op.name,
                op.location,
                type_.shape,
                (False,) * loops,
                (use,),
                (None,),
                (Use(result, identity),),
                body,
            )
        )
        return result

    # ----------------------------------------------------------------- linalg ops

    def linalg(self, op: TensorOp, structured: Structured) -> None:
        if not set(structured.iterators) <= {"parallel", "reduction"}:
            raise self.unsupported(op, "a window")
        reduction = tuple(kind == "reduction" for kind in structured.iterators)
        body = self.body(op, structured.body)
        count = structured.input_count
        needed = body.needed
        uses = [
            self.use(op, operand, map_, structured.loops) if argument in needed else None
            for argument, (operand, map_) in enumerate(zip(op.operands, structured.maps, strict=True))
        ]
        results: list[Use] = []
        for result, map_ in zip(op.results, structured.maps[count:], strict=True):
            used = [r.dim for r in map_]
            parallel = {d for d, reduced in enumerate(reduction) if not reduced and structured.loops[d] > 1}
            if None in used or len(set(used)) != len(used) or not parallel <= set(used):
                raise self.unsupported(op, "a result that is no permutation of the parallel loops")
            number = self.new_tensor(op, result.type)
            self.computed[result.id] = number
            results.append(Use(number, map_))
        if 0 in structured.loops:
            raise self.unsupported(op, "a reduction over no elements")
        self.stages.append(
            Stage(
                op.name,
                op.location,
                structured.loops,
                reduction,
                tuple(uses[:count]),
                tuple(uses[count:]),
                tuple(results),
                body,
            )
        )

    def body(self, op: TensorOp, body: ScalarBody) -> BodyGraph:
        try:
            return body_graph(body)
        except Inexpressible as reason:
            raise self.unsupported(op, str(reason), scalar=reason.op, elements=reason.elements) from reason

    def new_tensor(self, op: TensorOp, type_: TensorType) -> int:
        self.tensors.append(Tensor(type_.shape, type_.element, self.element_bytes(op, type_.element)))
        return len(self.tensors) - 1

    def element_bytes(self, op: TensorOp, element: str) -> int:
        if not dtypes.is_known(element) or not is_known(element):
            raise self.unsupported(op, f"elements of {element}", elements=(element,))
        return max(1, dtypes.storage_bits(element) // 8)

    # ----------------------------------------------------------------- accesses

    def use(self, op: TensorOp, value: str, map_: Map, loops: tuple[int, ...]) -> Use | bytes | None:
        """How `op` gets at the tensor `value`: None where its content is undefined."""
        producer = self.producer(value, op)
        if producer.name == "tensor.empty":
            return None
        single = self.constant(value)
        if single is None and producer.structured is not None:
            single = self.fill_value(producer, producer.structured)
        if single is not None:
            return one_byte(single, self.types[value].element)
        if value not in self.computed and producer.name.endswith("dispatch.tensor.load"):
            packed = self.packed_bytes(producer, self.types[value])
            if packed is not None:
                self.unpacked(producer, packed)
        if value in self.computed:
            return Use(self.computed[value], map_)
        key = (value, map_, loops)
        if key not in self.seen:
            view = self.plain_view(value, op)
            bytes_ = self.element_bytes(op, view.element)
            self.tensors.append(Tensor(view.shape, view.element, bytes_, view))
            self.seen[key] = len(self.tensors) - 1
        return Use(self.seen[key], map_)

    def plain_view(self, value: str, user: TensorOp) -> View:
        """A load, slice, reshape or constant; not what other ops compute."""
        producer = self.producer(value, user)
        view = None if producer.structured is not None else self.view(value, user)
        if view is None:
            raise self.unsupported(producer)
        return view


def _shape(op: TensorOp) -> tuple[int, ...]:
    return op.results[0].type.shape if op.results else ()
