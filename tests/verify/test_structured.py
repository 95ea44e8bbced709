"""The fast paths against the definition: every point of the iteration space, one after the other.

`point_by_point` is linalg's own meaning, written down plainly; it and the reference share only the scalar
ops. Shapes are small and odd, since it is slow.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from aiepipe.frontend.compiler import Compiler
from aiepipe.program import AffineResult, Structured
from aiepipe.verify import scalars
from aiepipe.verify.comparison import wrong_elements
from aiepipe.verify.reference import reference
from aiepipe.verify.storage import memory, widen
from aiepipe.verify.values import random_inputs

Array = npt.NDArray[Any]

FUNCTIONS = {
    "convolution": """(%a: tensor<1x5x6x3xi8>, %w: tensor<3x2x3x4xi8>, %c: tensor<1x3x5x4xi32>)
        -> tensor<1x3x5x4xi32> {
      %0 = linalg.conv_2d_nhwc_hwcf ins(%a, %w : tensor<1x5x6x3xi8>, tensor<3x2x3x4xi8>)
           outs(%c : tensor<1x3x5x4xi32>) -> tensor<1x3x5x4xi32>
      return %0 : tensor<1x3x5x4xi32> }""",
    "strided convolution of floats": """(%a: tensor<1x7x7x2xf32>, %w: tensor<3x3x2x3xf32>,
        %c: tensor<1x3x3x3xf32>) -> tensor<1x3x3x3xf32> {
      %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>}
           ins(%a, %w : tensor<1x7x7x2xf32>, tensor<3x3x2x3xf32>)
           outs(%c : tensor<1x3x3x3xf32>) -> tensor<1x3x3x3xf32>
      return %0 : tensor<1x3x3x3xf32> }""",
    "maximum of windows": """(%a: tensor<1x4x6x2xf32>, %w: tensor<2x2xf32>, %c: tensor<1x2x3x2xf32>)
        -> tensor<1x2x3x2xf32> {
      %0 = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>}
           ins(%a, %w : tensor<1x4x6x2xf32>, tensor<2x2xf32>)
           outs(%c : tensor<1x2x3x2xf32>) -> tensor<1x2x3x2xf32>
      return %0 : tensor<1x2x3x2xf32> }""",
    "quantized matmul": """(%a: tensor<5x9xi8>, %b: tensor<9x6xi8>, %za: i32, %zb: i32, %c: tensor<5x6xi32>)
        -> tensor<5x6xi32> {
      %0 = linalg.quantized_matmul ins(%a, %b, %za, %zb : tensor<5x9xi8>, tensor<9x6xi8>, i32, i32)
           outs(%c : tensor<5x6xi32>) -> tensor<5x6xi32>
      return %0 : tensor<5x6xi32> }""",
    "mmt4d": """(%a: tensor<2x3x4x2xi16>, %b: tensor<5x3x4x2xi16>, %c: tensor<2x5x4x4xi32>)
        -> tensor<2x5x4x4xi32> {
      %0 = linalg.mmt4d ins(%a, %b : tensor<2x3x4x2xi16>, tensor<5x3x4x2xi16>)
           outs(%c : tensor<2x5x4x4xi32>) -> tensor<2x5x4x4xi32>
      return %0 : tensor<2x5x4x4xi32> }""",
    "batched vectors": """(%a: tensor<3x4x5xi64>, %b: tensor<3x5xi64>, %c: tensor<3x4xi64>)
        -> tensor<3x4xi64> {
      %0 = linalg.batch_matvec ins(%a, %b : tensor<3x4x5xi64>, tensor<3x5xi64>)
           outs(%c : tensor<3x4xi64>) -> tensor<3x4xi64>
      return %0 : tensor<3x4xi64> }""",
    "broadcast and transposed": """(%a: tensor<4x3xi32>, %b: tensor<2xi32>, %c: tensor<2x4x3xi32>)
        -> tensor<2x4x3xi32> {
      %0 = linalg.generic {
           indexing_maps = [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i)>,
                            affine_map<(i, j, k) -> (i, k, j)>],
           iterator_types = ["parallel", "parallel", "parallel"]}
           ins(%a, %b : tensor<4x3xi32>, tensor<2xi32>) outs(%c : tensor<2x4x3xi32>) {
        ^bb0(%x: i32, %y: i32, %o: i32):
          %k = linalg.index 2 : index
          %ki = arith.index_cast %k : index to i32
          %s = arith.muli %x, %y : i32
          %t = arith.subi %s, %ki : i32
          linalg.yield %t : i32 } -> tensor<2x4x3xi32>
      return %0 : tensor<2x4x3xi32> }""",
    "place of the maximum": """(%a: tensor<4x9xi8>, %v: tensor<4xi8>, %i: tensor<4xi32>)
        -> (tensor<4xi8>, tensor<4xi32>) {
      %0:2 = linalg.generic {
           indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>,
                            affine_map<(i, k) -> (i)>],
           iterator_types = ["parallel", "reduction"]}
           ins(%a : tensor<4x9xi8>) outs(%v, %i : tensor<4xi8>, tensor<4xi32>) {
        ^bb0(%x: i8, %bv: i8, %bi: i32):
          %k = linalg.index 1 : index
          %ki = arith.index_cast %k : index to i32
          %g = arith.cmpi sgt, %x, %bv : i8
          %nv = arith.select %g, %x, %bv : i8
          %ni = arith.select %g, %ki, %bi : i32
          linalg.yield %nv, %ni : i8, i32 } -> (tensor<4xi8>, tensor<4xi32>)
      return %0#0, %0#1 : tensor<4xi8>, tensor<4xi32> }""",
    "sum of exponentials": """(%a: tensor<3x4x5xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
      %0 = linalg.generic {
           indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (j)>],
           iterator_types = ["reduction", "parallel", "reduction"]}
           ins(%a : tensor<3x4x5xf32>) outs(%c : tensor<4xf32>) {
        ^bb0(%x: f32, %o: f32):
          %e = math.exp %x : f32
          %s = arith.addf %e, %o : f32
          linalg.yield %s : f32 } -> tensor<4xf32>
      return %0 : tensor<4xf32> }""",
}


def place(results: Sequence[AffineResult], point: Sequence[int]) -> tuple[int, ...]:
    return tuple(r.constant + sum(c * i for c, i in zip(r.coefficients, point, strict=True)) for r in results)


def point_by_point(structured: Structured, operands: Sequence[Array]) -> tuple[Array, ...]:
    """One visit of the body per point; operands and results as stored."""
    body, inputs = structured.body, structured.input_count
    tensors = [array.copy() for array in operands]
    for point in itertools.product(*map(range, structured.loops)):
        values: list[Array] = []
        elements = list(body.arguments)
        for tensor, element, results in zip(tensors, body.arguments, structured.maps, strict=True):
            values.append(widen(np.asarray(tensor[place(results, point)]), element))
        for op in body.ops:
            if op.name == "linalg.index":
                dim = op.attributes["dim"]
                assert isinstance(dim, int)
                values.append(np.array(point[dim]))
            else:
                used = [elements[i] for i in op.operands]
                values.append(scalars.apply(op, used, [values[i] for i in op.operands]))
            elements.append(op.element)
        for output, value in enumerate(body.yields):
            at = place(structured.maps[inputs + output], point)
            tensors[inputs + output][at] = memory(values[value], elements[value])
    return tuple(tensors[inputs:])


@pytest.fixture(scope="module")
def compiler() -> Iterator[Compiler]:
    with Compiler() as worker:
        yield worker


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_point(compiler: Compiler, name: str) -> None:
    (function,) = compiler.parse("a.mlir", f"func.func @f{FUNCTIONS[name]}").functions
    (op,) = [o for o in function.ops if o.structured is not None]
    assert op.structured is not None
    inputs = random_inputs([value.type for value in function.arguments], 5)
    by_id = {v.id: array for v, array in zip(function.arguments, inputs, strict=True)}
    want = point_by_point(op.structured, [by_id[name] for name in op.operands])
    told = reference(function, inputs)
    for got, right, bound, value in zip(told.results, want, told.bounds, function.returns, strict=True):
        assert not wrong_elements(got, right, value.type, bound=bound).any()
        assert (bound is None) == (value.type.element != "f32" or "maximum" in name)
