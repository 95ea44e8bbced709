"""The examples in each command's `--help` are run, in a folder that holds the files that they name."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.conftest import ROOT, environment_below
from tests.docs.console import run
from tests.docs.scripts import script

COMMANDS = script("generate_cli_reference").command_texts()
EXAMPLES: list[tuple[str, str]] = [(each.words, example) for each in COMMANDS for example in each.examples]
NOT_RUN = {
    "aiepipe bisect old.mlir --good 3.6.0": "fetches releases from PyPI",
    "aiepipe bisect mlir/fill.mlir --good 3.6.0": "fetches releases from PyPI",
    "aiepipe inspect mlir/fill.mlir --diff-compiler": "fetches a release from PyPI",
    "aiepipe bisect mlir/matmul.mlir --good builtin": "needs iree-amd-aie",
    "aiepipe sweep sweep.toml --scheduler": "needs a cluster (docs/howto/sweep-on-a-cluster.md starts one)",
}
"""By how they begin."""
CODES = {"aiepipe build-run mlir/matmul.mlir --sync-policy no-output-presync": 1}
"""The seed bug: its numbers are wrong."""
SLOW = {"bisect", "sync-matrix", "sweep", "test"}

PREPARE = """\
aiepipe emit matmul -m 64 -n 64 -k 64 | aiepipe build - -o built >/dev/null
cp built/*.xclbin final.xclbin; cp built/*.npu_inst.txt insts.txt; cp built/*.npu_inst.bin insts.bin
cp built/*.elf .
aiepipe build mlir/matmul.mlir -o out >/dev/null
aiepipe test mlir/matmul.mlir --json >earlier.json
python -c 'import numpy as np; [np.save(n, np.ones((64, 64), np.int32)) for n in ("a.npy", "b.npy")]'
cat > sweep.toml <<'END'
kernel = "matmul"
[grid]
shape = ["8x8x8"]
END
aiepipe sweep sweep.toml --json >earlier-sweep.json
cat > test.py <<'END'
import pyxrt
pyxrt.device(0)
END
"""


def _parameter(words: str, example: str) -> object:
    slow = words in SLOW or "--repeat 200" in example
    marks = [pytest.mark.slow, pytest.mark.timeout(900)] if slow else []
    reason = next((why for begin, why in NOT_RUN.items() if example.startswith(begin)), None)
    if reason is not None:
        marks.append(pytest.mark.skip(reason=reason))
    return pytest.param(example, marks=marks, id=example)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with artifacts and small stand-ins for what people bring; made once."""
    base = tmp_path_factory.mktemp("examples")
    (base / "work").mkdir()
    shutil.copytree(ROOT / "mlir", base / "work" / "mlir")
    environment = environment_below(base)
    subprocess.run(["bash", "-ec", PREPARE], cwd=base / "work", env=environment, check=True)
    return base / "work"


@pytest.mark.parametrize("example", [_parameter(*each) for each in EXAMPLES])
def test_an_example_of_help_works(
    example: str, made: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = shutil.copytree(made, tmp_path / "work")
    [ran] = run([example], folder, environment)
    expected = next((code for begin, code in CODES.items() if example.startswith(begin)), 0)
    assert ran.code == expected, ran.output


def test_what_is_not_run_or_fails_is_still_an_example() -> None:
    assert [begin for begin in (*NOT_RUN, *CODES) if not any(e.startswith(begin) for _, e in EXAMPLES)] == []
