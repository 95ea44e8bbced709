"""How a meaning is written down and kept: stages of effects over values, one meaning per instruction.

A meaning function is registered for opcodes by name and called once for each distinct instruction:

    @meaning("ADD")
    def add(m: Moment, i: SlotInstruction) -> None:
        m.write(i.register("mRx"), m.read(i.register("mRx0")) + m.read(i.register("mRy")))

Time is counted in issued bundles. Stage 0 is the bundle in which the instruction issues; `m.after(n)` is
the bundle n later, for what the pipeline reads or does late (the accumulator of a MAC, the memory write
of `vst.srs`). Within one bundle all stages read registers and memory before any of them writes. A
written register can be read from `ready` bundles after issue on; a read along the same bypass as the
write's sees it one bundle earlier. When results land and which bypasses there are comes from the same
tables that the scheduler uses (isa/effects.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

from ..bundle import SlotInstruction
from ..effects import effects
from ..registers import units
from .registers import register
from .value import I1, I20, I32, RegisterRead, Type, Value, constant

PortKind: TypeAlias = Literal[
    "acquire",  # (lock, value)
    "release",  # (lock, value)
    "stream-read",  # () -> word, tlast
    "try-stream-read",  # () -> word, tlast, success
    "stream-write",  # (word, tlast)
    "try-stream-write",  # (word, tlast) -> success
    "cascade-read",  # () -> 512 bits
    "cascade-write",  # (512 bits)
    "bus-read",  # (address) -> word
    "bus-write",  # (address, word)
    "cycle",  # () -> 64-bit count of bundles
    "event",  # (number)
    "done",  # ()
]
BranchKind: TypeAlias = Literal["jump", "call", "return"]

BRANCH_DELAY = 5
"""Bundles that are executed after a branch before it takes effect (facts 2.2)."""


class UndefinedMode(Exception):
    """A mode word or control register holds a value for which no meaning is defined."""


_RESULTS: dict[PortKind, tuple[Type, ...]] = {
    "stream-read": (I32, I1),
    "try-stream-read": (I32, I1, I1),
    "try-stream-write": (I1,),
    "cascade-read": (Type(32, 16),),
    "bus-read": (I32,),
    "cycle": (Type(64),),
}


@dataclass(frozen=True, slots=True)
class Write:
    """`value` becomes the register's, readable `ready` bundles after issue."""

    register: str
    value: Value
    ready: int
    bypass: str


@dataclass(frozen=True, slots=True)
class Store:
    """`value`'s bits to memory, lowest lane at `address` (20 bits)."""

    address: Value
    value: Value


@dataclass(frozen=True, slots=True)
class Branch:
    """To `target` after the delay slots, if `condition` (None: always)."""

    condition: Value | None
    target: Value
    kind: BranchKind

    @property
    def static_target(self) -> int | None:
        return self.target.numbers[0] if self.target.name == "constant" else None


@dataclass(frozen=True, slots=True)
class PortUse:
    """Something that the tile has to do, and that may have to wait; skipped where `condition` is 0.

    `results` are the nodes that stand for what comes back.
    """

    kind: PortKind
    args: tuple[Value, ...]
    condition: Value | None
    results: tuple[Value, ...]


Effect: TypeAlias = Write | Store | Branch


class Stage:
    """What an instruction does in one bundle: `offset` bundles after it issued.

    `captures` are the values from earlier stages that this or a later stage needs, `order` the nodes to
    compute here, each after its arguments.
    """

    def __init__(self, index: int, offset: int) -> None:
        self.index = index
        self.offset = offset
        self.effects: list[Effect] = []
        self.ports: list[PortUse] = []
        self.captures: tuple[Value, ...] = ()
        self.order: tuple[Value, ...] = ()

    def roots(self) -> Iterator[Value]:
        for use in self.ports:
            yield from use.args
            if use.condition is not None:
                yield use.condition
        for effect in self.effects:
            match effect:
                case Write():
                    yield effect.value
                case Store():
                    yield effect.address
                    yield effect.value
                case Branch():
                    yield effect.target
                    if effect.condition is not None:
                        yield effect.condition


class Meaning:
    """The finished meaning of one instruction; the same object for equal instructions."""

    def __init__(self, instruction: SlotInstruction, stages: list[Stage]) -> None:
        self.instruction = instruction
        self.stages = tuple(stages)
        needed: set[Value] = set()
        for stage in reversed(stages):
            order, outside = _order(stage, needed)
            stage.order = order
            needed = {v for v in needed if v.stage < stage.index} | outside
            stage.captures = _stable(needed)

    @cached_property
    def ports(self) -> tuple[PortUse, ...]:
        return tuple(self.stages[0].ports)

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        return tuple(e for e in self.stages[0].effects if isinstance(e, Branch))


def _stable(values: set[Value]) -> tuple[Value, ...]:
    """The order of creation: the same in each process, as compiled code relies on it."""
    return tuple(sorted(values, key=lambda v: v.serial))


def _order(stage: Stage, kept: set[Value]) -> tuple[tuple[Value, ...], set[Value]]:
    """Nodes of this stage in order of need, and the nodes of earlier stages that they use."""
    order: list[Value] = []
    outside: set[Value] = set()
    seen: set[Value] = set()
    stack: list[tuple[Value, bool]] = []
    for root in (*stage.roots(), *(v for v in _stable(kept) if v.stage == stage.index)):
        stack.append((root, False))
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                if node.stage < stage.index and node.name != "constant":
                    outside.add(node)
                    continue
                stack.append((node, True))
                stack.extend((a, False) for a in reversed(node.args))
    return tuple(order), outside


class Moment:
    """One stage of the instruction under construction; what a meaning function writes with."""

    def __init__(self, instruction: SlotInstruction, stages: list[Stage], offset: int = 0) -> None:
        self._instruction = instruction
        self._effects = effects(instruction)
        self._stages = stages
        self._stage = Stage(len(stages), offset)
        stages.append(self._stage)

    def after(self, bundles: int) -> Moment:
        """The moment `bundles` after issue. Ask in rising order."""
        if bundles <= self._stages[-1].offset:
            raise ValueError("stages have to be asked for in rising order")
        return Moment(self._instruction, self._stages, bundles)

    def read(self, name: str, type_: Type | None = None) -> Value:
        """The register's value now, as its own type or bitcast to `type_`."""
        reg = register(name)
        unit = units(name)[0]
        bypass = next((a.bypass for a in self._effects.reads if a.register == unit), None)
        value = Value("read", reg.type, read=RegisterRead(name, bypass or ""), stage=self._stage.index)
        return value if type_ is None else value.bitcast(type_)

    def write(self, name: str, value: Value, *, ready: int | None = None) -> None:
        """Write a register. `ready` counts from issue; by default as isa/effects.py has it.

        A scalar wider than the register is cut; a narrower one is zero-extended (a 20-bit register moved
        to a 32-bit one: llvm-aie treats G_ZEXT of s20 as a copy).
        """
        type_ = register(name).type
        if type_.is_vector:
            value = value.bitcast(type_)
        elif value.type.width > type_.width:
            value = value.trunc(type_.width)
        else:
            value = value.zext(type_.width)
        unit = units(name)[0]
        access = next((a for a in self._effects.writes if a.register == unit), None)
        if ready is None and access is None:
            raise ValueError(f"{self._instruction.opcode.name} is not said to write {name}")
        when = access.stage if ready is None and access is not None else ready
        if when is None or when <= self._stage.offset:
            raise ValueError(f"{name} would be written before it is computed")
        bypass = access.bypass if access is not None else None
        self._stage.effects.append(Write(name, value, when, bypass or ""))

    def load(self, address: Value, type_: Type) -> Value:
        """Memory at `address` (20 bits): aligned for scalars, without its low bits for vectors."""
        return Value("load", type_, (_aligned(address, type_),), stage=self._stage.index)

    def store(self, address: Value, value: Value) -> None:
        """As `load`."""
        self._stage.effects.append(Store(_aligned(address, value.type), value))

    def branch(
        self, target: Value | int, *, condition: Value | None = None, kind: BranchKind = "jump"
    ) -> None:
        where = constant(I20, target) if isinstance(target, int) else target
        self._stage.effects.append(Branch(condition, where, kind))

    def port(self, kind: PortKind, *args: Value, condition: Value | None = None) -> tuple[Value, ...]:
        """Use the tile's port; gives the values that come back. Only at issue."""
        if self._stage.index:
            raise ValueError("ports are used at issue")
        first = sum(len(use.results) for use in self._stage.ports)
        results = tuple(
            Value("received", type_, numbers=(first + i,), stage=self._stage.index)
            for i, type_ in enumerate(_RESULTS.get(kind, ()))
        )
        self._stage.ports.append(PortUse(kind, args, condition, results))
        return results

    def next_address(self) -> Value:
        """Where execution goes on after the delay slots of a branch here: what a call leaves in lr."""
        return Value("return_address", I20, stage=self._stage.index)


VECTOR_BITS = 128
"""From this size on the hardware leaves out the low bits of an address: aie_api's unaligned accesses rely on
it (detail/ld_st.hpp, floor_ptr)."""


def _aligned(address: Value, type_: Type) -> Value:
    bits = type_.width * type_.lanes
    return address if bits < VECTOR_BITS else address & ((1 << address.type.width) - bits // 8)


MeaningFunction: TypeAlias = Callable[..., None]

_EXACT: dict[str, MeaningFunction] = {}
_FAMILIES: list[tuple[re.Pattern[str], MeaningFunction]] = []


def meaning(*names: str) -> Callable[[MeaningFunction], MeaningFunction]:
    """Register a meaning for opcodes by name, or by a regular expression that matches whole names.

    The groups of the expression become further arguments of the function.
    """

    def register_function(function: MeaningFunction) -> MeaningFunction:
        for name in names:
            if name.replace("_", "").isalnum():
                if name in _EXACT:
                    raise ValueError(f"two meanings for {name}")
                _EXACT[name] = function
            else:
                _FAMILIES.append((re.compile(name), function))
        return function

    return register_function


def _registered(opcode: str) -> tuple[MeaningFunction, tuple[str | None, ...]] | None:
    """The function for an opcode, and what its name's groups give it."""
    if opcode in _EXACT:
        return _EXACT[opcode], ()
    for pattern, family in _FAMILIES:
        match = pattern.fullmatch(opcode)
        if match:
            return family, match.groups()
    return None


@lru_cache(maxsize=1 << 16)
def meaning_of(instruction: SlotInstruction) -> Meaning | None:
    """What the instruction does; None where no meaning is defined for its opcode."""
    found = _registered(instruction.opcode.name)
    if found is None:
        return None
    function, groups = found
    stages: list[Stage] = []
    function(Moment(instruction, stages), instruction, *groups)
    return Meaning(instruction, stages)


def has_meaning(opcode: str) -> bool:
    """True where a meaning is registered for this opcode."""
    return _registered(opcode) is not None


def function_of(opcode: str) -> str | None:
    """Where an opcode's meaning is written, as "module.function"; None where it has none."""
    found = _registered(opcode)
    if found is None:
        return None
    return f"{found[0].__module__.rpartition('.')[2]}.{found[0].__name__}"
