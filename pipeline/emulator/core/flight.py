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


def cells(shape: Shape, program: Program) -> list[tuple[int, Type]]:
    """Where in the state buffer the values of a shape are kept, in order, 64-byte cells for vectors."""
    places: list[tuple[int, Type]] = []
    offset = FLIGHT
    for key in shape:
        for type_ in value_types(key, program):
            size = cell_bytes(type_)
            align = min(size, 64)
            offset = (offset + align - 1) // align * align
            places.append((offset, type_))
            offset += size
    if offset > FLIGHT + FLIGHT_BYTES:
        raise ValueError("more in flight than there is room for")
    return places


def save(items: Sequence[Item], state: State, program: Program) -> Shape:
    """Put the values of `items` where compiled code expects them; gives their shape."""
    shape = tuple(item.key for item in items)
    values = [value for item in items for value in item.values]
    for (offset, type_), value in zip(cells(shape, program), values, strict=True):
        state.view[offset : offset + cell_bytes(type_)] = encode(type_, value)
    return shape


def restore(shape: Shape, state: State, program: Program) -> list[Item]:
    """The inverse of `save`."""
    places = iter(cells(shape, program))
    items: list[Item] = []
    for key in shape:
        values: list[PlainValue] = []
        for _ in value_types(key, program):
            offset, type_ = next(places)
            values.append(decode(type_, state.view[offset : offset + cell_bytes(type_)]))
        items.append(Item(key, tuple(values)))
    return items
