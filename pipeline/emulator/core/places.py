"""What blocks of compiled code are made of and know of each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from .flight import Shape
from .llvm_text import Names, Operand
from .program import Program
from .survey import Survey


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block begins."""

    pc: int
    shape: Shape


@dataclass(frozen=True, slots=True)
class Jump:
    """A way out of a block, with `shape` in flight.

    `targets` are the addresses known now. Where the target is computed, `value` holds it, and the block
    jumps to `label`, which the translation fills in. `after` is where a call comes back to.
    """

    kind: Literal["jump", "call", "return"]
    shape: Shape
    targets: tuple[int, ...] = ()
    label: str | None = None
    value: Operand | None = None
    after: int = 0


@dataclass(slots=True)
class Block:
    lines: list[str] = field(default_factory=list[str])
    jumps: list[Jump] = field(default_factory=list[Jump])
    bundles: int = 0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all blocks of a region share. `number` numbers places, `shape_number` shapes."""

    program: Program
    survey: Survey
    loop_ends: frozenset[int]
    learned: Mapping[str, frozenset[int]]
    names: Names
    number: Callable[[Place], int]
    shape_number: Callable[[Shape], int]
    checked: bool = False
    """Mark accesses in the shadows of memories, and follow the stack pointer."""
