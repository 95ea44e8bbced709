"""The shortcut to the HAL phase: without evaluation of constants and the executables' code, the host program
is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.frontend.compiler import Compiler

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"

# runs in the worker: both ways to the phase, as a list of what they do to buffers
_BOTH_WAYS = """
from aiepipe.frontend.passes import drop_empty_loops
from aiepipe.frontend.session import DEFAULT_FLAGS, Session
from aiepipe.hal.interpretation import HalReader
from aiepipe.hal.phases import empty_executables

def happenings(text, shortcut):
    # the shortcut leaves constant evaluation out too where nothing is computed at start-up
    flags = [*DEFAULT_FLAGS, "--iree-opt-const-eval=false"] if shortcut else DEFAULT_FLAGS
    session = Session("a.mlir", text, flags)
    drop_empty_loops(session.module)
    if shortcut:
        session.run("executable-sources")
        empty_executables(session.module, session)
        session.run("hal", since="executable-sources")
    else:
        session.run("hal")
    reader = HalReader(session.module, "a.mlir", session.context)
    reader.read()
    return [
        (h.function, h.when, h.what.location, getattr(h.what, "form", None), getattr(h.what, "name", None))
        for h in reader.happenings
    ]

equal = happenings(text, True) == happenings(text, False)
count = len(happenings(text, True))
result = (equal, count)
del text
"""


@pytest.mark.slow
@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.mlir")), ids=lambda path: path.name)
def test_emptied_executables_change_nothing_that_the_host_does(
    compiler: Compiler, sample: Path, tmp_path: Path
) -> None:
    module = tmp_path / "both_ways.py"
    found = tmp_path / "found"
    module.write_text(
        f"text = {sample.read_text()!r}\n{_BOTH_WAYS}\n"
        f"open({str(found)!r}, 'w').write(repr(result))\nglobals().clear()\n"
    )
    compiler.request("runpy:run_path", path_name=str(module))
    assert found.read_text().startswith("(True, ")
    assert found.read_text() != "(True, 0)"
