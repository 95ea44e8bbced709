"""From a problem to one core's design and the tasks that feed it.

The design is the same for all tiles; what differs from step to step is in the tasks and their records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import UnsupportedOp
from ..isa.assembler import CodeImage, assemble
from ..npu.descriptors import BufferDescriptor
from ..npu.limits import WORD_BYTES
from ..npu.topology import OWN_DATA_BASE, Direction
from . import array_lowering, fill_program, matmul_program
from .boxes import Box
from .configuration import Channel, Design, TileDesign
from .control import Control, OneCoreControl, ShimChannel, Task, record_address
from .core_memory import FIRST_CHAIN_BD, RECORD_SLOTS, Layout, Lock, initial_locks, layout
from .problem import Constant, Contraction, Fill, Nothing, Operand, Problem
from .routes import CORE, TOKENS, Connection, from_core, to_core
from .tiling import ResultTile, Step, Tiling, choose, tiles
from .transfers import Dimension, Pattern, pattern

LEFT, RIGHT, RESULT = ShimChannel(0, output=False), ShimChannel(1, output=False), ShimChannel(0, output=True)

_LEFT_BD, _RESULT_BD = 0, 1

_MERGED_STEPS = RECORD_SLOTS // 3
"""Steps that one task may feed: the records of three such tasks are in use at a time."""

FILL_CHUNK_WORDS = 4096
"""A chunk of 16 KiB is sent again and again; larger ones would only make the core begin later."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """All that the artifact is made of; `image` is the code of each core. `notes` say what was chosen and
    why."""

    design: Design
    image: CodeImage | None
    control: Control
    notes: tuple[str, ...] = field(default=())


def lower(
    problem: Problem,
    largest_tile: tuple[int, int, int] | None = None,
    *,
    cores: int = 1,
    grid: tuple[int, int] | None = None,
) -> Lowered:
    """On up to `cores` cores, or just `grid`, with the multiplier array where it takes the problem.

    Raises UnsupportedOp where the problem is too large in a way that no tiling mends.
    """
    match problem:
        case Contraction():
            found = array_lowering.lower(problem, largest_tile, cores=cores, grid=grid)
            if found is not None:
                return Lowered(found.design, found.image, found.control, found.notes)
            if problem.epilogue is not None:
                raise _not_on_the_array(problem)
            return lower_scalar(problem, largest_tile)
        case Fill():
            return _lower_fill(problem)
        case Nothing():
            design = _one_core(TileDesign(b"", {}, {}, {}, ()), TOKENS)
            notes = (f"{problem.op}: nothing to compute, nothing is run",)
            return Lowered(design, None, OneCoreControl(()), notes)


def _not_on_the_array(problem: Contraction) -> UnsupportedOp:
    return UnsupportedOp(
        f"{problem.op} and what is fused with it do not go to the multiplier array",
        location=problem.location,
        remedy="give operands whose rows are whole words, and operands of the fused op that are the same for "
        "all rows",
        op=problem.op,
    )


def _one_core(part: TileDesign, connections: tuple[Connection, ...]) -> Design:
    return Design({CORE: part}, connections)


# --------------------------------------------------------------------------- contractions


def lower_scalar(contraction: Contraction, largest_tile: tuple[int, int, int] | None = None) -> Lowered:
    """On one core, in scalar code, whatever the multiplier array could do. Raises UnsupportedOp."""
    tiling = choose(contraction, largest_tile)
    problem = tiling.problem
    memory = layout(tiling.left.size_bytes, tiling.right.size_bytes, tiling.result.size_bytes)
    planned = tuple(tiles(tiling))
    shape = matmul_program.shape_of([(step.columns, step.inner) for tile in planned for step in tile.steps])
    records = [[_record(step, memory, shape) for step in tile.steps] for tile in planned]
    program = matmul_program.MatmulProgram(
        op=problem.op,
        left=_source(problem.left, tiling.left.core_strides, problem.row, problem.inner),
        right=_source(problem.right, tiling.right.core_strides, problem.column, problem.inner),
        result_row=tiling.result.core_strides[problem.row],
        result_column=tiling.result.core_strides[problem.column],
        initial=problem.initial if isinstance(problem.initial, Constant) else None,
        floats=problem.result.view.element == "f32",
        result_address=OWN_DATA_BASE + memory.result,
        result_words=tiling.result.words,
        records_address=record_address(0),
        shape=shape,
    )
    image = assemble(matmul_program.statements(program))
    idle_right = problem.right.resident and tiling.initial is None
    tasks = [
        task
        for tile, words in zip(planned, records, strict=True)
        for task in _tile_tasks(tiling, tile, [record.words() for record in words])
    ]
    core = TileDesign(
        code=image.code,
        data=_constants(problem, memory),
        locks=initial_locks(),
        descriptors=_descriptors(tiling, memory),
        channels=(
            *((Channel(Direction.S2MM, 0, _LEFT_BD),) * (not problem.left.resident)),
            *((Channel(Direction.S2MM, 1, FIRST_CHAIN_BD),) * (not idle_right)),
            Channel(Direction.MM2S, 0, _RESULT_BD),
        ),
    )
    connections = (
        *(to_core(0) * (not problem.left.resident)),
        *(to_core(1) * (not idle_right)),
        *from_core(0),
        *TOKENS,
    )
    control = OneCoreControl(tuple(tasks), serial=problem.in_place)
    return Lowered(_one_core(core, connections), image, control, tuple(_notes(tiling)))


def _source(operand: Operand, strides: tuple[int, ...], along: int, inner: int) -> matmul_program.Source:
    view = operand.view
    return matmul_program.Source(
        view.element_bytes, view.signed, strides[along], strides[inner], resident=operand.resident
    )


def _constants(problem: Contraction, memory: Layout) -> Mapping[int, bytes]:
    """Constants of the dispatch by their offset in the core's memory."""
    places = ((problem.left, memory.left), (problem.right, memory.right))
    return {offset: operand.view.data for operand, offset in places if operand.view.data is not None}


def _record(step: Step, memory: Layout, shape: matmul_program.Shape) -> matmul_program.Record:
    return matmul_program.Record(
        left=OWN_DATA_BASE + memory.left + step.left_skip,
        right=OWN_DATA_BASE + memory.right + step.right_skip,
        result=OWN_DATA_BASE + memory.result + step.result_skip,
        rows=step.rows,
        blocks=matmul_program.blocks_of(step.columns, shape),
        inner=step.inner,
        first=int(step.first),
        last=int(step.last),
    )


def _descriptors(tiling: Tiling, memory: Layout) -> Mapping[int, BufferDescriptor]:
    """The core's BDs: a ring of one for the left operand and one for the result; for the right operand
    too, or one that begins with the accumulator where that comes from memory."""
    left, right, result = tiling.left.words, tiling.right.words, tiling.result.words
    problem = tiling.problem
    found = {_RESULT_BD: _ring(memory.result, result, Lock.RESULT_FULL, Lock.RESULT_FREE, _RESULT_BD)}
    if not problem.left.resident:
        found[_LEFT_BD] = _ring(memory.left, left, Lock.LEFT_FREE, Lock.LEFT_FULL, _LEFT_BD)
    chain: list[tuple[int, int, Lock, Lock]] = []
    if tiling.initial is not None:
        chain.append((memory.result, result, Lock.RESULT_FREE, Lock.RESULT_LOADED))
    if not problem.right.resident:
        steps = 1 if tiling.initial is None else tiling.steps_per_tile
        chain += [(memory.right, right, Lock.RIGHT_FREE, Lock.RIGHT_FULL)] * steps
    for place, part in enumerate(chain):
        following = FIRST_CHAIN_BD + (place + 1) % len(chain)
        found[FIRST_CHAIN_BD + place] = _ring(*part, following)
    return dict(sorted(found.items()))


def _ring(address: int, words: int, acquire: Lock, release: Lock, following: int) -> BufferDescriptor:
    """A BD that takes its buffer when `acquire` is at least 1, hands it on, and goes to `following`."""
    return BufferDescriptor(
        address=address,
        length_words=words,
        next_bd=following,
        acquire_enable=True,
        acquire_lock=acquire,
        acquire_value=-1,
        release_lock=release,
        release_value=1,
    )


def _tile_tasks(tiling: Tiling, tile: ResultTile, records: Sequence[tuple[int, ...]]) -> Iterator[Task]:
    """The tasks of one tile in the order in which the core needs them; what it gives back comes first."""
    problem = tiling.problem
    group = tile.number
    yield _task(RESULT, group, problem.result, tile.result)
    if tile.initial is not None and isinstance(problem.initial, Operand):
        yield _task(RIGHT, group, problem.initial, tile.initial)
    inputs: list[tuple[int, Task]] = []
    for channel, operand, boxes in (
        (LEFT, problem.left, [step.left for step in tile.steps]),
        (RIGHT, problem.right, [step.right for step in tile.steps]),
    ):
        if operand.resident:
            continue
        carries = channel == LEFT or problem.left.resident
        for first, count, stride in _runs(boxes):
            carried = tuple(records[first : first + count]) if carries else ()
            task = _task(channel, group, operand, boxes[first], repeat=(count, stride))
            task = replace(task, records=carried)
            inputs.append((first, task))
    yield from (task for _, task in sorted(inputs, key=lambda entry: (entry[0], entry[1].channel)))


def _runs(boxes: Sequence[Box]) -> Iterator[tuple[int, int, int]]:
    """Boxes that one task can fetch one after the other: (first, count, stride in words)."""
    first = 0
    while first < len(boxes):
        count, stride = 1, 0
        if first + 1 < len(boxes):
            stride = (boxes[first + 1].offset_bytes - boxes[first].offset_bytes) // WORD_BYTES
        while (
            stride > 0
            and first + count < len(boxes)
            and count < _MERGED_STEPS
            and boxes[first + count].offset_bytes == boxes[first].offset_bytes + count * stride * WORD_BYTES
            and pattern(((count + 1, stride), *boxes[first].dimensions)) is not None
        ):
            count += 1
        yield first, count, stride
        first += count


def _task(
    channel: ShimChannel,
    group: int,
    operand: Operand,
    box: Box,
    *,
    repeat: Dimension = (1, 0),
) -> Task:
    found, binding = pattern((repeat, *box.dimensions)), operand.view.binding
    assert found is not None, "the tiling chose a box that no BD can fetch"
    assert binding is not None, "a constant is not transferred"
    return Task(channel, group, binding, box.offset_bytes, found)


def _notes(tiling: Tiling) -> Iterator[str]:
    problem = tiling.problem
    rows, columns, inner = tiling.counts
    sizes = (problem.loops[d] for d in (problem.row, problem.column, problem.inner))
    yield f"{problem.op}: {' x '.join(map(str, sizes))} (rows x columns x inner) on one core, scalar code"
    yield (
        f"tile {tiling.rows} x {tiling.columns} x {tiling.inner}, {rows} x {columns} x {inner} of them, "
        f"{tiling.tile_count} tiles of the result in {tiling.tile_count * tiling.steps_per_tile} steps"
    )
    for name, shape in (("left", tiling.left), ("right", tiling.right), ("result", tiling.result)):
        form = "tile by tile" if shape.regular else "aligned runs of memory, indexed inside"
        if shape.operand.resident:
            form = "a constant, with the program"
        yield f"{name} box: {shape.size_bytes} bytes, {form}"
    yield f"estimate: {tiling.cost} bundles"


# --------------------------------------------------------------------------- fills


def _lower_fill(problem: Fill) -> Lowered:
    if problem.offset_bytes % WORD_BYTES or problem.size_bytes % WORD_BYTES:
        raise UnsupportedOp(
            f"{problem.op} of {problem.size_bytes} bytes from byte {problem.offset_bytes}: the DMA moves "
            "words of 4 bytes, and would write beside the tensor",
            location=problem.location,
            remedy="fill a multiple of 4 bytes, or leave the fill to the host",
            op=problem.op,
        )
    total = problem.size_bytes // WORD_BYTES
    chunk = min(total, FILL_CHUNK_WORDS)
    address = layout(0, 0, chunk * WORD_BYTES).result
    program = fill_program.FillProgram(
        problem.op, OWN_DATA_BASE + address, chunk, fill_program.pattern_words(problem.pattern)
    )
    image = assemble(fill_program.statements(program))
    whole = total // chunk * chunk
    parts = [(0, whole)] if whole == total else [(0, whole), (total - chunk, chunk)]
    tasks = tuple(
        Task(RESULT, group, problem.binding, problem.offset_bytes + WORD_BYTES * first, _linear(words))
        for group, (first, words) in enumerate(parts)
    )
    ring = _ring(address, chunk, Lock.RESULT_FULL, Lock.RESULT_FREE, _RESULT_BD)
    core = TileDesign(
        code=image.code,
        data={},
        locks={Lock.RESULT_FREE: 1},
        descriptors={_RESULT_BD: ring},
        channels=(Channel(Direction.MM2S, 0, _RESULT_BD),),
    )
    return Lowered(
        _one_core(core, (*from_core(0), *TOKENS)),
        image,
        OneCoreControl(tasks),
        notes=(f"{problem.op}: {total} words from one core, in chunks of {chunk}",),
    )


def _linear(words: int) -> Pattern:
    found = pattern(((words, 1),))
    assert found is not None, "one run is always a BD"
    return found
