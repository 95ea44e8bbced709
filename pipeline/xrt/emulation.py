"""One emulated device and all that belongs to it: settings, address space, event stream, random draws.

The pyxrt API has no place for a seed or a coherency model, so they stand here: `device()` joins the
current emulation, which `emulation(...)` replaces for the length of a `with` block and `configure(...)`
for good.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from .events import (
    Allocated,
    DeviceRead,
    DeviceWrite,
    EventStream,
    Freed,
    HostWrite,
    Misused,
    Site,
    Via,
    call_site,
)
from .memory import CachedMemory, CacheModel, Coherency
from .releases import LATEST
from .silicon import Silicon
from .space import AddressSpace, Allocation, joined
from .write_ids import LostWrites


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """The device that is emulated.

    `columns` that a partition may have; `contexts` that may be open at once, system-wide on npu1 (facts:
    xdna-driver npu1 regs, mlir-aie's cache notes). `step_seconds` is None: no limit but the caller's.
    """

    name: str = "RyzenAI-npu1"
    bdf: str = "0000:c6:00.1"
    columns: int = 5
    contexts: int = 6


@dataclass(frozen=True, slots=True)
class Settings:
    """`seed` decides every eviction and prefetch; `silicon` is None for the real formats and emulator.

    `release` is the XRT release whose pyxrt is shown (releases.py). `lenient`: calls that real pyxrt
    silently gets wrong do as there, instead of being refused.
    """

    seed: int = 0
    cache: CacheModel = field(default_factory=CacheModel)
    profile: DeviceProfile = field(default_factory=DeviceProfile)
    silicon: Silicon | None = None
    release: str = LATEST
    lenient: bool = False


class ProcessAborted(BaseException):
    """Real XRT would have ended the process with std::abort(). No Exception: no handler sees an abort."""


class Context(Protocol):
    """An open hardware context, as far as the limit on their number goes."""

    slot: int


@dataclass(slots=True)
class Emulation:
    """The state behind `device()`. Same settings and same calls give the same bytes."""

    settings: Settings
    space: AddressSpace = field(default_factory=AddressSpace)
    events: EventStream = field(default_factory=EventStream)
    contexts: weakref.WeakSet[Context] = field(default_factory=weakref.WeakSet["Context"])
    random: np.random.Generator = field(init=False)
    notes: list[str] = field(default_factory=list[str])
    """What a lenient emulation let pass, with the place in the program."""
    failures: list[str] = field(default_factory=list[str])
    """Runs that ended otherwise than well and why, which pyxrt cannot express."""
    executing: threading.RLock = field(default_factory=threading.RLock)
    """One run at a time: host programs may wait in several threads."""
    commands: list[list[int]] = field(default_factory=list[list[int]])
    """Command buffers of runs that are gone, not cleared, as XRT's bo_cache keeps them."""
    aborted: str | None = None
    """Why the process would be dead by now."""
    _runs: int = 0
    _losses: list[tuple[str, LostWrites]] = field(default_factory=list[tuple[str, LostWrites]])

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.settings.seed)

    @property
    def silicon(self) -> Silicon:
        if self.settings.silicon is not None:
            return self.settings.silicon
        from .emulated_silicon import EmulatedSilicon  # noqa: PLC0415 (the emulator is slow to import)

        return EmulatedSilicon()

    @property
    def coherent(self) -> bool:
        return self.settings.cache.coherency is Coherency.COHERENT

    def next_run(self) -> int:
        """A number for a started run, counted from 1."""
        self._runs += 1
        return self._runs

    def note(self, text: str) -> None:
        """Remembers what real pyxrt would get wrong silently."""
        self.notes.append(f"{call_site()}: {text}")

    def misused(
        self,
        hazard: str,
        of: str,
        detail: str,
        *,
        argument: int | None = None,
        run: int = 0,
        site: Site | None = None,
    ) -> None:
        """Tells the observers of a call that is wrong whatever the bytes are; `site` is None for this one."""
        if self.events.active:
            self.events.emit(Misused(hazard, of, detail, site or call_site(), argument, run))

    def abort(self, reason: str) -> None:
        """Real XRT calls std::abort() here; the next use of the device raises."""
        if self.aborted is None:
            self.aborted = f"{call_site()}: {reason}"

    def check_alive(self) -> None:
        """Raises ProcessAborted after `abort`."""
        if self.aborted is not None:
            raise ProcessAborted(self.aborted)

    # ----------------------------------------------------------------- memory

    def allocate(self, size_bytes: int, label: str | None = None) -> Allocation:
        """A new buffer, flushed and zero (docs/syncs.md)."""
        self.check_alive()
        cache = self.settings.cache
        memory = CachedMemory(
            size_bytes, cache.coherency, modifiers=cache.modifiers, write_ids=cache.write_ids
        )
        allocation = self.space.allocate(memory, label or "")
        if not label:
            allocation.label = f"buffer {allocation.id}"
        if self.events.active:
            self.events.emit(Allocated(allocation.id, size_bytes, allocation.label, call_site()))
        return allocation

    def free(self, allocation_id: int) -> None:
        """The last handle is gone."""
        if self.events.active:
            self.events.emit(Freed(allocation_id))
        allocation = self.space.by_id(allocation_id)
        if allocation is not None and allocation.memory.ids is not None:
            self._losses += [(allocation.label, lost) for lost in allocation.memory.ids.found]
        self.space.free(allocation_id)

    def lost_writes(self) -> tuple[tuple[str, LostWrites], ...]:
        """Writes that one side lost or did not see, by buffer; empty without `CacheModel.write_ids`."""
        alive = (
            (allocation.label, lost)
            for allocation in self.space
            if allocation.memory.ids is not None
            for lost in allocation.memory.ids.found
        )
        return (*self._losses, *alive)

    def observe(self, allocation: Allocation) -> None:
        """Accounts for what was stored through views of `allocation` since the last call."""
        self.check_alive()
        if allocation.memory.watched:
            for offset, length in allocation.memory.observe():
                if self.events.active:
                    self.events.emit(HostWrite(allocation.id, offset, length, Via.MAP, call_site()))

    def observe_all(self) -> None:
        """The same for every allocation: the device is about to act, or has acted."""
        for allocation in self.space:
            self.observe(allocation)

    # ----------------------------------------------------------------- the moments of a run

    def before_run(self) -> None:
        """Dirty lines leave the cache by chance; others may be fetched."""
        self.observe_all()
        if self.coherent:
            return
        cache = self.settings.cache
        for allocation in self.space:
            memory = allocation.memory
            memory.evict(cache.evict, self.random)
            if cache.prefetch:
                memory.prefetch(cache.prefetch, self.random)

    def after_run(self, run: int) -> None:
        """What the device wrote shows in lines that are not cached. Emits what it touched."""
        for allocation in self.space:
            if allocation.writes:
                allocation.memory.refresh()
            if self.events.active:
                for offset, length in joined(allocation.reads):
                    self.events.emit(DeviceRead(run, allocation.id, offset, length))
                for offset, length in joined(allocation.writes):
                    self.events.emit(DeviceWrite(run, allocation.id, offset, length))
            allocation.reads.clear()
            allocation.writes.clear()


_current = Emulation(Settings())


def current() -> Emulation:
    """The emulation that `device()` joins."""
    return _current


def configure(settings: Settings) -> Emulation:
    """Makes a new emulation the current one. What was made on an earlier one stays there."""
    global _current  # noqa: PLW0603 (pyxrt's API is module-level state)
    _current = Emulation(settings)
    return _current


@contextlib.contextmanager
def emulation(settings: Settings | None = None) -> Generator[Emulation]:
    """A new emulation as the current one, until the block ends."""
    global _current  # noqa: PLW0603
    before = _current
    try:
        yield configure(settings if settings is not None else Settings())
    finally:
        _current = before
