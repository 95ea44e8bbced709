"""The user's real pyxrt under the sync sanitizer: a module of its names whose buffers, kernels and runs tell
the sanitizer what they do, and do it.

What the device touches is not seen on hardware: it is read off the instruction stream (the shim DMAs'
descriptors and the patches of their addresses). Stores through views are found by comparing with a copy
at the next call; changes that the device or a sync made are not taken for the host's.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import ArtifactError
from ..formats.instructions import parse_instructions
from ..formats.lx6 import is_lx6
from ..formats.stream_accesses import StreamAccess, stream_accesses
from ..verdict import SyncFinding
from .events import (
    Allocated,
    BoundArgument,
    DeviceRead,
    DeviceWrite,
    Direction,
    EventStream,
    Freed,
    HostRead,
    HostWrite,
    Labelled,
    Mapped,
    Misused,
    RunFinished,
    RunObserved,
    RunStarted,
    Site,
    Synced,
    Via,
    call_site,
)
from .flights import FINAL_STATES
from .hosting import importable
from .memory import ELEMENT_BYTES, Bytes
from .sanitizer import Sanitizer

_COMPLETED = "ERT_CMD_STATE_COMPLETED"
_TXN_HEADER_BYTES = 16


@dataclass(slots=True)
class Watch:
    """A sanitizer over a real module, and what the proxies share."""

    real: Any
    suppress: tuple[str, ...] = ()
    events: EventStream = field(default_factory=EventStream)
    sanitizer: Sanitizer = field(init=False)
    roots: list[weakref.ref[_Root]] = field(default_factory=list["weakref.ref[_Root]"])
    numbers: dict[str, int] = field(default_factory=lambda: {"buffer": 0, "run": 0})

    def __post_init__(self) -> None:
        self.sanitizer = Sanitizer(suppress=self.suppress, has_views=self._has_views)
        self.events.observers.append(self.sanitizer.observe)

    aborted: None = None

    @property
    def findings(self) -> tuple[SyncFinding, ...]:
        """What was found so far."""
        return self.sanitizer.findings

    def finish(self) -> tuple[SyncFinding, ...]:
        """The program is over."""
        self.observe_all()
        return self.sanitizer.finish()

    def number(self, of: str) -> int:
        """The next number, from 1."""
        self.numbers[of] += 1
        return self.numbers[of]

    def _has_views(self, buffer: int) -> bool:
        roots = (reference() for reference in self.roots)
        return any(root is not None and root.number == buffer and root.has_views for root in roots)

    def observe_all(self) -> None:
        """Accounts for stores through views of any buffer."""
        for reference in self.roots:
            root = reference()
            if root is not None:
                root.observe()


def sanitized_module(real: object, *, suppress: Sequence[str] = ()) -> tuple[ModuleType, Watch]:
    """A module with all names of `real`, whose `bo`, `kernel` and `run` are watched."""
    watch = Watch(real, suppress=tuple(suppress))
    module = ModuleType("pyxrt", "pyxrt under aiepipe's sync sanitizer")
    for name in dir(real):
        if not name.startswith("__"):
            setattr(module, name, getattr(real, name))
    module.__dict__.update({name: make(watch, getattr(real, name)) for name, make in _WATCHED.items()})
    if hasattr(real, "runlist"):
        setattr(module, "runlist", _runlist_class(watch, watch.real.runlist))  # noqa: B010
    if hasattr(real, "ext"):
        ext = ModuleType("pyxrt.ext", "pyxrt.ext under aiepipe's sync sanitizer")
        for name in dir(watch.real.ext):
            if not name.startswith("__"):
                setattr(ext, name, getattr(watch.real.ext, name))
        setattr(ext, "bo", _buffer_class(watch, watch.real.ext.bo))  # noqa: B010
        setattr(ext, "kernel", _kernel_class(watch, watch.real.ext.kernel))  # noqa: B010
        setattr(module, "ext", ext)  # noqa: B010
    return module, watch


@contextlib.contextmanager
def sanitized_pyxrt(real: object, *, suppress: Sequence[str] = ()) -> Generator[Watch]:
    """Inside the block `import pyxrt` is the real module under the sanitizer."""
    module, watch = sanitized_module(real, suppress=suppress)
    with importable(module):
        try:
            yield watch
        finally:
            watch.finish()


# --------------------------------------------------------------------------- buffers


class _Root:
    """A root buffer: its number, and what its host bytes were when they were last looked at."""

    def __init__(self, watch: Watch, real: Any, size: int) -> None:
        self.watch, self.real, self.size = watch, real, size
        self.number = watch.number("buffer")
        self.label = f"buffer {self.number}"
        self.expected: Bytes | None = None
        self.views: list[weakref.ref[Bytes]] = []
        watch.roots = [*(known for known in watch.roots if known() is not None), weakref.ref(self)]
        watch.events.emit(Allocated(self.number, size, self.label, call_site()))
        weakref.finalize(self, watch.events.emit, Freed(self.number)).atexit = False

    @property
    def has_views(self) -> bool:
        """Whether a view, or an array made from one, is still alive."""
        self.views = [view for view in self.views if view() is not None]
        return bool(self.views)

    def host(self) -> Bytes:
        """The host's bytes; a copy where the binding gives copies."""
        return np.frombuffer(self.real.map(), np.uint8)

    def observe(self) -> None:
        """Finds what was stored through views since the last call."""
        if self.expected is None:
            return
        now = self.host()
        changed = np.flatnonzero(now != self.expected)
        if changed.size:
            low = int(changed[0]) // ELEMENT_BYTES * ELEMENT_BYTES
            high = min(-(-(int(changed[-1]) + 1) // ELEMENT_BYTES) * ELEMENT_BYTES, self.size)
            self.watch.events.emit(HostWrite(self.number, low, high - low, Via.MAP, call_site()))
            self.expected = now.copy()

    def accept(self) -> None:
        """What is there now is not the host's doing, or is known already."""
        if self.expected is not None:
            self.expected = self.host().copy()


class _Proxy:
    """Something real, and what it is watched by. Everything else of it is passed on."""

    watch: Watch

    def __init__(self, real: Any) -> None:
        self.real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class _Buffer(_Proxy):
    root: _Root
    offset: int

    def write(self, data: Any, seek: int, /) -> None:
        self.root.observe()
        self.real.write(data, seek)
        length = memoryview(data).nbytes
        self.watch.events.emit(HostWrite(self.root.number, self.offset + seek, length, Via.CALL, call_site()))
        self.root.accept()

    def read(self, size: int, skip: int, /) -> Any:
        self.root.observe()
        self.host_read(skip, size)
        return self.real.read(size, skip)

    def map(self) -> memoryview:
        # through an array of ours, which lives as long as any array that the program makes of the view
        window = np.frombuffer(self.real.map(), np.uint8)
        self.root.views.append(weakref.ref(window))
        if self.root.expected is None:
            self.root.expected = self.root.host().copy()
        self.root.observe()
        self.watch.events.emit(Mapped(self.root.number, self.offset, window.size, call_site()))
        return window.data

    def sync(self, direction: Any, /, *rest: int) -> None:
        self.root.observe()
        length, offset = rest if rest else (self.real.size(), 0)
        to = "TO_DEVICE" in direction.name
        way = Direction.TO_DEVICE if to else Direction.FROM_DEVICE
        self.watch.events.emit(Synced(self.root.number, self.offset + offset, length, way, call_site()))
        self.real.sync(direction, *rest)
        self.root.accept()

    def host_read(self, offset_bytes: int, length_bytes: int) -> None:
        """Says that the program read this range through a view (as the emulated device's buffer has it)."""
        at = self.offset + offset_bytes
        self.watch.events.emit(HostRead(self.root.number, at, length_bytes, Via.CALL, call_site()))

    @property
    def label(self) -> str:
        return self.root.label

    @label.setter
    def label(self, name: str) -> None:
        self.root.label = name
        self.watch.events.emit(Labelled(self.root.number, name))


def _buffer_class(watch: Watch, real: Any) -> type:
    class bo(_Buffer):  # noqa: N801 (pyxrt's name)
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(real(*map(_real, arguments), **named))
            self.watch = watch
            parent = arguments[0] if arguments else None
            if isinstance(parent, _Buffer):
                self.root, self.offset = parent.root, parent.offset + int(arguments[2])
            else:
                self.root, self.offset = _Root(watch, self.real, int(self.real.size())), 0

    return _with_members(bo, real)


# --------------------------------------------------------------------------- kernels and runs


@dataclass(slots=True)
class _Flight:
    """A started run: its number, and what its stream does to which buffers."""

    number: int
    site: Site
    reads: list[tuple[_Root, int, int]]
    writes: list[tuple[_Root, int, int]]


def _take_off(watch: Watch, kernel: str, arguments: dict[int, object]) -> _Flight:
    """Tells of the start of a run with these arguments; before it is really started."""
    watch.observe_all()
    first = min((index for index, value in arguments.items() if isinstance(value, _Buffer)), default=0)
    bound = tuple(
        BoundArgument(
            index, value.root.number, value.offset, int(value.real.size()), instructions=index == first
        )
        for index, value in sorted(arguments.items())
        if isinstance(value, _Buffer)
    )
    for argument in bound:
        buffer = arguments[argument.index]
        if isinstance(buffer, _Buffer) and buffer.label == f"buffer {buffer.root.number}":
            what = "instructions" if argument.instructions else f"argument {argument.index}"
            buffer.label = f"{buffer.label} ({what} of {kernel})"
    flight = _Flight(watch.number("run"), call_site(), [], [])
    watch.events.emit(RunStarted(flight.number, kernel, bound, flight.site))
    stream = arguments.get(first)
    if isinstance(stream, _Buffer):
        data = _stream_bytes(stream, arguments.get(first + 1))
        flight.reads.append((stream.root, stream.offset, len(data)))
        for access in _accesses(data):
            _account(flight, access, arguments.get(first + 2 + access.argument))
    return flight


def _account(flight: _Flight, access: StreamAccess, buffer: object) -> None:
    if not isinstance(buffer, _Buffer):
        return
    size = int(buffer.real.size())
    for offset, length in ((0, size),) if access.ranges is None else access.ranges:
        inside = min(length, size - offset)
        if inside > 0:
            where = buffer.root, buffer.offset + offset, inside
            (flight.writes if access.writes else flight.reads).append(where)


def _land(watch: Watch, flight: _Flight, state: str) -> None:
    """The host learned that the run is over."""
    for root, offset, length in flight.reads:
        watch.events.emit(DeviceRead(flight.number, root.number, offset, length))
    for root, offset, length in flight.writes:
        watch.events.emit(DeviceWrite(flight.number, root.number, offset, length))
        root.accept()  # lines that are not in the cache show the result at once
    watch.events.emit(RunFinished(flight.number, state))


def _stream_bytes(buffer: _Buffer, count: object) -> bytes:
    data = bytes(buffer.real.map())
    if is_lx6(data):
        return data[: 4 * count] if isinstance(count, int) else data
    size = int.from_bytes(data[12:_TXN_HEADER_BYTES], "little")
    return data[:size] if _TXN_HEADER_BYTES <= size <= len(data) else data


def _accesses(data: bytes) -> tuple[StreamAccess, ...]:
    try:
        return stream_accesses(parse_instructions(data))
    except ArtifactError:
        return ()  # the device will say what it makes of it


class _Run(_Proxy):
    flight: _Flight | None = None

    def __init__(self, real: Any, kernel: str) -> None:
        super().__init__(real)
        self.kernel_name = kernel
        self.arguments: dict[int, object] = {}

    def set_arg(self, index: int, value: Any, /) -> None:
        self.real.set_arg(index, _real(value))
        self.arguments[index] = value

    def start(self) -> None:
        if self.flight is not None:
            self._misused("L005", f"a run of '{self.kernel_name}' was started again")
        flight = _take_off(self.watch, self.kernel_name, self.arguments)
        self.real.start()
        self.flight = flight

    def __del__(self) -> None:
        if self.flight is not None:
            detail = f"a run of '{self.kernel_name}' was started and dropped before its end was seen"
            self._misused("L002", detail, self.flight.site)

    def _misused(self, hazard: str, detail: str, site: Site | None = None) -> None:
        self.watch.events.emit(Misused(hazard, self.kernel_name, detail, site or call_site()))

    def wait(self, *timeout: Any) -> Any:
        return self._seen(self.real.wait(*timeout))

    def state(self) -> Any:
        return self._seen(self.real.state())

    def wait2(self, *timeout: Any) -> None:
        try:
            self.real.wait2(*timeout)
        except RuntimeError:
            self._seen(self.real.state())
            raise
        self._seen_name(_COMPLETED)

    def _seen(self, state: Any) -> Any:
        self._seen_name(str(state.name))
        return state

    def _seen_name(self, state: str) -> None:
        if self.flight is None:
            return
        number = self.flight.number
        if state in FINAL_STATES:
            _land(self.watch, self.flight, state)
            self.flight = None
        self.watch.events.emit(RunObserved(number, state, call_site()))


def _run_class(watch: Watch, real: Any) -> type:
    class run(_Run):  # noqa: N801
        def __init__(self, kernel: Any = None, /) -> None:
            made = real() if kernel is None else real(_real(kernel))
            super().__init__(made, getattr(kernel, "kernel_name", "?"))
            self.watch = watch

    return _with_members(run, real)


def _kernel_class(watch: Watch, real: Any) -> type:
    class kernel(_Proxy):  # noqa: N801
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(real(*arguments, **named))
            self.kernel_name = next((v for v in (*arguments, *named.values()) if isinstance(v, str)), "?")

        def __call__(self, *arguments: Any) -> _Run:
            flight = _take_off(watch, self.kernel_name, dict(enumerate(arguments)))
            made = _Run(self.real(*map(_real, arguments)), self.kernel_name)
            made.watch, made.flight = watch, flight
            made.arguments = dict(enumerate(arguments))
            return made

    return _with_members(kernel, real)


class _RunList(_Proxy):
    def __init__(self, real: Any) -> None:
        super().__init__(real)
        self.runs: list[_Run] = []

    def add(self, item: Any, /) -> None:
        self.real.add(_real(item))
        if isinstance(item, _Run):
            self.runs.append(item)

    def execute(self) -> None:
        for item in self.runs:
            item.flight = _take_off(self.watch, item.kernel_name, item.arguments)
        self.real.execute()

    def wait(self, *timeout: Any) -> None:
        try:
            self.real.wait(*timeout)
        finally:  # which of them failed, only their states tell
            for item in self.runs:
                item.state()


def _runlist_class(watch: Watch, real: Any) -> type:
    class runlist(_RunList):  # noqa: N801
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(real(*arguments, **named))
            self.watch = watch

    return runlist


_WATCHED = {"bo": _buffer_class, "kernel": _kernel_class, "run": _run_class}


def _real(value: Any) -> Any:
    return value.real if isinstance(value, _Proxy) else value


def _with_members(made: type, real: object) -> type:
    """Gives the class the enums that the real one exports (bo.flags, bo.host_only)."""
    for name in dir(real):
        value = getattr(real, name)
        is_enum = isinstance(value, type) or not (callable(value) or hasattr(made, name))
        if is_enum and not name.startswith("_"):
            setattr(made, name, value)
    return made
