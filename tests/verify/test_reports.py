"""The public reports through the front end and the reference: the right values of shared/reports/INDEX.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from aiepipe.errors import CompileError
from aiepipe.frontend.compiler import Compiler
from aiepipe.program import SourceFunction
from aiepipe.verify.comparison import same_bits
from aiepipe.verify.reference import Reference, reference
from aiepipe.verify.values import load

LONG = "matmul$64x64_a_very_long_function_name_that_exceeds_forty_two_characters"
X23, X32 = "2x3xi32=[[1 2 3][4 5 6]]", "3x2xi32=[[1 4][2 5][3 6]]"
Y43, Y34 = "4x3xi32=[[1 0 0][0 1 0][0 0 1][1 1 1]]", "3x4xi32=[[1 0 0 1][0 1 0 1][0 0 1 1]]"
PRODUCT = "2x4xi32=[[1 2 3 6][4 5 6 15]]"
BYTES = ("2x2xi8=[[-1 2][3 -128]]", "2x2xi8=[[1 -2][127 -1]]")

Case = tuple[str, str, tuple[str, ...], tuple[str, ...]]
CASES: list[Case] = [
    ("01_fill_i64", "main", (), ("5xi64=4294967298",)),
    ("02_fill_bf16", "main", (), ("3x7xbf16=1.5",)),
    ("04_fill_f32_dynamic_value", "main", ("1.1",), ("f32=1.1",)),
    ("04_fill_f32_dynamic_value", "negzero", (), ("6xf32=-0.0",)),
    ("06c_fill_complex_f64", "c128", (), ("4xcomplex<f64>=3+10j",)),
    ("07_fill_i1", "main", (), ("9xi1=true",)),
    ("08_fill_i4", "main", (), ("8xi4=5",)),
    ("08_fill_i4", "widened", (), ("8xi32=-3",)),
    ("10_fill_unaligned", "main", ("1xi8=4",), ("10xi8=7 7 7 9 9 9 9 9 9 4",)),
    ("11_fill_adjacent", "main", ("3xi32=1 2 3",), ("8xi32=0 0 1 2 3 0 0 0",)),
    ("12_fill_pattern_narrowing", "i32_bytes", (), ("4xi32=0x01010101", "4xi32=0x00010001")),
    (
        "12_fill_pattern_narrowing",
        "i64_zero_minus1",
        (),
        ("4xi64=0", "4xi64=-1", "4xi64=0x0000000200000002", "4xi64=7"),
    ),
    ("14_matmul_k0", "main", ("4x0xf32", "0x3xf32"), ("4x3xf32=7",)),
    ("16_matmul_cast_unsigned", "main", BYTES, ("2x2xi32=[[509 65280][16259 33402]]",)),
    ("16_matmul_cast_unsigned", "signed", BYTES, ("2x2xi32=[[253 0][-16253 122]]",)),
    ("18b_matmul_i1_consumer", "main", ("1x6xi1=1 1 0 0 0 0", "6x1xi1=1"), ("1x1xi32=1",)),
    ("21_matmul_indexing_maps", "tb", (X23, Y43, "2x4xi32=0"), (PRODUCT,)),
    ("21_matmul_indexing_maps", "ta", (X32, Y34, "2x4xi32=0"), (PRODUCT,)),
    ("21_matmul_indexing_maps", "tab", (X32, Y43, "2x4xi32=0"), (PRODUCT,)),
    (
        "21_matmul_indexing_maps",
        "bcast",
        (X23, "3xi32=1 10 100", "2x4xi32=0"),
        ("2x4xi32=[[321 321 321 321][654 654 654 654]]",),
    ),
    ("22_batch_matmul", "main", ("2x3x4xi8=-2", "2x4x5xi8=3"), ("2x3x5xi32=-24",)),
    ("24_matmul_bf16_accumulate", "main", ("16x512xbf16=1", "512x16xbf16=1"), ("16x16xbf16=512",)),
    ("24_matmul_bf16_accumulate", "acc_f32", ("16x512xbf16=1", "512x16xbf16=1"), ("16x16xf32=512",)),
    (
        "26_matmul_i32_overflow",
        "main",
        ("2x3xi32=2147483647 1 0 0 1 65537", "3x2xi32=2 1 0 0 65537 -65537"),
        # 2 (2^31 - 1) - 1 = 2^32 - 3; 2^31 - 2; 65537^2 - 1 = 2^32 + 2^17; -65537^2 - 1 = -(2^32 + 2^17 + 2)
        ("2x2xi32=-3 2147483646 131072 -131074",),
    ),
    ("29_expected_output_scalar", "i32", (), ("i32=5",)),
    ("29_expected_output_scalar", "f32", (), ("f32=5",)),
    ("29_expected_output_scalar", "t", (), ("2x2xf32=1000000",)),
    ("31_fill_two_users", "main", ("4x4xi32=1", "4x4xi32=2"), ("4x4xi32=15", "4x4xi32=15", "4x4xi32=7")),
    ("37_dollar_and_long_name", LONG, ("4x4xi32=1", "4x4xi32=2"), ("4x4xi32=8",)),
    ("38_acc_is_also_operand", "main", ("4x4xi32=2", "4x4xi32=3"), ("4x4xi32=26",)),
    ("43_accumulator_argument_in_place", "main", ("8x8xi32=1", "8x8xi32=1", "8x8xi32=7"), ("8x8xi32=15",)),
    ("50_aie_64x64x16_i32_sync", "main", ("64x16xi32=1", "16x64xi32=2"), ("64x64xi32=39",)),
    ("53_aie_single_k_step_i32", "main", ("128x32xi32=1", "32x128xi32=-2"), ("128x128xi32=-64",)),
    ("53_aie_single_k_step_i32", "two_k_steps", ("32x64xi32=1", "64x32xi32=-2"), ("32x32xi32=-128",)),
    ("54_aie_batch2_i32", "main", ("2x64x32xi32=1", "2x32x64xi32=-2"), ("2x64x64xi32=-64",)),
    ("56_aie_32x32x64_i8", "main", ("32x64xi8=-128", "64x32xi8=127"), ("32x32xi32=-1040384",)),
    ("56_aie_32x32x64_i8", "m16k64n16", ("16x64xi8=-128", "64x16xi8=127"), ("16x16xi32=-1040384",)),
    ("62_sync_two_outputs", "main", ("16x16xi32=1", "16x16xi32=2"), ("16x16xi32=32", "16x16xi32=32")),
    ("65_state_not_checked", "main", ("64x16xi32=1", "16x64xi32=2"), ("64x64xi32=39",)),
    ("70_partial_k_accumulation", "main", ("128x1024xi8=1", "1024x128xi8=1"), ("128x128xi32=1024",)),
]


@pytest.fixture(scope="module")
def compiler() -> Iterator[Compiler]:
    with Compiler() as worker:
        yield worker


def source(compiler: Compiler, reports: Path, name: str, function: str) -> SourceFunction:
    file = reports / f"{name}.mlir"
    module = compiler.parse(file.name, file.read_text())
    return next(f for f in module.functions if f.name == function)


def evaluated(function: SourceFunction, inputs: tuple[str, ...]) -> Reference:
    pairs = zip(inputs, function.arguments, strict=True)
    return reference(function, [load(text, v.type, f"argument {i}") for i, (text, v) in enumerate(pairs)])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1][:12]}")
def test_right_values(compiler: Compiler, reports: Path, case: Case) -> None:
    name, called, inputs, outputs = case
    function = source(compiler, reports, name, called)
    told = evaluated(function, inputs)
    assert len(told.results) == len(outputs)
    for got, text, returned in zip(told.results, outputs, function.returns, strict=True):
        want = load(text, returned.type, "the expected result")
        assert got.dtype == want.dtype
        assert same_bits(got, want).all(), (got, want)


def test_nan_keeps_its_payload(compiler: Compiler, reports: Path) -> None:
    told = evaluated(source(compiler, reports, "04_fill_f32_dynamic_value", "nan"), ())
    assert told.results[0].view(np.uint32).tolist() == [0x7FC00001] * 6


def test_what_moves_only_is_exact_and_what_sums_floats_is_not(compiler: Compiler, reports: Path) -> None:
    fill = evaluated(source(compiler, reports, "02_fill_bf16", "main"), ())
    assert fill.bounds == (None,)
    assert fill.accumulations == ()
    sums = evaluated(
        source(compiler, reports, "24_matmul_bf16_accumulate", "main"), ("16x512xbf16=1", "512x16xbf16=1")
    )
    assert sums.bounds[0] is not None
    assert [a.how for a in sums.accumulations] == ["exact products summed in f64, rounded once to bf16"]


def test_i1_matmul_of_three_true_products(compiler: Compiler, reports: Path) -> None:
    # IREE gives the parity; MLIR's region says or
    function = source(compiler, reports, "18b_matmul_i1_consumer", "main")
    for true in range(7):
        row = " ".join(str(int(i < true)) for i in range(6))
        told = evaluated(function, (f"1x6xi1={row}", "6x1xi1=1"))
        assert told.results[0].tolist() == [[int(true > 0)]]


def test_a_dynamic_shape_is_one_clear_error(compiler: Compiler) -> None:
    text = """
      func.func @f(%a: tensor<?xi32>) -> tensor<?xi32> {
        %0 = arith.addi %a, %a : tensor<?xi32>
        return %0 : tensor<?xi32>
      }"""
    (function,) = compiler.parse("a.mlir", text).functions
    with pytest.raises(CompileError, match="dynamic") as caught:
        reference(function, [np.zeros(3, np.int32)])
    assert "a.mlir" in str(caught.value.location)


# one function per op that stays beside a matmul: what IREE's own tests call elementwise
ELEMENTWISE = """
func.func @relu_bias(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>, %bias: tensor<2xf32>) -> tensor<2x2xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<2x3xf32>, tensor<3x2xf32>)
                     outs(%c : tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%0, %bias : tensor<2x2xf32>, tensor<2xf32>) outs(%e : tensor<2x2xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      %m = arith.maximumf %s, %zero : f32
      linalg.yield %m : f32
  } -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}
func.func @named(%a: tensor<3x4xi32>, %v: tensor<4xi32>)
    -> (tensor<3xi32>, tensor<4x3xi32>, tensor<3x4xi32>, i32) {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<3xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<3xi32>) -> tensor<3xi32>
  %0 = linalg.matvec ins(%a, %v : tensor<3x4xi32>, tensor<4xi32>) outs(%f : tensor<3xi32>) -> tensor<3xi32>
  %te = tensor.empty() : tensor<4x3xi32>
  %1 = linalg.transpose ins(%a : tensor<3x4xi32>) outs(%te : tensor<4x3xi32>) permutation = [1, 0]
  %be = tensor.empty() : tensor<3x4xi32>
  %2 = linalg.broadcast ins(%v : tensor<4xi32>) outs(%be : tensor<3x4xi32>) dimensions = [0]
  %re = tensor.empty() : tensor<i32>
  %rf = linalg.fill ins(%zero : i32) outs(%re : tensor<i32>) -> tensor<i32>
  %3 = linalg.reduce {arith.addi} ins(%a : tensor<3x4xi32>) outs(%rf : tensor<i32>) dimensions = [0, 1]
  %4 = tensor.extract %3[] : tensor<i32>
  return %0, %1, %2, %4 : tensor<3xi32>, tensor<4x3xi32>, tensor<3x4xi32>, i32
}
"""


def test_bias_and_relu_after_a_matmul(compiler: Compiler) -> None:
    function = compiler.parse("a.mlir", ELEMENTWISE).functions[0]
    told = evaluated(function, ("2x3xf32=1 2 3 -1 -2 -3", "3x2xf32=1 1 1 0 1 -1", "2xf32=0.5 -10"))
    # [6 -2][-6 2] plus the bias, negative ones cut
    assert told.results[0].tolist() == [[6.5, 0.0], [0.0, 0.0]]
    assert told.bounds[0] is not None


def test_named_ops(compiler: Compiler) -> None:
    function = compiler.parse("a.mlir", ELEMENTWISE).functions[1]
    told = evaluated(function, ("3x4xi32=1 2 3 4 5 6 7 8 9 10 11 12", "4xi32=1 0 -1 2"))
    matvec, transposed, broadcast, total = told.results
    assert matvec.tolist() == [6, 14, 22]
    assert transposed.tolist() == [[1, 5, 9], [2, 6, 10], [3, 7, 11], [4, 8, 12]]
    assert broadcast.tolist() == [[1, 0, -1, 2]] * 3
    assert total.tolist() == 78
