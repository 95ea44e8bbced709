"""Artifacts: containers, configurations, streams, programs; and a dump of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .array import Descriptor, LockValue, MemoryWrite, Route, Step, Task, Tile


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
