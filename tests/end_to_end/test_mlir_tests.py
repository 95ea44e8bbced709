"""`aiepipe test` on a folder in which every kind of outcome is present."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from .conftest import Cli, Outcome

FILL = """func.func @{name}() -> tensor<4xi32> {{
  %v = arith.constant {value} : i32
  %e = tensor.empty() : tensor<4xi32>
  %0 = linalg.fill ins(%v : i32) outs(%e : tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}}
"""
FILES = {
    "right.mlir": "// aiepipe-test\n// output: 4xi32=7\n// fills: queue.fill\n"
    "// fate: start-up\n// hazards: none\n"
    + FILL.format(name="f", value=7)
    + "// aiepipe-test: again\n// output 4xi32\n// repeat: 2\n"
    + FILL.format(name="g", value=-1),
    "wrong.mlir": "// aiepipe-test\n// output: 4xi32=7 7 8 7\n" + FILL.format(name="f", value=7),
    "fills.mlir": "// aiepipe-test\n// fills: none\n// fate: fused\n" + FILL.format(name="f", value=7),
    "xfail.mlir": "// aiepipe-test\n// output: 4xi32=8\n// xfail: a known bug\n"
    + FILL.format(name="f", value=7),
    "xpass.mlir": "// aiepipe-test\n// xfail: a bug that is no more\n" + FILL.format(name="f", value=7),
    "error.mlir": "// aiepipe-test\n// error: frontend: memref\n"
    "func.func @f(%a: memref<4xi32>) {\n  return\n}\n",
    "noerror.mlir": "// aiepipe-test\n// error: frontend: memref\n" + FILL.format(name="f", value=7),
    "broken.mlir": "// aiepipe-test\nthis is no MLIR\n",
    "npu4.mlir": "// aiepipe-test\n// target: npu4\n" + FILL.format(name="f", value=7),
    "foreign.mlir": "// output 4xi32\n" + FILL.format(name="f", value=7),
    "header.mlir": "// aiepipe-test\n// outptu: 4xi32=7\n" + FILL.format(name="f", value=7),
    "untested.mlir": FILL.format(name="f", value=7),
}
EXPECTED = {
    "broken.mlir::module[builtin]": "failed",
    "error.mlir::f[builtin]": "passed",
    "fills.mlir::f[builtin]": "failed",
    "foreign.mlir::f[builtin]": "passed",
    "noerror.mlir::f[builtin]": "failed",
    "npu4.mlir::f[builtin]": "skipped",
    "right.mlir::f[builtin]": "passed",
    "right.mlir::g[again-builtin]": "passed",
    "wrong.mlir::f[builtin]": "failed",
    "xfail.mlir::f[builtin]": "xfailed",
    "xpass.mlir::f[builtin]": "xpassed",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_outcome_is_told_and_counted(cli: Cli, folder: Path) -> None:
    junit = folder / "out" / "junit.xml"
    done = cli("test", str(folder), "--json", "-j", "1", "--junit", str(junit))
    document = done.document
    assert {t["id"].removeprefix(f"{folder}/"): t["outcome"] for t in document["tests"]} == EXPECTED
    assert done.code == 2  # header.mlir cannot be read; the others have run all the same
    assert document["unreadable"][0]["where"] == f"{folder}/header.mlir:2"
    assert document["summary"]["failed"] == 4
    problems = {t["id"].removeprefix(f"{folder}/"): t["problems"] for t in document["tests"]}
    assert problems["wrong.mlir::f[builtin]"] == ["the numbers are wrong"]
    assert problems["fills.mlir::f[builtin]"][0] == (
        "fills should be none, but the HAL IR has hal.device.queue.fill"
    )
    assert "runs to its end" in problems["noerror.mlir::f[builtin]"][0]
    _check_junit(junit)


def _check_junit(path: Path) -> None:
    root = ET.parse(path).getroot()
    assert {k: root.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "12", "failures": "5", "errors": "1", "skipped": "2",
    }  # fmt: skip
    cases = {f"{c.get('classname')}::{c.get('name')}": c for c in root.iter("testcase")}
    wrong = next(c for name, c in cases.items() if name.endswith("wrong::f[builtin]"))
    failure = wrong.find("failure")
    assert failure is not None
    assert failure.get("message") == "the numbers are wrong"
    assert "1 of 4 elements wrong" in str(failure.text)


def test_a_failure_shows_what_a_person_needs(cli: Cli, folder: Path) -> None:
    done = cli("test", str(folder / "wrong.mlir"), str(folder / "right.mlir"), "-k", "not again", "-j", "1")
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[0] == f"FAILED {folder}/wrong.mlir::f[builtin]  ({folder}/wrong.mlir:1)"
    assert lines[1] == "  the numbers are wrong"
    assert "instead of 8" in done.out
    assert f"again: aiepipe build-run {folder}/wrong.mlir --function f" in done.out
    assert lines[-1].startswith("1 passed, 1 failed, 1 not selected in ")
    # nothing of the test that passes but its line in the table
    assert done.out.count("right.mlir") == 1


def test_the_list_names_the_tests_and_runs_none(cli: Cli, folder: Path) -> None:
    done: Outcome = cli("test", str(folder / "right.mlir"), "--list")
    assert done.code == 0
    assert done.out == f"{folder}/right.mlir::f[builtin]\n{folder}/right.mlir::g[again-builtin]\n"
    rows = json.loads(cli("test", str(folder / "right.mlir"), "--list", "--json").out)["tests"]
    assert [row["line"] for row in rows] == [1, 12]


def test_what_is_not_there_is_a_usage_error(cli: Cli, folder: Path) -> None:
    for arguments, message in (
        (["nowhere"], "there is no nowhere"),
        ([str(folder / "untested.mlir")], "has no test header"),
        ([str(folder / "right.mlir"), "-k", "nothing"], "no test matches"),
        ([str(folder / "right.mlir"), "-k", "a b"], "cannot read -k"),
    ):
        done = cli("test", *arguments)
        assert done.code == 2
        assert message in done.err


@pytest.mark.slow
def test_the_samples_are_as_they_state_on_two_processes(cli: Cli) -> None:
    done = cli("test", str(Path(__file__).parents[2] / "mlir"), "-j", "2", "--json")
    assert done.code == 0, done.out
    assert done.document["summary"]["processes"] == 2
