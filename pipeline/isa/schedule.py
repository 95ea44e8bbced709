"""List scheduling of one basic block: statements in program order to bundles.

Each cycle takes, of the instructions whose operands are ready, those on the longest path first, as far
as slots, bundle formats and ports allow; a statement with several encodings goes where there is room.
A branch is placed last, as early as the rest allows, so that what is left of the block fills its five
delay slots. What predecessors have in flight comes in as `before`, what successors will do as `after`.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import ArtifactError
from .assembly import Parsed
from .bundle import SlotInstruction
from .dependences import WINDOW, Reservations, conflicts, distance, drained_after, footprint
from .effects import Control, effects
from .encode import bundle_sizes
from .timing import DELAY_SLOTS

LOOP_REGISTERS = frozenset({"LS", "LE", "LC"})


@dataclass(frozen=True, slots=True)
class Item:
    """A statement to schedule. `memory` names the region it touches; different names are apart."""

    parsed: Parsed
    memory: str | None = None
    comment: str = ""

    @property
    def control(self) -> Control | None:
        return effects(self.parsed.alternatives[0]).control


@dataclass(frozen=True, slots=True)
class Placed:
    """An instruction at its bundle, counted from the block's first; negative: from a predecessor."""

    time: int
    instruction: SlotInstruction
    memory: str | None = None
    item: Item | None = None

    def moved(self, by: int) -> Placed:
        return Placed(self.time + by, self.instruction, self.memory, self.item)


@dataclass(slots=True)
class Block:
    """A scheduled block: instructions and the number of bundles, delay slots included."""

    placed: list[Placed] = field(default_factory=list[Placed])
    length: int = 0

    def bundle(self, time: int) -> list[Placed]:
        return [placed for placed in self.placed if placed.time == time]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Paths into and out of the block, each as far as it matters.

    before: instructions of predecessors, times negative (-1 is the bundle just before the block).
    after: instructions of successors, times from the block's end.
    loops: on paths that lead back to the block, the bundles from its end to its start.
    drain: anything may follow.
    loop_setup: bundles from a write of ls, le or lc, inclusive, to the block's end, at least.
    carry: whether any code reads srCarry.
    loop_end: the block ends a zero-overhead loop.
    """

    before: tuple[tuple[Placed, ...], ...] = ()
    after: tuple[tuple[Placed, ...], ...] = ()
    loops: tuple[int, ...] = ()
    drain: bool = False
    loop_setup: int = 0
    carry: bool = True
    loop_end: bool = False


def schedule(items: Sequence[Item], surroundings: Surroundings) -> Block:
    """Bundles of the block. At most the last item may change the flow of control.

    Raises ArtifactError(artifact="assembly") where a statement can never be placed.
    """
    if not items or items[-1].control is None:
        block = _Scheduler(items, surroundings).run()
        _close(block, surroundings)
        return block
    return _with_branch(items, surroundings)


def may_alias(one: str | None, other: str | None) -> bool:
    """Whether two memory regions can overlap: unnamed ones with everything."""
    return one is None or other is None or one == other


class _Scheduler:
    """State of scheduling one block, at first without the branch that ends it."""

    def __init__(self, items: Sequence[Item], surroundings: Surroundings) -> None:
        self.items = items
        self.count = len(items) - (bool(items) and items[-1].control is not None)
        self.carry = surroundings.carry
        self.before = [placed for path in surroundings.before for placed in path]
        self.reservations = Reservations.empty()
        prints = [footprint(item.parsed.alternatives) for item in items]
        self.predecessors = [
            [
                other
                for other in range(index)
                if not prints[other].independent(prints[index]) and self._depends(items[other], items[index])
            ]
            for index in range(len(items))
        ]
        self.followers: list[list[int]] = [[] for _ in items]
        for index, others in enumerate(self.predecessors):
            for other in others:
                self.followers[other].append(index)
        self.heights = self._heights()
        # the longest way to the end goes first; an item comes after all that it depends on
        self.order = sorted(range(self.count), key=lambda index: (-self.heights[index], index))
        self.ranks = {index: rank for rank, index in enumerate(self.order)}
        self.placed: dict[int, Placed] = {}
        self.kept_free: tuple[int, set[str]] | None = None

    def run(self, kept_free: tuple[int, set[str]] | None = None) -> Block:
        """Bundles of all items but the branch; `kept_free` are the bundle and slots that it shall have."""
        self.kept_free = kept_free
        self.placed = {}
        self.reservations = Reservations.empty()
        for placed in self.before:
            self.reservations.take(effects(placed.instruction).uses, placed.time)
        open_ = [len(others) for others in self.predecessors]
        ready = {self.ranks[index] for index in range(self.count) if not open_[index]}
        time, idle = 0, 0
        while len(self.placed) < self.count:
            issued = self._issue(time, ready, open_)
            idle = 0 if issued else idle + 1
            if idle > 4 * WINDOW:
                stuck = self.items[min(set(range(self.count)) - self.placed.keys())].parsed.text
                raise ArtifactError(f"{stuck!r} fits no bundle", artifact="assembly")
            time += 1
        placed = sorted(self.placed.values(), key=lambda entry: entry.time)
        return Block(placed, placed[-1].time + 1 if placed else 0)

    def _issue(self, time: int, ready: set[int], open_: list[int]) -> bool:
        """Fills bundle `time`. What becomes ready by a placement (distance 0) is looked at again.

        `ready` are the ranks of the items all of whose predecessors are placed, `open_` the numbers of those
        that are not.
        """
        used = (
            set(self.kept_free[1]) if self.kept_free is not None and self.kept_free[0] == time else set[str]()
        )
        issued = False
        again = True
        while again:
            again = False
            ranks = sorted(ready)
            while ranks:
                rank = heapq.heappop(ranks)
                index = self.order[rank]
                instruction = self._choice(index, time, used)
                if instruction is None:
                    continue
                item = self.items[index]
                self.placed[index] = Placed(time, instruction, item.memory, item)
                self.reservations.take(effects(instruction).uses, time)
                used |= occupied(instruction)
                ready.discard(rank)
                again = issued = True
                for follower in self.followers[index]:
                    open_[follower] -= 1
                    if not open_[follower] and follower < self.count:
                        ready.add(self.ranks[follower])
                        heapq.heappush(ranks, self.ranks[follower])
        return issued

    def _choice(self, index: int, time: int, used: set[str]) -> SlotInstruction | None:
        """An encoding of the item that can issue as bundle `time` beside the slots in use."""
        for instruction in self.items[index].parsed.alternatives:
            slots = occupied(instruction)
            if (
                not slots & used
                and bundle_sizes(slot_names(used | slots))
                and self.reservations.free(effects(instruction).uses, time)
                and self._may_issue(index, instruction, time)
            ):
                return instruction
        return None

    def _may_issue(self, index: int, instruction: SlotInstruction, time: int) -> bool:
        """Whether all that the item depends on is far enough before `time`; no distance is above WINDOW."""
        item = self.items[index]
        for other in self.predecessors[index]:
            placed = self.placed[other]
            if time - placed.time <= WINDOW:
                gap = self._gap(placed.instruction, self.items[other], instruction, item)
                if placed.time + (gap or 0) > time:
                    return False
        for placed in self.before:
            gap = distance(
                placed.instruction,
                instruction,
                may_alias=may_alias(placed.memory, item.memory),
                carry=self.carry,
            )
            if placed.time + (gap or 0) > time:
                return False
        return True

    def _heights(self) -> list[int]:
        """Bundles on the longest path from each item to the block's end, a branch's delay slots included."""
        heights = [1] * self.count + [1 + DELAY_SLOTS] * (len(self.items) - self.count)
        for index in reversed(range(len(self.items))):
            item = self.items[index]
            for other in self.predecessors[index]:
                first = self.items[other]
                gap = self._gap(first.parsed.alternatives[0], first, item.parsed.alternatives[0], item)
                heights[other] = max(heights[other], heights[index] + (gap or 0))
        return heights

    def _depends(self, one: Item, other: Item) -> bool:
        return any(
            self._gap(first, one, second, other) is not None
            for first in one.parsed.alternatives
            for second in other.parsed.alternatives
        )

    def _gap(self, first: SlotInstruction, one: Item, second: SlotInstruction, other: Item) -> int | None:
        return distance(first, second, may_alias=may_alias(one.memory, other.memory), carry=self.carry)


def occupied(instruction: SlotInstruction) -> set[str]:
    """The slots that an instruction keeps from others; a long one takes alu and mv."""
    slot = instruction.opcode.slot
    return {"lng", "alu", "mv"} if slot == "lng" else {slot}


def slot_names(occupied_slots: set[str]) -> frozenset[str]:
    """What the formats call these slots: "lng" stands alone for alu and mv."""
    return frozenset(occupied_slots - {"alu", "mv"} if "lng" in occupied_slots else occupied_slots)


def _with_branch(items: Sequence[Item], surroundings: Surroundings) -> Block:
    """The block with its branch as early as operands, delay slots and successors allow.

    The rest is scheduled first without the branch. Where that leaves no room for it at the earliest
    bundle, the rest is scheduled again around a hole for it.
    """
    scheduler = _Scheduler(items, surroundings)
    free = scheduler.run()
    slots = occupied(items[-1].parsed.alternatives[0])
    first = max(0, free.length - 1 - DELAY_SLOTS)
    for time in range(first, first + 6 * WINDOW):
        found = _branch_at(time, free, items[-1], surroundings)
        if found is None:
            found = _branch_at(time, scheduler.run((time, slots)), items[-1], surroundings)
        if found is not None:
            return found
    raise ArtifactError(f"{items[-1].parsed.text!r} finds no place after its block", artifact="assembly")


def _branch_at(time: int, block: Block, item: Item, surroundings: Surroundings) -> Block | None:
    """The block with the branch at `time`, if it can be there."""
    instruction = item.parsed.alternatives[0]
    used = {slot for placed in block.bundle(time) for slot in occupied(placed.instruction)}
    slots = occupied(instruction)
    if slots & used or not bundle_sizes(slot_names(used | slots)) or block.length > time + 1 + DELAY_SLOTS:
        return None
    for placed in [*block.placed, *(placed for path in surroundings.before for placed in path)]:
        gap = distance(placed.instruction, instruction, may_alias=False)
        if item.control is Control.DONE:
            gap = drained_after(placed.instruction)
        if gap is not None and placed.time + gap > time:
            return None
    found = Block([*block.placed, Placed(time, instruction, item.memory, item)], time + 1 + DELAY_SLOTS)
    return found if _fits(found, surroundings) else None


def _close(block: Block, surroundings: Surroundings) -> None:
    """Lengthens a block that falls through until its successors may begin."""
    limit = block.length + 4 * WINDOW
    while not _fits(block, surroundings):
        block.length += 1
        if block.length > limit:
            raise ArtifactError("a block's results never meet its successor's needs", artifact="assembly")


def _fits(block: Block, surroundings: Surroundings) -> bool:
    """Whether all that is in flight at the block's end lands in time for what follows, ports included."""
    flying = [placed for placed in block.placed if placed.time > block.length - WINDOW]
    flying += [
        placed for path in surroundings.before for placed in path if placed.time > block.length - WINDOW
    ]
    if surroundings.drain and any(
        placed.time + drained_after(placed.instruction) > block.length for placed in flying
    ):
        return False
    # facts 2.3: a partial-word store in a loop's last bundle can get lost
    last = block.bundle(block.length - 1) if surroundings.loop_end else []
    if any(effects(placed.instruction).partial_store for placed in last):
        return False
    for placed in flying if surroundings.loop_setup else ():
        registers = {write.register for write in effects(placed.instruction).writes}
        if registers & LOOP_REGISTERS and placed.time > block.length - surroundings.loop_setup:
            return False
    following = [(placed, block.length) for path in surroundings.after for placed in path]
    rounds = _rounds(block.length, surroundings.loops)
    following += [(placed, block.length + again) for placed, _ in following for again in rounds]
    following += [(placed, again) for placed in block.placed for again in rounds]
    for placed in flying:
        uses = effects(placed.instruction).uses
        for after, offset in following:
            gap = offset + after.time - placed.time
            if gap > WINDOW:
                continue
            needed = distance(
                placed.instruction,
                after.instruction,
                may_alias=may_alias(placed.memory, after.memory),
                carry=surroundings.carry,
            )
            if (needed is not None and gap < needed) or conflicts(uses, effects(after.instruction).uses, gap):
                return False
    # The branch itself, which came after the rest was placed, must not want a port that is taken.
    return not any(
        conflicts(effects(one.instruction).uses, effects(other.instruction).uses, other.time - one.time)
        for one in block.placed[-1:]
        for other in block.placed[:-1]
    )


def _rounds(length: int, loops: tuple[int, ...]) -> list[int]:
    """After how many bundles the block can begin again, once or more around, while its end is in flight."""
    found: set[int] = set()
    latest = {0}
    while latest:
        latest = {start + length + back for start in latest for back in loops if length + back}
        latest = {start for start in latest if start < WINDOW + length} - found
        found |= latest
    return sorted(found)
