"""A verdict on a file by one release of IREE: compiled for the CPU and run, or a question about its fills."""

from __future__ import annotations

import contextlib
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import dtypes
from ..backends.tool import ToolRun, run_tool
from ..errors import CompileError, WorkerCrash
from ..program import TensorType
from ..verdict import Outcome, Trial
from ..verify.comparison import compare
from .compiler_wheels import Tools
from .judgement import Expectation
from .pass_dumps import DUMP_FLAGS
from .source import SourceText

Array = npt.NDArray[Any]

QUESTIONS = ("verdict", "compiles", "fills")
TIMEOUT_S = 300.0
TARGET = ("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host")
_DUMP_TIMEOUT_S = 600.0

# at the phase stream, which all versions have, a fill is one of these, and what is around it says when
_FILL = re.compile(r"stream\.cmd\.fill\b|@__builtin_(?:splat|fill)\w*")
_TOP = re.compile(r"^  (util\.initializer|util\.func)\b", re.MULTILINE)


class _WrongSize(CompileError):
    """A result of another size than the source says: IREE demotes f64 to f32 without a word."""


@dataclass(frozen=True, slots=True)
class Call:
    """What to run: a function, its arguments, and what its results should be."""

    function: str
    types: tuple[TensorType, ...]
    arrays: tuple[Array, ...]
    scalars: tuple[int, ...]
    expected: tuple[Expectation, ...]


def try_release(
    name: str, tools: Tools, source: SourceText, flags: Sequence[str], question: str, call: Call | None
) -> Trial:
    """The verdict of a release. Without a call, what compiles is right."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="aiepipe-bisect-") as scratch:
        folder = Path(scratch)
        (folder / "in.mlir").write_text(source.text, encoding="utf-8")
        try:
            found = _try(tools, folder, flags, question, call)
        except _WrongSize as wrong:
            found = Outcome.WRONG, "", wrong.message
        except WorkerCrash as crash:
            found = Outcome.CRASH, "", crash.message
        except CompileError as error:
            found = Outcome.ERROR, "", error.message
    outcome, answer, detail = found
    return Trial(name, outcome, answer, detail, time.monotonic() - start)


def dump_passes(tools: Tools, source: SourceText, flags: Sequence[str]) -> str:
    """The IR after each pass that changed it, as far as the compiler came."""
    with tempfile.TemporaryDirectory(prefix="aiepipe-bisect-") as scratch:
        folder = Path(scratch)
        (folder / "in.mlir").write_text(source.text, encoding="utf-8")
        log = folder / "dump.mlir"
        options = [*TARGET, *flags, *DUMP_FLAGS, "--compile-to=hal", "-o", "/dev/null"]
        with contextlib.suppress(WorkerCrash):  # the last pass before a crash is what is looked for
            run_tool(
                [str(tools.compile), "in.mlir", *options], folder=folder, log=log, timeout_s=_DUMP_TIMEOUT_S
            )
        return log.read_text(encoding="utf-8", errors="replace")


def fills_answer(stream_ir: str) -> str:
    """How often what fills memory, and when, in IR of the phase stream."""
    tops = [(match.start(), match[1]) for match in _TOP.finditer(stream_ir)]
    found: dict[str, int] = {}
    for match in _FILL.finditer(stream_ir):
        kind = next((kind for start, kind in reversed(tops) if start < match.start()), "")
        if kind:
            when = "at start-up" if kind == "util.initializer" else "at each call"
            form = match[0].removeprefix("@")
            found[f"{form} {when}"] = found.get(f"{form} {when}", 0) + 1
    return ", ".join(f"{n} {what}" for what, n in sorted(found.items())) or "no fill"


def _try(
    tools: Tools, folder: Path, flags: Sequence[str], question: str, call: Call | None
) -> tuple[Outcome, str, str]:
    command = [str(tools.compile), "in.mlir", *TARGET, *flags]
    if question == "fills":
        _run([*command, "--compile-to=stream", "-o", "stream.mlir"], folder)
        answer = fills_answer((folder / "stream.mlir").read_text(encoding="utf-8", errors="replace"))
        return Outcome.RIGHT, answer, ""
    _run([*command, "-o", "out.vmfb"], folder)
    if call is None or tools.run is None:
        return Outcome.RIGHT, "", "it compiles"
    results = _results(tools.run, folder, call)
    for expectation, got in zip(call.expected, results, strict=True):
        compared = compare(
            expectation.name,
            got,
            expectation.want,
            expectation.type,
            tolerance=expectation.tolerance,
            bound=expectation.bound,
            against=expectation.against,
        )
        if compared.mismatch is not None:
            wrong = f"{compared.mismatch.count} of {compared.mismatch.total} elements of {expectation.name}"
            return Outcome.WRONG, "", f"{wrong} are wrong"
    return Outcome.RIGHT, "", ""


def _results(runner: Path, folder: Path, call: Call) -> list[Array]:
    arguments = [
        _argument(folder, i, type_, array, i in call.scalars)
        for i, (type_, array) in enumerate(zip(call.types, call.arrays, strict=True))
    ]
    outputs = [f"--output=@out{i}.bin" for i in range(len(call.expected))]
    _run(
        [
            str(runner),
            "--module=out.vmfb",
            "--device=local-sync",
            f"--function={call.function}",
            *arguments,
            *outputs,
        ],
        folder,
    )
    found: list[Array] = []
    for i, expectation in enumerate(call.expected):
        data = (folder / f"out{i}.bin").read_bytes()
        if len(data) != expectation.type.size_bytes:
            raise _WrongSize(
                f"{expectation.name} has {len(data)} bytes, not the {expectation.type.size_bytes} of "
                f"{expectation.type}"
            )
        found.append(dtypes.unpack(data, expectation.type.element, expectation.type.shape))
    return found


def _argument(folder: Path, index: int, type_: TensorType, array: Array, scalar: bool) -> str:
    if scalar:
        return f"--input={np.asarray(array).item()}"
    (folder / f"in{index}.bin").write_bytes(dtypes.pack(array, type_.element))
    return f"--input={type_}=@in{index}.bin"


def _run(command: Sequence[str], folder: Path) -> ToolRun:
    done = run_tool(command, folder=folder, log=folder / "log.txt", timeout_s=TIMEOUT_S)
    if done.exit_code != 0:
        lines = [line.strip() for line in done.output.splitlines() if "error" in line.lower()]
        first = lines[0] if lines else f"exit code {done.exit_code}"
        raise CompileError(f"{Path(command[0]).name}: {first[:300]}", diagnostics=done.output)
    return done
