"""Compiled code: shared between cores, kept on disk by content, forgotten when the program changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.emulator.core import native, regions
from aiepipe.emulator.core.regions import RegionStore

from .bench import Bench, assemble

LOOP = assemble("loop:", "add r0, r0, r1", "j #0", *[""] * 5)


class Counted:
    """How often LLVM was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.compiled = 0
        original = native.compile_object

        def counting(text: str) -> bytes:
            self.compiled += 1
            return original(text)

        monkeypatch.setattr(native, "compile_object", counting)


def run_with(store: RegionStore, code: bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("aiepipe.emulator.core.core.default_store", lambda: store)
    return Bench(code, "jit").set({"r1": 3}).step(700)["r0"]


def test_equal_programs_compile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, store = Counted(monkeypatch), RegionStore(tmp_path)
    assert [run_with(store, LOOP, monkeypatch) for _ in range(3)] == [300] * 3
    assert counted.compiled == 1
    assert run_with(store, LOOP + assemble("nopx"), monkeypatch) == 300
    assert counted.compiled == 2


def test_another_process_finds_it_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    for _ in range(2):
        assert run_with(RegionStore(tmp_path), LOOP, monkeypatch) == 300
    assert counted.compiled == 1


def test_a_damaged_file_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    run_with(RegionStore(tmp_path), LOOP, monkeypatch)
    (file,) = tmp_path.iterdir()
    data = file.read_bytes()
    for bad in (b"", data[:50], data[:-1], data[:-9] + bytes(9)):
        file.write_bytes(bad)
        before = counted.compiled
        assert run_with(RegionStore(tmp_path), LOOP, monkeypatch) == 300
        assert counted.compiled == before + 1
    assert len(list(tmp_path.iterdir())) == 1


def test_no_place_to_write_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert run_with(RegionStore(blocked / "cores"), LOOP, monkeypatch) == 300


def test_the_environment_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    regions.default_store.cache_clear()
    monkeypatch.delenv("AIEPIPE_NO_CACHE", raising=False)
    monkeypatch.setenv("AIEPIPE_CACHE_DIR", str(tmp_path))
    assert run_with(regions.default_store(), LOOP, monkeypatch) == 300
    assert list((tmp_path / "cores").iterdir())
    regions.default_store.cache_clear()
    monkeypatch.setenv("AIEPIPE_NO_CACHE", "1")
    monkeypatch.setenv("AIEPIPE_CACHE_DIR", str(tmp_path / "other"))
    assert run_with(regions.default_store(), LOOP, monkeypatch) == 300
    assert not (tmp_path / "other").exists()
    regions.default_store.cache_clear()


def test_a_program_that_changes_is_translated_again() -> None:
    bench = Bench(LOOP, "jit").set({"r1": 3})
    assert bench.step(7)["r0"] == 3
    bench.program[: len(LOOP)] = assemble("loop:", "sub r0, r0, r1", "j #0", *[""] * 5)
    bench.core.program_changed()
    assert bench.step(7)["r0"] == 0


def test_loops_whose_end_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """LE from a register: the code learns to watch that address."""
    lines = (
        "mov ls, r1",
        "mov le, r2",
        "mov lc, r3",
        "start:",
        "|16|add r0, r0, #1",
        "end:",
        "|16|add r4, r4, #1",
        "done",
    )
    where = {"ls": len(assemble(*lines[:4])), "le": len(assemble(*lines[:6]))}
    for engine in ("plain", "jit"):
        bench = Bench(assemble(*lines), engine).set({"r1": where["ls"], "r2": where["le"], "r3": 5})
        assert bench.core.run(100).kind == "done"
        assert (bench["r0"], bench["r4"]) == (5, 5)


def test_a_program_that_jumps_to_ever_new_places_is_not_compiled_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Computed jumps to 256 places, four rounds: the engines agree, and LLVM is asked a bounded number
    of times."""
    counted, store = Counted(monkeypatch), RegionStore(tmp_path)
    monkeypatch.setattr("aiepipe.emulator.core.core.default_store", lambda: store)
    step = assemble("|16|j p0", "|16|padda [p0], #128", *["|16|add r0, r0, #1"] * 4)
    code = (step + assemble(*["|16|"] * 2)) * 127
    plain, jit = Bench(code, "plain"), Bench(code, "jit")
    for bench in (plain, jit):
        bench.set({"p0": 128})
        for _ in range(4):
            bench.step(6 * 120)
            bench.set({"pc": 0, "p0": 128})
    assert plain["r0"] == jit["r0"]
    assert counted.compiled <= 200


def test_mode_words_that_never_repeat_are_left_to_the_plain_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, store = Counted(monkeypatch), RegionStore(tmp_path)
    monkeypatch.setattr("aiepipe.emulator.core.core.default_store", lambda: store)
    code = assemble("loop:", "vshuffle x0, x1, x2, r0", "add r0, r0, #1", "and r0, r0, r1", "j #0", *[""] * 5)
    plain, jit = Bench(code, "plain"), Bench(code, "jit")
    for bench in (plain, jit):
        bench.set({"r1": 31, "x1": 12345 << 77, "x2": 999 << 200}).step(9 * 100)
    assert plain["x0"] == jit["x0"]
    assert counted.compiled <= 12


def test_another_level_is_other_code_of_the_same_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """AIEPIPE_JIT_LEVEL: a cache never gives what another level compiled."""
    hosts: set[str] = set()
    for level in ("0", "1", "2", "no level"):
        monkeypatch.setenv("AIEPIPE_JIT_LEVEL", level)
        hosts.add(native.host())
    assert len(hosts) == 3  # what is no level is the default, 1
    monkeypatch.delenv("AIEPIPE_JIT_LEVEL")
    assert native.host() in hosts
