"""What the values of a host program are while it is read: numbers, byte ranges of buffers, views, nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..program import BufferKind, BufferSlice, TensorType
from .arithmetic import Number


@dataclass(eq=False, slots=True)
class HostBuffer:
    """An allocation that is being read; its kind and name are settled when the function ends.

    Until then commands name it by `key`.
    """

    key: str
    kind: BufferKind
    size_bytes: int
    name: str = ""
    argument: int | None = None
    initial: bytes | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """A !stream.resource: a byte range of a buffer."""

    buffer: HostBuffer
    offset_bytes: int
    length_bytes: int

    @property
    def slice(self) -> BufferSlice:
        """The range as a command has it, under the buffer's key."""
        return BufferSlice(self.buffer.key, self.offset_bytes, self.length_bytes)

    def part(self, offset_bytes: int, length_bytes: int) -> Resource:
        """A range relative to this one."""
        return Resource(self.buffer, self.offset_bytes + offset_bytes, length_bytes)


@dataclass(frozen=True, slots=True)
class ArgumentView:
    """The !hal.buffer_view that the caller passed for argument `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class ResultView:
    """A !hal.buffer_view that the function made of a resource."""

    type: TensorType
    resource: Resource


@dataclass(frozen=True, slots=True)
class HostBytes:
    """A !util.buffer with known content."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value without meaning here: a timepoint, a device, an encoding."""

    type: str = field(default="")


HostValue = Number | Resource | ArgumentView | ResultView | HostBytes | Opaque
