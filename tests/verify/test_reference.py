"""The numpy reference; right values come from shared/reports/INDEX.md or from the arithmetic beside them."""

from __future__ import annotations

import struct

import numpy as np

from aiepipe.verify.reference import evaluate

from .source import filled_matmul


def test_seed_program_gives_39_everywhere() -> None:
    function = filled_matmul(64, 64, 16, struct.pack("<i", 7))
    (result,) = evaluate(function, [np.full((64, 16), 1, np.int32), np.full((16, 64), 2, np.int32)])
    assert result.dtype == np.int32
    assert (result == 39).all()


def test_i32_matmul_wraps_around() -> None:
    # report 26: fill -1, A = [[2^31-1, 2, ...]] in our own numbers: 2 * (2^31 - 1) - 1 = 2^32 - 3 = -3
    function = filled_matmul(1, 1, 1, struct.pack("<i", -1))
    (result,) = evaluate(function, [np.array([[2**31 - 1]], np.int32), np.array([[2]], np.int32)])
    assert result.tolist() == [[-3]]
