"""The basic blocks of a program: how control flows between them, and their schedules.

Blocks are scheduled one after the other. Each knows what its already scheduled neighbours have in
flight when it begins, and what they do after it ends, over all paths as far as the longest latency
reaches; so that for every pair of instructions on a path the block that is scheduled last keeps their
distance. Bundles written by hand are fixed from the start, and the blocks around them adapt.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..errors import ArtifactError
from .assembly import Symbol
from .bundle import SlotInstruction
from .dependences import WINDOW
from .effects import Control, effects
from .encode import bundle_sizes
from .schedule import Block, Item, Placed, Surroundings, schedule
from .timing import DELAY_SLOTS


@dataclass(slots=True)
class Section:
    """A block's statements: `items` to schedule, or `bundles` that are fixed."""

    labels: list[str] = field(default_factory=list[str])
    items: list[Item] = field(default_factory=list[Item])
    bundles: list[list[Placed]] = field(default_factory=list[list[Placed]])
    sizes: list[int | None] = field(default_factory=list[int | None])
    comments: list[str] = field(default_factory=list[str])
    loop_end: str | None = None
    loop_start: str | None = None

    @property
    def empty(self) -> bool:
        return not (self.items or self.bundles)

    def add_bundle(self, items: Sequence[Item], size: int | None, comment: str) -> None:
        time = len(self.bundles)
        chosen = _one_bundle(items, size)
        self.bundles.append(
            [
                Placed(time, instruction, item.memory, item)
                for instruction, item in zip(chosen, items, strict=True)
            ]
        )
        self.sizes.append(size)
        self.comments.append(comment)

    def control(self) -> tuple[Control, Placed] | None:
        """The last instruction that changes the flow of control."""
        placed = [entry for bundle in self.bundles for entry in bundle]
        placed += [Placed(0, item.parsed.alternatives[0], item.memory, item) for item in self.items[-1:]]
        for entry in reversed(placed):
            kind = effects(entry.instruction).control
            if kind is not None:
                return kind, entry
        return None

    @property
    def ends_with_delay_slots(self) -> bool:
        """Whether the fixed bundles end with a branch and all its delay slots."""
        found = self.control() if self.bundles else None
        return found is not None and len(self.bundles) > found[1].time + DELAY_SLOTS


def _one_bundle(items: Sequence[Item], size: int | None) -> tuple[SlotInstruction, ...]:
    """Encodings that fit together in one bundle: the first such choice."""
    for chosen in itertools.product(*(item.parsed.alternatives for item in items)):
        slots = [instruction.opcode.slot for instruction in chosen]
        sizes = bundle_sizes(slots)
        if len(set(slots)) == len(slots) and (size in sizes or (size is None and sizes)):
            return chosen
    texts = "; ".join(item.parsed.text for item in items)
    raise ArtifactError(
        f"no bundle {f'of {size} bytes ' if size else ''}holds {texts!r}", artifact="assembly"
    )


LOOP_SETUP_BUNDLES = 7
"""Bundles of 16 bytes, 112 bytes, from the last write of ls, le or lc to the loop's last bundle."""


class Blocks:
    """The sections of a program in order, their edges, and after `schedule` their bundles."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = [section for section in sections if not section.empty or section.labels]
        self.blocks: list[Block | None] = [None] * len(self.sections)
        self.position: dict[str, int] = {}
        for index, section in enumerate(self.sections):
            for label in section.labels:
                self._define(label, index)
        for index, section in enumerate(self.sections):
            if section.loop_end is not None:
                self._define(section.loop_end, index)
        self._check()
        self.symbols = [list(self._symbols(section)) for section in self.sections]
        self.successors = [self._successors(index) for index in range(len(self.sections))]
        self.predecessors: list[list[int]] = [[] for _ in self.sections]
        for index, (following, _) in enumerate(self.successors):
            for other in following:
                self.predecessors[other].append(index)

    def schedule(self) -> None:
        """Fixes all blocks' bundles; hand-written ones first."""
        for index, section in enumerate(self.sections):
            if section.bundles:
                placed = [entry for bundle in section.bundles for entry in bundle]
                self.blocks[index] = Block(placed, len(section.bundles))
        carry = any(_reads_carry(section) for section in self.sections)
        for index in sorted(range(len(self.sections)), key=lambda index: -self._depth(index)):
            if not self.sections[index].bundles:
                following, drain = self.successors[index]
                surroundings = Surroundings(
                    before=tuple(self._paths_before(index, 0)),
                    after=tuple(path for other in following for path in self._paths_from(other, 0, index)),
                    loops=tuple(self._ways_back(index)),
                    drain=drain,
                    carry=carry,
                    loop_end=self.sections[index].loop_end is not None,
                    loop_setup=max((self._loop_setup(index, other) for other in following), default=0),
                )
                self.blocks[index] = schedule(self.sections[index].items, surroundings)

    def _depth(self, index: int) -> int:
        """How many loops a block is in, so that inner loops are scheduled first and tightest.

        An edge to an earlier block makes a loop of all the blocks in between.
        """
        return sum(
            1
            for end, (following, _) in enumerate(self.successors)
            for start in following
            if start <= index <= end
        )

    def _loop_setup(self, index: int, start: int) -> int:
        """Bundles that a loop at `start` asks for between the set-up in block `index` and its end."""
        for end, section in enumerate(self.sections):
            if (
                section.loop_start is not None
                and self.target(section.loop_start) == start
                and not start <= index <= end
            ):
                body = sum(block.length for block in self.blocks[start : end + 1] if block is not None)
                return max(0, LOOP_SETUP_BUNDLES - (body - 1))
        return 0

    def block(self, index: int) -> Block:
        found = self.blocks[index]
        if found is None:
            raise AssertionError("schedule() has not run")
        return found

    def target(self, label: str) -> int:
        """Index of the block that a label names."""
        if label not in self.position:
            raise ArtifactError(f"label {label!r} is not defined", artifact="assembly")
        return self.position[label]

    def aligned(self) -> list[bool]:
        """Which blocks begin on 16 bytes: what is branched to, returned to, or a loop's edge."""
        wanted = [False] * (len(self.sections) + 1)
        ends = {section.loop_end for section in self.sections}
        for symbols in self.symbols:
            for symbol in symbols:
                if symbol.label not in ends:
                    wanted[self.target(symbol.label)] = True
        for index, section in enumerate(self.sections):
            found = section.control()
            calls = found is not None and found[0] is Control.CALL
            wanted[index + 1] |= calls or section.loop_end is not None
            if section.loop_start is not None:
                wanted[self.target(section.loop_start)] = True
        return wanted[:-1]

    def _define(self, label: str, index: int) -> None:
        if label in self.position:
            raise ArtifactError(f"label {label!r} is defined twice", artifact="assembly")
        self.position[label] = index

    def _check(self) -> None:
        for section in self.sections:
            if section.loop_end is not None and section.empty:
                raise ArtifactError(f"the loop {section.loop_end!r} has no body", artifact="assembly")
            found = section.control()
            if found is None:
                continue
            if section.loop_end is not None:
                raise ArtifactError(f"the loop {section.loop_end!r} ends with a branch", artifact="assembly")
            kind, placed = found
            if section.bundles and kind is not Control.DONE and not section.ends_with_delay_slots:
                text = placed.item.parsed.text if placed.item is not None else "branch"
                raise ArtifactError(
                    f"{text!r} has fewer than {DELAY_SLOTS} bundles after it", artifact="assembly"
                )

    def _symbols(self, section: Section) -> Iterator[Symbol]:
        items = [*section.items, *(entry.item for bundle in section.bundles for entry in bundle)]
        for item in items:
            if item is not None and item.parsed.symbol is not None:
                self.target(item.parsed.symbol.label)
                yield item.parsed.symbol

    def _successors(self, index: int) -> tuple[list[int], bool]:
        """Blocks that may come next, and whether anything else may, too."""
        section = self.sections[index]
        following: list[int] = []
        if section.loop_start is not None:
            following.append(self.target(section.loop_start))
        found = section.control()
        if found is None or found[0] is Control.CONDITIONAL:
            following += [index + 1] if index + 1 < len(self.sections) else []
        drain = found is None and index + 1 == len(self.sections)
        if found is not None:
            kind, placed = found
            symbol = placed.item.parsed.symbol if placed.item is not None else None
            if symbol is not None and kind is not Control.DONE:
                following.append(self.target(symbol.label))
            elif kind is Control.RETURN and self._return_points():
                following += self._return_points()
            elif kind is not Control.DONE:
                drain = True
        return list(dict.fromkeys(following)), drain

    def _return_points(self) -> list[int]:
        return [
            index + 1
            for index, section in enumerate(self.sections[:-1])
            if (found := section.control()) is not None and found[0] is Control.CALL
        ]

    def _paths_before(self, index: int, distance: int) -> Iterator[tuple[Placed, ...]]:
        """What scheduled predecessors have in flight, on each path back as far as WINDOW bundles."""
        for other in self.predecessors[index]:
            block = self.blocks[other]
            if block is None:
                continue
            offset = -distance - block.length
            own = tuple(entry.moved(offset) for entry in block.placed if entry.time + offset > -WINDOW)
            further = list(self._paths_before(other, distance + block.length)) if -offset < WINDOW else []
            yield from ((*own, *path) for path in further or [()])

    def _ways_back(self, origin: int) -> set[int]:
        """Bundles from the block's end to its start, on each path back through scheduled blocks."""
        found: set[int] = set()
        work = [(other, 0) for other in self.successors[origin][0]]
        seen = set(work)
        while work:
            index, distance = work.pop()
            block = self.blocks[index]
            if index == origin:
                found.add(distance)
            elif block is not None and distance + block.length < WINDOW:
                further = {(other, distance + block.length) for other in self.successors[index][0]}
                work += further - seen
                seen |= further
        return found

    def _paths_from(self, index: int, distance: int, origin: int) -> Iterator[tuple[Placed, ...]]:
        """What scheduled blocks from `index` on do, on each path as far as WINDOW bundles."""
        block = self.blocks[index]
        if block is None or index == origin:
            return
        own = tuple(entry.moved(distance) for entry in block.placed if entry.time + distance < WINDOW)
        end = distance + block.length
        further: list[tuple[Placed, ...]] = []
        if end < WINDOW:
            for other in self.successors[index][0]:
                further += self._paths_from(other, end, origin)
        yield from ((*own, *path) for path in further or [()])


def _reads_carry(section: Section) -> bool:
    instructions = [entry.instruction for bundle in section.bundles for entry in bundle]
    instructions += [item.parsed.alternatives[0] for item in section.items]
    return any(
        access.register == "srCarry" for instruction in instructions for access in effects(instruction).reads
    )


def instruction_with(instruction: SlotInstruction, symbol: Symbol | None, address: int) -> SlotInstruction:
    """The instruction with its label's address in place."""
    if symbol is None:
        return instruction
    return SlotInstruction(instruction.opcode, {**instruction.operands, symbol.operand: address})
