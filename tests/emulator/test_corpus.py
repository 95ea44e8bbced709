"""Programs that other compilers made, on the emulated array: exact results, twice on one machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

from aiepipe.emulator.cycles import tile_cycles
from aiepipe.emulator.machine import Machine, RunReport
from aiepipe.errors import EmulationError
from aiepipe.formats import pdi, xclbin
from aiepipe.formats.instructions import parse_instructions
from aiepipe.isa.semantics.registers import registers

from .core.bench import ENGINES, Engine
from .designs import Array, Ddr

BF16: Any = cast("Any", ml_dtypes).bfloat16


def bf16_floor(values: Array) -> Array:
    """float32 to bfloat16 toward minus infinity (finite values)."""
    bits = values.astype(np.float32).view(np.uint32)
    cut = bits >> 16
    return (
        (cut + (values.astype(np.float32).view(np.int32) < 0) * ((bits & 0xFFFF) != 0))
        .astype(np.uint16)
        .view(BF16)
    )


def random(generator: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    """Numbers over a useful range, negative ones too."""
    if dtype == "bfloat16":
        return generator.standard_normal(shape).astype(BF16)
    return generator.integers(-1000, 1000, shape).astype(dtype)


def case(corpus: Path, name: str) -> dict[str, Any]:
    cases = json.loads((corpus / "cases.json").read_text())["cases"]
    return next(found for found in cases if found["name"] == name)


def check(corpus: Path, name: str) -> None:
    found = case(corpus, name)
    file = xclbin.parse((corpus / found["xclbin"]).read_bytes())
    partition = file.partition()
    ddr = Ddr()
    machine = Machine(partition.column_width, ddr)
    machine.load(pdi.parse(file.pdi_for(file.kernels()[0])).cdo)
    stream = parse_instructions((corpus / found["insts"]).read_bytes())
    for seed in range(2):
        generator = np.random.default_rng(seed)
        arrays: dict[str, Array] = {}
        addresses: list[int] = []
        for argument in found["args"]:
            dtype, shape = argument["dtype"], tuple(argument["shape"])
            array = random(generator, dtype, shape)
            arrays[argument["name"]] = array
            addresses.append(ddr.add(array))
        report = machine.run(stream, addresses)
        assert report.warnings == ()
        values: dict[str, Any] = {**arrays, "np": np, "bf16_floor": bf16_floor}
        exec(found.get("python", ""), values)
        for argument, address in zip(found["args"], addresses, strict=True):
            want = np.asarray(values[argument["name"]])
            got = ddr.get(address, arrays[argument["name"]].dtype).reshape(want.shape)
            assert np.array_equal(got.view(np.uint8), want.astype(got.dtype).view(np.uint8)), argument["name"]


NAMES = (
    "iree-seed-matmul-i32",
    "gemm256-i16-1core",
    "add-bf16",
    "reduce-add-i32",
    "distribute-l2-empty-sequence",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_binary_of_the_corpus_gives_its_exact_result_twice(corpus: Path, name: str) -> None:
    check(corpus, name)


SMALL = ("add-bf16", "reduce-add-i32", "distribute-l2-empty-sequence")
LARGE = ("iree-seed-matmul-i32", "gemm256-i16-1core")


@pytest.mark.parametrize("name", SMALL)
def test_both_engines_do_the_same_in_the_same_cycles(corpus: Path, name: str) -> None:
    first, second = (one_run(corpus, name, engine=engine, check=True) for engine in ENGINES)
    assert first.report == second.report
    assert first.report.findings == ()
    assert first.report.settled
    same_state(first.machine, second.machine)


FIRST_STEPS = 20_000


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_both_engines_do_the_same_up_to_a_limit(corpus: Path, name: str) -> None:
    """The plain engine takes minutes for all of it: state for state after the first bundles."""
    machines = [stopped_run(corpus, name, engine=engine, steps=FIRST_STEPS) for engine in ENGINES]
    assert sum(core.bundles for core in machines[0].array.cores) >= FIRST_STEPS // 2
    same_state(*machines)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found_in_a_binary_of_the_corpus(corpus: Path, name: str) -> None:
    report = one_run(corpus, name, engine="jit", check=True).report
    assert report.findings == ()
    assert report.warnings == ()


@dataclass(frozen=True, slots=True)
class Run:
    machine: Machine
    report: RunReport


def prepare(corpus: Path, name: str, *, engine: Engine, check: bool) -> tuple[Machine, Any, list[int]]:
    found = case(corpus, name)
    file = xclbin.parse((corpus / found["xclbin"]).read_bytes())
    ddr = Ddr()
    machine = Machine(file.partition().column_width, ddr, engine=engine, check=check)
    machine.load(pdi.parse(file.pdi_for(file.kernels()[0])).cdo)
    stream = parse_instructions((corpus / found["insts"]).read_bytes())
    generator = np.random.default_rng(7)
    addresses = [ddr.add(random(generator, a["dtype"], tuple(a["shape"]))) for a in found["args"]]
    return machine, stream, addresses


def one_run(corpus: Path, name: str, *, engine: Engine, check: bool) -> Run:
    machine, stream, addresses = prepare(corpus, name, engine=engine, check=check)
    return Run(machine, machine.run(stream, addresses))


def stopped_run(corpus: Path, name: str, *, engine: Engine, steps: int) -> Machine:
    machine, stream, addresses = prepare(corpus, name, engine=engine, check=False)
    with pytest.raises(EmulationError) as caught:
        machine.run(stream, addresses, step_limit=steps)
    assert caught.value.kind == "step-limit"
    return machine


def same_state(one: Machine, other: Machine) -> None:
    """Memories, locks, registers of cores and what their cycles went to."""
    for address, tile in one.array.tiles.items():
        twin = other.array.tiles[address]
        assert tile.locks.values == twin.locks.values, tile.name
        if tile.memory is not None and twin.memory is not None:
            assert np.array_equal(tile.memory.bytes, twin.memory.bytes), tile.name
        if tile.core is not None and tile.core.engine is not None:
            assert twin.core is not None
            assert twin.core.engine is not None
            for name in ("pc", *registers()):
                mine, theirs = tile.core.engine.read_register(name), twin.core.engine.read_register(name)
                assert mine == theirs, f"{name} of {tile.name}"
    assert tile_cycles(one.array) == tile_cycles(other.array)


def test_every_case_is_tried(corpus: Path) -> None:
    cases = json.loads((corpus / "cases.json").read_text())["cases"]
    assert sorted(found["name"] for found in cases) == sorted(NAMES)
