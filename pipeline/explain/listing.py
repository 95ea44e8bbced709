"""The programs of cores in an artifact, disassembled: of an ELF with its symbols, of a configuration bare.

Code is isa/disassembly.py's text; what is code at all, branch targets and loops come from isa/flow.py.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..description import Line, Program, SlotText
from ..errors import ArtifactError
from ..formats import cdo, elf, pdi, vmfb, xclbin
from ..formats.cdo import Cdo, DmaWrite, Write
from ..formats.elf import DATA_VIEW, CoreElf, Symbol
from ..formats.vmfb import ContainerKind
from ..isa import disassembly, flow
from ..isa.flow import Flow
from ..isa.timing import DELAY_SLOTS
from ..npu.limits import PROGRAM_MEMORY_BYTES
from ..npu.topology import TileAddress
from .names import MOST_CHARACTERS, shortened
from .registers import PROGRAM_MEMORY, memory_at, place_of, tile_of

_LABEL = re.compile(r"[A-Za-z_.$][\w.$]*\Z")
_SHORT = {disassembly.SHORT_NOP: disassembly.SHORT_NOP}
_DATA_BYTES = 16
"""Bytes of data in one line."""


def list_elf(data: bytes) -> tuple[Program, ...]:
    """The one program of a core ELF. Raises ArtifactError."""
    found = elf.parse(data)
    code = found.text
    names = _code_symbols(found, len(code))
    starts = [found.entry, 0, *names]
    return (
        Program(
            None,
            shortened(found.comment) or "ELF",
            len(code),
            found.entry,
            tuple(_lines(code, starts, names, _data_comments(found))),
        ),
    )


def list_configuration(found: Cdo, origin: str) -> tuple[Program, ...]:
    """The programs that a configuration loads, by column and row."""
    images = program_images(found)
    return tuple(
        Program(tile_of(tile), origin, len(code), 0, tuple(_lines(code, (0,), {}, lambda _: "")))
        for tile, code in sorted(images.items())
    )


def program_images(found: Cdo) -> Mapping[TileAddress, bytes]:
    """What a configuration writes to program memories, from address 0 to the last byte, by tile."""
    images: dict[TileAddress, bytearray] = {}
    for command in found.commands:
        if isinstance(command, DmaWrite):
            data = command.data
        elif isinstance(command, Write):
            data = command.value.to_bytes(4, "little")
        else:
            continue
        place = place_of(command.address)
        memory = None if place.kind is None else memory_at(place.kind, place.offset)
        if memory is None or memory[0] != PROGRAM_MEMORY or not data:
            continue
        start, data = memory[1], data[: PROGRAM_MEMORY_BYTES - memory[1]]
        image = images.setdefault(place.address, bytearray())
        image.extend(bytes(max(0, start + len(data) - len(image))))
        image[start : start + len(data)] = data
    return {tile: bytes(image) for tile, image in images.items()}


def _list_xclbin(data: bytes) -> tuple[Program, ...]:
    """The programs of all PDIs of the partition."""
    return tuple(
        program
        for entry in xclbin.parse(data).partition().pdis
        for program in list_configuration(pdi.parse(entry.image, base=entry.offset).cdo, f"PDI {entry.uuid}")
    )


def _list_vmfb(data: bytes) -> tuple[Program, ...]:
    found: dict[bytes, tuple[Program, ...]] = {}
    for kernel in vmfb.parse(data):
        raw = kernel.container
        if raw and raw not in found:
            is_xclbin = kernel.kind is ContainerKind.XCLBIN
            programs = _list_xclbin(raw) if is_xclbin else list_configuration(pdi.parse(raw).cdo, "PDI")
            found[raw] = tuple(replace(p, origin=f"{shortened(kernel.entry)}, {p.origin}") for p in programs)
    return tuple(itertools.chain.from_iterable(found.values()))


LISTERS: dict[str, Callable[[bytes], tuple[Program, ...]]] = {
    "elf": list_elf,
    "xclbin": _list_xclbin,
    "pdi": lambda data: list_configuration(pdi.parse(data).cdo, "PDI"),
    "cdo": lambda data: list_configuration(cdo.parse(data), "CDO"),
    "vmfb": _list_vmfb,
}
"""By kind, as explain/artifact.py names them. Each raises ArtifactError."""


def list_programs(data: bytes, kind: str) -> tuple[Program, ...]:
    """All programs of an artifact. Raises ArtifactError where its kind holds none."""
    lister = LISTERS.get(kind)
    if lister is None:
        raise ArtifactError(
            f"a file of kind {kind} holds no core programs",
            artifact="file",
            remedy=f"programs are in files of kind {', '.join(LISTERS)}",
        )
    return lister(data)


# --------------------------------------------------------------------------- symbols


def _code_symbols(found: CoreElf, size: int) -> dict[int, str]:
    """Names of code addresses, functions before labels; only those that assembly can spell, each once."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    ordered = sorted(found.symbols, key=lambda s: (s.kind != "function", not s.is_global, s.address, s.name))
    for symbol in ordered:
        is_code = symbol.kind in ("function", "none") and symbol.section and symbol.address < size
        is_label = len(symbol.name) <= MOST_CHARACTERS and _LABEL.match(symbol.name)
        if is_code and is_label and symbol.address not in names and symbol.name not in taken:
            names[symbol.address] = symbol.name
            taken.add(symbol.name)
    return names


def _data_comments(found: CoreElf) -> Callable[[int], str]:
    """What a data address is: "buffer + 0x10"; empty where no symbol says."""
    symbols: Sequence[Symbol] = sorted(
        (s for s in found.symbols if s.address in DATA_VIEW and s.kind in ("object", "none") and s.name),
        key=lambda s: (s.address, s.size_bytes, s.name),
    )
    addresses = [symbol.address for symbol in symbols]

    def comment(address: int) -> str:
        at = bisect.bisect_right(addresses, address) - 1
        if address not in DATA_VIEW or at < 0:
            return ""
        symbol = symbols[at]
        beyond = address - symbol.address
        if beyond >= max(symbol.size_bytes, 1):
            return ""
        return shortened(symbol.name) if not beyond else f"{shortened(symbol.name)} + {beyond:#x}"

    return comment


# --------------------------------------------------------------------------- lines


def _lines(
    code: bytes, starts: Iterable[int], symbols: Mapping[int, str], comment: Callable[[int], str]
) -> Iterator[Line]:
    """The listing: blocks of zeros as data, everything between them disassembled."""
    found = flow.flow(code, starts)
    names = _with_labels(symbols, found, len(code))
    entries = sorted(found.bundles)
    address = 0
    for start, end in [*found.zeros, (len(code), len(code))]:
        inside = entries[bisect.bisect_left(entries, address) : bisect.bisect_left(entries, start)]
        piece = disassembly.disassemble(
            code[address:start],
            base=address,
            symbols=names,
            entries=inside,
        )
        yield from _code_lines(piece.lines, found, comment)
        if end > start:
            labels = (names[start],) if start in names else ()
            yield Line(start, code[start:end], (), labels, reachable=False, comment="zeros")
        address = end


def _with_labels(symbols: Mapping[int, str], found: Flow, size: int) -> dict[int, str]:
    """The symbols, and made-up labels for targets and loop bounds that have none.

    A symbol may mark the last byte of a function; inside a bundle it labels nothing.
    """
    inside = {at for bundle in found.bundles.values() for at in range(bundle.address + 1, bundle.end)}
    names = {at: name for at, name in symbols.items() if at not in inside and at % flow.UNIT == 0}
    taken = set(names.values())
    for address in sorted(found.targets | found.loop_starts | found.loop_ends):
        label = f"L_{address:04x}"
        if address in found.bundles and address < size and label not in taken:
            names.setdefault(address, label)
    return names


def _code_lines(
    lines: Sequence[disassembly.Line], found: Flow, comment: Callable[[int], str]
) -> Iterator[Line]:
    left = 0
    data: Line | None = None
    for line in lines:
        if line.bundle is None:
            left = 0
            if data is None or line.labels or len(data.raw) >= _DATA_BYTES:
                if data is not None:
                    yield data
                data = Line(line.address, b"", (), line.labels, reachable=False, comment="no instruction")
            data = replace(data, raw=data.raw + line.raw)
            continue
        if data is not None:
            yield data
            data = None
        bounds = [
            name
            for name, where in (("start", found.loop_starts), ("end", found.loop_ends))
            if line.address in where
        ]
        constants = (v for i in line.bundle.slots for v in i.operands.values() if isinstance(v, int))
        yield Line(
            line.address,
            line.raw,
            tuple(SlotText(slot, text) for slot, text in (line.columns or _SHORT).items()),
            line.labels,
            line.address in found.bundles,
            DELAY_SLOTS - left + 1 if left else None,
            " ".join(bounds),
            ", ".join(dict.fromkeys(text for value in constants if (text := comment(value)))),
        )
        left = DELAY_SLOTS if flow.is_branch(line.bundle) else max(0, left - 1)
    if data is not None:
        yield data
