"""linalg ops in their generic form: maps, iterators, trip counts and the scalar body.

Named ops carry their body as a region and give their maps through the bindings; a loop of a named op is
parallel where its dim appears in the map of an init, a reduction otherwise (linalg's own definition of named
ops, mlir/docs/Dialects/Linalg).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import dtypes
from ..program import AffineResult, Attribute, ScalarBody, ScalarOp, Structured, TensorType
from . import affine, capi, mlir
from .arithmetic import FLOAT_PREDICATES, INTEGER_PREDICATES, Number, bit_width
from .mlir import Operation

_ITERATOR_PREFIX = "#linalg.iterator_type<"


def is_structured(op: Operation) -> bool:
    """Whether `op` is a linalg op on tensors with maps and a body."""
    return op.name.startswith("linalg.") and bool(op.results) and mlir.indexing_maps(op) is not None


class BodyReader:
    """Reads the region of a linalg op; scalars from outside become constants or further inputs.

    `captured` are the values that became inputs, to be put between the op's own inputs and its inits;
    `strange` is the op that could not be read, if one could not.
    """

    def __init__(self, op: Operation, outside: Callable[[mlir.Value], Number | TensorType | None]) -> None:
        self.captured: list[mlir.Value] = []
        self.strange: str | None = None
        self._op = op
        self._outside = outside
        self._index: dict[mlir.Value, int] = {}

    def read(self, operands: Sequence[TensorType]) -> ScalarBody | None:
        """The body; None where it has an op that is not a plain scalar one."""
        op = self._op
        inner = mlir.children(op)
        block = op.regions[0].blocks[0]
        inputs = len(op.operands) - len(op.results)
        constants = self._collect_outside(inner, set(block.arguments))
        if constants is None:
            return None
        elements = [operand.element for operand in operands]
        taken = [str(value.type) for value in self.captured]
        arguments = (*elements[:inputs], *taken, *elements[inputs:])
        for position, argument in enumerate(block.arguments):
            self._index[argument] = position if position < inputs else position + len(taken)
        for position, value in enumerate(self.captured):
            self._index[value] = inputs + position
        ops: list[ScalarOp] = []
        for value, number in constants.items():
            self._index[value] = len(arguments) + len(ops)
            ops.append(ScalarOp("arith.constant", (), number.element, {"value": number.to_bytes()}))
        for scalar in inner[:-1]:
            read = self._scalar_op(scalar)
            if read is None:
                self.strange = scalar.name
                return None
            self._index[scalar.results[0]] = len(arguments) + len(ops)
            ops.append(read)
        return ScalarBody(arguments, tuple(ops), tuple(self._index[v] for v in inner[-1].operands))

    def _collect_outside(
        self, inner: Sequence[Operation], inside: set[mlir.Value]
    ) -> dict[mlir.Value, Number] | None:
        constants: dict[mlir.Value, Number] = {}
        for scalar in inner:
            if scalar.regions:
                self.strange = scalar.name
                return None
            for value in scalar.operands:
                if value in inside or value in constants or value in self.captured:
                    continue
                outside = self._outside(value)
                if isinstance(outside, Number):
                    constants[value] = outside
                elif outside is not None and outside.shape == ():
                    self.captured.append(value)
                else:
                    self.strange = scalar.name
                    return None
            inside.update(scalar.results)
        return constants

    def _scalar_op(self, op: Operation) -> ScalarOp | None:
        if len(op.results) != 1:
            return None
        element = str(op.results[0].type)
        if not dtypes.is_known(element):
            return None
        attributes: dict[str, Attribute] = {}
        if op.name == "arith.constant":
            width = bit_width(element)
            if width is None:
                return None
            value = op.attributes["value"]
            attributes["value"] = capi.scalar_bytes(value, mlir.context_of(op), -(-width // 8))
        elif op.name == "linalg.index":
            attributes["dim"] = mlir.integer(op, "dim")
        elif op.name == "arith.cmpi":
            attributes["predicate"] = INTEGER_PREDICATES[mlir.integer(op, "predicate")]
        elif op.name == "arith.cmpf":
            attributes["predicate"] = FLOAT_PREDICATES[mlir.integer(op, "predicate")]
        return ScalarOp(op.name, tuple(self._index[v] for v in op.operands), element, attributes)


def read_structured(op: Operation, operands: Sequence[TensorType], body: BodyReader) -> Structured | None:
    """The generic form of a linalg op whose operands have these types.

    None where a map is not linear, a trip count is not known, or the body is not read.
    """
    found = mlir.indexing_maps(op)
    if found is None or len(found) != len(operands):
        return None
    maps: list[tuple[AffineResult, ...]] = []
    for map_ in found:
        results = affine.results(map_)
        if results is None:
            return None
        maps.append(results)
    dims = found[0].n_dims
    loops = affine.trip_counts(maps, [operand.shape for operand in operands], dims)
    scalar_body = body.read(operands)
    if loops is None or scalar_body is None:
        return None
    inputs = len(operands) - len(op.results)
    scalars: list[tuple[AffineResult, ...]] = [()] * len(body.captured)
    return Structured(
        input_count=inputs + len(scalars),
        maps=(*maps[:inputs], *scalars, *maps[inputs:]),
        iterators=_iterators(op, maps[inputs:], dims),
        loops=loops,
        body=scalar_body,
    )


def _iterators(op: Operation, init_maps: Sequence[tuple[AffineResult, ...]], dims: int) -> tuple[str, ...]:
    given = mlir.attribute(op, "iterator_types")
    if given is not None:
        return tuple(str(i).removeprefix(_ITERATOR_PREFIX).removesuffix(">") for i in mlir.elements(given))
    parallel = {result.dim for map_ in init_maps for result in map_}
    return tuple("parallel" if dim in parallel else "reduction" for dim in range(dims))
