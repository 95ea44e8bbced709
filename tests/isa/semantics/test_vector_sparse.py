"""Sparse data against models that follow aie_api's description of the format, and its own example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aiepipe.errors import EmulationError
from tests.emulator.core.bench import ENGINES, NOPS, OWN, Bench, Engine, assemble

from .vectors import Lanes, as_lanes, as_number, numbers, run

PLACE = 0x1000
EXAMPLE = bytes(
    [0b0000_0011, 0, 0b0001_0000, 0, 0, 0, 0, 0, 1, 2, 3, 0]  # noqa: RUF005
    + [0b0001_0001, 0b0000_0001, 0, 0, 0, 0, 0, 0b1000_0000, 4, 5, 6, 7]
)
"""The buffer of aie_api's "Sparse Data Format": two masks of 64 bits, each with its data."""


def compressed(values: bytes, mask_bytes: int) -> bytes:
    """Masks and the bytes that are not zero, each group padded to a word."""
    result = b""
    for start in range(0, len(values), 8 * mask_bytes):
        part = values[start : start + 8 * mask_bytes]
        mask = sum(1 << i for i, byte in enumerate(part) if byte)
        data = bytes(byte for byte in part if byte)
        result += mask.to_bytes(mask_bytes, "little") + data + bytes(-len(data) % 4)
    return result


def half_sparse(dtype: Any, count: int, seed: int) -> Lanes:
    """Values of which at most two in four are not zero."""
    generator = np.random.default_rng(seed)
    values = numbers(dtype, count, seed).reshape(-1, 4)
    for group in values:
        group[generator.choice(4, generator.integers(2, 5), replace=False)] = 0
    return values.reshape(-1)


def loaded(engine: Engine, data: bytes, at: int, *statements: str) -> Bench:
    """The statements with p0 at `data` in memory."""
    code = assemble(*statements, *NOPS)
    bench = Bench(code, engine)
    bench.own[at : at + len(data)] = np.frombuffer(data, np.uint8)
    bench.set({"p0": OWN + at})
    return bench.step(len(statements) + len(NOPS))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_example_of_the_format(engine: Engine) -> None:
    bench = loaded(
        engine, EXAMPLE, PLACE,
        "vldb.sparse.reset.8 [p0]", "vldb.sparse.fill.8 [p0]",
        "vldb.sparse.pop.8 qwl1, [p0]", "vldb.sparse.pop.8 qwh1, [p0]",
    )  # fmt: skip
    low, high = as_lanes(bench["wl1"], np.uint8, 32), as_lanes(bench["wh1"], np.uint8, 32)
    assert list(low[:2]) == [1, 2]  # mask 0011 keeps A and B
    assert low[10:12].tolist() == [3, 0]  # bit 20, the first of its group: the lower half
    assert int(low.sum()) == 6
    assert high[:6].tolist() == [4, 0, 5, 0, 6, 0]
    assert high[30:].tolist() == [0, 7]  # bit 63, the last of its group: the upper half
    assert bench["q1"] == int.from_bytes(EXAMPLE[:8] + EXAMPLE[12:20], "little")
    assert bench["DP"] == OWN + PLACE + 24
    assert bench["p0"] == OWN + PLACE + 4 * 32


@pytest.mark.parametrize("engine", ENGINES)
def test_a_peek_leaves_the_data_for_the_next(engine: Engine) -> None:
    bench = loaded(
        engine, EXAMPLE, PLACE,
        "vldb.sparse.reset.8 [p0]", "vldb.sparse.fill.8 [p0]",
        "vldb.sparse.peek.8 qwl2, [p0]", "vldb.sparse.pop.8 qwl3, [p0]",
    )  # fmt: skip
    assert bench["wl2"] == bench["wl3"]
    assert bench["DP"] == OWN + PLACE + 12


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("at", [PLACE, PLACE + 4, PLACE + 28, 0x10000 - 160])
def test_compressed_vectors_come_whole_from_any_word(at: int, engine: Engine) -> None:
    generator = np.random.default_rng(at)
    values = generator.integers(0, 256, 96, dtype=np.uint8) * (generator.random(96) < 0.7)
    values = values.astype(np.uint8)
    bench = loaded(
        engine, compressed(values.tobytes(), 4), at,
        "vldb.compr.reset [p0]", "vldb.compr.fill [p0]",
        *(f"vldb.compr.pop {name}, [p0]" for name in ("wl0", "wh0", "wl1")),
    )  # fmt: skip
    got = np.concatenate([as_lanes(bench[name], np.uint8, 32) for name in ("wl0", "wh0", "wl1")])
    assert np.array_equal(got, values)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_pointer_of_the_example_in_the_intrinsics_guide(engine: Engine) -> None:
    """UG1583: a vector without zeros takes a mask and 256 bits, one of zeros its mask."""
    values = bytes(range(1, 33)) + bytes(32)
    bench = loaded(
        engine, compressed(values, 4), 0,
        "vldb.compr.reset [p0]", "vldb.compr.fill [p0]", "vldb.compr.fill [p0]",
        "vldb.compr.pop wl0, [p0]", "vldb.compr.peek wl1, [p0]", "vldb.compr.pop wl1, [p0]",
    )  # fmt: skip
    assert (bench["p0"], bench["DP"]) == (OWN + 0xC0, OWN + 0x28)


# mode word -> x type, y type, M, K, N, accumulator type, shape of what is transposed (aie_api, mmul_*.hpp)
PRODUCTS: dict[int, tuple[Any, Any, int, int, int, Any]] = {
    0x3A8: (np.int8, np.int8, 4, 16, 8, np.int32),
    0x2A8: (np.int8, np.uint8, 4, 16, 8, np.int32),
    0x352: (np.int16, np.int8, 2, 16, 8, np.int64),
    0x3BA: (np.int16, np.int16, 2, 8, 8, np.int64),
    0x0BA: (np.uint16, np.uint16, 2, 8, 8, np.int64),
}


def as_the_api_gives_it(b: Lanes) -> tuple[Lanes, int]:
    """A matrix K x N as a register: what is left of its columns, transposed, and the mask by columns."""
    k, n = b.shape
    columns = b.T.reshape(n, k // 4, 4)
    kept = np.zeros((n, k // 4, 2), b.dtype)
    for column in range(n):
        for group in range(k // 4):
            there = np.flatnonzero(columns[column, group])
            if there.size == 1:
                kept[column, group, int(there[0]) // 2] = columns[column, group, there[0]]
            elif there.size == 2:
                kept[column, group] = columns[column, group, there]
    octets = b.T.copy().view(np.uint8).reshape(-1)
    mask = sum(1 << i for i, octet in enumerate(octets.tolist()) if octet)
    return kept.reshape(n, k // 2).T.copy().reshape(-1), mask


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", PRODUCTS)
def test_products_with_a_sparse_matrix(mode: int, engine: Engine) -> None:
    x_type, y_type, m, k, n, acc_type = PRODUCTS[mode]
    a = numbers(x_type, m * k, mode).reshape(m, k)
    b = half_sparse(y_type, k * n, mode).reshape(n, k).T
    values, mask = as_the_api_gives_it(b)
    acc = numbers(np.int16, m * n, 9).astype(acc_type)
    code = "vmac cm0, cm1, x6, qx2, r5"
    bench = run(code, engine, x6=a.reshape(-1), x2=values, q2=mask, cm1=acc, r5=mode)
    wanted: Lanes = acc.reshape(m, n) + a.astype(np.int64) @ b.astype(np.int64)
    assert np.array_equal(as_lanes(bench["cm0"], acc_type, m * n), wanted.astype(acc_type).reshape(-1))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sparse_matrix_from_memory(engine: Engine) -> None:
    """As aie_api does it: two pops, the transpose of the values (shuffle mode T8_8x8), the product."""
    b = half_sparse(np.int8, 128, 7).reshape(8, 16).T
    a = np.random.default_rng(8).integers(-128, 128, (4, 16), dtype=np.int8)
    data = compressed(b.T.copy().tobytes(), 8)
    code = assemble(
        "vldb.sparse.reset.8 [p0]", "vldb.sparse.fill.8 [p0]", "vldb.sparse.pop.8 qwl1, [p0]",
        "vldb.sparse.pop.8 qwh1, [p0]", *[""] * 10, "mova r0, #35", "movxm r5, #936",
        "vshuffle x1, x1, x1, r0", "", "", "vmul cm0, x6, qx1, r5", *NOPS,
    )  # fmt: skip
    bench = Bench(code, engine)
    bench.own[PLACE : PLACE + len(data)] = np.frombuffer(data, np.uint8)
    bench.set({"p0": OWN + PLACE, "x6": as_number(a)})
    bench.step(20 + len(NOPS))
    wanted = a.astype(np.int32) @ b.astype(np.int32)
    assert np.array_equal(as_lanes(bench["cm0"], np.int32, 32), wanted.reshape(-1))


@pytest.mark.parametrize("engine", ENGINES)
def test_sparse_bfloat16(engine: Engine) -> None:
    generator = np.random.default_rng(3)
    a = generator.integers(-8, 8, (4, 16)).astype(np.float32)
    b = generator.integers(-8, 8, (16, 4)).astype(np.float32)
    b.T.reshape(4, 4, 4)[:, :, :2] = 0
    b[:, 0] = 0
    a_bits, b_bits = ((v.view(np.uint32) >> 16).astype(np.uint16) for v in (a, np.ascontiguousarray(b)))
    values, mask = as_the_api_gives_it(b_bits)
    bench = run("vmul.f bml0, y3, qx2, r5", engine, y3=a_bits.reshape(-1), x2=values, q2=mask, r5=0x5C)
    assert np.array_equal(as_lanes(bench["bml0"], np.float32, 16), (a @ b).reshape(-1))


def test_four_bit_sparse_factors_are_refused() -> None:
    """Their place in the register is in no public source."""
    with pytest.raises(EmulationError, match="0x320"):
        run("vmul cm0, x3, qx2, r5", r5=0x320)
    with pytest.raises(EmulationError, match="VMUL_vmac_cm_core_sparse_wide"):
        run("vmul cm0, y3, qx2, r5", r5=0x320)
