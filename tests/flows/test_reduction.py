"""Shrinking a failure, with judges whose fault is known."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from aiepipe.flows.reduction import reduce_point, regression_text, write_regression
from aiepipe.flows.sweep_point import program_text
from aiepipe.frontend.compiler import Compiler
from aiepipe.testing.header import read_cases
from aiepipe.testing.sweep import MatmulShape, SourceFile, SweepPoint, SweepRow, SweepVerdict

RIGHT = SweepRow(SweepVerdict.RIGHT)
WRONG = SweepRow(SweepVerdict.WRONG, "3 of 9 elements are wrong")
CHAIN = (Path(__file__).parents[2] / "mlir" / "matmul_chain.mlir").read_text()


@pytest.fixture(scope="module")
def compiler() -> Generator[Compiler]:
    with Compiler() as made:
        yield made


def test_a_matmul_shrinks_to_what_the_fault_needs(compiler: Compiler) -> None:
    """The fault: wrong for m >= 5 and k >= 3 with a matmul in it, whatever n, fill and repeat are."""

    def judge(point: SweepPoint) -> SweepRow:
        text = program_text(point).text
        found = re.search(r"linalg\.matmul .*?ins\(.*?: tensor<(\d+)x(\d+)xi32>", text)
        return WRONG if found and int(found[1]) >= 5 and int(found[2]) >= 3 else RIGHT

    point = SweepPoint(MatmulShape(64, 48, 40, fill="7", transpose=""), flags=("--a", "--b"), repeat=20)
    found = reduce_point(point, WRONG, judge, compiler)
    assert judge(found.point) is WRONG
    assert (found.point.flags, found.point.repeat) == ((), 1)
    text = program_text(found.point).text
    assert "tensor<5x3xi32>, tensor<3x1xi32>" in text
    # the fill is not needed: the result is an argument now
    assert "linalg.fill" not in text
    assert found.tries < 80


def test_ops_that_the_fault_does_not_need_are_cut_from_a_file(compiler: Compiler) -> None:
    """The fault: an error about any linalg.fill of 0, which is the second of two."""
    error = SweepRow(SweepVerdict.ERROR, "no fill of 16 bytes", "UnsupportedOp", "backend")
    other = dataclasses.replace(error, message="something else")

    def judge(point: SweepPoint) -> SweepRow:
        text = program_text(point).text
        zero = re.search(r"(%\w+) = arith.constant 0 : i32", text)
        if zero is None or f"linalg.fill ins({zero[1]} " not in text:
            return RIGHT
        return dataclasses.replace(error, message="no fill of 4 bytes") if "tensor<" in text else other

    program = SourceFile("chain.mlir", CHAIN, "main", ("8x16xi32=1", "16x16xi32=1"), ("8x16xi32=272",))
    found = reduce_point(SweepPoint(program), error, judge, compiler)
    text = program_text(found.point).text
    assert "linalg.matmul" not in text
    assert "linalg.fill" in text
    assert "tensor.empty" not in text
    assert "func.func @main(%arg0: tensor<1x1xi32>) -> tensor<1x1xi32>" in text


def test_nothing_smaller_fails_alike_so_nothing_changes(compiler: Compiler) -> None:
    point = SweepPoint(MatmulShape(4, 4, 4))
    other_kind = SweepRow(SweepVerdict.ERROR, "other", "CompileError", "frontend")
    found = reduce_point(point, WRONG, lambda p: WRONG if p == point else other_kind, compiler)
    assert found.point == point


def test_the_regression_file_is_a_test_that_states_the_failure(compiler: Compiler, tmp_path: Path) -> None:
    point = SweepPoint(MatmulShape(2, 2, 2), policy="no-output-presync", repeat=3, seed=9, flags=("--x",))
    found = reduce_point(point, WRONG, lambda p: WRONG if p == point else RIGHT, compiler)
    path = write_regression(tmp_path / "new", found, point)
    assert re.fullmatch(r"wrong_[0-9a-f]{10}\.mlir", path.name)
    (case,) = read_cases(str(path), path.read_text())
    assert (case.function, case.seed, case.coherency_seed) == ("matmul", 9, 9)
    assert (case.policy, case.repeat, case.flags) == ("no-output-presync", 3, ("--x",))
    assert case.xfail == "3 of 9 elements are wrong"
    # the builder's own test block is gone
    assert case.outputs == ()
    crash = dataclasses.replace(found, row=SweepRow(SweepVerdict.CRASH, "its process died"))
    assert "xfail" not in regression_text(crash, point)
