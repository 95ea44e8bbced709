"""How many bundles apart two instructions must issue so that a program means what its order says.

Works on effects alone; the scheduler, the block boundaries and the hazard checker share it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from . import timing
from .bundle import SlotInstruction
from .effects import Access, Effects, Use, effects

WINDOW = 12
"""Bundles after which nothing of an instruction is in flight: the longest is a partial-word store, E11."""


@lru_cache(maxsize=1 << 17)
def distance(
    before: SlotInstruction, after: SlotInstruction, *, may_alias: bool = True, carry: bool = True
) -> int | None:
    """Bundles from `before` to `after`, which comes later in program order; None when independent.

    0 allows the same bundle. `may_alias` False says that the memory they touch is apart; `carry` False
    that nobody reads srCarry, so that the order of its writers (each add and sub) does not matter.
    """
    first, second = effects(before), effects(after)
    needs = [
        *_true_dependences(first, second),
        *_anti_dependences(first, second),
        *_output_dependences(first, second, carry),
        *_order(first, second, may_alias),
    ]
    return max(0, *needs) if needs else None


@dataclass(frozen=True, slots=True)
class Footprint:
    """Register units as bits, for a quick look whether two instructions can depend on each other."""

    reads: int
    writes: int
    ordered: bool

    def independent(self, other: Footprint) -> bool:
        if self.ordered and other.ordered:
            return False
        return not (self.writes & (other.reads | other.writes) or self.reads & other.writes)


def footprint(instructions: Iterable[SlotInstruction]) -> Footprint:
    """What any of these encodings of one statement touches."""
    reads = writes = 0
    ordered = False
    for instruction in instructions:
        own = effects(instruction)
        reads |= _bits(own.reads)
        writes |= _bits(own.writes)
        ordered |= own.memory is not None or own.lock or own.ordered
    return Footprint(reads, writes, ordered)


_bit_of: dict[str, int] = {}


def _bits(accesses: tuple[Access, ...]) -> int:
    bits = 0
    for access in accesses:
        bits |= 1 << _bit_of.setdefault(access.register, len(_bit_of))
    return bits


def drained_after(instruction: SlotInstruction) -> int:
    """Bundles from the instruction until any code whatever may follow it."""
    own = effects(instruction)
    needs = [access.stage for access in own.writes]
    needs += [access.stage - 1 for access in own.reads]
    needs += [use.stage for use in own.uses]
    if own.memory is not None:
        needs.append(timing.LOCK_SPACING + max(0, own.memory.last - timing.STORE_STAGE))
    if own.lock:
        needs.append(timing.LOCK_SPACING)
    return max([1, *needs])


def _true_dependences(first: Effects, second: Effects) -> list[int]:
    return [
        write.stage - read.stage + 1 - (write.bypass is not None and write.bypass == read.bypass)
        for write in first.writes
        for read in second.reads
        if write.register == read.register
    ]


def _anti_dependences(first: Effects, second: Effects) -> list[int]:
    return [
        read.stage - write.stage + (write.bypass is not None and write.bypass == read.bypass)
        for read in first.reads
        for write in second.writes
        if write.register == read.register
    ]


def _output_dependences(first: Effects, second: Effects, carry: bool) -> list[int]:
    return [
        one.stage - other.stage + 1
        for one in first.writes
        for other in second.writes
        if one.register == other.register
        and one.register not in timing.STICKY
        and (carry or one.register != "srCarry")
    ]


def _order(first: Effects, second: Effects, may_alias: bool) -> list[int]:
    needs: list[int] = []
    if first.memory is not None and second.memory is not None and may_alias:
        begin = min(second.memory.load or WINDOW, second.memory.store or WINDOW)
        if first.memory.store is not None or second.memory.store is not None:
            needs.append(first.memory.last - begin + 1)
    if first.lock and second.shared_memory:
        needs.append(timing.LOCK_SPACING)
    if first.memory is not None and first.shared_memory and second.lock:
        needs.append(timing.LOCK_SPACING + max(0, first.memory.last - timing.STORE_STAGE))
    if (first.lock or first.ordered) and (second.lock or second.ordered):
        needs.append(1)
    return needs


@dataclass(slots=True)
class Reservations:
    """Ports and units in use, by bundle."""

    strong: set[tuple[int, str]]
    weak: set[tuple[int, str]]

    @classmethod
    def empty(cls) -> Reservations:
        return cls(set(), set())

    def free(self, uses: tuple[Use, ...], time: int) -> bool:
        """Whether an instruction with these uses can issue as bundle `time`."""
        for use in uses:
            key = (time + use.stage - 1, use.resource)
            if key in self.strong or (not use.weak and key in self.weak):
                return False
        return True

    def take(self, uses: tuple[Use, ...], time: int) -> None:
        for use in uses:
            (self.weak if use.weak else self.strong).add((time + use.stage - 1, use.resource))


def conflicts(first: tuple[Use, ...], second: tuple[Use, ...], gap: int) -> bool:
    """Whether two instructions that issue `gap` bundles apart want one port in the same cycle."""
    return any(
        one.resource == other.resource and one.stage == gap + other.stage and not (one.weak and other.weak)
        for one in first
        for other in second
    )
