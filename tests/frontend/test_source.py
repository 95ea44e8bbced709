"""Source modules: what the user wrote, before any pass, and the functions that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.errors import CompileError, WorkerCrash
from aiepipe.frontend.compiler import Compiler
from aiepipe.program import (
    AffineResult,
    ScalarBody,
    ScalarOp,
    SourceFunction,
    SourceLocation,
    Structured,
    TensorOp,
    TensorType,
    Value,
)


def only(compiler: Compiler, text: str) -> SourceFunction:
    (function,) = compiler.parse("a.mlir", text).functions
    return function


def test_ops_have_ids_types_and_places(compiler: Compiler) -> None:
    text = (
        "func.func @f(%a: tensor<2x3xi8>) -> tensor<2x3xi8> {\n"
        "  %0 = arith.addi %a, %a : tensor<2x3xi8>\n"
        "  return %0 : tensor<2x3xi8>\n"
        "}\n"
    )
    type_ = TensorType((2, 3), "i8")
    argument, result = Value("%arg0", type_), Value("%0", type_)
    module = compiler.parse("dir/a.mlir", text)
    assert module.file == "dir/a.mlir"
    assert module.text == text
    assert module.refused == ()
    assert module.functions == (
        SourceFunction(
            name="f",
            arguments=(argument,),
            ops=(TensorOp("arith.addi", ("%arg0", "%arg0"), (result,), SourceLocation("dir/a.mlir", 2, 8)),),
            returns=(result,),
            location=SourceLocation("dir/a.mlir", 1, 1),
        ),
    )


def test_a_map_that_is_not_linear_is_not_read(compiler: Compiler) -> None:
    function = only(
        compiler,
        """
        func.func @f(%a: tensor<2x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
          %0 = linalg.generic {
              indexing_maps = [affine_map<(r, c) -> (r floordiv 2, c)>, affine_map<(r, c) -> (r, c)>],
              iterator_types = ["parallel", "parallel"]}
            ins(%a : tensor<2x8xf32>) outs(%o : tensor<4x8xf32>) {
            ^bb0(%x: f32, %y: f32):
              linalg.yield %x : f32
          } -> tensor<4x8xf32>
          return %0 : tensor<4x8xf32>
        }""",
    )
    op = function.ops[-1]
    assert op.attributes == {"unread": True}
    assert op.structured is None
    assert op.results[0].type == TensorType((4, 8), "f32")


def test_what_a_body_takes_from_outside_is_a_constant_or_an_input(compiler: Compiler) -> None:
    function = only(
        compiler,
        """
        func.func @f(%a: tensor<4x8xf32>, %s: f32, %o: tensor<8xf32>) -> tensor<8xf32> {
          %two = arith.constant 2.0 : f32
          %0 = linalg.generic {
              indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (c)>],
              iterator_types = ["reduction", "parallel"]}
            ins(%a : tensor<4x8xf32>) outs(%o : tensor<8xf32>) {
            ^bb0(%x: f32, %acc: f32):
              %p = arith.mulf %x, %two : f32
              %q = arith.mulf %p, %s : f32
              %m = arith.cmpf ogt, %q, %acc : f32
              %r = arith.select %m, %q, %acc : f32
              linalg.yield %r : f32
          } -> tensor<8xf32>
          return %0 : tensor<8xf32>
        }""",
    )
    op = function.ops[-1]
    r, c = AffineResult((1, 0)), AffineResult((0, 1))
    assert op.operands == ("%arg0", "%arg1", "%arg2")
    assert op.structured == Structured(
        input_count=2,
        maps=((r, c), (), (c,)),
        iterators=("reduction", "parallel"),
        loops=(4, 8),
        body=ScalarBody(
            ("f32", "f32", "f32"),
            (
                ScalarOp("arith.constant", (), "f32", {"value": b"\0\0\0\x40"}),
                ScalarOp("arith.mulf", (0, 3), "f32"),
                ScalarOp("arith.mulf", (4, 1), "f32"),
                ScalarOp("arith.cmpf", (5, 2), "i1", {"predicate": "ogt"}),
                ScalarOp("arith.select", (6, 5, 2), "f32"),
            ),
            (7,),
        ),
    )
    assert function.scalars == (1,)


def test_strided_and_shifted_maps_have_their_coefficients(compiler: Compiler) -> None:
    function = only(
        compiler,
        """
        func.func @f(%a: tensor<9xi32>, %o: tensor<4xi32>) -> tensor<4xi32> {
          %0 = linalg.generic {
              indexing_maps = [affine_map<(i) -> (i * 2 + 1)>, affine_map<(i) -> (i)>],
              iterator_types = ["parallel"]}
            ins(%a : tensor<9xi32>) outs(%o : tensor<4xi32>) {
            ^bb0(%x: i32, %y: i32):
              %i = linalg.index 0 : index
              %j = arith.index_cast %i : index to i32
              %r = arith.addi %x, %j : i32
              linalg.yield %r : i32
          } -> tensor<4xi32>
          return %0 : tensor<4xi32>
        }""",
    )
    structured = function.ops[0].structured
    assert structured is not None
    assert structured.maps == ((AffineResult((2,), 1),), (AffineResult((1,)),))
    assert structured.loops == (4,)
    assert structured.body.ops[0] == ScalarOp("linalg.index", (), "index", {"dim": 0})


@pytest.mark.parametrize(
    ("literal", "type_", "value", "splat"),
    [
        ("dense<1.5>", "3xbf16", b"\xc0\x3f", True),
        ("dense<[1.5, 2.0, -0.0]>", "3xbf16", b"\xc0\x3f\x00\x40\x00\x80", False),
        ("dense<[true, false, true]>", "3xi1", b"\1\0\1", False),
        ("dense<true>", "3xi1", b"\1", True),
        ("dense<[1, -2, 3]>", "3xi4", b"\xe1\x03", False),
        ("dense<-3>", "8xi4", b"\x0d", True),
        ("dense<[1.0, 0x7FC00001]>", "2xf32", b"\0\0\x80\x3f\1\0\xc0\x7f", False),
        ("dense<(1.0, 2.0)>", "2xcomplex<f32>", b"\0\0\x80\x3f\0\0\0\x40", True),
        ("dense<[1.0, 2.0]>", "2xf16", b"\x00\x3c\x00\x40", False),
        ("dense<[1.0, 2.0]>", "2xf8E4M3FN", b"\x38\x40", False),
        ('dense<"0x01020304">', "4xi8", b"\1\2\3\4", False),
        ("dense<[[1, 2], [3, 4]]>", "2x2xi16", b"\1\0\2\0\3\0\4\0", False),
        ("dense<>", "0xi32", b"", False),
        ("dense_resource<blob>", "3xi16", b"\1\0\2\0\3\0", False),
        ("dense_resource<blob>", "3xbf16", b"\1\0\2\0\3\0", False),
    ],
)
def test_constants_are_bytes_in_buffer_layout(
    compiler: Compiler, literal: str, type_: str, value: bytes, splat: bool
) -> None:
    resource = '{-# dialect_resources: {builtin: {blob: "0x04000000010002000300"}} #-}'
    function = only(
        compiler,
        f"func.func @f() -> tensor<{type_}> {{\n"
        f"  %0 = arith.constant {literal} : tensor<{type_}>\n"
        f"  return %0 : tensor<{type_}>\n}}\n" + (resource if "resource" in literal else ""),
    )
    (op,) = function.ops
    assert op.name == "arith.constant"
    assert op.attributes == {"value": value, "splat": splat}


def test_shapes_fold_with_the_scalars_they_depend_on(compiler: Compiler) -> None:
    text = """
      func.func @f(%n: index, %v: i64) -> tensor<?xi64> {
        %two = arith.constant 2 : index
        %m = arith.muli %n, %two : index
        %e = tensor.empty(%m) : tensor<?xi64>
        %0 = linalg.fill ins(%v : i64) outs(%e : tensor<?xi64>) -> tensor<?xi64>
        return %0 : tensor<?xi64>
      }"""
    (still_open,) = compiler.parse("a.mlir", text).functions
    assert still_open.scalars == (0, 1)
    assert still_open.returns[0].type == TensorType((-1,), "i64")
    values = {"f": {0: (3).to_bytes(8, "little")}}
    (closed,) = compiler.parse("a.mlir", text, scalars=values).functions
    assert closed.returns[0].type == TensorType((6,), "i64")
    assert [op.name for op in closed.ops] == ["tensor.empty", "linalg.fill"]
    assert closed.ops[1].operands == ("%arg1", "%0"), "a scalar without a value stays an argument"


def test_slices_pads_and_concats_have_their_numbers(compiler: Compiler) -> None:
    function = only(
        compiler,
        """
        func.func @f(%a: tensor<4x6xi32>) -> tensor<7x3xi32> {
          %c1 = arith.constant 1 : index
          %z = arith.constant 5 : i32
          %0 = tensor.extract_slice %a[%c1, 0] [2, 3] [1, 2] : tensor<4x6xi32> to tensor<2x3xi32>
          %1 = tensor.pad %0 low[%c1, 0] high[1, 0] {
            ^bb0(%i: index, %j: index):
              tensor.yield %z : i32
          } : tensor<2x3xi32> to tensor<?x3xi32>
          %2 = tensor.cast %1 : tensor<?x3xi32> to tensor<4x3xi32>
          %3 = tensor.concat dim(0) %2, %0 : (tensor<4x3xi32>, tensor<2x3xi32>) -> tensor<6x3xi32>
          %e = tensor.empty() : tensor<7x3xi32>
          %4 = tensor.insert_slice %3 into %e[1, 0] [6, 3] [1, 1] : tensor<6x3xi32> into tensor<7x3xi32>
          return %4 : tensor<7x3xi32>
        }""",
    )
    ops = {op.name: op for op in function.ops}
    assert ops["tensor.extract_slice"].attributes == {
        "offsets": (1, 0),
        "sizes": (2, 3),
        "strides": (1, 2),
    }
    assert ops["tensor.pad"].attributes == {"low": (1, 0), "high": (1, 0)}
    assert ops["tensor.pad"].results[0].type == TensorType((4, 3), "i32")
    padding = next(op for op in function.ops if op.results[0].id == ops["tensor.pad"].operands[1])
    assert padding.attributes == {"value": b"\5\0\0\0", "splat": False}
    assert ops["tensor.concat"].attributes == {"dim": 0}
    assert ops["tensor.insert_slice"].attributes == {
        "offsets": (1, 0),
        "sizes": (6, 3),
        "strides": (1, 1),
    }


def test_an_op_that_is_not_read_keeps_its_name_and_says_so(compiler: Compiler) -> None:
    function = only(
        compiler,
        """
        func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
          %e = tensor.empty() : tensor<4xf32>
          %0 = linalg.softmax dimension(0) ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
          return %0 : tensor<4xf32>
        }""",
    )
    assert (function.ops[-1].name, function.ops[-1].attributes) == ("linalg.softmax", {"unread": True})


def test_a_users_own_locations_are_kept(compiler: Compiler) -> None:
    function = only(
        compiler,
        """
        func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
          %0 = arith.addf %a, %a : tensor<4xf32> loc("model.py":3:4)
          return %0 : tensor<4xf32>
        }""",
    )
    assert function.ops[0].location == SourceLocation("model.py", 3, 4)


@pytest.mark.parametrize(
    ("file", "message", "location", "op"),
    [
        ("empty.mlir", "no public function with a body", "empty.mlir", None),
        ("decl_only.mlir", "no public function with a body", "decl_only.mlir", None),
        ("garbage.mlir", "custom op 'hello' is unknown", "garbage.mlir:1:1", "hello"),
        ("truncated.mlir", "expected 'x' in dimension list", "truncated.mlir:4:53", None),
        ("unregistered.mlir", "the op foo.bar is of a dialect", "unregistered.mlir:2:17", "foo.bar"),
        ("nested.mlir", "nested deeper than 256 levels", "nested.mlir:1:2056", None),
    ],
)
def test_bad_files_end_in_one_clear_error(
    compiler: Compiler, reports: Path, file: str, message: str, location: str, op: str | None
) -> None:
    text = (reports / "bad" / file).read_text()
    for attempt in (compiler.parse, compiler.compile):
        with pytest.raises(CompileError) as caught:
            attempt(file, text)
        assert not isinstance(caught.value, WorkerCrash)
        assert message in caught.value.message
        assert caught.value.where() == location
        assert caught.value.op == op


def test_text_that_is_no_unicode_is_an_error_with_its_place(compiler: Compiler) -> None:
    with pytest.raises(CompileError, match="no Unicode") as caught:
        compiler.parse("a.mlir", "// one\n// \udcff\n")
    assert caught.value.where() == "a.mlir:2:4"


def test_removed_named_ops_have_their_remedy(compiler: Compiler, reports: Path) -> None:
    path = reports / "20_matmul_transpose_b_named.mlir"
    with pytest.raises(CompileError, match="matmul_transpose_b") as caught:
        compiler.parse(path.name, path.read_text())
    assert caught.value.remedy == "use linalg.matmul with indexing_maps: the named op left MLIR"
    assert caught.value.diagnostics.endswith("^")


def test_memref_arguments_are_refused(compiler: Compiler, reports: Path) -> None:
    path = reports / "15_matmul_memref_operands.mlir"
    (refused,) = compiler.parse(path.name, path.read_text()).refused
    assert refused.message == (
        "argument 0 of @main has the type memref<4x4xf32>: memref arguments are not supported"
    )
    with pytest.raises(CompileError, match="memref arguments are not supported"):
        compiler.compile(path.name, path.read_text())


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (
            "func.func @f(%a: tensor<?x4xi32>) -> tensor<?x4xi32> {\n  return %a : tensor<?x4xi32>\n}",
            "argument 0 of @f has the dynamic type tensor<?x4xi32>",
            1,
        ),
        (
            "func.func @f(%a: tensor<4xi32>) -> tensor<?xi32> {\n"
            "  %c = arith.constant 0 : index\n"
            "  %x = tensor.extract %a[%c] : tensor<4xi32>\n"
            "  %n = arith.index_cast %x : i32 to index\n"
            "  %e = tensor.empty(%n) : tensor<?xi32>\n"
            "  return %e : tensor<?xi32>\n}",
            "tensor.empty has the dynamic type tensor<?xi32>",
            5,
        ),
        (
            "func.func @f(%v: f32) -> tensor<f32> {\n"
            "  %0 = tensor.splat %v : tensor<f32>\n  return %0 : tensor<f32>\n}",
            "argument 0 of @f is a scalar (f32) and its value is not given",
            1,
        ),
        (
            "func.func @f(%a: tensor<4xi32>, %c: i1) -> tensor<4xi32> {\n"
            "  cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n  return %a : tensor<4xi32>\n"
            "^bb2:\n  return %a : tensor<4xi32>\n}",
            "@f has control flow between blocks",
            1,
        ),
        (
            "func.func @f(%a: tensor<4xi7>) -> tensor<4xi7> {\n  return %a : tensor<4xi7>\n}",
            "argument 0 of @f has the type tensor<4xi7>",
            1,
        ),
        (
            "func.func @f(%a: tensor<4x4xf64>) -> tensor<4x4xf64> {\n"
            "  %0 = linalg.matmul ins(%a, %a : tensor<4x4xf64>, tensor<4x4xf64>)"
            " outs(%a : tensor<4x4xf64>) -> tensor<4x4xf64>\n  return %0 : tensor<4x4xf64>\n}",
            "linalg.matmul computes on 4x4xf64: the NPU has no f64",
            2,
        ),
    ],
)
def test_what_cannot_be_compiled_says_what_and_where(
    compiler: Compiler, text: str, message: str, line: int
) -> None:
    with pytest.raises(CompileError) as caught:
        compiler.compile("a.mlir", text)
    assert message in caught.value.message
    assert isinstance(caught.value.location, SourceLocation)
    assert (caught.value.location.file, caught.value.location.line) == ("a.mlir", line)


def test_f64_that_only_the_host_touches_is_all_right(compiler: Compiler) -> None:
    text = """
      func.func @f(%a: tensor<2xf64>) -> (tensor<4xf64>, tensor<2xf64>) {
        %z = arith.constant 0.0 : f64
        %0 = tensor.pad %a low[1] high[1] { ^bb0(%i: index): tensor.yield %z : f64 }
          : tensor<2xf64> to tensor<4xf64>
        return %0, %a : tensor<4xf64>, tensor<2xf64>
      }"""
    program = compiler.compile("a.mlir", text)
    assert program.dispatches == ()
    assert program.functions[0].results[0].type == TensorType((4,), "f64")


def test_a_type_that_iree_refuses_is_told_in_the_users_words(compiler: Compiler, reports: Path) -> None:
    path = reports / "06c_fill_complex_f64.mlir"
    with pytest.raises(CompileError) as caught:
        compiler.compile(path.name, path.read_text())
    assert caught.value.message.startswith("arith.constant of type tensor<4xcomplex<f64>>: ")
    assert caught.value.op == "arith.constant"
    assert caught.value.where() == f"{path.name}:8:8"
    assert "dense<(3.0, 10.0)>" in caught.value.diagnostics


def test_one_refused_function_does_not_spoil_the_others(compiler: Compiler) -> None:
    text = """
      func.func @bad(%m: memref<4xi32>) {
        return
      }
      func.func @good(%a: tensor<4xi32>) -> tensor<4xi32> {
        %0 = arith.addi %a, %a : tensor<4xi32>
        return %0 : tensor<4xi32>
      }"""
    program = compiler.compile("a.mlir", text)
    assert [f.name for f in program.functions] == ["good"]
    assert [f.name for f in program.refused] == ["bad"]
    with pytest.raises(CompileError, match="memref"):
        compiler.compile("a.mlir", text, functions=["bad"])
