"""xclbins, PDIs and IREE modules explained, down to the configurations inside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..description import (
    Argument,
    Bank,
    Container,
    ContainerHeader,
    Group,
    Kernel,
    Module,
    ModuleKernel,
    Partition,
    PartitionImage,
    PdiImage,
    Section,
    Stream,
)
from ..errors import ArtifactError
from ..formats import partition, pdi, vmfb, xclbin
from ..formats.instructions import parse_instructions
from ..formats.partition import CdoGroup
from ..formats.sections import MemoryBank
from ..formats.vmfb import ContainerKind
from ..formats.xclbin import KernelInfo, SectionKind, Xclbin
from .configuration import explain_cdo
from .stream import explain_stream

MOST_RUNS = 10_000
"""Streams that the entry points of a module run, all together."""

_T = TypeVar("_T")
_ID_CODE_WORD = 6
_KILOBYTE = 1024


def explain_pdi(data: bytes, *, base: int = 0) -> PdiImage:
    """A PDI; `base` is its place in the file. Raises ArtifactError."""
    found = pdi.parse(data, base=base)
    size = len(found.cdo.encode())
    configuration = explain_cdo(found.cdo, size_bytes=size, offset=base + pdi.CDO_OFFSET)
    return PdiImage(base, len(data), found.table[_ID_CODE_WORD], configuration)


def explain_xclbin(data: bytes, *, base: int = 0) -> Container:
    """An xclbin; `base` is its place in the file. Raises ArtifactError."""
    found = xclbin.parse(data)
    kinds = {section.kind for section in found.sections}
    has_kernels = {SectionKind.EMBEDDED_METADATA, SectionKind.IP_LAYOUT, SectionKind.CONNECTIVITY} <= kinds
    banks = found.memory_banks() if SectionKind.MEM_TOPOLOGY in kinds else ()
    part = found.partition() if SectionKind.AIE_PARTITION in kinds else None
    images = () if part is None else tuple(_image(entry, base) for entry in part.pdis)
    return Container(
        base,
        len(data),
        ContainerHeader(
            str(found.uuid),
            ".".join(map(str, found.version)),
            found.timestamp,
            found.unique_id,
            found.mode,
            found.action_mask,
            found.platform,
            len(found.trailer),
        ),
        _sections(found, base),
        tuple(
            Bank(number, bank.tag, bank.size_kb * _KILOBYTE, bank.base_address, bank.used)
            for number, bank in enumerate(banks)
        ),
        tuple(_kernel(kernel, banks) for kernel in found.kernels()) if has_kernels else (),
        None
        if part is None
        else Partition(
            part.column_width,
            part.start_columns,
            part.name,
            part.operations_per_cycle,
            part.inference_fingerprint,
            part.pre_post_fingerprint,
            part.kernel_commit_id,
        ),
        images,
    )


def _sections(found: Xclbin, base: int) -> tuple[Section, ...]:
    names = {kind.value: kind.name for kind in SectionKind}
    return tuple(
        Section(
            number,
            names.get(section.kind, f"kind {section.kind}"),
            section.name,
            base + (section.offset or 0),
            len(section.data),
        )
        for number, section in enumerate(found.sections)
    )


def _kernel(kernel: KernelInfo, banks: tuple[MemoryBank, ...]) -> Kernel:
    def bank(number: int | None) -> str | None:
        if number is None:
            return None
        return banks[number].tag if 0 <= number < len(banks) else f"bank {number}, which is not there"

    return Kernel(
        kernel.name,
        kernel.instance,
        kernel.kernel_id,
        kernel.convention.value,
        tuple(
            Argument(a.index, a.name, a.type, a.offset, a.size_bytes, bank(a.bank)) for a in kernel.arguments
        ),
    )


def _image(entry: partition.PartitionPdi, base: int) -> PartitionImage:
    groups = tuple(map(_group, entry.groups))
    return PartitionImage(str(entry.uuid), groups, explain_pdi(entry.image, base=base + entry.offset))


def _group(group: CdoGroup) -> Group:
    return Group(
        group.name,
        partition.TYPES.get(group.cdo_type, f"type {group.cdo_type}"),
        group.pdi_id,
        group.dpu_kernel_ids,
        group.pre_cdo_groups,
    )


# --------------------------------------------------------------------------- IREE modules


def explain_module(data: bytes) -> Module:
    """An IREE module. What several entry points share is explained once. Raises ArtifactError."""
    kernels = vmfb.parse(data)
    if sum(len(kernel.streams) for kernel in kernels) > MOST_RUNS:
        raise ArtifactError(f"more than {MOST_RUNS} runs in the entry points", artifact=vmfb.ARTIFACT)
    containers: dict[bytes, int] = {}
    streams: dict[bytes, int] = {}
    explained: list[Container | PdiImage] = []
    explained_streams: list[Stream] = []
    entries: list[ModuleKernel] = []
    for kernel in kernels:
        explain = explain_xclbin if kernel.kind is ContainerKind.XCLBIN else explain_pdi
        container = None
        if kernel.container:
            container = _once(
                kernel.container, containers, explained, lambda raw, e=explain: e(raw, base=data.find(raw))
            )
        runs = tuple(
            _once(
                raw, streams, explained_streams, lambda data: explain_stream(parse_instructions(data), data)
            )
            for raw in kernel.streams
        )
        entries.append(ModuleKernel(kernel.entry, container, runs))
    return Module(len(data), tuple(entries), tuple(explained), tuple(explained_streams))


def _once(raw: bytes, known: dict[bytes, int], into: list[_T], explain: Callable[[bytes], _T]) -> int:
    """The number of `raw` among those explained, after explaining it if it is new."""
    if raw not in known:
        into.append(explain(raw))
        known[raw] = len(into) - 1
    return known[raw]
