"""Boxes hold what the core will read, where it will look, and never leave their buffer."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from aiepipe.codegen.boxes import BoxShape, box_shape
from aiepipe.codegen.problem import Operand, View


def operand(shape: tuple[int, ...], element_bytes: int, *, base: int = 0) -> Operand:
    """A row-major tensor whose loops are its dimensions, at the end of its buffer."""
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    count = base + strides[0] * shape[0]
    view = View(0, f"i{8 * element_bytes}", element_bytes, count * element_bytes, base, shape, tuple(strides))
    return Operand(view, tuple(strides))


def fetched(shape: BoxShape, starts: tuple[int, ...]) -> list[int]:
    """The bytes' offsets in the buffer, in the order in which the core's memory gets them."""
    box = shape.at(starts)
    ranges = (range(count) for count, _ in box.dimensions)
    words = (
        sum(i * stride for i, (_, stride) in zip(index, box.dimensions, strict=True))
        for index in itertools.product(*ranges)
    )
    return [box.offset_bytes + 4 * word + byte for word in words for byte in range(4)]


@given(st.data())
def test_each_element_of_a_tile_is_where_the_core_looks(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    size = data.draw(st.sampled_from((1, 2, 4)))
    tensor = operand(shape, size, base=data.draw(st.integers(0, 5)))
    extents = tuple(data.draw(st.integers(1, extent)) for extent in shape)
    found = box_shape(tensor, shape, extents)
    grain = max(1, 4 // size) if found.regular else 1
    starts = tuple(
        data.draw(st.integers(0, (whole - extent) // grain)) * grain
        for whole, extent in zip(shape, extents, strict=True)
    )
    in_core = fetched(found, starts)
    assert len(in_core) == found.size_bytes
    assert min(in_core) >= 0
    assert max(in_core) < -(-tensor.view.buffer_bytes // 4) * 4
    for index in itertools.product(*(range(extent) for extent in extents)):
        memory = tensor.view.base + sum(
            (start + i) * stride for start, i, stride in zip(starts, index, tensor.strides, strict=True)
        )
        core = found.at(starts).skip_bytes + sum(
            i * stride for i, stride in zip(index, found.core_strides, strict=True)
        )
        assert in_core[core : core + size] == list(range(memory * size, memory * size + size))


def test_i8_rows_of_whole_words_travel_tile_by_tile() -> None:
    found = box_shape(operand((64, 64), 1), (64, 64), (16, 32))
    assert found.regular
    assert found.dimensions == ((16, 16), (8, 1))
    assert found.core_strides == (32, 1)


def test_i8_rows_of_odd_length_travel_as_one_run() -> None:
    found = box_shape(operand((64, 63), 1), (64, 63), (16, 63))
    assert not found.regular
    assert found.core_strides == (63, 1)
    # 16 rows of 63 bytes that may begin at any byte of a word
    assert found.words == (16 * 63 + 3 + 3) // 4


def test_a_broadcast_operand_does_not_move() -> None:
    vector = Operand(operand((16,), 4).view, (0, 1))
    found = box_shape(vector, (8, 16), (4, 16))
    assert found.core_strides == (0, 4)
    assert found.words == 16
