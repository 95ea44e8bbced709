"""Programs by value: what IREE makes of the sample inputs and of the public reports.

The right values are IREE's own IR at executable-sources (iree-base-compiler 3.13, read by eye) and, for what
a program computes, the `expected` column of the reports' index.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.errors import CompileError
from aiepipe.frontend.compiler import Compiler
from aiepipe.program import (
    Access,
    AffineResult,
    Binding,
    Buffer,
    BufferKind,
    BufferSlice,
    CopyCommand,
    Dispatch,
    DispatchCommand,
    FillCommand,
    HostFunction,
    Program,
    Result,
    ScalarBody,
    ScalarOp,
    SourceLocation,
    Structured,
    TensorOp,
    TensorType,
    Value,
)

REPOSITORY = Path(__file__).resolve().parents[2]
LOAD = "iree_tensor_ext.dispatch.tensor.load"
STORE = "iree_tensor_ext.dispatch.tensor.store"


def compile_file(compiler: Compiler, path: Path, **scalars: dict[int, bytes]) -> Program:
    return compiler.compile(path.name, path.read_text(), scalars=scalars)


def function(program: Program, name: str = "main") -> HostFunction:
    return next(f for f in program.functions if f.name == name)


def commands(found: HostFunction) -> list[tuple[object, ...]]:
    """Commands without their locations: kind, then what they touch as (buffer, offset, length)."""
    return [_plain(command) for command in found.commands]


def startup(program: Program) -> list[tuple[object, ...]]:
    return [_plain(command) for command in program.startup]


def _plain(command: FillCommand | CopyCommand | DispatchCommand) -> tuple[object, ...]:
    if isinstance(command, FillCommand):
        return ("fill", _range(command.target), command.pattern)
    if isinstance(command, CopyCommand):
        return ("copy", _range(command.source), _range(command.target))
    return ("dispatch", command.dispatch, *(_range(part) for part in command.bindings))


def _range(part: BufferSlice) -> tuple[str, int, int]:
    return (part.buffer, part.offset_bytes, part.length_bytes)


def matmul_structured(m: int, n: int, k: int) -> Structured:
    d0, d1, d2 = (AffineResult(tuple(int(i == d) for i in range(3))) for d in range(3))
    body = ScalarBody(
        ("i32", "i32", "i32"),
        (ScalarOp("arith.muli", (0, 1), "i32"), ScalarOp("arith.addi", (2, 3), "i32")),
        (4,),
    )
    return Structured(
        2, ((d0, d2), (d2, d1), (d0, d1)), ("parallel", "parallel", "reduction"), (m, n, k), body
    )


def test_the_seed_program_is_one_dispatch_of_a_filled_matmul(compiler: Compiler) -> None:
    path = REPOSITORY / "mlir" / "matmul.mlir"
    program = compile_file(compiler, path)
    a, b, c = TensorType((64, 16), "i32"), TensorType((16, 64), "i32"), TensorType((64, 64), "i32")
    line = 1 + path.read_text().split("\n").index(
        next(t for t in path.read_text().split("\n") if "matmul ins" in t)
    )

    def at(line: int) -> SourceLocation:
        return SourceLocation("matmul.mlir", line, 8)

    (dispatch,) = program.dispatches
    whole = {"strides": (1, 1)}
    assert dispatch == Dispatch(
        name="matmul_dispatch_0_matmul_64x64x16_i32",
        bindings=(
            Binding(0, a, Access.READ),
            Binding(1, b, Access.READ),
            Binding(2, c, Access.WRITE),
        ),
        ops=(
            TensorOp(
                LOAD,
                (),
                (Value("%0", a),),
                at(line),
                {"binding": 0, "offsets": (0, 0), "sizes": (64, 16), **whole},
            ),
            TensorOp(
                LOAD,
                (),
                (Value("%1", b),),
                at(line),
                {"binding": 1, "offsets": (0, 0), "sizes": (16, 64), **whole},
            ),
            TensorOp("tensor.empty", (), (Value("%2", c),), at(line - 2)),
            TensorOp(
                "arith.constant",
                (),
                (Value("%3", TensorType((), "i32")),),
                SourceLocation("matmul.mlir", line - 3, 13),
                {"value": b"\x07\0\0\0", "splat": False},
            ),
            TensorOp(
                "linalg.fill",
                ("%3", "%2"),
                (Value("%4", c),),
                at(line - 1),
                {},
                Structured(
                    1,
                    ((), (AffineResult((1, 0)), AffineResult((0, 1)))),
                    ("parallel", "parallel"),
                    (64, 64),
                    ScalarBody(("i32", "i32"), (), (0,)),
                ),
            ),
            TensorOp(
                "linalg.matmul",
                ("%0", "%1", "%4"),
                (Value("%5", c),),
                at(line),
                {},
                matmul_structured(64, 64, 16),
            ),
            TensorOp(
                STORE, ("%5",), (), at(line), {"binding": 2, "offsets": (0, 0), "sizes": (64, 64), **whole}
            ),
        ),
        text=dispatch.text,
        location=at(line),
    )
    assert "linalg.matmul" in dispatch.text
    assert program.globals == ()
    assert program.startup == ()
    assert program.functions == (
        HostFunction(
            name="matmul",
            arguments=(a, b),
            buffers=(
                Buffer("arg0", BufferKind.ARGUMENT, 4096, 0),
                Buffer("arg1", BufferKind.ARGUMENT, 4096, 1),
                Buffer("result0", BufferKind.RESULT, 16384),
            ),
            commands=(
                DispatchCommand(
                    dispatch.name,
                    (
                        BufferSlice("arg0", 0, 4096),
                        BufferSlice("arg1", 0, 4096),
                        BufferSlice("result0", 0, 16384),
                    ),
                    at(line),
                ),
            ),
            results=(Result(c, BufferSlice("result0", 0, 16384)),),
            location=SourceLocation("matmul.mlir", line - 4, 1),
        ),
    )
    assert program.compiler.startswith("iree-base-compiler ")


def test_the_seed_of_the_reports_is_the_same_program(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "50_aie_64x64x16_i32_sync.mlir")
    assert commands(function(program)) == [
        (
            "dispatch",
            "main_dispatch_0_matmul_64x64x16_i32",
            ("arg0", 0, 4096),
            ("arg1", 0, 4096),
            ("result0", 0, 16384),
        )
    ]


def test_a_wide_constant_is_a_builtin_dispatch_at_start_up(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "01_fill_i64.mlir")
    constant = "__hoisted_tensor_5xi64"
    assert program.globals == (Buffer(constant, BufferKind.GLOBAL, 40),)
    assert startup(program) == [("dispatch", "__builtin_splat_i64", (constant, 0, 40))]
    assert commands(function(program)) == [("copy", (constant, 0, 40), ("result0", 0, 40))]
    (dispatch,) = program.dispatches
    five = TensorType((5,), "i64")
    assert dispatch.bindings == (Binding(0, five, Access.WRITE),)
    assert [op.name for op in dispatch.ops] == ["tensor.empty", "arith.constant", "linalg.fill", STORE]
    assert dispatch.ops[1].attributes == {"value": (4294967298).to_bytes(8, "little"), "splat": False}
    assert dispatch.ops[2].results[0].type == five
    assert dispatch.ops[3].attributes == {"binding": 0, "offsets": (0,), "sizes": (5,), "strides": (1,)}
    assert [r.name for r in program.refused] == ["dyn"]
    assert "argument 0 of @dyn is a scalar (index) and its value is not given" in program.refused[0].message


def test_scalars_make_a_dynamic_function_static(compiler: Compiler, reports: Path) -> None:
    values = {0: (3).to_bytes(8, "little"), 1: (-7).to_bytes(8, "little", signed=True)}
    program = compile_file(compiler, reports / "01_fill_i64.mlir", dyn=values)
    found = function(program, "dyn")
    assert found.arguments == (TensorType((), "index"), TensorType((), "i64"))
    assert found.scalars == values
    assert found.results == (Result(TensorType((3,), "i64"), BufferSlice("result0", 0, 24)),)
    pattern = b"\xf9" + b"\xff" * 7
    kinds = [command[0] for command in [*startup(program), *commands(found)]]
    assert "fill" in kinds or any(
        op.attributes.get("value") == pattern for dispatch in program.dispatches for op in dispatch.ops
    )
    (source,) = (f for f in program.source.functions if f.name == "dyn")
    assert source.returns[0].type == TensorType((3,), "i64")


def test_two_values_of_one_builtin_are_two_dispatches(compiler: Compiler) -> None:
    text = """
      func.func @main(%a: tensor<2xi64>) -> (tensor<4xi64>, tensor<4xi64>, tensor<6xi64>) {
        %x = arith.constant 7 : i64
        %y = arith.constant 8 : i64
        %e = tensor.empty() : tensor<4xi64>
        %0 = linalg.fill ins(%x : i64) outs(%e : tensor<4xi64>) -> tensor<4xi64>
        %1 = linalg.fill ins(%y : i64) outs(%e : tensor<4xi64>) -> tensor<4xi64>
        %2 = tensor.pad %a low[1] high[3] { ^bb0(%i: index): tensor.yield %x : i64 }
          : tensor<2xi64> to tensor<6xi64>
        return %0, %1, %2 : tensor<4xi64>, tensor<4xi64>, tensor<6xi64>
      }"""
    program = compiler.compile("a.mlir", text)
    values = {
        dispatch.name: (dispatch.bindings[0].type.shape, op.attributes["value"])
        for dispatch in program.dispatches
        for op in dispatch.ops
        if op.name == "arith.constant"
    }
    assert sorted(values.values()) == [
        ((4,), (7).to_bytes(8, "little")),
        ((4,), (8).to_bytes(8, "little")),
        ((6,), (7).to_bytes(8, "little")),
    ]
    assert len(set(values)) == 3
    assert all(name.startswith("__builtin_splat_i64") for name in values)


@pytest.mark.parametrize(
    ("name", "value", "pattern"),
    [("main", b"\xcd\xcc\x8c\x3f", b"\xcd\xcc\x8c\x3f"), ("main", b"\0\0\0\x80", b"\0\0\0\x80")],
)
def test_a_scalar_value_becomes_the_pattern(
    compiler: Compiler, reports: Path, name: str, value: bytes, pattern: bytes
) -> None:
    program = compile_file(compiler, reports / "04_fill_f32_dynamic_value.mlir", **{name: {0: value}})
    fills = [c for c in [*startup(program), *commands(function(program, name))] if c[0] == "fill"]
    assert ("f32", pattern) in [(function(program, name).results[0].type.element, fill[2]) for fill in fills]


def test_narrow_patterns_are_host_fills_at_start_up(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "12_fill_pattern_narrowing.mlir")
    patterns = [command[2] for command in startup(program) if command[0] == "fill"]
    assert patterns == [b"\1", b"\1\0", b"\0", b"\xff", b"\2\0\0\0"]
    assert [command[1] for command in startup(program) if command[0] == "dispatch"] == ["__builtin_splat_i64"]


def test_bf16_is_filled_as_its_bits(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "02_fill_bf16.mlir")
    constant = "__hoisted_tensor_3x7xbf16"
    assert startup(program) == [("fill", (constant, 0, 42), b"\xc0\x3f")]
    assert commands(function(program)) == [("copy", (constant, 0, 42), ("result0", 0, 42))]


def test_unaligned_fills_and_a_copy_meet_in_one_result(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "10_fill_unaligned.mlir")
    assert commands(function(program)) == [
        ("fill", ("result0", 0, 3), b"\7"),
        ("fill", ("result0", 3, 6), b"\x09"),
        ("copy", ("arg0", 0, 1), ("result0", 9, 1)),
    ]
    assert program.dispatches == ()


def test_a_pad_is_a_fill_of_all_and_a_copy_into_the_middle(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "11_fill_adjacent.mlir")
    assert commands(function(program)) == [
        ("fill", ("result0", 0, 32), b"\0"),
        ("copy", ("arg0", 0, 12), ("result0", 8, 12)),
    ]


def test_a_fill_with_two_users_and_a_result(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "31_fill_two_users.mlir")
    name = "main_dispatch_0_matmul_4x4x4_i32"
    assert [d.name for d in program.dispatches] == [name]
    a, b = ("arg0", 0, 64), ("arg1", 0, 64)
    assert commands(function(program)) == [
        ("dispatch", name, a, b, ("result0", 0, 64)),
        ("dispatch", name, b, a, ("result0", 64, 64)),
        ("fill", ("result0", 128, 64), b"\7\0\0\0"),
    ]
    four = TensorType((4, 4), "i32")
    assert function(program).results == tuple(
        Result(four, BufferSlice("result0", offset, 64)) for offset in (0, 64, 128)
    )


def test_bindings_folded_by_a_users_flag_come_apart_again(compiler: Compiler, reports: Path) -> None:
    path = reports / "31_fill_two_users.mlir"
    flags = ["--iree-scheduling-optimize-bindings=true"]
    folded = compiler.compile(path.name, path.read_text(), flags=flags)
    plain = compiler.compile(path.name, path.read_text())
    assert commands(function(folded)) == commands(function(plain))
    assert [d.bindings for d in folded.dispatches] == [d.bindings for d in plain.dispatches]


def test_an_accumulator_argument_is_written_in_place(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "43_accumulator_argument_in_place.mlir")
    (dispatch,) = program.dispatches
    assert [b.access for b in dispatch.bindings] == [Access.READ, Access.READ, Access.READ_WRITE]
    found = function(program)
    assert commands(found) == [
        ("dispatch", dispatch.name, ("arg0", 0, 256), ("arg1", 0, 256), ("arg2", 0, 256))
    ]
    assert found.results == (Result(TensorType((8, 8), "i32"), BufferSlice("arg2", 0, 256)),)


def test_an_argument_that_is_also_the_accumulator_is_read_from_a_copy(
    compiler: Compiler, reports: Path
) -> None:
    program = compile_file(compiler, reports / "38_acc_is_also_operand.mlir")
    (dispatch,) = program.dispatches
    assert [b.access for b in dispatch.bindings] == [Access.READ_WRITE, Access.READ, Access.READ]
    loads = {op.results[0].id: op.attributes["binding"] for op in dispatch.ops if op.name == LOAD}
    (matmul,) = (op for op in dispatch.ops if op.name == "linalg.matmul")
    assert [loads[operand] for operand in matmul.operands] == [2, 1, 0], "A from the copy, C in place"
    assert commands(function(program)) == [
        ("copy", ("arg0", 0, 64), ("transient0", 0, 64)),
        ("dispatch", dispatch.name, ("arg0", 0, 64), ("arg1", 0, 64), ("transient0", 0, 64)),
    ]


def test_an_argument_returned_beside_what_overwrites_it_is_kept(compiler: Compiler) -> None:
    # IREE returns the overwritten buffer for both, silently (3.13)
    text = """
      func.func @main(%a: tensor<4x4xi32>, %c: tensor<4x4xi32>) -> (tensor<4x4xi32>, tensor<4x4xi32>) {
        %0 = linalg.matmul ins(%a, %a : tensor<4x4xi32>, tensor<4x4xi32>) outs(%c : tensor<4x4xi32>)
          -> tensor<4x4xi32>
        return %0, %c : tensor<4x4xi32>, tensor<4x4xi32>
      }"""
    found = function(compiler.compile("a.mlir", text))
    assert commands(found)[0] == ("copy", ("arg1", 0, 64), ("result1", 0, 64))
    assert [result.slice for result in found.results] == [
        BufferSlice("arg1", 0, 64),
        BufferSlice("result1", 0, 64),
    ]


def test_results_may_be_arguments_scalars_and_constants(compiler: Compiler) -> None:
    text = """
      func.func @main(%a: tensor<2xi32>) -> (tensor<2xi32>, i16, f32, tensor<3xi32>) {
        %z = arith.constant -2 : i16
        %f = arith.constant 0x7FC00001 : f32
        %x = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
        return %a, %z, %f, %x : tensor<2xi32>, i16, f32, tensor<3xi32>
      }"""
    program = compiler.compile("a.mlir", text)
    found = function(program)
    assert found.results[0] == Result(TensorType((2,), "i32"), BufferSlice("arg0", 0, 8))
    assert found.results[1] == Result(TensorType((), "i16"), None, b"\xfe\xff")
    assert found.results[2] == Result(TensorType((), "f32"), None, b"\1\0\xc0\x7f")
    (constant,) = program.globals
    assert constant.kind is BufferKind.CONSTANT
    assert constant.initial is not None
    assert constant.initial[:12] == bytes.fromhex("010000000200000003000000")
    assert commands(found) == [("copy", (constant.name, 0, 12), ("result3", 0, 12))]


def test_a_constant_computation_runs_on_the_device_at_start_up(compiler: Compiler) -> None:
    text = """
      func.func @main() -> tensor<2x2xi32> {
        %x = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
        %z = arith.constant dense<0> : tensor<2x2xi32>
        %0 = linalg.matmul ins(%x, %x : tensor<2x2xi32>, tensor<2x2xi32>) outs(%z : tensor<2x2xi32>)
          -> tensor<2x2xi32>
        return %0 : tensor<2x2xi32>
      }"""
    program = compiler.compile("a.mlir", text)
    assert [command[0] for command in startup(program)] == ["dispatch"]
    (dispatch,) = program.dispatches
    values = [op.attributes for op in dispatch.ops if op.name == "arith.constant"]
    assert {"value": bytes.fromhex("01000000020000000300000004000000"), "splat": False} in values


def test_dispatches_in_a_chain_share_transient_memory_in_order(compiler: Compiler) -> None:
    text = """
      func.func @main(%a: tensor<8x8xi32>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
        %0 = linalg.matmul ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>)
          -> tensor<8x8xi32>
        %1 = linalg.matmul ins(%0, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>)
          -> tensor<8x8xi32>
        %2 = linalg.matmul ins(%1, %0 : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>)
          -> tensor<8x8xi32>
        return %2 : tensor<8x8xi32>
      }"""
    found = function(compiler.compile("a.mlir", text))
    written: list[object] = [("arg0", 0, 256), ("arg1", 0, 256)]
    for command in commands(found):
        reads = command[1:2] if command[0] == "copy" else command[2:]
        assert all(part in written for part in reads if part != command[-1])
        written.append(command[-1])
    assert [buffer.kind for buffer in found.buffers if buffer.kind is BufferKind.TRANSIENT]


def test_sub_byte_types_are_packed_and_i1_is_not(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "08_fill_i4.mlir")
    assert ("fill", ("__hoisted_tensor_4xi8", 0, 4), b"\x55") in startup(program)
    assert ("fill", ("transient0", 0, 4), b"\xdd") in commands(function(program, "widened"))
    assert function(program).results[0].type == TensorType((8,), "i4")
    booleans = compile_file(compiler, reports / "07_fill_i1.mlir")
    assert commands(function(booleans)) == [("fill", ("result0", 0, 9), b"\1")]


def test_a_sum_over_nothing_is_its_init(compiler: Compiler, reports: Path) -> None:
    # IREE dies by SIGFPE on the file as it stands
    program = compile_file(compiler, reports / "14_matmul_k0.mlir")
    assert program.dispatches == ()
    (fill,) = startup(program)
    assert fill[2] == b"\0\0\xe0\x40"
    assert function(program).results[0].type == TensorType((4, 3), "f32")


def test_signedness_is_in_the_body(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "16_matmul_cast_unsigned.mlir")
    bodies = {
        dispatch.name.split("_")[0]: op.structured.body
        for dispatch in program.dispatches
        for op in dispatch.ops
        if op.name == "linalg.matmul" and op.structured is not None
    }
    assert [op.name for op in bodies["main"].ops] == ["arith.extui"] * 2 + ["arith.muli", "arith.addi"]
    assert [op.name for op in bodies["signed"].ops] == ["arith.extsi"] * 2 + ["arith.muli", "arith.addi"]
    assert bodies["signed"].arguments == ("i8", "i8", "i32")


def test_transposed_and_broadcast_operands_are_in_the_maps(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "21_matmul_indexing_maps.mlir")
    dims = {
        dispatch.name.split("_")[0]: [[r.dim for r in map_] for map_ in op.structured.maps]
        for dispatch in program.dispatches
        for op in dispatch.ops
        if op.name == "linalg.matmul" and op.structured is not None
    }
    assert dims == {
        "tb": [[0, 2], [1, 2], [0, 1]],
        "ta": [[2, 0], [2, 1], [0, 1]],
        "tab": [[2, 0], [1, 2], [0, 1]],
        "bcast": [[0, 2], [2], [0, 1]],
    }


def test_names_are_kept_as_they_are(compiler: Compiler, reports: Path) -> None:
    program = compile_file(compiler, reports / "37_dollar_and_long_name.mlir")
    name = "matmul$64x64_a_very_long_function_name_that_exceeds_forty_two_characters"
    assert program.functions[0].name == name
    assert program.dispatches[0].name == f"{name}_dispatch_0_matmul_4x4x4_i32"


@pytest.mark.parametrize(
    ("file", "loops"),
    [
        ("26_matmul_i32_overflow.mlir", (2, 2, 3)),
        ("53_aie_single_k_step_i32.mlir", (128, 128, 32)),
        ("56_aie_32x32x64_i8.mlir", (32, 32, 64)),
        ("70_partial_k_accumulation.mlir", (128, 128, 1024)),
        ("68_tolerance_unreachable_bf16.mlir", (256, 256, 256)),
        ("54_aie_batch2_i32.mlir", (2, 64, 64, 32)),
    ],
)
def test_matmuls_stay_matmuls(compiler: Compiler, reports: Path, file: str, loops: tuple[int, ...]) -> None:
    program = compile_file(compiler, reports / file)
    structured = [op.structured for op in program.dispatches[0].ops if "matmul" in op.name]
    assert [s.loops for s in structured if s is not None] == [loops]


def test_only_the_functions_asked_for_are_compiled(compiler: Compiler, reports: Path) -> None:
    path = reports / "21_matmul_indexing_maps.mlir"
    program = compiler.compile(path.name, path.read_text(), functions=["ta"])
    assert [f.name for f in program.functions] == ["ta"]
    assert [f.name for f in program.source.functions] == ["ta"]
    with pytest.raises(CompileError, match="no public function @nope") as caught:
        compiler.compile(path.name, path.read_text(), functions=["nope"])
    assert caught.value.remedy == "the file has @bcast, @ta, @tab, @tb"


def test_calls_are_followed(compiler: Compiler) -> None:
    text = """
      func.func private @inner(%a: tensor<4xi32>) -> tensor<4xi32> {
        %0 = arith.addi %a, %a : tensor<4xi32>
        return %0 : tensor<4xi32>
      }
      func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
        %0 = func.call @inner(%a) : (tensor<4xi32>) -> tensor<4xi32>
        return %0 : tensor<4xi32>
      }"""
    program = compiler.compile("a.mlir", text)
    assert [op.name for op in program.source.functions[0].ops] == ["arith.addi"]
    assert len(commands(function(program))) == 1


def test_two_compilations_are_equal(compiler: Compiler) -> None:
    path = REPOSITORY / "mlir" / "matmul.mlir"
    assert compile_file(compiler, path) == compile_file(compiler, path)
