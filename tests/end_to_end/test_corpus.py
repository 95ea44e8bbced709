"""Artifacts of other people's toolchains, through the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .conftest import Cli


def test_the_seeds_own_xclbin_multiplies(cli: Cli, corpus: Path, tmp_path: Path) -> None:
    """nod-ai/iree-amd-aie of March 2024: four cores of Peano code, lx6 stream; C = A @ B."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(-1000, 1000, (2, 64, 64), dtype=np.int32)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    folder = corpus / "iree-seed-matmul-i32"
    done = cli(
        "run", "--xclbin", str(folder / "final.xclbin"), "--insts", str(folder / "insts.txt"),
        "--arg", f"in:64x64xi32=@{tmp_path}/a.npy",
        "--arg", f"in:64x64xi32=@{tmp_path}/b.npy",
        "--arg", f"out:64x64xi32=@{tmp_path}/c.npy",
    )  # fmt: skip
    assert done.code == 0, done.err
    inputs, _, _ = done.out.partition("buffers\n")
    assert "argument 1  64x64xi32" in inputs
    assert "argument 2" not in inputs  # it is written only
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), a @ b)
