"""Programs that other compilers made, on the emulated array: exact results, twice on one machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

from aiepipe.emulator.machine import Machine
from aiepipe.formats import pdi, xclbin
from aiepipe.formats.instructions import parse_instructions

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


def check(corpus: Path, name: str, *, runs: int = 2, engine: Any = "jit") -> None:
    found = case(corpus, name)
    file = xclbin.parse((corpus / found["xclbin"]).read_bytes())
    partition = file.partition()
    ddr = Ddr()
    machine = Machine(partition.column_width, ddr, engine=engine)
    machine.load(pdi.parse(file.pdi_for(file.kernels()[0])).cdo)
    stream = parse_instructions((corpus / found["insts"]).read_bytes())
    for seed in range(runs):
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


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", NAMES)
def test_the_plain_engine_gives_the_same(corpus: Path, name: str) -> None:
    check(corpus, name, runs=1, engine="plain")


def test_every_case_is_tried(corpus: Path) -> None:
    cases = json.loads((corpus / "cases.json").read_text())["cases"]
    assert sorted(found["name"] for found in cases) == sorted(NAMES)
