"""matmul i32 over shapes and fills, from the builder's text to the verdict; numpy computes here by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from .conftest import Cli

SHAPES = [(64, 64, 16), (8, 32, 16), (63, 65, 17), (128, 128, 128), (1, 1, 1)]


@pytest.mark.parametrize("fill", [7, -1, None])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_matmul_i32_is_numpys(
    cli: Cli, tmp_path: Path, shape: tuple[int, int, int], fill: int | None
) -> None:
    m, n, k = shape
    options = [] if fill is None else ["--fill", str(fill)]
    text = cli("emit", "matmul", "-m", str(m), "-n", str(n), "-k", str(k), "--type", "i32", *options)
    assert text.code == 0, text.err
    rng = np.random.default_rng(m * n * k)
    a = rng.integers(-(2**31), 2**31, (m, k), dtype=np.int32)
    b = rng.integers(-(2**31), 2**31, (k, n), dtype=np.int32)
    c = rng.integers(-(2**31), 2**31, (m, n), dtype=np.int32)
    start = c if fill is None else np.full((m, n), fill, np.int32)
    # wrap-around: products and sums modulo 2^64 are right modulo 2^32
    want = (start.astype(np.int64) + a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    arrays = {"a": a, "b": b, "want": want, **({"c": c} if fill is None else {})}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    inputs = [f"--input=@{tmp_path}/{name}.npy" for name in ("a", "b", "c") if name in arrays]
    done = cli("build-run", "-", *inputs, f"--expected-output=@{tmp_path}/want.npy", stdin=text.out)
    assert done.code == 0, done.out + done.err
