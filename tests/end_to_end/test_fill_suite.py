"""mlir/fills/: each program's fate is what its header says, and the header is right by the text of IREE's
own IR, which iree-compile prints and this file searches without any of our readers.

What the text proves: how many fills there are, of which op, and whether they run at start-up. The finer
words of a fate (which bytes, which dispatch, folded away) are held to `aiepipe inspect` only.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.slow
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_header_is_right_by_the_text_of_the_ir(path: Path) -> None:
    case = case_of(path)
    compiler = shutil.which("iree-compile", path=str(Path(sys.executable).parent)) or "iree-compile"
    done = subprocess.run(
        [compiler, *FLAGS, "--compile-to=hal", str(path)], capture_output=True, text=True, check=False
    )
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
