"""`--fallback cpu`: what the backend cannot lower runs on the CPU between NPU dispatches, never silently."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .conftest import Cli

TWO = """
func.func @main(%x: tensor<16x32xf32>, %b: tensor<32x24xi8>) -> tensor<16xf32> {
  %ei = tensor.empty() : tensor<16x32xi8>
  %q = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%x : tensor<16x32xf32>) outs(%ei : tensor<16x32xi8>) {
  ^bb0(%v: f32, %o: i8):
    %t = math.tanh %v : f32
    %hundred = arith.constant 100.0 : f32
    %s = arith.mulf %t, %hundred : f32
    %i = arith.fptosi %s : f32 to i8
    linalg.yield %i : i8
  } -> tensor<16x32xi8>
  %zero = arith.constant 0 : i32
  %em = tensor.empty() : tensor<16x24xi32>
  %f = linalg.fill ins(%zero : i32) outs(%em : tensor<16x24xi32>) -> tensor<16x24xi32>
  %m = linalg.matmul ins(%q, %b : tensor<16x32xi8>, tensor<32x24xi8>)
      outs(%f : tensor<16x24xi32>) -> tensor<16x24xi32>
  %zf = arith.constant 0.0 : f32
  %er = tensor.empty() : tensor<16xf32>
  %fr = linalg.fill ins(%zf : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]
    } ins(%m : tensor<16x24xi32>) outs(%fr : tensor<16xf32>) {
  ^bb0(%v: i32, %acc: f32):
    %w = arith.sitofp %v : i32 to f32
    %e = math.erf %w : f32
    %sum = arith.addf %acc, %e : f32
    linalg.yield %sum : f32
  } -> tensor<16xf32>
  return %r : tensor<16xf32>
}
"""
"""CPU (tanh), NPU (i8 matmul), CPU (erf): the buffers change hands twice."""


def _inputs(folder: Path) -> tuple[list[str], np.ndarray]:
    """Arrays for TWO as options, and the result: of the sign of each sum, as erf(x) of an integer x != 0 is
    within 2e-1 of it (erf(1) = 0.8427, erf(2) = 0.9953: tables), so the integers are made large."""
    rng = np.random.default_rng(5)
    x = rng.choice([-20.0, 20.0], (16, 32)).astype(np.float32)  # tanh of these is -1 or 1 in f32
    b = rng.integers(-100, 100, (32, 24), dtype=np.int8)
    product = (np.sign(x) * 100).astype(np.int64) @ b.astype(np.int64)
    want = np.sign(product).sum(axis=1).astype(np.float32)  # every product is 0 or at least 100 away from it
    for name, array in (("x", x), ("b", b), ("want", want)):
        np.save(folder / f"{name}.npy", array)
    return [f"--input=@{folder}/x.npy", f"--input=@{folder}/b.npy"], want


def test_between_cpu_and_npu_the_numbers_arrive(cli: Cli, tmp_path: Path) -> None:
    inputs, _ = _inputs(tmp_path)
    built = tmp_path / "built"
    expected = f"--expected-output=@{tmp_path}/want.npy"
    done = cli("build-run", "-", *inputs, expected, "--fallback", "cpu", "-o", str(built), stdin=TWO)
    assert done.code == 0, done.out + done.err
    verdict = done.out.strip().splitlines()[-1]
    assert "2 of 3 dispatches on the CPU instead" in verdict
    named = [line for line in done.out.splitlines() if "runs on the CPU" in line]
    assert len(named) == 2
    assert "the built-in backend cannot lower" in named[0]
    assert len(list(built.rglob("*.cpu.vmfb"))) == 2
    again = cli("run", str(built), *inputs, expected)
    assert again.code == 0, again.out + again.err
    assert "2 of 3 dispatches on the CPU instead" in again.out


def test_the_json_says_which_dispatch_and_why(cli: Cli, tmp_path: Path) -> None:
    inputs, _ = _inputs(tmp_path)
    done = cli("build-run", "-", *inputs, "--fallback", "cpu", "--json", stdin=TWO)
    told = [(d["backend"], bool(d["fallback"])) for d in done.document["dispatches"]]
    assert sorted(told) == [("builtin", False), ("llvm-cpu", True), ("llvm-cpu", True)]
    assert not done.document["findings"], "the default policy syncs all that changes hands"


def test_a_host_that_does_not_sync_what_its_cpu_wrote_is_found(cli: Cli, tmp_path: Path) -> None:
    inputs, _ = _inputs(tmp_path)
    policy = ("--sync-policy", "no-host-command-sync")
    done = cli("build-run", "-", *inputs, "--fallback", "cpu", *policy, "--json", stdin=TWO)
    found = {f["hazard"] for f in done.document["findings"] if f["severity"] == "error"}
    assert found, "the kernel read what the CPU left in its cache"


def test_without_it_the_error_offers_it(cli: Cli) -> None:
    done = cli("build-run", "-", stdin=TWO)
    assert done.code == 3
    assert "--fallback cpu" in done.err


def test_what_the_npu_can_do_stays_there(cli: Cli) -> None:
    text = cli("emit", "matmul", "-m", "8", "-n", "8", "-k", "8", "--type", "i32", "--fill", "1")
    done = cli("build-run", "-", "--fallback", "cpu", stdin=text.out)
    assert done.code == 0
    assert "on the CPU" not in done.out


def test_another_fallback_is_a_usage_error(cli: Cli) -> None:
    done = cli("build-run", "-", "--fallback", "gpu", stdin=TWO)
    assert done.code == 2
    assert "one of: cpu" in done.err
