"""The instruction stream of a staged dispatch: per step a frame of numbers, and the step's transfers.

A step's transfers into the core are one chain of BDs on the shim and one in the core, and so are its results
on the way out. Steps take turns over the lanes (stage_lanes.py), and in each lane with two sets of BDs and
two frames; before a step the results of the lane's last but one are waited for (of the last one, where
results are merged), so that all that it used is free again. BDs that are as they were are not written again.
Where a step loads nothing, the stream releases the lock that the core waits for: its value is written, which
adds to nothing, so that here, too, the last step's results are waited for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..formats.txn import BlockWrite, DdrPatch, Operation, Sync, Transaction, Write32
from ..npu.descriptors import BufferDescriptor, descriptor_offset, encode
from ..npu.limits import LIMITS
from ..npu.registers import register
from ..npu.topology import OWN_DATA_BASE, SHIM_ROW, Direction, TileAddress, TileKind
from .control import AXI_CACHE, BURST_CODE, DDR_APERTURE, DEVICE_COLUMNS, TRANSLATED_ARGUMENTS
from .stage_forms import Transfer
from .stage_lanes import Lane, shared_out
from .stage_numbers import Frame
from .stage_program import IN_FREE, IN_FULL, OUT_FREE, OUT_FULL, frame_address
from .stage_tiling import FRAME_SLOTS, StageTiling, Step

TRANSFERS_MAXIMUM = LIMITS[TileKind.COMPUTE].descriptors // FRAME_SLOTS
"""Of a step, both ways together: shim and core have 16 BDs each."""


@dataclass(frozen=True, slots=True)
class StepTransfers:
    """What a step moves: (transfer, offset in the core's memory), in order."""

    arriving: tuple[tuple[Transfer, int], ...]
    leaving: tuple[tuple[Transfer, int], ...]


def step_transfers(tiling: StageTiling, step: Step) -> StepTransfers:
    """Loaded tensors, then the words around results that are merged; and the results."""
    arriving = [(tiling.load(tensor, step), tiling.addresses[tensor]) for tensor in tiling.loads]
    leaving: list[tuple[Transfer, int]] = []
    for number, store in enumerate(tiling.staged.stores):
        entry = tiling.store(number, step), tiling.addresses[store.tensor]
        leaving.append(entry)
        if tiling.merged[number]:
            arriving.append(entry)
    return StepTransfers(tuple(arriving), tuple(leaving))


def arrival_count(tiling: StageTiling) -> int:
    """Transfers into the core per step."""
    return len(tiling.loads) + sum(tiling.merged)


@dataclass(frozen=True, slots=True)
class StageControl:
    """What makes the stream."""

    tiling: StageTiling
    frame: Frame
    lanes: tuple[Lane, ...]

    def transaction(self, positions: Mapping[int, int]) -> Transaction:
        """The stream; `positions` are the kernel's arguments by binding."""
        operations: list[Operation] = []
        emitters = [_LaneEmitter(self, lane, positions, operations) for lane in self.lanes]
        shares = shared_out(self.tiling, len(emitters))
        for number in range(max(map(len, shares))):
            for emitter, steps in zip(emitters, shares, strict=True):
                if number < len(steps):
                    emitter.step(number, steps[number], last=number + 1 == len(steps))
        for emitter in emitters:
            emitter.finish()
        return Transaction(tuple(operations), columns=DEVICE_COLUMNS)


@dataclass(slots=True)
class _LaneEmitter:
    control: StageControl
    lane: Lane
    positions: Mapping[int, int]
    operations: list[Operation]
    written: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    under_way: int = 0

    def step(self, number: int, step: Step, *, last: bool) -> None:
        tiling = self.control.tiling
        transfers = step_transfers(tiling, step)
        while self.under_way >= (1 if tiling.one_at_a_time else FRAME_SLOTS):
            self._wait()
        slot = number % FRAME_SLOTS
        self._frame(slot, step, following=0 if last else (slot + 1) % FRAME_SLOTS)
        first, leaving = slot * TRANSFERS_MAXIMUM, len(transfers.leaving)
        first_of_shim = self.lane.first_descriptor + slot * self.lane.slot_descriptors
        self._core_chain(transfers.leaving, first, Direction.MM2S, (OUT_FULL, OUT_FREE))
        if transfers.arriving:
            self._core_chain(transfers.arriving, first + leaving, Direction.S2MM, (IN_FREE, IN_FULL))
        else:
            self._release_frame()
        self._shim_chain(transfers.leaving, first_of_shim, Direction.S2MM, token=True)
        if transfers.arriving:
            self._shim_chain(transfers.arriving, first_of_shim + leaving, Direction.MM2S, token=False)
        self.under_way += 1

    def finish(self) -> None:
        while self.under_way:
            self._wait()

    def _wait(self) -> None:
        self.operations.append(Sync(self.lane.column, SHIM_ROW, Direction.S2MM.value, self.lane.level))
        self.under_way -= 1

    def _frame(self, slot: int, step: Step, following: int) -> None:
        tiling = self.control.tiling
        skips = {tensor: tiling.load(tensor, step).skip_bytes for tensor in tiling.loads}
        for number, store in enumerate(tiling.staged.stores):
            skips[store.tensor] = tiling.store(number, step).skip_bytes
        words = [*self.control.frame.values(step, skips), frame_address(following)]
        address = self.lane.core.address(frame_address(slot) - OWN_DATA_BASE)
        self._block(address, tuple(word & 0xFFFFFFFF for word in words))

    def _release_frame(self) -> None:
        lock = register(TileKind.COMPUTE, "LOCK_VALUE")
        value = lock.encode(LOCK_VALUE=1)
        self.operations.append(Write32(self.lane.core.address(lock.at(IN_FULL)), value))

    def _core_chain(
        self,
        transfers: Sequence[tuple[Transfer, int]],
        first: int,
        direction: Direction,
        locks: tuple[int, int],
    ) -> None:
        acquire, release = locks
        for number, (transfer, offset) in enumerate(transfers, first):
            descriptor = BufferDescriptor(
                address=offset,
                length_words=transfer.core.length_words,
                steps=transfer.core.steps,
                wraps=transfer.core.wraps,
                next_bd=number + 1 if number + 1 < first + len(transfers) else None,
                acquire_enable=True,
                acquire_lock=acquire,
                acquire_value=-1,
                release_lock=release,
                release_value=1,
            )
            address = self.lane.core.address(descriptor_offset(TileKind.COMPUTE, number))
            words = encode(TileKind.COMPUTE, descriptor)
            if self.written.get(address) != words:
                self.written[address] = words
                self._block(address, words)
        self._push(self.lane.core, 0, direction, first)

    def _shim_chain(
        self, transfers: Sequence[tuple[Transfer, int]], first: int, direction: Direction, *, token: bool
    ) -> None:
        for number, (transfer, _) in enumerate(transfers, first):
            descriptor = BufferDescriptor(
                address=0,
                length_words=transfer.shim.length_words,
                steps=transfer.shim.steps,
                wraps=transfer.shim.wraps,
                next_bd=number + 1 if number + 1 < first + len(transfers) else None,
                burst_code=BURST_CODE,
                axi_cache=AXI_CACHE,
            )
            address = self.lane.shim.address(descriptor_offset(TileKind.SHIM, number))
            self._block(address, encode(TileKind.SHIM, descriptor))
            argument = self.positions[transfer.binding]
            aperture = DDR_APERTURE if argument >= TRANSLATED_ARGUMENTS else 0
            self.operations.append(DdrPatch(address + 4, argument, transfer.offset_bytes + aperture))
        self._push(self.lane.shim, self.lane.level, direction, first, token=token)

    def _block(self, address: int, words: tuple[int, ...]) -> None:
        self.operations.append(BlockWrite(address, words))

    def _push(
        self, tile: TileAddress, channel: int, direction: Direction, first: int, *, token: bool = False
    ) -> None:
        queue = register(tile.kind, f"DMA_{direction.name}_START_QUEUE")
        value = queue.encode(START_BD_ID=first, ENABLE_TOKEN_ISSUE=int(token))
        self.operations.append(Write32(tile.address(queue.at(channel)), value))


def explained(tiling: StageTiling, cores: int) -> Iterator[str]:
    """For --explain."""
    staged = tiling.staged
    ops = ", ".join(stage.op for stage in staged.stages)
    stages = f"{len(staged.stages)} stage{'s' * (len(staged.stages) > 1)}"
    where = "one core" if cores == 1 else f"{cores} cores"
    yield f"{staged.name}: {stages} ({ops}) on {where}, scalar code"
    sizes = " x ".join(map(str, tiling.axes.sizes)) or "1"
    tiles = " x ".join(map(str, tiling.tiles)) or "1"
    yield f"tile {tiles} of {sizes}, in {tiling.step_count} steps"
    if tiling.steps_of_a_result > 1:
        yield f"sums are carried on over {tiling.steps_of_a_result} steps"
    for number, tensor in enumerate(staged.tensors):
        form = tiling.forms[number]
        stored = any(store.tensor == number for store in staged.stores)
        kind = (
            "constant" if tensor.resident else "loaded" if tensor.loaded else "result" if stored else "kept"
        )
        shape = "tile by tile" if form.regular else "runs of memory, indexed inside"
        yield f"{kind} {'x'.join(map(str, tensor.shape))}x{tensor.element}: {form.size_bytes} bytes, {shape}"
    if tiling.serial:
        yield "words around a result's elements are loaded and stored back: one step after the other"
