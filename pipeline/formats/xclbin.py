"""xclbin (axlf): the container that XRT loads: kernels, memory banks and the AIE partition with its PDIs.

`parse(data).encode() == data`: sections keep their bytes and places, whatever is outside them is kept
too. `build` makes a file like mlir-aie's and iree-amd-aie's from a PDI. Sources: XRT's xclbin.h and
xclbinutil; 49 real files. facts/formats.md section 1.
"""

from __future__ import annotations

import enum
import hashlib
import struct
import uuid as uuids
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..errors import ArtifactError
from ..program import CallingConvention
from . import metadata, partition, sections
from .metadata import ArgumentDeclaration, KernelDeclaration
from .partition import AiePartition, CdoGroup, PartitionPdi
from .reader import WRONG_LENGTH, Reader
from .sections import BANKS, HOST_BANK, SRAM_BANK, Connection, Ip, MemoryBank

ARTIFACT = "xclbin"
MAGIC = b"xclbin2\0"

_SIGNED = struct.Struct("<8si28s256s")  # magic, signature length, reserved, key block
_NUMBERS = struct.Struct("<QQQQHBBHH")  # unique id, length, two times; version patch, major, minor; modes
_NAMES = struct.Struct("<16s64s16s16sI4s")  # interface uuid, platform, uuid, debug bin; sections, padding
_NUMBERS_AT, _NAMES_AT = _SIGNED.size, _SIGNED.size + _NUMBERS.size
_LENGTH_AT = 0x130
_HEADER_BYTES = _NAMES_AT + _NAMES.size
_SECTION = struct.Struct("<I16sIQQ")
_ALIGNMENT = 8

FIRST_KERNEL_ID = 0x901
"""What mlir-aie's aiecc gives a kernel (--xclbin-kernel-id); further ones count on."""


class SectionKind(enum.IntEnum):
    """XRT's kinds of section (xclbin.h). NPU files have 2, 6, 7, 8, 26, 27 and 32, older ones some more."""

    BITSTREAM = 0
    CLEARING_BITSTREAM = 1
    EMBEDDED_METADATA = 2
    FIRMWARE = 3
    DEBUG_DATA = 4
    SCHED_FIRMWARE = 5
    MEM_TOPOLOGY = 6
    CONNECTIVITY = 7
    IP_LAYOUT = 8
    DEBUG_IP_LAYOUT = 9
    DESIGN_CHECK_POINT = 10
    CLOCK_FREQ_TOPOLOGY = 11
    MCS = 12
    BMC = 13
    BUILD_METADATA = 14
    KEYVALUE_METADATA = 15
    USER_METADATA = 16
    DNA_CERTIFICATE = 17
    PDI = 18
    BITSTREAM_PARTIAL_PDI = 19
    PARTITION_METADATA = 20
    EMULATION_DATA = 21
    SYSTEM_METADATA = 22
    SOFT_KERNEL = 23
    ASK_FLASH = 24
    AIE_METADATA = 25
    ASK_GROUP_TOPOLOGY = 26
    ASK_GROUP_CONNECTIVITY = 27
    SMARTNIC = 28
    AIE_RESOURCES = 29
    OVERLAY = 30
    VENDER_METADATA = 31
    AIE_PARTITION = 32
    IP_METADATA = 33
    AIE_RESOURCES_BIN = 34
    AIE_TRACE_METADATA = 35
    DTBO = 36


@dataclass(frozen=True, slots=True)
class Section:
    """One section; `offset` is its place in the file, None for the next free one."""

    kind: int
    data: bytes
    name: str = ""
    offset: int | None = None
    spare: int = 0


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """An argument as the host sees it: its slot in the command, and its memory bank if it is a buffer."""

    name: str
    index: int
    offset: int
    size_bytes: int
    type: str
    is_global: bool
    bank: int | None


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """A kernel of the file. `kernel_id` names its PDI in the partition."""

    name: str
    instance: str
    arguments: tuple[KernelArgument, ...]
    kernel_id: int | None
    convention: CallingConvention

    @property
    def data_arguments(self) -> tuple[KernelArgument, ...]:
        """The data buffers in order: the global arguments after the instruction stream."""
        return tuple(argument for argument in self.arguments if argument.is_global)[1:]


@dataclass(frozen=True, slots=True)
class Xclbin:
    """A container. `gaps` are bytes outside all sections that are not zero; `trailer` follows the last
    one (XRT's mirror of the contents as JSON; nothing needs it)."""

    sections: tuple[Section, ...]
    uuid: uuids.UUID
    timestamp: int = 0
    unique_id: int = 0
    version: tuple[int, int, int] = (2, 20, 0)
    mode: int = 0
    action_mask: int = 0
    platform: str = ""
    signature_length: int = -1
    reserved: bytes = b"\xff" * 28
    key_block: bytes = b"\xff" * 256
    rom_timestamp: int = 0
    interface_uuid: bytes = bytes(16)
    debug_bin: bytes = bytes(16)
    header_padding: bytes = bytes(4)
    gaps: tuple[tuple[int, bytes], ...] = ()
    trailer: bytes = b""

    def section(self, kind: SectionKind) -> Section:
        """The first section of that kind. Raises ArtifactError where there is none."""
        for section in self.sections:
            if section.kind == kind:
                return section
        raise ArtifactError(f"the xclbin has no {kind.name} section", artifact=ARTIFACT)

    def partition(self) -> AiePartition:
        """The AIE partition. Raises ArtifactError."""
        section = self.section(SectionKind.AIE_PARTITION)
        return partition.parse(section.data, base=section.offset or 0)

    def memory_banks(self) -> tuple[MemoryBank, ...]:
        """The memory topology. Raises ArtifactError."""
        section = self.section(SectionKind.MEM_TOPOLOGY)
        return sections.parse_memory_topology(section.data, base=section.offset or 0)

    def kernels(self) -> tuple[KernelInfo, ...]:
        """The kernels with arguments and banks, in the file's order. Raises ArtifactError."""
        declared, ips, connections = (
            self.section(kind)
            for kind in (SectionKind.EMBEDDED_METADATA, SectionKind.IP_LAYOUT, SectionKind.CONNECTIVITY)
        )
        declarations = metadata.parse(declared.data, base=declared.offset or 0)
        instances = sections.parse_ip_layout(ips.data, base=ips.offset or 0)
        wires = sections.parse_connectivity(connections.data, base=connections.offset or 0)
        banks = {(wire.ip, wire.argument): wire.bank for wire in reversed(wires)}
        return tuple(_kernel(declaration, instances, banks) for declaration in declarations)

    def kernel(self, name: str | None = None) -> KernelInfo:
        """The kernel of that name ("NAME" or "NAME:INSTANCE"), or the only one. Raises ArtifactError."""
        kernels = self.kernels()
        names = [kernel.name for kernel in kernels]
        if name is None and len(kernels) == 1:
            return kernels[0]
        for kernel in kernels:
            if name in (kernel.name, f"{kernel.name}:{kernel.instance}"):
                return kernel
        wanted = "one kernel only" if name is None else f"kernel {name!r}"
        raise ArtifactError(
            f"the xclbin does not have {wanted}; it has {', '.join(names) or 'none'}",
            artifact=ARTIFACT,
            remedy="choose one of its kernels by name" if names else None,
        )

    def pdi_for(self, kernel: KernelInfo | str) -> bytes:
        """The PDI whose group lists the kernel's id, as XRT's NPU shim chooses it.

        Raises ArtifactError where there is none, or the partition is not for npu1.
        """
        info = self.kernel(kernel) if isinstance(kernel, str) else kernel
        found = self.partition()
        found.require_npu1()
        for pdi in found.pdis:
            if any(info.kernel_id in group.dpu_kernel_ids for group in pdi.groups):
                return pdi.image
        number = "none" if info.kernel_id is None else f"{info.kernel_id:#x}"
        raise ArtifactError(
            f"no PDI for kernel {info.name} (id {number}) in the AIE partition", artifact=ARTIFACT
        )

    def encode(self) -> bytes:
        """The file. Raises ValueError where sections with a given place overlap."""
        placed = self._placed()
        end = max((offset + len(section.data) for offset, section in placed), default=_table_end(placed))
        out = bytearray(end)
        for offset, data in self.gaps:
            out[offset : offset + len(data)] = data
        for index, (offset, section) in enumerate(placed):
            out[offset : offset + len(section.data)] = section.data
            entry = (section.kind, section.name.encode("latin-1"), section.spare, offset, len(section.data))
            _SECTION.pack_into(out, _HEADER_BYTES + index * _SECTION.size, *entry)
        major, minor, patch = self.version
        length = end + len(self.trailer)
        _SIGNED.pack_into(out, 0, MAGIC, self.signature_length, self.reserved, self.key_block)
        times = (self.unique_id, length, self.timestamp, self.rom_timestamp)
        _NUMBERS.pack_into(out, _NUMBERS_AT, *times, patch, major, minor, self.mode, self.action_mask)
        platform = self.platform.encode("latin-1")
        names = (self.interface_uuid, platform, self.uuid.bytes, self.debug_bin)
        _NAMES.pack_into(out, _NAMES_AT, *names, len(placed), self.header_padding)
        return bytes(out) + self.trailer

    def _placed(self) -> list[tuple[int, Section]]:
        placed: list[tuple[int, Section]] = []
        free = _table_end(self.sections)
        for section in self.sections:
            offset = -(-free // _ALIGNMENT) * _ALIGNMENT if section.offset is None else section.offset
            placed.append((offset, section))
            free = max(free, offset + len(section.data))
        _check_apart(Reader(b"", ARTIFACT), [(at, len(s.data)) for at, s in placed], len(placed))
        return placed


def is_xclbin(data: bytes) -> bool:
    """Whether `data` begins like an xclbin."""
    return data.startswith(MAGIC)


def parse(data: bytes) -> Xclbin:
    """Reads an xclbin. Raises ArtifactError: truncated, sections outside the file or on one another."""
    reader = Reader(data, ARTIFACT)
    if not is_xclbin(data):
        reader.fail(
            "no xclbin here: the file does not begin with 'xclbin2'",
            0,
            remedy="`aiepipe dump FILE` says what a file is; the xclbin is the one that XRT loads",
        )
    reader.take(0, _HEADER_BYTES, "the xclbin header")
    signed: tuple[bytes, int, bytes, bytes] = _SIGNED.unpack_from(data)
    numbers: tuple[int, ...] = _NUMBERS.unpack_from(data, _NUMBERS_AT)
    names: tuple[bytes, bytes, bytes, bytes, int, bytes] = _NAMES.unpack_from(data, _NAMES_AT)
    unique_id, length, timestamp, rom_timestamp, patch, major, minor, mode, action_mask = numbers
    interface_uuid, platform, identifier, debug_bin, count, header_padding = names
    if length != len(data):
        reader.fail(
            f"the header says {length} bytes, there are {len(data)}",
            _LENGTH_AT,
            remedy=WRONG_LENGTH,
        )
    found = [_section(reader, index) for index in range(_checked_count(reader, count))]
    places = [(section.offset or 0, len(section.data)) for section in found]
    _check_apart(reader, places, count)
    end = max((offset + size for offset, size in places), default=_table_end(found))
    return Xclbin(
        tuple(found),
        uuids.UUID(bytes=identifier),
        timestamp,
        unique_id,
        (major, minor, patch),
        mode,
        action_mask,
        _name(platform),
        *signed[1:],
        rom_timestamp,
        interface_uuid,
        debug_bin,
        header_padding,
        tuple(_gaps(data, places, _table_end(found), end)),
        data[end:],
    )


@dataclass(frozen=True, slots=True)
class KernelPart:
    """A kernel of an xclbin that is made: its PDI and how many data buffers it takes."""

    pdi: bytes
    kernel: str
    buffers: int
    instance: str = "MLIRAIE"
    kernel_id: int = FIRST_KERNEL_ID
    pdi_uuid: uuids.UUID | None = None


def build(
    pdi: bytes,
    *,
    kernel: str,
    buffers: int,
    columns: int = 1,
    start_columns: Sequence[int] | None = None,
    instance: str = "MLIRAIE",
    kernel_id: int = FIRST_KERNEL_ID,
    timestamp: int = 0,
    version: tuple[int, int, int] = (2, 20, 0),
    pdi_uuid: uuids.UUID | None = None,
) -> Xclbin:
    """An xclbin of one kernel with `buffers` data buffers, for a partition of `columns` columns.

    The kernel is called the TXN way: opcode 3, instruction stream, its size, buffers. The UUIDs derive
    from the content, so that equal input gives equal files. Raises ValueError where "kernel:instance" is
    longer than 63 bytes.
    """
    part = KernelPart(pdi, kernel, buffers, instance, kernel_id, pdi_uuid)
    return build_several(
        [part], columns=columns, start_columns=start_columns, timestamp=timestamp, version=version
    )


def build_several(
    parts: Sequence[KernelPart],
    *,
    columns: int,
    start_columns: Sequence[int] | None = None,
    timestamp: int = 0,
    version: tuple[int, int, int] = (2, 20, 0),
) -> Xclbin:
    """An xclbin of several kernels, a PDI each, that take turns on one partition of `columns` columns.

    Names and kernel ids differ (mlir-aie's aiecc: --xclbin-kernel-id 0x902 for the second, with
    --xclbin-input). Raises ValueError where two kernels have one id, and as `build`.
    """
    if len({part.kernel_id for part in parts}) != len(parts):
        raise ValueError("two kernels of an xclbin have one id")
    starts = tuple(start_columns) if start_columns is not None else _start_columns(columns)
    images = tuple(
        PartitionPdi(
            part.pdi_uuid or content_uuid(part.pdi),
            part.pdi,
            (CdoGroup((part.kernel_id,), pdi_id=number, pre_cdo_groups=(0xC1,)),),
        )
        for number, part in enumerate(parts, 1)
    )
    declarations = [
        KernelDeclaration(part.kernel, (part.instance,), txn_arguments(part.buffers), part.kernel_id)
        for part in parts
    ]
    ips = [Ip(f"{part.kernel}:{part.instance}", part.kernel_id) for part in parts]
    wires = [
        Connection(a.index, number, SRAM_BANK if a.index == _INSTRUCTION_INDEX else HOST_BANK)
        for number, declaration in enumerate(declarations)
        for a in declaration.arguments
        if a.is_global
    ]
    banks = sections.encode_memory_topology(BANKS)
    made = (
        Section(SectionKind.MEM_TOPOLOGY, banks, "mem_topology"),
        Section(SectionKind.AIE_PARTITION, AiePartition(images, columns, starts).encode(), "aie_partition"),
        Section(SectionKind.EMBEDDED_METADATA, metadata.encode(declarations)),
        Section(SectionKind.IP_LAYOUT, sections.encode_ip_layout(ips)),
        Section(SectionKind.CONNECTIVITY, sections.encode_connectivity(wires)),
        Section(SectionKind.ASK_GROUP_CONNECTIVITY, sections.encode_connectivity(wires + wires)),
        Section(SectionKind.ASK_GROUP_TOPOLOGY, banks),
    )
    bare = Xclbin(made, uuids.UUID(int=0), timestamp, timestamp, version)
    # the time does not belong to the content: the same kernel keeps its UUID
    return replace(bare, uuid=content_uuid(replace(bare, timestamp=0, unique_id=0).encode()))


def content_uuid(data: bytes) -> uuids.UUID:
    """A UUID (version 8, custom) from the SHA-256 of `data`."""
    raw = bytearray(hashlib.sha256(data).digest()[:16])
    raw[6] = raw[6] & 0x0F | 0x80
    raw[8] = raw[8] & 0x3F | 0x80
    return uuids.UUID(bytes=bytes(raw))


_INSTRUCTION_INDEX = 1


def txn_arguments(buffers: int) -> tuple[ArgumentDeclaration, ...]:
    """The argument table of the TXN era: opcode, instruction stream, its size, then the buffers."""
    fixed = (
        ArgumentDeclaration("opcode", 0, 0x00, 8, "uint64_t", is_global=False),
        ArgumentDeclaration("instr", _INSTRUCTION_INDEX, 0x08, 8, "char *", is_global=True),
        ArgumentDeclaration("ninstr", 2, 0x10, 4, "uint32_t", is_global=False),
    )
    return fixed + tuple(
        ArgumentDeclaration(f"bo{i}", 3 + i, 0x14 + 8 * i, 8, "void*", is_global=True) for i in range(buffers)
    )


def _start_columns(columns: int) -> tuple[int, ...]:
    """Physical columns that a partition of that width may start at: column 0 has no shim DMA."""
    if not 1 <= columns <= 4:
        raise ValueError(f"npu1 has partitions of 1 to 4 columns, not {columns}")
    return tuple(range(1, 6 - columns))


def _kernel(
    declaration: KernelDeclaration, ips: Sequence[Ip], banks: dict[tuple[int, int], int]
) -> KernelInfo:
    number, kernel_id = _instance(declaration, ips)
    arguments = tuple(
        KernelArgument(
            a.name, a.index, a.offset, a.size_bytes, a.type, a.is_global, banks.get((number, a.index))
        )
        for a in declaration.arguments
    )
    # the TXN era puts a scalar opcode before the instruction stream
    is_txn = bool(arguments) and not arguments[0].is_global
    return KernelInfo(
        declaration.name,
        declaration.instances[0] if declaration.instances else "",
        arguments,
        kernel_id,
        CallingConvention.TXN if is_txn else CallingConvention.LX6,
    )


def _instance(declaration: KernelDeclaration, ips: Sequence[Ip]) -> tuple[int, int | None]:
    """Which IP_LAYOUT entry is the kernel's first instance (-1: none), and its kernel id."""
    names = [f"{declaration.name}:{instance}" for instance in declaration.instances]
    for number, ip in enumerate(ips):
        if ip.name in names:
            return number, ip.kernel_id if declaration.kernel_id is None else declaration.kernel_id
    return -1, declaration.kernel_id


def _table_end(found: Sequence[object]) -> int:
    return _HEADER_BYTES + len(found) * _SECTION.size


def _checked_count(reader: Reader, count: int) -> int:
    reader.take(_HEADER_BYTES, count * _SECTION.size, f"the table of {count} sections")
    return count


def _section(reader: Reader, index: int) -> Section:
    at = _HEADER_BYTES + index * _SECTION.size
    kind, name, spare, offset, size = _SECTION.unpack(reader.take(at, _SECTION.size, "a section header"))
    if offset + size > len(reader):
        reader.fail(f"section {index} (kind {kind}) is {size} bytes at {offset:#x}, outside the file", at)
    return Section(kind, reader.take(offset, size, f"section {index}"), _name(name), offset, spare)


def _check_apart(reader: Reader, places: list[tuple[int, int]], count: int) -> None:
    """Refuses sections that lie on the headers or on one another."""
    end, last = _HEADER_BYTES + count * _SECTION.size, "the section headers"
    for offset, size, index in sorted((offset, size, i) for i, (offset, size) in enumerate(places) if size):
        if offset < end:
            at = _HEADER_BYTES + index * _SECTION.size
            reader.fail(f"section {index} at {offset:#x} overlaps {last}, which ends at {end:#x}", at)
        end, last = offset + size, f"section {index}"


def _gaps(data: bytes, places: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    for offset, size in [*sorted(place for place in places if place[1]), (end, 0)]:
        if any(data[start:offset]):
            found.append((start, data[start:offset]))
        start = offset + size
    return found


def _name(raw: bytes) -> str:
    return raw.rstrip(b"\0").decode("latin-1")
