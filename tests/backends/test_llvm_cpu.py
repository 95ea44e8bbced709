"""Dispatches as functions of the CPU: what IREE makes of them is what numpy says."""

from __future__ import annotations

import numpy as np
import pytest

from aiepipe.backends.llvm_cpu import as_function, compile_for_host
from aiepipe.errors import CompileError
from aiepipe.frontend.compiler import Compiler
from aiepipe.iree_tools import call_function
from aiepipe.program import Access, Binding, Dispatch, SourceLocation, TensorOp, TensorType

PAD = """
func.func @main(%a: tensor<3x4xi16>) -> tensor<5x9xi16> {
  %c = arith.constant 7 : i16
  %p = tensor.pad %a low[1, 2] high[1, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : i16
  } : tensor<3x4xi16> to tensor<5x9xi16>
  return %p : tensor<5x9xi16>
}
"""
"""IREE fills the result and stores the slice: a dispatch that writes a part of its binding."""

PARTIAL = """
func.func @d() {
  %0 = hal.interface.binding.subspan layout(<>) binding(0) : !iree_tensor_ext.dispatch.tensor<readonly:tensor<2x8xi32>>
  %2 = iree_tensor_ext.dispatch.tensor.load %0, offsets = [1, 2], sizes = [1, 4], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<2x8xi32>> -> tensor<4xi32>
  iree_tensor_ext.dispatch.tensor.store %2, %1, offsets = [3], sizes = [4], strides = [1] : tensor<4xi32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8xi32>>
  return
}
"""  # noqa: E501


def _partial(text: str = PARTIAL) -> Dispatch:
    here = SourceLocation("here.mlir", 1, 1)
    first = {"offsets": (1, 2), "sizes": (1, 4), "strides": (1, 1), "binding": 0}
    second = {"offsets": (3,), "sizes": (4,), "strides": (1,), "binding": 1}
    return Dispatch(
        "d",
        (
            Binding(0, TensorType((2, 8), "i32"), Access.READ),
            Binding(1, TensorType((8,), "i32"), Access.WRITE),
        ),
        (
            TensorOp("iree_tensor_ext.dispatch.tensor.load", (), (), here, first),
            TensorOp("iree_tensor_ext.dispatch.tensor.store", (), (), here, second),
        ),
        text,
        here,
    )


def test_a_dispatch_that_writes_a_part_leaves_the_rest_of_its_binding() -> None:
    kernel = compile_for_host(_partial(), "asked for")
    source = np.arange(16, dtype=np.int32).reshape(2, 8)
    target = np.full(8, -1, np.int32)
    arguments = [("2x8xi32", source.tobytes()), ("8xi32", target.tobytes())]
    (got,) = call_function(kernel.module, kernel.function, arguments, 1, wanted_by="a test")
    target[3:7] = source[1, 2:6]
    assert np.frombuffer(got, np.int32).tolist() == target.tolist()


def test_every_dispatch_of_a_real_program_becomes_a_function_of_its_bindings() -> None:
    with Compiler() as compiler:
        program = compiler.compile("pad.mlir", PAD)
    assert program.dispatches
    for dispatch in program.dispatches:
        text = as_function(dispatch)
        assert "hal.interface" not in text
        assert "dispatch.tensor" not in text
        assert text.count("%binding_") >= len(dispatch.bindings)


def test_same_dispatch_same_module() -> None:
    assert compile_for_host(_partial(), "").module == compile_for_host(_partial(), "").module


@pytest.mark.parametrize(
    "line",
    [
        "  %c = hal.interface.constant.load layout(<>) ordinal(0) : i32",
        "  %e = tensor.empty(%n) : tensor<?xi32>",
        "  %v = iree_tensor_ext.dispatch.tensor.load in a form of its own",
    ],
)
def test_what_is_not_known_before_the_run_is_refused_by_name(line: str) -> None:
    text = PARTIAL.replace("  return", f"{line}\n  return")
    with pytest.raises(CompileError, match="--fallback cpu cannot compile d by itself"):
        as_function(_partial(text))
