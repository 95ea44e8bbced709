"""The plain engine: one bundle at a time, in Python. Clear, traceable, and the oracle for the other one.

A bundle: use the tile's ports (it may have to wait; then nothing happens at all); evaluate all stages
that are due, old ones and the bundle's own; store to memory; count everything in flight down by one, let
what is due land; go to the next bundle, the start of a zero-overhead loop, or a branch's target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...isa.semantics.meaning import BRANCH_DELAY, Branch, Effect, PortUse, Stage, Store, Write
from ...isa.semantics.registers import register
from ...isa.semantics.value import RegisterRead, Value
from ..memory import LOADED, STORED, WRITTEN
from .flight import BranchKey, Item, StageKey, WriteKey, sooner, stage_of
from .operations import compute, evaluate, plain_constant
from .port import CoreChecks, CorePort, CoreStop
from .program import Issue, Program
from .service import Fault, Wait, serve
from .state import (
    FIRST_QUADRANT,
    OUTSIDE_PC,
    QUADRANT_BYTES,
    QUADRANTS,
    REGISTERS,
    STACK_HIGH,
    STACK_LOW,
    STACK_PC,
    STALLS,
    PlainValue,
    State,
    cell_bytes,
    decode,
    encode,
)


class PlainEngine:
    """Executes bundles on a `State`. `pc` and `flight` are the rest of what a core is at a given moment."""

    def __init__(
        self, state: State, program: Program, port: CorePort, checks: CoreChecks | None = None
    ) -> None:
        self.checks = checks
        self.state = state
        self.program = program
        self.port = port
        self.pc = 0
        self.flight: list[Item] = []
        self.bundles = 0
        self.observe: Callable[[str, int], None] | None = None
        """Told the name and the key of each choice that is evaluated."""
        self._served: dict[PortUse, tuple[PlainValue, ...]] = {}
        self._accesses: list[tuple[int, int]] = []
        """Addresses and sizes of the bundle's accesses to data memory."""

    @property
    def waiting(self) -> bool:
        """A bundle has used one of its ports and waits for another."""
        return bool(self._served)

    def reset(self) -> None:
        self.pc = 0
        self.flight = []
        self._served = {}

    def step(self) -> CoreStop | None:
        """One bundle; None when it issued. Raises Fault and CannotIssue."""
        issue = self.program.issue(self.pc)
        if issue.ports:
            stop = self._use_ports(issue)
            if stop is not None:
                return stop
        effects: list[tuple[Stage, Effect, dict[Value, PlainValue]]] = []
        later: list[Item] = []
        for item in self.flight:
            if isinstance(item.key, StageKey) and item.key.due == 0:
                environment = self._run_stage(item, issue)
                stage = stage_of(item.key, self.program)
                effects.extend((stage, effect, environment) for effect in stage.effects)
                later.extend(self._next_stage(item.key, environment))
        self.flight = [i for i in self.flight if not (isinstance(i.key, StageKey) and i.key.due == 0)]
        for slot in range(len(issue.meanings)):
            key = StageKey(0, self.pc, slot, 0)
            stage = stage_of(key, self.program)
            environment = self._run_stage(Item(key, ()), issue)
            effects.extend((stage, effect, environment) for effect in stage.effects)
            later.extend(self._next_stage(key, environment))
        loops = self.state.read("LE") == self.pc and self.state.read_scalar("LC") > 1
        for stage, effect, environment in effects:
            self._apply(stage, effect, environment)
        self.flight.extend(later)
        self._served = {}
        self._advance(issue, loops=loops)
        self.bundles += 1
        if len(self._accesses) > 1:
            self.state.set_long(STALLS, self.state.long(STALLS) + bank_conflicts(self._accesses))
        self._accesses = []
        return None

    # Evaluation

    def _run_stage(self, item: Item, issue: Issue) -> dict[Value, PlainValue]:
        key = item.key
        if not isinstance(key, StageKey):
            raise TypeError("only stages are run")
        stage = stage_of(key, self.program)
        environment = dict(zip(stage.captures, item.values, strict=True))
        if key.stage == 0 and issue.ports:
            for use in stage.ports:
                environment.update(zip(use.results, self._served[use], strict=True))
        for node in stage.order:
            if node not in environment:
                environment[node] = self._value(node, environment, key.address)
        return environment

    def _value(self, node: Value, environment: dict[Value, PlainValue], address: int) -> PlainValue:
        match node.name:
            case "constant":
                return plain_constant(node)
            case "read":
                assert node.read is not None
                return self._read(node.read)
            case "load":
                where = environment[node.args[0]]
                assert isinstance(where, int)
                size = cell_bytes(node.type)
                data = decode(node.type, self.memory(where, size, "load"))
                self._mark(where, size, LOADED)
                return data
            case "return_address":
                return self.program.return_address(address)
            case "choose":
                key = environment[node.args[0]]
                if self.observe is not None and node.choice is not None and isinstance(key, int):
                    self.observe(node.choice.name, key)
                return compute(node, [environment[a] for a in node.args])
            case _:
                return compute(node, [environment[a] for a in node.args])

    def _read(self, read: RegisterRead) -> PlainValue:
        if not read.bypass:
            return self.state.read(read.register)
        reg = register(read.register)
        start = REGISTERS + reg.offset
        data = bytearray(self.state.view[start : start + reg.size])
        for item in self.flight:
            key = item.key
            if isinstance(key, WriteKey) and key.due == 1 and key.bypass == read.bypass:
                forwarded = register(key.register)
                encoded = encode(forwarded.type, item.values[0])
                for cell in set(forwarded.cells) & set(reg.cells):
                    size = forwarded.size // len(forwarded.cells)
                    piece = encoded[cell - forwarded.offset :][:size]
                    data[cell - reg.offset : cell - reg.offset + size] = piece
        return decode(reg.type, bytes(data))

    def memory(self, address: int, size: int, what: str) -> memoryview:
        """The bytes of data memory at a core's address; zeros for a load where there is none, which is noted.
        Raises Fault."""
        if address % size:
            raise Fault("misaligned", f"{what} of {size} bytes at {address:#x}, which is not aligned to that")
        quadrant, offset = divmod(address, QUADRANT_BYTES)
        memory = self.state.memories.get(quadrant)
        if memory is None and what != "load":
            raise Fault("out-of-range", describe_range(what, size, address))
        self._accesses.append((address, size))
        if memory is None:
            self.state.set_word(OUTSIDE_PC, self.pc + 1)
            return memoryview(bytes(size))
        return memory[offset : offset + size]

    def _mark(self, address: int, size: int, marks: int) -> None:
        """Note an access in the memory's shadow, and report a load of what nobody wrote."""
        if not self.state.checked:
            return
        quadrant, offset = divmod(address, QUADRANT_BYTES)
        shadow = self.state.shadows.get(quadrant)
        if shadow is None:
            return
        places = range(offset, offset + size)
        if marks == LOADED and self.checks is not None and not all(shadow[i] & WRITTEN for i in places):
            self.checks.unwritten_load(self.pc, address, size)
        for i in places:
            shadow[i] |= marks

    # Effects

    def _apply(self, stage: Stage, effect: Effect, environment: dict[Value, PlainValue]) -> None:
        match effect:
            case Store():
                where = environment[effect.address]
                assert isinstance(where, int)
                size = cell_bytes(effect.value.type)
                target = self.memory(where, size, "store")
                target[:] = encode(effect.value.type, environment[effect.value])
                self._mark(where, size, WRITTEN | STORED)
            case Write():
                key = WriteKey(effect.ready - stage.offset, effect.register, effect.bypass)
                self.flight.append(Item(key, (environment[effect.value],)))
            case Branch():
                key = branch_key(effect, self.pc)
                values: list[PlainValue] = []
                if effect.condition is not None:
                    values.append(environment[effect.condition])
                if key.target is None:
                    values.append(environment[effect.target])
                self.flight.append(Item(key, tuple(values)))

    def _next_stage(self, key: StageKey, environment: dict[Value, PlainValue]) -> Iterable[Item]:
        stages = self.program.issue(key.address).meanings[key.slot].stages
        if key.stage + 1 < len(stages):
            stage, current = stages[key.stage + 1], stages[key.stage]
            due = stage.offset - current.offset
            values = tuple(environment[v] for v in stage.captures)
            yield Item(StageKey(due, key.address, key.slot, key.stage + 1), values)

    def _advance(self, issue: Issue, *, loops: bool) -> None:
        target: int | None = None
        remaining: list[Item] = []
        for item in self.flight:
            key = sooner(item.key)
            if key.due > 0 or isinstance(key, StageKey):
                remaining.append(Item(key, item.values))
            elif isinstance(key, WriteKey):
                self.state.write(key.register, item.values[0])
                if key.register == "SP" and self.state.checked:
                    self._note_stack(item.values[0])
            elif not key.conditional or item.values[0]:
                where = item.values[-1] if key.target is None else key.target
                assert isinstance(where, int)
                target = where
        self.flight = remaining
        if target is not None:
            self.pc = target
        elif loops:
            self.state.write("LC", self.state.read_scalar("LC") - 1)
            self.pc = self.state.read_scalar("LS")
        else:
            self.pc = issue.bundle.end

    def _note_stack(self, pointer: PlainValue) -> None:
        assert isinstance(pointer, int)
        state = self.state
        state.set_word(STACK_LOW, min(pointer, state.word(STACK_LOW)))
        if pointer > state.word(STACK_HIGH):
            state.set_word(STACK_HIGH, pointer)
            state.set_word(STACK_PC, self.pc)

    # Ports

    def _use_ports(self, issue: Issue) -> CoreStop | None:
        """Serve the bundle's port uses in order; what was served stays so while a later one waits."""
        environment: dict[Value, PlainValue] = {}
        for _, use in issue.ports:
            if use in self._served:
                continue
            if use.condition is not None and not self._port_value(use.condition, environment):
                self._served[use] = tuple(0 for _ in use.results)
                continue
            args = [self._port_value(arg, environment) for arg in use.args]
            result = serve(self.port, use.kind, args, self.bundles)
            if isinstance(result, Wait):
                return CoreStop(result.kind, self.pc, result.number, result.value)
            self._served[use] = result
        return None

    def _port_value(self, node: Value, environment: dict[Value, PlainValue]) -> PlainValue:
        """A port's argument: it depends on registers only."""
        if node.name == "constant":
            return plain_constant(node)
        stack = [node]
        while stack:
            current = stack.pop()
            if current.name == "read":
                assert current.read is not None
                environment[current] = self._read(current.read)
            stack.extend(current.args)
        return evaluate(node, environment)


def bank_conflicts(accesses: Sequence[tuple[int, int]]) -> int:
    """Accesses of one bundle that wait for an earlier one: to the same bank, 128 bits wide."""
    return sum(
        any(conflict_mask(size, other) & (address ^ earlier) == 0 for earlier, other in accesses[:number])
        for number, (address, size) in enumerate(accesses)
    )


def conflict_mask(size: int, other: int) -> int:
    """Address bits in which two accesses must differ not to meet in a bank.

    A memory has eight banks of 8 KiB, 128 bits wide; two of them side by side make 16 KiB of consecutive
    addresses, bit 4 tells which one (facts 2.4; mlir-aie allocates in four banks of 16 KiB). An access of
    256 bits takes both.
    """
    both = max(size, other) > BANK_WIDTH_BYTES
    return BANK_PAIR_MASK if both else BANK_PAIR_MASK | BANK_WIDTH_BYTES


BANK_WIDTH_BYTES = 16
BANK_PAIR_MASK = 0xFC000
"""Bits of a 20-bit address above 16 KiB."""


def branch_key(branch: Branch, origin: int) -> BranchKey:
    """The key of a branch that has just issued."""
    return BranchKey(
        BRANCH_DELAY + 1, branch.static_target, branch.condition is not None, branch.kind, origin
    )


def describe_range(what: str, size: int, address: int) -> str:
    """Why an access is out of range."""
    quadrant = (address // QUADRANT_BYTES) - FIRST_QUADRANT
    if 0 <= quadrant < len(QUADRANTS):
        return f"{what} of {size} bytes at {address:#x}: the core has no {QUADRANTS[quadrant]} memory"
    return f"{what} of {size} bytes at {address:#x}, outside of data memory (0x40000 to 0x7ffff)"
