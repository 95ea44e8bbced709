"""`aiepipe doctor`: executes what a run needs, stage by stage, and says what to do about what fails."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from platformdirs import user_cache_path

from aiepipe.kernels import matmul

from ..emulator.core.native import compile_object, host, load_object
from ..errors import AiepipeError
from ..frontend.compiler import Compiler
from ..verdict import Agreement, Check, CheckStatus, DoctorReport
from ..xrt.examination import examine_npu
from ..xrt.system import System
from .build_run import BuildRunOptions, build_run
from .device import RunSettings
from .stages import Progress, silent
from .versions import tool_versions

OLDEST_PYTHON = (3, 11)

BASE = "this installation"
EMULATED = "emulated device"
TOOLS = "external tools"

_REINSTALL = "install aiepipe again in a fresh virtual environment (pip install aiepipe)"
_ANSWER = 42
_ADD_35 = "define i32 @answer(ptr %state, i32 %entry) {\n  %sum = add i32 %entry, 35\n  ret i32 %sum\n}\n"
_PROBE = "func.func @main() -> i32 {\n  %0 = arith.constant 7 : i32\n  return %0 : i32\n}\n"


class Trouble(Exception):
    """A check did not hold: what is wrong, and what to do."""

    def __init__(self, detail: str, remedy: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Tool:
    """An external program. `wants` is a word that its answer must have; `use` says what it is for."""

    name: str
    command: tuple[str, ...]
    use: str
    wants: str = ""
    alternatives: tuple[tuple[str, ...], ...] = ()


EXTERNAL_TOOLS = (
    Tool(
        "iree-amd-aie",
        ("iree-compile", "--iree-hal-list-target-backends"),
        "the backend iree-amd-aie",
        wants="amd-aie",
    ),
    Tool(
        "mlir-aie", ("aiecc.py", "--version"), "the backend mlir-aie", alternatives=(("aiecc", "--version"),)
    ),
    Tool("Peano", ("clang", "--print-targets"), "compiling cores with LLVM for AIE", wants="aie2"),
    Tool("bootgen", ("bootgen", "-help"), "an independent reader of PDIs"),
    Tool("xclbinutil", ("xclbinutil", "--version"), "an independent reader of xclbins"),
    Tool("xrt-smi", ("xrt-smi", "--version"), "the driver's own view of the NPU"),
)


def doctor(progress: Progress = silent, system: System | None = None) -> DoctorReport:
    """Every check, in order; none of them raises."""
    machine = system if system is not None else System()
    with ThreadPoolExecutor() as pool:  # external programs are slow to answer, and wait for nobody
        tools = [pool.submit(_timed, lambda tool=tool: _tool(tool, machine)) for tool in EXTERNAL_TOOLS]
        checks = list(_own(progress))
        progress("the NPU")
        hardware, examined = examine_npu(machine)
        checks += examined
        progress("external tools")
        checks += [tool.result() for tool in tools]
    return DoctorReport(tuple(checks), hardware, tool_versions())


# --------------------------------------------------------------------------- what the emulated way needs


def _own(progress: Progress) -> Iterator[Check]:
    needed: tuple[tuple[str, str, Callable[[], str]], ...] = (
        (BASE, "Python", _python),
        (BASE, "packages", _packages),
        (BASE, "cache folder", cache_folder),
        (BASE, "IREE's front end", _front_end),
        (BASE, "LLVM JIT", _jit),
        (EMULATED, "a matmul, compiled and run", _emulated_run),
    )
    for stage, name, work in needed:
        progress(name)
        yield _timed(lambda stage=stage, name=name, work=work: _needed(stage, name, work))


def _needed(stage: str, name: str, work: Callable[[], str]) -> Check:
    try:
        return Check(stage, name, CheckStatus.OK, work(), needed=True)
    except Trouble as trouble:
        return Check(stage, name, CheckStatus.FAILED, trouble.detail, trouble.remedy, needed=True)
    except AiepipeError as error:
        return Check(stage, name, CheckStatus.FAILED, error.message, error.remedy or _REINSTALL, needed=True)
    except Exception as fault:  # noqa: BLE001 (the doctor reports whatever fails)
        detail = f"{type(fault).__name__}: {fault}"
        return Check(stage, name, CheckStatus.FAILED, detail, _REINSTALL, needed=True)


def _timed(work: Callable[[], Check]) -> Check:
    began = time.perf_counter()
    return replace(work(), seconds=time.perf_counter() - began)


def _python() -> str:
    version = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        raise Trouble(f"Python {version}", f"aiepipe needs {'.'.join(map(str, OLDEST_PYTHON))} or later")
    return f"{platform.python_implementation()} {version}, {platform.machine()}, {sys.executable}"


def _packages() -> str:
    """Imports what we depend on: a distribution can be there and its binaries not fit."""
    found: list[str] = []
    for distribution, module in (
        ("numpy", "numpy"),
        ("ml_dtypes", "ml_dtypes"),
        ("llvmlite", "llvmlite.binding"),
        ("filelock", "filelock"),
        ("rich", "rich"),
        ("typer", "typer"),
    ):
        try:
            __import__(module)
            found.append(f"{distribution} {metadata.version(distribution)}")
        except (ImportError, OSError, metadata.PackageNotFoundError) as error:
            raise Trouble(
                f"{distribution}: {error}", f"pip install --force-reinstall {distribution}"
            ) from error
    return ", ".join(found)


def cache_folder() -> str:
    """Whether the cache folder can be written; gives its path."""
    folder = Path(os.environ.get("AIEPIPE_CACHE_DIR") or user_cache_path("aiepipe", appauthor=False))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            return str(folder)
    except OSError as error:
        remedy = "make it writable, or name another folder in AIEPIPE_CACHE_DIR"
        raise Trouble(f"{folder} cannot be written: {error.strerror}", remedy) from error


def _front_end() -> str:
    """The worker process starts, loads IREE, and parses a function."""
    with Compiler(timeout_s=60) as compiler:
        compiler.parse("doctor.mlir", _PROBE)
    return f"iree-base-compiler {metadata.version('iree-base-compiler')} answers from its own process"


def _jit() -> str:
    """Compiles a function for this processor, loads and calls it, as the emulator does with each core."""
    answer = load_object(compile_object(_ADD_35), "answer")(0, 7)
    if answer != _ANSWER:
        raise Trouble(f"7 + 35 is {answer} in compiled code", "pip install --force-reinstall llvmlite")
    return "LLVM " + " ".join(host().split()[:3])


def _emulated_run() -> str:
    """C = 7 + A @ B through every stage, against numpy."""
    with tempfile.TemporaryDirectory(prefix="aiepipe-doctor-") as folder:
        path = Path(folder) / "matmul.mlir"
        path.write_text(matmul(16, 16, 16, operand="i32", accumulator="i32", fill=7), encoding="utf-8")
        report = build_run(
            BuildRunOptions(str(path), seed=1, settings=RunSettings(device="emulated", timeout_s=60))
        )
    if report.agreement is not Agreement.PASS:
        raise Trouble("7 + A @ B is wrong on the emulated device", "report it: this is a fault of aiepipe")
    return f"7 + A @ B of 16x16 is right after {report.cycles} emulated cycles"


# --------------------------------------------------------------------------- what is good to have


def _tool(tool: Tool, system: System) -> Check:
    failed: list[str] = []
    for command in (tool.command, *tool.alternatives):
        answer = system.execute(_beside_python(command, system))
        if answer.code is None:
            failed += [f"{command[0]} {answer.text}"] if answer.text != "not found" else []
            continue
        if tool.wants and tool.wants not in answer.text:
            failed.append(f"{command[0]} is there and has no {tool.wants}")
        elif answer.code != 0:
            failed.append(f"{command[0]} ends with {answer.code}: {answer.first_line}")
        else:
            detail = tool.wants or answer.first_line
            return Check(TOOLS, tool.name, CheckStatus.OK, f"{command[0]}: {detail}")
    detail = "; ".join(failed) if failed else "not found"
    status = CheckStatus.WARNING if failed and not tool.wants else CheckStatus.ABSENT
    return Check(TOOLS, tool.name, status, detail, f"only needed for {tool.use}")


def _beside_python(command: Sequence[str], system: System) -> list[str]:
    """A console script of this environment, which need not be in PATH."""
    beside = Path(system.python).parent / command[0]
    return [str(beside) if beside.is_file() else command[0], *command[1:]]
