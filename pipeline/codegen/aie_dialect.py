"""A design as MLIR of the `aie` dialect, for who uses mlir-aie: to read, to diff, to take on with aiecc.

Tiles, buffers, locks, flows and the rings of BDs stand in the device; BDs that the instruction stream
starts one by one are written at the head of the runtime sequence (`aie.mem` and `aie.memtile_dma` have only
rings that start by themselves); aie_sequence.py has that sequence. All memories are seen as words. The
cores' code is that of the ELF files beside.

The forms are those of mlir-aie in early 2026; they have been compared with its tests, not with its parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..formats.txn import BlockWrite, Transaction
from ..npu.descriptors import BufferDescriptor
from ..npu.limits import WORD_BYTES
from ..npu.topology import (
    MEMORY_TILE_OWN_BASE_BYTES,
    MEMORY_TILE_OWN_LOCK_BASE,
    SHIM_DMA_MASTERS,
    SHIM_DMA_SLAVES,
    Bundle,
    Port,
    TileAddress,
    TileKind,
    split_address,
    wire,
)
from ..program import Binding
from .aie_sequence import sequence
from .configuration import Design, TileDesign

DEVICES = {1: "npu1_1col", 2: "npu1_2col", 3: "npu1_3col", 4: "npu1"}
"""The device of a partition of so many columns."""

_BUNDLES = {Bundle.DMA: "DMA", Bundle.CONTROL: "TileControl", Bundle.SOUTH: "South"}


def module(
    design: Design, stream: Transaction, bindings: Sequence[Binding], *, title: Sequence[str] = ()
) -> str:
    """The design and its instruction stream as one module. `title` are lines of comment above it.

    The same design gives the same text.
    """
    tiles = sorted({*design.tiles, *(connection.tile for connection in design.connections)})
    parts = {tile: _Part.of(tile, design.tiles[tile], stream) for tile in tiles if tile in design.tiles}
    lines = [*(f"// {line}" for line in title), "module {", f"  aie.device({DEVICES[design.columns]}) {{"]
    body: list[str] = [f"{tile_name(tile)} = aie.tile({tile.column}, {tile.row})" for tile in tiles]
    for part in parts.values():
        body += ["", *part.locks(), *part.buffers()]
    body += ["", *flows(design)]
    body += [line for part in parts.values() for line in part.rings()]
    body += [line for part in parts.values() for line in part.core()]
    body += sequence(stream, bindings, {tile: part.started for tile, part in parts.items() if part.started})
    lines += [f"    {line}".rstrip() for line in body]
    return "\n".join([*lines, "  }", "}", ""])


def tile_name(tile: TileAddress) -> str:
    """The tile's SSA value: "%tile_0_2"."""
    return f"%tile_{tile.column}_{tile.row}"


def flows(design: Design) -> Iterator[str]:
    """One line per way from a source through all switches to an end; a broadcast is several."""
    masters: dict[tuple[TileAddress, Port], list[Port]] = {}
    for connection in design.connections:
        masters.setdefault((connection.tile, connection.slave), []).append(connection.master)
    for tile, slave in masters:
        source = _endpoint(tile, slave, sending=True)
        if source is None:
            continue
        waiting = [(tile, slave)]
        while waiting:
            place = waiting.pop(0)
            for master in masters.get(place, ()):
                end = _endpoint(place[0], master, sending=False)
                following = wire(place[0], master, columns=design.columns)
                if end is not None:
                    yield f"aie.flow({tile_name(tile)}, {source}, {tile_name(place[0])}, {end})"
                elif following is not None:
                    waiting.append(following)


def _endpoint(tile: TileAddress, port: Port, *, sending: bool) -> str | None:
    """Where a way begins or ends, as aie.flow has it; None for a port between two tiles."""
    if tile.kind is TileKind.SHIM:
        ports = SHIM_DMA_SLAVES if sending else SHIM_DMA_MASTERS
        for channel, dma in ports.items():
            if port == dma:
                return f"DMA : {channel}"
    at_the_edge = tile.kind is TileKind.SHIM and port.bundle is Bundle.SOUTH
    if port.bundle in (Bundle.DMA, Bundle.CONTROL) or at_the_edge:
        return f"{_BUNDLES[port.bundle]} : {port.channel}"
    return None


# --------------------------------------------------------------------------- a tile


@dataclass(frozen=True, slots=True)
class _Part:
    """A tile's own part. `extents` are its buffers, words by byte offset in its memory; `started` are the
    BDs that are in no ring."""

    tile: TileAddress
    design: TileDesign
    extents: Mapping[int, int]
    started: Mapping[int, BufferDescriptor]

    @classmethod
    def of(cls, tile: TileAddress, design: TileDesign, stream: Transaction) -> _Part:
        base = MEMORY_TILE_OWN_BASE_BYTES if tile.kind is TileKind.MEMORY else 0
        extents: dict[int, int] = {}
        for descriptor in design.descriptors.values():
            for turn in range(descriptor.iteration_wrap):  # each turn has a buffer of its own
                place = descriptor.address - base + WORD_BYTES * turn * descriptor.iteration_step
                extents[place] = max(extents.get(place, 0), _extent(descriptor))
        for offset, data in design.data.items():
            extents[offset] = max(extents.get(offset, 0), -(-len(data) // WORD_BYTES))
        written = sorted(_written(tile, stream))
        if written:
            first, last = written[0][0], written[-1][0] + WORD_BYTES * written[-1][1]
            extents[first] = (last - first) // WORD_BYTES
        in_rings = {n for channel in design.channels for n, _ in _ring(design, channel.first)}
        started = {n: bd for n, bd in design.descriptors.items() if n not in in_rings}
        return cls(tile, design, dict(sorted(extents.items())), started)

    @property
    def _suffix(self) -> str:
        return f"{self.tile.column}_{self.tile.row}"

    def locks(self) -> Iterator[str]:
        for number in sorted({*self.design.locks, *self._locks_used()}):
            name = f"lock_{self._suffix}_{number}"
            init = self.design.locks.get(number, 0)
            yield (
                f"%{name} = aie.lock({tile_name(self.tile)}, {number}) "
                f'{{init = {init} : i32, sym_name = "{name}"}}'
            )

    def buffers(self) -> Iterator[str]:
        for address, words in self.extents.items():
            name = self._buffer(address)
            data = self.design.data.get(address)
            init = "" if data is None else f" = {_dense(data)}"
            yield (
                f"%{name} = aie.buffer({tile_name(self.tile)}) "
                f'{{address = {address} : i32, sym_name = "{name}"}} : memref<{words}xi32>{init}'
            )

    def rings(self) -> Iterator[str]:
        """aie.mem or aie.memtile_dma: the rings that run from the start."""
        if not self.design.channels:
            return
        kind = "memtile_dma" if self.tile.kind is TileKind.MEMORY else "mem"
        yield ""
        yield f"%{kind}_{self._suffix} = aie.{kind}({tile_name(self.tile)}) {{"
        for place, channel in enumerate(self.design.channels):
            if place:
                yield f"^channel{place}:"
            last = place + 1 == len(self.design.channels)
            following = "^end" if last else f"^channel{place + 1}"
            start = f"{channel.direction.name}, {channel.number}, ^bd{channel.first}, {following}"
            yield f"  %{place} = aie.dma_start({start})"
            for number, descriptor in _ring(self.design, channel.first):
                yield f"^bd{number}:"
                yield from self._descriptor(number, descriptor)
        yield "^end:"
        yield "  aie.end"
        yield "}"

    def core(self) -> Iterator[str]:
        if self.design.code:
            yield ""
            yield f"%core_{self._suffix} = aie.core({tile_name(self.tile)}) {{"
            yield "  aie.end"
            yield f'}} {{elf_file = "core_{self._suffix}.elf"}}'

    def _descriptor(self, number: int, bd: BufferDescriptor) -> Iterator[str]:
        base = MEMORY_TILE_OWN_BASE_BYTES if self.tile.kind is TileKind.MEMORY else 0
        place = bd.address - base
        if bd.acquire_enable:
            condition = "AcquireGreaterEqual" if bd.acquire_value < 0 else "Acquire"
            yield f"  aie.use_lock({self._lock(bd.acquire_lock)}, {condition}, {abs(bd.acquire_value)})"
        following = "" if bd.next_bd is None else f", next_bd_id = {bd.next_bd} : i32"
        yield (
            f"  aie.dma_bd(%{self._buffer(place)} : memref<{self.extents[place]}xi32>, 0, "
            f"{bd.length_words}{_dimensions(bd)}) {{bd_id = {number} : i32{following}}}"
        )
        if bd.release_value:
            yield f"  aie.use_lock({self._lock(bd.release_lock)}, Release, {bd.release_value})"
        yield "  aie.end" if bd.next_bd is None else f"  aie.next_bd ^bd{bd.next_bd}"

    def _lock(self, number: int) -> str:
        return f"%lock_{self._suffix}_{self._own(number)}"

    def _own(self, number: int) -> int:
        return number - MEMORY_TILE_OWN_LOCK_BASE if self.tile.kind is TileKind.MEMORY else number

    def _locks_used(self) -> Iterator[int]:
        for bd in self.design.descriptors.values():
            if bd.acquire_enable:
                yield self._own(bd.acquire_lock)
            if bd.release_value:
                yield self._own(bd.release_lock)

    def _buffer(self, address: int) -> str:
        return f"buffer_{self._suffix}_{address:x}"


def _ring(design: TileDesign, first: int) -> Iterator[tuple[int, BufferDescriptor]]:
    """The BDs that follow one another from `first`, each once."""
    seen: set[int] = set()
    number: int | None = first
    while number is not None and number not in seen:
        seen.add(number)
        yield number, design.descriptors[number]
        number = design.descriptors[number].next_bd


def dimensions(bd: BufferDescriptor) -> list[tuple[int, int]]:
    """(size, stride in words) of what the BD takes from memory, outermost first; one for a plain run."""
    padded = bd.length_words
    inner: list[tuple[int, int]] = []
    for wrap, step, before, after in zip(
        bd.wraps, bd.steps, (*bd.zeros_before, 0), (*bd.zeros_after, 0), strict=False
    ):
        if wrap == 0:
            inner.append((max(1, padded - before - after), step))
            return inner[::-1]
        inner.append((wrap, step))
        padded //= wrap + before + after
    if padded > 1:
        inner.append((padded, bd.steps[len(bd.wraps)]))
    return inner[::-1]


def _dimensions(bd: BufferDescriptor) -> str:
    found = dimensions(bd)
    if len(found) == 1 and found[0][1] == 1:
        return ""
    return ", [" + ", ".join(f"<size = {size}, stride = {stride}>" for size, stride in found) + "]"


def _extent(bd: BufferDescriptor) -> int:
    """Words from the BD's address to the end of what it touches, in one turn of its iteration."""
    return sum((size - 1) * stride for size, stride in dimensions(bd)) + 1


def _written(tile: TileAddress, stream: Transaction) -> Iterator[tuple[int, int]]:
    """What the stream writes into a core's memory: (byte offset, words)."""
    from_memory = tile.kind is TileKind.COMPUTE
    for operation in stream.ops if from_memory else ():
        if isinstance(operation, BlockWrite):
            target, offset = split_address(operation.address)
            if target == tile:
                yield offset, len(operation.words)


def _dense(data: bytes) -> str:
    padded = data + bytes(-len(data) % WORD_BYTES)
    words = (
        int.from_bytes(padded[at : at + WORD_BYTES], "little", signed=True)
        for at in range(0, len(padded), WORD_BYTES)
    )
    return f"dense<[{', '.join(map(str, words))}]>"
