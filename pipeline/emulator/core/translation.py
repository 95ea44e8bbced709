"""From core code to LLVM assembly: one function for all that can be reached from some starting points.

A block begins at a pc with a certain shape of what is in flight (flight.py), and is translated for
exactly that: which write lands in which bundle is known, only values are not. So late results, delay
slots and late reads cost nothing when they run. Between blocks registers and values in flight are in the
state; within, in LLVM values (block.py).

Reaching a `ret`: the function's callers are known from the way the block was reached, so the blocks after
the calls are translated too and the return becomes a switch. What is not found this way (computed
jumps) comes back to the dispatcher, which translates more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from .block import BlockTranslator
from .emission import STATUS_DISPATCH
from .flight import Shape
from .llvm_text import Names
from .places import Block, Jump, Place, Surroundings
from .program import Program
from .state import EXIT_PC, EXIT_SHAPE
from .survey import survey

MAX_BLOCKS = 4000
MAX_BUNDLES = 12_000
"""A region grows no further; what is missing is translated when it is reached. A full program memory of
ordinary code has some 4,000 bundles."""

ENTRY_FUNCTION = "aie_core_run"


@dataclass(frozen=True, slots=True)
class Region:
    """Translated code. `entries` give the number by which each block is entered."""

    text: str
    entries: Mapping[Place, int]
    shapes: tuple[Shape, ...]
    loop_ends: frozenset[int]


@dataclass(slots=True)
class _Node:
    """A block in the graph that is explored: which functions it is part of, and what follows it."""

    functions: set[int] = field(default_factory=set[int])
    successors: set[Place] = field(default_factory=set[Place])
    block: Block | None = None


def translate(
    program: Program,
    starts: Iterable[Place],
    *,
    loop_ends: Iterable[int] = (),
    learned: Mapping[str, frozenset[int]] | None = None,
    known: Collection[Place] = (),
    checked: bool = False,
) -> Region:
    """One region from `starts`. `learned` are keys of choices that were met, by the choice's name.

    Places in `known` are left to other regions. `checked` code marks what it does to memory.
    """
    return _Translation(program, tuple(starts), loop_ends, learned or {}, known, checked=checked).run()


class _Translation:
    def __init__(
        self,
        program: Program,
        starts: tuple[Place, ...],
        loop_ends: Iterable[int],
        learned: Mapping[str, frozenset[int]],
        known: Collection[Place],
        *,
        checked: bool,
    ) -> None:
        self._known = known
        self._starts = starts
        found = survey(program, {start.pc for start in starts})
        ends = frozenset({0, *found.loop_ends, *loop_ends})
        self._names = Names()
        self._around = Surroundings(
            program, found, ends, learned, self._names, self._number, self._shape, checked
        )
        self._numbers: dict[Place, int] = {}
        self._shapes: dict[Shape, int] = {}
        self._nodes: dict[Place, _Node] = {}
        self._work: list[Place] = []
        self._bundles = 0
        self._callers: defaultdict[int | None, set[tuple[int, Place]]] = defaultdict(set)
        """Entry of a function (None: any) -> address after a call of it, and the calling block."""
        self._returning: defaultdict[int, set[Shape]] = defaultdict(set)
        """Entry of a function -> what is in flight when it comes back."""

    def run(self) -> Region:
        for start in self._starts:
            self._reach(start, {start.pc})
        while self._work:
            place = self._work.pop()
            node = self._nodes[place]
            node.block = BlockTranslator(self._around, place).translate()
            self._bundles += node.block.bundles
            for jump in node.block.jumps:
                self._follow(place, node, jump)
        entries = {place: self._numbers[place] for place in self._nodes}
        text = self._module()
        return Region(text, entries, tuple(self._shapes), self._around.loop_ends)

    # Exploration

    def _follow(self, place: Place, node: _Node, jump: Jump) -> None:
        if jump.kind == "call":
            for target in jump.targets:
                self._callers[target].add((jump.after, place))
                self._reach(Place(target, jump.shape), {target})
            if not jump.targets:
                self._callers[None].add((jump.after, place))
            for function, shapes in list(self._returning.items()):
                if not jump.targets or function in jump.targets:
                    for shape in list(shapes):
                        self._succeed(node, Place(jump.after, shape))
        elif jump.kind == "return":
            for function in list(node.functions):
                self._come_back(function, jump.shape)
        else:
            for target in jump.targets:
                self._succeed(node, Place(target, jump.shape))

    def _succeed(self, node: _Node, successor: Place) -> None:
        node.successors.add(successor)
        self._reach(successor, node.functions)

    def _come_back(self, function: int, shape: Shape) -> None:
        if shape in self._returning[function]:
            return
        self._returning[function].add(shape)
        for after, caller in [*self._callers[function], *self._callers[None]]:
            self._succeed(self._nodes[caller], Place(after, shape))

    def _reach(self, place: Place, functions: set[int]) -> None:
        """`place` is executed as part of `functions`, named by their entries."""
        pending = [(place, set(functions))]
        while pending:
            at, within = pending.pop()
            node = self._nodes.get(at)
            if node is None:
                if len(self._nodes) >= MAX_BLOCKS or self._bundles >= MAX_BUNDLES or at in self._known:
                    continue
                node = self._nodes[at] = _Node()
                self._number(at)
                self._work.append(at)
            new = within - node.functions
            if not new:
                continue
            node.functions |= new
            pending.extend((successor, new) for successor in node.successors)
            for jump in node.block.jumps if node.block is not None else ():
                if jump.kind == "return":
                    for function in new:
                        self._come_back(function, jump.shape)

    def _number(self, place: Place) -> int:
        return self._numbers.setdefault(place, len(self._numbers))

    def _shape(self, shape: Shape) -> int:
        return self._shapes.setdefault(shape, len(self._shapes))

    # Assembly

    def _module(self) -> str:
        lines: list[str] = []
        for node in self._nodes.values():
            if node.block is not None:
                lines.extend(node.block.lines)
                for jump in node.block.jumps:
                    if jump.label is not None:
                        lines.extend(self._switch(jump))
        for place, number in self._numbers.items():
            if place not in self._nodes:
                lines.append(f"b{number}:")
                lines.extend(self._leave(f"i32 {place.pc}", place.shape))
        head = [f"define i32 @{ENTRY_FUNCTION}(ptr noalias %state, i32 %entry) nounwind {{", "start:"]
        cases = " ".join(f"i32 {self._numbers[p]}, label %b{self._numbers[p]}" for p in self._nodes)
        head.append(f"  switch i32 %entry, label %nowhere [ {cases} ]")
        head.extend(["nowhere:", "  unreachable"])
        tail = [
            "}",
            *(line for function in self._names.functions.values() for line in function),
            *self._names.intrinsics.values(),
            '!1 = !{!"branch_weights", i32 1048576, i32 1}',
            '!0 = !{!"branch_weights", i32 1, i32 1048576}',
        ]
        return "\n".join([*head, *lines, *tail]) + "\n"

    def _switch(self, jump: Jump) -> list[str]:
        """A jump to an address that is known only when it runs: to all blocks that it may mean."""
        around = self._around
        wanted = {
            "return": around.survey.returns,
            "call": around.survey.code_pointers,
            "jump": around.survey.code_pointers | around.survey.leaders,
        }[jump.kind]
        assert jump.value is not None
        cases = [
            f"i20 {p.pc}, label %b{self._numbers[p]}"
            for p in (Place(pc, jump.shape) for pc in sorted(wanted))
            if p in self._nodes
        ]
        other = self._names.fresh("other")
        wide = "%" + self._names.fresh()
        return [
            f"{jump.label}:",
            f"  switch {jump.value.typed}, label %{other} [ {' '.join(cases)} ]",
            f"{other}:",
            f"  {wide} = zext {jump.value.typed} to i32",
            *self._leave(f"i32 {wide}", jump.shape),
        ]

    def _leave(self, pc: str, shape: Shape) -> list[str]:
        a, b = "%" + self._names.fresh("s"), "%" + self._names.fresh("s")
        return [
            f"  {a} = getelementptr i8, ptr %state, i64 {EXIT_PC}",
            f"  store {pc}, ptr {a}, align 4",
            f"  {b} = getelementptr i8, ptr %state, i64 {EXIT_SHAPE}",
            f"  store i32 {self._shape(shape)}, ptr {b}, align 4",
            f"  ret i32 {STATUS_DISPATCH}",
        ]
