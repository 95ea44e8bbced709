"""What happens on the emulated device, as one stream of events that observers see in order.

Every host access, sync, run start, device access and completion is one event, with the place in the
host program that caused it. The sanitizer is such an observer; so is anything that draws a trace.
Offsets count bytes from the start of the *allocation* (the root buffer object), whatever sub-buffer was
used. Who observes nothing pays nothing: events are built only while somebody listens.
"""

from __future__ import annotations

import contextlib
import enum
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from ..program import Access

_PACKAGE = __name__.rpartition(".")[0]

SURFACE = frozenset(
    f"{_PACKAGE}.{module}"
    for module in (
        "buffers",
        "contexts",
        "control_code",
        "emulation",
        "events",
        "extension",
        "images",
        "memory",
        "overloads",
        "runs",
        "emulated",
        "sanitized",
        "session",
        "values",
    )
)
"""Modules that implement the device API, and the runner's thin layer over it: a site is the first frame
outside of them, in the runner's execution as in anybody's program."""


@dataclass(frozen=True, slots=True)
class Site:
    """A line of the host program. `purpose` is there where our runner is that program: "poison of C"."""

    file: str
    line: int
    function: str
    purpose: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        return f"{self.purpose} ({place})" if self.purpose else place


class Direction(enum.Enum):
    """Which way a sync was asked for; on x86 both do the same."""

    TO_DEVICE = "to device"
    FROM_DEVICE = "from device"


class Via(enum.Enum):
    """How the host got at the bytes."""

    CALL = "call"  # bo.write, bo.read: exact range, exact moment
    MAP = "map"  # through a view: found by comparing at the next call, so the site is that call's
    DECLARED = "declared"  # the host program said so (bo.host_read)


@dataclass(frozen=True, slots=True)
class Allocated:
    allocation: int
    size_bytes: int
    label: str
    site: Site


@dataclass(frozen=True, slots=True)
class Labelled:
    """The host program gave the buffer a name."""

    allocation: int
    label: str


@dataclass(frozen=True, slots=True)
class Freed:
    allocation: int


@dataclass(frozen=True, slots=True)
class Mapped:
    """The host took a view; what it does through it is seen later or not at all."""

    allocation: int
    offset_bytes: int
    length_bytes: int
    site: Site


@dataclass(frozen=True, slots=True)
class HostWrite:
    allocation: int
    offset_bytes: int
    length_bytes: int
    via: Via
    site: Site


@dataclass(frozen=True, slots=True)
class HostRead:
    allocation: int
    offset_bytes: int
    length_bytes: int
    via: Via
    site: Site


@dataclass(frozen=True, slots=True)
class Synced:
    """A sync as asked for; the cache works on whole lines around it."""

    allocation: int
    offset_bytes: int
    length_bytes: int
    direction: Direction
    site: Site
    window: tuple[int, int] | None = None
    """Offset and length of the sub-buffer that was asked; None: the whole buffer was."""


@dataclass(frozen=True, slots=True)
class Nested:
    """A sub-buffer of a sub-buffer was made; the host's bytes are at this offset, the device's are not."""

    allocation: int
    offset_bytes: int
    length_bytes: int
    site: Site


@dataclass(frozen=True, slots=True)
class Declared:
    """The host program says that the next kernel writes all of this range and does not read it."""

    allocation: int
    offset_bytes: int
    length_bytes: int


@dataclass(frozen=True, slots=True)
class Misused:
    """A call that is wrong whatever the bytes are. `hazard` is its id ("A003"), `of` what it is about (a
    kernel or a buffer), `detail` what was asked; `run` the run that it spoils, 0 for none."""

    hazard: str
    of: str
    detail: str
    site: Site
    argument: int | None = None
    run: int = 0


@dataclass(frozen=True, slots=True)
class BoundArgument:
    """A buffer argument of a run. `access` is None where nobody declared it."""

    index: int
    allocation: int
    offset_bytes: int
    length_bytes: int
    access: Access | None = None
    instructions: bool = False


@dataclass(frozen=True, slots=True)
class RunStarted:
    """From here to RunFinished the device may touch the arguments at any moment."""

    run: int
    kernel: str
    arguments: tuple[BoundArgument, ...]
    site: Site


@dataclass(frozen=True, slots=True)
class DeviceRead:
    """The device read these bytes from DDR during `run` (ranges of one run are joined)."""

    run: int
    allocation: int
    offset_bytes: int
    length_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceWrite:
    """The device wrote these bytes to DDR during `run` (ranges of one run are joined)."""

    run: int
    allocation: int
    offset_bytes: int
    length_bytes: int


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The device is done with `run`; the host need not know it yet."""

    run: int
    state: str


@dataclass(frozen=True, slots=True)
class RunObserved:
    """The host learned the state of `run` (wait, wait2, state)."""

    run: int
    state: str
    site: Site


Event = (
    Allocated
    | Labelled
    | Freed
    | Mapped
    | HostWrite
    | HostRead
    | Synced
    | Nested
    | Declared
    | Misused
    | RunStarted
    | DeviceRead
    | DeviceWrite
    | RunFinished
    | RunObserved
)
Observer = Callable[[Event], None]


@dataclass(slots=True)
class EventStream:
    """The observers of one emulation; `active` says whether an event is worth building."""

    observers: list[Observer] = field(default_factory=list[Observer])

    @property
    def active(self) -> bool:
        return bool(self.observers)

    def emit(self, event: Event) -> None:
        for observer in self.observers:
            observer(event)


_purpose = ""
_act_listener: Callable[[str], None] | None = None


def listen_to_acts(listener: Callable[[str], None] | None) -> None:
    """`listener` hears what the host program is about to do, each time `acting` says it."""
    global _act_listener  # noqa: PLW0603 (one host program per process)
    _act_listener = listener


@contextlib.contextmanager
def acting(purpose: str) -> Generator[None]:
    """Names what the host program does inside the block, for the sites of its events."""
    global _purpose  # noqa: PLW0603 (one host program per process)
    before, _purpose = _purpose, purpose
    if _act_listener is not None:
        _act_listener(purpose)
    try:
        yield
        if _act_listener is not None and before:
            _act_listener(before)
    finally:
        _purpose = before


def call_site() -> Site:
    """The line outside the device API that made the current call."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_globals.get("__name__") in SURFACE and frame.f_back is not None:
        frame = frame.f_back
    code = frame.f_code
    return Site(code.co_filename, frame.f_lineno, code.co_name, _purpose)
