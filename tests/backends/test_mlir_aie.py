"""The driver of mlir-aie against the recorded contract of aiecc; what runs are real designs of mlir-aie."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from aiepipe.backends.mlir_aie import MlirAieBackend, read_buffers
from aiepipe.backends.settings import BackendRequest, resolve
from aiepipe.codegen.options import CompileOptions
from aiepipe.errors import CompileError, UsageError
from aiepipe.flows.build import BuildOptions, build
from aiepipe.flows.build_run import BuildRunOptions, build_run
from aiepipe.flows.device import RunSettings
from aiepipe.program import TensorType
from aiepipe.verdict import Agreement

SCRIPT = Path(__file__).with_name("recorded_aiecc.py")
# the interface of the corpus' gemm256-i16-1core; its body does not matter to the recorded compiler
DESIGN = """module {
  aie.device(npu1_1col) {
    aie.runtime_sequence(%a: memref<256x256xi16>, %b: memref<256x256xi16>, %c: memref<256x256xi32>) {
    }
  }
}
"""

pytestmark = pytest.mark.usefixtures("elsewhere")


def install(tmp_path: Path, artifacts: Path, era: str = "2025", **contract: str) -> tuple[str, ...]:
    """Options that name a recorded aiecc with these artifacts in it."""
    folder, peano = tmp_path / "mlir_aie", tmp_path / "llvm-aie"
    for made in (folder / "bin", peano / "bin"):
        made.mkdir(parents=True, exist_ok=True)
    (peano / "bin" / "clang").write_text("")
    (folder / "bin" / "contract.json").write_text(json.dumps({"era": era, **contract}))
    (folder / "bin" / "final.xclbin").write_bytes((artifacts / "final.xclbin").read_bytes())
    (folder / "bin" / "insts").write_bytes(next(artifacts.glob("insts.*")).read_bytes())
    program = folder / "bin" / "aiecc"
    program.write_text(f"#!{sys.executable}\n" + SCRIPT.read_text())
    program.chmod(0o755)
    return (f"install-dir={folder}", f"peano-dir={peano}")


def backend(*options: str) -> MlirAieBackend:
    return MlirAieBackend(resolve("mlir-aie", MlirAieBackend.SETTINGS, BackendRequest(options)))


@pytest.mark.parametrize(
    ("era", "xclbin", "stream"),
    [
        ("2024", "--aie-generate-xclbin", "--aie-generate-npu"),
        ("2025", "--aie-generate-xclbin", "--aie-generate-npu-insts"),
        ("2026", "--get-xclbin", "--get-npu-insts"),
    ],
)
def test_the_options_of_each_era_are_used(
    tmp_path: Path, corpus: Path, era: str, xclbin: str, stream: str
) -> None:
    artifacts = corpus / "gemm256-i16-1core"
    options = install(tmp_path, artifacts, era)
    design = backend(*options).compile_design("gemm.mlir", DESIGN, options=CompileOptions())
    call = json.loads((tmp_path / "mlir_aie" / "bin" / "calls.jsonl").read_text())
    assert {xclbin, stream, "--no-xchesscc", f"--peano={tmp_path / 'llvm-aie'}"} < set(call)
    assert design.xclbin == (artifacts / "final.xclbin").read_bytes()
    assert design.instructions == (artifacts / "insts.bin").read_bytes()
    assert design.notes[0].startswith("$ ")


def test_a_design_is_built_run_and_compared(tmp_path: Path, corpus: Path, elsewhere: Path) -> None:
    options = install(tmp_path, corpus / "add-bf16")
    (elsewhere / "add.mlir").write_text(
        "module { aie.device(npu1) { aiex.runtime_sequence(%arg0: memref<4096xbf16>, "
        "%arg1: memref<4096xbf16>, %arg2: memref<4096xbf16>) { } } }"
    )
    report = build_run(
        BuildRunOptions(
            "add.mlir",
            inputs=("4096xbf16=1.5", "4096xbf16=2"),
            expected=("4096xbf16=3.5",),
            backend="mlir-aie",
            backend_options=options,
            output_directory="out",
            settings=RunSettings(device="emulated"),
        )
    )
    assert report.agreement is Agreement.PASS
    assert [str(i.type) for i in report.inputs] == ["4096xbf16", "4096xbf16"]
    assert (elsewhere / "out" / "final.xclbin").is_file()
    assert (elsewhere / "out" / "aiecc.log").is_file()


def test_a_matmul_of_mlir_aie_is_right(tmp_path: Path, corpus: Path, elsewhere: Path) -> None:
    options = install(tmp_path, corpus / "gemm256-i16-1core")
    (elsewhere / "gemm.mlir").write_text(DESIGN)
    random = np.random.default_rng(1)
    a, b = (random.integers(-9, 9, (256, 256)).astype(np.int16) for _ in range(2))
    for name, array in (("a", a), ("b", b), ("c", a.astype(np.int32) @ b.astype(np.int32))):
        np.save(elsewhere / f"{name}.npy", array)
    report = build_run(
        BuildRunOptions(
            "gemm.mlir",
            inputs=("@a.npy", "@b.npy"),
            expected=("@c.npy",),
            backend="mlir-aie",
            backend_options=options,
            settings=RunSettings(device="emulated", timeout_s=200),
        )
    )
    assert report.agreement is Agreement.PASS


def test_build_leaves_a_folder_that_run_takes(tmp_path: Path, corpus: Path, elsewhere: Path) -> None:
    options = install(tmp_path, corpus / "gemm256-i16-1core")
    (elsewhere / "gemm.mlir").write_text(DESIGN)
    report = build(BuildOptions("gemm.mlir", "out", backend="mlir-aie", backend_options=options))
    assert [d.kernel for d in report.dispatches] == ["MLIR_AIE"]
    assert (elsewhere / "out" / "program.json").is_file()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @main() { return }", "no aie.device"),
        ("aie.device(npu1) { }", "0 runtime sequences"),
        ("aie.device(npu1) { aie.runtime_sequence(%a: memref<?xi32>) {} }", "no memref of a static shape"),
        ("aie.device(npu1) { aie.runtime_sequence(%a: i32) {} }", "no memref"),
        (2 * "aie.device(npu1) { aie.runtime_sequence(%a: memref<4xi32>) {} }\n", "2 runtime sequences"),
    ],
)
def test_what_is_no_design_is_refused_before_aiecc_is_started(text: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        backend().compile_design("x.mlir", text, options=CompileOptions())


def test_buffers_of_older_and_newer_designs() -> None:
    old = "aie.device(npu1) { func.func @sequence(%in : memref<8x16xui8>, %out : memref<4xf32>) { } }"
    new = "aie.device(npu1) { aie.runtime_sequence @main(%a: memref<2x3xbf16, strided<[3, 1]>>) { } }"
    assert read_buffers("f", old) == (TensorType((8, 16), "i8"), TensorType((4,), "f32"))
    assert read_buffers("f", new) == (TensorType((2, 3), "bf16"),)


def test_failures_have_remedies(tmp_path: Path, corpus: Path) -> None:
    artifacts = corpus / "gemm256-i16-1core"
    options = install(tmp_path, artifacts, says="error: program memory overflow")
    with pytest.raises(CompileError, match="program memory") as caught:
        backend(*options).compile_design("gemm.mlir", DESIGN, options=CompileOptions())
    assert caught.value.remedy is not None
    assert "aiecc.log" in caught.value.remedy
    with pytest.raises(CompileError, match="Peano"):
        backend(options[0]).compile_design("gemm.mlir", DESIGN, options=CompileOptions())


def test_linalg_is_not_for_this_backend_and_no_aiecc_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CompileError, match="there is no aie"):
        build_run(BuildRunOptions("matmul.mlir", backend="mlir-aie"))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="mlir-aie was not found"):
        backend().compile_design("x.mlir", DESIGN, options=CompileOptions())
