"""What the values of a HAL host program are while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..frontend.arithmetic import Number

if TYPE_CHECKING:
    from .happenings import Recorded


@dataclass(eq=False, slots=True)
class HalBuffer:
    """A !hal.buffer: an argument, or allocated; a global when one holds it.

    A buffer that a branch chooses has all that it may be in `one_of`.
    """

    argument: int | None = None
    global_name: str | None = None
    size_bytes: int | None = None
    one_of: list[BufferRange] = field(default_factory=list["BufferRange"])


@dataclass(frozen=True, slots=True)
class BufferRange:
    """A buffer from `offset_bytes` on (None: not known)."""

    buffer: HalBuffer
    offset_bytes: int | None = 0
    length_bytes: int | None = None


def alternatives(chosen: BufferRange) -> tuple[BufferRange, ...]:
    """The ranges that this one may be, none of them a choice; loops make choices of each other."""
    found: dict[tuple[int, int | None], BufferRange] = {}
    seen: set[int] = set()

    def follow(part: BufferRange) -> None:
        if not part.buffer.one_of:
            found.setdefault((id(part.buffer), part.offset_bytes), part)
            return
        if id(part.buffer) in seen:
            return
        seen.add(id(part.buffer))
        for other in part.buffer.one_of:
            follow(
                BufferRange(other.buffer, sum_known(other.offset_bytes, part.offset_bytes), part.length_bytes)
            )

    follow(chosen)
    return tuple(found.values())


def sum_known(a: int | None, b: int | None) -> int | None:
    """The sum; None where one of them is not known."""
    return None if a is None or b is None else a + b


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
