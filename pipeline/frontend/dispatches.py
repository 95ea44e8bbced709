"""hal.executable bodies to `Dispatch`: push constants become numbers, subspans become bindings.

A dispatch reads 32-bit operands (sizes, offsets, wide patterns) that the host passes at each call. A kernel
of ours takes buffers only, so each set of operand values makes a body of its own; sets that differ only in
the byte offset of a binding share one, for the offset moves into the host's slice. Every (binding, offset,
type) of the IR becomes one binding of the kernel, in order of appearance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from ..errors import CompileError
from ..program import Access, Attribute, Binding, Dispatch, TensorOp, TensorType
from . import mlir
from .arithmetic import Number
from .hazards import LOAD, STORE, split_reads
from .location import place
from .mlir import Context, Operation
from .reading import OpReader

_TENSOR = re.compile(r"!iree_tensor_ext\.dispatch\.tensor<(readonly|writeonly|readwrite):(.*)>$")
_ACCESS = {"readonly": Access.READ, "writeonly": Access.WRITE, "readwrite": Access.READ_WRITE}
# made by every dispatch, without meaning for a kernel of ours
_IGNORED = frozenset({"func.return", "iree_codegen.null_pointer"})


@dataclass(frozen=True, slots=True)
class Subspan:
    """A binding as a body declares it: the host's binding index, a byte offset into its slice, the tensor.

    With `copied` the kernel gets a copy of that range, made before the dispatch.
    """

    index: int
    offset_bytes: int
    type: TensorType
    access: Access
    copied: bool = False


@dataclass(frozen=True, slots=True)
class SpecialisedDispatch:
    """A dispatch with, for each of its bindings, the host binding and offset that it stands for."""

    dispatch: Dispatch
    subspans: tuple[Subspan, ...]


class DispatchTable:
    """The executables of a module, and the dispatches made of them so far."""

    def __init__(self, module: Operation, file: str, context: Context) -> None:
        self._file = file
        self._context = context
        self._bodies: dict[tuple[str, ...], Operation] = {}
        self._made: dict[str, list[SpecialisedDispatch]] = {}
        self._by_values: dict[tuple[tuple[str, ...], tuple[int, ...]], SpecialisedDispatch] = {}
        for executable in mlir.children(module):
            if executable.name == "hal.executable":
                self._collect(executable)

    @property
    def dispatches(self) -> tuple[Dispatch, ...]:
        """All dispatches made, in order of first use."""
        return tuple({made.dispatch.name: made.dispatch for made in self._by_values.values()}.values())

    def read(self, name: str, operands: Sequence[Number | None]) -> SpecialisedDispatch | None:
        """The body of the export `name` with what is known of its operands; None where it cannot be read.

        For inspection: nothing is kept or renamed.
        """
        for path, body in self._bodies.items():
            if path[-1] == name:
                try:
                    return self._reader(body, operands).result(body)
                except CompileError:
                    return None
        return None

    @property
    def bodies(self) -> dict[tuple[str, ...], Operation]:
        """The function of each export, by (executable, variant, export)."""
        return self._bodies

    def specialise(
        self, entry: tuple[str, ...], operands: Sequence[Number], op: Operation
    ) -> SpecialisedDispatch:
        """The dispatch of an entry point with these operand values; `op` is the host's command.

        Raises CompileError when the entry is not there or its shapes depend on data.
        """
        key = (entry, tuple(number.bits for number in operands))
        if key not in self._by_values:
            self._by_values[key] = self._make(entry, operands, op)
        return self._by_values[key]

    def _collect(self, executable: Operation) -> None:
        name = mlir.string(executable, "sym_name")
        for variant in mlir.children(executable):
            if variant.name != "hal.executable.variant":
                continue
            path = (name, mlir.string(variant, "sym_name"))
            exports = {
                mlir.string(inner, "sym_name")
                for inner in mlir.children(variant)
                if inner.name == "hal.executable.export"
            }
            for function in mlir.descendants(variant):
                if function.name == "func.func" and mlir.string(function, "sym_name") in exports:
                    self._bodies[(*path, mlir.string(function, "sym_name"))] = function

    def _reader(self, body: Operation, operands: Sequence[Number | None]) -> _DispatchReader:
        reader = _DispatchReader(self._file, self._context, operands)
        for inner in mlir.children(body):
            if inner.name not in _IGNORED:
                reader.read(inner)
        return reader

    def _make(self, entry: tuple[str, ...], operands: Sequence[Number], op: Operation) -> SpecialisedDispatch:
        body = self._bodies.get(entry)
        if body is None:
            raise CompileError(
                f"the dispatch {'::'.join(entry)} has no body", location=place(op, self._file), op=op.name
            )
        made = self._reader(body, operands).result(body)
        _refuse_f64(made.dispatch)
        variants = self._made.setdefault(entry[-1], [])
        for known in variants:
            if known.dispatch.ops == made.dispatch.ops and known.dispatch.bindings == made.dispatch.bindings:
                return replace(known, subspans=made.subspans)
        name = entry[-1] if not variants else f"{entry[-1]}_{len(variants)}"
        found = SpecialisedDispatch(replace(made.dispatch, name=name), made.subspans)
        variants.append(found)
        return found


class _DispatchReader(OpReader):
    """Reads a dispatch body whose operands have these values."""

    def __init__(self, file: str, context: Context, operands: Sequence[Number | None]) -> None:
        super().__init__(file, context)
        self._operands = operands
        self._subspans: list[Subspan] = []
        self._bindings: dict[mlir.Value, int] = {}
        self.handle("hal.interface.constant.load", self._constant_load)
        self.handle("hal.interface.binding.subspan", self._subspan)
        self.handle(LOAD, self._load)
        self.handle(STORE, self._store)

    def result(self, body: Operation) -> SpecialisedDispatch:
        """The dispatch read so far; bindings that nothing reads or writes are left out."""
        self._split_hazards()
        used = [
            i for i in range(len(self._subspans)) if any(op.attributes.get("binding") == i for op in self.ops)
        ]
        renumbered = {old: new for new, old in enumerate(used)}
        ops = tuple(_with_binding(op, renumbered) for op in self.ops)
        subspans = tuple(self._subspans[i] for i in used)
        bindings = tuple(Binding(i, s.type, s.access) for i, s in enumerate(subspans))
        name = mlir.string(body, "sym_name")
        location = place(body, self.file)
        return SpecialisedDispatch(Dispatch(name, bindings, ops, mlir.assembly(body), location), subspans)

    def _split_hazards(self) -> None:
        for index, subspan in enumerate(self._subspans[:]):
            if subspan.access is not Access.READ_WRITE:
                continue
            split = split_reads(self.ops, index, len(self._subspans))
            if split is not None:
                self.ops = list(split.ops)
                self._subspans.append(replace(subspan, access=Access.READ, copied=True))
                if not split.still_read:
                    self._subspans[index] = replace(subspan, access=Access.WRITE)

    def _constant_load(self, op: Operation) -> None:
        ordinal = mlir.integer(op, "ordinal")
        if ordinal >= len(self._operands):
            raise self.refusal(f"the dispatch reads operand {ordinal} of {len(self._operands)}", op)
        number = self._operands[ordinal]
        if number is None:
            self.bind(op.results[0], self.fresh(self.type_of(op.results[0].type, op)))
        else:
            self.know(op.results[0], number, place(op, self.file))

    def _subspan(self, op: Operation) -> None:
        result = op.results[0]
        found = _TENSOR.match(str(result.type))
        if found is None:
            raise self.refusal(f"a binding of type {result.type} is no tensor", op)
        shaped = mlir.shaped(mlir.parse_type(found[2], self.context))
        if shaped is None:
            raise self.refusal(f"a binding of type {result.type} has no shape", op)
        segments = mlir.integers(op, "operandSegmentSizes")
        offset = self.number(op.operands[0]) if segments[0] else Number(0, "index")
        dims = iter(op.operands[segments[0] :])
        shape = tuple(self.known_size(next(dims)) if dim == -1 else dim for dim in shaped[0])
        if -1 in shape or offset is None:
            raise self.refusal(
                f"the tensor of type {result.type} has a size that is not known at compile time",
                op,
                "give the scalars that the shape depends on; shapes must be static",
            )
        subspan = Subspan(
            mlir.integer(op, "binding"), offset.signed, TensorType(shape, shaped[1]), _ACCESS[found[1]]
        )
        if subspan not in self._subspans:
            self._subspans.append(subspan)
        self._bindings[result] = self._subspans.index(subspan)

    def _load(self, op: Operation) -> None:
        attributes = self._slice(op, op.operands[0], 1)
        sizes = cast("tuple[int, ...]", attributes["sizes"])
        type_ = self.type_of(op.results[0].type, op)
        if -1 in type_.shape:
            type_ = TensorType(sizes, type_.element)
        self.emit(op, (), attributes, (type_,))

    def _store(self, op: Operation) -> None:
        self.emit(op, [op.operands[0]], self._slice(op, op.operands[1], 2), ())

    def _slice(self, op: Operation, target: mlir.Value, first: int) -> dict[str, Attribute]:
        """`binding`, `offsets`, `sizes` and `strides`; segment `first` holds the dims of the whole tensor."""
        segments = mlir.integers(op, "operandSegmentSizes")
        attributes: dict[str, Attribute] = {"binding": self._bindings[target]}
        position = sum(segments[: first + 1])
        for name, count in zip(("offsets", "sizes", "strides"), segments[first + 1 :], strict=True):
            entries = self.static_list(op, f"static_{name}", op.operands[position : position + count])
            if -1 in entries:
                raise self.refusal(f"{name} that are not known at compile time", op, "shapes must be static")
            attributes[name] = entries
            position += count
        return attributes


def entry_point(op: Operation) -> tuple[str, ...]:
    """The executable, variant and export that a stream.cmd.dispatch runs."""
    return mlir.symbol_path(str(mlir.elements(op.attributes["entry_points"])[0]))


def _refuse_f64(dispatch: Dispatch) -> None:
    """The NPU has no 64-bit floats; IREE's way out, demotion to f32, changes values silently."""
    types = {value.id: value.type for op in dispatch.ops for value in op.results}
    for op in dispatch.ops:
        if op.name in (LOAD, STORE, "arith.constant", "tensor.empty"):
            continue
        for type_ in [
            *(types[operand] for operand in op.operands if operand in types),
            *(r.type for r in op.results),
        ]:
            if type_.element in ("f64", "complex<f64>"):
                raise CompileError(
                    f"{op.name} computes on {type_}: the NPU has no f64",
                    location=op.location,
                    op=op.name,
                    remedy="use f32 (what only the host does, fills, copies and constants, may be f64)",
                )


def _with_binding(op: TensorOp, renumbered: dict[int, int]) -> TensorOp:
    binding = op.attributes.get("binding")
    if not isinstance(binding, int):
        return op
    return replace(op, attributes={**op.attributes, "binding": renumbered[binding]})
