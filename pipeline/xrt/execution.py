"""The execution of one function of a program, by repeats: its host commands and dispatches in order.

What the host writes reaches the device, and what the device writes the host, only through syncs. Those
of the host's own fills and copies follow from what they touch; those around a dispatch from the policy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .. import dtypes
from ..errors import DeviceError
from ..iree_tools import call_function
from ..program import (
    Access,
    Artifact,
    Buffer,
    BufferKind,
    BufferSlice,
    Command,
    CopyCommand,
    CpuKernel,
    Dispatch,
    DispatchCommand,
    FillCommand,
    HostFunction,
    Program,
    Result,
)
from ..verdict import BufferReport, HostEvent
from .api import BufferObject
from .memory import LINE_BYTES, Bytes
from .placement import Operand, place, used_ranges
from .policy import Which
from .results import Array, Repeat, RunOptions, RunResult
from .session import DeviceBuffer, KernelSource, LoadedKernel, Session


class Execution:
    """The state of a call of run_program: what is loaded, what is placed where."""

    def __init__(
        self,
        session: Session,
        program: Program,
        function: HostFunction,
        artifacts: Mapping[str, Artifact],
        *,
        inputs: Sequence[Array],
        options: RunOptions,
        cpu_kernels: Mapping[str, CpuKernel] | None = None,
    ) -> None:
        self._session = session
        self._program = program
        self._function = function
        self._artifacts = artifacts
        self._cpu_kernels = cpu_kernels or {}
        self._options = options
        self._policy = options.policy
        self._dispatches = {dispatch.name: dispatch for dispatch in program.dispatches}
        self._buffers = {buffer.name: buffer for buffer in (*program.globals, *function.buffers)}
        self._contents = {
            buffer.name: np.frombuffer(
                dtypes.pack(inputs[buffer.argument], _element(function, buffer)), np.uint8
            )
            for buffer in function.buffers
            if buffer.argument is not None
        }
        self._used = used_ranges(program, function)
        self._operands: dict[int, tuple[Operand, ...]] = {}
        self._windows: dict[tuple[str, int, int], BufferObject] = {}
        self._poisons: dict[int, Bytes] = {}
        self._index = 0
        self._restore: dict[str, Bytes] = {}

    # ----------------------------------------------------------------- the whole

    def repeat(self, on_repeat: Callable[[Repeat], None] | None) -> RunResult:
        """Start-up, then all repeats."""
        session, options = self._session, self._options
        self._start_up()
        variants: list[tuple[Array, ...]] = []
        known: dict[bytes, int] = {}
        variant_of: list[int | None] = []
        seconds: list[float] = []
        first_events: tuple[HostEvent, ...] = ()
        cycles: int | None = None
        for index in range(1, options.repeat + 1):
            session.log.run = self._index = index
            session.cycles = None
            began = time.perf_counter()
            outputs = self._call()
            seconds.append(time.perf_counter() - began)
            events = session.log.take()
            if index == 1:
                first_events, cycles = events, session.cycles
            key = b"".join(output.tobytes() for output in outputs)
            if key not in known and len(variants) < options.keep:
                known[key] = len(variants)
                variants.append(outputs)
            variant_of.append(known.get(key))
            if on_repeat is not None:
                on_repeat(Repeat(index, outputs, events, seconds[-1], session.cycles, self._rereader()))
        return RunResult(
            tuple(variants),
            tuple(variant_of),
            first_events,
            tuple(BufferReport(b.name, b.role, b.size_bytes) for b in session.buffers),
            self._policy,
            options.poison,
            tuple(seconds),
            cycles,
            tuple(session.warnings),
        )

    def _start_up(self) -> None:
        """Globals and constants, once."""
        for buffer in self._buffers.values():
            if buffer.initial is not None:
                self._write(buffer.name, np.frombuffer(buffer.initial, np.uint8), "initial contents")
        self._execute(self._program.startup, 0)
        for name in _written_globals(self._program, self._function, self._dispatches):
            self._restore[name] = self._host_read(self._whole(name), "to restore")

    def _call(self) -> tuple[Array, ...]:
        """One execution. Every argument is written anew, as a dispatch may have written it."""
        for name, data in self._contents.items():
            self._write(name, data, "input")
        for name, data in self._restore.items():
            self._write(name, data, "restored")
        self._execute(self._function.commands, len(self._program.startup))
        return tuple(self._result(number, result) for number, result in enumerate(self._function.results))

    def _execute(self, commands: Sequence[Command], first: int) -> None:
        for number, command in enumerate(commands, first):
            match command:
                case FillCommand():
                    self._fill(command)
                case CopyCommand():
                    self._copy(command.source, command.target, "copy")
                case DispatchCommand() if command.dispatch in self._cpu_kernels:
                    self._dispatch_on_cpu(self._cpu_kernels[command.dispatch], command)
                case DispatchCommand():
                    self._dispatch(number, command)

    def _result(self, number: int, result: Result) -> Array:
        if result.slice is None:
            return dtypes.unpack(result.value or b"", result.type.element, result.type.shape)
        part = result.slice
        buffer = self._buffer(part.buffer)
        data = self._session.read(buffer, part.offset_bytes, part.length_bytes, f"result {number}")
        return dtypes.unpack(data.tobytes(), result.type.element, result.type.shape)

    def _rereader(self) -> Callable[[], tuple[Array, ...]] | None:
        return self._reread if self._policy.outputs_from is Which.ALL else None

    def _reread(self) -> tuple[Array, ...]:
        """The results, synced once more: an unfenced flush may have come too late the first time."""
        for result in self._function.results:
            if result.slice is not None:
                part = result.slice
                buffer = self._buffer(part.buffer)
                self._session.sync_from(buffer, part.offset_bytes, part.length_bytes, "read again")
        outputs = tuple(self._result(n, result) for n, result in enumerate(self._function.results))
        self._session.log.take()  # no part of any repeat
        return outputs

    # ----------------------------------------------------------------- the host's commands

    def _fill(self, command: FillCommand) -> None:
        target = command.target
        pattern = np.frombuffer(command.pattern, np.uint8)
        self._host_write(target, np.resize(pattern, target.length_bytes), f"fill {command.pattern.hex()}")

    def _copy(self, source: BufferSlice, target: BufferSlice, note: str) -> None:
        data = self._host_read(source, note)
        self._host_write(target, data, note)

    def _dispatch_on_cpu(self, kernel: CpuKernel, command: DispatchCommand) -> None:
        """The host does it, as it does fills and copies. It is given all bindings, as a dispatch need not
        write the whole of one."""
        parts = [
            replace(part, length_bytes=binding.type.size_bytes)
            for binding, part in zip(kernel.bindings, command.bindings, strict=True)
        ]
        note = f"for {kernel.dispatch} on the CPU"
        arguments = [
            (str(binding.type), self._host_read(part, note).tobytes())
            for binding, part in zip(kernel.bindings, parts, strict=True)
        ]
        written = [p for b, p in zip(kernel.bindings, parts, strict=True) if b.access.writes]
        results = call_function(
            kernel.module, kernel.function, arguments, len(written), wanted_by="--fallback cpu"
        )
        for part, data in zip(written, results, strict=True):
            self._host_write(part, np.frombuffer(data, np.uint8), f"by {kernel.dispatch} on the CPU")

    def _host_read(self, part: BufferSlice, note: str) -> Bytes:
        """Reads a range, after syncing it from the device where the device has written it."""
        buffer = self._buffer(part.buffer)
        self._freshen(buffer, part, note)
        return self._session.read(buffer, part.offset_bytes, part.length_bytes, note)

    def _host_write(self, part: BufferSlice, data: Bytes, note: str) -> None:
        """Writes a range and syncs it. A line that the device wrote is synced before its other bytes are
        changed: the cache writes lines back whole."""
        buffer = self._buffer(part.buffer)
        self._freshen(buffer, part, note)
        self._session.write(buffer, part.offset_bytes, data, note)
        if self._policy.host_commands:
            self._session.sync_to(buffer, part.offset_bytes, part.length_bytes, note)
        else:  # a program that forgets this sync does not make up for it before the dispatch
            buffer.unsynced.remove(part.offset_bytes, part.offset_bytes + part.length_bytes)

    def _freshen(self, buffer: DeviceBuffer, part: BufferSlice, note: str) -> None:
        low, high = _lines(part, buffer.size_bytes)
        if self._policy.host_commands and buffer.stale.overlaps(low, high):
            self._session.sync_from(buffer, low, high - low, note)

    # ----------------------------------------------------------------- dispatches

    def _dispatch(self, number: int, command: DispatchCommand) -> None:
        session, policy = self._session, self._policy
        dispatch = self._dispatches.get(command.dispatch)
        if dispatch is None:
            raise DeviceError(f"the program starts dispatch '{command.dispatch}', which it does not have")
        kernel = self._kernel(dispatch)
        operands = self._placed(number, dispatch, command)
        parts = [self._part(number, operand, kernel) for operand in operands]
        for operand, part in zip(operands, parts, strict=True):
            if operand.copied and operand.binding.access.reads:
                data = self._host_read(operand.home, "copy of an operand")
                session.write(self._buffer(part.buffer), 0, data, "copy of an operand")
        poison = self._options.poison
        for operand, part in zip(operands, parts, strict=True):
            if poison is not None and operand.binding.access is Access.WRITE and part.length_bytes:
                data = self._poison_of(poison, part.length_bytes)
                session.write(self._buffer(part.buffer), part.offset_bytes, data, "poison")
        chosen = _chosen(operands, policy.outputs_to)
        for index, (operand, part) in enumerate(zip(operands, parts, strict=True)):
            if self._wants_sync_to(operand.binding.access, index in chosen):
                self._sync_unsynced(part)
        for operand, part in zip(operands, parts, strict=True):
            if operand.binding.access is Access.WRITE and part.length_bytes:
                session.declare_output(self._buffer(part.buffer), part.offset_bytes, part.length_bytes)
        session.launch(kernel, [self._handle(part) for part in parts])
        written = [
            (i, p) for i, (o, p) in enumerate(zip(operands, parts, strict=True)) if o.binding.access.writes
        ]
        for _, part in written:
            buffer = self._buffer(part.buffer)
            buffer.stale.add(part.offset_bytes, part.offset_bytes + part.length_bytes)
        back = _chosen(operands, policy.outputs_from)
        for index, part in written:
            if index in back:
                session.sync_from(self._buffer(part.buffer), part.offset_bytes, part.length_bytes, "output")
        for index, part in written:
            if operands[index].copied:
                data = session.read(self._buffer(part.buffer), 0, part.length_bytes, "copy of an output")
                self._host_write(operands[index].home, data, "copy of an output")

    def _poison_of(self, pattern: bytes, length: int) -> Bytes:
        if length not in self._poisons:
            self._poisons[length] = np.resize(np.frombuffer(pattern, np.uint8), length)
        return self._poisons[length]

    def _wants_sync_to(self, access: Access, chosen: bool) -> bool:
        policy = self._policy
        if access is Access.WRITE:
            return chosen
        if self._index > 1 and not policy.resync:
            return False
        return policy.inputs if access is Access.READ else policy.inouts

    def _sync_unsynced(self, part: BufferSlice) -> None:
        """Syncs what the host has written of the range, as one range."""
        buffer = self._buffer(part.buffer)
        low, high = part.offset_bytes, part.offset_bytes + part.length_bytes
        pieces = buffer.unsynced.within(low, high)
        if pieces:
            start, end = pieces[0][0], pieces[-1][1]
            self._session.sync_to(buffer, start, end - start)

    def _kernel(self, dispatch: Dispatch) -> LoadedKernel:
        artifact = self._artifacts.get(dispatch.name)
        if artifact is None:
            raise DeviceError(
                f"there is no artifact for dispatch '{dispatch.name}'", remedy="build the program again"
            )
        source = KernelSource(
            dispatch.name, artifact.xclbin, artifact.kernel, artifact.instructions, artifact.convention
        )
        return self._session.load(source, sync_instructions=self._policy.instructions)

    def _placed(self, number: int, dispatch: Dispatch, command: DispatchCommand) -> tuple[Operand, ...]:
        if number not in self._operands:
            self._operands[number] = place(dispatch, command, self._used)
        return self._operands[number]

    def _part(self, number: int, operand: Operand, kernel: LoadedKernel) -> BufferSlice:
        """Where the kernel finds the operand: at home, or in a buffer of its own."""
        if not operand.copied:
            self._buffer(operand.home.buffer, kernel)
            return operand.home
        name = f"copy for {kernel.source.label}, binding {operand.binding.index} (command {number})"
        length = operand.home.length_bytes
        self._session.buffer(name, "copy", length, self._session.group_of(kernel))
        return BufferSlice(name, 0, length)

    def _handle(self, part: BufferSlice) -> BufferObject:
        key = part.buffer, part.offset_bytes, part.length_bytes
        if key not in self._windows:
            self._windows[key] = self._session.window(
                self._buffer(part.buffer), part.offset_bytes, part.length_bytes
            )
        return self._windows[key]

    # ----------------------------------------------------------------- buffers

    def _write(self, name: str, data: Bytes, note: str) -> None:
        self._session.write(self._buffer(name), 0, data, note)

    def _whole(self, name: str) -> BufferSlice:
        return BufferSlice(name, 0, self._buffers[name].size_bytes)

    def _buffer(self, name: str, kernel: LoadedKernel | None = None) -> DeviceBuffer:
        """The device buffer of that name; made on first use, in the memory bank that `kernel` wants."""
        buffer = self._buffers.get(name)
        if buffer is None:  # a copy: made by _part
            return self._session.buffer(name, "copy", 0)
        group = 0 if kernel is None else self._session.group_of(kernel)
        return self._session.buffer(name, _role(buffer, self._function), buffer.size_bytes, group)


def _element(function: HostFunction, buffer: Buffer) -> str:
    return function.arguments[buffer.argument or 0].element


def _role(buffer: Buffer, function: HostFunction) -> str:
    if buffer.kind is BufferKind.ARGUMENT:
        return f"argument {buffer.argument}"
    for number, result in enumerate(function.results):
        if result.slice is not None and result.slice.buffer == buffer.name:
            return f"result {number}"
    return buffer.kind.value


def _lines(part: BufferSlice, size_bytes: int) -> tuple[int, int]:
    """The range rounded outwards to lines, inside the buffer."""
    low = part.offset_bytes // LINE_BYTES * LINE_BYTES
    return low, min(-(-(part.offset_bytes + part.length_bytes) // LINE_BYTES) * LINE_BYTES, size_bytes)


def _chosen(operands: Sequence[Operand], which: Which) -> frozenset[int]:
    """Positions of the written operands that a policy speaks of."""
    written = [index for index, operand in enumerate(operands) if operand.binding.access.writes]
    match which:
        case Which.ALL:
            return frozenset(written)
        case Which.LAST:
            return frozenset(written[-1:])
        case Which.NONE:
            return frozenset()


def _written_globals(
    program: Program, function: HostFunction, dispatches: Mapping[str, Dispatch]
) -> tuple[str, ...]:
    """Globals that the function's commands write: a repeat must not see what the one before left."""
    targets: list[str] = []
    for command in function.commands:
        match command:
            case FillCommand(target=target) | CopyCommand(target=target):
                targets.append(target.buffer)
            case DispatchCommand(dispatch=name, bindings=slices):
                bindings = dispatches[name].bindings if name in dispatches else ()
                targets += [s.buffer for b, s in zip(bindings, slices, strict=False) if b.access.writes]
    return tuple(buffer.name for buffer in program.globals if buffer.name in targets)
