"""The MLIR bindings of IREE (`iree.compiler.ir`) as typed Python; nobody else imports them here.

The bindings have no stubs, so this module says what we use of them as protocols and hides three of their
habits:
- iterating a block's `operations` makes OpViews, which imports a dialect's generated module (linalg's takes
  0.1 s); `walk` gives plain operations, so `children` and `blocks` are built on it;
- attributes of some element types (complex, resources) cannot be made into Python objects: their bytes come
  from the C API (`capi`);
- `Module.parse` calls every source "-".

Importing this module imports IREE (0.2 s): only the worker process does. Source: the bindings of
iree-base-compiler 3.13, tried.
"""

from __future__ import annotations

import enum
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast


class Type(Protocol):
    """An MLIR type; `str()` gives its text."""


class ShapedType(Type, Protocol):
    """A ranked tensor, vector or memref type; a dynamic dimension is `DYNAMIC`."""

    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def element_type(self) -> Type: ...


class FunctionType(Type, Protocol):
    """Types of a function's arguments and results."""

    @property
    def inputs(self) -> Sequence[Type]: ...
    @property
    def results(self) -> Sequence[Type]: ...


class AffineExpr(Protocol):
    """One expression of an affine map."""

    @property
    def lhs(self) -> AffineExpr: ...
    @property
    def rhs(self) -> AffineExpr: ...
    @property
    def position(self) -> int: ...
    @property
    def value(self) -> int: ...


class AffineMap(Protocol):
    """An affine map; `n_dims` dimensions to `results`."""

    @property
    def n_dims(self) -> int: ...
    @property
    def n_symbols(self) -> int: ...
    @property
    def results(self) -> Iterable[AffineExpr]: ...


class Attribute(Protocol):
    """An MLIR attribute; `str()` gives its text."""

    @property
    def type(self) -> Type: ...


class Location(Protocol):
    """A location; see `location.source_location`."""


class Use(Protocol):
    """One use of a value."""

    @property
    def operand_number(self) -> int: ...


class Value(Protocol):
    """An SSA value; hashable, equal to itself."""

    @property
    def type(self) -> Type: ...
    @property
    def uses(self) -> Iterable[Use]: ...
    def replace_all_uses_with(self, other: Value, /) -> None: ...


class Block(Protocol):
    """A basic block; hashable."""

    @property
    def arguments(self) -> Sequence[Value]: ...
    def erase_argument(self, index: int, /) -> None: ...


class Region(Protocol):
    """A region of an operation."""

    @property
    def blocks(self) -> Sequence[Block]: ...


class Operation(Protocol):
    """An operation; hashable."""

    @property
    def name(self) -> str: ...
    @property
    def operands(self) -> Sequence[Value]: ...
    @property
    def results(self) -> Sequence[Value]: ...
    @property
    def regions(self) -> Sequence[Region]: ...
    @property
    def attributes(self) -> Mapping[str, Attribute]: ...
    @property
    def successors(self) -> Iterable[Block]: ...
    @property
    def location(self) -> Location: ...
    @property
    def block(self) -> Block: ...
    def erase(self) -> None: ...


class Context(Protocol):
    """An MLIR context; it must outlive everything made in it."""


class _Bindings(Protocol):
    """The part of the module `iree.compiler.ir` that is used here; classes are kept opaque."""

    Context: Callable[[], Context]
    Module: Any
    Operation: Any
    Attribute: Any
    Type: Any
    FunctionType: Any
    RankedTensorType: Any
    VectorType: Any
    IndexType: Any
    TypeAttr: Any
    IntegerAttr: Any
    FloatAttr: Any
    BoolAttr: Any
    StringAttr: Any
    ArrayAttr: Any
    DenseElementsAttr: Any
    DenseI64ArrayAttr: Any
    DenseI32ArrayAttr: Any
    DenseBoolArrayAttr: Any
    MLIRError: type[Exception]
    InsertionPoint: Any
    Location: Any
    AffineDimExpr: type
    AffineSymbolExpr: type
    AffineConstantExpr: type
    AffineAddExpr: type
    AffineMulExpr: type
    WalkOrder: Any
    WalkResult: Any
    ShapedType: Any


ir = cast("_Bindings", importlib.import_module("iree.compiler.ir"))
_linalg = cast("Any", importlib.import_module("iree.compiler._mlir_libs._mlirDialectsLinalg"))

DYNAMIC = cast("int", ir.ShapedType.get_dynamic_size())

# --------------------------------------------------------------------------- locations


class LocationKind(enum.Enum):
    """What a location is made of."""

    FILE = "file"
    FUSED = "fused"
    CALL_SITE = "callsite"
    NAME = "name"
    OTHER = "other"


# a class for each from 3.12 on, a question to ask before
_LOCATION_CLASSES = {
    LocationKind.FILE: "FileLineColLoc",
    LocationKind.FUSED: "FusedLoc",
    LocationKind.CALL_SITE: "CallSiteLoc",
    LocationKind.NAME: "NameLoc",
}


def location_kind(location: Location) -> LocationKind:
    """The kind of a location; `start_line`, `locations`, `callee` and so on are there accordingly."""
    for kind, name in _LOCATION_CLASSES.items():
        made = getattr(ir, name, None)
        if isinstance(location, made) if made is not None else getattr(location, f"is_a_{kind.value}")():
            return kind
    return LocationKind.OTHER


# --------------------------------------------------------------------------- walking


def children(op: Operation) -> list[Operation]:
    """The operations directly inside `op`, over all its regions and blocks, in order."""
    found: list[Operation] = []

    def visit(inner: Operation) -> Any:
        if inner == op:
            return ir.WalkResult.ADVANCE
        found.append(inner)
        return ir.WalkResult.SKIP

    cast("Any", op).walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def descendants(op: Operation) -> list[Operation]:
    """All operations inside `op`, outer before inner."""
    found: list[Operation] = []

    def visit(inner: Operation) -> Any:
        if inner != op:
            found.append(inner)
        return ir.WalkResult.ADVANCE

    cast("Any", op).walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def blocks(op: Operation) -> dict[Block, list[Operation]]:
    """Each block of `op` with its operations, in order; blocks are compared by identity."""
    grouped: dict[Block, list[Operation]] = {block: [] for region in op.regions for block in region.blocks}
    for inner in children(op):
        grouped[inner.block].append(inner)
    return grouped


def clone(op: Operation) -> Operation:
    """A copy of an operation and all inside, which a pass on the original leaves alone."""
    return cast("Operation", cast("Any", op).clone().operation)


def context_of(op: Operation) -> Context:
    """The context that `op` lives in."""
    return cast("Context", cast("Any", op).context)


def parent(op: Operation) -> Operation | None:
    """The operation around `op`."""
    around = cast("Any", op).parent
    return None if around is None else cast("Operation", around.operation)


# --------------------------------------------------------------------------- types


def shaped(type_: Type) -> tuple[tuple[int, ...], str] | None:
    """Shape (dynamic as -1) and element name of a ranked tensor type; None for any other type."""
    if not isinstance(type_, cast("type", ir.RankedTensorType)):
        return None
    tensor = cast("ShapedType", type_)
    return tuple(-1 if dim == DYNAMIC else dim for dim in tensor.shape), str(tensor.element_type)


def function_type(op: Operation) -> FunctionType:
    """The type of a func.func or util.func."""
    return cast("FunctionType", cast("Any", op.attributes["function_type"]).value)


def parse_type(text: str, context: Context) -> Type:
    """The type with this text."""
    return cast("Type", ir.Type.parse(text, context))


# --------------------------------------------------------------------------- attributes


def attribute(op: Operation, name: str) -> Attribute | None:
    """The attribute of that name, or None."""
    attributes = op.attributes
    return attributes[name] if name in attributes else None  # noqa: SIM401  (no `get` before 3.11)


def integer(op: Operation, name: str) -> int:
    """An integer (or bool) attribute. Raises KeyError where there is none."""
    return int(cast("Any", op.attributes[name]).value)


def string(op: Operation, name: str) -> str:
    """A string attribute. Raises KeyError where there is none."""
    return cast("str", cast("Any", op.attributes[name]).value)


def integers(op: Operation, name: str) -> tuple[int, ...]:
    """A dense array attribute of integers; a dynamic entry stays `DYNAMIC`. Empty where there is none."""
    found = attribute(op, name)
    return () if found is None else tuple(int(v) for v in cast("Iterable[int]", found))


def shaped_attribute(found: Attribute) -> tuple[tuple[int, ...], str] | None:
    """Shape and element name of an elements attribute of tensor or vector type."""
    type_ = found.type
    if isinstance(type_, cast("type", ir.VectorType)):
        vector = cast("ShapedType", type_)
        return tuple(vector.shape), str(vector.element_type)
    return shaped(type_)


def elements(found: Attribute) -> list[Attribute]:
    """The entries of an array attribute."""
    return list(cast("Iterable[Attribute]", found))


def parse_attribute(text: str, context: Context) -> Attribute:
    """The attribute with this text."""
    return cast("Attribute", ir.Attribute.parse(text, context))


def symbol_path(text: str) -> tuple[str, ...]:
    """The names in a symbol reference printed as `@a::@b`, quoted names unquoted."""
    names: list[str] = []
    position = 0
    while position < len(text) and text[position] == "@":
        position += 1
        if text[position : position + 1] == '"':
            end = text.index('"', position + 1)
            names.append(text[position + 1 : end])
            position = end + 1
        else:
            end = text.find("::", position)
            end = len(text) if end < 0 else end
            names.append(text[position:end])
            position = end
        if text[position : position + 2] == "::":
            position += 2
    return tuple(names)


# --------------------------------------------------------------------------- linalg


def indexing_maps(op: Operation) -> list[AffineMap] | None:
    """One map per operand of a linalg op, named ops included; None for what is not a linalg op."""
    maps = cast("list[Any] | None", _linalg.get_indexing_maps(op))
    return None if maps is None else [cast("AffineMap", m.value) for m in maps]


# --------------------------------------------------------------------------- building


def constant(block: Block, text: str, context: Context) -> Value:
    """A new arith.constant with the attribute `text` at the start of `block`."""
    found = parse_attribute(text, context)
    with ir.Location.unknown(context), ir.InsertionPoint.at_block_begin(block):
        made = ir.Operation.create("arith.constant", results=[found.type], attributes={"value": found})
    return cast("Value", made.results[0])


def replace_by_one_workgroup(export: Operation, context: Context) -> None:
    """Makes the workgroup count of a hal.executable.export (1, 1, 1)."""
    for op in reversed(children(export)):
        op.erase()
    index = ir.IndexType.get(context)
    with ir.Location.unknown(context), ir.InsertionPoint(export.regions[0].blocks[0]):
        one = ir.Operation.create(
            "arith.constant", results=[index], attributes={"value": ir.IntegerAttr.get(index, 1)}
        )
        ir.Operation.create("hal.return", operands=[one.results[0]] * 3)


def set_function_type(
    op: Operation, inputs: Sequence[Type], results: Sequence[Type], context: Context
) -> None:
    """Replaces a function's type, e.g. after one of its arguments was erased."""
    made = ir.FunctionType.get(list(inputs), list(results), context)
    cast("dict[str, Any]", op.attributes)["function_type"] = ir.TypeAttr.get(made, context)


def make_private(op: Operation) -> None:
    """Takes a symbol out of the module's public ones."""
    made = ir.StringAttr.get("private", context_of(op))
    cast("dict[str, Any]", op.attributes)["sym_visibility"] = made


def drop_argument_attributes(op: Operation, indices: set[int]) -> None:
    """Keeps a function's argument attributes in step with erased arguments."""
    found = attribute(op, "arg_attrs")
    if found is not None:
        kept = [entry for i, entry in enumerate(elements(found)) if i not in indices]
        cast("dict[str, Any]", op.attributes)["arg_attrs"] = ir.ArrayAttr.get(kept, context_of(op))


def assembly(op: Operation, *, largest_elements: int | None = None) -> str:
    """The text of an operation, without locations; constants of more elements are left out."""
    return cast(
        "str", cast("Any", op).get_asm(enable_debug_info=False, large_elements_limit=largest_elements)
    )


def each(items: Iterable[Value]) -> Iterator[Value]:
    """The values of an operand or result list."""
    return iter(items)
