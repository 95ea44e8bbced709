"""From an MLIR text to a `Program`: parse, specialise, run IREE to executable-sources, read the result.

These are the worker's handlers; the parent calls them by name through `Compiler`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import CompileError
from ..program import (
    Access,
    Buffer,
    BufferKind,
    BufferSlice,
    Command,
    CopyCommand,
    Dispatch,
    DispatchCommand,
    FillCommand,
    HostFunction,
    Program,
    RefusedFunction,
    Result,
    SourceFunction,
    SourceModule,
    TensorType,
)
from . import capi, mlir
from .arithmetic import Number, bit_width
from .dispatches import DispatchTable
from .flags import with_defaults
from .host import HostReader
from .host_values import ArgumentView, HostBuffer, HostValue, Resource, ResultView
from .location import place
from .mlir import Operation
from .passes import drop_empty_loops, keep_functions
from .session import DEFAULT_FLAGS, Session, compiler_name
from .source import Scalars, not_compilable, read_source, refusal, show_type, specialise

# Bindings stay whole tensors (folding would give them odd offsets), and constants are computed by the device
# at start-up rather than by IREE's CPU backend at compile time: that is what the user wants to see run.
PROGRAM_FLAGS = (
    *DEFAULT_FLAGS,
    "--iree-scheduling-optimize-bindings=false",
    "--iree-opt-const-eval=false",
)
PHASE = "executable-sources"


def parse(file: str, text: str, scalars: Scalars | None = None) -> SourceModule:
    """The functions of the file as the user wrote them. Raises CompileError."""
    return read_source(Session(file, text), scalars or {})


def compile_program(
    file: str,
    text: str,
    flags: Sequence[str],
    scalars: Scalars,
    functions: Sequence[str] | None,
) -> Program:
    """The program that IREE makes of the file. Raises CompileError, UsageError.

    `functions` are the ones that must be there; by default all that can be compiled.
    """
    used = with_defaults(PROGRAM_FLAGS, flags)
    session = Session(file, text, used)
    source = read_source(session, scalars)
    chosen = prepare(session, source, scalars, functions)
    try:
        session.run(PHASE)
    except CompileError as error:
        raise in_the_users_words(error, source) from None
    return _Extraction(session, chosen, scalars).program(used)


def prepare(
    session: Session, source: SourceModule, scalars: Scalars, functions: Sequence[str] | None
) -> SourceModule:
    """Leaves in the session's module what will be compiled: functions that can be, scalars as constants.

    Gives the source without the functions that cannot be compiled; those are in its `refused`. Raises
    CompileError for a function that was asked for and is refused or not there, or when none is left.
    """
    refused = {found.name: found for found in source.refused}
    for function in source.functions:
        reason = not_compilable(function, scalars.get(function.name, {}))
        if reason is not None:
            refused[function.name] = refusal(function.name, reason, session.file)
    wanted = [f.name for f in source.functions] if functions is None else list(functions)
    known = {f.name for f in source.functions} | set(refused)
    for name in functions or ():
        if name not in known:
            raise CompileError(
                f"there is no public function @{name}",
                location=session.file,
                remedy=f"the file has {', '.join('@' + f for f in sorted(known))}",
            )
        if name in refused:
            raise refused_error(refused[name])
    kept = [name for name in wanted if name not in refused]
    if not kept:
        raise refused_error(next(iter(refused.values())))
    keep_functions(session.module, kept)
    specialise(session, source, scalars)
    drop_empty_loops(session.module)
    remaining = tuple(f for f in source.functions if f.name in kept)
    return replace(source, functions=remaining, refused=tuple(refused.values()))


def refused_error(found: RefusedFunction) -> CompileError:
    """The error of a refused function, to be raised when it is needed after all."""
    return CompileError(found.message, location=found.location, remedy=found.remedy, op=found.op)


def in_the_users_words(error: CompileError, source: SourceModule) -> CompileError:
    """The error with the op that the user wrote at its location, where IREE names one of its own."""
    for function in source.functions:
        for op in function.ops:
            if op.location == error.location and op.name != error.op and op.results:
                message = f"{op.name} of type {show_type(op.results[0].type)}: {error.message}"
                return CompileError(
                    message,
                    location=error.location,
                    remedy=error.remedy or "IREE cannot compile this op with this type",
                    op=op.name,
                    diagnostics=error.diagnostics,
                )
    return error


@dataclass
class _Read:
    """A function while its buffers are being named."""

    function: SourceFunction
    results: tuple[HostValue, ...]
    commands: list[Command]
    buffers: list[HostBuffer]
    scalars: Mapping[int, bytes]


class _Extraction:
    """Reads one compiled module."""

    def __init__(self, session: Session, source: SourceModule, scalars: Scalars) -> None:
        self._session = session
        self._source = source
        self._scalars = scalars
        self._operations = mlir.children(session.module)
        self._table = DispatchTable(session.module, session.file, session.context)
        named = {mlir.string(op, "sym_name"): op for op in self._operations if op.name == "util.func"}
        self._functions = named
        self._reader = HostReader(named, self._table, session.file, session.context)
        self._names: dict[str, str] = {}

    def program(self, flags: Sequence[str]) -> Program:
        """The program. Functions whose host part cannot be read are refused; raises when none is left."""
        self._read_globals()
        startup, global_buffers = self._take()
        global_buffers = [b for b in global_buffers if b.kind is not BufferKind.ARGUMENT]
        for position, buffer in enumerate(global_buffers):
            self._names[buffer.key] = buffer.name or f"startup{position}"
        functions: list[HostFunction] = []
        refused: list[RefusedFunction] = list(self._source.refused)
        for function in self._source.functions:
            try:
                functions.append(self._function(function))
            except CompileError as error:
                self._take()
                refused.append(refusal(function.name, error, self._session.file))
        if not functions:
            raise refused_error(refused[-1])
        return Program(
            source=self._source,
            dispatches=self._used_dispatches(startup, functions),
            globals=tuple(_buffer(buffer, self._names) for buffer in global_buffers),
            startup=tuple(_renamed(command, self._names) for command in startup),
            functions=tuple(functions),
            compiler=compiler_name(),
            flags=tuple(flags),
            refused=tuple(refused),
        )

    def _used_dispatches(
        self, startup: Sequence[Command], functions: Sequence[HostFunction]
    ) -> tuple[Dispatch, ...]:
        used = {
            getattr(command, "dispatch", None)
            for command in [*startup, *(c for f in functions for c in f.commands)]
        }
        return tuple(d for d in self._table.dispatches if d.name in used)

    def _take(self) -> tuple[list[Command], list[HostBuffer]]:
        """What the reader has gathered since the last time."""
        commands, buffers = self._reader.commands[:], self._reader.buffers[:]
        self._reader.commands.clear()
        self._reader.buffers.clear()
        return commands, buffers

    def _read_globals(self) -> None:
        for op in self._operations:
            if op.name == "util.global":
                initial = mlir.attribute(op, "initial_value")
                type_ = str(getattr(op.attributes["type"], "value", ""))
                if initial is not None and bit_width(type_) is not None:
                    value = capi.scalar_bytes(
                        initial, self._session.context, -(-(bit_width(type_) or 8) // 8)
                    )
                    number = Number(int.from_bytes(value, "little"), type_)
                    self._reader.globals[mlir.string(op, "sym_name")] = number
            elif op.name == "util.initializer":
                self._reader.run(op, (), startup=True)

    def _function(self, function: SourceFunction) -> HostFunction:
        op = self._functions[function.name]
        given = self._scalars.get(function.name, {})
        kept = [i for i in range(len(function.arguments)) if i not in given]
        for index in kept:
            self._reader.argument_buffer(index, function.arguments[index].type.size_bytes)
        results = self._reader.run(op, [ArgumentView(index) for index in kept])
        results = self._kept_arguments(results, function, op)
        commands, buffers = self._take()
        read = _Read(function, results, commands, buffers, given)
        names = self._name_buffers(read)
        return HostFunction(
            name=function.name,
            arguments=tuple(argument.type for argument in function.arguments),
            buffers=tuple(_buffer(buffer, names) for buffer in buffers),
            commands=tuple(_renamed(command, names) for command in commands),
            results=tuple(self._result(value, read, names, i, op) for i, value in enumerate(results)),
            location=function.location,
            scalars=dict(given),
        )

    def _kept_arguments(
        self, results: Sequence[HostValue], function: SourceFunction, op: Operation
    ) -> tuple[HostValue, ...]:
        """Results that are arguments: where a command overwrites the argument, a copy made at the start.

        IREE accumulates into an argument in place and returns the same buffer as the argument itself, which
        then has the wrong content.
        """
        accesses = {d.name: tuple(binding.access for binding in d.bindings) for d in self._table.dispatches}
        written = {part.buffer for command in self._reader.commands for part in _written(command, accesses)}
        kept: list[HostValue] = []
        for value in results:
            kept.append(value)
            if isinstance(value, ArgumentView):
                type_ = function.arguments[value.index].type
                buffer = self._reader.argument_buffer(value.index, type_.size_bytes)
                if buffer.key in written:
                    kept[-1] = ResultView(type_, self._reader.copy_first(buffer, op))
        return tuple(kept)

    def _name_buffers(self, read: _Read) -> dict[str, str]:
        """Names of the function's buffers and the globals, by key; what is returned becomes RESULT."""
        for position, value in enumerate(read.results):
            if isinstance(value, ResultView):
                buffer = value.resource.buffer
                if buffer.kind is BufferKind.TRANSIENT:
                    buffer.kind = BufferKind.RESULT
                    buffer.name = f"result{position}"
        counts: dict[str, int] = {}
        for buffer in read.buffers:
            if not buffer.name:
                count = counts.get(buffer.kind.value, 0)
                counts[buffer.kind.value] = count + 1
                buffer.name = f"{buffer.kind.value}{count}"
        return {**self._names, **{buffer.key: buffer.name for buffer in read.buffers}}

    def _result(
        self, value: HostValue, read: _Read, names: Mapping[str, str], index: int, op: Operation
    ) -> Result:
        if isinstance(value, ResultView):
            return Result(value.type, _slice(value.resource, names))
        if isinstance(value, ArgumentView):
            type_ = read.function.arguments[value.index].type
            return Result(type_, BufferSlice(f"arg{value.index}", 0, type_.size_bytes))
        if isinstance(value, Number):
            return Result(TensorType((), value.element), None, value.to_bytes())
        raise CompileError(
            f"result {index} of @{read.function.name} is neither a tensor nor a known scalar",
            location=place(op, self._session.file),
            op=op.name,
        )


def _written(command: Command, accesses: Mapping[str, Sequence[Access]]) -> list[BufferSlice]:
    """The ranges that a command writes."""
    if isinstance(command, DispatchCommand):
        pairs = zip(command.bindings, accesses[command.dispatch], strict=True)
        return [part for part, access in pairs if access.writes]
    return [command.target]


def _slice(resource: Resource, names: Mapping[str, str]) -> BufferSlice:
    return BufferSlice(names[resource.buffer.key], resource.offset_bytes, resource.length_bytes)


def _buffer(buffer: HostBuffer, names: Mapping[str, str]) -> Buffer:
    return Buffer(names[buffer.key], buffer.kind, buffer.size_bytes, buffer.argument, buffer.initial)


def _renamed(command: Command, names: Mapping[str, str]) -> Command:
    def named(part: BufferSlice) -> BufferSlice:
        return replace(part, buffer=names[part.buffer])

    if isinstance(command, FillCommand):
        return replace(command, target=named(command.target))
    if isinstance(command, CopyCommand):
        return replace(command, source=named(command.source), target=named(command.target))
    return replace(command, bindings=tuple(named(part) for part in command.bindings))
