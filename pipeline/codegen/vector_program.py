"""The core's program for a matmul on the multiplier array: tiles of the result, for ever.

For each tile the core takes a buffer of the result and, step by step along the inner loop, pairs of
operand tiles; each step runs the kernel of `vector_kernel.py` and hands the operands' buffers back. All
buffers of operands are double: while one is used the DMA fills the other. The kernel is there twice, once
beginning the sums, once adding to them. All sizes are fixed; what lies beyond the problem's edges comes
as zeros from the memory tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..isa.assembler import BundleStatement, Label, LoopEnd, ProgramStatement, Statement
from ..npu.topology import OWN_DATA_BASE
from . import halves_kernel
from .accumulator_schedule import ZERO_SHIFT, begin_register
from .array_epilogue import epilogue_statements
from .core_memory import EpiloguePlaces, Lock
from .kernel_shape import KernelShape
from .matrix_modes import Accumulator
from .operand_schedule import LEFT_SHUFFLE, RIGHT_SHUFFLE
from .pointer_moves import LEFT_POINTER, LOAD_POINTER, RIGHT_POINTER, STORE_POINTER
from .problem import Epilogue, View
from .vector_kernel import MODE_WORD, Kernel, schedule_kernel


@dataclass(frozen=True, slots=True)
class VectorProgram:
    """`left`, `right` and `result` are offsets of the buffers in the core's memory, one or two each. Sums
    are kept in `sums`, the result's own buffers unless an `epilogue` makes results of them, with what comes
    for each of its operands into `columns`.

    A tile of the result takes `steps` steps. `begin` is the pattern that sums begin with, None where the
    result's buffer comes filled.
    """

    op: str
    shape: KernelShape
    left_signed: bool
    right_signed: bool
    left: Sequence[int]
    right: Sequence[int]
    sums: Sequence[int]
    result: Sequence[int]
    columns: Sequence[int]
    epilogue: Epilogue | None
    written: View
    steps: int
    begin: int | None


# Scalars: where the buffers in use are, and the sums of both places, by which they change
_LEFT, _RIGHT, _RESULT, _SENT = ("r8", "r11"), ("r9", "r12"), ("r10", "r13"), ("r14", "r15")
PERSISTENT = (*_LEFT, *_RIGHT, *_RESULT, *_SENT)
_STEPS, _SCRATCH, _ONE, _MINUS_ONE = "r20", "r21", "r28", "r29"

STEP_BUNDLES = 40
"""For the cost model: locks, pointers and the way around a step, measured."""


def statements(program: VectorProgram) -> Iterator[ProgramStatement]:
    """The program as assembly, from address 0. Raises KernelDoesNotFit."""
    more = program.steps - (program.begin is not None)
    halves = program.shape.mode.accumulator is Accumulator.HALVES
    begins = [None] if halves else [schedule_kernel(program.shape, begins=True)]
    begins = begins if program.begin is not None else []
    adds = [None if halves else schedule_kernel(program.shape, begins=False)] if more else []
    used = [kernel for kernel in (*begins, *adds) if kernel is not None]
    yield from _setup(program, used)
    yield Label("tile")
    if program.begin is None:
        yield Statement(f"acq #{Lock.RESULT_LOADED.core_id}, {_MINUS_ONE}", "wait for the accumulator")
    elif program.epilogue is None:
        yield Statement(f"acq #{Lock.RESULT_FREE.core_id}, {_MINUS_ONE}", "wait for room for a result tile")
    for kernel in begins:
        yield from _step(program, kernel, "begin")
    if more:
        yield Statement(f"movi {_STEPS}, #{more}", "steps of a tile")
        yield Label("step")
        yield from _step(program, adds[0], "add")
        yield Statement(f"add {_STEPS}, {_STEPS}, #-1", "a step is done")
        yield Statement(f"jnz {_STEPS}, step", "the next step along the inner loop")
    if program.epilogue is not None:
        yield from _epilogue(program, program.epilogue)
        yield from _fixed(program, used)
    yield Statement(f"rel #{Lock.RESULT_FULL.core_id}, {_ONE}", f"{program.op}: the tile is complete")
    yield from _change(*(_RESULT if program.epilogue is None else _SENT), program.result)
    yield Statement("j tile", "the next tile, for ever")


def _setup(program: VectorProgram, kernels: Sequence[Kernel]) -> Iterator[ProgramStatement]:
    yield Statement("mov crSat, #0", "results are cut, not held in range")
    yield Statement("mov crRnd, #0", "stores do not round")
    yield Statement("mov crSRSSign, #1", "stores are signed")
    yield Statement("mov crUPSSign, #1", "loads of sums are signed")
    yield Statement(f"movi {ZERO_SHIFT}, #0", "accumulators are stored as they are")
    for register, total, places in (
        (*_LEFT, program.left),
        (*_RIGHT, program.right),
        (*_RESULT, program.sums),
        *(() if program.epilogue is None else ((*_SENT, program.result),)),
    ):
        yield Statement(f"movi {register}, #{OWN_DATA_BASE + places[0]}", "the first buffer")
        if len(places) > 1:
            yield Statement(f"movi {total}, #{sum(places) + 2 * OWN_DATA_BASE}", "that and the second")
    yield from _fixed(program, kernels)
    if program.begin is not None:
        yield from _begin(program)


def _fixed(program: VectorProgram, kernels: Sequence[Kernel]) -> Iterator[ProgramStatement]:
    """What kernels and locks need in registers, and nothing of theirs changes."""
    mode = program.shape.mode
    word = mode.mode_word(left_signed=program.left_signed, right_signed=program.right_signed)
    yield Statement(f"movi {MODE_WORD}, #{word}", mode.name)
    yield Statement(f"movi {LEFT_SHUFFLE}, #{mode.transpose_left}", "how a block of A is turned")
    yield Statement(f"movi {RIGHT_SHUFFLE}, #{mode.transpose_right}", "how a block of B is turned")
    yield Statement(f"movi {_ONE}, #1", "releases")
    yield Statement(f"movi {_MINUS_ONE}, #-1", "acquires: at least one")
    settings: dict[str, int] = {}
    for kernel in kernels:
        for index, walk in kernel.walks:
            settings |= {
                f"dn{index}": walk.count,
                f"dj{index}": walk.inside,
                f"m{index}": walk.outside,
                f"dc{index}": 0,
            }
        for name, value in kernel.modifiers:
            assert settings.setdefault(name, value) == value, "kernels of one shape move alike"
    for name, value in settings.items():
        yield Statement(f"movi {name}, #{value}", "moves of pointers")
    if mode.accumulator is Accumulator.HALVES:
        yield from halves_kernel.setup()


def _epilogue(program: VectorProgram, epilogue: Epilogue) -> Iterator[ProgramStatement]:
    columns = len(program.columns)
    if columns:
        yield Statement(f"movi {_SCRATCH}, #{-columns}", "operands of the columns")
        yield Statement(f"acq #{Lock.COLUMNS_FULL.core_id}, {_SCRATCH}", "wait for them")
    yield Statement(f"acq #{Lock.RESULT_FREE.core_id}, {_MINUS_ONE}", "wait for room for a result tile")
    yield from epilogue_statements(
        epilogue,
        program.shape,
        program.written,
        EpiloguePlaces(
            OWN_DATA_BASE + program.sums[0],
            tuple(OWN_DATA_BASE + place for place in program.columns),
            _SENT[0],
            PERSISTENT,
        ),
    )
    if columns:
        yield Statement(f"movi {_SCRATCH}, #{columns}", "operands of the columns")
        yield Statement(f"rel #{Lock.COLUMNS_FREE.core_id}, {_SCRATCH}", "they may be overwritten")


def _begin(program: VectorProgram) -> Iterator[ProgramStatement]:
    """The accumulator that sums begin with: the value in each lane."""
    mode = program.shape.mode
    register = begin_register(mode)
    yield Statement(f"movi {_SCRATCH}, #{program.begin}", "linalg.fill: the value")
    yield Statement(f"vbcst.32 x0, {_SCRATCH}", "linalg.fill")
    match mode.accumulator:
        case Accumulator.LANES32:
            yield Statement("vmov bml8, x0", "linalg.fill")
            yield Statement("vmov bmh8, x0", "linalg.fill")
        case Accumulator.LANES64 | Accumulator.HALVES:
            yield Statement(f"vups.s64.s32 {register}, x0, {ZERO_SHIFT}", "linalg.fill")
        case Accumulator.FLOAT:
            yield Statement(f"vmov {register}, x0", "linalg.fill")


def _step(program: VectorProgram, kernel: Kernel | None, name: str) -> Iterator[ProgramStatement]:
    yield Statement(f"acq #{Lock.LEFT_FULL.core_id}, {_MINUS_ONE}", "wait for the left tile")
    yield Statement(f"acq #{Lock.RIGHT_FULL.core_id}, {_MINUS_ONE}", "wait for the right tile")
    for pointer, place, what in (
        (LEFT_POINTER, _LEFT[0], "A"),
        (RIGHT_POINTER, _RIGHT[0], "B"),
        (LOAD_POINTER, _RESULT[0], "sums to load"),
        (STORE_POINTER, _RESULT[0], "sums to store"),
    ):
        yield Statement(f"mov {pointer}, {place}", f"pointer to {what}")
    if kernel is None:
        yield from halves_kernel.statements(program.shape, name, program.op, begins=name == "begin")
    else:
        yield from _pipelined(program, kernel, name)
    yield Statement(f"rel #{Lock.LEFT_FREE.core_id}, {_ONE}", "the left tile may be overwritten")
    yield Statement(f"rel #{Lock.RIGHT_FREE.core_id}, {_ONE}", "the right tile may be overwritten")
    yield from _change(*_LEFT, program.left)
    yield from _change(*_RIGHT, program.right)


def _pipelined(program: VectorProgram, kernel: Kernel, name: str) -> Iterator[ProgramStatement]:
    if kernel.turns:
        yield Statement(f"movxm ls, #{name}_loop", "zero-overhead loop over pairs of groups")
        yield Statement(f"movxm le, #{name}_loop_end", "its end")
        yield Statement(f"movi lc, #{kernel.turns}", "its turns")
    yield from _bundles(program, kernel.head, f"{name} prologue")
    if kernel.turns:
        yield Label(f"{name}_loop")
        yield from _bundles(program, kernel.loop, f"{name} loop")
        yield LoopEnd(f"{name}_loop_end", f"{name}_loop")
        yield from _bundles(program, kernel.tail, f"{name} epilogue")


def _change(register: str, total: str, places: Sequence[int]) -> Iterator[ProgramStatement]:
    if len(places) > 1:
        yield Statement(f"sub {register}, {total}, {register}", "the other buffer")


def _bundles(
    program: VectorProgram, bundles: Sequence[tuple[str, ...]], phase: str
) -> Iterator[ProgramStatement]:
    for texts in bundles:
        roles = dict.fromkeys(_role(text) for text in texts)
        yield BundleStatement(texts, f"{program.op} {phase}: {', '.join(roles) or 'wait'}")


def _role(text: str) -> str:
    """What an instruction of a kernel is for, by what it works on."""
    if text.startswith("vmac"):
        return "multiply-add"
    if text.startswith("vshuffle"):
        return "turn A" if text.endswith(LEFT_SHUFFLE) else "turn B"
    pointer = next(name for name in _ROLE_OF if f"[{name}]" in text)
    return _ROLE_OF[pointer]


_ROLE_OF = {
    LEFT_POINTER: "load A",
    RIGHT_POINTER: "load B",
    LOAD_POINTER: "load sums",
    STORE_POINTER: "store sums",
}
