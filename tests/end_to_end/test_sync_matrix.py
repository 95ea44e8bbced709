"""aiepipe sync-matrix: wrong runs only where a sync is missing, at the rate that the model gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Cli

ROOT = Path(__file__).parents[2]
SMALL = """
func.func @small(%a: tensor<8x8xi32>, %b: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %c7_i32 = arith.constant 7 : i32
  %0 = tensor.empty() : tensor<8x8xi32>
  %1 = linalg.fill ins(%c7_i32 : i32) outs(%0 : tensor<8x8xi32>) -> tensor<8x8xi32>
  %2 = linalg.matmul ins(%a, %b : tensor<8x8xi32>, tensor<8x8xi32>)
                     outs(%1 : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %2 : tensor<8x8xi32>
}
"""
"""256 bytes: four lines."""


def cells_of(document: Any, coherency: str, **wanted: object) -> list[Any]:
    return [
        cell
        for cell in document["cells"]
        if cell["coherency"] == coherency and all(cell[key] == value for key, value in wanted.items())
    ]


def check_output_cells(document: Any) -> None:
    """What holds on x86 for any program: only a written and unsynced output can be wrong."""
    for cell in cells_of(document, "x86-clflush", group="outputs"):
        written = cell["output"] != "untouched"
        if written and not cell["outputs_to"]:
            assert "S002" in cell["hazards"], cell["title"]
            assert cell["predicted"] > 0
        else:
            assert cell["wrong_runs"] == 0, cell["title"]
            assert cell["predicted"] == 0
            assert "S002" not in cell["hazards"]
        assert ("S003" in cell["hazards"]) is not cell["outputs_from"], cell["title"]
    for cell in cells_of(document, "coherent"):
        assert cell["wrong_runs"] == 0
        assert not [hazard for hazard in cell["hazards"] if hazard.startswith("S00")]


def test_small_program(cli: Cli) -> None:
    # evict 0.5 and four lines: 1 - 0.5^4 = 93.75 %
    run = cli(
        "sync-matrix", "-", "--runs", "4", "--evict", "0.5", "--seed", "1", "--device", "emulated", "--json",
        stdin=SMALL,
    )  # fmt: skip
    assert run.code == 0, run.err
    document = run.document
    assert next(iter(document)) == "schema"
    assert document["schema"] == "aiepipe.sync-matrix/1"
    check_output_cells(document)
    seeded = cells_of(document, "x86-clflush", group="outputs", outputs_to=False, output="poisoned")
    assert [cell["predicted"] for cell in seeded] == [0.9375, 0.9375]
    assert sum(cell["wrong_runs"] for cell in seeded) >= 4  # of 8; fewer have a chance of 1e-5
    (unread,) = cells_of(document, "inv-on-from", policy="no-output-readback")
    assert (unread["wrong_runs"], unread["predicted"]) == (4, 1.0)
    assert document["conclusion"].startswith("Runs are wrong without the sync of result0 to the device")
    assert "S002" in document["conclusion"]


def test_same_seed_same_matrix(cli: Cli) -> None:
    call = ("sync-matrix", "-", "--runs", "1", "--seed", "1", "--device", "emulated", "--json")
    one, other = (cli(*call, stdin=SMALL).document for _ in range(2))
    assert one["cells"] == other["cells"]


def test_hazards_are_named_on_the_first_run_though_its_numbers_are_right(cli: Cli) -> None:
    call = (
        "sync-matrix",
        "-",
        "--runs",
        "1",
        "--evict",
        "1",
        "--seed",
        "1",
        "--device",
        "emulated",
        "--json",
    )
    run = cli(*call, stdin=SMALL)
    (cell,) = cells_of(run.document, "x86-clflush", policy="no-output-presync")
    assert (cell["wrong_runs"], cell["hazards"]) == (0, ["S002", "S009"])
    # every dirty line left the cache, so what remains are the clean ones that inv-on-from keeps
    assert "S002" not in run.document["conclusion"]
    assert "from the device after the run" in run.document["conclusion"]


def test_text(cli: Cli) -> None:
    run = cli("sync-matrix", "-", "--runs", "2", "--evict", "0.5", "--device", "emulated", stdin=SMALL)
    assert run.code == 0
    assert "host cache x86-clflush" in run.out
    assert "none of 20 cells of 2 runs was wrong or has a hazard" in run.out
    assert "1 - evict^lines = 1 - 0.5^4 = 93.8 %" in run.out
    assert "again: aiepipe sync-matrix - --runs 2" in run.out


@pytest.mark.slow
def test_the_seed_program(cli: Cli) -> None:
    run = cli(
        "sync-matrix", str(ROOT / "mlir/matmul.mlir"), "--runs", "40", "--coherency-seed", "1", "--seed", "1",
        "--device", "emulated", "--json",
    )  # fmt: skip
    assert run.code == 0, run.err
    check_output_cells(run.document)
    cells = cells_of(run.document, "x86-clflush", group="outputs", outputs_to=False)
    written = [cell for cell in cells if cell["output"] != "untouched"]
    wrong, runs = sum(c["wrong_runs"] for c in written), sum(c["runs"] for c in written)
    assert runs == 160
    # 1 - 0.997^256 = 53.7 %, standard error 3.9 %
    assert wrong / runs == pytest.approx(1 - 0.997**256, abs=0.13)
    assert all(cell["predicted"] == pytest.approx(1 - 0.997**256) for cell in written)
