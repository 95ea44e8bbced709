"""An instruction stream as the runtime sequence of an `aie` design.

A shim task (BD, patched address, push to the queue) becomes one aiex.npu.dma_memcpy_nd, whatever else the
stream does an op of its own kind. Arguments are seen as words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..formats.txn import BlockWrite, DdrPatch, Operation, Sync, Transaction, Write32
from ..npu.descriptors import BufferDescriptor, decode, descriptor_offset, descriptor_words
from ..npu.limits import LIMITS, WORD_BYTES
from ..npu.registers import register
from ..npu.topology import Direction, TileAddress, TileKind, split_address
from ..program import Binding
from .control import DDR_APERTURE, TRANSLATED_ARGUMENTS

_BURST_BYTES = (64, 128, 256)
"""By the BD's burst code."""

_Channel = tuple[int, Direction, int]
"""A shim's column, and a channel of its DMA."""


def sequence(
    stream: Transaction,
    bindings: Sequence[Binding],
    started: Mapping[TileAddress, Mapping[int, BufferDescriptor]],
) -> Iterator[str]:
    """The lines of the allocations of shim channels, of globals, and of the sequence. `started` are BDs of
    memory tiles that the stream starts."""
    items = list(_items(stream.ops))
    channels = sorted(
        {item[0] for item in items if isinstance(item, tuple)}, key=lambda c: (c[0], c[1].value, c[2])
    )
    yield ""
    for column, direction, number in channels:
        name = _allocation((column, direction, number))
        yield f"aie.shim_dma_allocation @{name} (%tile_{column}_0, {direction.name}, {number})"
    blocks = [item for item in items if isinstance(item, BlockWrite)]
    data = {words: n for n, words in enumerate(dict.fromkeys(block.words for block in blocks))}
    for words, number in data.items():
        dense = ", ".join(str(word - (word >> 31 << 32)) for word in words)
        kind = f"memref<{len(words)}xi32>"
        yield f'memref.global "private" constant @words_{number} : {kind} = dense<[{dense}]>'
    arguments = ", ".join(
        f"%arg{position}: {_argument_type(binding)}" for position, binding in enumerate(bindings)
    )
    yield ""
    yield f"aie.runtime_sequence @sequence({arguments}) {{"
    for tile, descriptors in started.items():
        for number, descriptor in descriptors.items():
            yield f"  {_writebd(tile, number, descriptor)}"
    for place, item in enumerate(items):
        match item:
            case BlockWrite():
                kind, name = f"memref<{len(item.words)}xi32>", f"%block_{place}"
                yield f"  {name} = memref.get_global @words_{data[item.words]} : {kind}"
                yield f"  aiex.npu.blockwrite({name}) {{address = {item.address} : ui32}} : {kind}"
            case Write32():
                yield (
                    f"  aiex.npu.write32 {{address = {item.address} : ui32, value = {item.value} : ui32}}"
                    + (_queue_comment(item))
                )
            case Sync():
                yield (
                    f"  aiex.npu.sync {{channel = {item.channel} : i32, column = {item.column} : i32, "
                    f"column_num = {item.columns} : i32, direction = {item.direction} : i32, "
                    f"row = {item.row} : i32, row_num = {item.rows} : i32}}"
                )
            case tuple():
                yield f"  {_copy(*item, bindings)}"
            case _:
                raise AssertionError(f"our streams have no {item.name}")
    yield "}"


_Copy = tuple[_Channel, int, BufferDescriptor, DdrPatch, bool]
"""A shim task: its channel, the BD's number, the BD, where it points, whether it gives a token."""


def _items(operations: Sequence[Operation]) -> Iterator[Operation | _Copy]:
    """The operations, those of a shim task as one."""
    place = 0
    while place < len(operations):
        task = _shim_task(operations[place : place + 3])
        yield operations[place] if task is None else task
        place += 1 if task is None else 3


def _shim_task(operations: Sequence[Operation]) -> _Copy | None:
    if len(operations) < 3:
        return None
    block, patch, push = operations
    if not (isinstance(block, BlockWrite) and isinstance(patch, DdrPatch) and isinstance(push, Write32)):
        return None
    tile, offset = split_address(block.address)
    if tile.kind is not TileKind.SHIM or len(block.words) != descriptor_words(TileKind.SHIM):
        return None
    bd = decode(TileKind.SHIM, block.words)
    _, queue = split_address(push.address)
    for direction in Direction:
        for channel in range(LIMITS[TileKind.SHIM].channels):
            found = register(TileKind.SHIM, f"DMA_{direction.name}_START_QUEUE")
            if queue != found.at(channel):
                continue
            number = found.field("START_BD_ID").get(push.value)
            token = bool(found.field("ENABLE_TOKEN_ISSUE").get(push.value))
            if offset == descriptor_offset(TileKind.SHIM, number):
                return (tile.column, direction, channel), number, bd, patch, token
    return None


def _copy(
    channel: _Channel,
    number: int,
    bd: BufferDescriptor,
    patch: DdrPatch,
    token: bool,
    bindings: Sequence[Binding],
) -> str:
    folded = DDR_APERTURE if patch.argument >= TRANSLATED_ARGUMENTS else 0
    first = (patch.offset_bytes - folded) // WORD_BYTES
    sizes, left = [1, 1, 1, 1], bd.length_words
    strides = [0, 0, 0, 1]
    for d in range(3):
        last = d == 2 or bd.wraps[d] == 0
        sizes[3 - d] = left if last else bd.wraps[d]
        strides[3 - d] = bd.steps[d] if sizes[3 - d] > 1 or d == 0 else 0
        left //= sizes[3 - d]
        if last:
            break
    attributes = [
        f"burst_length = {_BURST_BYTES[bd.burst_code]} : i64",
        f"id = {number} : i64",
        *["issue_token = true"] * token,
        f"metadata = @{_allocation(channel)}",
    ]
    return (
        f"aiex.npu.dma_memcpy_nd(%arg{patch.argument}[0, 0, 0, {first}]{sizes}{strides}) "
        f"{{{', '.join(attributes)}}} : {_argument_type(bindings[patch.argument])}"
    )


def _argument_type(binding: Binding) -> str:
    return f"memref<{max(1, -(-binding.type.size_bytes // WORD_BYTES))}xi32>"


def _allocation(channel: _Channel) -> str:
    column, direction, number = channel
    return f"shim_{column}_{direction.name.lower()}_{number}"


def _queue_comment(write: Write32) -> str:
    """What a push to a queue starts."""
    tile, offset = split_address(write.address)
    for direction in Direction:
        found = register(tile.kind, f"DMA_{direction.name}_START_QUEUE")
        for channel in range(LIMITS[tile.kind].channels):
            if offset == found.at(channel):
                bd = found.field("START_BD_ID").get(write.value)
                times = found.field("REPEAT_COUNT").get(write.value) + 1
                return f"  // {tile}: {direction.name} {channel} does BD {bd}, {times} times"
    return ""


def _writebd(tile: TileAddress, number: int, bd: BufferDescriptor) -> str:
    """All fields of a BD as registers hold them: steps and the iteration less one, addresses in
    words."""
    values: dict[str, int] = {
        "bd_id": number,
        "buffer_length": bd.length_words,
        "buffer_offset": bd.address // WORD_BYTES,
        "burst_length": 0,
        "column": tile.column,
    }
    for d in range(3):
        values[f"d{d}_size"] = bd.wraps[d] if d < len(bd.wraps) else 0
        values[f"d{d}_stride"] = bd.steps[d] - 1
        values[f"d{d}_zero_after"] = bd.zeros_after[d]
        values[f"d{d}_zero_before"] = bd.zeros_before[d]
    values |= {
        "enable_packet": int(bd.packet_enable),
        "iteration_current": bd.iteration_current,
        "iteration_size": bd.iteration_wrap - 1,
        "iteration_stride": bd.iteration_step - 1,
        "lock_acq_enable": int(bd.acquire_enable),
        "lock_acq_id": bd.acquire_lock,
        "lock_acq_val": bd.acquire_value,
        "lock_rel_id": bd.release_lock,
        "lock_rel_val": bd.release_value,
        "next_bd": bd.next_bd or 0,
        "out_of_order_id": bd.out_of_order_id,
        "packet_id": bd.packet_id,
        "packet_type": bd.packet_type,
        "row": tile.row,
        "use_next_bd": int(bd.next_bd is not None),
        "valid_bd": int(bd.valid),
    }
    return "aiex.npu.writebd {" + ", ".join(f"{name} = {value} : i32" for name, value in values.items()) + "}"
