"""NPU kernels inside an IREE module (.vmfb) of iree-amd-aie: xclbins or PDIs with their streams.

A .vmfb is a zip archive whose checksums IREE does not fill in, so the executables are found by their
FlatBuffer identifier: XRTR (XRT HAL; three versions of its schema, told apart by content) or PDIR (the
HAL that talks to the driver itself). Sources: iree-amd-aie's schemas from Dec 2023 to 2026, one real
module of Mar 2024. facts/iree-amd-aie.md section 2.3.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from . import flatbuffer, lx6, txn, xclbin
from .flatbuffer import Table
from .reader import Reader, pack_words

ARTIFACT = "vmfb"

_MAGIC = (b"PK\x03\x04", b"IREE")
_ALIGNMENT = 4
_HEADER_BYTES = 8  # the size of the FlatBuffer, before it


class ContainerKind(enum.Enum):
    """What configures the array for a kernel; the value is the FlatBuffer's identifier."""

    XCLBIN = "XRTR"
    PDI = "PDIR"


@dataclass(frozen=True, slots=True)
class EmbeddedKernel:
    """One entry point. `streams` are its instruction streams in the order of the runs (several where the
    array is reconfigured in between); `container` is empty where the entry point needs none."""

    entry: str
    kind: ContainerKind
    container: bytes
    streams: tuple[bytes, ...]


def is_vmfb(data: bytes) -> bool:
    """Whether `data` looks like an IREE module."""
    return data.startswith(_MAGIC) or data[4:8] == b"IREE"


def parse(data: bytes) -> tuple[EmbeddedKernel, ...]:
    """The NPU kernels of a module, in its order. Raises ArtifactError where there are none."""
    found: list[EmbeddedKernel] = []
    for start, size, kind in _executables(data):
        body = Reader(data, ARTIFACT).take(start, size, f"the {kind.value} executable")
        found.extend(_kernels(flatbuffer.root(body, ARTIFACT, base=start), kind))
    if not found:
        Reader(data, ARTIFACT).fail(
            "no NPU executable in this module",
            0,
            remedy="compile it with iree-amd-aie's --iree-hal-target-backends=amd-aie",
        )
    return tuple(found)


def _executables(data: bytes) -> Iterator[tuple[int, int, ContainerKind]]:
    """Starts and sizes of the FlatBuffers in the file."""
    places = [(at - 4, kind) for kind in ContainerKind for at in _places(data, kind.value.encode())]
    end = _HEADER_BYTES
    for start, kind in sorted(places, key=lambda place: place[0]):
        if start >= end:  # what stands inside an executable is part of it
            size = int.from_bytes(data[start - _HEADER_BYTES : start], "little")
            end = start + size
            yield start, size, kind


def _places(data: bytes, identifier: bytes) -> Iterator[int]:
    at = data.find(identifier)
    while at >= 0:
        if at % _ALIGNMENT == 0:
            yield at
        at = data.find(identifier, at + 1)


_T = TypeVar("_T")

# field numbers of ExecutableDef; in the first schema, field 1 is the xclbin itself
_ENTRY_POINTS, _CONTAINER_INDICES, _CONTAINERS, _STREAM_INDICES, _STREAMS = range(5)
_FIRST_XCLBIN, _FIRST_STREAMS = 1, 2


def _kernels(table: Table, kind: ContainerKind) -> Iterator[EmbeddedKernel]:
    names = [name.decode("utf-8", "replace") for name in table.strings(_ENTRY_POINTS)]
    if kind is ContainerKind.XCLBIN and _is_first_schema(table):
        container = table.string(_FIRST_XCLBIN)
        streams = [_stream(entry) for entry in table.tables(_FIRST_STREAMS)]
        for index, name in enumerate(names):
            yield EmbeddedKernel(name, kind, container, tuple(streams[index : index + 1]))
        return
    containers = [entry.string(0) for entry in table.tables(_CONTAINERS)]
    runs = [_runs(entry) for entry in table.tables(_STREAMS)]
    container_indices, run_indices = table.words(_CONTAINER_INDICES), table.words(_STREAM_INDICES)
    for index, name in enumerate(names):
        yield EmbeddedKernel(
            name,
            kind,
            _chosen(containers, container_indices, index, b""),
            _chosen(runs, run_indices, index, ()),
        )


def _is_first_schema(table: Table) -> bool:
    # later, field 1 is a vector of small numbers, which cannot begin like an xclbin
    return xclbin.is_xclbin(table.head(_FIRST_XCLBIN, len(xclbin.MAGIC)))


def _chosen(row: Sequence[_T], indices: Sequence[int], entry: int, none: _T) -> _T:
    """The element that an entry point's index names; -1 (all ones) or a missing one is none."""
    index = indices[entry] if entry < len(indices) else entry
    return row[index] if index < len(row) else none


def _stream(entry: Table) -> bytes:
    return pack_words(entry.words(0))


def _runs(entry: Table) -> tuple[bytes, ...]:
    """The streams of one entry point: a stream itself (second schema), or a vector of them (third)."""
    start = entry.head(0, 8)
    if txn.is_transaction(start) or lx6.is_lx6(start):
        return (_stream(entry),)
    return tuple(_stream(run) for run in entry.tables(0))
