"""The array: tiles, registers, what is in memories, DMA and locks, routes, and the steps that set them."""

from __future__ import annotations

from dataclasses import dataclass

# --------------------------------------------------------------------------- places and registers


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of the array; `name` is "core (0,2)". Columns count within the partition."""

    name: str
    column: int
    row: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A field of a register or of an operation."""

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class RegisterAccess:
    """One 32-bit access. `register` is None where the chip has none at `address`, `mask` None for all bits.

    `module` is the chip's ("core module", "memory module", ...), `fields` those that the mask touches;
    `value` is None for a read; `meaning` says what name and fields do not ("master South2 takes slave DMA0").
    """

    tile: Tile | None
    module: str
    register: str | None
    address: int
    value: int | None
    mask: int | None = None
    fields: tuple[FieldValue, ...] = ()
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class MemoryWrite:
    """Bytes for a memory: `memory` is "program memory", "data memory", "registers" (a block too long to
    list) or "nothing known". `address` counts within it ("data memory" from 0). `words` are there where
    they are few, as run-time parameters are."""

    tile: Tile | None
    module: str
    memory: str
    address: int
    size_bytes: int
    sha256: str
    words: tuple[int, ...] = ()


# --------------------------------------------------------------------------- DMA


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of a transfer: `wrap` words of the one below, `step_words` apart; None: as many as the
    length asks for."""

    step_words: int
    wrap: int | None


@dataclass(frozen=True, slots=True)
class Iteration:
    """The start moves by `step_words` at each execution, `wrap` times, then begins again."""

    step_words: int
    wrap: int
    current: int


@dataclass(frozen=True, slots=True)
class LockUse:
    """A lock that a BD takes or gives. `condition`: "equal", "at least" (acquire) or "add" (release)."""

    tile: Tile | None
    lock: int
    condition: str
    value: int


@dataclass(frozen=True, slots=True)
class Packet:
    """The header that is put before the data."""

    stream_id: int
    packet_type: int


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A buffer descriptor (BD). `memory` says where `address` counts: "DDR", or "data memory" of `owner`.

    In an instruction stream, `argument` is the data buffer whose address is put in, `address` then counts
    within it. `users` are the channels of the tile that start it, directly or through other BDs.
    """

    tile: Tile
    module: str
    number: int
    words: tuple[int, ...]
    valid: bool
    memory: str
    owner: Tile | None
    address: int
    length_words: int
    dimensions: tuple[Dimension, ...]
    zeros_before: tuple[int, ...]
    zeros_after: tuple[int, ...]
    iteration: Iteration | None
    acquire: LockUse | None
    release: LockUse | None
    next_bd: int | None
    packet: Packet | None
    flags: tuple[str, ...]
    argument: int | None = None
    users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """A start of a BD on a channel, `count` times; with `token` its end is reported."""

    tile: Tile
    channel: str
    bd: int
    count: int
    token: bool


@dataclass(frozen=True, slots=True)
class LockValue:
    """What a lock starts with."""

    tile: Tile
    lock: int
    value: int


# --------------------------------------------------------------------------- routes


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a route begins or ends: "MM2S 0", "S2MM 1", "core", "TileCtrl", "controller", "trace"."""

    tile: Tile
    port: str


@dataclass(frozen=True, slots=True)
class Hop:
    """One stream switch on the way: the port where the words come in, and the one where they go out."""

    tile: Tile
    slave: str
    master: str
    drops_header: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """A way of words through the stream switches. `packet_ids` is None for circuit switching.

    `end` is None where the way stops before any end; `problem` says why.
    """

    source: Endpoint
    hops: tuple[Hop, ...]
    end: Endpoint | None
    packet_ids: tuple[int, ...] | None = None
    problem: str = ""


# --------------------------------------------------------------------------- steps


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait for task-completion tokens of `columns` x `rows` tiles from `tile` on."""

    tile: Tile
    channel: str
    columns: int
    rows: int


@dataclass(frozen=True, slots=True)
class Patch:
    """(address of data buffer `argument`) + `offset_bytes` goes into a BD.

    `folded`: the file's offset also holds 0x80000000, where the array sees DDR. `bd` is None where the
    place is not the address of a shim BD.
    """

    tile: Tile | None
    module: str
    bd: int | None
    address: int
    argument: int
    offset_bytes: int
    folded: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a configuration or operation of an instruction stream, and what it comes to.

    `count` is how many of the same follow one another (of NOPs). `facts` are numbers that no other
    attribute holds, by name.
    """

    index: int
    offset: int
    operation: str
    registers: tuple[RegisterAccess, ...] = ()
    memory: tuple[MemoryWrite, ...] = ()
    descriptors: tuple[Descriptor, ...] = ()
    task: Task | None = None
    wait: Wait | None = None
    patch: Patch | None = None
    facts: tuple[FieldValue, ...] = ()
    count: int = 1
