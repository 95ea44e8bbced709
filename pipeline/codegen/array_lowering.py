"""A contraction on the multiplier array of one core or many: plan, program, design, control."""

from __future__ import annotations

from dataclasses import dataclass

from ..isa.assembler import CodeImage, assemble
from ..npu.limits import PROGRAM_MEMORY_BYTES
from . import array_design, array_search, vector_program
from .array_stream import ArrayControl, expressible
from .configuration import Design
from .kernel_shape import KernelDoesNotFit
from .problem import Constant, Contraction


@dataclass(frozen=True, slots=True)
class ArrayLowered:
    """The parts of `lowering.Lowered`."""

    design: Design
    image: CodeImage
    control: ArrayControl
    notes: tuple[str, ...]


def lower(
    problem: Contraction,
    largest_tile: tuple[int, int, int] | None,
    *,
    cores: int,
    grid: tuple[int, int] | None = None,
) -> ArrayLowered | None:
    """On at most `cores` cores or just on `grid`; None for what the multiplier array does not take."""
    begin = problem.initial.value if isinstance(problem.initial, Constant) else None
    for plan in array_search.plans(problem, cores=cores, grid=grid, tile=largest_tile):
        if not expressible(plan):
            continue
        try:
            program = array_design.program(plan, begin)
            image = assemble(vector_program.statements(program))
        except KernelDoesNotFit:
            continue
        if len(image.code) > PROGRAM_MEMORY_BYTES:
            continue
        found = array_design.design(plan, image.code)
        notes = (*plan.notes(), f"program: {len(image.code)} bytes of {PROGRAM_MEMORY_BYTES}")
        return ArrayLowered(found.design, image, ArrayControl(plan, found.memories), notes)
    return None
