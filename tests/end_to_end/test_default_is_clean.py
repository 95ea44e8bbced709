"""The default runner leaves the sanitizer and the array checks nothing to find; 5,000 runs are right."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aiepipe import dtypes

from .conftest import Cli

SAMPLES = sorted((Path(__file__).parents[2] / "mlir").glob("*.mlir"))
MATMUL = next(path for path in SAMPLES if path.name == "matmul.mlir")
HARMFUL = ("error", "warning", "portability")
ELEMENTS = {"int32": "i32", "int16": "i16", "bfloat16": "bf16"}


def harmful(document: Any) -> list[str]:
    found = [f["hazard"] for f in document["findings"] if f["severity"] in HARMFUL]
    return found + [f["kind"] for f in document["array_findings"]] + list(document["warnings"])


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_nothing_is_found_in_a_sample(cli: Cli, path: Path) -> None:
    done = cli("build-run", str(path), "--repeat", "2", "--json")
    if done.code == 2 and "public functions" in done.err:
        pytest.skip("several functions; `aiepipe test` runs each")
    assert done.code == 0, done.out + done.err
    assert harmful(done.document) == []


def cases(corpus: Path) -> list[Any]:
    return json.loads((corpus / "cases.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("index", range(5))
def test_nothing_is_found_in_anybodys_binary(cli: Cli, corpus: Path, tmp_path: Path, index: int) -> None:
    """Random data for every argument; what they compute is checked elsewhere, twice and by both engines."""
    case = cases(corpus)[index]
    rng = np.random.default_rng(index)
    arguments: list[str] = []
    for number, argument in enumerate(case["args"]):
        shape: list[int] = argument["shape"]
        element = ELEMENTS[argument["dtype"]]
        type_text = "x".join([*map(str, shape), element])
        if argument.get("output"):
            arguments.append(f"--arg=out:{type_text}")
            continue
        values = rng.integers(-99, 99, shape)
        (tmp_path / f"{number}.bin").write_bytes(dtypes.pack(values, element))
        arguments.append(f"--arg=in:{type_text}=@{tmp_path}/{number}.bin")
    xclbin, insts = corpus / case["xclbin"], corpus / case["insts"]
    done = cli("run", "--xclbin", str(xclbin), "--insts", str(insts), *arguments, "--repeat=2", "--json")
    assert done.code == 0, done.out + done.err
    assert harmful(done.document) == []


@pytest.mark.slow
def test_five_thousand_runs_are_right_and_memory_is_flat(cli: Cli) -> None:
    assert cli("build-run", str(MATMUL), "--repeat", "500").code == 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = cli("build-run", str(MATMUL), "--repeat", "5000", "--json")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert done.code == 0, done.out + done.err
    assert done.document["statistics"]["wrong_runs"] == 0
    # ten times the runs; 1 KiB a run would be 4.5 MiB
    assert grown < 4 * 1024
