"""Where a matrix is wrong and what it holds there, in at most 128 x 128 cells: for HTML reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..verdict import HeatMap

Mask = npt.NDArray[np.bool_]

MOST_CELLS = 128
_VECTOR_COLUMNS = 128
_LETTERS = {"poison": "p", "zero": "z", "old value": "o", "other": "x"}
_ALL = 9


def heat_map(wrong: Mask, kinds: Sequence[tuple[str, Mask]]) -> HeatMap:
    """The map of `wrong`, whose elements `kinds` sorts by what they hold. Of a stack of matrices, the first
    one that has something wrong is shown."""
    at = _first_wrong(wrong)
    matrix = _matrix(wrong[at])
    rows, columns = matrix.shape
    down, across = (-(-max(length, 1) // MOST_CELLS) for length in (rows, columns))
    sizes = _block_sums(np.ones((rows, columns), np.int64), down, across)
    counts = _block_sums(matrix, down, across)
    by_kind = np.stack([_block_sums(_matrix(mask[at]), down, across) for _, mask in kinds])
    letters = np.array([_LETTERS.get(kind, "x") for kind, _ in kinds])
    held = np.where(counts > 0, letters[by_kind.argmax(axis=0)], ".")
    # a single wrong element must show, and only a cell that is wrong throughout is a 9
    shares = np.ceil(counts * (_ALL - 1) / np.maximum(sizes, 1)).astype(np.int64)
    shares[counts == sizes] = _ALL
    shares[counts == 0] = 0
    return HeatMap(
        rows,
        columns,
        down,
        across,
        tuple("".join(str(int(share)) for share in row) for row in shares),
        tuple("".join(str(letter) for letter in row) for row in held),
        at,
    )


def _first_wrong(wrong: Mask) -> tuple[int, ...]:
    if wrong.ndim < 3:
        return ()
    stacked = wrong.any(axis=(-2, -1))
    return tuple(int(i) for i in np.argwhere(stacked)[0])


def _matrix(mask: Mask) -> Mask:
    if mask.ndim == 2:
        return mask
    flat = mask.reshape(-1)
    columns = min(max(flat.size, 1), _VECTOR_COLUMNS)
    padded = np.zeros(-(-flat.size // columns) * columns, np.bool_)
    padded[: flat.size] = flat
    return padded.reshape(-1, columns)


def _block_sums(
    values: npt.NDArray[np.bool_] | npt.NDArray[np.int64], down: int, across: int
) -> npt.NDArray[np.int64]:
    rows, columns = values.shape
    tops: npt.NDArray[np.int64] = np.arange(0, rows, down, dtype=np.int64)
    lefts: npt.NDArray[np.int64] = np.arange(0, columns, across, dtype=np.int64)
    return np.add.reduceat(np.add.reduceat(values.astype(np.int64), tops, axis=0), lefts, axis=1)
