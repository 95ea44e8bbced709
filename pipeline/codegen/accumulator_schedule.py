"""When the kernel loads and stores accumulators: one set of them while the other is multiplied into."""

from __future__ import annotations

from collections.abc import Callable

from .kernel_shape import BundleTable, KernelShape
from .matrix_modes import VECTOR_BYTES, Accumulator, MatrixMode
from .operand_schedule import LOAD_LATENCY, OperandPlan
from .pointer_moves import (
    IMMEDIATES,
    LOAD_POINTER,
    LOAD_WALK,
    NARROW_IMMEDIATES,
    STORE_POINTER,
    STORE_WALK,
    Modifiers,
    Moves,
)

# bundles from a load of an accumulator until a multiplication may add to it (the load's latency, less the
# two bundles that the unit reads accumulators later), and from the multiplication until a store may read it
_LOADED_AFTER = {Accumulator.LANES32: 5, Accumulator.LANES64: 7, Accumulator.FLOAT: 5}
_STORED_AFTER = {Accumulator.LANES32: 5, Accumulator.LANES64: 5, Accumulator.FLOAT: 6}

ZERO_SHIFT = "s0"


def accumulator(shape: KernelShape, group: int, index: int) -> str:
    """The register of the `index`-th block of a group: cm0 to cm7, or bml0, bmh0, ... for floats."""
    blocks = shape.step_bundles
    number = (group % 2) * blocks + index
    if shape.mode.accumulator is Accumulator.FLOAT:
        return f"bm{'lh'[number % 2]}{number // 2}"
    return f"cm{number}"


def begin_register(mode: MatrixMode) -> str:
    """The accumulator that holds what sums begin with."""
    return "bml8" if mode.accumulator is Accumulator.FLOAT else "cm8"


class AccumulatorSchedule:
    """Loads and stores of the accumulators, in pieces of one load, ordered as they stand in memory."""

    def __init__(self, shape: KernelShape, *, begins: bool) -> None:
        self.shape = shape
        self.begins = begins
        mode = shape.mode
        per_block = mode.result_block_bytes // VECTOR_BYTES
        # memory has the blocks of one column group after the other: (accumulator, part of it)
        self.order = [
            (row * mode.column_blocks + column, part)
            for column in range(mode.column_blocks)
            for row in range(mode.row_blocks)
            for part in range(per_block)
        ]
        self.pieces = len(self.order)
        self.loads: list[int] = []
        self.stores: list[int] = []

    def place(self, period: int, plan: OperandPlan) -> bool:
        """Finds times relative to the group's first product; False where `period` is too short."""
        shape, kind = self.shape, self.shape.mode.accumulator
        last = (shape.steps - 1) * shape.step_bundles
        self.stores = []
        for index, _ in self.order:
            ready = last + index + _STORED_AFTER[kind]
            self.stores.append(max(ready, self.stores[-1] + 1) if self.stores else ready)
        if self.stores[-1] - self.stores[0] >= period:
            return False
        if self.begins:
            self.loads = []
            # the next group in these registers overwrites them
            return all(
                time < 2 * period + index + _STORED_AFTER[kind]
                for time, (index, _) in zip(self.stores, self.order, strict=True)
            )
        busy = self._busy(period, plan)
        self.loads = []
        if len(busy) + self.pieces > period:
            return False
        following = 1 << 30
        for index, _ in reversed(self.order):
            time = min(index - _LOADED_AFTER[kind], following - 1)
            while time % period in busy:
                time -= 1
            busy.add(time % period)
            self.loads.insert(0, time)
            following = time
        return all(load + 2 * period >= store for load, store in zip(self.loads, self.stores, strict=True))

    def _busy(self, period: int, plan: OperandPlan) -> set[int]:
        """When the load unit that accumulators come through is used for operands."""
        side = plan.left if plan.left.slot == "lda" else plan.right
        return {
            (step * self.shape.step_bundles + landing - LOAD_LATENCY) % period
            for step in range(self.shape.steps)
            for landing in side.landing
        }

    def code(self, bundles: BundleTable, start: int, group: int, moves: Moves, modifiers: Modifiers) -> None:
        def access(
            slot: str, pointer: str, walk: int, times: list[int], text: Callable[[str, str], str]
        ) -> None:
            narrow = self.shape.mode.accumulator is Accumulator.LANES64
            immediates = NARROW_IMMEDIATES if narrow else IMMEDIATES[slot]
            for piece, (time, (index, part)) in enumerate(zip(times, self.order, strict=True)):
                register = self._part(accumulator(self.shape, group, index), part)
                if piece + 1 == self.pieces:
                    bundles.add(start + time, slot, text(register, ".2d") + f"[{pointer}], d{walk}")
                else:
                    modifier = modifiers.text(moves.within[piece], immediates)
                    bundles.add(start + time, slot, text(register, "") + f"[{pointer}], {modifier}")

        if not self.begins:
            access("lda", LOAD_POINTER, LOAD_WALK, self.loads, self._load_text)
        access("st", STORE_POINTER, STORE_WALK, self.stores, self._store_text)

    def _load_text(self, register: str, dimensions: str) -> str:
        if self.shape.mode.accumulator is Accumulator.LANES64:
            return f"vlda{dimensions}.ups.s64.s32 {register}, {ZERO_SHIFT}, "
        return f"vlda{dimensions} {register}, "

    def _store_text(self, register: str, dimensions: str) -> str:
        if self.shape.mode.accumulator is Accumulator.LANES64:
            return f"vst{dimensions}.srs.s32.s64 {register}, {ZERO_SHIFT}, "
        return f"vst{dimensions} {register}, "

    def _part(self, accumulator: str, part: int) -> str:
        """The part that one access moves: 32 bytes of memory."""
        match self.shape.mode.accumulator:
            case Accumulator.LANES32:  # cm7 is amll7, amlh7, amhl7, amhh7
                return f"am{'lh'[part // 2]}{'lh'[part % 2]}{accumulator[2:]}"
            case Accumulator.LANES64:
                return f"bm{'lh'[part]}{accumulator[2:]}"
            case Accumulator.FLOAT:  # bml3 is amll3, amlh3
                return f"am{accumulator[2]}{'lh'[part]}{accumulator[3:]}"
            case Accumulator.HALVES:
                raise AssertionError("products by halves have a kernel of their own (halves_kernel.py)")
