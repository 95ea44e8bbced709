"""What is fused with a matmul on the multiplier array: a loop over the core's tile of sums, in vector code
(vector_epilogue.py) where there is such for all of it, else in scalar code.

Sums stand as the multiplier leaves them: columns of blocks, each with all its rows. Results are written in
the same order, each as wide as its type, so that the DMA takes them as it takes sums. Along the rows of a
block's column nothing changes but the sum: that is the innermost loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..isa.assembler import ProgramStatement
from ..npu.limits import WORD_BYTES
from .core_memory import EpiloguePlaces
from .kernel_shape import KernelDoesNotFit, KernelShape
from .problem import Epilogue, Operand, View
from .stage_expression import Expression
from .stage_loops import StageLoops, StageShape, unrolls
from .stage_nest import Access, Level, Nest
from .stage_numbers import Frame, Number
from .stage_registers import VALUES, TooFewRegisters
from .vector_epilogue import vector_body, vector_cycles, vector_epilogue_statements

_SUMS, _RESULT, _FIRST_COLUMN = 0, 1, 2
"""Numbers of the tensors."""


def epilogue_statements(
    epilogue: Epilogue, shape: KernelShape, written: View, places: EpiloguePlaces
) -> list[ProgramStatement]:
    """The loop, for results as in `written`. Raises KernelDoesNotFit."""
    body = vector_body(epilogue, shape, written)
    found = None if body is None else vector_epilogue_statements(body, epilogue, shape, written, places)
    return _scalar(epilogue, shape, written, places) if found is None else found


def epilogue_cycles(epilogue: Epilogue, shape: KernelShape, written: View, words: int) -> int:
    """Of a tile of that many sums, for the cost model. In scalar code: one bundle for each node and element,
    as much again for latencies and loops."""
    body = vector_body(epilogue, shape, written)
    return words * (len(epilogue.body.graph.nodes) + 6) if body is None else vector_cycles(body, words)


def _scalar(
    epilogue: Epilogue, shape: KernelShape, written: View, places: EpiloguePlaces
) -> list[ProgramStatement]:
    nest = _nest(epilogue, shape, written, places.sums, places.columns)
    expression = Expression(epilogue.body, epilogue.op)
    values = [register for register in VALUES if register not in places.kept]
    constants = len(expression.constants)
    for unroll in unrolls(nest, expression, [nest.levels[-1].trip.constant]):
        for in_registers in (constants, constants // 2, 0):
            try:
                return StageLoops(
                    nest,
                    expression,
                    Frame(),
                    "epilogue",
                    StageShape(unroll, in_registers),
                    values=values,
                    bases={_RESULT: places.result},
                ).statements()
            except TooFewRegisters:
                continue
    raise KernelDoesNotFit("an epilogue with more values at a time than registers")


def _nest(epilogue: Epilogue, shape: KernelShape, result: View, sums: int, columns: Sequence[int]) -> Nest:
    width = shape.mode.columns
    # blocks of columns, columns of a block, rows
    trips = (shape.columns // width, width, shape.rows)
    moves = (shape.rows * width, 1, width)
    kept = [level for level, trip in enumerate(trips) if trip > 1]

    def access(tensor: int, element: str, size: int, base: int, elements: Sequence[int]) -> Access:
        strides = tuple(elements[level] * size for level in kept)
        return Access(tensor, element, size, Number(base), strides)

    arguments: list[Access | bytes | None] = []
    addresses = iter(enumerate(columns, _FIRST_COLUMN))
    for number, argument in enumerate(epilogue.arguments):
        if number == epilogue.total:
            arguments.append(access(_SUMS, "sum", WORD_BYTES, sums, moves))
        elif isinstance(argument, Operand):
            tensor, address = next(addresses)
            view = argument.view
            arguments.append(access(tensor, view.element, view.element_bytes, address, (width, 1, 0)))
        else:
            arguments.append(argument)
    written = access(_RESULT, result.element, result.element_bytes, 0, moves)
    levels = tuple(Level((level,), Number(trips[level]), reduction=False) for level in kept)
    return Nest(levels, tuple(arguments[:-1]), (None,), (written,), (Number(),) * len(trips))
