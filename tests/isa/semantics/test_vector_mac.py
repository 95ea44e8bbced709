"""The multiplier array: integers against numpy, bfloat16 against what a Phoenix gave."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aiepipe.errors import EmulationError
from tests.emulator.core.bench import ENGINES, NOPS, Bench, Engine, assemble

from .vectors import Lanes, as_lanes, as_number, numbers, run

SIGNED_X, SIGNED_Y = 1 << 9, 1 << 8

Complex = tuple[int, int]
"""Real and imaginary part: exact, where Python's complex is a float."""

# mode word -> (x type, y type, M, K, N, accumulator type); facts 3.1
MATRICES: dict[int, tuple[Any, Any, int, int, int, Any]] = {
    0x308: (np.int8, np.int8, 4, 8, 8, np.int32),
    0x008: (np.uint8, np.uint8, 4, 8, 8, np.int32),
    0x208: (np.int8, np.uint8, 4, 8, 8, np.int32),
    784: (np.int16, np.int8, 4, 4, 8, np.int32),
    792: (np.int16, np.int16, 4, 2, 8, np.int32),
    786: (np.int16, np.int8, 2, 8, 8, np.int64),
    818: (np.int16, np.int8, 4, 8, 4, np.int64),
    794: (np.int16, np.int16, 2, 4, 8, np.int64),
    826: (np.int16, np.int16, 4, 4, 4, np.int64),
    26: (np.uint16, np.uint16, 2, 4, 8, np.int64),
    770: (np.int32, np.int16, 4, 2, 4, np.int64),
}


def lanes_of(dtype: Any, seed: int) -> Lanes:
    signed = numbers(np.dtype(dtype).str.replace("u", "i"), 64 // np.dtype(dtype).itemsize, seed)
    return signed.view(dtype)


def matrix_product(mode: int, x: Lanes, y: Lanes) -> Lanes:
    x_type, y_type, m, k, n, acc_type = MATRICES[mode]
    a = x.view(x_type)[: m * k].reshape(m, k).astype(object)
    b = y.view(y_type)[: k * n].reshape(k, n).astype(object)
    bits = np.iinfo(acc_type).bits
    wrapped = [(int(v) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) for v in (a @ b).reshape(-1)]
    return np.array(wrapped, dtype=acc_type)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", MATRICES)
def test_matrix_products(mode: int, engine: Engine) -> None:
    x_type, y_type, _, _, _, acc_type = MATRICES[mode]
    x, y = lanes_of(x_type, 1), lanes_of(y_type, 2)
    product = matrix_product(mode, x, y)
    acc = numbers(acc_type, 128 // np.dtype(acc_type).itemsize, 3)
    bench = run("vmac cm0, cm1, x2, x3, r5", engine, x2=x, x3=y, cm1=acc, r5=mode)
    wanted = acc.copy()
    wanted[: product.size] += product
    assert np.array_equal(as_lanes(bench["cm0"], acc_type, acc.size), wanted)


def test_four_bit_factors() -> None:
    x, nibbles = lanes_of(np.int8, 4), np.random.default_rng(5).integers(-8, 8, 128)
    packed = (nibbles[0::2] & 15 | (nibbles[1::2] & 15) << 4).astype(np.uint8)
    bench = run("vmul cm0, x2, x3, r5", x2=x, x3=packed, r5=0x300)
    wanted = x.reshape(4, 16).astype(np.int32) @ nibbles.reshape(16, 8)
    assert np.array_equal(as_lanes(bench["cm0"], np.int32, 32), wanted.reshape(-1))


# mode word -> (type of both factors, outputs, taps, channels, accumulator type): UG1583's mul_conv_MxN_Cch
CONVOLUTIONS: dict[int, tuple[Any, int, int, int, Any]] = {
    0x348: (np.int8, 4, 4, 8, np.int32),
    0x368: (np.int8, 8, 8, 4, np.int32),
    0x388: (np.int8, 32, 8, 1, np.int32),
    0x088: (np.uint8, 32, 8, 1, np.int32),
    0x37A: (np.int16, 16, 4, 1, np.int64),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", CONVOLUTIONS)
def test_convolutions(mode: int, engine: Engine) -> None:
    dtype, outputs, taps, channels, acc_type = CONVOLUTIONS[mode]
    x, y = lanes_of(dtype, 21), lanes_of(dtype, 22)
    bench = run("vmul cm0, x2, x3, r5", engine, x2=x, x3=y, r5=mode)
    data = x[: (outputs + taps - 1) * channels].reshape(-1, channels).astype(np.int64)
    kernel = y[: taps * channels].reshape(taps, channels).astype(np.int64)
    wanted = np.stack([(data[n : n + taps] * kernel).sum(0) for n in range(outputs)]).reshape(-1)
    assert np.array_equal(as_lanes(bench["cm0"], acc_type, wanted.size), wanted.astype(acc_type))


@pytest.mark.parametrize("engine", ENGINES)
def test_lane_by_lane(engine: Engine) -> None:
    x, y = lanes_of(np.int16, 6), lanes_of(np.int16, 7)
    one = run("vmul cm0, x2, x3, r5", engine, x2=x, x3=y, r5=824)
    assert np.array_equal(as_lanes(one["cm0"], np.int32, 32), x.astype(np.int32) * y)
    two = run("vmul cm0, x2, x3, r5", engine, x2=x, x3=y, r5=858)
    products = x.astype(np.int64) * y
    assert np.array_equal(as_lanes(two["cm0"], np.int64, 16), products[:16] + products[16:])


def product(a: Complex, b: Complex) -> Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def conjugated(a: Complex) -> Complex:
    return a[0], -a[1]


# llvm-aie's aiev2_defines.h: OP_TERM_NEG_COMPLEX and its relatives
MASKS: dict[int, Callable[[Complex, Complex], Complex]] = {
    0x0A: product,
    0xA0: lambda a, b: product(conjugated(a), b),
    0x50: lambda a, b: product(a, conjugated(b)),
    0xFA: lambda a, b: product(conjugated(a), conjugated(b)),
}


def parts(lanes: Lanes) -> list[Complex]:
    return [(int(re), int(im)) for re, im in lanes.reshape(-1, 2)]


def interleaved(values: list[Complex]) -> Lanes:
    return np.array(values, dtype=np.int64).reshape(-1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mask", MASKS)
def test_complex_products(mask: int, engine: Engine) -> None:
    """mul_elem_8_2 of cint16 by cint16, mul_elem_8 of cint32 by cint16, either operand conjugated."""
    y = lanes_of(np.int16, 32)
    of = MASKS[mask]
    x = lanes_of(np.int16, 31)
    both = [of(a, b) for a, b in zip(parts(x), parts(y), strict=True)]
    two = [(p[0] + q[0], p[1] + q[1]) for p, q in zip(both[:8], both[8:], strict=True)]
    bench = run("vmul cm0, x2, x3, r5", engine, x2=x, x3=y, r5=mask << 16 | 0x300 | 4 << 5 | 3 << 3 | 1 << 1)
    assert np.array_equal(as_lanes(bench["cm0"], np.int64, 16), interleaved(two))
    x = lanes_of(np.int32, 33)
    one = [of(a, b) for a, b in zip(parts(x), parts(y)[:8], strict=True)]
    acc = numbers(np.int64, 16, 34) >> 4
    bench = run(
        "vmsc cm0, cm1, x2, x3, r5", engine, x2=x, x3=y, cm1=acc, r5=mask << 16 | 0x300 | 1 << 5 | 1 << 1
    )
    assert np.array_equal(as_lanes(bench["cm0"], np.int64, 16), acc - interleaved(one))


@pytest.mark.parametrize(("mask", "sign"), [(0x9C, -1), (0xC6, 1)])
def test_complex_butterflies(mask: int, sign: int) -> None:
    """aie_api's radix-4 stages: with the parts of y exchanged, OP_TERM_NEG_COMPLEX_BUTTERFLY makes -j
    times the difference of the products, the conjugate one j times that of the products with conjugated y."""
    x, y = lanes_of(np.int16, 35), lanes_of(np.int16, 36)
    exchanged = y.reshape(-1, 2)[:, ::-1].reshape(-1)
    of = product if sign < 0 else MASKS[0x50]
    both = [of(a, b) for a, b in zip(parts(x), parts(y), strict=True)]
    differences = [(p[0] - q[0], p[1] - q[1]) for p, q in zip(both[:8], both[8:], strict=True)]
    wanted = [(-sign * im, sign * re) for re, im in differences]
    mode = mask << 16 | 0x300 | 4 << 5 | 3 << 3 | 1 << 1
    bench = run("vmul cm0, x2, x3, r5", x2=x, x3=exchanged, r5=mode)
    assert np.array_equal(as_lanes(bench["cm0"], np.int64, 16), interleaved(wanted))


@pytest.mark.parametrize(
    "mode",
    [0x0001_0308, 0x0100_039A, 0x0002_0322],
    ids=["of-real-numbers", "nine-bits", "halves-apart"],
)
def test_a_sub_mask_without_meaning_is_an_error(mode: int) -> None:
    bench = Bench(assemble("vmul cm0, x2, x3, r5", *NOPS)).set({"r5": mode})
    with pytest.raises(EmulationError, match="mode word"):
        bench.core.run(10)


@pytest.mark.parametrize("engine", ENGINES)
def test_32_bit_products_in_four_steps(engine: Engine) -> None:
    """The sequence and mode words that mlir-aie emits for i32 (its test Conversion/AIEVecToLLVM/mul_elem):
    high halves, then shift16 and the cross products, then shift16 and the low halves."""
    a, b = numbers(np.int32, 16, 8), numbers(np.int32, 16, 9)
    low = [np.append(v.view(np.uint16)[0::2], np.zeros(16, np.uint16)) for v in (a, b)]
    high = [np.append(v.view(np.uint16)[1::2], np.zeros(16, np.uint16)) for v in (a, b)]
    code = assemble(
        "vmul cm0, x1, x3, r1", *[""] * 5, "vmac cm0, cm0, x1, x2, r2", *[""] * 5,
        "vmac cm0, cm0, x0, x3, r3", *[""] * 5, "vmac cm0, cm0, x0, x2, r4", *NOPS,
    )  # fmt: skip
    registers = {
        "x0": as_number(low[0]),
        "x1": as_number(high[0]),
        "x2": as_number(low[1]),
        "x3": as_number(high[1]),
    }
    bench = Bench(code, engine).set({**registers, "r1": 858, "r2": 1626, "r3": 346, "r4": 1114}).step(30)
    assert np.array_equal(as_lanes(bench["cm0"], np.int64, 16), a.astype(np.int64) * b)


@pytest.mark.parametrize("engine", ENGINES)
def test_signs_of_the_relatives(engine: Engine) -> None:
    """`neg` negates the sum of accumulator and product, `sub` the second accumulator."""
    x, y = lanes_of(np.int8, 10), lanes_of(np.int8, 11)
    p = matrix_product(0x308, x, y)
    a, b = numbers(np.int32, 32, 12), numbers(np.int32, 32, 13)
    wanted = {
        "vmul cm0, x2, x3, r5": p,
        "vnegmul cm0, x2, x3, r5": -p,
        "vmac cm0, cm1, x2, x3, r5": a + p,
        "vmsc cm0, cm1, x2, x3, r5": a - p,
        "vnegmac cm0, cm1, x2, x3, r5": -a - p,
        "vnegmsc cm0, cm1, x2, x3, r5": -a + p,
        "vaddmac cm1, cm1, cm2, x2, x3, r5": a + b + p,
        "vaddmsc cm1, cm1, cm2, x2, x3, r5": a + b - p,
        "vsubmac cm1, cm1, cm2, x2, x3, r5": a - b + p,
        "vsubmsc cm1, cm1, cm2, x2, x3, r5": a - b - p,
        "vadd cm0, cm1, cm2, r5": a + b,
        "vsub cm0, cm1, cm2, r5": a - b,
        "vnegadd cm0, cm1, cm2, r5": -a - b,
        "vnegsub cm0, cm1, cm2, r5": -a + b,
        "vneg cm0, cm1, r5": -a,
        "vclr cm0": np.zeros_like(a),
    }
    for statement, value in wanted.items():
        destination = statement.split()[1].rstrip(",")
        bench = run(statement, engine, x2=x, x3=y, cm1=a, cm2=b, r5=0x308)
        assert np.array_equal(as_lanes(bench[destination], np.int32, 32), value), statement


def test_bits_of_the_mode_word_zero_and_negate() -> None:
    x, y = lanes_of(np.int8, 14), lanes_of(np.int8, 15)
    p, a = matrix_product(0x308, x, y), numbers(np.int32, 32, 16)
    for bits, wanted in ((1, p), (1 << 11, a - p), (1 << 12, p - a), (1 << 10, (a << 16) + p)):
        bench = run("vmac cm0, cm1, x2, x3, r5", x2=x, x3=y, cm1=a, r5=0x308 | bits)
        assert np.array_equal(as_lanes(bench["cm0"], np.int32, 32), wanted)


@pytest.mark.parametrize("engine", ENGINES)
def test_accumulation_chains_every_second_bundle(engine: Engine) -> None:
    """acc to acc along the bypass: distance 2; at distance 1 the old accumulator is read (facts 2.2)."""
    ones = np.ones(64, np.int8)
    given = {"x2": as_number(ones), "x3": as_number(ones), "r5": 0x308}
    chained = Bench(assemble("vmac cm0, cm0, x2, x3, r5", "", "vmac cm0, cm0, x2, x3, r5", *NOPS), engine)
    close = Bench(assemble("vmac cm0, cm0, x2, x3, r5", "vmac cm0, cm0, x2, x3, r5", *NOPS), engine)
    assert as_lanes(chained.set(given).step(14)["cm0"], np.int32, 32)[0] == 16
    assert as_lanes(close.set(given).step(13)["cm0"], np.int32, 32)[0] == 8


def test_a_mode_word_without_meaning_is_an_error() -> None:
    bench = Bench(assemble("vmac cm0, cm0, x2, x3, r5", *NOPS)).set({"r5": 0x3FF})
    with pytest.raises(EmulationError, match="mode word") as caught:
        bench.core.run(10)
    assert (caught.value.kind, caught.value.tile) == ("unknown-instruction", "core (0,2)")


@pytest.mark.parametrize("engine", ENGINES)
def test_sums_of_bfloat16_products_are_what_silicon_gives(corpus: Path, engine: Engine) -> None:
    """54 tiles of 4x8 by 8x4, with overflow and NaN among them."""
    found = json.loads((corpus / "golden" / "silicon" / "vec_mac_bf16_ovf.json").read_text())
    a = np.array(found["input_a"], dtype=np.uint16).reshape(-1, 32)
    b = np.array(found["input_b"], dtype=np.uint16).reshape(-1, 32)
    wanted = np.array(found["silicon"], dtype=np.uint32).reshape(-1, 16)
    bench = Bench(assemble("vmul.f bml0, x0, x1, r5", *NOPS, "j #0", *[""] * 5), engine)
    for x, y, z in zip(a, b, wanted, strict=True):
        bench.set({"x0": as_number(x), "x1": as_number(y), "r5": 28}).step(19)
        assert np.array_equal(as_lanes(bench["bml0"], np.uint32, 16), z)


def bf16(values: Lanes) -> Lanes:
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("engine", ENGINES)
def test_exact_float_sums(engine: Engine) -> None:
    """Small integers: every step is exact, whatever the rounding."""
    generator = np.random.default_rng(17)
    a, b = (generator.integers(-100, 100, 32).astype(np.float32) for _ in range(2))
    c, d = (generator.integers(-1000, 1000, 16).astype(np.float32) for _ in range(2))
    product = (a.reshape(4, 8) @ b.reshape(8, 4)).reshape(-1)
    pairs = (a * b)[:16] + (a * b)[16:]
    wanted = {
        "vmac.f bml0, bml1, x2, x3, r5": c + product,
        "vmsc.f bml0, bml1, x2, x3, r5": c - product,
        "vnegmul.f bml0, x2, x3, r5": -product,
        "vmul.f bml0, x2, x3, r6": pairs,
        "vaddmac.f bml1, bml1, bmh1, x2, x3, r5": c + d + product,
        "vaddmsc.f bml1, bml1, bmh1, x2, x3, r5": c + d - product,
        "vadd.f bml0, bml1, bmh1, r5": c + d,
        "vsub.f bml0, bml1, bmh1, r5": c - d,
        "vnegadd.f bml0, bml1, bmh1, r5": -c - d,
        "vnegsub.f bml0, bml1, bmh1, r5": -c + d,
        "vneg.f bml0, bml1, r5": -c,
    }
    for statement, value in wanted.items():
        bench = run(statement, engine, x2=bf16(a), x3=bf16(b), bml1=c, bmh1=d, r5=28, r6=60)
        got = as_lanes(bench[statement.split()[1].rstrip(",")], np.float32, 16)
        assert np.array_equal(got, value), statement


def test_a_term_keeps_23_bits_below_the_largest_exponent() -> None:
    """1 + 2^-24 + 2^-24: each small product rounds to even at 2^-23, that is to nothing; exactly it would
    be 1 + 2^-23."""
    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    x[:3], y[[0, 4, 8]] = [1.0, 2.0**-12, 2.0**-12], [1.0, 2.0**-12, 2.0**-12]
    bench = run("vmul.f bml0, x2, x3, r5", x2=bf16(x), x3=bf16(y), r5=28)
    assert as_lanes(bench["bml0"], np.float32, 16)[0] == 1.0
    assert float(Fraction(1) + 2 * Fraction(1, 1 << 24)) != 1.0
