"""`aiepipe build --emit asm|aie`: a text on standard output, files only with -o."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Cli
from .test_fallback import TWO

MATMUL = ("emit", "matmul", "-m", "16", "-n", "16", "-k", "16", "--type", "i8", "--fill", "1")


@pytest.mark.parametrize(("form", "begins"), [("asm", "multiply-add"), ("aie", "aie.device(npu1")])
def test_the_text_is_on_standard_output(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, begins: str
) -> None:
    monkeypatch.chdir(tmp_path)
    source = cli(*MATMUL).out
    done = cli("build", "-", "--emit", form, stdin=source)
    assert done.code == 0, done.err
    assert begins in done.out
    assert list(tmp_path.iterdir()) == []
    kept = cli("build", "-", "--emit", form, "-o", str(tmp_path / "out"), stdin=source)
    assert kept.out == done.out
    ending = {"asm": ".s", "aie": ".aie.mlir"}[form]
    (file,) = (tmp_path / "out").glob(f"*{ending}")
    assert file.read_text() == done.out


def test_what_goes_to_the_cpu_is_said_beside_the_text(cli: Cli) -> None:
    done = cli("build", "-", "--emit", "asm", "--fallback", "cpu", stdin=TWO)
    assert done.code == 0
    assert done.out.startswith("// core")
    assert done.err.count("runs on the CPU") == 2


def test_another_form_is_a_usage_error(cli: Cli) -> None:
    done = cli("build", "-", "--emit", "verilog", stdin=cli(*MATMUL).out)
    assert done.code == 2
    assert "one of: asm, aie" in done.err
