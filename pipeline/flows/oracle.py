"""The second opinion: IREE's llvm-cpu runs the same file on the same inputs.

IREE has silent faults of its own, so it never decides; where it differs from numpy, the report says so.
Needs the extra `oracle` (iree-base-runtime), found beside the running Python.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..errors import CompileError, UsageError
from ..program import SourceFunction, TensorType
from .source import SourceText

Array = npt.NDArray[Any]

ORACLES = ("numpy", "iree")
SECONDS = 300.0


def iree_results(
    source: SourceText, function: SourceFunction, inputs: Sequence[Array], flags: Sequence[str]
) -> tuple[Array, ...]:
    """What IREE's CPU backend computes, one array per result.

    Raises UsageError where the tools are not installed or cannot take the types, CompileError where IREE
    fails.
    """
    compiler, runner = (_tool(name) for name in ("iree-compile", "iree-run-module"))
    with tempfile.TemporaryDirectory(prefix="aiepipe-oracle-") as scratch:
        folder = Path(scratch)
        (folder / "in.mlir").write_text(source.text, encoding="utf-8")
        _run(
            [
                compiler,
                str(folder / "in.mlir"),
                "--iree-hal-target-backends=llvm-cpu",
                "--iree-llvmcpu-target-cpu=host",
                *flags,
                f"-o={folder / 'out.vmfb'}",
            ]
        )
        arguments: list[str] = []
        for index, (value, array) in enumerate(zip(function.arguments, inputs, strict=True)):
            arguments.append(_input(folder / f"in{index}.bin", value.type, array, index in function.scalars))
        results = [folder / f"out{index}.bin" for index in range(len(function.returns))]
        _run(
            [
                runner,
                f"--module={folder / 'out.vmfb'}",
                "--device=local-sync",
                f"--function={function.name}",
                *arguments,
                *(f"--output=@{path}" for path in results),
            ]
        )
        return tuple(
            dtypes.unpack(path.read_bytes(), value.type.element, value.type.shape)
            for path, value in zip(results, function.returns, strict=True)
        )


def _tool(name: str) -> str:
    path = Path(sys.executable).parent / name
    if not path.is_file():
        raise UsageError(
            f"--oracle iree needs {name}", remedy="pip install 'aiepipe[oracle]' into this environment"
        )
    return str(path)


def _input(path: Path, type_: TensorType, array: Array, scalar: bool) -> str:
    if scalar:
        return f"--input={np.asarray(array).item()}"
    path.write_bytes(dtypes.pack(array, type_.element))
    return f"--input={type_}=@{path}"


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired as fault:
        raise CompileError(f"{Path(command[0]).name} did not end within {SECONDS:.0f} s") from fault
    if done.returncode:
        raise CompileError(
            f"the oracle failed: {Path(command[0]).name} ended with exit code {done.returncode}",
            diagnostics=done.stderr,
            remedy="compare with numpy alone: --oracle numpy",
        )
