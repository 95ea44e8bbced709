"""The store of results and builds: what is there is whole, what is not is computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aiepipe.flows.build_run import BuildRunOptions, build_run
from aiepipe.flows.case import KeptCompiler
from aiepipe.flows.content_store import ContentStore, content_key, default_store
from aiepipe.flows.device import RunSettings
from aiepipe.frontend.compiler import Compiler
from aiepipe.program import Program
from aiepipe.verdict import Agreement, BuildRunReport

MATMUL = str(Path(__file__).parents[2] / "mlir" / "matmul_accumulate.mlir")


def test_a_document_is_found_by_its_key_only(tmp_path: Path) -> None:
    store = ContentStore(tmp_path / "new")
    key, other = content_key("a", 1), content_key("a", 2)
    assert key != other
    assert content_key("a", 1) == key
    assert store.find(key) is None
    store.keep(key, {"row": 1})
    assert store.find(key) == {"row": 1}
    assert store.find(other) is None
    (path,) = (tmp_path / "new").rglob("*.json")
    for damage in (b"", b"[1]", b'{"row": ', b"\xff"):
        path.write_bytes(damage)
        assert store.find(key) is None


def test_a_store_without_a_folder_and_one_that_cannot_be_written_keep_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for store in (ContentStore(None), ContentStore(tmp_path / "file")):
        store.keep("ab", {})
        assert store.find("ab") is None
        assert store.find_build("ab") is None


def test_the_environment_says_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AIEPIPE_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("AIEPIPE_NO_CACHE", raising=False)
    assert default_store().folder == tmp_path / "sweeps"
    monkeypatch.setenv("AIEPIPE_NO_CACHE", "1")
    assert default_store().folder is None


def test_a_build_that_is_kept_gives_the_same_run_without_compiling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ContentStore(tmp_path)
    compiled: list[str] = []
    compile_ = Compiler.compile

    def counted(self: Compiler, file: str, text: str, **options: Any) -> Program:
        compiled.append(file)
        return compile_(self, file, text, **options)

    monkeypatch.setattr(Compiler, "compile", counted)
    with KeptCompiler() as compiler:

        def run(seed: int, flags: tuple[str, ...] = ()) -> BuildRunReport:
            options = BuildRunOptions(MATMUL, seed=seed, iree_flags=flags, settings=RunSettings("emulated"))
            return build_run(options, compiler=compiler, builds=store, look=False)

        first, second = run(1), run(2)
        assert (first.agreement, second.agreement) == (Agreement.PASS, Agreement.PASS)
        assert first.dispatches == second.dispatches
        assert len(compiled) == 1
        # other flags are another build; a damaged one is made again
        run(1, ("--iree-opt-const-eval=false",))
        assert len(compiled) == 2
        for path in tmp_path.rglob("*.xclbin"):
            path.write_bytes(b"")
        assert run(1).dispatches == first.dispatches
        assert len(compiled) == 3
        compiler.close()
