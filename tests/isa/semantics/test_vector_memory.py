"""Vector loads, stores and moves: widths, halves, tables, alignment."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.core.bench import ENGINES, NOPS, OWN, Bench, Engine, assemble

from .vectors import as_lanes, as_number


def ramp(bench: Bench) -> None:
    bench.own[:] = np.arange(0x10000) % 251


@pytest.mark.parametrize("engine", ENGINES)
def test_loads_of_256_and_128_bits(engine: Engine) -> None:
    code = assemble(
        "vlda wl0, [p0], #32; vldb wh0, [p1, #32]", "vlda amll1, [p0, #0]", "vlda.128 wl3, [p2]", *NOPS
    )
    bench = Bench(code, engine).set({"p0": OWN, "p1": OWN, "p2": OWN + 16, "wl3": (1 << 256) - 1})
    ramp(bench)
    bench.step(14)
    assert list(as_lanes(bench["x0"], np.uint8, 64)) == list(range(64))
    assert list(as_lanes(bench["amll1"], np.uint8, 32)) == list(range(32, 64))
    assert list(as_lanes(bench["wl3"], np.uint8, 32)) == [*range(16, 32), *[0] * 16]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_vector_load_lands_after_seven_bundles(engine: Engine) -> None:
    """`vmov` reads at issue; one bundle sooner breaks real programs, one later too (emulation.md)."""
    for distance, loaded in ((6, False), (7, True)):
        code = assemble("vlda wl0, [p0, #0]", *[""] * (distance - 1), "vmov wl2, wl0", *NOPS)
        bench = Bench(code, engine).set({"p0": OWN})
        ramp(bench)
        bench.step(18)
        assert (bench["wl2"] != 0) == loaded


@pytest.mark.parametrize("engine", ENGINES)
def test_stores(engine: Engine) -> None:
    lanes = np.arange(128, dtype=np.uint8)
    code = assemble("vst wh1, [p0], #64", "vst amhl2, [p0], #-32", "vst.128 wl1, [p0, #0]", *NOPS)
    bench = Bench(code, engine)
    bench.set({"p0": OWN, "x1": as_number(lanes[:64]), "cm2": as_number(lanes)}).step(6)
    assert list(bench.own[:32]) == list(range(32, 64))
    assert list(bench.own[64:96]) == list(range(64, 96))
    assert list(bench.own[32:64]) == [*range(16), *[0] * 16]


def test_moves_between_files() -> None:
    lanes = np.arange(128, dtype=np.uint8)
    code = assemble("vmov x3, bml1", "vmov wl4, amhh1", "vmov cm5, cm1", "vmov q1, wl1", *NOPS)
    bench = Bench(code).set({"cm1": as_number(lanes), "x1": as_number(lanes[:64])}).step(8)
    assert list(as_lanes(bench["x3"], np.uint8, 64)) == list(range(64))
    assert list(as_lanes(bench["wl4"], np.uint8, 32)) == list(range(96, 128))
    assert bench["cm5"] == as_number(lanes)
    assert list(as_lanes(bench["q1"], np.uint8, 16)) == list(range(16))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("width", [16, 32, 64])
def test_table_loads_take_four_entries(width: int, engine: Engine) -> None:
    """The table as mlir-aie's exp_ilut_ab: each 16 bytes twice. An index is the entry times twice its size,
    the bits below are what aie_api's parallel_lookup leaves there (its largest index is odd).
    """
    size = width // 8
    entries = np.arange(64, dtype=np.uint8) + 100
    table = np.repeat(entries, size).reshape(-1, 1, 16).repeat(2, axis=1).reshape(-1)
    chosen = np.array([0, 1, 7, 8, 9, 63, 30, 5])
    rest = np.array([0, 1, 2 * size - 1, size, 0, 2 * size - 1, 3, 1])
    places = (OWN + 0x400 + chosen * 2 * size + rest).astype(np.uint32)
    for half, wanted in (("lo", chosen[:4]), ("hi", chosen[4:])):
        bench = Bench(assemble(f"vldb.4x{width}.{half} wl0, wl2", *NOPS), engine).set(
            {"wl2": as_number(places)}
        )
        bench.own[0x400 : 0x400 + table.size] = table
        bench.step(12)
        rows = as_lanes(bench["wl0"], np.uint8, 32).reshape(4, 8)
        for row, entry in zip(rows, wanted, strict=True):
            assert list(row[:size]) == [entry + 100] * size


@pytest.mark.parametrize("engine", ENGINES)
def test_lanes_of_a_table_load_take_copies_in_turns(engine: Engine) -> None:
    places = np.full(8, OWN + 0x404, dtype=np.uint32)
    bench = Bench(assemble("vldb.4x16.lo wl0, wl2", *NOPS), engine).set({"wl2": as_number(places)})
    bench.own[0x400:0x420] = np.arange(32)
    bench.step(12)
    rows = as_lanes(bench["wl0"], np.uint8, 32).reshape(4, 8)
    assert [list(row[:2]) for row in rows] == [[2, 3], [18, 19]] * 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("load", "size", "target"),
    [
        ("vlda wl0, [p0], #32", 32, "wl0"),
        ("vldb wl0, [p0], #32", 32, "wl0"),
        ("vlda.128 wl0, [p0]", 16, "wl0"),
        ("lda q0, [p0], #16", 16, "q0"),
    ],
)
def test_the_low_bits_of_a_vectors_address_are_left_out(
    load: str, size: int, target: str, engine: Engine
) -> None:
    """The pointer keeps them (aie_api, detail/ld_st.hpp: floor_ptr relies on automatic truncation)."""
    bench = Bench(assemble(load, *NOPS), engine).set({"p0": OWN + 64 + 13})
    ramp(bench)
    bench.step(12)
    assert list(as_lanes(bench[target], np.uint8, size)[:size]) == list(range(64, 64 + size))
    assert bench["p0"] == OWN + 64 + 13 + (size if "#" in load else 0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("store", "size"), [("vst wl0, [p0, #0]", 32), ("vst.128 wl0, [p0, #0]", 16)])
def test_the_low_bits_of_a_vectors_address_are_left_out_in_stores(
    store: str, size: int, engine: Engine
) -> None:
    bench = Bench(assemble(store, *NOPS), engine).set(
        {"p0": OWN + 64 + size - 1, "wl0": as_number(np.arange(1, 33, dtype=np.uint8))}
    )
    bench.step(12)
    assert list(bench.own[64 : 64 + size]) == list(range(1, size + 1))
    assert not bench.own[64 + size : 96 + size].any()


def test_cascade_into_halves_of_an_accumulator() -> None:
    bench = Bench(assemble("vmov.lo cm0, SCD", "vmov.hi cm1, SCD", *NOPS))
    low, high = bytes(range(64)), bytes(range(64, 128))
    bench.port.cascade_in = [low, high]
    bench.step(10)
    assert bench["cm0"] == int.from_bytes(low, "little")
    assert bench["cm1"] == int.from_bytes(high, "little") << 512
