"""The core's program for a staged dispatch: for ever, wait for a step's tensors, run the stages, send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import UnsupportedOp
from ..isa.assembler import CodeImage, Label, ProgramStatement, Statement, assemble
from ..npu.limits import PROGRAM_MEMORY_BYTES
from ..npu.topology import OWN_DATA_BASE, OWN_LOCK_BASE
from .core_memory import STACK_BYTES
from .stage_expression import Expression
from .stage_loops import StageLoops, StageShape, unrolls
from .stage_nest import Nest, nest_of
from .stage_numbers import Frame
from .stage_registers import FRAME_POINTER, SCRATCH, TooFewRegisters
from .stage_tiling import FRAME_WORDS, StageTiling
from .vector_stage import vector_stage

IN_FREE, IN_FULL, OUT_FREE, OUT_FULL = range(4)
"""The core's locks: loaded tensors, results; each counts tensors. Where nothing is loaded, the stream
releases IN_FULL once a step."""


@dataclass(frozen=True, slots=True)
class StageProgram:
    """`frame` says which words the stream writes for each step; the next frame's address comes last."""

    image: CodeImage
    frame: Frame


def stage_program(tiling: StageTiling, arrivals: int) -> StageProgram:
    """The program; `arrivals` are the transfers into the core per step. Raises UnsupportedOp."""
    frame = Frame()
    body: list[ProgramStatement] = []
    for number in range(len(tiling.staged.stages)):
        body += _stage(tiling, number, frame)
    image = assemble(_whole(tiling, arrivals, body))
    if len(frame.words) >= FRAME_WORDS:
        raise _refused(tiling, 0, f"{len(frame.words)} numbers that differ from tile to tile")
    if len(image.code) > PROGRAM_MEMORY_BYTES:
        raise _refused(tiling, 0, f"{len(image.code)} bytes of program, of {PROGRAM_MEMORY_BYTES}")
    return StageProgram(image, frame)


def frame_address(slot: int) -> int:
    """Where the core finds a frame, in its own address space."""
    return OWN_DATA_BASE + STACK_BYTES + 4 * FRAME_WORDS * slot


def _whole(tiling: StageTiling, arrivals: int, body: list[ProgramStatement]) -> Iterator[ProgramStatement]:
    results = len(tiling.staged.stores)
    yield Statement(f"movi {FRAME_POINTER}, #{frame_address(0)}", "first frame")
    yield Label("step")
    for lock, count, what in (
        (IN_FULL, max(arrivals, 1), "wait for the tensors" if arrivals else "wait for the frame"),
        (OUT_FREE, results, "wait for room for the results"),
    ):
        yield Statement(f"movi {SCRATCH}, #{-count}", "")
        yield Statement(f"acq #{OWN_LOCK_BASE + lock}, {SCRATCH}", what)
    yield from body
    yield Statement(f"lda {SCRATCH}, [{FRAME_POINTER}], #0", "next frame", "frame")
    yield Statement(f"mov {FRAME_POINTER}, {SCRATCH}", "")
    for lock, count, what in (
        (IN_FREE, arrivals, "the tensors may be overwritten"),
        (OUT_FULL, results, "the results are complete"),
    ):
        if count:
            yield Statement(f"movi {SCRATCH}, #{count}", "")
            yield Statement(f"rel #{OWN_LOCK_BASE + lock}, {SCRATCH}", what)
    yield Statement("j step", "")


def _stage(tiling: StageTiling, number: int, frame: Frame) -> list[ProgramStatement]:
    stage = tiling.staged.stages[number]
    nest = nest_of(tiling, number, OWN_DATA_BASE)
    expression = Expression(stage.body, stage.op)
    counts = _innermost_counts(tiling, nest)
    in_vectors = vector_stage(nest, expression, frame, f"stage{number}", counts)
    if in_vectors is not None:
        return in_vectors
    constants = len(expression.constants)
    reason = ""
    for unroll in unrolls(nest, expression, counts):
        for kept in sorted({constants, constants * 3 // 4, constants // 2, constants // 4, 0}, reverse=True):
            words = len(frame.words)
            try:
                loops = StageLoops(nest, expression, frame, f"stage{number}", StageShape(unroll, kept))
                return loops.statements()
            except TooFewRegisters as found:
                del frame.words[words:]
                reason = str(found)
    raise _refused(tiling, number, f"it needs more {reason} than the core has registers for")


def _innermost_counts(tiling: StageTiling, nest: Nest) -> list[int]:
    """The trip counts that the innermost loop has in some step."""
    if not nest.levels:
        return [1]
    trip = nest.levels[-1].trip
    counts = {trip.constant}
    for axis, factor in trip.counts:
        size, tile = tiling.axes.sizes[axis], tiling.tiles[axis]
        counts = {trip.constant + factor * count for count in (tile, size % tile)}
    return sorted(counts)


def _refused(tiling: StageTiling, number: int, what: str) -> UnsupportedOp:
    stage = tiling.staged.stages[number]
    return UnsupportedOp(
        f"the built-in backend cannot lower {stage.op} of {tiling.staged.name}: {what}",
        location=stage.location,
        remedy="split the op into several that IREE does not fuse, or use another backend (--backend)",
        op=stage.op,
    )
