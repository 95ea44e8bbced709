"""The grammar of test headers, as docs/tests-in-mlir.md states it."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.errors import UsageError
from aiepipe.testing.case import ExpectedError, ExpectedFills
from aiepipe.testing.directive import DIRECTIVES
from aiepipe.testing.header import has_marker, read_cases

DOCUMENT = Path(__file__).parents[2] / "docs" / "tests-in-mlir.md"
FUNCTION = "func.func @f() -> tensor<4xi32> {\n"


def block(*directives: str, name: str = "") -> str:
    return "".join(f"// {line}\n" for line in (f"aiepipe-test{name}", *directives)) + FUNCTION


def test_the_example_of_the_document_is_read() -> None:
    example = DOCUMENT.read_text().split("```mlir\n", 1)[1].split("```", 1)[0]
    (case,) = read_cases("mlir/matmul.mlir", example)
    assert (case.function, case.line) == ("matmul", 3)
    assert case.inputs == ("64x16xi32=1", "16x64xi32=2")
    assert case.outputs == ("64x64xi32=39",)
    assert case.fills == ExpectedFills(0)


def test_the_document_has_a_row_for_each_directive() -> None:
    rows = [line.split("`")[1] for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    assert rows == list(DIRECTIVES)


def test_every_directive_changes_the_case() -> None:
    (case,) = read_cases(
        "a/b.mlir",
        block(
            "function @other",
            "input: 4xi32",
            "input 2xi8=@v.bin",
            "input: @w.npy",
            "output: 4xi32",
            "seed: 5",
            "tolerance: rtol=1e-3,atol=1e-6",
            "fills: fill_buffer 2, queue.fill",
            "fate: fused into dispatch",
            "fate: hoisted",
            "hazards: S005, S002",
            "backend: builtin, other",
            "target: npu4",
            "repeat: 3",
            "sync-policy: no-output-presync",
            "coherency-seed: 9",
            "flags: --iree-a --iree-b='1 2'",
            "timeout: 2.5",
            "xfail: not yet",
            name=": ones and twos",
        ),
    )
    assert (case.function, case.name) == ("other", "ones and twos")
    # the type alone is random; the number of the argument is added to the seed
    assert case.inputs == ("4xi32=random(5)", "2xi8=@a/v.bin", "@a/w.npy")
    assert case.outputs == ("4xi32=numpy",)
    assert case.tolerance == "rtol=1e-3,atol=1e-6"
    assert case.fills == ExpectedFills(3, (("fill_buffer", 2), ("queue.fill", 1)))
    assert case.fates == ("fused into dispatch", "hoisted")
    assert case.hazards == ("S002", "S005")
    assert (case.backends, case.target, case.repeat) == (("builtin", "other"), "npu4", 3)
    assert (case.policy, case.coherency_seed) == ("no-output-presync", 9)
    assert case.flags == ("--iree-a", "--iree-b=1 2")
    assert (case.timeout_s, case.xfail) == (2.5, "not yet")
    assert case.label("other") == "other[ones and twos-other]"


def test_an_expected_error_may_name_its_stage() -> None:
    (case,) = read_cases("f.mlir", block("error: frontend: memref arguments", "error: a: colon"))
    assert case.errors == (ExpectedError("memref arguments", "frontend"), ExpectedError("a: colon"))


def test_a_block_means_the_next_public_function_and_several_may_mean_one() -> None:
    text = (
        block(name=": a").removesuffix(FUNCTION)
        + "// aiepipe-test: b\n//\n// prose: input 4xi99 is not read\n"
        + "func.func private @hidden(tensor<4xi32>)\n"
        + 'func.func @"x$y"() {\n'
        + "// aiepipe-test\n"
        + "  func.func public @z() {\n"
    )
    cases = read_cases("f.mlir", text)
    assert [(c.function, c.name, c.line) for c in cases] == [("x$y", "a", 1), ("x$y", "b", 2), ("z", "", 7)]


def test_iree_amd_aies_own_headers_make_one_case() -> None:
    """The form of nod-ai/iree-amd-aie build_tools/ci/cpu_comparison: types, words around them are prose."""
    text = (
        "// These lines are required for e2e numerical testing:\n"
        "// input 8x8xf32\n// input 8x4xf32\n// output 8x4xf32\n// output 8x4xf32\n// input data is drawn\n"
        "!A = tensor<8x8xf32>\nfunc.func @matmul_dual_out(%lhs : !A) {\n"
    )
    (case,) = read_cases("f.mlir", text)
    assert case.function == "matmul_dual_out"
    assert case.inputs == ("8x8xf32=random(1)", "8x4xf32=random(2)")
    assert case.outputs == ("8x4xf32=numpy",) * 2
    assert read_cases("f.mlir", text, foreign=False) == ()
    assert not has_marker(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "func.func @f() {\n",
        "// RUN: iree-opt %s | FileCheck %s\n// CHECK: x\n",
        "// run: --input 4xi32\n",
        "  // aiepipe-test\n",
    ],
)
def test_other_files_have_no_cases(text: str) -> None:
    assert read_cases("f.mlir", text) == ()
    assert not has_marker(text)


def test_a_case_about_the_ir_is_not_run() -> None:
    (case,) = read_cases("f.mlir", block("run: no", "fills: none"))
    assert not case.runs
    (case,) = read_cases("f.mlir", block("run: yes"))
    assert case.runs


@pytest.mark.parametrize(
    ("lines", "place", "message"),
    [
        (["tolerence: exact"], 2, "no directive 'tolerence'"),
        (["input: 4xi32", "inputs: 4xi32"], 3, "no directive 'inputs'"),
        (["RUN: aiepipe %s"], 2, "no directive 'RUN'"),
        (["(prose)"], 2, "not a directive"),
        (["seed: 1", "seed: 2"], 3, "a second 'seed'"),
        (["input:"], 2, "'input' needs a value"),
        (["input: 4xi99=1"], 2, "unknown element type"),
        (["input: 2x2xi32=[1 2"], 2, "bracket is not closed"),
        (["output: 2xi32=1 2 3"], 2, "3 elements"),
        (["repeat: 0"], 2, "whole number from 1"),
        (["seed: -1"], 2, "whole number from 0"),
        (["tolerance: 1e-3"], 2, "no tolerance"),
        (["fills: some"], 2, "no kind of fill"),
        (["hazards: dirty"], 2, "no hazard"),
        (["target: npu9"], 2, "no target"),
        (["sync-policy: all-of-it"], 2, "all-of-it"),
        (["flags: 'open"], 2, "cannot split"),
        (["timeout: inf"], 2, "number of seconds"),
        (["backend: builtin,"], 2, "empty backend"),
        (["error: no", "output: 4xi32=1"], 1, "nothing else to expect"),
        (["run: never"], 2, "run: 'never'"),
        (["run: no", "input: 4xi32=1"], 1, "a case that is not run"),
    ],
)
def test_a_fault_names_file_and_line(lines: list[str], place: int, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_cases("dir/f.mlir", block(*lines))
    assert caught.value.where() == f"dir/f.mlir:{place}"
    assert message in caught.value.message


def test_a_near_miss_is_answered_with_the_name() -> None:
    with pytest.raises(UsageError) as caught:
        read_cases("f.mlir", block("tolerence: exact"))
    assert "did you mean 'tolerance'?" in str(caught.value.remedy)


def test_an_input_line_outside_of_every_block_is_not_overlooked() -> None:
    with pytest.raises(UsageError, match="belongs to no block") as caught:
        read_cases("f.mlir", "// aiepipe-test\n//\n// input 4xi32\n" + FUNCTION)
    assert caught.value.where() == "f.mlir:3"


def test_two_cases_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="a second case of @f without a name; the first is at line 1"):
        read_cases("f.mlir", "// aiepipe-test\n// aiepipe-test\n" + FUNCTION)


def test_a_bad_name_is_refused() -> None:
    with pytest.raises(UsageError, match="write it as"):
        read_cases("f.mlir", "// aiepipe-test please\n")
