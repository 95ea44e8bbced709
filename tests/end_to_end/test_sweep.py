"""`aiepipe sweep`: verdicts, what is known is not run again, a killed sweep goes on, a cluster agrees."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import Cli

SMALL = """
kernel = "matmul"
device = "emulated"
[grid]
shape = ["2x2x2", "3x1x4"]
type = ["i32", "f8E4M3FN"]
fill = [7]
"""
# 200 small ones, half of them without a sync of the output
LARGE = """
kernel = "matmul"
device = "emulated"
[grid]
shape = ["1x1x1", "2x3x4", "5x4x3", "8x8x8", "16x16x1"]
type = ["i32", "i8:i32"]
fill = [7, "argument"]
sync-policy = ["default", "no-output-presync"]
seed = [1, 2, 3, 4, 5]
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AIEPIPE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def spec(folder: Path, text: str) -> str:
    (folder / "sweep.toml").write_text(text)
    return str(folder / "sweep.toml")


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file without their times."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    for row in found:
        del row["seconds"]
    return found


def test_a_sweep_tells_right_from_error_and_knows_it_the_next_time(
    cli: Cli, cache: Path, tmp_path: Path
) -> None:
    first = cli("sweep", spec(tmp_path, SMALL), "-j", "1", "-o", str(tmp_path / "a.jsonl"))
    assert first.code == 1, first.err
    assert "error UnsupportedOp in backend, 2 points" in first.out
    assert (
        "again: aiepipe emit matmul -m 2 -n 2 -k 2 --type f8E4M3FN --fill 7 | aiepipe build-run -"
        in first.out
    )
    found = rows(tmp_path / "a.jsonl")
    assert [(r["m"], r["type"], r["verdict"]) for r in found] == [
        (2, "i32", "right"), (2, "f8E4M3FN", "error"), (3, "i32", "right"), (3, "f8E4M3FN", "error"),
    ]  # fmt: skip
    second = cli("sweep", spec(tmp_path, SMALL), "-j", "1", "--json")
    assert second.document["summary"]["cached"] == 4
    assert second.document["summary"]["error"] == 2
    # half of what was kept is damaged: it is computed again
    for path in sorted((cache / "sweeps" / "results").rglob("*.json"))[:2]:
        path.write_text('{"row": 3}')
    third = cli("sweep", spec(tmp_path, SMALL), "-j", "1", "--json", "-o", str(tmp_path / "b.jsonl"))
    assert third.document["summary"]["cached"] == 2
    assert rows(tmp_path / "b.jsonl") == found


@pytest.mark.usefixtures("cache")
def test_a_budget_of_time_stops_and_says_what_was_not_run(cli: Cli, tmp_path: Path) -> None:
    done = cli("sweep", spec(tmp_path, SMALL + "[budget]\nseconds = 0.000001\n"), "-j", "1")
    assert done.code == 0
    assert "4 not run (budget)" in done.out


@pytest.mark.usefixtures("cache")
def test_a_failure_becomes_a_regression_test_that_fails_as_stated(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "regressions"
    text = SMALL.replace('"i32", ', "")
    done = cli("sweep", spec(tmp_path, text), "-j", "1", "--reduce", str(folder))
    (file,) = folder.glob("error_*.mlir")
    assert str(file) in done.err
    assert "tensor<1x1xf8E4M3FN>" in file.read_text()
    tested = cli("test", str(folder), "--json")
    assert tested.code == 0
    assert tested.document["summary"]["xfailed"] == 1


@pytest.mark.usefixtures("cache")
def test_extras_that_are_missing_are_named(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = cli("sweep", spec(tmp_path, SMALL), "--scheduler", "tcp://127.0.0.1:1")
    assert done.code == 2
    assert "aiepipe[cluster]" in done.err


@pytest.mark.slow
def test_200_cases_killed_in_the_middle_give_the_same_table(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "aiepipe", "sweep", spec(tmp_path, LARGE), "-j", "2"]

    def environment(name: str) -> dict[str, str]:
        return {**os.environ, "AIEPIPE_CACHE_DIR": str(tmp_path / name)}

    whole = subprocess.run([*asked, "-o", str(tmp_path / "whole.jsonl")], env=environment("one"), check=False)
    assert whole.returncode in (0, 1)
    kept = tmp_path / "two" / "sweeps" / "results"
    with subprocess.Popen(asked, env=environment("two"), stdout=subprocess.DEVNULL) as killed:
        while sum(1 for _ in kept.rglob("*.json")) < 60:
            assert killed.poll() is None
            time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
    before = sum(1 for _ in kept.rglob("*.json"))
    assert 60 <= before < 200
    resumed = subprocess.run(
        [*asked, "-o", str(tmp_path / "resumed.jsonl"), "--json"],
        env=environment("two"), check=False, capture_output=True, text=True,
    )  # fmt: skip
    summary = json.loads(resumed.stdout)["summary"]
    assert summary["total"] == 200
    assert before <= summary["cached"] < 200
    assert rows(tmp_path / "resumed.jsonl") == rows(tmp_path / "whole.jsonl")


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("text", "points"),
    [
        pytest.param(SMALL.replace('"2x2x2", ', ""), 2, id="small"),
        pytest.param(LARGE, 200, id="200", marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
    ],
)
def test_a_cluster_of_two_workers_with_an_npu_each_gives_the_same_table(
    cli: Cli, tmp_path: Path, text: str, points: int
) -> None:
    distributed: Any = pytest.importorskip("distributed")
    code = cli("sweep", spec(tmp_path, text), "-j", "2", "-o", str(tmp_path / "local.jsonl")).code
    # "auto" might be hardware, so each point asks for an NPU; and it is not taken from what is known
    remote = spec(tmp_path, text.replace('"emulated"', '"auto"'))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, resources={"NPU": 1}, dashboard_address=None
    ) as cluster:
        address: str = cluster.scheduler_address
        done = cli("sweep", remote, "--scheduler", address, "-o", str(tmp_path / "remote.jsonl"))
    assert done.code == code, done.err
    assert address in done.out
    local, there = rows(tmp_path / "local.jsonl"), rows(tmp_path / "remote.jsonl")
    assert len(local) == points
    for row in local + there:
        row["again"] = row["again"].replace(" --device emulated", "")
    assert there == local


WRONG = """
kernel = "matmul"
device = "emulated"
[grid]
shape = ["64x64x16"]
type = ["i32"]
fill = [7]
repeat = [20]
sync-policy = ["default", "no-output-presync"]
"""


@pytest.mark.usefixtures("cache")
def test_a_wrong_row_has_the_fills_of_its_program_on_the_page(cli: Cli, tmp_path: Path) -> None:
    """Half of the runs without the sync are wrong (docs/syncs.md): of twenty, none is right by luck only."""
    page = tmp_path / "page.html"
    done = cli(
        "sweep", spec(tmp_path, WRONG), "-j", "1", "--html", str(page), "-o", str(tmp_path / "a.jsonl")
    )
    assert done.code == 1, done.err
    right, wrong = rows(tmp_path / "a.jsonl")
    assert [(r["sync_policy"], r["verdict"]) for r in (right, wrong)] == [
        ("default", "right"), ("no-output-presync", "wrong"),
    ]  # fmt: skip
    assert wrong["runs"] == 20
    assert 0 < wrong["wrong_runs"] < 20
    assert "S002" in wrong["hazards"]
    text = page.read_text()
    assert "(the linalg.fill of 7 (12:8) is inside it)" in text


@pytest.mark.usefixtures("cache")
def test_parquet_has_the_rows_of_the_lines(cli: Cli, tmp_path: Path) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="the extra parquet")
    small = spec(tmp_path, SMALL)
    assert cli("sweep", small, "-j", "1", "-o", str(tmp_path / "a.jsonl")).code == 1
    assert cli("sweep", small, "-j", "1", "-o", str(tmp_path / "a.parquet")).code == 1
    found = parquet.read_table(str(tmp_path / "a.parquet")).to_pylist()
    for row in found:
        del row["seconds"]
    assert found == rows(tmp_path / "a.jsonl")
