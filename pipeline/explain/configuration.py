"""A CDO explained: its commands by name, and the array as it stands after them.

The end state is what the writes leave in the registers; what a running array would change (a lock, a BD's
iteration counter) is not modelled here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..description import (
    Configuration,
    Descriptor,
    FieldValue,
    LockValue,
    MemoryWrite,
    RegisterAccess,
    Step,
    Task,
    Tile,
)
from ..errors import ArtifactError
from ..formats import cdo
from ..formats.cdo import Cdo, Command
from ..formats.reader import unpack_words
from ..npu.registers import locate, register
from ..npu.topology import ROWS, TileAddress, TileKind
from .descriptors import bd_of, bds_in_block, start_of, with_users, written_bds
from .registers import (
    MOST_REGISTERS,
    WORD_BYTES,
    RegisterState,
    access,
    is_register,
    memory_at,
    memory_write,
    place_of,
    tile_of,
)
from .routes import routes

MOST_COMMANDS = 100_000
"""Real configurations have some hundreds of commands; a dump of more than this would serve nobody."""


def explain_cdo(found: Cdo, *, size_bytes: int, offset: int = 0) -> Configuration:
    """The configuration; `offset` is the CDO's place in the file.

    Raises ArtifactError for one of more than MOST_COMMANDS commands.
    """
    if len(found.commands) > MOST_COMMANDS:
        raise ArtifactError(
            f"{len(found.commands)} commands; the most that is explained is {MOST_COMMANDS}",
            artifact="CDO",
            offset=offset,
        )
    run = _Run()
    commands = tuple(run.steps(found.commands, offset + cdo.HEADER_BYTES))
    columns = max((tile.column + 1 for tile in run.state.tiles()), default=0)
    columns = max([columns, *(write.tile.column + 1 for write in run.memory if write.tile is not None)])
    drawn, more = routes(run.state, columns)
    bds = {key: bd_of(run.state, *key) for key in written_bds(run.state)}
    return Configuration(
        size_bytes,
        columns,
        commands,
        tuple(run.memory),
        with_users(bds, run.starts),
        lock_values(run.state),
        tuple(task for _, task in run.starts),
        drawn,
        enabled_cores(run.state),
        ("there are more routes than these",) if more else (),
    )


@dataclass(slots=True)
class _Run:
    """The commands, one after the other."""

    state: RegisterState = field(default_factory=RegisterState)
    memory: list[MemoryWrite] = field(default_factory=list[MemoryWrite])
    starts: list[tuple[TileAddress, Task]] = field(default_factory=list[tuple[TileAddress, Task]])

    def steps(self, commands: Sequence[Command], offset: int) -> Iterator[Step]:
        """One step per command; equal NOPs in a row are one."""
        waiting: Step | None = None
        for index, command in enumerate(commands):
            step = self._step(index, offset, command)
            offset += cdo.command_bytes(command)
            same = waiting is not None and isinstance(command, cdo.Nop) and waiting.facts == step.facts
            if waiting is not None and waiting.operation == step.operation == cdo.Nop.name and same:
                waiting = _once_more(waiting)
                continue
            if waiting is not None:
                yield waiting
            waiting = step
        if waiting is not None:
            yield waiting

    def _step(self, index: int, offset: int, command: Command) -> Step:
        match command:
            case cdo.Write(address, value):
                self.state.write(address, value)
                return Step(
                    index, offset, command.name, (access(address, value),), task=self._start(address, value)
                )
            case cdo.MaskWrite(address, mask, value):
                self.state.write(address, value, mask)
                return Step(index, offset, command.name, (access(address, value, mask),))
            case cdo.MaskPoll(address, mask, value, timeout):
                facts = (FieldValue("timeout_ms", timeout),)
                return Step(index, offset, command.name, (access(address, value, mask),), facts=facts)
            case cdo.DmaWrite(address, data):
                return self._block(Step(index, offset, command.name), address, data)
            case cdo.Nop(payload):
                facts = (FieldValue("words", len(payload) // WORD_BYTES),)
                return Step(index, offset, command.name, facts=facts)
            case cdo.End(api):
                return Step(index, offset, command.name, facts=(FieldValue("api", api),))

    def _start(self, address: int, value: int) -> Task | None:
        found = start_of(address, value)
        if found is None:
            return None
        self.starts.append((found.tile, found.task))
        return found.task

    def _block(self, step: Step, address: int, data: bytes) -> Step:
        block = explain_block(address, data)
        words = unpack_words(data) if block.is_registers else ()
        self.state.write_block(address, words)
        self.memory += block.memory
        for index, value in enumerate(words):
            self._start(address + WORD_BYTES * index, value)
        return Step(step.index, step.offset, step.operation, block.registers, block.memory, block.descriptors)


def _once_more(step: Step) -> Step:
    return Step(step.index, step.offset, step.operation, facts=step.facts, count=step.count + 1)


@dataclass(frozen=True, slots=True)
class Block:
    """What a write of consecutive words is: whole BDs, registers, or one memory (or too many registers)."""

    registers: tuple[RegisterAccess, ...] = ()
    memory: tuple[MemoryWrite, ...] = ()
    descriptors: tuple[Descriptor, ...] = ()
    is_registers: bool = False


def explain_block(address: int, data: bytes) -> Block:
    """A block write (a multiple of four bytes)."""
    place = place_of(address)
    if place.kind is None or memory_at(place.kind, place.offset) is not None:
        return Block(memory=(memory_write(address, data),))
    if len(data) > WORD_BYTES * MOST_REGISTERS or not data:
        return Block(memory=(memory_write(address, data, "registers"),))
    words = unpack_words(data)
    bds = bds_in_block(address, words)
    if bds is not None:
        return Block(descriptors=bds, is_registers=True)
    addresses = [address + WORD_BYTES * at for at in range(len(words))]
    known = [at for at in addresses if is_register(at)]
    if not known:
        return Block(memory=(memory_write(address, data),))
    values = dict(zip(addresses, words, strict=True))
    return Block(registers=tuple(access(at, values[at]) for at in known), is_registers=True)


# --------------------------------------------------------------------------- the end state


def lock_values(state: RegisterState) -> tuple[LockValue, ...]:
    """Locks that were written, with what they hold."""
    found: list[tuple[TileAddress, int, int]] = []
    for address, value in state.values.items():
        place = place_of(address)
        entry = None if place.kind is None else locate(place.kind, place.offset)
        if entry is not None and entry.register.name == "LOCK_VALUE" and not entry.byte:
            found.append((place.address, entry.index, entry.register.field("LOCK_VALUE").get(value)))
    return tuple(LockValue(tile_of(tile), number, value) for tile, number, value in sorted(found))


def enabled_cores(state: RegisterState) -> tuple[Tile, ...]:
    """Cores that run once the configuration is there."""
    control = register(TileKind.COMPUTE, "CORE_CONTROL")
    enable, reset = control.field("ENABLE"), control.field("RESET")
    found: list[Tile] = []
    for tile in state.tiles():
        if tile.row < ROWS and tile.kind is TileKind.COMPUTE:
            word = state.read(tile, control.offset)
            if enable.get(word) and not reset.get(word):
                found.append(tile_of(tile))
    return tuple(found)
