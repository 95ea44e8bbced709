"""Real binaries of other toolchains through the emulated pyxrt: right results, and no sync finding.

The cases, with their reference as a numpy statement, are the corpus' own (cases.json).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from aiepipe import dtypes
from aiepipe.errors import RunFailed
from aiepipe.program import TensorType
from aiepipe.xrt import emulated
from aiepipe.xrt.emulation import Settings, emulation
from aiepipe.xrt.policy import named
from aiepipe.xrt.runner import BufferDirection, KernelBuffer, RunResult, run_kernel
from aiepipe.xrt.sanitizer import Sanitizer

Array = npt.NDArray[Any]
small = cast("Any", ml_dtypes)

NAMES = ("iree-seed-matmul-i32", "gemm256-i16-1core", "add-bf16", "reduce-add-i32")


def case_of(corpus: Path, name: str) -> dict[str, Any]:
    cases = json.loads((corpus / "cases.json").read_text())["cases"]
    return next(case for case in cases if case["name"] == name)


def bf16_floor(values: Array) -> Array:
    """To bfloat16, toward minus infinity, as the core does whose rounding register is never written."""
    bits = values.astype(np.float32).view(np.uint32)
    down = np.where((bits >> 31 == 1) & (bits & 0xFFFF != 0), bits + 0x10000, bits) & np.uint32(0xFFFF0000)
    return down.astype(np.uint32).view(np.float32).astype(small.bfloat16)


def arguments_of(case: dict[str, Any]) -> tuple[list[KernelBuffer], dict[str, Array]]:
    random = np.random.default_rng(7)
    buffers: list[KernelBuffer] = []
    arrays: dict[str, Array] = {}
    for argument in case["args"]:
        shape: list[int] = argument["shape"]
        dtype: np.dtype[Any] = np.dtype(getattr(small, argument["dtype"], argument["dtype"]))
        kind = TensorType(tuple(shape), dtypes.mlir_name(dtype))
        if argument.get("output"):
            buffers.append(KernelBuffer(BufferDirection.OUT, kind))
            continue
        data: Array = random.integers(-100, 100, shape).astype(dtype)
        arrays[argument["name"]] = data
        buffers.append(KernelBuffer(BufferDirection.IN, kind, data))
    return buffers, arrays


def run(
    corpus: Path, case: dict[str, Any], buffers: list[KernelBuffer], policy: str = "default"
) -> RunResult:
    return run_kernel(
        (corpus / case["xclbin"]).read_bytes(),
        (corpus / case["insts"]).read_bytes(),
        buffers,
        device=emulated,
        policy=named(policy),
        repeat=2,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_right_in_both_runs_and_nothing_found(corpus: Path, name: str) -> None:
    case = case_of(corpus, name)
    buffers, arrays = arguments_of(case)
    with emulation(Settings(seed=1)) as current:
        sanitizer = Sanitizer.attach(current)
        result = run(corpus, case, buffers)
        findings = sanitizer.finish()
    scope: dict[str, Any] = {"np": np, "bf16_floor": bf16_floor, **arrays}
    exec(case["python"], scope)
    (output,) = (argument["name"] for argument in case["args"] if argument.get("output"))
    want = np.asarray(scope[output])
    assert len(result.variants) == 1
    assert np.array_equal(result.outputs[0].reshape(want.shape), want)
    assert findings == ()


@pytest.mark.slow
def test_the_seeds_own_binary_with_the_seeds_missing_sync(corpus: Path) -> None:
    case = case_of(corpus, "iree-seed-matmul-i32")
    buffers, _ = arguments_of(case)
    with emulation(Settings(seed=1)) as current:
        sanitizer = Sanitizer.attach(current)
        run(corpus, case, buffers, "no-output-presync")
        found = sanitizer.finish()
    assert [(finding.hazard, finding.buffer) for finding in found] == [("S002", "arg2"), ("S009", "arg2")]


@pytest.mark.slow
def test_a_run_past_its_time_is_stopped_and_gives_nothing(corpus: Path) -> None:
    case = case_of(corpus, "gemm256-i16-1core")
    buffers, _ = arguments_of(case)
    with emulation(Settings(seed=1)), pytest.raises(RunFailed) as caught:
        run_kernel(
            (corpus / case["xclbin"]).read_bytes(),
            (corpus / case["insts"]).read_bytes(),
            buffers,
            device=emulated,
            timeout_s=0.001,
        )
    assert caught.value.state == "ERT_CMD_STATE_TIMEOUT"
    assert "(limit 0.001 s): the run was stopped at its time limit" in str(caught.value)
    assert caught.value.remedy == "raise the time limit (--timeout)"
