"""Conversions against numpy and against what a Phoenix gave."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.core.bench import ENGINES, NOPS, OWN, Bench, Engine, assemble

from .vectors import Lanes, as_lanes, numbers, run

ROUNDING = (0, 1, 2, 3, 8, 9, 10, 11, 12, 13)


def rounded(value: Fraction, mode: int) -> int:
    """The integer that a mode of crRnd gives (names in llvm-aie's aiev2_defines.h)."""
    floor = value.numerator // value.denominator
    rest = value - floor
    if rest == 0:
        return floor
    away, toward = (floor, floor + 1) if value < 0 else (floor + 1, floor)
    directed = {0: floor, 1: floor + 1, 2: toward, 3: away}
    if mode in directed:
        return directed[mode]
    if rest != Fraction(1, 2):
        return floor + (rest > Fraction(1, 2))
    even = floor + floor % 2
    return {8: floor, 9: floor + 1, 10: toward, 11: away, 12: even, 13: 2 * floor + 1 - even}[mode]


def fitted(value: int, bits: int, saturation: int, signed: int) -> int:
    if saturation:
        top = (1 << bits - signed) - 1
        bottom = 0 if not signed else -top if saturation == 3 else -top - 1
        return max(bottom, min(top, value)) & (1 << bits) - 1
    return value & (1 << bits) - 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", ROUNDING)
def test_shift_round_saturate(mode: int, engine: Engine) -> None:
    acc = numbers(np.int32, 16, mode)
    acc[:12] = [0, 1, -1, 2, -2, 6, -6, 10, -10, 0x7FFF_FFFF, -0x8000_0000, 1 << 18]
    for saturation, signed, shift in ((0, 1, 2), (1, 1, 2), (3, 1, 14), (1, 0, 2), (1, 1, 0)):
        bench = run(
            "vsrs.d16.s32 wl0, bml1, s1", engine,
            bml1=acc, s1=shift, crRnd=mode, crSat=saturation, crSRSSign=signed,
        )  # fmt: skip
        wanted = [fitted(rounded(Fraction(int(v), 1 << shift), mode), 16, saturation, signed) for v in acc]
        assert list(as_lanes(bench["wl0"], np.uint16, 16)) == wanted


def test_64_bit_accumulators_and_large_shifts() -> None:
    acc = numbers(np.int64, 16, 3)
    for shift in (0, 31, 47, 59):
        bench = run("vsrs.s32.s64 x0, cm1, s0", cm1=acc, s0=shift, crSat=1, crRnd=12)
        wanted = [fitted(rounded(Fraction(int(v), 1 << shift), 12), 32, 1, 1) for v in acc]
        assert list(as_lanes(bench["x0"], np.uint32, 16)) == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_a_converting_store_reaches_memory_two_bundles_late(engine: Engine) -> None:
    """E7, not E5 (AIE2Schedule.td); the accumulator is read at issue."""
    code = assemble(
        "vst.srs.s32.s64 bml0, s0, [p0], #32",
        "lda r0, [p1, #0]",
        "lda r1, [p1, #0]",
        "lda r2, [p1, #0]",
        *NOPS,
    )
    bench = Bench(code, engine).set({"bml0": 80, "s0": 3, "p0": OWN, "p1": OWN}).step(14)
    assert [bench[f"r{n}"] for n in range(3)] == [0, 0, 10]
    assert bench["p0"] == OWN + 32


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("shift", "saturation"), [(-1, 1), (-2, 0), (-2, 1), (-4, 1)])
def test_a_negative_shift_goes_left(shift: int, saturation: int, engine: Engine) -> None:
    """Down -4 to 59 (UG1583); aie_api's parallel_lookup shifts by step_bits - 2, with exp's step_bits 0."""
    acc = np.array([0, 1, -1, 5, -77, 2**29, -(2**31), 2**40] * 2, dtype=np.int64)
    for given in (shift, shift & 0x3F, shift & 0xFFFF_FFFF):
        bench = run(
            "vsrs.s32.s64 x0, cm1, s0", engine, cm1=acc, s0=given & 0xFFFF_FFFF, crSat=saturation, crRnd=12
        )
        wanted = [fitted(int(v) << -shift, 32, saturation, 1) for v in acc]
        assert list(as_lanes(bench["x0"], np.uint32, 16)) == wanted


def test_upshift_widens_and_saturates() -> None:
    lanes = numbers(np.int16, 16, 5)
    wide = run("vups.s32.s16 bml0, wl2, s1", wl2=lanes, s1=3)
    assert np.array_equal(as_lanes(wide["bml0"], np.int32, 16), lanes.astype(np.int32) << 3)
    unsigned = run("vups.s64.d16 cm0, wl2, s1", wl2=lanes, s1=4, crUPSSign=0)
    assert np.array_equal(
        as_lanes(unsigned["cm0"], np.int64, 16), lanes.view(np.uint16).astype(np.int64) << 4
    )
    held = run("vups.s32.s16 bml0, wl2, s1", wl2=lanes, s1=20, crSat=1)
    exact = lanes.astype(np.int64) << 20
    assert np.array_equal(as_lanes(held["bml0"], np.int32, 16), np.clip(exact, -(1 << 31), (1 << 31) - 1))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_with_upshift_takes_its_shift_when_the_data_arrives(engine: Engine) -> None:
    """AIE2Schedule.td, II_VLDA_UPS: shift read in E7, result in E9."""
    early = assemble("vlda.ups.s32.s16 bml0, s0, [p0, #0]", *[""] * 4, "mov s0, r1", *NOPS)
    late = assemble("vlda.ups.s32.s16 bml0, s0, [p0, #0]", *[""] * 5, "mov s0, r1", *NOPS)
    for code, factor in ((early, 4), (late, 2)):
        bench = Bench(code, engine)
        bench.own[:2] = [3, 0]
        bench.set({"s0": 1, "r1": 2, "p0": OWN}).step(16)
        assert as_lanes(bench["bml0"], np.int32, 16)[0] == 3 * factor


@pytest.mark.parametrize("engine", ENGINES)
def test_pack_and_unpack(engine: Engine) -> None:
    lanes = numbers(np.int16, 32, 9)
    cut = run("vpack.s8.s16 wl0, x1", engine, x1=lanes)
    held = run("vpack.s8.s16 wl0, x1", engine, x1=lanes, crSat=1)
    unsigned = run("vpack.d8.d16 wl0, x1", engine, x1=lanes, crSat=1, crPackSign=0)
    assert np.array_equal(as_lanes(cut["wl0"], np.int8, 32), lanes.astype(np.int8))
    assert np.array_equal(as_lanes(held["wl0"], np.int8, 32), np.clip(lanes, -128, 127))
    assert np.array_equal(as_lanes(unsigned["wl0"], np.uint8, 32), np.clip(lanes, 0, 255))
    small = numbers(np.int8, 32, 10)
    assert np.array_equal(
        as_lanes(run("vunpack.s16.s8 x0, wl1", engine, wl1=small)["x0"], np.int16, 32), small
    )
    octets = small.view(np.uint8)
    nibbles = np.stack([octets & 15, octets >> 4], axis=1).reshape(-1)
    wide = run("vunpack.d8.d4 x0, wl1", engine, wl1=small, crUnpackSign=0)
    assert np.array_equal(as_lanes(wide["x0"], np.uint8, 64), nibbles)
    again = run("vpack.d4.d8 wl0, x1", engine, x1=nibbles)
    assert np.array_equal(as_lanes(again["wl0"], np.uint8, 32), octets)


def measured(corpus: Path, name: str) -> tuple[Lanes, Lanes]:
    found = json.loads((corpus / "golden" / "silicon" / f"{name}.json").read_text())
    words = np.array(found["input"], dtype=np.uint32)
    return words, np.array(found["silicon"], dtype=np.int64).astype(np.uint32)


@pytest.mark.parametrize("mode", ROUNDING)
def test_float_to_bfloat16_is_what_silicon_gives(corpus: Path, mode: int) -> None:
    given, wanted = measured(corpus, f"vec_conv_bf16_edge_r{mode}")
    for start in range(0, len(given), 16):
        bench = run("vconv.bf16.fp32 wl0, bml0", bml0=given[start : start + 16], crRnd=mode)
        assert np.array_equal(as_lanes(bench["wl0"], np.uint16, 16), wanted[start : start + 16])


def test_bfloat16_to_float_keeps_subnormals(corpus: Path) -> None:
    given, wanted = measured(corpus, "vec_convexp_bf16_denorm")
    for start in range(0, len(given), 16):
        bench = run("vconv.fp32.bf16 bml0, wl2", wl2=given[start : start + 16].astype(np.uint16))
        assert np.array_equal(as_lanes(bench["bml0"], np.uint32, 16), wanted[start : start + 16])


def test_floor_of_subnormals(corpus: Path) -> None:
    given, wanted = measured(corpus, "vec_vfloor_bf16_denorm")
    for start in range(0, len(given), 16):
        bench = run("vfloor.s32.bf16 x0, wl2, s0", wl2=given[start : start + 16].astype(np.uint16), s0=0)
        assert np.array_equal(as_lanes(bench["x0"], np.uint32, 16), wanted[start : start + 16])


@pytest.mark.parametrize("engine", ENGINES)
def test_floor_with_a_shift(engine: Engine) -> None:
    values = np.array([1.5, -1.5, 100.25, -0.25, 0.0, 3e9, -3e9, 2.0**30] * 2, dtype=np.float32)
    bits = (values.view(np.uint32) >> 16).astype(np.uint16)
    exact = (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    for shift in (0, 3, -1):
        bench = run("vfloor.s32.bf16 x0, wl2, s0", engine, wl2=bits, s0=shift & 0xFFFF_FFFF)
        wanted = np.clip(np.floor(exact * 2.0**shift), -(2**31), 2**31 - 1).astype(np.int64)
        assert np.array_equal(as_lanes(bench["x0"], np.int32, 16), wanted)
