"""xclbins, PDIs and IREE modules for people, down to the configurations and streams inside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from ..description import Container, Kernel, Module, Partition, PartitionImage, PdiImage
from .configuration import Wanted, configuration_lines, is_wanted
from .lines import aligned, indented, table, titled
from .stream import stream_lines
from .text import listed

_CALLED = {"txn": "opcode, instructions, their size, buffers", "lx6": "instructions, their size, buffers"}


def container_lines(found: Container, wanted: Wanted) -> Iterator[Text]:
    """An xclbin: header, sections, banks, kernels, partition, and each PDI."""
    if is_wanted(wanted, "header"):
        yield from titled("header", aligned(list(_header(found))))
    if is_wanted(wanted, "sections"):
        sections = (
            (str(s.number), s.kind, s.name, f"{s.offset:#x}", f"{s.size_bytes:,}") for s in found.sections
        )
        head = ("#", "kind", "name", "offset", "bytes")
        yield from titled("sections", table(head, sections, right=[0, 3, 4]))
    if is_wanted(wanted, "banks"):
        banks = (
            (str(b.number), b.tag, f"{b.size_bytes:,}", f"{b.base_address:#x}", "" if b.used else "not used")
            for b in found.banks
        )
        yield from titled("banks", table(("#", "tag", "bytes", "base", ""), banks, right=[0, 2, 3]))
    if is_wanted(wanted, "kernels"):
        yield from titled("kernels", (line for kernel in found.kernels for line in _kernel(kernel)))
    if is_wanted(wanted, "partition") and found.partition is not None:
        yield from titled("partition", aligned(list(_partition(found.partition))))
    for image in found.images:
        yield from _partition_image(image, wanted)


def image_lines(found: PdiImage, wanted: Wanted) -> Iterator[Text]:
    """A PDI."""
    if wanted is None:
        yield Text(f"{found.size_bytes:,} bytes at {found.offset:#x}, id code {found.id_code:#010x}")
    yield from configuration_lines(found.configuration, wanted)


def module_lines(found: Module, wanted: Wanted) -> Iterator[Text]:
    """An IREE module: entry points, then what they use."""
    if is_wanted(wanted, "entries"):
        rows = (
            (
                entry.entry,
                "none" if entry.container is None else str(entry.container),
                listed(entry.streams) or "none",
            )
            for entry in found.entries
        )
        yield from titled("entry points", table(("name", "configuration", "streams"), rows))
    for number, container in enumerate(found.containers):
        place = f"{container.kind}, {container.size_bytes:,} bytes at {container.offset:#x}"
        if isinstance(container, Container):
            lines = container_lines(container, wanted)
        else:
            lines = image_lines(container, wanted)
        yield from _unless_empty(f"configuration {number}: {place}", lines)
    for number, stream in enumerate(found.streams):
        yield from _unless_empty(f"stream {number}", stream_lines(stream, wanted))


def _header(found: Container) -> Iterator[tuple[str, str]]:
    header = found.header
    yield "uuid", header.uuid
    yield "version", header.version
    yield "timestamp", str(header.timestamp)
    yield "unique id", str(header.unique_id)
    yield "mode", str(header.mode)
    yield "action mask", f"{header.action_mask:#x}"
    yield "platform", header.platform or "none"
    yield "after the sections", f"{header.trailer_bytes:,} bytes"


def _kernel(kernel: Kernel) -> Iterator[Text]:
    number = "none" if kernel.kernel_id is None else f"{kernel.kernel_id:#x}"
    called = f"called as {kernel.convention} ({_CALLED[kernel.convention]})"
    yield Text(f"{kernel.name}:{kernel.instance}  id {number}, {called}")
    rows = (
        (str(a.index), a.name, a.type, f"{a.offset:#x}", str(a.size_bytes), a.bank or "")
        for a in kernel.arguments
    )
    yield from indented(table(("#", "name", "type", "offset", "bytes", "bank"), rows, right=[0, 3, 4]))


def _partition(part: Partition) -> Iterator[tuple[str, str]]:
    commit = part.kernel_commit_id
    yield "columns", str(part.column_width)
    yield "may start at", listed(part.start_columns)
    yield "name", part.name or "none"
    yield "operations per cycle", str(part.operations_per_cycle)
    yield "fingerprints", f"{part.inference_fingerprint}, {part.pre_post_fingerprint}"
    yield "kernel commit", "not there" if commit is None else commit or "empty"


def _partition_image(found: PartitionImage, wanted: Wanted) -> Iterator[Text]:
    yield from _unless_empty(f"PDI {found.uuid}", _groups_and_image(found, wanted))


def _groups_and_image(found: PartitionImage, wanted: Wanted) -> Iterator[Text]:
    for group in found.groups if wanted is None else ():
        before = f", after {_hexes(group.pre_cdo_groups)}" if group.pre_cdo_groups else ""
        name = group.name or "without a name"
        yield Text(
            f"for kernels {_hexes(group.kernel_ids)}: group {name}, {group.cdo_type}, "
            f"PDI id {group.pdi_id:#x}{before}"
        )
    yield from image_lines(found.image, wanted)


def _unless_empty(title: str, lines: Iterator[Text]) -> Iterator[Text]:
    """A titled part, left out where nothing in it was asked for."""
    shown = list(lines)
    if shown:
        yield from titled(title, shown)


def _hexes(numbers: Sequence[int]) -> str:
    return ", ".join(f"{number:#x}" for number in numbers) or "none"
