"""What has issued and not yet happened: writes, later stages, branches.

Each item has a `key`, which says everything about it except values and is the same in every run that
comes to the same place; the tuple of keys in order of issue is the shape of what is in flight. Compiled
code is specialised on that shape and keeps only the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ...isa.semantics.meaning import BranchKind, Stage
from ...isa.semantics.registers import register
from ...isa.semantics.value import I1, I20, Type
from .program import Program
from .state import FLIGHT, FLIGHT_BYTES, PlainValue, State, cell_bytes, decode, encode


@dataclass(frozen=True, slots=True)
class WriteKey:
    """A register write that lands when `due` more bundles have issued."""

    due: int
    register: str
    bypass: str
    tag: Literal["write"] = "write"


@dataclass(frozen=True, slots=True)
class StageKey:
    """Stage `stage` of the instruction in slot `slot` of the bundle at `address`."""

    due: int
    address: int
    slot: int
    stage: int
    tag: Literal["stage"] = "stage"


@dataclass(frozen=True, slots=True)
class BranchKey:
    """A branch to `target` (None: known when it runs), whose values are whether it is taken, and where to."""

    due: int
    target: int | None
    conditional: bool
    kind: BranchKind
    origin: int
    """Address of the bundle that it is in."""
    tag: Literal["branch"] = "branch"


Key: TypeAlias = WriteKey | StageKey | BranchKey
Shape: TypeAlias = tuple[Key, ...]


@dataclass(slots=True)
class Item:
    key: Key
    values: tuple[PlainValue, ...]


def value_types(key: Key, program: Program) -> tuple[Type, ...]:
    """The types of the values that go with a key."""
    match key:
        case WriteKey():
            return (register(key.register).type,)
        case StageKey():
            return tuple(v.type for v in stage_of(key, program).captures)
        case BranchKey():
            return (*((I1,) if key.conditional else ()), *((I20,) if key.target is None else ()))


def stage_of(key: StageKey, program: Program) -> Stage:
    return program.issue(key.address).meanings[key.slot].stages[key.stage]


def sooner(key: Key) -> Key:
    """The key one bundle later."""
    match key:
        case WriteKey():
            return WriteKey(key.due - 1, key.register, key.bypass)
        case StageKey():
            return StageKey(key.due - 1, key.address, key.slot, key.stage)
        case BranchKey():
            return BranchKey(key.due - 1, key.target, key.conditional, key.kind, key.origin)


@dataclass(frozen=True, slots=True)
class Cell:
    """Where in the state buffer a value in flight is kept."""

    offset: int
    size: int
    type: Type


def cells(shape: Shape, program: Program) -> tuple[Cell, ...]:
    """The places of a shape's values, in order, aligned to their size or 64 bytes."""
    known = program.flight_cells.get(shape)
    if known is not None:
        return known
    places: list[Cell] = []
    offset = FLIGHT
    for key in shape:
        for type_ in value_types(key, program):
            size = cell_bytes(type_)
            align = min(size, 64)
            offset = (offset + align - 1) // align * align
            places.append(Cell(offset, size, type_))
            offset += size
    if offset > FLIGHT + FLIGHT_BYTES:
        raise ValueError("more in flight than there is room for")
    found = program.flight_cells[shape] = tuple(places)
    return found


def save(items: Sequence[Item], state: State, program: Program) -> Shape:
    """Put the values of `items` where compiled code expects them; gives their shape."""
    shape = tuple(item.key for item in items)
    if shape:
        values = [value for item in items for value in item.values]
        for cell, value in zip(cells(shape, program), values, strict=True):
            state.view[cell.offset : cell.offset + cell.size] = encode(cell.type, value)
    return shape


def restore(shape: Shape, state: State, program: Program) -> list[Item]:
    """The inverse of `save`."""
    places = iter(cells(shape, program))
    items: list[Item] = []
    for key in shape:
        found = [next(places) for _ in value_types(key, program)]
        values = (decode(c.type, state.view[c.offset : c.offset + c.size]) for c in found)
        items.append(Item(key, tuple(values)))
    return items
