"""Flags: ours give way to the user's, process-wide ones work, and a wrong one is a usage error."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.errors import UsageError
from aiepipe.frontend.compiler import Compiler

TEXT = (Path(__file__).resolve().parents[2] / "mlir" / "matmul.mlir").read_text()


def test_flags_follow_the_defaults_in_order(compiler: Compiler) -> None:
    flags = ("--iree-opt-data-tiling=false", "--iree-opt-level=O1")
    program = compiler.compile("a.mlir", TEXT, flags=flags)
    assert program.flags[-2:] == flags
    assert "--iree-hal-target-backends=vmvx" in program.flags
    assert "--iree-input-demote-f64-to-f32=false" in program.flags


def test_a_users_choice_replaces_ours(compiler: Compiler) -> None:
    flag = "--iree-hal-target-backends=llvm-cpu"
    program = compiler.compile("a.mlir", TEXT, flags=[flag])
    assert [f for f in program.flags if "target" in f] == [flag]
    assert [d.name for d in program.dispatches] == ["matmul_dispatch_0_matmul_64x64x16_i32"]


def test_process_wide_flags_get_a_fresh_worker_when_they_change(compiler: Compiler) -> None:
    for flags in (["--iree-hal-memoization=false"], [], ["--iree-hal-indirect-command-buffers=false"]):
        program = compiler.compile("a.mlir", TEXT, flags=flags)
        assert program.flags[len(program.flags) - len(flags) :] == tuple(flags)


@pytest.mark.parametrize(
    ("flag", "reason"),
    [
        ("--no-such-option", "Unknown command line argument '--no-such-option'"),
        ("--iree-hal-memoization=maybe", "'maybe' is invalid value for boolean argument"),
        ("--iree-input-demote-f64-to-f32=maybe", "option parse error"),
        ("--help", "--help"),
        ("matmul.mlir", "is no compiler option"),
    ],
)
def test_a_wrong_flag_is_a_usage_error_and_the_worker_lives_on(
    compiler: Compiler, flag: str, reason: str
) -> None:
    with pytest.raises(UsageError) as caught:
        compiler.compile("a.mlir", TEXT, flags=[flag])
    assert reason in caught.value.message
    assert compiler.compile("a.mlir", TEXT).functions


def test_a_target_that_the_compiler_lacks_is_named_with_those_it_has(compiler: Compiler) -> None:
    with pytest.raises(Exception, match="target backend 'amd-aie' not registered") as caught:
        compiler.compile("a.mlir", TEXT, flags=["--iree-hal-target-backends=amd-aie"])
    assert "vmvx" in str(caught.value)
