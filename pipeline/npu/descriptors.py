"""DMA buffer descriptors (BDs): their words and what the words say, for the three kinds of tile.

Which bits hold a field stands in `registers.json` (rows DMA_BD_WORD_0 to _7). Here is which field holds
which attribute and how: as it is, minus one, signed, or as a number of words. Encode and decode both
follow the one table `_STORED`. Source of the meanings: aie-rt (MIT), checked against real designs.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .registers import Field, Register, has_register, register
from .topology import TileKind


@dataclass(frozen=True, slots=True)
class BufferDescriptor:
    """A transfer between memory and a stream.

    Addresses of shim BDs are bytes of DDR, of compute tiles bytes of their data memory, of memory tiles
    bytes of the view of three tiles (own memory from 0x80000). Steps count 32-bit words. A wrap is the
    trip count of its dimension; 0 is unbounded, and dimensions above it are then unused. The highest
    dimension has a step and no wrap. `zeros_*` are words of zeros put into the stream (memory tiles).
    The iteration moves the start by `iteration_step` words at each execution, `iteration_wrap` times,
    then begins again. A negative acquire value means "at least" its magnitude, else "exactly".
    """

    address: int
    length_words: int
    steps: tuple[int, ...] = (1, 1, 1)
    wraps: tuple[int, ...] = (0, 0)
    zeros_before: tuple[int, int, int] = (0, 0, 0)
    zeros_after: tuple[int, int, int] = (0, 0, 0)
    iteration_step: int = 1
    iteration_wrap: int = 1
    iteration_current: int = 0
    valid: bool = True
    next_bd: int | None = None
    acquire_enable: bool = False
    acquire_lock: int = 0
    acquire_value: int = 0
    release_lock: int = 0
    release_value: int = 0
    packet_enable: bool = False
    packet_id: int = 0
    packet_type: int = 0
    out_of_order_id: int = 0
    tlast_suppress: bool = False
    compression: bool = False
    burst_code: int = 0
    """Shim: 0, 1, 2 for 64, 128, 256 bytes."""
    secure: bool = False
    smid: int = 0
    axi_cache: int = 0
    axi_qos: int = 0


def descriptor_words(kind: TileKind) -> int:
    """Words of a BD: 6 in a compute tile, 8 elsewhere."""
    return len(_words(kind))


def descriptor_offset(kind: TileKind, number: int) -> int:
    """Offset in the tile of BD `number`. Raises IndexError."""
    return _words(kind)[0].at(number)


def encode_fields(kind: TileKind, values: Mapping[str, int]) -> tuple[int, ...]:
    """BD words from raw field values by name, others 0. Raises KeyError, ValueError."""
    words = [0] * descriptor_words(kind)
    fields = _fields(kind)
    for name, value in values.items():
        index, field = fields[name]
        words[index] |= field.place(value)
    return tuple(words)


def decode_fields(kind: TileKind, words: Sequence[int]) -> dict[str, int]:
    """Every raw field of a BD by name. Raises ValueError for a wrong number of words."""
    _check_length(kind, words)
    return {name: field.get(words[index]) for name, (index, field) in _fields(kind).items()}


@functools.lru_cache(maxsize=1024)
def encode(kind: TileKind, descriptor: BufferDescriptor) -> tuple[int, ...]:
    """The words of `descriptor` in a tile of that kind.

    Raises ValueError where a value does not fit or the tile has no such feature.
    """
    values: dict[str, int] = {}
    for name, value in _flat(kind, descriptor).items():
        stored = _STORED[name]
        raw = stored.to_raw(value)
        if stored.field in _fields(kind):
            values[stored.field] = raw
        elif raw:
            raise ValueError(f"a BD of a {kind.value} tile has no {name}")
    return encode_fields(kind, values)


def decode(kind: TileKind, words: Sequence[int]) -> BufferDescriptor:
    """What the words of a BD say. Raises ValueError for a wrong number of words."""
    _check_length(kind, words)
    value: dict[str, int] = {}
    for name, stored in _STORED.items():
        place = _fields(kind).get(stored.field)
        if place is None:
            value[name] = stored.from_raw(0)
        else:
            index, field = place
            raw = field.get_signed(words[index]) if stored.form is _Form.SIGNED else field.get(words[index])
            value[name] = stored.from_raw(raw)
    steps, wraps = _DIMENSIONS[kind]
    return BufferDescriptor(
        address=value["address"] | value["address_low"] | value["address_high"] << 32,
        length_words=value["length_words"],
        steps=tuple(value[f"step{d}"] for d in range(steps)),
        wraps=tuple(value[f"wrap{d}"] for d in range(wraps)),
        zeros_before=(value["before0"], value["before1"], value["before2"]),
        zeros_after=(value["after0"], value["after1"], value["after2"]),
        iteration_step=value["iteration_step"],
        iteration_wrap=value["iteration_wrap"],
        iteration_current=value["iteration_current"],
        valid=bool(value["valid"]),
        next_bd=value["next_bd"] if value["use_next"] else None,
        acquire_enable=bool(value["acquire_enable"]),
        acquire_lock=value["acquire_lock"],
        acquire_value=value["acquire_value"],
        release_lock=value["release_lock"],
        release_value=value["release_value"],
        packet_enable=bool(value["packet_enable"]),
        packet_id=value["packet_id"],
        packet_type=value["packet_type"],
        out_of_order_id=value["out_of_order_id"],
        tlast_suppress=bool(value["tlast_suppress"]),
        compression=bool(value["compression"]),
        burst_code=value["burst_code"],
        secure=bool(value["secure"]),
        smid=value["smid"],
        axi_cache=value["axi_cache"],
        axi_qos=value["axi_qos"],
    )


# --------------------------------------------------------------------------- the table


class _Form(enum.Enum):
    """How a field holds its attribute."""

    PLAIN = 0
    MINUS_ONE = 1
    SIGNED = 2
    WORDS = 3


@dataclass(frozen=True, slots=True)
class _Stored:
    field: str
    form: _Form = _Form.PLAIN

    def to_raw(self, value: int) -> int:
        if self.form is _Form.MINUS_ONE:
            if value < 1:
                raise ValueError(f"{self.field} counts from 1, not {value}")
            return value - 1
        if self.form is _Form.WORDS:
            if value % 4:
                raise ValueError(f"{self.field} {value:#x} is not a multiple of 4 bytes")
            return value // 4
        if self.form is _Form.PLAIN and value < 0:
            raise ValueError(f"{self.field} = {value} is negative")
        return value

    def from_raw(self, raw: int) -> int:
        if self.form is _Form.MINUS_ONE:
            return raw + 1
        return raw * 4 if self.form is _Form.WORDS else raw


_STORED = {
    "address": _Stored("BASE_ADDRESS", _Form.WORDS),
    "address_low": _Stored("BASE_ADDRESS_LOW", _Form.WORDS),
    "address_high": _Stored("BASE_ADDRESS_HIGH"),
    "length_words": _Stored("BUFFER_LENGTH"),
    **{f"step{d}": _Stored(f"D{d}_STEPSIZE", _Form.MINUS_ONE) for d in range(4)},
    **{f"wrap{d}": _Stored(f"D{d}_WRAP") for d in range(3)},
    **{f"before{d}": _Stored(f"D{d}_ZERO_BEFORE") for d in range(3)},
    **{f"after{d}": _Stored(f"D{d}_ZERO_AFTER") for d in range(3)},
    "iteration_step": _Stored("ITERATION_STEPSIZE", _Form.MINUS_ONE),
    "iteration_wrap": _Stored("ITERATION_WRAP", _Form.MINUS_ONE),
    "iteration_current": _Stored("ITERATION_CURRENT"),
    "valid": _Stored("VALID_BD"),
    "use_next": _Stored("USE_NEXT_BD"),
    "next_bd": _Stored("NEXT_BD"),
    "acquire_enable": _Stored("LOCK_ACQ_ENABLE"),
    "acquire_lock": _Stored("LOCK_ACQ_ID"),
    "acquire_value": _Stored("LOCK_ACQ_VALUE", _Form.SIGNED),
    "release_lock": _Stored("LOCK_REL_ID"),
    "release_value": _Stored("LOCK_REL_VALUE", _Form.SIGNED),
    "packet_enable": _Stored("ENABLE_PACKET"),
    "packet_id": _Stored("PACKET_ID"),
    "packet_type": _Stored("PACKET_TYPE"),
    "out_of_order_id": _Stored("OUT_OF_ORDER_BD_ID"),
    "tlast_suppress": _Stored("TLAST_SUPPRESS"),
    "compression": _Stored("ENABLE_COMPRESSION"),
    "burst_code": _Stored("BURST_LENGTH"),
    "secure": _Stored("SECURE_ACCESS"),
    "smid": _Stored("SMID"),
    "axi_cache": _Stored("AXCACHE"),
    "axi_qos": _Stored("AXQOS"),
}

# dimensions with a step, and those of them with a wrap
_DIMENSIONS = {TileKind.SHIM: (3, 2), TileKind.MEMORY: (4, 3), TileKind.COMPUTE: (3, 2)}


def _flat(kind: TileKind, bd: BufferDescriptor) -> dict[str, int]:
    """Attribute values by the names of `_STORED`."""
    split = kind is TileKind.SHIM
    values = {
        "address": 0 if split else bd.address,
        "address_low": bd.address & 0xFFFFFFFF if split else 0,
        "address_high": bd.address >> 32 if split else 0,
        "use_next": int(bd.next_bd is not None),
        "next_bd": bd.next_bd or 0,
        **{f"step{d}": 1 for d in range(4)},
        **{f"wrap{d}": 0 for d in range(3)},
    }
    for stem, row in (
        ("step", bd.steps),
        ("wrap", bd.wraps),
        ("before", bd.zeros_before),
        ("after", bd.zeros_after),
    ):
        for dimension, value in enumerate(row):
            name = f"{stem}{dimension}"
            if name not in _STORED:
                raise ValueError(f"no BD has {len(row)} of {stem}")
            values[name] = value
    for name in _STORED:
        if name not in values:
            values[name] = int(getattr(bd, name))
    return values


def _check_length(kind: TileKind, words: Sequence[int]) -> None:
    if len(words) != descriptor_words(kind):
        raise ValueError(f"a BD of a {kind.value} tile has {descriptor_words(kind)} words, not {len(words)}")


@functools.cache
def _words(kind: TileKind) -> tuple[Register, ...]:
    names = (f"DMA_BD_WORD_{index}" for index in range(8))
    return tuple(register(kind, name) for name in names if has_register(kind, name))


@functools.cache
def _fields(kind: TileKind) -> Mapping[str, tuple[int, Field]]:
    """Field name to (word index, field)."""
    return {field.name: (index, field) for index, word in enumerate(_words(kind)) for field in word.fields}
