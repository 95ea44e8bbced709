"""The design and the tasks that feed it agree: words sent are words that the core's BDs take."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe.codegen.configuration import TileDesign
from aiepipe.codegen.control import OneCoreControl, ShimChannel, Task
from aiepipe.codegen.core_memory import FIRST_CHAIN_BD, Lock
from aiepipe.codegen.lowering import LEFT, RESULT, RIGHT, Lowered, lower, lower_scalar
from aiepipe.codegen.matching import match
from aiepipe.codegen.problem import Contraction
from aiepipe.codegen.routes import CORE
from aiepipe.npu.limits import LIMITS, PROGRAM_MEMORY_BYTES
from aiepipe.npu.topology import TileKind
from aiepipe.program import Dispatch

from .dispatches import DispatchBuilder, fill, matmul, projected


def lowered(dispatch: Dispatch, tile: tuple[int, int, int] | None = None) -> Lowered:
    """In scalar code on one core."""
    problem = match(dispatch)
    return lower_scalar(problem, tile) if isinstance(problem, Contraction) else lower(problem)


def tasks_of(found: Lowered) -> tuple[Task, ...]:
    assert isinstance(found.control, OneCoreControl)
    return found.control.tasks


def core_of(found: Lowered) -> TileDesign:
    return found.design.tiles[CORE]


def sent(found: Lowered) -> Counter[ShimChannel]:
    """Words per channel."""
    words: Counter[ShimChannel] = Counter()
    for task in tasks_of(found):
        words[task.channel] += task.pattern.length_words
    return words


sizes = st.integers(1, 15)


@settings(max_examples=30, deadline=None)
@given(
    size=st.tuples(sizes, sizes, sizes),
    tile=st.tuples(sizes, sizes, st.integers(2, 15)),
    operand=st.sampled_from(("i8", "i16", "i32")),
    start=st.sampled_from((7, None)),
)
def test_words_sent_are_words_taken(
    size: tuple[int, int, int], tile: tuple[int, int, int], operand: str, start: int | None
) -> None:
    found = lowered(matmul(*size, operand=operand, fill=start), tile)
    descriptors = core_of(found).descriptors
    steps = sum(len(task.records) for task in tasks_of(found))
    tiles = len({task.group for task in tasks_of(found)})
    words = sent(found)
    assert words[LEFT] == steps * descriptors[0].length_words
    assert words[RESULT] == tiles * descriptors[1].length_words
    chain = [descriptors[number] for number in sorted(descriptors) if number >= FIRST_CHAIN_BD]
    ring = sum(descriptor.length_words for descriptor in chain)
    assert words[RIGHT] == (steps * ring if start is not None else tiles * ring)


def test_an_incoming_accumulator_leads_the_ring_of_the_right_operand() -> None:
    found = core_of(lowered(matmul(8, 8, 12, fill=None), (8, 8, 4))).descriptors
    ring = [FIRST_CHAIN_BD]
    while (following := found[ring[-1]].next_bd) != FIRST_CHAIN_BD:
        assert following is not None
        ring.append(following)
    assert [found[number].release_lock for number in ring] == [Lock.RESULT_LOADED, *[Lock.RIGHT_FULL] * 3]
    assert found[ring[0]].address == found[1].address  # where the result is made


def test_buffers_lie_apart_within_the_core() -> None:
    descriptors = core_of(lowered(matmul(256, 256, 256))).descriptors.values()
    spans = sorted((d.address, d.address + 4 * d.length_words) for d in descriptors)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert spans[-1][1] <= LIMITS[TileKind.COMPUTE].data_memory_bytes


def test_programs_are_small() -> None:
    image = lowered(matmul(63, 65, 17, operand="i8", fill=None)).image
    assert image is not None
    assert len(image.code) < PROGRAM_MEMORY_BYTES // 4


def test_steps_that_lie_one_after_the_other_are_one_task() -> None:
    found = lowered(matmul(16, 16, 64), (16, 16, 8))
    assert [task.channel for task in tasks_of(found)] == [RESULT, LEFT, RIGHT]
    assert len(tasks_of(found)[1].records) == 8


def test_a_constant_has_no_channel() -> None:
    builder = DispatchBuilder()
    left, right = builder.constant(bytes(48), 4, 3), builder.operand(3, 5)
    target = builder.binding(4, 5)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    builder.store(builder.contraction(left, right, builder.filled(0, 4, 5), maps, (4, 5, 3)), target)
    found = lowered(builder.done())
    assert LEFT not in sent(found)
    assert [len(task.records) for task in tasks_of(found) if task.channel == RIGHT] == [1]
    assert 0 not in core_of(found).descriptors


def test_a_fill_longer_than_its_chunk_ends_with_a_chunk_that_overlaps() -> None:
    found = lowered(fill(1, 5000, element="i32"))
    assert core_of(found).descriptors[1].length_words == 4096
    assert [(task.offset_bytes, task.pattern.length_words) for task in tasks_of(found)] == [
        (0, 4096),
        (4 * 904, 4096),
    ]
