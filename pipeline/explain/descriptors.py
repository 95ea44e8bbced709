"""Buffer descriptors and DMA tasks: from register words to what a transfer is.

Everything that a BD's bits mean stands in npu/descriptors.py; here it is put into the terms of a reader:
whose memory, which lock of which tile, which dimensions count.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..description import Descriptor, Dimension, Iteration, LockUse, Packet, Task, Tile
from ..npu.descriptors import BufferDescriptor, decode, descriptor_offset, descriptor_words
from ..npu.limits import BURST_BYTES, LIMITS
from ..npu.registers import locate, register
from ..npu.topology import (
    MEMORY_TILE_OWN_BASE_BYTES,
    MEMORY_TILE_SIDES,
    Direction,
    TileAddress,
    TileKind,
)
from .registers import DATA_MEMORY, KEPT, WORD_BYTES, RegisterState, module_of, place_of, tile_of

DDR = "DDR"
_MEMORY_TILE_LOCKS = LIMITS[TileKind.MEMORY].locks

BdKey = tuple[TileAddress, int]


def describe(tile: TileAddress, number: int, words: Sequence[int]) -> Descriptor:
    """A BD in words. Raises ValueError for a wrong number of words."""
    return _described(tile, number, tuple(words))


@functools.lru_cache(maxsize=KEPT)
def _described(tile: TileAddress, number: int, words: tuple[int, ...]) -> Descriptor:
    kind = tile.kind
    bd = decode(kind, words)
    memory, owner, address = _memory(tile, bd.address)
    acquire = release = None
    if bd.acquire_enable:
        value = bd.acquire_value
        acquire = _lock(tile, bd.acquire_lock, "at least" if value < 0 else "equal", abs(value))
    if bd.release_value:
        release = _lock(tile, bd.release_lock, "add", bd.release_value)
    iterates = bd.iteration_wrap > 1 or bd.iteration_current
    return Descriptor(
        tile_of(tile),
        module_of(kind, descriptor_offset(kind, number)),
        number,
        words,
        bd.valid,
        memory,
        owner,
        address,
        bd.length_words,
        _dimensions(bd),
        bd.zeros_before if any(bd.zeros_before) else (),
        bd.zeros_after if any(bd.zeros_after) else (),
        Iteration(bd.iteration_step, bd.iteration_wrap, bd.iteration_current) if iterates else None,
        acquire,
        release,
        bd.next_bd,
        Packet(bd.packet_id, bd.packet_type) if bd.packet_enable else None,
        tuple(_flags(kind, bd)),
    )


def _memory(tile: TileAddress, address: int) -> tuple[str, Tile | None, int]:
    """Whose memory an address of a BD is in: a memory tile's view holds three tiles side by side."""
    if tile.kind is TileKind.SHIM:
        return DDR, None, address
    if tile.kind is TileKind.COMPUTE:
        return DATA_MEMORY, tile_of(tile), address
    side, within = divmod(address, MEMORY_TILE_OWN_BASE_BYTES)
    return DATA_MEMORY, _beside(tile, side), within


def _beside(tile: TileAddress, side: int) -> Tile | None:
    """The tile of a memory tile's view (west, itself, east); None where there is none."""
    if side >= len(MEMORY_TILE_SIDES):
        return None
    direction = MEMORY_TILE_SIDES[side]
    found = tile if direction is None else tile.neighbour(direction)
    return None if found is None else tile_of(found)


def _lock(tile: TileAddress, number: int, condition: str, value: int) -> LockUse:
    if tile.kind is not TileKind.MEMORY:
        return LockUse(tile_of(tile), number, condition, value)
    side, lock = divmod(number, _MEMORY_TILE_LOCKS)
    return LockUse(_beside(tile, side), lock, condition, value)


def _dimensions(bd: BufferDescriptor) -> tuple[Dimension, ...]:
    """The dimensions that count: up to the first without a wrap; none for consecutive words."""
    found: list[Dimension] = []
    for index, step in enumerate(bd.steps):
        wrap = bd.wraps[index] if index < len(bd.wraps) else 0
        found.append(Dimension(step, wrap or None))
        if not wrap:
            break
    return () if found == [Dimension(1, None)] else tuple(found)


def _flags(kind: TileKind, bd: BufferDescriptor) -> Iterator[str]:
    """What is set and rarely is."""
    if bd.tlast_suppress:
        yield "TLAST suppressed"
    if bd.compression:
        yield "compression"
    if bd.out_of_order_id:
        yield f"out-of-order id {bd.out_of_order_id}"
    if kind is TileKind.SHIM:
        known = bd.burst_code < len(BURST_BYTES)
        yield f"burst {BURST_BYTES[bd.burst_code]} bytes" if known else f"burst code {bd.burst_code}"
        if bd.secure:
            yield "secure"
        yield from (
            f"{name} {value}"
            for name, value in (("SMID", bd.smid), ("AxCache", bd.axi_cache), ("AxQoS", bd.axi_qos))
            if value
        )


# --------------------------------------------------------------------------- BDs among registers


@functools.cache
def _starts(kind: TileKind) -> Mapping[int, int]:
    """Offset of a BD's first word to its number."""
    return {descriptor_offset(kind, number): number for number in range(LIMITS[kind].descriptors)}


def bds_in_block(address: int, words: Sequence[int]) -> tuple[Descriptor, ...] | None:
    """The BDs that a block write consists of; None where it does not consist of whole BDs."""
    place = place_of(address)
    if place.kind is None or not words:
        return None
    size, starts = descriptor_words(place.kind), _starts(place.kind)
    stride = register(place.kind, "DMA_BD_WORD_0").stride // WORD_BYTES
    found: list[Descriptor] = []
    at = 0
    while at < len(words):
        number = starts.get(place.offset + WORD_BYTES * at)
        if number is None or at + size > len(words):
            return None
        found.append(describe(place.address, number, words[at : at + size]))
        at += stride
    return tuple(found)


def bd_at(kind: TileKind, offset: int) -> tuple[int, int] | None:
    """The BD and its word that a register offset is."""
    found = locate(kind, offset)
    stem = "DMA_BD_WORD_"
    if found is None or found.byte or not found.register.name.startswith(stem):
        return None
    return found.index, int(found.register.name.removeprefix(stem))


def bd_of(state: RegisterState, tile: TileAddress, number: int) -> Descriptor:
    """A BD as the state has it."""
    start = descriptor_offset(tile.kind, number)
    words = [state.read(tile, start + WORD_BYTES * at) for at in range(descriptor_words(tile.kind))]
    return describe(tile, number, words)


def written_bds(state: RegisterState) -> tuple[BdKey, ...]:
    """BDs of which any word was written, in order."""
    keys: set[BdKey] = set()
    for address in state.values:
        place = place_of(address)
        found = None if place.kind is None else bd_at(place.kind, place.offset)
        if found is not None:
            keys.add((place.address, found[0]))
    return tuple(sorted(keys))


# --------------------------------------------------------------------------- tasks


@dataclass(frozen=True, slots=True)
class Start:
    """A write to a start queue."""

    tile: TileAddress
    direction: Direction
    channel: int
    task: Task


def start_of(address: int, value: int) -> Start | None:
    """The task that a register write starts; None where it is no start queue."""
    place = place_of(address)
    found = None if place.kind is None else locate(place.kind, place.offset)
    if found is None or found.byte:
        return None
    for direction in Direction:
        if found.register.name == f"DMA_{direction.name}_START_QUEUE":
            fields = found.register.decode(value)
            task = Task(
                tile_of(place.address),
                f"{direction.name} {found.index}",
                fields["START_BD_ID"],
                fields["REPEAT_COUNT"] + 1,
                bool(fields["ENABLE_TOKEN_ISSUE"]),
            )
            return Start(place.address, direction, found.index, task)
    return None


def with_users(
    bds: Mapping[BdKey, Descriptor], starts: Sequence[tuple[TileAddress, Task]]
) -> tuple[Descriptor, ...]:
    """The BDs with the channels that come to them, from a start or along the chain of next BDs."""
    users: dict[BdKey, dict[str, None]] = {}
    for tile, task in starts:
        number: int | None = task.bd
        seen: set[int] = set()
        while number is not None and number not in seen:
            seen.add(number)
            users.setdefault((tile, number), {})[task.channel] = None
            found = bds.get((tile, number))
            number = None if found is None else found.next_bd
    return tuple(replace(bd, users=tuple(users.get(key, ()))) for key, bd in bds.items())
