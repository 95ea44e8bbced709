"""The vector ALU against numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.emulator.core.bench import ENGINES, Engine

from .vectors import Lanes, as_lanes, numbers, run

WIDTHS = [(8, np.int8, np.uint8, 64), (16, np.int16, np.uint16, 32), (32, np.int32, np.uint32, 16)]
MASKS = {8: "l2", 16: "r20", 32: "r20"}
BF16: Any = ml_dtypes.bfloat16


def mask(bits: Lanes) -> int:
    return sum(1 << i for i, bit in enumerate(bits) if bit)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("width", "dtype", "_", "count"), WIDTHS)
def test_sums_and_masks(width: int, dtype: Any, _: Any, count: int, engine: Engine) -> None:
    a, b = numbers(dtype, count, 1), numbers(dtype, count, 2)
    choose = np.random.default_rng(3).integers(0, 2, count)
    given: dict[str, Any] = {"x1": a, "x2": b, MASKS[width]: mask(choose)}
    add = run(f"vadd.{width} x0, x1, x2", engine, **given)
    sub = run(f"vsub.{width} x0, x1, x2", engine, **given)
    select = run(f"vsel.{width} x0, x1, x2, {MASKS[width]}", engine, **given)
    both = run(f"vaddsub.{width} x0, x1, x2, {MASKS[width]}", engine, **given)
    assert np.array_equal(as_lanes(add["x0"], dtype, count), a + b)
    assert np.array_equal(as_lanes(sub["x0"], dtype, count), a - b)
    assert np.array_equal(as_lanes(select["x0"], dtype, count), np.where(choose, b, a))
    assert np.array_equal(as_lanes(both["x0"], dtype, count), np.where(choose, a - b, a + b))


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize(("width", "signed", "unsigned", "count"), WIDTHS)
def test_comparisons_with_the_sign_of_crvaddsign(
    width: int, signed: Any, unsigned: Any, count: int, sign: int
) -> None:
    dtype = signed if sign else unsigned
    a, b = numbers(signed, count, 4), numbers(signed, count, 5)
    b[5:9] = a[5:9]
    x, y = a.view(dtype), b.view(dtype)
    register = MASKS[width]
    wanted: dict[str, tuple[Lanes | None, Lanes]] = {
        "vge": (None, x >= y),
        "vlt": (None, x < y),
        "vmax_lt": (np.maximum(x, y), x < y),
        "vmin_ge": (np.minimum(x, y), x >= y),
        "vmaxdiff_lt": (np.where(x < y, 0, x - y).astype(dtype), x < y),
        "vsub_lt": (x - y, x < y),
        "vsub_ge": (x - y, x >= y),
    }
    for name, (value, holds) in wanted.items():
        result = "" if value is None else "x0, "
        bench = run(f"{name}.d{width} {result}{register}, x1, x2", x1=a, x2=b, crVaddSign=sign)
        assert bench[register] == mask(holds), name
        if value is not None:
            assert np.array_equal(as_lanes(bench["x0"], dtype, count), value), name


@pytest.mark.parametrize(("width", "dtype", "_", "count"), WIDTHS)
def test_one_operand(width: int, dtype: Any, _: Any, count: int) -> None:
    a, register = numbers(dtype, count, 6), MASKS[width]
    absolute = run(f"vabs_gtz.s{width} x0, {register}, x1", x1=a)
    negative = run(f"vneg_gtz{width} x0, {register}, x1", x1=a)
    inverse = run(f"vbneg_ltz.s{width} x0, {register}, x1", x1=a)
    zero = run(f"veqz.{width} {register}, x1", x1=a)
    assert np.array_equal(as_lanes(absolute["x0"], dtype, count), np.abs(a))
    assert np.array_equal(as_lanes(negative["x0"], dtype, count), -a)
    assert np.array_equal(as_lanes(inverse["x0"], dtype, count), ~a)
    assert (absolute[register], negative[register]) == (mask(a > 0), mask(a > 0))
    assert (inverse[register], zero[register]) == (mask(a < 0), mask(a == 0))


def test_bitwise() -> None:
    a, b = numbers(np.int32, 16, 7), numbers(np.int32, 16, 8)
    assert np.array_equal(as_lanes(run("vband x0, x1, x2", x1=a, x2=b)["x0"], np.int32, 16), a & b)
    assert np.array_equal(as_lanes(run("vbor x0, x1, x2", x1=a, x2=b)["x0"], np.int32, 16), a | b)


@pytest.mark.parametrize("engine", ENGINES)
def test_bfloat16_in_the_order_of_numbers(engine: Engine) -> None:
    values = [1.0, -1.0, 0.0, -0.0, np.inf, -np.inf, 3.5, -2.25, 1e-40, -1e-40, 5.0, 5.0, 2.0, 1.5, -7.0, 8.0]
    a = np.array(values * 2, dtype=BF16)
    b = np.array((values[1:] + values[:1]) * 2, dtype=BF16)
    less = a.astype(np.float32) < b.astype(np.float32)
    bench = run("vmax_lt.bf16 x0, r20, x1, x2", engine, x1=a, x2=b)
    assert bench["r20"] == mask(less)
    assert np.array_equal(as_lanes(bench["x0"], np.uint16, 32), np.where(less, b, a).view(np.uint16))
    assert run("vge.bf16 r20, x1, x2", engine, x1=a, x2=b)["r20"] == mask(~less)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_mv_slot_forwards_to_itself_one_bundle_early(engine: Engine) -> None:
    """Latency 2, but 1 along the bypass: flat 2 gives a wrong sum in reduce-add (emulation.md); a store
    has no bypass and sees the old value."""
    from tests.emulator.core.bench import NOPS, OWN, Bench, assemble  # noqa: PLC0415

    code = assemble(
        "vadd.32 x1, x2, x2", "vadd.32 x3, x1, x1; vst wl1, [p0, #0]", "vst wl1, [p0, #32]", *NOPS
    )
    bench = Bench(code, engine).set({"x1": 1, "x2": 5, "p0": OWN}).step(12)
    assert (bench["x1"], bench["x3"]) == (10, 20)
    assert (bench.own[0], bench.own[32]) == (1, 10)
