"""`bo` of the emulated pyxrt: a buffer object over host memory that a cache stands before.

`write`, `read` and `map` touch the host's side only, and only `sync` (or an eviction) moves lines, as in
XRT. Texts and quirks: docs/syncs.md. `host_read` and `label` are ours, for programs that know they
run here; pyxrt has no way to say that a view was read.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from .emulation import Emulation, current
from .events import Declared, Direction, HostRead, HostWrite, Labelled, Mapped, Nested, Synced, Via, call_site
from .memory import Bytes, CachedMemory
from .overloads import bound, choose
from .space import Allocation
from .values import BoundEnum, as_unsigned, incompatible, invalid_argument, xclBOSyncDirection

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .contexts import device, hw_context

DEVICE_HEAP_BYTES = 64 << 20
"""Heap behind `cacheable` buffers on KMQ devices (xdna-driver; ini Debug.num_heap_pages = 1)."""


@bound("bo.flags")
class flags(BoundEnum):  # noqa: N801 (pyxrt's name)
    """Kinds of buffer. On an NPU only host_only and cacheable can be had."""

    normal = 0
    cacheable = 1 << 24
    device_only = 1 << 28
    host_only = 1 << 29
    p2p = 1 << 30
    svm = 1 << 27


class _Root:
    """The memory of a root buffer; freed when the last handle (buffer, sub-buffer, run) is gone."""

    def __init__(self, emulation: Emulation, size: int, bank: int) -> None:
        self.emulation = emulation
        self.bank = bank
        self.allocation: Allocation = emulation.allocate(size)
        weakref.finalize(self, emulation.free, self.allocation.id).atexit = False


@bound("bo")
class bo:  # noqa: N801
    """A buffer object, or a window of one.

    `bo(device|hw_context, size, flags, group)`, `bo(hw_context, size, group)`,
    `bo(parent, size, offset)`.
    """

    flags: ClassVar = flags
    normal: ClassVar = flags.normal
    cacheable: ClassVar = flags.cacheable
    device_only: ClassVar = flags.device_only
    host_only: ClassVar = flags.host_only
    p2p: ClassVar = flags.p2p
    svm: ClassVar = flags.svm

    def __init__(self, *arguments: object, **named: object) -> None:
        key, values = choose("bo", current().settings.release, arguments, named)
        owner, size, *rest = values
        assert isinstance(size, int)
        if isinstance(owner, bo):
            self._open_window(owner, size, int(cast("int", rest[0])))
            return
        kind = flags.host_only if key == "default" else cast("flags", rest[0])
        self._open_root(owner, size, kind, cast("int", rest[-1]))

    def _open_root(self, owner: object, size: int, kind: flags, group: int) -> None:
        emulation = cast("device | hw_context", owner).emulation
        self._size = size
        if kind == flags.normal:
            raise RuntimeError("unsupported buffer type: none flag (err=95): Operation not supported")
        if kind not in (flags.host_only, flags.cacheable):
            raise RuntimeError("Bad BO type. (err=22): Invalid argument")
        if self._size == 0:
            raise invalid_argument("DRM_IOCTL_AMDXDNA_CREATE_BO IOCTL failed (err=-22)")
        if kind == flags.cacheable and self._size > DEVICE_HEAP_BYTES:
            raise RuntimeError("DRM_IOCTL_AMDXDNA_CREATE_BO IOCTL failed (err=-12): Cannot allocate memory")
        self._root = _Root(emulation, self._size, group & 0xFFFF)
        self._host_offset = 0
        self._device_offset = 0
        self._parent: bo | None = None

    def _open_window(self, parent: bo, size: int, offset: int) -> None:
        self._size = size
        if offset + self._size > parent._size:
            raise invalid_argument("sub buffer size and offset")
        self._root = parent._root
        self._parent = parent
        self._host_offset = parent._host_offset + offset
        # XRT adds only the innermost offset to the device address: a window of a window is off
        self._device_offset = offset
        if self._host_offset != offset and self.emulation.events.active:
            self.emulation.events.emit(Nested(self.allocation.id, self._host_offset, size, call_site()))

    # ----------------------------------------------------------------- pyxrt

    def write(self, data: object, seek: int, /) -> None:
        """Stores a contiguous buffer's bytes at `seek`."""
        position = as_unsigned(seek)
        if not _is_contiguous(data):
            detail = f"bo.write to {self.label} of an array that is not contiguous: pyxrt ignores strides"
            self.emulation.misused("A005", self.label, detail)
        raw = _raw_bytes(data, lenient=self.emulation.settings.lenient)
        if position is None or raw is None:
            raise incompatible("write", ("(self: pyxrt.bo, arg0: Buffer, arg1: int) -> None",), data, seek)
        if position + raw.size > self._size:
            raise invalid_argument("attempting to write past buffer size")
        self._observe()
        self.memory.write(self._host_offset + position, raw)
        if self.emulation.events.active:
            self._emit_write(position, raw.size)

    def read(self, size: int, skip: int, /) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
        """A copy of `size` bytes at `skip`, as int8."""
        length, position = as_unsigned(size), as_unsigned(skip)
        if length is None or position is None:
            form = "(self: pyxrt.bo, arg0: int, arg1: int) -> numpy.ndarray[numpy.int8]"
            raise incompatible("read", (form,), size, skip)
        if position + length > self._size:
            raise invalid_argument("attempting to read past buffer size")
        self._observe()
        self._emit_read(position, length, Via.CALL)
        return self.memory.read(self._host_offset + position, length).view(np.int8)

    def map(self) -> memoryview:
        """A writable view of the host's bytes. It does not keep the buffer alive."""
        self._observe()
        if self.emulation.events.active:
            self.emulation.events.emit(Mapped(self.allocation.id, self._host_offset, self._size, call_site()))
        return self.memory.view(self._host_offset, self._size).data

    def sync(self, direction: xclBOSyncDirection, /, *rest: object) -> None:
        """`sync(direction)` or `sync(direction, size, offset)`: writes back and invalidates whole lines."""
        numbers = [as_unsigned(value) for value in rest]
        if not isinstance(direction, xclBOSyncDirection) or len(rest) not in (0, 2) or None in numbers:  # pyright: ignore[reportUnnecessaryIsInstance]
            forms = (
                "(self: pyxrt.bo, arg0: pyxrt.xclBOSyncDirection, arg1: int, arg2: int) -> None",
                "(self: pyxrt.bo, arg0: pyxrt.xclBOSyncDirection) -> None",
            )
            raise incompatible("sync", forms, direction, *rest)
        length, offset = (self._size, 0) if not rest else (numbers[0] or 0, numbers[1] or 0)
        self._check_sync(length, offset)
        way = _DIRECTIONS.get(direction)
        if way is None:
            raise RuntimeError("GMIO sync is not supported: Operation not supported")
        self._observe()
        if self.emulation.events.active:
            window = None if self._parent is None else (self._host_offset, self._size)
            self.emulation.events.emit(
                Synced(self.allocation.id, self._host_offset + offset, length, way, call_site(), window)
            )
        self.memory.sync(way, self._host_offset + offset, length)

    def size(self) -> int:
        """Size in bytes."""
        return self._size

    def address(self) -> int:
        """Device address."""
        return self.allocation.address + self._device_offset

    # ----------------------------------------------------------------- ours

    def host_read(self, offset_bytes: int, length_bytes: int) -> None:
        """Says that the program read this range through a view: the lines are now in the cache."""
        self._observe()
        self._emit_read(offset_bytes, length_bytes, Via.DECLARED)
        self.memory.mark_read(self._host_offset + offset_bytes, length_bytes)

    def declare_output(self, offset_bytes: int, length_bytes: int) -> None:
        """Says that the next kernel writes all of this range and does not read it."""
        if self.emulation.events.active:
            event = Declared(self.allocation.id, self._host_offset + offset_bytes, length_bytes)
            self.emulation.events.emit(event)

    @property
    def label(self) -> str:
        """A name for messages and findings; that of the root buffer."""
        return self.allocation.label

    @label.setter
    def label(self, name: str) -> None:
        self.allocation.label = name
        if self.emulation.events.active:
            self.emulation.events.emit(Labelled(self.allocation.id, name))

    @property
    def emulation(self) -> Emulation:
        """The emulation that this buffer belongs to."""
        return self._root.emulation

    @property
    def allocation(self) -> Allocation:
        """The root buffer's memory."""
        return self._root.allocation

    @property
    def memory(self) -> CachedMemory:
        """The root buffer's cache and DDR."""
        return self._root.allocation.memory

    @property
    def bank(self) -> int:
        """The memory bank it was made in."""
        return self._root.bank

    @property
    def device_offset(self) -> int:
        """Where the device sees it, in the root buffer."""
        return self._device_offset

    # ----------------------------------------------------------------- inside

    def _observe(self) -> None:
        self.emulation.observe(self.allocation)

    def _check_sync(self, length: int, offset: int) -> None:
        if self._parent is None:
            if offset + length > self._size:
                raise RuntimeError(
                    f"Invalid BO offset and size for sync'ing: {offset}, {length} (err=22): Invalid argument"
                )
        elif self._host_offset + offset + length > self.allocation.size_bytes:
            # XRT checks against the parent's end only, so a window may sync past itself
            raise invalid_argument("Invalid offset and size when syncing sub buffer")

    def _emit_write(self, position: int, length: int) -> None:
        event = HostWrite(self.allocation.id, self._host_offset + position, length, Via.CALL, call_site())
        self.emulation.events.emit(event)

    def _emit_read(self, position: int, length: int, via: Via) -> None:
        if self.emulation.events.active:
            event = HostRead(self.allocation.id, self._host_offset + position, length, via, call_site())
            self.emulation.events.emit(event)


_DIRECTIONS = {
    xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE: Direction.TO_DEVICE,
    xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE: Direction.FROM_DEVICE,
}


def _is_contiguous(data: object) -> bool:
    """Whether a buffer lies in C order; true for what is no buffer."""
    try:
        return memoryview(cast("Buffer", data)).c_contiguous
    except TypeError:
        return True


def _raw_bytes(data: object, *, lenient: bool) -> Bytes | None:
    """The bytes of a contiguous buffer; None for what is no buffer.

    For other strides pyxrt copies the memory behind the first element as it lies, and so writes wrong bytes
    without a word: so does a lenient emulation where that memory is the array's own. Else raises ValueError.
    """
    try:
        view = memoryview(cast("Buffer", data))
    except TypeError:
        return None
    if not view.c_contiguous:
        strides = view.strides or ()
        if (
            lenient and view.nbytes and min(strides) >= view.itemsize
        ):  # all of it is inside the array's extent
            return np.frombuffer(ctypes.string_at(np.asarray(data).ctypes.data, view.nbytes), np.uint8)
        raise ValueError(
            f"bo.write of an array with shape {view.shape} and strides {view.strides}: pyxrt ignores strides "
            "and would write wrong bytes; pass numpy.ascontiguousarray(...)"
        )
    return np.frombuffer(view.cast("B") if view.nbytes else b"", np.uint8)
