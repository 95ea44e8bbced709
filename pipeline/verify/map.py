"""A small drawing of where a matrix is wrong: at most 16 lines of 64 characters.

.  all of the block is right     +  some of it is wrong     #  all of it is wrong
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

MAX_ROWS = 16
MAX_COLUMNS = 64


def draw(wrong: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """One text line per row of blocks. A vector is wrapped into rows; of a stack of matrices, the first
    one that has something wrong is drawn (`Mismatch.batches` names it)."""
    matrix = _matrix(wrong)
    rows, columns = matrix.shape
    down, across = _edges(rows, MAX_ROWS), _edges(columns, MAX_COLUMNS)
    lines: list[str] = []
    for top, bottom in itertools.pairwise(down):
        cells = (matrix[top:bottom, left:right] for left, right in itertools.pairwise(across))
        lines.append("".join("#" if cell.all() else "+" if cell.any() else "." for cell in cells))
    return tuple(lines)


def _matrix(wrong: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    if wrong.ndim == 2:
        return wrong
    if wrong.ndim < 2:
        flat = wrong.reshape(-1)
        width = flat.size if flat.size <= MAX_COLUMNS else -(-flat.size // MAX_ROWS)
        padded = np.zeros(-(-flat.size // max(width, 1)) * width, np.bool_)
        padded[: flat.size] = flat
        return padded.reshape(-1, max(width, 1))
    stack = wrong.reshape(-1, *wrong.shape[-2:])
    return stack[int(np.argmax(stack.any(axis=(-2, -1))))]


def _edges(length: int, most: int) -> list[int]:
    """Where blocks begin; all of one size but the last, so that a block is a known range."""
    size = max(1, -(-length // most))
    return [*range(0, length, size), length]
