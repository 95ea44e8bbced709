"""Instruction streams explained, TXN and lx6: each operation by name, and the transfers that come of them.

The array's configuration is not known here (it is in the xclbin), so BDs and switches show what the stream
itself writes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

from ..description import Descriptor, FieldValue, Patch, Step, Stream, Task, Transfer, Wait
from ..errors import ArtifactError
from ..formats import lx6, txn
from ..formats.instructions import InstructionStream, is_text
from ..formats.lx6 import Lx6Stream
from ..formats.reader import pack_words, unpack_words
from ..formats.txn import Transaction
from ..npu.descriptors import descriptor_offset
from ..npu.topology import ROWS, Direction, TileAddress, TileKind
from .configuration import MOST_COMMANDS, Block, explain_block
from .descriptors import BdKey, bd_at, bd_of, describe, start_of
from .registers import (
    KEPT,
    LARGEST_COLUMN,
    MOST_WORDS_SHOWN,
    WORD_BYTES,
    RegisterState,
    access,
    place_of,
    tile_of,
)
from .routes import routes

DDR_APERTURE = 0x80000000
"""Where the array sees DDR; folded into the offsets of later arguments (facts/formats.md section 3.3)."""

FIRST_FOLDED_ARGUMENT = 5

_DEVICES = {
    txn.DEVICE_NPU1: "npu1 (Phoenix, Hawk Point)",
    txn.DEVICE_NPU2: "npu2 (Strix, Krackan)",
    2: "AIE-ML",
}
_FIDELITY = ("head", "spare", "tail")
_BASE_WORD = 1
"""The word of a shim BD that DDR_PATCH names: its base address."""


def explain_stream(found: InstructionStream, data: bytes) -> Stream:
    """The stream that was read from `data`.

    Raises ArtifactError for one of too many operations.
    """
    if len(found.ops) > MOST_COMMANDS:
        raise ArtifactError(
            f"{len(found.ops)} operations; the most that is explained is {MOST_COMMANDS}",
            artifact="instruction stream",
        )
    run = _Run()
    operations = tuple(run.steps(found))
    columns = max((tile.column + 1 for tile in run.state.tiles()), default=0)
    drawn, more = routes(run.state, columns)
    common = (
        operations,
        tuple(run.transfers),
        drawn,
        ("there are more routes than these",) if more else (),
    )
    encoding = "text" if is_text(data) else "binary"
    if isinstance(found, Lx6Stream):
        return Stream("lx6", encoding, len(data), None, None, None, None, *common)
    return Stream(
        f"TXN {found.version[0]}.{found.version[1]}",
        encoding,
        len(data),
        _DEVICES.get(found.generation, f"device generation {found.generation}"),
        found.columns,
        found.rows,
        found.memory_rows,
        *common,
    )


@dataclass(slots=True)
class _Run:
    """The operations, one after the other, with the registers as they stand."""

    state: RegisterState = field(default_factory=RegisterState)
    patches: dict[BdKey, Patch] = field(default_factory=dict[BdKey, Patch])
    transfers: list[Transfer] = field(default_factory=list[Transfer])

    def steps(self, stream: InstructionStream) -> Iterator[Step]:
        if isinstance(stream, Transaction):
            offset = txn.HEADER_BYTES
            for index, op in enumerate(stream.ops):
                yield self._txn(Step(index, offset, op.name), op)
                offset += len(txn.encode_operation(op, stream.version))
        else:
            offset = 4 * len(stream.prologue)
            for index, old in enumerate(stream.ops):
                yield self._lx6(Step(index, offset, old.name), old)
                offset += 4 * len(lx6.operation_words(old))

    def _txn(self, step: Step, op: txn.Operation) -> Step:
        match op:
            case txn.Write32(address=address, value=value):
                return self._write(step, address, value)
            case txn.MaskWrite32(address=address, value=value, mask=mask):
                self.state.write(address, value, mask)
                return replace(step, registers=(access(address, value, mask),))
            case txn.MaskPoll(address=address, value=value, mask=mask, busy=busy):
                name = f"{step.operation}_BUSY" if busy else step.operation
                return replace(step, operation=name, registers=(access(address, value, mask),))
            case txn.BlockWrite(address=address, words=words):
                return self._block(step, address, words)
            case txn.ReadRegisters(addresses=addresses):
                return replace(step, registers=tuple(access(address, None) for address in addresses))
            case txn.Sync(column=column, row=row, direction=direction, channel=channel):
                wait = _wait(column, row, direction, channel, op.columns, op.rows)
                return replace(step, wait=wait) if wait is not None else replace(step, facts=_facts(op))
            case txn.UpdateRegister(address=address):
                return replace(step, registers=(access(address, None),), facts=_facts(op))
            case txn.DdrPatch(address=address, argument=argument, offset_bytes=offset):
                return self._patch(step, address, argument, offset)
            case _:
                return replace(step, facts=_facts(op))

    def _lx6(self, step: Step, op: lx6.Operation) -> Step:
        match op:
            case lx6.Write32(column, row, address, value):
                return self._write(step, TileAddress(column, row).base + address, value)
            case lx6.Sync(column, row, direction, channel, columns, rows):
                wait = _wait(column, row, direction, channel, columns, rows)
                return replace(step, wait=wait) if wait is not None else replace(step, facts=_facts(op))
            case lx6.WriteBd():
                return self._write_bd(step, op)
            case lx6.Other():
                words = tuple(FieldValue(f"word {at}", word) for at, word in enumerate(op.words))
                return replace(step, facts=(FieldValue("opcode", op.opcode), *words))

    def _write(self, step: Step, address: int, value: int) -> Step:
        self.state.write(address, value)
        self._forget(address)
        return replace(
            step, registers=(access(address, value),), task=self._start(step.index, address, value)
        )

    def _block(self, step: Step, address: int, words: tuple[int, ...]) -> Step:
        block: Block = explain_block(address, pack_words(words))
        if block.is_registers:
            self.state.write_block(address, words)
            for at, value in enumerate(words):
                self._forget(address + 4 * at)
                self._start(step.index, address + 4 * at, value)
        return replace(step, registers=block.registers, memory=block.memory, descriptors=block.descriptors)

    def _forget(self, address: int) -> None:
        """A new base address in a BD takes the place of a data buffer's."""
        place = place_of(address)
        found = bd_at(place.kind, place.offset) if place.kind is TileKind.SHIM else None
        if found is not None and found[1] == _BASE_WORD:
            self.patches.pop((place.address, found[0]), None)

    def _patch(self, step: Step, address: int, argument: int, offset: int) -> Step:
        folded = argument >= FIRST_FOLDED_ARGUMENT and offset >= DDR_APERTURE
        place = place_of(address)
        found = bd_at(place.kind, place.offset) if place.kind is TileKind.SHIM else None
        number = found[0] if found is not None and found[1] == _BASE_WORD else None
        patch = Patch(
            place.tile,
            place.module,
            number,
            address,
            argument,
            offset - DDR_APERTURE if folded else offset,
            folded,
        )
        if number is not None:
            self.patches[place.address, number] = patch
        return replace(step, patch=patch)

    def _write_bd(self, step: Step, op: lx6.WriteBd) -> Step:
        """The eight words go to one BD of each column; the firmware adds the argument's address."""
        descriptors: list[Descriptor] = []
        for column in range(op.column, min(op.column + max(1, op.columns), LARGEST_COLUMN + 1)):
            tile = TileAddress(column, 0)
            start = tile.address(descriptor_offset(TileKind.SHIM, op.bd))
            self.state.write_block(start, op.words)
            offset = op.words[_BASE_WORD]
            module = place_of(start).module
            patch = Patch(tile_of(tile), module, op.bd, start + 4, op.argument, offset, folded=False)
            self.patches[tile, op.bd] = patch
            descriptors.append(_patched(describe(tile, op.bd, op.words), patch))
        return replace(step, descriptors=tuple(descriptors))

    def _start(self, index: int, address: int, value: int) -> Task | None:
        found = start_of(address, value)
        if found is None:
            return None
        key = (found.tile, found.task.bd)
        start = descriptor_offset(found.tile.kind, found.task.bd) if _has_bd(key) else None
        descriptor: Descriptor | None = None
        if start is not None and found.tile.address(start) in self.state.values:
            descriptor = _started(bd_of(self.state, *key), self.patches.get(key), found.task.channel)
        self.transfers.append(Transfer(index, found.task, descriptor))
        return found.task


def _has_bd(key: BdKey) -> bool:
    """A memory tile's start queue can name BDs 48 to 63, which there are not."""
    try:
        descriptor_offset(key[0].kind, key[1])
    except IndexError:
        return False
    return True


@functools.lru_cache(maxsize=KEPT)
def _started(descriptor: Descriptor, patch: Patch | None, channel: str) -> Descriptor:
    return replace(_patched(descriptor, patch), users=(channel,))


def _patched(descriptor: Descriptor, patch: Patch | None) -> Descriptor:
    if patch is None:
        return descriptor
    return replace(descriptor, argument=patch.argument, address=patch.offset_bytes)


def _wait(column: int, row: int, direction: int, channel: int, columns: int, rows: int) -> Wait | None:
    """None where no such tile or direction exists: the numbers are then shown as they are."""
    if direction not in (Direction.S2MM.value, Direction.MM2S.value) or row >= ROWS:
        return None
    tile = tile_of(TileAddress(column, row))
    return Wait(tile, f"{Direction(direction).name} {channel}", max(1, columns), max(1, rows))


def _facts(op: txn.Operation | lx6.Operation) -> tuple[FieldValue, ...]:
    """An operation's numbers by name, those kept for fidelity only where they are not 0."""
    found: list[FieldValue] = []
    for entry in fields(op):
        value: object = getattr(op, entry.name)
        if isinstance(value, bytes):
            words = unpack_words(value[: WORD_BYTES * MOST_WORDS_SHOWN])
            found += [FieldValue(f"{entry.name} word {at}", word) for at, word in enumerate(words)]
        elif isinstance(value, int) and (value or entry.name not in _FIDELITY):
            found.append(FieldValue(entry.name, int(value)))
    return tuple(found)
