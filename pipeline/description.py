"""What an artifact says, as plain data: made by explain/, shown by report/ (`aiepipe dump`, `disasm`).

Frozen like `program.py`, and nothing here computes. The names of fields that a reader may ask for alone
(`aiepipe dump --section routes`) are those of SECTIONS. Addresses are bytes, `offset` is a place in the file
or, in a text file, in its binary form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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


# --------------------------------------------------------------------------- artifacts


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a CDO does: its commands, and the array as it stands after them."""

    kind: ClassVar[str] = "CDO"
    parts: ClassVar[tuple[str, ...]] = ("routes", "bds", "locks", "tasks", "memory", "commands")
    size_bytes: int
    columns: int
    commands: tuple[Step, ...]
    memory: tuple[MemoryWrite, ...]
    bds: tuple[Descriptor, ...]
    locks: tuple[LockValue, ...]
    tasks: tuple[Task, ...]
    routes: tuple[Route, ...]
    cores: tuple[Tile, ...]
    """Cores that are enabled at the end."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PdiImage:
    """A PDI: `size_bytes` at `offset` of the file."""

    kind: ClassVar[str] = "PDI"
    parts: ClassVar[tuple[str, ...]] = Configuration.parts
    offset: int
    size_bytes: int
    id_code: int
    configuration: Configuration


@dataclass(frozen=True, slots=True)
class Stream:
    """An instruction stream. `encoding` is "text" or "binary". The header's numbers are None for lx6."""

    kind: ClassVar[str] = "instruction stream"
    parts: ClassVar[tuple[str, ...]] = ("header", "transfers", "routes", "operations")
    form: str
    encoding: str
    size_bytes: int
    device: str | None
    columns: int | None
    rows: int | None
    memory_rows: int | None
    operations: tuple[Step, ...]
    transfers: tuple[Transfer, ...]
    routes: tuple[Route, ...]
    """Routes, where the stream itself sets stream switches."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Transfer:
    """A task that the stream starts, with its BD as it stands then. `step` is the operation's index."""

    step: int
    task: Task
    descriptor: Descriptor | None


@dataclass(frozen=True, slots=True)
class Section:
    """A section of an xclbin."""

    number: int
    kind: str
    name: str
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Bank:
    """A memory bank that kernel arguments are connected to."""

    number: int
    tag: str
    size_bytes: int
    base_address: int
    used: bool


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a kernel; `bank` is None where it is no buffer."""

    index: int
    name: str
    type: str
    offset: int
    size_bytes: int
    bank: str | None


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel and how it is called: `convention` "txn" (opcode first) or "lx6"."""

    name: str
    instance: str
    kernel_id: int | None
    convention: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Which kernels a PDI of a partition serves."""

    name: str
    cdo_type: str
    pdi_id: int
    kernel_ids: tuple[int, ...]
    pre_cdo_groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """A PDI of a partition, with the groups that choose it."""

    uuid: str
    groups: tuple[Group, ...]
    image: PdiImage


@dataclass(frozen=True, slots=True)
class Partition:
    """The AIE partition of an xclbin: its width and the physical columns that it may start at."""

    column_width: int
    start_columns: tuple[int, ...]
    name: str
    operations_per_cycle: int
    inference_fingerprint: int
    pre_post_fingerprint: int
    kernel_commit_id: str | None


@dataclass(frozen=True, slots=True)
class ContainerHeader:
    """The header of an xclbin."""

    uuid: str
    version: str
    timestamp: int
    unique_id: int
    mode: int
    action_mask: int
    platform: str
    trailer_bytes: int


@dataclass(frozen=True, slots=True)
class Container:
    """An xclbin. What a small or old one lacks is empty or None."""

    kind: ClassVar[str] = "xclbin"
    parts: ClassVar[tuple[str, ...]] = (
        *("header", "sections", "banks", "kernels", "partition"),
        *Configuration.parts,
    )
    offset: int
    size_bytes: int
    header: ContainerHeader
    sections: tuple[Section, ...]
    banks: tuple[Bank, ...]
    kernels: tuple[Kernel, ...]
    partition: Partition | None
    images: tuple[PartitionImage, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """Part of a core ELF that is loaded; `memory` is "program memory" or "data memory"."""

    address: int
    size_bytes: int
    memory_bytes: int
    executable: bool
    memory: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name in a core ELF."""

    address: int
    size_bytes: int
    kind: str
    is_global: bool
    section: str
    name: str


@dataclass(frozen=True, slots=True)
class CoreProgram:
    """A core ELF."""

    kind: ClassVar[str] = "core ELF"
    parts: ClassVar[tuple[str, ...]] = ("header", "segments", "symbols")
    size_bytes: int
    entry: int
    comment: str
    segments: tuple[Segment, ...]
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class ModuleKernel:
    """An entry point of an IREE module: the numbers of what configures the array for it (None: nothing
    does) and of its streams, in the order of the runs."""

    entry: str
    container: int | None
    streams: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Module:
    """The NPU kernels of an IREE module (.vmfb). Entry points may share containers and streams."""

    kind: ClassVar[str] = "IREE module"
    parts: ClassVar[tuple[str, ...]] = ("entries", *Container.parts, "transfers", "operations")
    size_bytes: int
    entries: tuple[ModuleKernel, ...]
    containers: tuple[Container | PdiImage, ...]
    streams: tuple[Stream, ...]


@dataclass(frozen=True, slots=True)
class ControlPacketStep:
    """One control packet; `stream_header` is the packet header before it, None where the DMA puts it there.

    The packet itself does not say for which kind of tile it is: `registers` has one reading per kind.
    """

    index: int
    offset: int
    operation: str
    address: int
    stream_id: int
    beats: int
    data: tuple[int, ...]
    stream_header: int | None
    registers: tuple[TileReading, ...]


@dataclass(frozen=True, slots=True)
class TileReading:
    """What an offset means in one kind of tile ("shim", "memory", "compute")."""

    tile_kind: str
    register: str


@dataclass(frozen=True, slots=True)
class ControlPackets:
    """A file of control packets. Nothing in it says that it is one; `notes` tells how it was read."""

    kind: ClassVar[str] = "control packets"
    parts: ClassVar[tuple[str, ...]] = ("packets",)
    size_bytes: int
    packets: tuple[ControlPacketStep, ...]
    notes: tuple[str, ...] = ()


Content = Container | PdiImage | Configuration | Stream | CoreProgram | Module | ControlPackets
"""`parts` are the SECTIONS that each has, in itself or in what it holds."""

SECTIONS = {
    "header": "the xclbin's header, or the stream's or ELF's",
    "sections": "sections of the xclbin",
    "banks": "memory banks",
    "kernels": "kernels with their argument tables",
    "entries": "entry points of the IREE module",
    "partition": "the AIE partition",
    "commands": "commands of the configuration, register by register",
    "memory": "what is loaded into program and data memories",
    "bds": "buffer descriptors in words",
    "locks": "locks' start values",
    "tasks": "DMA tasks that the configuration starts",
    "routes": "routes through the stream switches",
    "operations": "operations of the instruction stream",
    "transfers": "DMA tasks that the stream starts",
    "segments": "segments of the core ELF",
    "symbols": "symbols of the core ELF",
    "packets": "control packets",
}
"""Parts of a dump that can be asked for alone."""


@dataclass(frozen=True, slots=True)
class Dump:
    """What `aiepipe dump` found in a file. `sections`: those asked for, None for all."""

    file: str
    kind: str
    size_bytes: int
    sha256: str
    content: Content
    sections: tuple[str, ...] | None = None


# --------------------------------------------------------------------------- listings


@dataclass(frozen=True, slots=True)
class SlotText:
    """The instruction in one slot of a bundle, as assembly; nops that the format has are there, too.

    A long instruction takes the slots alu and mv and stands in "alu"; the bundle of two bytes is slot "nop".
    """

    slot: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A bundle, or data where `slots` is empty: bytes that are no instruction, or zeros nobody reaches.

    `labels` name the address. `delay_slot` is 1 to 5 after a branch. `loop` is "start", "end" or "start end"
    of a zero-overhead loop. `comment` says what the text does not: the symbol an address is, why data.
    """

    address: int
    raw: bytes
    slots: tuple[SlotText, ...]
    labels: tuple[str, ...] = ()
    reachable: bool = True
    delay_slot: int | None = None
    loop: str = ""
    comment: str = ""

    @property
    def size_bytes(self) -> int:
        return len(self.raw)


@dataclass(frozen=True, slots=True)
class Program:
    """The program memory of one core. `core` is None in an ELF, `origin` says where the code comes from."""

    core: Tile | None
    origin: str
    size_bytes: int
    entry: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """What `aiepipe disasm` found in a file."""

    file: str
    kind: str
    programs: tuple[Program, ...]
