"""One device, opened once: buffers, loaded kernels, and the log of what the host did.

Speaks the pyxrt API only, so it is the same on hardware and on the emulated device. A `DeviceBuffer`
knows which of its bytes the host has written since they were last synced, and which the device has
written since: what to sync is the runner's decision, by policy.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from ..errors import AiepipeError, DeviceError, RunFailed
from ..program import CallingConvention
from ..verdict import EventKind, HostEvent
from .api import (
    BufferObject,
    DeclaredKernel,
    DeviceModule,
    HardwareContext,
    KernelHandle,
    Named,
    RunHandle,
    device_name,
    member,
)
from .columns import refuse_too_wide
from .events import acting
from .failures import explain
from .flights import FINAL_STATES
from .intervals import Intervals
from .memory import Bytes

CONTEXT_LIMIT = 6
"""Hardware contexts that npu1 has, system-wide (docs/syncs.md)."""

BUFFER_GRANULE = 4
"""Buffers are whole words: the shim DMA moves 32-bit words."""

SPARE_BYTES = 4096
"""Size of the buffer bound to declared arguments that the instruction stream does not use."""


@dataclass(slots=True)
class DeviceBuffer:
    """A root buffer object. `unsynced`: bytes that the host wrote since they were synced to the device;
    `stale`: bytes that the device wrote since they were synced from it."""

    name: str
    role: str
    size_bytes: int
    handle: BufferObject
    unsynced: Intervals = field(default_factory=Intervals)
    stale: Intervals = field(default_factory=Intervals)


@dataclass(frozen=True, slots=True)
class KernelSource:
    """What it takes to load a kernel. `data_count` buffers are bound by whoever runs it."""

    label: str
    xclbin: bytes
    kernel: str
    instructions: bytes
    convention: CallingConvention


@dataclass(slots=True)
class LoadedKernel:
    """A kernel that is ready: its handle, its instruction buffer, one run object that is used again."""

    source: KernelSource
    handle: KernelHandle
    instructions: DeviceBuffer
    run: RunHandle
    declared: int
    first_data_index: int


class EventLog:
    """Host events in order, numbered through; `take` empties it."""

    def __init__(self) -> None:
        self._events: list[HostEvent] = []
        self._count = 0
        self.run = 0

    def add(self, kind: EventKind, buffer: str, offset: int = 0, length: int = 0, note: str = "") -> None:
        """Appends an event of the current run (0: start-up)."""
        self._events.append(HostEvent(self._count, self.run, kind, buffer, offset, length, note))
        self._count += 1

    def take(self) -> tuple[HostEvent, ...]:
        """The events since the last `take`."""
        events, self._events = tuple(self._events), []
        return events


class Session:
    """An open device. A context manager: leaving it releases buffers, runs, kernels, contexts, device, in
    that order."""

    def __init__(
        self, module: DeviceModule, *, timeout_s: float | None = None, poll_ms: int | None = None
    ) -> None:
        self._module = module
        self._timeout_ms = 0 if timeout_s is None else max(1, round(timeout_s * 1000))
        self._poll_ms = poll_ms
        self.log = EventLog()
        self.cycles: int | None = None
        self.warnings: list[str] = []
        self._buffers: dict[str, DeviceBuffer] = {}
        self._contexts: dict[bytes, tuple[HardwareContext, Sequence[DeclaredKernel]]] = {}
        self._kernels: dict[KernelSource, LoadedKernel] = {}
        self._spare: BufferObject | None = None
        with _device_call("opening the device"):
            self._device = module.device(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._buffers.clear()
        self._spare = None
        self._release_kernels()

    # ----------------------------------------------------------------- buffers

    def buffer(self, name: str, role: str, size_bytes: int, group: int = 0) -> DeviceBuffer:
        """The buffer of that name, made when it is first asked for."""
        known = self._buffers.get(name)
        if known is None:
            known = self._allocate(name, role, size_bytes, group, member(self._module.bo, "host_only"))
            self._buffers[name] = known
        return known

    @property
    def buffers(self) -> tuple[DeviceBuffer, ...]:
        """All buffers made so far, in order."""
        return tuple(self._buffers.values())

    def window(self, buffer: DeviceBuffer, offset: int, length: int) -> BufferObject:
        """A sub-buffer object; the buffer itself where the range is all of it."""
        if offset == 0 and length >= buffer.size_bytes:
            return buffer.handle
        with _device_call(f"making a window of {buffer.name}"):
            return self._module.bo(buffer.handle, whole_words(length), offset)

    def write(self, buffer: DeviceBuffer, offset: int, data: Bytes, note: str) -> None:
        """The host writes: in its cache, until it is synced. The DMA moves words, so the last one is
        written whole."""
        if not data.size:
            return
        spare = whole_words(buffer.size_bytes) - buffer.size_bytes
        whole = np.pad(data, (0, spare)) if spare and offset + data.size == buffer.size_bytes else data
        with _device_call(f"writing {buffer.name}, {note}"):
            buffer.handle.write(whole, offset)
        buffer.unsynced.add(offset, offset + data.size)
        buffer.stale.remove(offset, offset + data.size)
        self.log.add(EventKind.WRITE, buffer.name, offset, data.size, note)

    def read(self, buffer: DeviceBuffer, offset: int, length: int, note: str) -> Bytes:
        """What the host sees, as a copy. Through the map: `bo.read` of some builds is wrong (XRT #8258)."""
        with _device_call(f"reading {buffer.name}, {note}"):
            declare = getattr(buffer.handle, "host_read", None)
            if declare is not None:
                declare(offset, length)
            data = np.frombuffer(buffer.handle.map(), np.uint8)[offset : offset + length].copy()
        self.log.add(EventKind.READ, buffer.name, offset, length, note)
        return data

    def declare_output(self, buffer: DeviceBuffer, offset: int, length: int) -> None:
        """Tells the emulated device's observers that the next kernel writes all of the range."""
        declare = getattr(buffer.handle, "declare_output", None)
        if declare is not None:
            declare(offset, length)

    def sync_to(self, buffer: DeviceBuffer, offset: int, length: int, note: str = "") -> None:
        """Syncs the range to the device."""
        self._sync(buffer, offset, length, to_device=True)
        buffer.unsynced.remove(offset, offset + length)
        self.log.add(EventKind.SYNC_TO, buffer.name, offset, length, note)

    def sync_from(self, buffer: DeviceBuffer, offset: int, length: int, note: str = "") -> None:
        """Syncs the range from the device."""
        self._sync(buffer, offset, length, to_device=False)
        buffer.stale.remove(offset, offset + length)
        self.log.add(EventKind.SYNC_FROM, buffer.name, offset, length, note)

    # ----------------------------------------------------------------- kernels

    def load(self, source: KernelSource, *, sync_instructions: bool = True) -> LoadedKernel:
        """The kernel, loaded when it is first asked for; its instructions are written and, by default,
        synced. Raises DeviceError."""
        known = self._kernels.get(source)
        if known is not None:
            return known
        context, declared = self._context(source.xclbin)
        with _device_call(f"opening kernel '{source.kernel}'"):
            handle = self._module.kernel(context, source.kernel)
            run = self._module.run(handle)
            index = 0 if source.convention is CallingConvention.LX6 else 1
            group = handle.group_id(index)
        name = f"instructions of {source.label}"
        padded = whole_words(len(source.instructions))
        stream = self._allocate(name, "instructions", padded, group, member(self._module.bo, "cacheable"))
        self.write(stream, 0, np.frombuffer(source.instructions, np.uint8), "instructions")
        if sync_instructions:
            self.sync_to(stream, 0, len(source.instructions))
        count = next((k.get_num_args() for k in declared if k.get_name() == source.kernel), index + 2)
        loaded = LoadedKernel(source, handle, stream, run, count, index + 2)
        self._kernels[source] = loaded
        return loaded

    def group_of(self, kernel: LoadedKernel) -> int:
        """Group id of its first data buffer; 0 when it declares none."""
        if kernel.first_data_index >= kernel.declared:
            return 0
        with _device_call(f"asking for the memory bank of '{kernel.source.kernel}'"):
            return kernel.handle.group_id(kernel.first_data_index)

    def launch(self, kernel: LoadedKernel, data: Sequence[BufferObject]) -> None:
        """Sets every declared argument, starts, waits, and raises RunFailed unless it completed."""
        source = kernel.source
        room = kernel.declared - kernel.first_data_index
        if len(data) > room:
            raise DeviceError(
                f"kernel '{source.kernel}' declares {room} buffers, {len(data)} are to be bound",
                remedy="the xclbin and the instruction stream do not belong together; build both again",
            )
        first = kernel.first_data_index
        with _device_call(f"starting '{source.kernel}'"):
            if source.convention is CallingConvention.TXN:
                kernel.run.set_arg(0, TXN_OPCODE)
            kernel.run.set_arg(first - 2, kernel.instructions.handle)
            kernel.run.set_arg(first - 1, len(source.instructions) // 4)
            for index, handle in enumerate(data):
                kernel.run.set_arg(first + index, handle)
            for index in range(len(data), room):
                kernel.run.set_arg(first + index, self._spare_buffer(kernel))
            kernel.run.start()
        self.log.add(EventKind.START, source.label, note=f"kernel {source.kernel}")
        with _device_call(f"waiting for '{source.kernel}'"):
            state = self._wait(kernel.run)
        self.log.add(EventKind.WAIT, source.label, note=f"state {_short(state.name)}")
        if state.name != "ERT_CMD_STATE_COMPLETED":
            raise _run_failed(kernel, state.name, self._timeout_ms)
        self._note_summary(kernel.run)

    # ----------------------------------------------------------------- inside

    def _wait(self, run: RunHandle) -> Named:
        """The run's final state, or TIMEOUT when the time is over. `wait` returns TIMEOUT for a slice that
        elapsed and for the driver's watchdog alike; only `state` tells them apart."""
        if self._poll_ms is None:
            return run.wait(self._timeout_ms)
        deadline = time.monotonic() + self._timeout_ms / 1000 if self._timeout_ms else None
        while True:
            state = run.wait(self._poll_ms)
            if state.name != _TIMEOUT:
                return state
            polled = run.state()
            if polled.name in FINAL_STATES:
                return polled
            if deadline is not None and time.monotonic() > deadline:
                return state

    def _allocate(self, name: str, role: str, size_bytes: int, group: int, kind: object) -> DeviceBuffer:
        size = max(whole_words(size_bytes), BUFFER_GRANULE)
        with _device_call(f"allocating {size} bytes for {name}"):
            handle = self._module.bo(self._device, size, kind, group)
        if hasattr(handle, "label"):  # the emulated device names buffers in its messages
            setattr(handle, "label", name)  # noqa: B010 (pyxrt's buffer has no such attribute)
        return DeviceBuffer(name, role, size_bytes, handle)

    def _sync(self, buffer: DeviceBuffer, offset: int, length: int, *, to_device: bool) -> None:
        if not length:
            return  # the driver would flush a line
        name = "XCL_BO_SYNC_BO_TO_DEVICE" if to_device else "XCL_BO_SYNC_BO_FROM_DEVICE"
        direction = member(self._module.xclBOSyncDirection, name)
        way = "to" if to_device else "from"
        with _device_call(f"syncing {buffer.name} {way} the device"):
            buffer.handle.sync(direction, length, offset)

    def _context(self, xclbin: bytes) -> tuple[HardwareContext, Sequence[DeclaredKernel]]:
        key = hashlib.sha256(xclbin).digest()
        if key not in self._contexts:
            if len(self._contexts) >= CONTEXT_LIMIT:
                # evicting one of several makes the next command of another fail on Phoenix: drop all
                self._release_kernels()
            refuse_too_wide(xclbin, device_name(self._module, self._device))
            with tempfile.TemporaryDirectory(prefix="aiepipe-") as folder:
                path = Path(folder) / "design.xclbin"
                path.write_bytes(xclbin)
                with _device_call("loading the xclbin"):
                    binary = self._module.xclbin(str(path))
                    identity = self._device.register_xclbin(binary)
                    context = self._module.hw_context(self._device, identity)
                    self._contexts[key] = context, tuple(binary.get_kernels())
        return self._contexts[key]

    def _spare_buffer(self, kernel: LoadedKernel) -> BufferObject:
        """mlir-aie's kernels declare five buffers, whatever they use: an unset one would be stale."""
        if self._spare is None:
            self._spare = self._allocate(
                "spare",
                "unused argument",
                SPARE_BYTES,
                self.group_of(kernel),
                member(self._module.bo, "host_only"),
            ).handle
        return self._spare

    def _release_kernels(self) -> None:
        self._kernels.clear()
        self._contexts.clear()

    def _note_summary(self, run: RunHandle) -> None:
        """Cycles and warnings, where the device tells (the emulated one does)."""
        summary = getattr(run, "summary", None)
        if summary is not None:
            self.cycles = (self.cycles or 0) + int(summary.cycles)
            self.warnings += [str(text) for text in summary.warnings if text not in self.warnings]


_TIMEOUT = "ERT_CMD_STATE_TIMEOUT"

TXN_OPCODE = 3
"""Argument 0 of a TXN kernel (AIE2_EXEC_BUFFER_KERNEL_OP_TXN)."""


def whole_words(length: int) -> int:
    """`length` rounded up to the DMA's word."""
    return -(-length // BUFFER_GRANULE) * BUFFER_GRANULE


@contextlib.contextmanager
def _device_call(doing: str) -> Generator[None]:
    """Turns what pyxrt raises into a DeviceError that says what was being done, which is also what the
    events of the emulated device say."""
    try:
        with acting(doing):
            yield
    except AiepipeError:
        raise
    except (RuntimeError, IndexError, TypeError, ValueError, OSError, MemoryError) as error:
        if isinstance(error.__cause__, AiepipeError):
            raise error.__cause__ from error
        raise device_error(f"{doing} failed: {error}", str(error)) from error


def device_error(message: str, said: str) -> DeviceError:
    """An error whose code, cause and remedy are those that the catalogue has for what the device `said`."""
    known = explain(said)
    if known is None:
        return DeviceError(message)
    made = DeviceError(f"{message} ({known.code}: {known.cause})", remedy=known.remedy)
    made.code = known.code
    return made


def _short(state: str) -> str:
    return state.removeprefix("ERT_CMD_STATE_")


_STATE_MEANS = {
    "ERT_CMD_STATE_TIMEOUT": "it did not end in time, or the driver's watchdog stopped it",
    "ERT_CMD_STATE_ABORT": "it was aborted: the context may be dead, or the firmware refused it",
    "ERT_CMD_STATE_ERROR": "the firmware reported an error",
}


def _run_failed(kernel: LoadedKernel, state: str, timeout_ms: int) -> RunFailed:
    reason = getattr(kernel.run, "failure", None)
    told = reason if isinstance(reason, AiepipeError) else None
    # the array may have told a deadlock long before the limit: then that is the reason and not the time
    timed = "TIMEOUT" in state and getattr(told, "kind", None) != "deadlock"
    limit = f" (limit {timeout_ms / 1000:g} s)" if timeout_ms and timed else ""
    because = str(told) if told is not None else _STATE_MEANS.get(state, "the device gives no reason")
    remedy = (
        told.remedy if told is not None else "see dmesg; a run that hangs often waits for a lock or a stream"
    )
    failed = RunFailed(
        f"the run of {kernel.source.label} ended {_short(state)}{limit}: {because}. "
        "Its output is partial and was not compared.",
        state=state,
        dispatch=kernel.source.label,
        reason=told,
        remedy=remedy,
    )
    failed.code = "R001" if state == _TIMEOUT else "R002"
    return failed
