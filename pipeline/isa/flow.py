"""Where execution can go in program memory: reachable bundles, branch targets, loop bounds, zeros.

Code is followed from its starts through branches, delay slots and calls whose targets are written in it;
jumps through a register are not. Zeros that nobody reaches are told apart from code: a block of them would
decode as a `vmac` (facts/aie2-isa.md 1.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..errors import ArtifactError
from .bundle import Bundle, SlotInstruction
from .decode import decode_bundle
from .effects import Control, effects
from .timing import DELAY_SLOTS

ALIGNMENT = 16
"""Branch targets stand at multiples of this."""

UNIT = 2
"""Bundles are whole halfwords."""

_NAMES_TARGET = (Control.JUMP, Control.CONDITIONAL, Control.CALL)
_ENDS_PATH = (Control.JUMP, Control.RETURN)
_LOOP_START, _LOOP_END = "LS", "LE"


@dataclass(frozen=True, slots=True)
class Flow:
    """What can be said of a program without running it. All are byte addresses.

    `bundles` are the reachable ones by address; none overlaps another. `zeros` are (start, end) of blocks
    of zeros that nobody reaches.
    """

    bundles: dict[int, Bundle]
    targets: frozenset[int]
    loop_starts: frozenset[int]
    loop_ends: frozenset[int]
    zeros: tuple[tuple[int, int], ...]


def flow(code: bytes, starts: Iterable[int] = (0,)) -> Flow:
    """Follows program memory from address 0. Starts that are outside or zeros are ignored; raises nothing."""
    walk = _Walk(code)
    walk.follow(start for start in starts if any(code[start : start + ALIGNMENT]))
    zeros: list[tuple[int, int]] = []
    address = 0
    for start in [*sorted(walk.bundles), len(code)]:
        zeros.extend(_zeros(code, address, start))
        address = walk.bundles[start].end if start in walk.bundles else start
    return Flow(
        walk.bundles,
        frozenset(walk.targets),
        frozenset(walk.loop_starts),
        frozenset(walk.loop_ends),
        tuple(zeros),
    )


def branch_target(instruction: SlotInstruction) -> int | None:
    """The address that a branch names; None for a branch through a register, and for no branch."""
    if effects(instruction).control not in _NAMES_TARGET:
        return None
    return next((value for value in instruction.operands.values() if isinstance(value, int)), None)


def is_branch(bundle: Bundle) -> bool:
    """Whether the bundle has delay slots after it."""
    return any(effects(i).control not in (None, Control.DONE) for i in bundle.slots)


def loop_bound(instruction: SlotInstruction) -> tuple[str, int] | None:
    """("LS" or "LE", address) where an instruction sets a loop's first or last bundle to a constant."""
    values = instruction.operands.values()
    register = next((v for v in values if v in (_LOOP_START, _LOOP_END)), None)
    address = next((v for v in values if isinstance(v, int)), None)
    return None if not isinstance(register, str) or address is None else (register, address)


@dataclass(slots=True)
class _Walk:
    code: bytes
    bundles: dict[int, Bundle] = field(default_factory=dict[int, Bundle])
    targets: set[int] = field(default_factory=set[int])
    loop_starts: set[int] = field(default_factory=set[int])
    loop_ends: set[int] = field(default_factory=set[int])
    _taken: set[int] = field(default_factory=set[int])
    """Bytes that belong to a bundle."""

    def follow(self, starts: Iterable[int]) -> None:
        pending = list(starts)
        seen: set[int] = set()
        while pending:
            start = pending.pop()
            if start not in seen and 0 <= start < len(self.code):
                seen.add(start)
                pending.extend(self._path(start))

    def _path(self, address: int) -> Iterator[int]:
        """One path up to where it ends or meets another; gives where else it may go."""
        left: int | None = None
        ends = False
        while left is not None or address not in self.bundles:
            bundle = self._take(address)
            if bundle is None:
                return
            address = bundle.end
            left = None if left is None else left - 1
            for instruction in bundle.slots:
                control = effects(instruction).control
                target = self._note(instruction)
                if target is not None:
                    yield target
                if control is Control.DONE:
                    return
                if control is not None:
                    left, ends = DELAY_SLOTS, control in _ENDS_PATH
            if left == 0:
                if ends:
                    return
                left = None

    def _take(self, address: int) -> Bundle | None:
        """The bundle at an address; None where it is no code or lies across another bundle."""
        found = self.bundles.get(address)
        if found is not None:
            return found
        try:
            bundle = decode_bundle(self.code, address)
        except ArtifactError:
            return None
        place = range(address, bundle.end)
        if not self._taken.isdisjoint(place):
            return None
        self._taken.update(place)
        self.bundles[address] = bundle
        return bundle

    def _note(self, instruction: SlotInstruction) -> int | None:
        """Collects what an instruction says of other addresses; gives the target of a branch."""
        bound = loop_bound(instruction)
        if bound is not None:
            (self.loop_starts if bound[0] == _LOOP_START else self.loop_ends).add(bound[1])
        target = branch_target(instruction)
        if target is not None:
            self.targets.add(target)
        return target


def _zeros(code: bytes, address: int, end: int) -> Iterator[tuple[int, int]]:
    """Blocks of zeros in a piece that nobody reaches, where a bundle would begin.

    A bundle of 16 bytes may begin with zeros, so a block that something follows ends at a multiple of 16.
    """
    while address < end:
        stop = address
        while stop < end and not code[stop]:
            stop += 1
        last = stop if stop == end else stop // ALIGNMENT * ALIGNMENT
        if last - address >= ALIGNMENT or last == end:
            yield address, last
            address = last
            continue
        try:
            address = decode_bundle(code, address).end
        except ArtifactError:
            address += UNIT
