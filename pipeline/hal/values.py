"""What the values of a HAL host program are while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..frontend.arithmetic import Number

if TYPE_CHECKING:
    from .happenings import Recorded


@dataclass(eq=False, slots=True)
class HalBuffer:
    """A !hal.buffer: an argument, or allocated; a global when one holds it."""

    argument: int | None = None
    global_name: str | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class BufferRange:
    """A buffer from `offset_bytes` on (None: not known)."""

    buffer: HalBuffer
    offset_bytes: int | None = 0
    length_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ArgumentView:
    """The !hal.buffer_view of argument `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class View:
    """A !hal.buffer_view made of a range."""

    range: BufferRange


@dataclass(eq=False, slots=True)
class CommandBuffer:
    """A !hal.command_buffer with what was recorded into it; `executed` once it was submitted."""

    function: str
    recorded: list[Recorded] = field(default_factory=list["Recorded"])
    executed: bool = False


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """The handle of an executable's function."""

    name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything else: a device, a fence, a number that is not known."""


UNKNOWN = Unknown()

HalValue = Number | BufferRange | ArgumentView | View | CommandBuffer | EntryPoint | Unknown
