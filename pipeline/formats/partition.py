"""AIE_PARTITION: the xclbin section that holds the PDIs, and which kernel runs on which.

A fixed struct and a heap of arrays that point into the section. `encode` lays the heap out as XRT's
xclbinutil does, so that sections of real files come back byte for byte. Source: XRT's xclbin.h and
xclbinutil, checked on 47 files. facts/formats.md section 1.4.
"""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass

from .reader import HeapReader, Reader

ARTIFACT = "AIE partition"

TYPE_PRIMARY = 1
TYPES = {0: "UNKNOWN", 1: "PRIMARY", 2: "LITE", 3: "PREPOST"}

NPU1_COLUMNS = 5
"""Phoenix has five physical columns, Strix eight: a wider partition is not for npu1."""

_HEAD = struct.Struct("<B3xIIxxxxQQ")  # schema, name, operations per cycle, two fingerprints
_HEAD_BYTES = 184
_INFO_AT, _PDIS_AT, _COMMIT_AT = 32, 120, 128
_PDI_BYTES, _GROUP_BYTES = 96, 96
_SCHEMA_VERSION = 0


@dataclass(frozen=True, slots=True)
class CdoGroup:
    """Which kernels a PDI serves. `dpu_kernel_ids` are those of the kernels' IP_LAYOUT entries."""

    dpu_kernel_ids: tuple[int, ...]
    name: str = "DPU"
    cdo_type: int = TYPE_PRIMARY
    pdi_id: int = 1
    pre_cdo_groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionPdi:
    """A PDI image with its UUID and groups. `offset` is the image's place in the file that was read."""

    uuid: uuid.UUID
    image: bytes
    groups: tuple[CdoGroup, ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class AiePartition:
    """A partition of `column_width` columns that may start at any of `start_columns` (physical).

    `kernel_commit_id` is None in files of XRT up to 2.17, which have no such string.
    """

    pdis: tuple[PartitionPdi, ...]
    column_width: int
    start_columns: tuple[int, ...]
    operations_per_cycle: int = 2048
    inference_fingerprint: int = 23423
    pre_post_fingerprint: int = 12345
    name: str = ""
    kernel_commit_id: str | None = ""

    def require_npu1(self) -> None:
        """Raises ArtifactError where the partition is wider than npu1 is."""
        if self.column_width > NPU1_COLUMNS:
            Reader(b"", ARTIFACT).fail(
                f"a partition of {self.column_width} columns is for npu2 (Strix, Krackan: AIE2P);"
                f" npu1 (Phoenix) has {NPU1_COLUMNS}",
                remedy="compile for npu1, or use a device of that generation",
            )

    def encode(self) -> bytes:
        """The section's bytes."""
        heap = _Heap()
        name = heap.text(self.name)
        commit = 0 if self.kernel_commit_id is None else heap.text(self.kernel_commit_id)
        columns = heap.array(self.start_columns, "H")
        entries: list[bytes] = []
        for pdi in self.pdis:
            image = heap.blob(pdi.image)
            groups = [_encode_group(heap, group) for group in pdi.groups]
            entries.append((pdi.uuid.bytes + image + heap.structs(groups)).ljust(_PDI_BYTES, b"\0"))
        pdis = heap.structs(entries)
        head = bytearray(_HEAD_BYTES)
        _HEAD.pack_into(head, 0, _SCHEMA_VERSION, name, self.operations_per_cycle,
                        self.inference_fingerprint, self.pre_post_fingerprint)  # fmt: skip
        struct.pack_into("<H6x8s", head, _INFO_AT, self.column_width, columns)
        struct.pack_into("<8sI", head, _PDIS_AT, pdis, commit)
        return bytes(head) + heap.data


def parse(data: bytes, *, base: int = 0) -> AiePartition:
    """Reads the section; `base` is its place in the xclbin, for errors. Raises ArtifactError."""
    reader = _Section(data, base)
    schema, name, operations, inference, pre_post = _HEAD.unpack(
        reader.take(0, _HEAD.size, "the AIE partition")
    )
    reader.take(0, _HEAD_BYTES, "the AIE partition")
    if schema != _SCHEMA_VERSION:
        reader.fail(f"schema version {schema} of an AIE partition; known is {_SCHEMA_VERSION}", 0)
    commit = reader.u32(_COMMIT_AT, "kernel_commit_id")
    width = reader.u16(_INFO_AT, "column_width")
    columns = reader.numbers(_INFO_AT + 8, 2, "start_columns")
    if not width or not columns:
        reader.fail(f"a partition of {width} columns with {len(columns)} places to start at", _INFO_AT)
    pdis = tuple(_decode_pdi(reader, at) for at in reader.structs(_PDIS_AT, _PDI_BYTES, "the PDIs"))
    return AiePartition(
        pdis,
        width,
        columns,
        operations,
        inference,
        pre_post,
        reader.text(name, "mpo_name"),
        reader.text(commit, "kernel_commit_id") if commit else None,
    )


def _decode_pdi(reader: _Section, at: int) -> PartitionPdi:
    identifier = uuid.UUID(bytes=reader.take(at, 16, "a PDI's UUID"))
    offset, image = reader.blob(at + 16, 1, "a PDI image")
    groups = reader.structs(at + 24, _GROUP_BYTES, "the CDO groups")
    return PartitionPdi(
        identifier, image, tuple(_decode_group(reader, group) for group in groups), reader.base + offset
    )


def _decode_group(reader: _Section, at: int) -> CdoGroup:
    return CdoGroup(
        reader.numbers(at + 16, 8, "dpu_kernel_ids"),
        reader.text(reader.u32(at, "a CDO group"), "a CDO group's name"),
        reader.u8(at + 4, "cdo_type"),
        reader.u64(at + 8, "pdi_id"),
        reader.numbers(at + 24, 8, "pre_cdo_groups"),
    )


def _encode_group(heap: _Heap, group: CdoGroup) -> bytes:
    name = heap.text(group.name)
    kernels = heap.array(group.dpu_kernel_ids, "Q")
    before = heap.array(group.pre_cdo_groups, "Q")
    entry = struct.pack("<IB3xQ8s8s", name, group.cdo_type, group.pdi_id, kernels, before)
    return entry.ljust(_GROUP_BYTES, b"\0")


class _Heap:
    """What follows the fixed struct. Each item is padded to 8 bytes; references are (count, offset)."""

    def __init__(self) -> None:
        self.data = b""

    def _add(self, item: bytes) -> int:
        offset = _HEAD_BYTES + len(self.data)
        self.data += item + bytes(-len(item) % 8)
        return offset

    def text(self, text: str) -> int:
        return self._add(text.encode("latin-1") + b"\0")

    def _reference(self, count: int, data: bytes) -> bytes:
        return struct.pack("<II", count, self._add(data) if count else 0)

    def array(self, values: tuple[int, ...], code: str) -> bytes:
        return self._reference(len(values), struct.pack(f"<{len(values)}{code}", *values))

    def blob(self, data: bytes) -> bytes:
        return self._reference(len(data), data)

    def structs(self, entries: list[bytes]) -> bytes:
        return self._reference(len(entries), b"".join(entries))


class _Section(HeapReader):
    """A reader that follows the section's references."""

    def __init__(self, data: bytes, base: int) -> None:
        super().__init__(data, ARTIFACT, base=base)

    def blob(self, reference_at: int, element_bytes: int, what: str) -> tuple[int, bytes]:
        """The offset and bytes that a (count, offset) reference names."""
        count, offset = self.words(reference_at, 2, what)
        if not count:
            return 0, b""
        return offset, self.take_part(offset, count * element_bytes, what)

    def numbers(self, reference_at: int, element_bytes: int, what: str) -> tuple[int, ...]:
        _, data = self.blob(reference_at, element_bytes, what)
        return tuple(
            int.from_bytes(data[i : i + element_bytes], "little") for i in range(0, len(data), element_bytes)
        )

    def structs(self, reference_at: int, element_bytes: int, what: str) -> range:
        """Offsets of the structs that a reference names."""
        offset, data = self.blob(reference_at, element_bytes, what)
        return range(offset, offset + len(data), element_bytes)

    def text(self, offset: int, what: str) -> str:
        """The NUL-terminated string at `offset`."""
        end = self.data.find(b"\0", offset)
        if offset >= len(self.data) or end < 0:
            self.fail(f"{what} at {offset:#x} has no end in the section", min(offset, len(self.data)))
        return self.take_part(offset, end - offset + 1, what)[:-1].decode("latin-1")
