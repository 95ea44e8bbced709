"""The pytest plugin, seen from outside: runs of pytest in folders of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[1] / "mlir"
FILL = """func.func @{name}() -> tensor<4xi32> {{
  %v = arith.constant 7 : i32
  %e = tensor.empty() : tensor<4xi32>
  %0 = linalg.fill ins(%v : i32) outs(%e : tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}}
"""
FILES = {
    "right.mlir": "// aiepipe-test\n// output: 4xi32=7\n" + FILL.format(name="f"),
    "wrong.mlir": "// aiepipe-test: eight\n// output: 4xi32=8\n" + FILL.format(name="f"),
    "xfail.mlir": "// aiepipe-test\n// output: 4xi32=8\n// xfail: a known bug\n" + FILL.format(name="f"),
    "xpass.mlir": "// aiepipe-test\n// xfail: a bug that is no more\n" + FILL.format(name="f"),
    "npu4.mlir": "// aiepipe-test\n// target: npu4\n" + FILL.format(name="f"),
    "foreign.mlir": "// output 4xi32\n" + FILL.format(name="f"),
    "theirs.mlir": "// RUN: iree-opt %s\nnot ours to read\n",
}
INSTALLED = any(entry.name == "aiepipe" for entry in entry_points(group="pytest11"))
PLUGIN = [] if INSTALLED else ["-p", "aiepipe.pytest_plugin"]


def run_pytest(folder: Path, *arguments: str, plugin: bool = True) -> tuple[int, str]:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder)),
            *(PLUGIN if plugin else []),
            *arguments,
        ],
        cwd=folder,
        env={**os.environ, "PY_COLORS": "0", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers --strict-config\n")
    return tmp_path


def collected(text: str) -> list[str]:
    return [line for line in text.splitlines() if "::" in line]


def test_marked_files_are_collected_and_no_others(folder: Path) -> None:
    code, text = run_pytest(folder, "--collect-only", "-q")
    assert code == 0, text
    assert collected(text) == [
        "npu4.mlir::f[builtin]",
        "right.mlir::f[builtin]",
        "wrong.mlir::f[eight-builtin]",
        "xfail.mlir::f[builtin]",
        "xpass.mlir::f[builtin]",
    ]
    # iree-amd-aie's headers when asked for; a test on each backend
    _, text = run_pytest(folder, "--collect-only", "-q", "--aiepipe", "foreign.mlir", "right.mlir")
    assert collected(text) == ["foreign.mlir::f[builtin]", "right.mlir::f[builtin]"]
    options = ("--aiepipe-backend=builtin", "--aiepipe-backend=x")
    _, text = run_pytest(folder, "--collect-only", "-q", *options, "right.mlir")
    assert collected(text) == ["right.mlir::f[builtin]", "right.mlir::f[x]"]


def test_the_configuration_turns_collecting_off(folder: Path) -> None:
    (folder / "pytest.ini").write_text("[pytest]\naiepipe_collect = off\n")
    code, text = run_pytest(folder, "-q")
    assert code == 5, text  # pytest's "no tests collected"
    (folder / "pytest.ini").write_text("[pytest]\naiepipe_collect = some\n")
    code, text = run_pytest(folder, "-q")
    assert code == 4, text
    assert "it is one of marked, all, off" in text


def test_outcomes_are_pytests_own_and_a_failure_shows_its_report_only(folder: Path) -> None:
    code, text = run_pytest(folder, "-rA", "--junitxml=j.xml")
    assert code == 1, text
    assert "2 failed, 1 passed, 1 skipped, 1 xfailed" in text
    assert re.search(r"SKIPPED .*npu4", text)
    assert "[XPASS(strict)] a bug that is no more" in text
    report = text.split("_ f[eight-builtin] _", 1)[1].split("= short test summary", 1)[0]
    assert "wrong.mlir:1\nthe numbers are wrong\n" in report
    assert "instead of 8" in report
    assert "again: aiepipe build-run wrong.mlir --function f --expected-output 4xi32=8" in report
    assert "Traceback" not in text
    assert "pytest_plugin.py" not in text


def test_an_unreadable_header_is_one_line_at_collection(folder: Path) -> None:
    (folder / "bad.mlir").write_text("// aiepipe-test\n// outptu: 4xi32=7\n")
    code, text = run_pytest(folder, "bad.mlir")
    assert code == 2, text
    assert "bad.mlir:2: error: there is no directive 'outptu'" in text
    assert "Traceback" not in text


def test_the_fixture_fails_at_the_users_line(folder: Path) -> None:
    (folder / "test_mine.py").write_text(
        f"TEXT = {FILL.format(name='f')!r}\n"
        "def test_right(aiepipe_check):\n"
        "    report = aiepipe_check(TEXT, expected=['4xi32=7'])\n"
        "    assert report.agreement.value == 'PASS'\n"
        "def test_wrong(aiepipe_check):\n"
        "    aiepipe_check('right.mlir', expected=['4xi32=9'])  # my line\n"
        "def test_error(aiepipe_check):\n"
        "    aiepipe_check('theirs.mlir')  # my line\n"
    )
    code, text = run_pytest(folder, "test_mine.py")
    assert code == 1, text
    assert "2 failed, 1 passed" in text
    assert "instead of 9" in text
    places = [line for line in text.splitlines() if re.match(r"\S+\.py:\d+: ", line)]
    assert [place.split(":")[0] for place in places] == ["test_mine.py", "test_mine.py"]


def test_a_project_without_such_files_pays_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_nothing_was_imported():\n"
        "    mine = {n for n in sys.modules if n.startswith('aiepipe')}\n"
        "    assert mine == {'aiepipe', 'aiepipe.pytest_plugin'}\n"
        "    assert not {'numpy', 'iree', 'llvmlite', 'rich', 'typer'} & set(sys.modules)\n"
    )
    (tmp_path / "model.mlir").write_text("not ours")
    code, text = run_pytest(tmp_path, "-q", "-W", "error")
    assert code == 0, text


@pytest.mark.slow
def test_pytest_and_the_command_agree_also_on_two_processes(tmp_path: Path) -> None:
    code, text = run_pytest(tmp_path, "-n", "2", "-rA", str(SAMPLES))
    assert code == 0, text
    theirs = sorted(re.findall(r"PASSED \S*?(\w+\.mlir::\S+)", text))
    done = subprocess.run(
        [sys.executable, "-m", "aiepipe", "test", str(SAMPLES), "--list"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert theirs == sorted(line.rpartition("/")[2] for line in done.stdout.splitlines())


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_page_has_every_case_and_what_changed(folder: Path, processes: str) -> None:
    """The same cases as `aiepipe test`, also from xdist's workers; a wrong one with its heat map."""
    earlier = {
        "schema": "aiepipe.tests/1",
        "tests": [{"id": "wrong.mlir::f[eight-builtin]", "outcome": "passed"}],
    }
    (folder / "earlier.json").write_text(json.dumps(earlier))
    options = ("--aiepipe-html=page.html", "--aiepipe-compare=earlier.json", "-n", processes)
    code, text = run_pytest(folder, *options)
    assert code == 1, text
    page = (folder / "page.html").read_text()
    names = re.findall(r'<details class="case" id="case\d+"><summary><span class="state \w+">(\w+)', page)
    assert names == ["skipped", "passed", "failed", "xfailed", "xpassed"]
    assert "Where result 0 is wrong" in page
    assert '<td>passed</td><td><span class="changed">failed</span></td>' in page


def test_an_earlier_report_that_is_none_is_refused(folder: Path) -> None:
    (folder / "earlier.json").write_text("{}")
    code, text = run_pytest(folder, "--aiepipe-html=page.html", "--aiepipe-compare=earlier.json")
    assert code == 4
    assert "no report to compare with" in text
