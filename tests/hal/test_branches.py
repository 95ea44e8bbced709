"""Fills in branches and loops: each has a fate, and a result that a branch chooses is one of several.

What is expected was read off `iree-compile --compile-to=hal` (3.13) of each program: where a block of the
host function has an argument, each edge to it brings a buffer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.frontend.compiler import Compiler
from aiepipe.hal.inspection import inspect
from aiepipe.verdict import Inspection

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"

BRANCH = """
func.func @f(%c: tensor<i1>, %x: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %b = tensor.extract %c[] : tensor<i1>
  %r = scf.if %b -> (tensor<8x8xi32>) {
    %c7 = arith.constant 7 : i32
    %e = tensor.empty() : tensor<8x8xi32>
    %f = linalg.fill ins(%c7 : i32) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
    scf.yield %f : tensor<8x8xi32>
  } else {
    scf.yield %x : tensor<8x8xi32>
  }
  return %r : tensor<8x8xi32>
}
"""
LOOP = """
func.func @f(%x: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : i32
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<8x8xi32>) {
    %e = tensor.empty() : tensor<8x8xi32>
    %f = linalg.fill ins(%c7 : i32) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
    %m = linalg.matmul
      ins(%a, %x : tensor<8x8xi32>, tensor<8x8xi32>)
      outs(%f : tensor<8x8xi32>) -> tensor<8x8xi32>
    scf.yield %m : tensor<8x8xi32>
  }
  return %r : tensor<8x8xi32>
}
"""
CARRIED = """
func.func @f(%x: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : i32
  %e = tensor.empty() : tensor<8x8xi32>
  %f = linalg.fill ins(%c7 : i32) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %f) -> (tensor<8x8xi32>) {
    %m = linalg.matmul
      ins(%x, %x : tensor<8x8xi32>, tensor<8x8xi32>) outs(%a : tensor<8x8xi32>) -> tensor<8x8xi32>
    scf.yield %m : tensor<8x8xi32>
  }
  return %r : tensor<8x8xi32>
}
"""
ROWS = """
func.func @f() -> tensor<16x8xi32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c7 = arith.constant 7 : i32
  %e = tensor.empty() : tensor<16x8xi32>
  %r = scf.for %i = %c0 to %c16 step %c2 iter_args(%a = %e) -> (tensor<16x8xi32>) {
    %s = tensor.empty() : tensor<2x8xi32>
    %g = linalg.fill ins(%c7 : i32) outs(%s : tensor<2x8xi32>) -> tensor<2x8xi32>
    %t = tensor.insert_slice %g into %a[%i, 0][2, 8][1, 1] : tensor<2x8xi32> into tensor<16x8xi32>
    scf.yield %t : tensor<16x8xi32>
  }
  return %r : tensor<16x8xi32>
}
"""
NESTED = """
func.func @f(%t: tensor<i1>, %x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<4xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %b = tensor.extract %t[] : tensor<i1>
  %z = arith.constant dense<3> : tensor<4xi8>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<8x8xf32>) {
    %q = scf.if %b -> (tensor<8x8xf32>) {
      %s = arith.constant dense<1.5> : tensor<8x8xf32>
      %m = arith.addf %a, %s : tensor<8x8xf32>
      scf.yield %m : tensor<8x8xf32>
    } else {
      %n = arith.constant -2.0 : f32
      %e = tensor.empty() : tensor<8x8xf32>
      %f = linalg.fill ins(%n : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
      scf.yield %f : tensor<8x8xf32>
    }
    scf.yield %q : tensor<8x8xf32>
  }
  return %r, %z : tensor<8x8xf32>, tensor<4xi8>
}
"""
CALLED_TWICE = """
func.func private @g(%x: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %c5 = arith.constant 5 : i32
  %e = tensor.empty() : tensor<4x4xi32>
  %f = linalg.fill ins(%c5 : i32) outs(%e : tensor<4x4xi32>) -> tensor<4x4xi32>
  %m = linalg.matmul
      ins(%x, %x : tensor<4x4xi32>, tensor<4x4xi32>) outs(%f : tensor<4x4xi32>) -> tensor<4x4xi32>
  return %m : tensor<4x4xi32>
}
func.func @a(%x: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %1 = call @g(%x) : (tensor<4x4xi32>) -> tensor<4x4xi32>
  %2 = call @g(%1) : (tensor<4x4xi32>) -> tensor<4x4xi32>
  return %2 : tensor<4x4xi32>
}
"""
ALIKE = """
func.func @a(%x: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %c5 = arith.constant 5 : i32
  %e = tensor.empty() : tensor<4x4xi32>
  %f = linalg.fill ins(%c5 : i32) outs(%e : tensor<4x4xi32>) -> tensor<4x4xi32>
  %m = linalg.matmul
      ins(%x, %x : tensor<4x4xi32>, tensor<4x4xi32>) outs(%f : tensor<4x4xi32>) -> tensor<4x4xi32>
  return %m : tensor<4x4xi32>
}
func.func @b(%x: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %c5 = arith.constant 5 : i32
  %e = tensor.empty() : tensor<4x4xi32>
  %f = linalg.fill ins(%c5 : i32) outs(%e : tensor<4x4xi32>) -> tensor<4x4xi32>
  %m = linalg.matmul
      ins(%x, %x : tensor<4x4xi32>, tensor<4x4xi32>) outs(%f : tensor<4x4xi32>) -> tensor<4x4xi32>
  return %m : tensor<4x4xi32>
}
"""
INLINED = """
func.func private @z() -> tensor<8xf32> {
  %c = arith.constant 2.5 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %f : tensor<8xf32>
}
func.func @a(%c: i1, %x: tensor<8xf32>) -> tensor<8xf32> {
  %r = scf.if %c -> tensor<8xf32> {
    %1 = func.call @z() : () -> tensor<8xf32>
    scf.yield %1 : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
func.func @b() -> tensor<8xf32> {
  %1 = call @z() : () -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
"""


def look(compiler: Compiler, text: str) -> Inspection:
    return inspect(compiler, "program.mlir", text.lstrip())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BRANCH, {"6:10": ("7", "hal.device.queue.fill of bytes [0, 256) of result 0 at each call")}),
        (LOOP, {"8:10": ("7", "fused into dispatch f_dispatch_0_matmul_8x8x8_i32 (matmul)")}),
        (
            CARRIED,
            {
                "7:8": (
                    "7",
                    "hal.device.queue.fill of bytes [0, 256) of global @__hoisted_tensor_8x8xi32 at start-up",
                )
            },
        ),
        (ROWS, {"9:10": ("7", "hal.command_buffer.fill_buffer of result 0 at each call")}),
        (
            NESTED,
            {
                "6:8": ("3", "hal.device.queue.fill of bytes [0, 4) of result 1 at each call"),
                "9:12": ("1.5", "fused into dispatch f_dispatch_0_elementwise_64_f32 (generic)"),
                "15:12": ("-2.0", "hal.device.queue.fill of bytes [0, 256) of result 0 at each call"),
            },
        ),
        (
            CALLED_TWICE,
            {"4:8": ("5", "fused into dispatch a_dispatch_0_matmul_4x4x4_i32 (matmul, run 2 times)")},
        ),
    ],
    ids=["branch", "loop", "carried", "rows", "nested", "called twice"],
)
def test_every_fill_has_a_fate(compiler: Compiler, text: str, expected: dict[str, tuple[str, str]]) -> None:
    fates = look(compiler, text).fates
    assert {f"{f.location.line}:{f.location.column}": (f.value, f.fate) for f in fates} == expected


def test_equal_dispatches_of_two_functions_are_one_and_both_fills_are_in_it(compiler: Compiler) -> None:
    """IREE keeps @a's executable for both, each function dispatches it once."""
    fused = "fused into dispatch a_dispatch_0_matmul_4x4x4_i32 (matmul)"
    assert [(f.function, f.fate) for f in look(compiler, ALIKE).fates] == [("a", fused), ("b", fused)]


def test_equal_fills_of_two_functions_are_one_at_start_up(compiler: Compiler) -> None:
    """IREE keeps one global, which it fills once and both functions copy from."""
    one = """func.func @{}() -> tensor<8xi32> {{
      %c = arith.constant 7 : i32
      %e = tensor.empty() : tensor<8xi32>
      %f = linalg.fill ins(%c : i32) outs(%e : tensor<8xi32>) -> tensor<8xi32>
      return %f : tensor<8xi32>
    }}
    """
    filled = "hal.device.queue.fill of bytes [0, 32) of global @__hoisted_tensor_8xi32 at start-up"
    fates = look(compiler, one.format("a") + one.format("b")).fates
    assert [(f.function, f.fate) for f in fates] == [("a", filled), ("b", filled)]


def test_a_fill_that_two_functions_call_has_the_fate_of_each(compiler: Compiler) -> None:
    """@a fills in its branch; only @b copies from the global that start-up fills."""
    assert [(f.function, f.fate) for f in look(compiler, INLINED).fates] == [
        ("a", "hal.device.queue.fill of bytes [0, 32) of result 0 at each call"),
        ("b", "hal.device.queue.fill of bytes [0, 32) of global @__hoisted_tensor_8xf32 at start-up"),
    ]


def test_a_result_that_a_branch_chooses_is_one_of_several(compiler: Compiler) -> None:
    inspection = look(compiler, BRANCH)
    assert inspection.outputs[0].sentence == (
        "result 0 of @f is one of 2 buffers, as a branch or loop decides: (1) argument 1 itself; nothing "
        "fills, copies or writes it; (2) memory of this call is filled with 7 at each call "
        "(hal.device.queue.fill)"
    )
    assert inspection.sharing == ("result 0 of @f may be the buffer of argument 1",)
    (fill,) = (o for o in inspection.operations if o.kind == "fill")
    assert (fill.target, fill.value) == ("result 0", "7")


def test_a_loop_that_may_run_no_round_may_give_its_argument_back(compiler: Compiler) -> None:
    sentence = look(compiler, LOOP).outputs[0].sentence
    assert "(1) argument 0 itself" in sentence
    assert (
        "(2) memory of this call is filled by nothing in the HAL IR: it is allocated uninitialised"
        in sentence
    )
    assert "(the linalg.fill of 7 (8:10) is inside it)" in sentence


def test_a_result_of_nested_control_flow_has_all_its_sources(compiler: Compiler) -> None:
    first, second = look(compiler, NESTED).outputs
    assert "is one of 3 buffers" in first.sentence
    assert second.sentence == "result 1 of @f is filled with 3 at each call (hal.device.queue.fill)"


def test_a_number_that_a_loop_changes_is_not_known(compiler: Compiler) -> None:
    """Each round fills other rows: no range may be named, least of all that of the first round."""
    (fill,) = (o for o in look(compiler, ROWS).operations if o.kind == "fill")
    assert (fill.offset_bytes, fill.target) == (None, "result 0")


def test_what_a_loop_carries_is_followed_to_its_start(compiler: Compiler) -> None:
    sentence = look(compiler, CARRIED).outputs[0].sentence
    assert "which was filled with 7 at start-up (hal.device.queue.fill)" in sentence
    assert "read and overwritten by dispatch f_dispatch_0_matmul_8x8x8_i32" in sentence


def test_a_kernel_that_fills_has_a_value_though_its_size_is_open(compiler: Compiler) -> None:
    """64 bits are filled by a kernel; the caller's size is no reason not to know what with."""
    text = (SAMPLES / "fills" / "dynamic_size_i64.mlir").read_text()
    (fill,) = inspect(compiler, "dynamic_size_i64.mlir", text).operations
    assert (fill.form, fill.value, fill.length_bytes) == ("__builtin_splat_i64", "7", None)
    assert fill.pattern == (7).to_bytes(8, "little")
