"""Permutes against numpy; the shuffle modes by what their names say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aiepipe.errors import EmulationError
from tests.emulator.core.bench import ENGINES, Engine

from .vectors import as_lanes, run

BYTES = np.arange(64, dtype=np.uint8)
MORE = np.arange(64, 128, dtype=np.uint8)
DTYPES: dict[int, Any] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("amount", [0, 1, 4, 31, 32, 63])
def test_vshift_takes_bytes_out_of_the_pair(amount: int, engine: Engine) -> None:
    bench = run("vshift x0, x1, x2, r3", engine, x1=BYTES, x2=MORE, r3=amount)
    assert list(as_lanes(bench["x0"], np.uint8, 64)) == list(range(amount, amount + 64))
    aligned = run("vshift.align x0, x1, s0, x2, r3", engine, x1=BYTES, x2=MORE, r3=amount, s0=0)
    assert aligned["x0"] == bench["x0"]


@pytest.mark.parametrize("amount", [64, 0xFFFF_FFFF])
def test_vshift_by_a_register_and_more_leaves_nothing(amount: int) -> None:
    assert run("vshift x0, x1, x2, r3", x0=BYTES, x1=BYTES, x2=MORE, r3=amount)["x0"] == 0


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_lanes_in_and_out(width: int) -> None:
    dtype, count = DTYPES[width], 512 // width
    lanes = BYTES.view(dtype)
    scalar, source = (0x1122_3344_5566_7788, "l2") if width == 64 else (0x5566_7788, "r3")
    small = dtype(scalar & (1 << width) - 1)
    given: dict[str, Any] = {"x1": BYTES, source: scalar, "r29": 3, "r16": 2}
    assert np.array_equal(
        as_lanes(run(f"vbcst.{width} x0, {source}", **given)["x0"], dtype, count), np.full(count, small)
    )
    inserted = lanes.copy()
    inserted[3] = small
    bench = run(f"vinsert.{width} x0, x1, r29, {source}", **given)
    assert np.array_equal(as_lanes(bench["x0"], dtype, count), inserted)
    high = run(f"vpush.hi.{width} x0, x1, {source}", **given)
    low = run(f"vpush.lo.{width} x0, {source}, x1", **given)
    assert np.array_equal(as_lanes(high["x0"], dtype, count), np.append(lanes[1:], small))
    assert np.array_equal(as_lanes(low["x0"], dtype, count), np.insert(lanes[:-1], 0, small))
    spread = run(f"vextbcst.{width} x0, x1, #2", **given)
    assert np.array_equal(as_lanes(spread["x0"], dtype, count), np.full(count, lanes[2]))
    out = "l3" if width == 64 else "r5"
    assert run(f"vextract.s{width} {out}, x1, r16", **given)[out] == int(lanes[2])


def test_extraction_extends_by_its_sign() -> None:
    lanes = np.full(64, 0x85, dtype=np.uint8)
    for crsign, dynamic in ((0, 0x85), (1, 0xFFFF_FF85)):
        assert run("vextract.s8 r5, x1, r16", x1=lanes, r16=1, crVaddSign=crsign)["r5"] == 0xFFFF_FF85
        assert run("vextract.d8 r5, x1, r16", x1=lanes, r16=1, crVaddSign=crsign)["r5"] == dynamic


# mode -> (lane width, rows, columns): T<width>_<rows>x<columns> of llvm-aie's aiev2_enums.h
PAIRS = {
    0: (8, 64, 2),
    2: (16, 32, 2),
    4: (32, 16, 2),
    6: (64, 8, 2),
    14: (64, 2, 8),
    16: (32, 2, 16),
    18: (16, 2, 32),
    20: (8, 2, 64),
    24: (16, 16, 4),
    26: (16, 4, 16),
    30: (32, 8, 4),
    32: (32, 4, 8),
}
SINGLE = {
    28: (16, 8, 4),
    29: (16, 4, 8),
    34: (32, 4, 4),
    35: (8, 8, 8),
    36: (8, 16, 4),
    37: (8, 4, 16),
    44: (16, 16, 2),
    45: (16, 2, 16),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", PAIRS)
def test_a_pair_of_registers_is_a_matrix_to_transpose(mode: int, engine: Engine) -> None:
    width, rows, columns = PAIRS[mode]
    matrix = np.concatenate([BYTES, MORE]).view(DTYPES[width]).reshape(rows, columns)
    halves = np.split(np.ascontiguousarray(matrix.T).reshape(-1), 2)
    for number, half in enumerate(halves):
        bench = run("vshuffle x0, x1, x2, r3", engine, x1=BYTES, x2=MORE, r3=mode + number)
        assert np.array_equal(as_lanes(bench["x0"], DTYPES[width], 512 // width), half)


@pytest.mark.parametrize("mode", SINGLE)
def test_one_register_is_a_matrix_to_transpose(mode: int) -> None:
    width, rows, columns = SINGLE[mode]
    matrix = BYTES.view(DTYPES[width]).reshape(rows, columns)
    bench = run("vshuffle x0, x1, x2, r3", x1=BYTES, x2=MORE, r3=mode)
    wanted = np.ascontiguousarray(matrix.T).reshape(-1)
    assert np.array_equal(as_lanes(bench["x0"], DTYPES[width], 512 // width), wanted)


def test_wide_lanes_change_places() -> None:
    pair = np.concatenate([BYTES, MORE])
    for mode, order in (
        (8, [0, 2, 4, 6]),
        (9, [1, 3, 5, 7]),
        (12, [0, 4, 1, 5]),
        (10, [0, 1, 4, 5]),
        (22, [0, 1, 2, 3]),
    ):
        wanted = pair.reshape(8, 16)[order].reshape(-1)
        bench = run("vshuffle x0, x1, x2, r3", x1=BYTES, x2=MORE, r3=mode)
        assert np.array_equal(as_lanes(bench["x0"], np.uint8, 64), wanted), mode


@pytest.mark.parametrize("engine", ENGINES)
def test_a_broadcast_and_shuffle_that_a_phoenix_did(engine: Engine) -> None:
    """xdna-emu: r29 = 0x45bac25a (its low six bits: mode 26, T16_4x16_lo) gave A A 0 0 B B 0 0 C C 0 0 ..."""
    words = [0xA1D6, 0xEA99, 0xC25A, 0x45BA]
    value = sum(word << 16 * n for n, word in enumerate(words))
    # l6 is r29:r28, so the upper half of what is broadcast is the mode register itself
    bench = run("vbcstshfl.64 x0, l6, r29", engine, l6=value)
    wanted = [lane for word in words for lane in (word, word, 0, 0)] * 2
    assert as_lanes(bench["x0"], np.uint16, 32).tolist() == wanted


@pytest.mark.parametrize("mode", [2, 28, 34, 37])
def test_a_broadcast_and_shuffle_is_the_shuffle_of_the_broadcast_and_zeros(mode: int) -> None:
    lanes = np.full(16, 0x0403_0201, np.uint32)
    one = run("vbcstshfl.32 x0, r3, r29", r3=0x0403_0201, r29=mode)
    two = run("vshuffle x0, x1, x2, r3", x1=lanes, x2=np.zeros(16, np.uint32), r3=mode)
    assert one["x0"] == two["x0"]


def test_the_broadcast_and_shuffle_that_is_not_known_is_refused() -> None:
    with pytest.raises(EmulationError, match="vbcstshfl mode 0"):
        run("vbcstshfl.32 x0, r3, r29", r3=1, r29=64)
