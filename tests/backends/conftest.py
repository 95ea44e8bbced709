"""An installed iree-amd-aie that is none: the recorded contract with artifacts of the built-in backend."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aiepipe.backends.builtin import BuiltinBackend
from aiepipe.codegen.options import CompileOptions
from aiepipe.formats import xclbin
from aiepipe.frontend.compiler import Compiler
from aiepipe.program import Artifact, Program

from .iree_module import module

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"
SCRIPT = Path(__file__).with_name("recorded_iree_compile.py")


@dataclass(frozen=True, slots=True)
class Sample:
    """A program with the built-in backend's artifact for each dispatch."""

    program: Program
    artifacts: Mapping[str, Artifact]


@dataclass(frozen=True, slots=True)
class Installation:
    """An install folder and what its compiler was asked."""

    folder: Path
    peano: Path

    def calls(self) -> list[list[str]]:
        """The arguments of each call so far."""
        lines = (self.folder / "bin" / "calls.jsonl").read_text().splitlines()
        return [json.loads(line)["arguments"] for line in lines]

    @property
    def options(self) -> tuple[str, ...]:
        return (f"install-dir={self.folder}", f"peano-dir={self.peano}")


Install = Callable[..., Installation]


@pytest.fixture(scope="session")
def samples() -> Callable[[str], Sample]:
    made: dict[str, Sample] = {}

    def get(name: str) -> Sample:
        if name not in made:
            with Compiler() as compiler:
                program = compiler.compile(name, (SAMPLES / name).read_text())
            artifacts = {
                d.name: BuiltinBackend().compile(d, options=CompileOptions(ordinal=i))
                for i, d in enumerate(program.dispatches)
            }
            made[name] = Sample(program, artifacts)
        return made[name]

    return get


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Installs the recorded compiler of an era with the artifacts of a sample."""

    def make(sample: Sample, era: str = "2026", **contract: Any) -> Installation:
        folder, peano = tmp_path / "iree-install", tmp_path / "llvm-aie"
        ready = folder / "bin" / "artifacts"
        ready.mkdir(parents=True, exist_ok=True)
        (peano / "bin").mkdir(parents=True, exist_ok=True)
        (peano / "bin" / "opt").write_text("")
        kernels = [_lay(artifact, ready) for artifact in sample.artifacts.values()]
        with_xclbins = [(entry, container, [stream]) for entry, container, _, stream in kernels]
        with_pdis = [(entry, image, [stream]) for entry, _, image, stream in kernels]
        (ready / "XRTR.vmfb").write_bytes(module(b"XRTR", with_xclbins))
        (ready / "PDIR.vmfb").write_bytes(module(b"PDIR", with_pdis))
        document = {
            "era": era,
            "targets": ["amd-aie", "llvm-cpu"],
            "entries": [artifact.entry for artifact in sample.artifacts.values()],
            **contract,
        }
        (folder / "bin" / "contract.json").write_text(json.dumps(document))
        program = folder / "bin" / "iree-compile"
        program.write_text(f"#!{sys.executable}\n" + SCRIPT.read_text())
        program.chmod(0o755)
        return Installation(folder, peano)

    return make


def _lay(artifact: Artifact, ready: Path) -> tuple[str, bytes, bytes, bytes]:
    """An artifact as iree-amd-aie names its files; its xclbin is for four columns, as that one's are."""
    entry, image = artifact.entry, artifact.files["design.pdi"]
    container = xclbin.build(image, kernel=entry, buffers=6, columns=4, instance="IREE", kernel_id=0).encode()
    (ready / f"{entry}.xclbin").write_bytes(container)
    (ready / f"{entry}.pdi").write_bytes(image)
    (ready / f"{entry}.npu_inst.txt").write_bytes(artifact.files[f"{entry}.npu_inst.txt"].rstrip(b"\n"))
    return entry, container, image, artifact.instructions


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder and an environment that say nothing about compilers."""
    for name in (
        "IREE_INSTALL_DIR",
        "PEANO_INSTALL_DIR",
        "VITIS",
        "VITIS_DIR",
        "XILINX_VITIS",
        "MLIR_AIE_INSTALL_DIR",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copy(SAMPLES / "matmul.mlir", folder)
    return folder
