"""The compiled engine: enters compiled regions, and does with the plain engine what they leave to it.

Compiled code comes back when the budget ends, before a bundle that uses the tile, at a jump to code that
has not been translated, and where it met something it is not prepared for. Registers live in the shared
state; the plain engine holds pc and what is in flight while Python has control.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...isa.semantics.registers import register
from .block import WINDOW_BYTES
from .choices import MAX_CASES
from .emission import STATUS_BUDGET, STATUS_DISPATCH, STATUS_FAULT, STATUS_LOOP, STATUS_STEP
from .flight import Item, restore, save
from .places import Place
from .plain import PlainEngine
from .port import CoreStop
from .program import CannotIssue, Program
from .regions import CompiledRegion, RegionStore, Request
from .state import BUNDLE_BASE, EXIT_PC, EXIT_SHAPE, FUEL, REGISTERS, State

_LOOP_END = REGISTERS + register("LE").offset

_CATCH_UP = 2 * WINDOW_BYTES
"""Bundles after which a way back into known blocks is no longer expected."""
_MAX_WHOLE_REGIONS = 12
_MAX_REGIONS = 200
_MAX_LOOP_ENDS = 32
"""Beyond these a program is not one that a compiler made, and compiling for it would never end."""


@dataclass(frozen=True, slots=True)
class _Entry:
    region: CompiledRegion
    number: int


@dataclass(frozen=True, slots=True)
class _Exit:
    region: CompiledRegion
    shape: int
    pc: int
    flight: list[Item]


class JitEngine:
    """Runs what `plain` would, with the same results. `plain` holds pc, what is in flight, and the count."""

    def __init__(self, state: State, program: Program, plain: PlainEngine, store: RegionStore) -> None:
        self._state = state
        self._program = program
        self._plain = plain
        self._store = store
        self._entries: dict[Place, _Entry] = {}
        self._left: _Exit | None = None
        """Where compiled code came back last."""
        self._resumed: dict[tuple[int, int, int], tuple[CompiledRegion, _Entry]] = {}
        """Entries by region (its id, so it is kept), shape and pc of where compiled code came back."""
        self._loop_ends: frozenset[int] = frozenset({0})
        self._learned: dict[str, frozenset[int]] = {}
        self._regions: list[str] = []
        """The regions that were asked for since the program changed, by the places that they begin at."""
        self._behind = 0
        """How many more bundles the plain engine may do to come back to the beginning of a block."""
        plain.observe = self._observe

    def program_changed(self) -> None:
        self._forget()
        self._left = None
        self._loop_ends = frozenset({0})
        self._learned = {}
        self._regions.clear()
        self._behind = 0

    def run(self, budget: int) -> CoreStop:
        """Up to `budget` bundles. Raises Fault and CannotIssue."""
        plain = self._plain
        end = plain.bundles + budget
        while plain.bundles < end:
            entry = None if plain.waiting else self._entry()
            if entry is None:
                stop = plain.step()
                if stop is not None:
                    return stop
                self._behind = max(0, self._behind - 1)
                continue
            status = self._enter(entry, end - plain.bundles)
            if status == STATUS_BUDGET:
                self._behind = _CATCH_UP
                self._step(end)
            elif status == STATUS_STEP and plain.bundles < end:
                stop = plain.step()
                if stop is not None:
                    return stop
            elif status == STATUS_FAULT:
                self._repeat()
            elif status not in (STATUS_DISPATCH, STATUS_LOOP, STATUS_STEP):
                raise AssertionError(f"compiled code returned {status}")
        return CoreStop("budget", plain.pc)

    def _step(self, end: int) -> None:
        """What is left of a budget that is shorter than the next block, which uses no ports."""
        while self._plain.bundles < end:
            self._plain.step()

    def _entry(self) -> _Entry | None:
        """The compiled block to go on with; None where the plain engine has to do the next bundle."""
        loop_end = self._state.word(_LOOP_END)
        if loop_end not in self._loop_ends:
            if len(self._loop_ends) >= _MAX_LOOP_ENDS:
                return None
            self._forget()
            self._loop_ends |= {loop_end}
        left = self._left
        if left is None or not self._unmoved(left):
            return self._entry_at_place()
        key = id(left.region), left.shape, left.pc
        known = self._resumed.get(key)
        if known is not None:
            self._behind = 0
            return known[1]
        entry = self._entry_at_place()
        if entry is not None:
            self._resumed[key] = left.region, entry
        return entry

    def _unmoved(self, left: _Exit) -> bool:
        """Nothing has been done since compiled code came back: a bundle makes a new list."""
        return self._plain.flight is left.flight and self._plain.pc == left.pc

    def _forget(self) -> None:
        self._entries.clear()
        self._resumed.clear()

    def _entry_at_place(self) -> _Entry | None:
        place = Place(self._plain.pc, tuple(item.key for item in self._plain.flight))
        entry = self._entries.get(place)
        if entry is None and not self._behind and len(self._regions) < _MAX_REGIONS:
            if self._program.issue(place.pc).ports:
                return None
            entry = self._translate(place)
        if entry is not None:
            self._behind = 0
        return entry

    def _translate(self, place: Place) -> _Entry:
        """Have what can be reached from `place` compiled: all of it, so that loops stay in one region, or
        only what no region has, where a program comes with ever new places."""
        request = Request(place, self._loop_ends, self._learned, self._state.checked)
        if len(self._regions) >= _MAX_WHOLE_REGIONS:
            request = replace(request, known=self._entries.keys(), history=repr(self._regions))
        region = self._store.region(self._program, request)
        self._regions.append(repr(place))
        for known, number in region.entries.items():
            self._entries.setdefault(known, _Entry(region, number))
        self._loop_ends |= region.loop_ends
        return self._entries[place]

    def _enter(self, entry: _Entry, fuel: int) -> int:
        plain, state, region = self._plain, self._state, entry.region
        if self._left is None or not self._unmoved(self._left):
            save(plain.flight, state, self._program)
        state.set_long(FUEL, fuel)
        state.set_long(BUNDLE_BASE, plain.bundles + fuel)
        status = region.function(state.address, entry.number)
        plain.bundles += fuel - state.long(FUEL)
        plain.pc = state.word(EXIT_PC)
        shape = state.word(EXIT_SHAPE)
        plain.flight = restore(region.shapes[shape], state, self._program)
        self._left = _Exit(region, shape, plain.pc, plain.flight)
        return status

    def _repeat(self) -> None:
        """Find the access that failed by doing the block again. Raises Fault."""
        plain = self._plain
        pc, bundles = plain.pc, plain.bundles
        for _ in range(_CATCH_UP):
            plain.step()
        plain.pc, plain.bundles = pc, bundles
        raise CannotIssue("out-of-range", f"a memory access in the block at {pc:#x} is not possible", pc)

    def _observe(self, choice: str, key: int) -> None:
        """The plain engine met a key of a choice: have it compiled next time."""
        known = self._learned.get(choice, frozenset())
        if key not in known and len(known) < MAX_CASES:
            self._learned[choice] = known | {key}
            self._forget()
