"""Partitions of one to four columns, wherever they start, and several hardware contexts one after another."""

from __future__ import annotations

import numpy as np
import pytest

from aiepipe.formats import pdi, xclbin
from aiepipe.npu.descriptors import BufferDescriptor
from aiepipe.program import TensorType
from aiepipe.xrt import emulated
from aiepipe.xrt.emulation import emulation
from aiepipe.xrt.runner import BufferDirection, KernelBuffer, run_kernel

from .designs import MM2S, S2MM, Design, compute, dma, memtile, north, south
from .programs import OWN_LOCK, OWN_MEMORY, acquire, load, program, release, store

WORDS = TensorType((1,), "i32")


def multiplying(columns: int, factor: int) -> Design:
    """In each column a core, each in another row, multiplies a word by `factor` and its column + 1."""
    design = Design()
    for column in range(columns):
        row = 2 + column % 4
        tile = compute(column, row)
        design.shim_in(column, 0, north(0))
        design.shim_out(column, 0, north(0))
        design.tokens(column)
        design.connect(memtile(column), south(0), north(0))
        design.connect(memtile(column), north(0), south(0))
        for below in range(2, row):
            design.connect(compute(column, below), south(0), north(0))
            design.connect(compute(column, below), north(0), south(0))
        design.connect(tile, south(0), dma(0))
        design.connect(tile, dma(0), south(0))
        design.lock(tile, 0, 1)
        for bd, (acquires, releases) in enumerate(((0, 1), (2, 0))):
            design.bd(
                tile,
                bd,
                BufferDescriptor(
                    0x400,
                    1,
                    acquire_enable=True,
                    acquire_lock=acquires,
                    acquire_value=-1,
                    release_lock=releases,
                    release_value=1,
                    next_bd=bd,
                ),
            )
        design.start(tile, S2MM, 0, 0)
        design.start(tile, MM2S, 0, 1)
        program(
            design,
            tile,
            "again:",
            *acquire(OWN_LOCK + 1),
            *load(OWN_MEMORY + 0x400),
            f"mova r1, #{factor * (column + 1)}",
            "mul r0, r0, r1",
            *store(OWN_MEMORY + 0x400),
            *release(OWN_LOCK + 2),
            "j again",
        )
        design.transfer(S2MM, 2 * column + 1, 1, column=column)
        design.transfer(MM2S, 2 * column, 1, column=column)
    for column in range(columns):
        design.sync(column=column)
    return design


def packed(columns: int, factor: int, starts: tuple[int, ...] | None = None) -> tuple[bytes, bytes]:
    design = multiplying(columns, factor)
    image = pdi.from_files([design.cdo]).encode()
    built = xclbin.build(
        image, kernel="MULTIPLY", buffers=2 * columns, columns=columns, start_columns=starts
    ).encode()
    return built, design.stream.encode()


def call(file: bytes, stream: bytes, columns: int, value: int) -> list[int]:
    """The results of each column, in a context of its own."""
    buffers: list[KernelBuffer] = []
    for _ in range(columns):
        buffers.append(KernelBuffer(BufferDirection.IN, WORDS, np.array([value], np.int32)))
        buffers.append(KernelBuffer(BufferDirection.OUT, WORDS))
    result = run_kernel(file, stream, buffers, device=emulated, repeat=2)
    assert len(result.variants) == 1
    return [int(output[0]) for output in result.outputs]


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_a_partition_of_some_columns(columns: int) -> None:
    with emulation():
        assert call(*packed(columns, 3), columns, 5) == [15 * (column + 1) for column in range(columns)]


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4])
def test_a_partition_may_start_anywhere(start: int) -> None:
    """CDO and stream count columns from the partition's first one; the driver chooses where that is."""
    with emulation():
        assert call(*packed(1, 3, (start,)), 1, 7) == [21]


def test_contexts_one_after_another_and_in_turns() -> None:
    """More than may be open at once, of different designs; each starts from its own configuration."""
    first, second = packed(1, 3), packed(2, 5)
    with emulation():
        for value in range(1, 9):
            assert call(*first, 1, value) == [3 * value]
            assert call(*second, 2, value) == [5 * value, 10 * value]
