"""When the kernel loads its operands and turns transposed blocks round: software pipelining of one step.

Everything is relative to a step's first product and the same for all steps. A register may be loaded while
it is still read: until the latency is over a read sees the old value (facts/aie2-isa.md 2.2), and the
schedule has each piece land after the last product that wants the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .kernel_shape import BundleTable, KernelDoesNotFit, KernelShape
from .matrix_modes import VECTOR_BYTES
from .pointer_moves import (
    IMMEDIATES,
    LEFT_POINTER,
    LEFT_WALK,
    RIGHT_POINTER,
    RIGHT_WALK,
    Modifiers,
    Moves,
    Walk,
)

LOAD_LATENCY = 7
SHUFFLE_LATENCY = 2
"""Bundles until a multiplication may read what vshuffle made."""

VECTOR_REGISTERS = 12
LEFT_SHUFFLE, RIGHT_SHUFFLE = "r17", "r18"


@dataclass(slots=True)
class OperandSide:
    """One operand's loads. Times are relative to the step's first product.

    `landing[n]` is when piece n is there, `shuffles[b]` when block b is turned (None: it is not).
    `registers[s][b]` holds block b in steps of set s; `raw` are what turned blocks are loaded into.
    """

    slot: str
    pointer: str
    walk: int
    block_pieces: int
    landing: list[int]
    shuffles: list[int] | None
    shuffle_mode: str
    registers: list[list[str]]
    raw: list[str]
    moves: Moves

    def target(self, step: int, block: int) -> str:
        """The x register that is loaded for a block of a step."""
        if self.shuffles is not None:
            return self.raw[block % len(self.raw)]
        return self.registers[step % len(self.registers)][block]


@dataclass(slots=True)
class OperandPlan:
    left: OperandSide
    right: OperandSide

    @classmethod
    def of(cls, shape: KernelShape) -> OperandPlan:
        """Register sets as many as there is room for, at most two: with one, loads must come late."""
        for left_sets, right_sets in ((2, 2), (2, 1), (1, 2), (1, 1)):
            for raw in ((2, 2), (1, 2), (2, 1), (1, 1)):
                plan = cls._try(shape, (left_sets, right_sets), raw)
                if plan is not None:
                    return plan
        raise KernelDoesNotFit("no room in the vector registers")

    @classmethod
    def _try(cls, shape: KernelShape, sets: tuple[int, int], raw: tuple[int, int]) -> OperandPlan | None:
        mode = shape.mode
        pieces = (
            mode.row_blocks * mode.left_block_bytes // VECTOR_BYTES,
            mode.column_blocks * mode.right_block_bytes // VECTOR_BYTES,
        )
        # the operand with more loads has the load unit that nothing else uses
        slots = ("ldb", "lda") if pieces[0] >= pieces[1] else ("lda", "ldb")
        names = iter([f"x{n}" for n in range(VECTOR_REGISTERS)])
        turned = (shape.left_transposed, shape.right_transposed)
        blocks = (mode.row_blocks, mode.column_blocks)
        uses = (
            [(b * mode.column_blocks, (b + 1) * mode.column_blocks - 1) for b in range(mode.row_blocks)],
            [(b, (mode.row_blocks - 1) * mode.column_blocks + b) for b in range(mode.column_blocks)],
        )
        taken_shuffles: set[int] = set()
        sides: list[OperandSide] = []
        for side in (0, 1):
            count, per_block = pieces[side], pieces[side] // blocks[side]
            if count > shape.step_bundles:
                return None
            found = _landing(
                uses[side], per_block, shape.step_bundles, sets[side], raw[side], turned[side], taken_shuffles
            )
            if found is None:
                return None
            landing, shuffles = found
            try:
                registers = [[next(names) for _ in range(blocks[side])] for _ in range(sets[side])]
                spare = [next(names) for _ in range(raw[side])] if turned[side] else []
            except StopIteration:
                return None
            sides.append(
                OperandSide(
                    slot=slots[side],
                    pointer=(LEFT_POINTER, RIGHT_POINTER)[side],
                    walk=(LEFT_WALK, RIGHT_WALK)[side],
                    block_pieces=per_block,
                    landing=landing,
                    shuffles=shuffles,
                    shuffle_mode=(LEFT_SHUFFLE, RIGHT_SHUFFLE)[side],
                    registers=registers,
                    raw=spare,
                    moves=Moves((), 0, Walk(0, 0, 0)),
                )
            )
        return cls(*sides)


def _landing(
    uses: Sequence[tuple[int, int]],
    per_block: int,
    period: int,
    sets: int,
    raw: int,
    turned: bool,
    taken: set[int],
) -> tuple[list[int], list[int] | None] | None:
    """When the pieces of each block are there (and are turned), as late as their first use allows.

    `uses`: first and last product of the step that reads each block. None where a register would be
    overwritten too early. One load and one vshuffle may issue per bundle.
    """
    shuffles: list[int] = []
    landing: list[int] = []
    following = 1 << 30
    for first, last in reversed(uses):
        ready = first
        if turned:
            time = first - SHUFFLE_LATENCY
            if len(taken) == period:
                return None
            while time % period in taken or time > following:
                time -= 1
            taken.add(time % period)
            # the register is written one bundle after the vshuffle at the earliest
            if time + 1 <= last - sets * period:
                return None
            shuffles.insert(0, time)
            ready = time
        times: list[int] = []
        for _ in range(per_block):
            following = min(ready, following - 1)
            times.insert(0, following)
        if not turned and times[0] <= last - sets * period:
            return None
        landing = [*times, *landing]
    if landing[-1] - landing[0] >= period:
        return None
    if turned:
        for block, time in enumerate(shuffles):  # a raw register is loaded again only after it was turned
            again = block + raw
            if again < len(uses):
                arrival = landing[again * per_block]
            else:
                arrival = landing[block % raw * per_block] + period
            if arrival <= time:
                return None
        return landing, shuffles
    return landing, None


def _half(register: str, part: int) -> str:
    return f"w{'lh'[part]}{register[1:]}"


def operand_code(
    bundles: BundleTable, shape: KernelShape, plan: OperandPlan, start: int, group: int, modifiers: Modifiers
) -> None:
    for side in (plan.left, plan.right):
        moves, pieces = side.moves, len(side.landing)
        for step in range(shape.steps):
            at = start + step * shape.step_bundles
            number = group * shape.steps + step
            for piece in range(pieces):
                block, part = divmod(piece, side.block_pieces)
                time = at + side.landing[piece] - LOAD_LATENCY
                register = _half(side.target(number, block), part)
                if piece + 1 == pieces and step + 1 == shape.steps:
                    text = f"v{side.slot[0:2]}{side.slot[2]}.2d {register}, [{side.pointer}], d{side.walk}"
                else:
                    move = moves.between if piece + 1 == pieces else moves.within[piece]
                    modifier = modifiers.text(move, IMMEDIATES[side.slot])
                    text = f"v{side.slot} {register}, [{side.pointer}], {modifier}"
                bundles.add(time, side.slot, text)
            for block, time in enumerate(side.shuffles or ()):
                raw, register = (
                    side.target(number, block),
                    side.registers[number % len(side.registers)][block],
                )
                bundles.add(at + time, "mv", f"vshuffle {register}, {raw}, {raw}, {side.shuffle_mode}")
