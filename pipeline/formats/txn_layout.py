"""Where the parts of each TXN operation stand, in both versions: one table, read and written both ways.

A layout is a list of words after word 0's opcode byte; a word is a list of parts, each an attribute of
the operation at some bits. "size" is the operation's own length in bytes; "spare0", "spare1" are entries
of its tuple `spare`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import cast

from .reader import Reader, pack_words, unpack_words
from .txn_operations import (
    BlockWrite,
    CreateScratchpad,
    CustomOp,
    DdrPatch,
    LoadPdi,
    LoadPmStart,
    MaskPoll,
    MaskWrite32,
    MergeSync,
    Noop,
    Operation,
    Preempt,
    ReadRegisters,
    RecordTimer,
    Sync,
    UpdateRegister,
    UpdateScratch,
    UpdateState,
    Write32,
)

VERSION_0_1 = (0, 1)
VERSION_1_0 = (1, 0)

FIRST_CUSTOM = 0x80
"""From this opcode on, word 1 is the operation's size, so that an unknown one can be stepped over."""

_READ_REGISTERS = 0x82


def encode_operation(op: Operation, version: tuple[int, int]) -> bytes:
    """The bytes of one operation. Raises ValueError where it cannot be said in that version."""
    if isinstance(op, ReadRegisters):
        return _encode_read_registers(op)
    if isinstance(op, CustomOp):
        words = (op.opcode | op.head << 8, 8 + len(op.payload))
        return pack_words(words) + op.payload
    layout = _by_type(version)[type(op), getattr(op, "busy", False)]
    return layout.encode(op)


def decode_operation(reader: Reader, offset: int, version: tuple[int, int]) -> tuple[Operation, int]:
    """The operation at `offset` and its length in bytes. Raises ArtifactError."""
    word = reader.u32(offset, "a TXN operation")
    opcode = word & 0xFF
    layout = _by_opcode(version).get(opcode)
    if layout is not None:
        return layout.decode(reader, offset)
    if opcode < FIRST_CUSTOM:
        reader.fail(f"TXN operation {opcode:#x} is unknown, or of no published layout", offset)
    size = _checked_size(reader, offset, reader.u32(offset + 4, "the size of a TXN operation"), 8)
    payload = reader.take(offset + 8, size - 8, f"TXN operation {opcode:#x}")
    if opcode == _READ_REGISTERS:
        registers = _decode_read_registers(word >> 8, payload)
        if registers is not None:
            return registers, size
    return CustomOp(opcode, payload, word >> 8), size


# --------------------------------------------------------------------------- the tables


@dataclass(frozen=True, slots=True)
class _Part:
    """`width` bits of an attribute, from its bit `shift`, at bit `lowest` of a word."""

    attribute: str
    lowest: int = 0
    width: int = 32
    shift: int = 0

    @property
    def mask(self) -> int:
        return (1 << self.width) - 1


def _word(text: str) -> tuple[_Part, ...]:
    """ "row:8:8 column:16:8", "address" (all 32 bits), "address.high" (its bits 32 to 63)."""
    parts: list[_Part] = []
    for item in text.split():
        name, *bits = item.split(":")
        attribute, _, half = name.partition(".")
        lowest, width = (int(bits[0]), int(bits[1])) if bits else (0, 32)
        parts.append(_Part(attribute, lowest, width, 32 if half == "high" else 0))
    return tuple(parts)


_HEAD = "head:8:24"
_SYNC = (_HEAD, "size", "direction:0:8 row:8:8 column:16:8 spare0:24:8",
         "spare1:0:8 rows:8:8 columns:16:8 channel:24:8")  # fmt: skip
_MASKED = (_HEAD, "spare0", "address", "address.high", "value", "mask", "size")
_MASKED_1_0 = (_HEAD, "address", "value", "mask")
_STATE = "index:8:8 function:16:8 head:24:8"

# operations, opcodes and words that both versions share
_SHARED: dict[int, tuple[type[Operation], tuple[str, ...]]] = {
    5: (Noop, (_HEAD,)),
    6: (Preempt, ("level:8:8 head:16:16",)),
    8: (LoadPdi, ("head:8:8 pdi_id:16:16", "size_bytes", "address", "address.high")),
    9: (LoadPmStart, ("count:8:24", "load_id")),
    10: (CreateScratchpad, ("usage:8:8 head:16:16", "size_bytes", "offset", "offset.high")),
    11: (UpdateState, (_STATE, "operand")),
    12: (UpdateRegister, (_STATE, "operand", "address")),
    13: (UpdateScratch, (_HEAD,)),
    0x80: (Sync, _SYNC),
    0x83: (RecordTimer, (_HEAD, "size", "timer_id")),
    0x84: (MergeSync, (_HEAD, "size", "tokens:0:8 columns:8:8 spare0:16:16")),
}
_DDR_PATCH = (_HEAD, "size", "spare0", "spare1", "spare2", "spare3", "address", "address.high",
              "argument", "argument.high", "offset_bytes", "offset_bytes.high")  # fmt: skip
_TABLES: dict[tuple[int, int], dict[int, tuple[type[Operation], tuple[str, ...]]]] = {
    VERSION_0_1: {
        **_SHARED,
        0: (Write32, (_HEAD, "spare0", "address", "address.high", "value", "size")),
        1: (BlockWrite, (_HEAD, "spare0", "address", "size")),
        3: (MaskWrite32, _MASKED),
        4: (MaskPoll, _MASKED),
        7: (MaskPoll, _MASKED),
        0x81: (DdrPatch, _DDR_PATCH),
    },
    VERSION_1_0: {
        **_SHARED,
        0: (Write32, (_HEAD, "address", "value")),
        1: (BlockWrite, (_HEAD, "address", "size")),
        3: (MaskWrite32, _MASKED_1_0),
        4: (MaskPoll, _MASKED_1_0),
        7: (MaskPoll, _MASKED_1_0),
        0x81: (
            DdrPatch,
            (_HEAD, "size", "address", "argument:0:8 spare0:8:24", "offset_bytes", "offset_bytes.high"),
        ),
    },
}
_BUSY = 7  # the opcode of MASKPOLL_BUSY


# --------------------------------------------------------------------------- both ways


@dataclass(frozen=True, slots=True)
class _Layout:
    """`places` are the parts of `words` by attribute, each with its word's index; `held` the bits they have
    room for. Both are worked out once: a large matmul's stream has 150,000 operations."""

    opcode: int
    operation: type[Operation]
    words: tuple[tuple[_Part, ...], ...]
    places: Mapping[str, tuple[tuple[int, int, int, int], ...]]
    held: Mapping[str, int]

    @classmethod
    def of(cls, opcode: int, operation: type[Operation], texts: tuple[str, ...]) -> _Layout:
        words = tuple(map(_word, texts))
        held: dict[str, int] = {}
        places: dict[str, tuple[tuple[int, int, int, int], ...]] = {}
        for index, parts in enumerate(words):
            for part in parts:
                name = part.attribute
                held[name] = held.get(name, 0) | part.mask << part.shift
                places[name] = (*places.get(name, ()), (index, part.shift, part.mask, part.lowest))
        return cls(opcode, operation, words, places, held)

    def encode(self, op: Operation) -> bytes:
        values, rest = _split(op)
        if "size" in self.held:
            values["size"] = 4 * len(self.words) + len(rest)
        elif rest:
            raise ValueError(f"{op.name} has no room for {len(rest)} bytes after its fields")
        words = [self.opcode] + [0] * (len(self.words) - 1)
        left: dict[str, int] = {}
        for name, value in values.items():
            for index, shift, mask, lowest in self.places.get(name, ()):
                words[index] |= (value >> shift & mask) << lowest
            lost = value & ~self.held.get(name, 0)
            if lost:
                left[name] = lost
        if left:
            raise ValueError(f"{op.name} cannot hold these values or parts of them: {left}")
        return pack_words(words) + rest

    def decode(self, reader: Reader, offset: int) -> tuple[Operation, int]:
        words = reader.words(offset, len(self.words), self.operation.name)
        values: dict[str, int] = {}
        for word, parts in zip(words, self.words, strict=True):
            for part in parts:
                value = (word >> part.lowest & part.mask) << part.shift
                values[part.attribute] = values.get(part.attribute, 0) | value
        minimum = 4 * len(words)
        size = minimum
        if "size" in self.held:
            size = _checked_size(reader, offset, values.pop("size"), minimum)
        rest = reader.take(offset + minimum, size - minimum, self.operation.name)
        return self._build(values, rest), size

    def _build(self, values: dict[str, int], rest: bytes) -> Operation:
        spare = tuple(values.pop(name) for name in sorted(values) if name.startswith("spare"))
        found: dict[str, object] = dict(values)
        if any(spare):
            found["spare"] = spare
        if self.operation is BlockWrite:
            found["words"] = unpack_words(rest)
        elif rest:
            found["tail"] = rest
        if self.opcode == _BUSY:
            found["busy"] = True
        return cast("Callable[..., Operation]", self.operation)(**found)


def _split(op: Operation) -> tuple[dict[str, int], bytes]:
    """The attributes of `op` that are not 0, as numbers by the names that layouts use, and the bytes after
    its fields."""
    values: dict[str, int] = {}
    rest = b""
    for name in _field_names(type(op)):
        value: object = getattr(op, name)
        if not value:
            continue
        if isinstance(value, bytes):
            rest = value
        elif name == "words":
            rest = pack_words(cast("tuple[int, ...]", value)) + rest
        elif name == "spare":
            values.update({f"spare{i}": v for i, v in enumerate(cast("tuple[int, ...]", value))})
        elif name != "busy":
            values[name] = cast("int", value)
    return values, rest


@functools.cache
def _field_names(operation: type[Operation]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(operation))


def _checked_size(reader: Reader, offset: int, size: int, minimum: int) -> int:
    if size < minimum or size % 4 or offset + size > len(reader):
        reader.fail(
            f"a TXN operation of {size} bytes, where at least {minimum} are needed and"
            f" {len(reader) - offset} are left",
            offset,
        )
    return size


@functools.cache
def _by_opcode(version: tuple[int, int]) -> Mapping[int, _Layout]:
    return {
        opcode: _Layout.of(opcode, operation, words)
        for opcode, (operation, words) in _TABLES[version].items()
    }


@functools.cache
def _by_type(version: tuple[int, int]) -> Mapping[tuple[type[Operation], bool], _Layout]:
    return {(layout.operation, opcode == _BUSY): layout for opcode, layout in _by_opcode(version).items()}


# --------------------------------------------------------------------------- the irregular one


def _encode_read_registers(op: ReadRegisters) -> bytes:
    words = [len(op.addresses)]
    if op.wide:
        words.append(op.spare[0] if op.spare else 0)
        words.extend(half for address in op.addresses for half in (address & 0xFFFFFFFF, address >> 32))
    else:
        words.extend(op.addresses)
    head = (_READ_REGISTERS | op.head << 8, 8 + 4 * len(words))
    return pack_words((*head, *words))


def _decode_read_registers(head: int, payload: bytes) -> ReadRegisters | None:
    """None where the payload has neither mlir-aie's nor aie-rt's form."""
    words = unpack_words(payload)
    if not words:
        return None
    count = words[0]
    if len(words) == 1 + count:
        return ReadRegisters(words[1:], False, head)
    if len(words) == 2 + 2 * count:
        addresses = tuple(low | high << 32 for low, high in zip(words[2::2], words[3::2], strict=True))
        return ReadRegisters(addresses, True, head, words[1:2] if words[1] else ())
    return None
