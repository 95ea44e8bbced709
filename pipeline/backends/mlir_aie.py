"""mlir-aie as a backend: the user's own `aiecc` on a design in the `aie` dialect.

Such a file says how the array is configured, not what is to be computed: IREE does not read it and numpy
cannot evaluate it. aiecc gives an xclbin and an instruction stream; the types of the buffers stand in the
design's runtime sequence. The options of aiecc were renamed twice, so `--help` is asked.
Source: mlir-aie's aiecc (cl_arguments.py of 2024 and 2025, the C++ driver of 2026).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import dtypes
from ..errors import ArtifactError, CompileError, UsageError
from ..formats import instructions, xclbin
from ..program import TensorType
from .failures import compile_failure
from .protocol import CompileOptions, Design, executable_identity
from .settings import BackendSettings, KnownSetting
from .tool import run_tool
from .work_folder import work_folder

NAME = "mlir-aie"
LOG = "aiecc.log"
DEFAULT_TIMEOUT_S = 900.0
XCLBIN = "final.xclbin"
STREAM = "insts.bin"

_PROGRAMS = ("aiecc", "aiecc.py")
_PROBE_TIMEOUT_S = 60.0
_KEPT = ("*.xclbin", "*.bin", "*.txt", "*.pdi", "*.prj/*.elf", "*.prj/*.json", "*.prj/*.pdi")
_LARGEST_FILE_BYTES = 64 << 20

# the newest name stands first
_XCLBIN_OPTIONS = ("get-xclbin", "aie-generate-xclbin")
_STREAM_OPTIONS = ("get-npu-insts", "aie-generate-npu-insts", "aie-generate-npu", "aie-generate-ipu")
_STREAM_NAME_OPTIONS = ("npu-insts-name", "ipu-insts-name")
# without Vitis, everything is Peano's; a host program is nothing of ours
_PEANO_OPTIONS = ("no-xchesscc", "no-xbridge")
_QUIET_OPTIONS = ("no-compile-host",)

_SEQUENCE = re.compile(
    r"(?:aiex?\.runtime_sequence|func\.func)\s*(?P<name>@[\w$.]+)?\s*\((?P<arguments>[^)]*)\)"
)
_SEQUENCE_NAMES = ("@sequence", "@runtime_sequence")
_MEMREF = re.compile(r"%[\w$.]+\s*:\s*memref<((?:\d+x)*)([a-z]\w*)")
_DEVICE = re.compile(r"\baie\.device\b|\bAIE\.device\b")
_REMEDY = "install mlir-aie and name its folder: --backend-option install-dir=DIR or MLIR_AIE_INSTALL_DIR"


@dataclass(frozen=True, slots=True)
class _Aiecc:
    path: Path
    options: frozenset[str]

    def choose(self, names: Sequence[str]) -> str | None:
        return next((name for name in names if name in self.options), None)


class MlirAieBackend:
    """Compiles designs with an installed mlir-aie."""

    name = NAME
    SETTINGS = (
        KnownSetting("install-dir", "the folder that mlir-aie was installed to", ("MLIR_AIE_INSTALL_DIR",)),
        KnownSetting("peano-dir", "Peano's folder, with bin/clang", ("PEANO_INSTALL_DIR",)),
        KnownSetting("chess", "compile the cores with chess instead of Peano", (), ("true", "false")),
        KnownSetting("work-dir", "keep everything that the compiler leaves here"),
        KnownSetting("timeout", "seconds until the compiler is given up; 900 by default"),
    )

    def __init__(self, settings: BackendSettings) -> None:
        self._settings = settings

    def compile_design(self, file: str, text: str, *, options: CompileOptions) -> Design:
        """The design's xclbin and stream. Raises CompileError, ArtifactError, UsageError."""
        del options  # aiecc has no option for the time that its artifacts bear
        buffers = read_buffers(file, text)
        with work_folder(self._settings) as folder:
            aiecc = _probe(self._find(), folder)
            source = folder / "design.mlir"
            source.write_text(text, encoding="utf-8")
            run = run_tool(
                [str(aiecc.path), *self._flags(aiecc), source.name],
                folder=folder,
                log=folder / LOG,
                timeout_s=self._settings.seconds("timeout", DEFAULT_TIMEOUT_S),
            )
            if run.exit_code != 0:
                raise compile_failure(NAME, run, file)
            container = _left(folder, XCLBIN, "*.xclbin")
            stream = instructions.to_binary(_left(folder, STREAM, "insts*"))
            files = {
                path.name: path.read_bytes()
                for pattern in _KEPT
                for path in sorted(folder.glob(pattern))
                if path.stat().st_size <= _LARGEST_FILE_BYTES
            }
            files |= {XCLBIN: container, STREAM: stream, LOG: run.log.read_bytes()}
        kernel = xclbin.parse(container).kernel()
        return Design(
            name=re.sub(r"\W", "_", Path(file).stem) or "design",
            kernel=kernel.name,
            xclbin=container,
            instructions=stream,
            convention=kernel.convention,
            buffers=buffers,
            files=files,
            notes=(f"$ {run.line}",),
        )

    def compiler_identity(self) -> str:
        """Changes when the installed compiler does. Raises UsageError where there is none."""
        return executable_identity(self._find())

    def _find(self) -> Path:
        folder = self._settings.path("install-dir")
        if folder is not None:
            places = (folder, folder / "bin", folder / "install" / "bin")
            candidates = [folder] if folder.is_file() else [p / n for p in places for n in _PROGRAMS]
            for candidate in candidates:
                if candidate.is_file():
                    return candidate
            raise UsageError(f"there is no aiecc in {folder} or its bin", remedy=_REMEDY)
        for name in _PROGRAMS:
            on_path = shutil.which(name)
            if on_path is not None:
                return Path(on_path)
        raise UsageError("mlir-aie was not found: no aiecc", remedy=_REMEDY)

    def _flags(self, aiecc: _Aiecc) -> list[str]:
        wanted = (aiecc.choose(_XCLBIN_OPTIONS), aiecc.choose(_STREAM_OPTIONS))
        if None in wanted:
            raise UsageError(
                f"{aiecc.path} makes no xclbin or no instruction stream, says its --help", remedy=_REMEDY
            )
        flags = [f"--{name}" for name in wanted if name is not None]
        if "xclbin-name" in aiecc.options:
            flags.append(f"--xclbin-name={XCLBIN}")
        stream_name = aiecc.choose(_STREAM_NAME_OPTIONS)
        if stream_name is not None:
            flags.append(f"--{stream_name}={STREAM}")
        flags += [f"--{name}" for name in _QUIET_OPTIONS if name in aiecc.options]
        if self._settings.get("chess") != "true":
            flags += [f"--{name}" for name in _PEANO_OPTIONS if name in aiecc.options]
        peano = self._settings.path("peano-dir")
        if peano is not None and "peano" in aiecc.options:
            flags.append(f"--peano={peano}")
        return [*flags, *self._settings.flags]


def is_design(text: str) -> bool:
    """Whether a text is a design in the `aie` dialect."""
    return _DEVICE.search(text) is not None


def read_buffers(file: str, text: str) -> tuple[TensorType, ...]:
    """The types of the design's data buffers: the arguments of its runtime sequence.

    Raises CompileError where there is no design, not exactly one sequence, or a type that is not known.
    """
    if not is_design(text):
        raise CompileError(
            "there is no aie.device in this file",
            location=file,
            remedy=f"--backend {NAME} compiles designs in the aie dialect; for linalg choose another backend",
        )
    sequences = [
        found
        for found in _SEQUENCE.finditer(text)
        if not found.group().startswith("func") or found["name"] in _SEQUENCE_NAMES
    ]
    if len(sequences) != 1:
        raise CompileError(
            f"the design has {len(sequences)} runtime sequences; one is needed",
            location=file,
            op="aie.runtime_sequence",
            remedy="keep the one that is to be run",
        )
    found: list[TensorType] = []
    for argument in sequences[0]["arguments"].split("%")[1:]:
        match = _MEMREF.match("%" + argument)
        element = "" if match is None else re.sub(r"^[us](?=i\d)", "", match[2])
        if match is None or not dtypes.is_known(element):
            raise CompileError(
                f"argument {len(found)} of the runtime sequence (%{argument.strip()}) is no memref of a "
                "static shape and a known element type",
                location=file,
                op="aie.runtime_sequence",
            )
        found.append(TensorType(tuple(int(d) for d in match[1].split("x") if d), element))
    return tuple(found)


def _probe(path: Path, folder: Path) -> _Aiecc:
    done = run_tool(
        [str(path), "--help"], folder=folder, log=folder / "aiecc--help.log", timeout_s=_PROBE_TIMEOUT_S
    )
    if done.exit_code != 0:
        raise CompileError(
            f"{path} --help ended with exit code {done.exit_code}",
            remedy="try it by hand; mlir-aie's environment may not be set up (utils/env_setup.sh)",
            diagnostics=done.output,
        )
    return _Aiecc(path, frozenset(re.findall(r"--([a-zA-Z][\w-]*)", done.output)))


def _left(folder: Path, name: str, pattern: str) -> bytes:
    """The file of that name, else the only one of that pattern."""
    named = folder / name
    found = [named] if named.is_file() else [p for p in sorted(folder.glob(pattern)) if p.is_file()]
    if len(found) != 1:
        raise ArtifactError(
            f"aiecc left {len(found)} files {pattern}",
            artifact=name,
            path=str(folder),
            remedy="see its log; a design of several devices or sequences must be reduced to one",
        )
    return found[0].read_bytes()
