"""`aiepipe bisect` over releases (fakes; real wheels where AIEPIPE_TEST_BISECT=1), flags and backends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from aiepipe.errors import UsageError
from aiepipe.flows import bisect_flags
from aiepipe.flows.bisect import bisect, kind_of
from aiepipe.flows.bisect_compilers import fills_answer
from aiepipe.flows.bisect_flags import FlagChange, apply, flag_changes
from aiepipe.flows.bisect_options import BisectOptions
from aiepipe.flows.compiler_wheels import Tools, WheelReleases, version_key
from aiepipe.verdict import BisectReport, Outcome, Trial

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"
FILL = str(SAMPLES / "fill.mlir")

# Releases 1.0 to 1.5: up to 1.1 a fill runs per call, from 1.3 on the compiler fails, 1.5 crashes.
FAKE = """
import os, signal, sys
release = float(sys.argv[0].rpartition("-")[2])
arguments = sys.argv[1:]
if release >= 1.5:
    os.kill(os.getpid(), signal.SIGSEGV)
if release >= 1.3:
    sys.exit("in.mlir:2:8: error: custom op 'x' is unknown")
where = "util.func public @f()" if release < 1.2 else "util.initializer"
text = f"module {{\\n  {where} {{\\n    stream.cmd.fill %c, %r[%o for %l]\\n  }}\\n}}\\n"
with open(arguments[arguments.index("-o") + 1], "w") as out:
    out.write(text)
"""


@dataclass
class FakeReleases:
    """Releases whose compiler is the script above."""

    folder: Path
    ready: set[str] = field(default_factory=set[str])
    made: list[str] = field(default_factory=list[str])

    def versions(self) -> Sequence[str]:
        return ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"]

    def is_ready(self, version: str) -> bool:
        return version in self.ready

    def tools(self, version: str) -> Tools:
        self.made.append(version)
        path = self.folder / f"iree-compile-{version}"
        path.write_text(f"#!{sys.executable}\n{FAKE}")
        path.chmod(0o755)
        return Tools(path, None)


def never(question: str) -> bool:
    raise AssertionError(question)


def changes(report: BisectReport) -> list[tuple[str, str, str, str]]:
    return [
        (t.before.name, t.before.outcome.value, t.after.name, t.after.outcome.value)
        for t in report.transitions
    ]


def test_four_verdicts_over_releases(tmp_path: Path) -> None:
    releases = FakeReleases(tmp_path)
    options = BisectOptions(FILL, "1.0", "1.5", yes=True, keep=str(tmp_path / "kept"))
    report = bisect(options, releases, never)
    assert changes(report) == [("1.2", "right", "1.3", "error"), ("1.4", "error", "1.5", "crash")]
    assert report.transitions[0].cause == "iree-base-compiler 1.3"
    by_name = {trial.name: trial for trial in report.trials}
    assert "custom op 'x' is unknown" in by_name["1.3"].detail
    assert "SIGSEGV" in by_name["1.5"].detail
    assert (tmp_path / "kept" / "1.2.passes.mlir").is_file()


def test_a_question_about_fills_tells_right_from_right(tmp_path: Path) -> None:
    options = BisectOptions(FILL, "1.0", "1.2", question="fills", yes=True)
    report = bisect(options, FakeReleases(tmp_path), never)
    (change,) = report.transitions
    assert (change.before.name, change.before.answer) == ("1.1", "1 stream.cmd.fill at each call")
    assert (change.after.name, change.after.answer) == ("1.2", "1 stream.cmd.fill at start-up")


def test_whether_it_compiles_needs_no_reference(tmp_path: Path) -> None:
    options = BisectOptions(FILL, "1.2", "1.3", question="compiles", yes=True)
    assert changes(bisect(options, FakeReleases(tmp_path), never)) == [("1.2", "right", "1.3", "error")]


def test_the_newer_release_may_be_the_good_one(tmp_path: Path) -> None:
    report = bisect(BisectOptions(FILL, "1.4", "1.1", yes=True), FakeReleases(tmp_path), never)
    assert changes(report) == [("1.3", "error", "1.2", "right")]


def test_nothing_is_fetched_without_a_yes(tmp_path: Path) -> None:
    releases = FakeReleases(tmp_path)
    asked: list[str] = []

    def no(question: str) -> bool:
        asked.append(question)
        return False

    with pytest.raises(UsageError, match="nothing was fetched"):
        bisect(BisectOptions(FILL, "1.0", "1.5"), releases, no)
    assert releases.made == []
    assert "MB" in asked[0]
    # what is here already needs no question
    bisect(BisectOptions(FILL, "1.0", "1.5"), replace(releases, ready=set(releases.versions())), never)


def test_a_release_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no release 9\.9"):
        bisect(BisectOptions(FILL, "1.0", "9.9", yes=True), FakeReleases(tmp_path), never)


@pytest.mark.parametrize(
    ("good", "bad", "kind"),
    [
        ("3.6.0", "3.13.0", "compilers"),
        ("", "--x --y=1", "flags"),
        ("--x", "", "flags"),
        ("builtin", "builtin", "backends"),
        ("3.6.0", "--x", None),
        ("", "", None),
        ("builtin", "nope", None),
    ],
)
def test_what_two_names_are(good: str, bad: str, kind: str | None) -> None:
    if kind is None:
        with pytest.raises(UsageError):
            kind_of(good, bad)
    else:
        assert kind_of(good, bad) == kind


def test_versions_are_in_order() -> None:
    versions = ["3.10.0", "3.9.0", "3.9.0rc1", "2.9.0", "3.13.0"]
    assert sorted(versions, key=version_key) == ["2.9.0", "3.9.0rc1", "3.9.0", "3.10.0", "3.13.0"]


def test_flags_that_differ_option_by_option() -> None:
    good, bad = ["--a=1", "--b", "--same"], ["--a=2", "--same", "--c"]
    found = flag_changes(good, bad)
    assert found == (FlagChange("--a=1", "--a=2"), FlagChange("--b", None), FlagChange(None, "--c"))
    assert apply(good, found) == ("--a=2", "--same", "--c")
    assert apply(good, found[2:]) == ("--a=1", "--b", "--same", "--c")
    assert [change.text for change in found] == ["--a=2 (was --a=1)", "without --b", "--c"]


def test_the_flags_that_matter_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[str, ...]] = []

    def judge(name: str, options: BisectOptions, *, iree_flags: tuple[str, ...]) -> Trial:
        tried.append(iree_flags)
        bad = {"--c", "--e=1"} <= set(iree_flags)
        return Trial(name, Outcome.WRONG if bad else Outcome.RIGHT)

    monkeypatch.setattr(bisect_flags, "try_build_run", judge)
    monkeypatch.setattr(bisect_flags, "_compiler_here", lambda: None)
    flags = "--a --b --c --d --e=1 --f --g"
    report = bisect(BisectOptions(FILL, "", flags), WheelReleases(), never)
    (change,) = report.transitions
    assert change.cause == "--c, --e=1"
    assert (change.before.outcome, change.after.outcome) == (Outcome.RIGHT, Outcome.WRONG)
    assert len(tried) == len(set(tried))


def test_a_flag_of_the_real_compiler(tmp_path: Path) -> None:
    # f64 is not computed on this chip; demoted to f32 it compiles
    path = tmp_path / "f64.mlir"
    path.write_text(
        "func.func @main(%a: tensor<4xf64>) -> tensor<4xf64> {\n"
        "  %0 = arith.addf %a, %a : tensor<4xf64>\n  return %0 : tensor<4xf64>\n}\n"
    )
    bad = "--iree-opt-const-eval=false --iree-scheduling-optimize-bindings=false"
    report = bisect(BisectOptions(str(path), "", bad), WheelReleases(), never)
    assert report.transitions == ()
    assert {trial.outcome for trial in report.trials} == {Outcome.ERROR}


def test_fills_are_counted_where_they_stand() -> None:
    text = """module {
  util.func private @x() { stream.cmd.fill %a }
  util.initializer {
    stream.cmd.fill %a
    stream.cmd.dispatch @__builtin_splat_i64::@y
  }
}
"""
    assert fills_answer(text) == (
        "1 __builtin_splat_i64 at start-up, 1 stream.cmd.fill at each call, 1 stream.cmd.fill at start-up"
    )
    assert fills_answer("module {}") == "no fill"


# --------------------------------------------------------------------------- real wheels


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.skipif(
    os.environ.get("AIEPIPE_TEST_BISECT") != "1",
    reason="fetches compiler releases of 0.5 GB each; set AIEPIPE_TEST_BISECT=1",
)
@pytest.mark.parametrize(
    ("text", "good", "bad", "question", "change"),
    [
        (
            "func.func @main(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x4xf32>) "
            "-> tensor<4x4xf32> { "
            "%0 = linalg.matmul_transpose_b ins(%a, %b : tensor<4x8xf32>, tensor<4x8xf32>) "
            "outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32> return %0 : tensor<4x4xf32> }",
            "3.5.0",
            "3.8.0",
            "verdict",
            ("3.6.0", "right", "3.7.0", "error"),
        ),
        (None, "3.8.0", "3.10.0", "fills", ("3.8.0", "right", "3.9.0", "right")),
        (
            "func.func @main() -> tensor<4xcomplex<f64>> { "
            "%0 = arith.constant dense<(1.0, 2.0)> : tensor<4xcomplex<f64>> "
            "return %0 : tensor<4xcomplex<f64>> }",
            # up to 3.10 it compiles, but to complex<f32>: that is wrong, and another verdict than an error
            "3.9.0",
            "3.11.0",
            "verdict",
            ("3.10.0", "wrong", "3.11.0", "error"),
        ),
    ],
    ids=["transpose_b", "fill", "complex_f64"],
)
def test_known_answers_with_the_real_releases(
    tmp_path: Path, text: str | None, good: str, bad: str, question: str, change: tuple[str, str, str, str]
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text((SAMPLES / "fill.mlir").read_text() if text is None else text)
    options = BisectOptions(str(path), good, bad, question=question, yes=True)
    assert changes(bisect(options, WheelReleases(), never)) == [change]
