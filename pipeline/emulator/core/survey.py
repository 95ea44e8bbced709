"""A first look over a program, before it is translated: where blocks begin, and which constants matter.

Follows branches whose targets are written in the code, from given starting points. Compiled code stays
right whatever is missed here; it is only quicker for what is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...isa.semantics.meaning import BRANCH_DELAY, Branch, Write
from .program import PROGRAM_BYTES, CannotIssue, Program


@dataclass(slots=True)
class Survey:
    leaders: set[int] = field(default_factory=set[int])
    """Addresses that something jumps to, returns to, or loops back to."""
    returns: set[int] = field(default_factory=set[int])
    """Addresses after calls."""
    code_pointers: set[int] = field(default_factory=set[int])
    """Program addresses that are put into a pointer register."""
    loop_ends: set[int] = field(default_factory=set[int])
    loop_starts: set[int] = field(default_factory=set[int])
    constants: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    """Every number that some instruction puts into a scalar register."""
    copies: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Registers that some instruction copies into a register."""


def survey(program: Program, starts: Iterable[int]) -> Survey:
    found = Survey()
    seen: set[int] = set()
    stack = list(starts)
    while stack:
        address = stack.pop()
        found.leaders.add(address)
        stack.extend(_walk(program, address, seen, found))
    return found


def _walk(program: Program, address: int, seen: set[int], found: Survey) -> list[int]:
    """One run of bundles until it cannot go on; gives where else execution may go."""
    more: list[int] = []
    left: int | None = None
    while address not in seen and left != 0:
        seen.add(address)
        try:
            issue = program.issue(address)
        except CannotIssue:
            break
        left = None if left is None else left - 1
        for meaning in issue.meanings:
            for effect in meaning.stages[0].effects:
                if isinstance(effect, Branch):
                    more.extend(_branch(program, address, effect, found))
                    if effect.condition is None:
                        left = BRANCH_DELAY
                elif isinstance(effect, Write):
                    more.extend(_write(effect, found))
        address = issue.bundle.end
    return more


def _branch(program: Program, address: int, branch: Branch, found: Survey) -> list[int]:
    targets = [branch.static_target] if branch.static_target is not None else []
    if branch.kind == "call":
        try:
            after = program.return_address(address)
        except CannotIssue:
            return targets
        found.returns.add(after)
        targets.append(after)
    return targets


def _write(write: Write, found: Survey) -> list[int]:
    """Note a constant or a copy; gives an address of code that it is."""
    if write.value.name == "read" and write.value.read is not None:
        found.copies.setdefault(write.register, set()).add(write.value.read.register)
    if write.value.name != "constant" or write.value.type.is_vector:
        return []
    number = write.value.numbers[0]
    found.constants.setdefault(write.register, set()).add(number)
    if write.register == "LE":
        found.loop_ends.add(number)
    elif write.register == "LS":
        found.loop_starts.add(number)
        return [number]
    elif write.register.startswith("p") and number < PROGRAM_BYTES and number % 16 == 0 and number:
        found.code_pointers.add(number)
        return [number]
    return []
