"""IREE's command-line tools beside the running Python: compile for the CPU, call a function, get its results.

`--oracle iree` and `--fallback cpu` use them. They come with the extra `oracle`; each runs in a process of
its own, since IREE can end its process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .errors import CompileError, UsageError

SECONDS = 300.0
"""How long any of these calls may take."""


def compile_for_cpu(text: str, *, cpu: str, flags: Sequence[str] = (), wanted_by: str) -> bytes:
    """The module (.vmfb) that IREE's llvm-cpu makes of the MLIR `text` for `cpu` ("host", "generic").

    `wanted_by` is the option that needs it, for errors. Raises UsageError where the tools are not installed,
    CompileError where IREE fails.
    """
    tool = _tool("iree-compile", wanted_by)
    with tempfile.TemporaryDirectory(prefix="aiepipe-iree-") as scratch:
        folder = Path(scratch)
        (folder / "in.mlir").write_text(text, encoding="utf-8")
        targets = ("--iree-hal-target-backends=llvm-cpu", f"--iree-llvmcpu-target-cpu={cpu}")
        # the names are part of the module: with the folder's in them no two would be alike
        _run([tool, "in.mlir", *targets, *flags, "-o=out.vmfb"], wanted_by, folder)
        return (folder / "out.vmfb").read_bytes()


def call_function(
    module: bytes,
    function: str,
    arguments: Sequence[str | tuple[str, bytes]],
    results: int,
    *,
    wanted_by: str,
) -> tuple[bytes, ...]:
    """Calls `function` of a module on the CPU. An argument is a scalar as text, or a tensor: its type as in
    "8x16xi32" with its bytes. The results are the bytes of tensors.

    Raises as `compile_for_cpu`.
    """
    tool = _tool("iree-run-module", wanted_by)
    with tempfile.TemporaryDirectory(prefix="aiepipe-iree-") as scratch:
        folder = Path(scratch)
        (folder / "module.vmfb").write_bytes(module)
        inputs: list[str] = []
        for index, argument in enumerate(arguments):
            if isinstance(argument, str):
                inputs.append(f"--input={argument}")
                continue
            path = folder / f"in{index}.bin"
            path.write_bytes(argument[1])
            inputs.append(f"--input={argument[0]}=@{path}")
        outputs = [folder / f"out{index}.bin" for index in range(results)]
        command = [
            tool,
            f"--module={folder / 'module.vmfb'}",
            "--device=local-sync",
            f"--function={function}",
        ]
        _run([*command, *inputs, *(f"--output=@{path}" for path in outputs)], wanted_by, folder)
        return tuple(path.read_bytes() for path in outputs)


def _tool(name: str, wanted_by: str) -> str:
    path = Path(sys.executable).parent / name
    if not path.is_file():
        raise UsageError(
            f"{wanted_by} needs {name}", remedy="pip install 'aiepipe[oracle]' into this environment"
        )
    return str(path)


def _run(command: list[str], wanted_by: str, folder: Path) -> None:
    tool = Path(command[0]).name
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SECONDS, cwd=folder
        )
    except subprocess.TimeoutExpired as fault:
        raise CompileError(f"{tool} did not end within {SECONDS:.0f} s") from fault
    if done.returncode:
        raise CompileError(
            f"{wanted_by} failed: {tool} ended with exit code {done.returncode}",
            diagnostics=done.stderr,
            remedy=f"leave out {wanted_by}",
        )
