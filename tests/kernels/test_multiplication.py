"""The matmul builder: its text, the sample files that it keeps, and that IREE takes what it emits."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.errors import UsageError
from aiepipe.frontend.compiler import Compiler
from aiepipe.kernels import matmul
from aiepipe.program import TensorType

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"


def test_the_seed_program_is_what_the_builder_prints() -> None:
    assert (SAMPLES / "matmul.mlir").read_text() == matmul(64, 64, 16, "i32", "i32", fill=7)


def test_the_other_samples_are_what_the_builder_prints() -> None:
    samples = {
        "matmul_i8.mlir": matmul(32, 32, 64, "i8", "i32", fill=0),
        "matmul_i16.mlir": matmul(63, 65, 17, "i16", "i32", fill=-1),
        "matmul_accumulate.mlir": matmul(8, 8, 8, "i32", "i32", fill=None),
        "matmul_transpose_b.mlir": matmul(16, 32, 64, "i8", "i32", fill=0, transpose_b=True),
    }
    for file, text in samples.items():
        assert (SAMPLES / file).read_text() == text, file


def test_the_text_of_a_small_one() -> None:
    assert matmul(2, 3, 4, "i8", "i32", fill=-1) == (
        "// 2x3xi32: -1 + A @ B, with A 2x4xi8 and B 4x3xi8.\n"
        "// IREE makes one dispatch; the fill is fused into it, so its HAL IR has no fill.\n"
        "//\n"
        "// aiepipe-test\n"
        "// input: 2x4xi8=1\n"
        "// input: 4x3xi8=2\n"
        "// output: 2x3xi32=7\n"
        "// fills: none\n"
        "func.func @matmul(%arg0: tensor<2x4xi8>, %arg1: tensor<4x3xi8>) -> tensor<2x3xi32> {\n"
        "  %c-1_i32 = arith.constant -1 : i32\n"
        "  %0 = tensor.empty() : tensor<2x3xi32>\n"
        "  %1 = linalg.fill ins(%c-1_i32 : i32) outs(%0 : tensor<2x3xi32>) -> tensor<2x3xi32>\n"
        "  %2 = linalg.matmul ins(%arg0, %arg1 : tensor<2x4xi8>, tensor<4x3xi8>) "
        "outs(%1 : tensor<2x3xi32>) -> tensor<2x3xi32>\n"
        "  return %2 : tensor<2x3xi32>\n"
        "}\n"
    )


def test_without_a_fill_the_accumulator_is_an_argument() -> None:
    text = matmul(2, 3, 4, fill=None)
    assert "linalg.fill" not in text
    assert "%arg2: tensor<2x3xi32>" in text
    assert "outs(%arg2 : tensor<2x3xi32>)" in text


@pytest.mark.parametrize(
    ("transpose_a", "transpose_b", "shapes", "dims"),
    [
        (False, False, [(2, 4), (4, 3)], [[0, 2], [2, 1], [0, 1]]),
        (True, False, [(4, 2), (4, 3)], [[2, 0], [2, 1], [0, 1]]),
        (False, True, [(2, 4), (3, 4)], [[0, 2], [1, 2], [0, 1]]),
        (True, True, [(4, 2), (3, 4)], [[2, 0], [1, 2], [0, 1]]),
    ],
)
def test_transposition_is_in_the_indexing_maps(
    compiler: Compiler,
    transpose_a: bool,
    transpose_b: bool,
    shapes: list[tuple[int, int]],
    dims: list[list[int]],
) -> None:
    text = matmul(2, 3, 4, transpose_a=transpose_a, transpose_b=transpose_b)
    (function,) = compiler.parse("a.mlir", text).functions
    assert [a.type.shape for a in function.arguments] == shapes
    assert function.returns[0].type == TensorType((2, 3), "i32")
    structured = function.ops[-1].structured
    assert structured is not None
    assert [[result.dim for result in map_] for map_ in structured.maps] == dims
    assert structured.loops == (2, 3, 4)
    assert ("@ B^T" in text, "A^T @" in text) == (transpose_b, transpose_a)


@pytest.mark.parametrize(
    ("operand", "accumulator", "value", "literal"),
    [
        ("bf16", "f32", 1.5, "1.500000e+00 : f32"),
        ("f32", "f32", float("nan"), "0x7FC00000 : f32"),
        ("f16", "f16", float("-inf"), "0xFC00 : f16"),
        ("bf16", "bf16", -0.0, "-0.000000e+00 : bf16"),
        ("i8", "i8", 255, "-1 : i8"),
        ("i16", "i32", -(2**31), "-2147483648 : i32"),
        ("i32", "i64", 2**40, "1099511627776 : i64"),
        ("i1", "i32", 7, "7 : i32"),
    ],
)
def test_every_value_is_exact(
    compiler: Compiler, operand: str, accumulator: str, value: float, literal: str
) -> None:
    text = matmul(4, 4, 4, operand, accumulator, fill=value)
    assert f"arith.constant {literal}" in text
    assert compiler.parse("a.mlir", text).functions


def test_a_header_example_wraps_as_the_type_does() -> None:
    assert "// output: 1x1xi8=-56\n" in matmul(1, 1, 100, "i8", "i8", fill=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: matmul(-1, 2, 3), "must not be negative"),
        (lambda: matmul(1, 2, 3, "i32", "i99"), "'i99' is no element type"),
        (lambda: matmul(1, 2, 3, "tensor"), "'tensor' is no element type"),
        (lambda: matmul(1, 2, 3, "complex<f32>"), "no element type for a kernel"),
        (lambda: matmul(1, 2, 3, "i8", "i8", fill=256), "256 does not fit the type i8"),
        (lambda: matmul(1, 2, 3, "i8", "i8", fill=-129), "-129 does not fit the type i8"),
        (lambda: matmul(1, 2, 3, fill=0.5), "0.5 does not fit the integer type i32"),
        (lambda: matmul(1, 2, 3, fill=float("inf")), "inf does not fit the integer type i32"),
    ],
)
def test_what_makes_no_program_is_a_usage_error(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(UsageError) as caught:
        call()
    assert message in caught.value.message


def test_building_is_deterministic() -> None:
    assert matmul(8, 8, 8) == matmul(8, 8, 8)
