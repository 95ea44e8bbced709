"""The host program at IREE's phase executable-sources, executed on sizes and offsets only.

util.func and util.initializer are run as they would be at run time, with buffers as names instead of bytes:
what they do to buffers, in order, are the commands of a HostFunction. Control flow is followed where its
condition is known (sizes; `stream.resource.try_map` succeeds); a condition that depends on data is refused.
Concurrent regions are listed in their own order, which is one of the valid ones, and timepoints are dropped.
Source: iree/compiler/Dialect/Stream/IR/StreamOps.td of iree-base-compiler 3.13, and its output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from ..errors import CompileError
from ..program import BufferKind, Command, CopyCommand, DispatchCommand, FillCommand, TensorType
from . import constants, mlir
from .arithmetic import Number, evaluate
from .dispatches import DispatchTable, entry_point
from .host_values import ArgumentView, HostBuffer, HostBytes, HostValue, Opaque, Resource, ResultView
from .location import place
from .mlir import Block, Context, Operation

# a host program is straight-line code; more steps mean a loop that we cannot see the end of
STEP_LIMIT = 1_000_000
CALL_DEPTH = 64
# the widest pattern of a fill command (stream.cmd.fill takes i8, i16 or i32)
WIDEST_PATTERN_BYTES = 4

_IGNORED = frozenset(
    {
        "hal.buffer_view.assert", "hal.buffer_view.trace", "hal.buffer.assert", "util.status.check_ok",
        "stream.cmd.flush", "stream.cmd.invalidate", "stream.cmd.discard", "stream.resource.retain",
        "stream.tensor.trace", "stream.yield", "scf.yield",
    }
)  # fmt: skip
_PASS_THROUGH = frozenset({"util.optimization_barrier", "util.assume.int", "stream.timepoint.barrier"})
_NO_VALUE = ("hal.", "stream.timepoint.", "stream.resource.deallo", "stream.resource.release", "util.null")


class HostReader:
    """Runs the functions of one module; globals keep their values from one to the next."""

    def __init__(
        self, functions: Mapping[str, Operation], table: DispatchTable, file: str, context: Context
    ) -> None:
        self.globals: dict[str, HostValue] = {}
        self.commands: list[Command] = []
        self.buffers: list[HostBuffer] = []
        self._functions = functions
        self._table = table
        self._file = file
        self._context = context
        self._steps = 0
        self._depth = 0
        self._made = 0
        self._allocation = BufferKind.TRANSIENT
        self._values: dict[mlir.Value, HostValue] = {}
        self._handlers: dict[str, Callable[[Operation], None]] = {
            "arith.constant": self._constant,
            "util.buffer.constant": self._buffer_constant,
            "util.global.load": self._global_load,
            "util.global.store": self._global_store,
            "util.call": self._call,
            "scf.if": self._if,
            "stream.tensor.import": self._import,
            "stream.tensor.export": self._export,
            "stream.resource.alloca": self._allocate,
            "stream.resource.alloc": self._allocate,
            "stream.resource.subview": self._subview,
            "stream.resource.size": self._size,
            "stream.resource.try_map": self._try_map,
            "stream.resource.store": self._store,
            "stream.timepoint.await": self._await,
            "stream.cmd.execute": self._execute,
            "stream.cmd.concurrent": self._nested,
            "stream.cmd.serial": self._nested,
            "stream.cmd.fill": self._fill,
            "stream.cmd.copy": self._copy,
            "stream.cmd.dispatch": self._dispatch,
        }

    def run(
        self, function: Operation, arguments: Sequence[HostValue], *, startup: bool = False
    ) -> tuple[HostValue, ...]:
        """Runs a util.func or util.initializer; its commands and allocations are appended to `commands`
        and `buffers`.

        What it allocates is GLOBAL for an initializer. Raises CompileError for what depends on data.
        """
        self._allocation = BufferKind.GLOBAL if startup else BufferKind.TRANSIENT
        return self._run_blocks(function, arguments)

    # ----------------------------------------------------------------- control flow

    def _run_blocks(self, op: Operation, arguments: Sequence[HostValue]) -> tuple[HostValue, ...]:
        blocks = mlir.blocks(op)
        block: Block | None = next(iter(blocks), None)
        while block is not None:
            for parameter, value in zip(block.arguments, arguments, strict=True):
                self._values[parameter] = value
            ops = blocks[block]
            for inner in ops[:-1]:
                self._step(inner)
            last = ops[-1]
            if last.name in ("util.return", "scf.yield", "stream.yield"):
                return tuple(self._value(value, last) for value in last.operands)
            block, arguments = self._branch(last)
        return ()

    def _branch(self, op: Operation) -> tuple[Block, tuple[HostValue, ...]]:
        targets = list(op.successors)
        if op.name == "cf.br":
            return targets[0], tuple(self._value(value, op) for value in op.operands)
        if op.name != "cf.cond_br":
            raise self._refusal(f"the host program ends a block with {op.name}, which is not read", op)
        taken, true_count = self._number(op.operands[0], op), mlir.integers(op, "operandSegmentSizes")[1]
        operands = [*op.operands][1:]
        chosen = operands[:true_count] if taken.bits else operands[true_count:]
        return targets[0 if taken.bits else 1], tuple(self._value(value, op) for value in chosen)

    def _step(self, op: Operation) -> None:
        self._steps += 1
        if self._steps > STEP_LIMIT:
            raise self._refusal(f"the host program does not end within {STEP_LIMIT} steps", op)
        name = op.name
        handler = self._handlers.get(name)
        if handler is not None:
            handler(op)
        elif name in _IGNORED:
            return
        elif name in _PASS_THROUGH:
            for operand, result in zip(op.operands, op.results, strict=False):
                self._values[result] = self._value(operand, op)
        elif not self._computed(op):
            if not name.startswith(_NO_VALUE):
                raise self._refusal(_unread_message(name), op)
            for result in op.results:
                self._values[result] = Opaque(str(result.type))

    def _computed(self, op: Operation) -> bool:
        if len(op.results) != 1 or not op.operands:
            return False
        numbers = [self._values.get(value) for value in op.operands]
        known = [n for n in numbers if isinstance(n, Number)]
        if len(known) != len(numbers):
            return False
        predicate = mlir.integer(op, "predicate") if op.name == "arith.cmpi" else None
        value = evaluate(op.name, known, str(op.results[0].type), predicate)
        if value is None:
            return False
        self._values[op.results[0]] = value
        return True

    def _call(self, op: Operation) -> None:
        name = mlir.symbol_path(str(op.attributes["callee"]))[0]
        callee = self._functions.get(name)
        if callee is None or not callee.regions[0].blocks:
            raise self._refusal(f"the host program calls @{name}, which has no body", op)
        self._depth += 1
        if self._depth > CALL_DEPTH:
            raise self._refusal(f"calls are nested deeper than {CALL_DEPTH} levels", op)
        results = self._run_blocks(callee, [self._value(value, op) for value in op.operands])
        self._depth -= 1
        for result, value in zip(op.results, results, strict=True):
            self._values[result] = value

    def _if(self, op: Operation) -> None:
        condition = self._number(op.operands[0], op)
        region = op.regions[0 if condition.bits else 1]
        chosen = {block: inner for block, inner in mlir.blocks(op).items() if block in list(region.blocks)}
        for inner in chosen.values():
            for each in inner[:-1]:
                self._step(each)
            for result, value in zip(op.results, inner[-1].operands, strict=True):
                self._values[result] = self._value(value, op)

    # ----------------------------------------------------------------- values

    def _value(self, value: mlir.Value, op: Operation) -> HostValue:
        found = self._values.get(value)
        if found is None:
            raise self._refusal(f"{op.name} uses a value of type {value.type} that is not known", op)
        return found

    def _number(self, value: mlir.Value, op: Operation) -> Number:
        found = self._value(value, op)
        if not isinstance(found, Number):
            raise self._refusal(
                f"{op.name} needs a number that is not known at compile time",
                op,
                "give the scalar arguments that it depends on; shapes must be static",
            )
        return found

    def _resource(self, value: mlir.Value, op: Operation) -> Resource:
        found = self._value(value, op)
        if not isinstance(found, Resource):
            raise self._refusal(f"{op.name} needs a buffer, not a {type(found).__name__}", op)
        return found

    def _size_of(self, value: mlir.Value, op: Operation) -> int:
        return self._number(value, op).signed

    def _refusal(self, message: str, op: Operation, remedy: str | None = None) -> CompileError:
        return CompileError(message, location=place(op, self._file), remedy=remedy, op=op.name)

    def _constant(self, op: Operation) -> None:
        element = str(op.results[0].type)
        found = constants.scalar(op.attributes["value"], element, self._context)
        self._values[op.results[0]] = Opaque(element) if found is None else found

    def _buffer_constant(self, op: Operation) -> None:
        data = constants.buffer(op.attributes["value"], self._context)
        if data is None:
            raise self._refusal("a constant in a form that is not read", op)
        self._values[op.results[0]] = HostBytes(data)

    def _global_load(self, op: Operation) -> None:
        name = mlir.symbol_path(str(op.attributes["global"]))[0]
        self._values[op.results[0]] = self.globals.get(name, Opaque(name))

    def _global_store(self, op: Operation) -> None:
        name = mlir.symbol_path(str(op.attributes["global"]))[0]
        value = self._value(op.operands[0], op)
        if self._allocation is not BufferKind.GLOBAL:
            raise self._refusal(
                f"the function changes the global @{name}: state between calls is not supported", op
            )
        if isinstance(value, Resource) and not value.buffer.name:
            value.buffer.name = name
        self.globals[name] = value

    # ----------------------------------------------------------------- buffers

    def _import(self, op: Operation) -> None:
        view = self._value(op.operands[0], op)
        if isinstance(view, ArgumentView):
            size = self._size_of(op.operands[-1], op)
            self._values[op.results[0]] = Resource(self.argument_buffer(view.index, size), 0, size)
        elif isinstance(view, ResultView):
            self._values[op.results[0]] = view.resource
        else:
            raise self._refusal("an import of something that is no argument", op)

    def argument_buffer(self, index: int, size_bytes: int) -> HostBuffer:
        """The buffer of an argument, made at its first use."""
        for known in self.buffers:
            if known.argument == index:
                return known
        return self._new(BufferKind.ARGUMENT, size_bytes, f"arg{index}", argument=index)

    def copy_first(self, buffer: HostBuffer, op: Operation) -> Resource:
        """A copy of an argument, made before all other commands."""
        target = Resource(self._new(BufferKind.TRANSIENT, buffer.size_bytes), 0, buffer.size_bytes)
        source = Resource(buffer, 0, buffer.size_bytes)
        self.commands.insert(0, CopyCommand(source.slice, target.slice, place(op, self._file)))
        return target

    def _new(
        self,
        kind: BufferKind,
        size_bytes: int,
        name: str = "",
        *,
        argument: int | None = None,
        initial: bytes | None = None,
    ) -> HostBuffer:
        made = HostBuffer(f"#{self._made}", kind, size_bytes, name, argument, initial)
        self._made += 1
        self.buffers.append(made)
        return made

    def _export(self, op: Operation) -> None:
        encoding = cast("mlir.Type", getattr(op.attributes["source_encoding"], "value", None))
        found = mlir.shaped(encoding)
        if found is None:
            raise self._refusal(f"a result of type {encoding} is no tensor", op)
        dims = iter([*op.operands][1:])
        shape = tuple(self._size_of(next(dims), op) if dim == -1 else dim for dim in found[0])
        resource = self._resource(op.operands[0], op)
        self._values[op.results[0]] = ResultView(TensorType(shape, found[1]), resource)

    def _allocate(self, op: Operation) -> None:
        size = self._size_of(op.operands[0], op)
        made = self._new(self._allocation, size)
        self._values[op.results[0]] = Resource(made, 0, size)
        for timepoint in [*op.results][1:]:
            self._values[timepoint] = Opaque("timepoint")

    def _subview(self, op: Operation) -> None:
        source = self._resource(op.operands[0], op)
        offset, length = self._size_of(op.operands[2], op), self._size_of(op.operands[3], op)
        self._values[op.results[0]] = source.part(offset, length)

    def _size(self, op: Operation) -> None:
        self._values[op.results[0]] = Number(self._resource(op.operands[0], op).length_bytes, "index")

    def _try_map(self, op: Operation) -> None:
        """The constant's bytes as a buffer: mapping succeeds, so no file is copied in the other branch."""
        source = self._value(op.operands[0], op)
        if not isinstance(source, HostBytes):
            raise self._refusal("a mapping of something that is no constant", op)
        offset, size = self._size_of(op.operands[1], op), self._size_of(op.operands[2], op)
        made = self._new(BufferKind.CONSTANT, size, initial=source.data[offset : offset + size])
        self._values[op.results[0]] = Number(1, "i1")
        self._values[op.results[1]] = Resource(made, 0, size)

    def _await(self, op: Operation) -> None:
        for operand, result in zip(op.operands, op.results, strict=False):
            self._values[result] = self._value(operand, op)

    # ----------------------------------------------------------------- commands

    def _execute(self, op: Operation) -> None:
        for parameter, operand in zip(op.regions[0].blocks[0].arguments, op.operands, strict=False):
            self._values[parameter] = self._value(operand, op)
        self._nested(op)
        for result in op.results:
            self._values[result] = Opaque("timepoint")

    def _nested(self, op: Operation) -> None:
        for inner in mlir.children(op):
            self._step(inner)

    def _part(self, op: Operation, resource: mlir.Value, offset: mlir.Value, length: mlir.Value) -> Resource:
        whole = self._resource(resource, op)
        start, size = self._size_of(offset, op), self._size_of(length, op)
        if start < 0 or size < 0 or start + size > whole.length_bytes:
            raise self._refusal(
                f"{op.name} reaches bytes {start} to {start + size} of a buffer of {whole.length_bytes}", op
            )
        return whole.part(start, size)

    def _fill(self, op: Operation) -> None:
        operands = op.operands
        target = self._part(op, operands[0], operands[2], operands[3])
        self._emit_fill(target, self._number(operands[4], op).to_bytes(), op)

    def _emit_fill(self, target: Resource, pattern: bytes, op: Operation) -> None:
        if len(pattern) > WIDEST_PATTERN_BYTES:
            raise self._refusal(f"a fill pattern of {len(pattern)} bytes", op)
        if target.length_bytes:
            self.commands.append(FillCommand(target.slice, pattern, place(op, self._file)))

    def _store(self, op: Operation) -> None:
        """The host writes one scalar, in pieces that a fill can write."""
        data = self._number(op.operands[3], op).to_bytes()
        resource, start = self._resource(op.operands[0], op), self._size_of(op.operands[2], op)
        for offset in range(0, len(data), WIDEST_PATTERN_BYTES):
            piece = data[offset : offset + WIDEST_PATTERN_BYTES]
            self._emit_fill(resource.part(start + offset, len(piece)), piece, op)

    def _copy(self, op: Operation) -> None:
        operands = op.operands
        source = self._part(op, operands[0], operands[2], operands[6])
        target = self._part(op, operands[3], operands[5], operands[6])
        if source.length_bytes:
            self.commands.append(CopyCommand(source.slice, target.slice, place(op, self._file)))

    def _dispatch(self, op: Operation) -> None:
        segments = mlir.integers(op, "operandSegmentSizes")
        groups: list[list[mlir.Value]] = []
        position = 0
        for count in segments:
            groups.append([*op.operands][position : position + count])
            position += count
        _, uniforms, resources, _, offsets, lengths = groups
        entry = entry_point(op)
        made = self._table.specialise(entry, [self._number(value, op) for value in uniforms], op)
        slices = [self._part(op, *part) for part in zip(resources, offsets, lengths, strict=True)]
        bound: list[Resource] = []
        for subspan in made.subspans:
            whole = slices[subspan.index]
            needed = subspan.type.size_bytes
            if subspan.offset_bytes < 0 or subspan.offset_bytes + needed > whole.length_bytes:
                raise self._refusal(
                    f"binding {subspan.index} of {entry[-1]} reaches outside its buffer of "
                    f"{whole.length_bytes} bytes",
                    op,
                )
            part = whole.part(subspan.offset_bytes, needed)
            bound.append(self._copied(part, op) if subspan.copied else part)
        slices_bound = tuple(part.slice for part in bound)
        self.commands.append(DispatchCommand(made.dispatch.name, slices_bound, place(op, self._file)))

    def _copied(self, source: Resource, op: Operation) -> Resource:
        """A copy, for a dispatch that overwrites what it still reads."""
        made = self._new(self._allocation, source.length_bytes)
        target = Resource(made, 0, source.length_bytes)
        self.commands.append(CopyCommand(source.slice, target.slice, place(op, self._file)))
        return target


def _unread_message(name: str) -> str:
    if "parameter" in name:
        return f"the program takes parameters from a file ({name}), which is not supported"
    if name == "stream.resource.load":
        return "the program reads data back to decide what to do next, which is not supported"
    return f"the host program uses {name}, which is not read here"
