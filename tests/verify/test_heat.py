"""Cells of the heat map: shares, what they hold, and blocks at the edges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aiepipe.program import TensorType
from aiepipe.verdict import HeatMap
from aiepipe.verify.comparison import compare

POISON = b"\xa5" * 4


def heat(got: npt.NDArray[np.int32], want: npt.NDArray[np.int32]) -> HeatMap:
    type_ = TensorType(got.shape, "i32")
    mismatch = compare("result 0", got, want, type_, poison=POISON).mismatch
    assert mismatch is not None
    assert mismatch.heat is not None
    return mismatch.heat


def test_small_matrices_have_a_cell_for_each_element() -> None:
    want = np.full((3, 4), 7, np.int32)
    got = want.copy()
    got[0, 1], got[1, 2], got[2, 3] = 0, 99, np.frombuffer(POISON, np.int32)[0]
    assert heat(got, want) == HeatMap(3, 4, 1, 1, ("0900", "0090", "0009"), (".z..", "..x.", "...p"))


def test_large_matrices_are_blocked_and_one_wrong_element_shows() -> None:
    want = np.ones((300, 200), np.int32)
    got = want.copy()
    got[299, 199] = 0  # the last block has 300 - 3 * 99 = 3 rows and 2 columns
    got[0:3, 0:2] = 0
    found = heat(got, want)
    assert (found.rows, found.columns, found.block_rows, found.block_columns) == (300, 200, 3, 2)
    assert (len(found.wrong), len(found.wrong[0])) == (100, 100)
    assert found.wrong[0] == "9" + "0" * 99
    assert found.wrong[-1] == "0" * 99 + "2"  # 1 of 6: ceil(8 / 6)
    assert found.kinds[-1] == "." * 99 + "z"


def test_a_vector_is_wrapped_and_a_stack_shows_its_first_wrong_matrix() -> None:
    want = np.ones(130, np.int32)
    got = want.copy()
    got[129] = 0
    assert heat(got, want).wrong == ("0" * 128, "09" + "0" * 126)
    stack = np.ones((2, 3, 2, 2), np.int32)
    wrong = stack.copy()
    wrong[1, 1, 0, 0] = 0
    assert heat(wrong, stack).at == (1, 1)
    assert heat(wrong, stack).wrong == ("90", "00")


def test_a_scalar_is_one_cell() -> None:
    assert heat(np.array(1, np.int32), np.array(2, np.int32)).wrong == ("9",)
