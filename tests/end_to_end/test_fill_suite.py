"""mlir/fills/: each program's fate is what its header says, and the header is right by the text of IREE's
own IR, which iree-compile prints and this file searches without any of our readers.

The text of the HAL proves how many fills there are, of which op, and whether they run at start-up. The
text of the phase before, in which dispatches still are linalg, proves the words of a fate: FileCheck finds
the value inside the dispatch that it was fused into, or the bytes that are filled, or nothing where it was
folded away.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from aiepipe.errors import CompileError
from aiepipe.frontend.compiler import Compiler
from aiepipe.hal.inspection import inspect
from aiepipe.testing.case import Case
from aiepipe.testing.header import read_cases

from .conftest import Cli

FOLDER = Path(__file__).parents[2] / "mlir" / "fills"
PROGRAMS = sorted(FOLDER.glob("*.mlir"))
# as inspect: a target for which no machine code is made, f64 as f64, constants not evaluated
FLAGS = (
    "--iree-hal-target-backends=vmvx",
    "--iree-input-demote-f64-to-f32=false",
    "--iree-opt-const-eval=false",
)
# vmvx has no code for these; their host IR cannot be had from iree-compile
NOT_FOR_VMVX = {"accumulator_f16", "accumulator_k0"}


def test_there_are_forty_at_least() -> None:
    assert len(PROGRAMS) >= 40
    types = {"i1", "i4", "i8", "i16", "i32", "i64", "bf16", "f16", "f32", "f64", "complex_f32", "complex_f64"}
    assert types <= {path.stem.removeprefix("constant_") for path in PROGRAMS}


def test_each_fill_has_the_fate_that_its_header_states(cli: Cli) -> None:
    done = cli("test", str(FOLDER), "--json")
    assert done.code == 0, done.err
    outcomes = [result["outcome"] for result in done.document["tests"]]
    assert outcomes == ["passed"] * len(PROGRAMS)


def case_of(path: Path) -> Case:
    (case,) = read_cases(str(path), path.read_text())
    return case


def stated(case: Case) -> dict[str, int]:
    """Fills by the op's name, as the header has them."""
    assert case.fills is not None
    return dict(case.fills.kinds)


def iree_compile(path: Path, phase: str) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("iree-compile", path=str(Path(sys.executable).parent)) or "iree-compile"
    return subprocess.run(
        [compiler, *FLAGS, f"--compile-to={phase}", str(path)], capture_output=True, text=True, check=False
    )


def fate_checks(source: str, fates: Sequence[str]) -> list[str]:
    """FileCheck lines for the fates of a program, in any order: each is a group for a search of its own."""
    value = re.search(r"arith\.constant (?:dense<)?([^>\s]+)>? : (?:tensor<[^>]*>|\w+)", source)
    groups: list[str] = []
    for fate in fates:
        for part in fate.split(";"):
            groups += _part_checks(part.strip(), "" if value is None else value[1])
    return groups


def _part_checks(part: str, value: str) -> list[str]:
    fused = re.match(r"fused into dispatch ?(\w*)", part)
    filled = re.search(r"bytes \[(\d+), (\d+)\)", part)
    if fused:
        name = fused[1] or "{{.*}}"
        return [f"CHECK: func.func @{name}(\nCHECK: arith.constant {_printed(value)}\nCHECK: linalg."]
    if part.startswith("__builtin_splat_i64"):
        return ["CHECK: stream.cmd.dispatch @__builtin_splat_i64"]
    if filled:
        start, length = int(filled[1]), int(filled[2]) - int(filled[1])
        number = "%c{}{{{{(_[0-9]+)?}}}}"
        return [f"CHECK: stream.cmd.fill {{{{.*}}}}[{number.format(start)} for {number.format(length)}]"]
    if part.startswith("folded away"):
        return ["CHECK-NOT: linalg.fill"]
    return []


def _printed(value: str) -> str:
    """A number as MLIR prints it again, alone or as a splat."""
    texts = {re.escape(value)}
    if "." in value or "e" in value.lower():
        texts.add(re.escape(f"{float(value):.6e}"))
    return "{{(dense<)?}}{{" + "|".join(sorted(texts)) + "}}"


def check_file(text: str, checks: str, folder: Path) -> str:
    """What FileCheck complains of; nothing where the text is as the checks say."""
    (folder / "checks.txt").write_text(checks + "\n")
    (folder / "ir.mlir").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "filecheck", "checks.txt", "--input-file", "ir.mlir"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_words_of_a_fate_are_right_by_the_text_of_the_ir(path: Path, tmp_path: Path) -> None:
    case = case_of(path)
    if case.errors:
        return  # it does not get as far
    done = iree_compile(path, "executable-sources")
    if path.stem in NOT_FOR_VMVX and done.returncode:
        pytest.skip("vmvx cannot compile it")
    assert done.returncode == 0, done.stderr
    for checks in fate_checks(path.read_text(), case.fates):
        assert check_file(done.stdout, checks, tmp_path) == "", checks


def test_a_fate_that_is_not_so_is_told(tmp_path: Path) -> None:
    text = (
        "func.func @a(\n%c7_i32 = arith.constant 7 : i32\nlinalg.fill\nstream.cmd.fill %v, %b[%c0 for %c32]\n"
    )
    source = "%c = arith.constant 7 : i32"
    right = ["fused into dispatch a (matmul)", "hal.command_buffer.fill_buffer of bytes [0, 32) of result 0"]
    wrong = ["fused into dispatch b", "bytes [0, 16)", "folded away", "__builtin_splat_i64 at each call"]
    assert [check_file(text, c, tmp_path) for c in fate_checks(source, right)] == ["", ""]
    checks = fate_checks(source, wrong)
    assert len(checks) == 4
    assert all(check_file(text, each, tmp_path) for each in checks)
    assert check_file(text, fate_checks("arith.constant 8 : i32", right)[0], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_header_is_right_by_the_text_of_the_ir(path: Path) -> None:
    case = case_of(path)
    done = iree_compile(path, "hal")
    if case.errors:
        assert done.returncode != 0
        assert case.errors[0].text in done.stderr
        return
    if path.stem in NOT_FOR_VMVX:
        pytest.skip("vmvx cannot compile it")
    assert done.returncode == 0, done.stderr
    text, kinds = done.stdout, stated(case)
    assert len(re.findall(r"hal\.command_buffer\.fill_buffer<", text)) == kinds.get("fill_buffer", 0)
    assert len(re.findall(r"hal\.device\.queue\.fill<", text)) == kinds.get("queue.fill", 0)
    assert bool(re.search(r"hal\.executable private @__builtin_(fill|splat)", text)) == ("builtin" in kinds)
    for fate in case.fates:
        if "queue.fill" in kinds and ("at start-up" in fate or "at each call" in fate):
            assert within(text, "hal.device.queue.fill<") == (
                "util.initializer" if "at start-up" in fate else "util.func"
            )


def within(text: str, op: str) -> str:
    """The kind of the top-level op that holds the first `op`."""
    before = text[: text.index(op)]
    return re.findall(r"^  (util\.initializer|util\.func)\b", before, re.MULTILINE)[-1]


@pytest.mark.slow
def test_the_fills_of_public_reports_are_among_them(reports: Path) -> None:
    """Each way in which a report's program fills (op, type, width of the pattern, when) is in the suite."""
    ways: dict[str, set[tuple[str, str | None, str | None, str]]] = {}
    names = [path for path in sorted(reports.glob("*.mlir")) if re.match(r"(0\d|1[0-2]|31)", path.name)]
    with Compiler() as compiler:
        for path in [*names, *PROGRAMS]:
            try:
                inspection = inspect(compiler, path.name, path.read_text(), flags=FLAGS[1:])
            except CompileError as error:
                refused = re.search(r"complex<f64>", error.message)
                ways[path.name] = {("refused", refused and refused[0], None, "")}
                continue
            ways[path.name] = {
                (o.form, o.element, o.pattern_type, o.when) for o in inspection.operations if o.kind == "fill"
            }
    assert len(names) == 10
    suite = set[tuple[str, str | None, str | None, str]]().union(*(ways[path.name] for path in PROGRAMS))
    assert {path.name: ways[path.name] - suite for path in names if ways[path.name] - suite} == {}
