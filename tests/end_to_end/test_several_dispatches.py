"""A program of many dispatches: one xclbin, one hardware context, kernels in the order of the commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aiepipe.formats import xclbin

from .conftest import Cli

LENGTH = 9
"""More kernels than npu1 has hardware contexts (six)."""

CHAIN = "\n".join(
    [
        "func.func @chain(%x0: tensor<8x8xi32>, %w: tensor<8x8xi32>) -> tensor<8x8xi32> {",
        "  %zero = arith.constant 0 : i32",
        "  %empty = tensor.empty() : tensor<8x8xi32>",
        "  %zeros = linalg.fill ins(%zero : i32) outs(%empty : tensor<8x8xi32>) -> tensor<8x8xi32>",
        *(
            f"  %x{n + 1} = linalg.matmul {{round = {n} : i32}} ins(%x{n}, %w : tensor<8x8xi32>, "
            "tensor<8x8xi32>) outs(%zeros : tensor<8x8xi32>) -> tensor<8x8xi32>"
            for n in range(LENGTH)
        ),
        f"  return %x{LENGTH} : tensor<8x8xi32>",
        "}",
    ]
)
"""x @ w @ w ...: with ones in x and 2 in w, each product is 16 times as large."""

MIXED = """
func.func @mixed(%a: tensor<8x12xi32>, %b: tensor<12x4xi32>) -> (tensor<8x4xi32>, tensor<12x8xi32>) {
  %zero = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<8x4xi32>
  %z0 = linalg.fill ins(%zero : i32) outs(%e0 : tensor<8x4xi32>) -> tensor<8x4xi32>
  %p = linalg.matmul ins(%a, %b : tensor<8x12xi32>, tensor<12x4xi32>)
         outs(%z0 : tensor<8x4xi32>) -> tensor<8x4xi32>
  %e1 = tensor.empty() : tensor<12x8xi32>
  %t = linalg.transpose ins(%a : tensor<8x12xi32>) outs(%e1 : tensor<12x8xi32>) permutation = [1, 0]
  return %p, %t : tensor<8x4xi32>, tensor<12x8xi32>
}
"""


@pytest.mark.parametrize(("text", "kernels"), [(CHAIN, LENGTH), (MIXED, 2)], ids=["chain", "mixed"])
def test_a_built_program_is_one_xclbin(cli: Cli, tmp_path: Path, text: str, kernels: int) -> None:
    source, folder = tmp_path / "program.mlir", tmp_path / "out"
    source.write_text(text)
    assert cli("build", str(source), "-o", str(folder)).code == 0
    (file,) = folder.rglob("*.xclbin")
    assert len(xclbin.parse(file.read_bytes()).kernels()) == kernels
    assert len(list(folder.rglob("*.npu_inst.bin"))) == kernels
    again = cli("run", str(folder), "--check", "--fail-on", "hazard", "--json")
    assert again.code == 0, again.err


def test_kernels_of_one_xclbin_take_turns(cli: Cli, tmp_path: Path) -> None:
    source, folder = tmp_path / "program.mlir", tmp_path / "out"
    source.write_text(MIXED)
    found = cli("build-run", str(source), "-o", str(folder), "--repeat", "3", "--json")
    assert found.code == 0, found.err
    document = found.document
    assert len({d["xclbin_sha256"] for d in document["dispatches"]}) == 1
    assert len({d["kernel"] for d in document["dispatches"]}) == 2
    assert document["statistics"]["wrong_runs"] == 0


def test_each_kernel_of_the_xclbin_runs_alone(cli: Cli, tmp_path: Path) -> None:
    """What `run --xclbin` of a real multi-kernel file needs: --kernel, and an error that lists the names."""
    source, folder = tmp_path / "program.mlir", tmp_path / "out"
    source.write_text(MIXED)
    assert cli("build", str(source), "-o", str(folder)).code == 0
    (file,) = folder.rglob("*.xclbin")
    names = [kernel.name for kernel in xclbin.parse(file.read_bytes()).kernels()]
    streams = {path.parent.name: path for path in folder.rglob("*.npu_inst.bin")}
    unnamed = cli("run", "--xclbin", str(file), "--insts", str(streams[names[0]]), "--arg", "in:8x12xi32=1")
    assert unnamed.code == 2
    assert all(name in unnamed.err for name in names)
    product = next(name for name in names if "matmul" in name)
    found = cli(
        *("run", "--xclbin", str(file), "--insts", str(streams[product]), "--kernel", product),
        *("--arg", "in:8x12xi32=1", "--arg", "in:12x4xi32=2", "--arg", f"out:8x4xi32=@{tmp_path / 'c.npy'}"),
    )
    assert found.code == 0, found.out + found.err
    assert (np.load(tmp_path / "c.npy") == 12 * 2).all()
