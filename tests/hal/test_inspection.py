"""What the HAL IR does to buffers, by value, for the fills of the public reports and the samples.

The right values are IREE 3.13's own IR at its phase hal, read by eye, and the reports' index.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.errors import CompileError, UsageError
from aiepipe.frontend.compiler import Compiler
from aiepipe.hal.inspection import inspect
from aiepipe.program import SourceLocation
from aiepipe.verdict import BufferOperation, Inspection

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"
QUEUE_FILL = "hal.device.queue.fill"
BUFFER_FILL = "hal.command_buffer.fill_buffer"
DIRECT = ("--iree-hal-memoization=false", "--iree-hal-indirect-command-buffers=false")

Row = tuple[str, str, str, str, int | None, int | None, str | None]


def look(compiler: Compiler, path: Path, *flags: str, **scalars: dict[int, bytes]) -> Inspection:
    return inspect(compiler, path.name, path.read_text(), flags=flags, scalars=scalars)


def fill_of(sample: str) -> SourceLocation:
    """Where the only linalg.fill of a sample stands."""
    lines = (SAMPLES / sample).read_text().splitlines()
    line = next(i for i, text in enumerate(lines) if "linalg.fill" in text and not text.startswith("//"))
    return SourceLocation(sample, line + 1, lines[line].index("linalg.fill") + 1)


def row(operation: BufferOperation) -> Row:
    """Form, function, target, when, offset, length, value."""
    return (
        operation.form,
        operation.function,
        operation.target,
        operation.when,
        operation.offset_bytes,
        operation.length_bytes,
        operation.value,
    )


def fills(inspection: Inspection) -> list[Row]:
    return [row(operation) for operation in inspection.fills]


def copies(inspection: Inspection) -> list[Row]:
    return [row(operation) for operation in inspection.operations if operation.kind == "copy"]


def test_the_seed_program_has_no_fill_for_it_is_fused(compiler: Compiler) -> None:
    inspection = look(compiler, SAMPLES / "matmul.mlir")
    assert inspection.operations == ()
    assert inspection.dispatches == ("matmul_dispatch_0_matmul_64x64x16_i32",)
    (fate,) = inspection.fates
    assert (fate.source_op, fate.function, fate.element, fate.value) == ("linalg.fill", "matmul", "i32", "7")
    assert fate.fate == "fused into dispatch matmul_dispatch_0_matmul_64x64x16_i32 (matmul)"
    assert fate.stage == "dispatch-creation"
    assert fate.location == fill_of("matmul.mlir")


def test_a_fill_alone_is_a_queue_fill_at_start_up_and_a_copy(compiler: Compiler) -> None:
    inspection = look(compiler, SAMPLES / "fill_bf16.mlir")
    constant = "global @__hoisted_tensor_3x7xbf16"
    assert inspection.operations == (
        BufferOperation(
            form=QUEUE_FILL,
            kind="fill",
            function="initializer",
            target=constant,
            when="start-up",
            offset_bytes=0,
            length_bytes=42,
            location=fill_of("fill_bf16.mlir"),
            pattern=b"\xc0\x3f",
            pattern_type="i16",
            element="bf16",
            value="1.5",
        ),
        BufferOperation(
            form="hal.device.queue.copy",
            kind="copy",
            function="fill",
            target="result 0",
            when="each call",
            offset_bytes=0,
            length_bytes=42,
            location=fill_of("fill_bf16.mlir"),
        ),
    )
    (fate,) = inspection.fates
    assert fate.fate == f"{QUEUE_FILL} of bytes [0, 42) of {constant} at start-up"


def test_a_pattern_over_four_bytes_is_a_builtin_dispatch(compiler: Compiler, reports: Path) -> None:
    inspection = look(compiler, reports / "01_fill_i64.mlir")
    constant = "global @__hoisted_tensor_5xi64"
    assert fills(inspection) == [
        ("__builtin_splat_i64", "initializer", constant, "start-up", 0, 40, "4294967298"),
        ("__builtin_splat_i64", "dyn", "result 0", "each call", 0, None, None),
    ]
    assert inspection.fills[0].pattern == (4294967298).to_bytes(8, "little")
    assert inspection.fills[0].pattern_type == "i64"


def test_a_builtin_over_a_part_of_a_buffer_has_its_own_range(compiler: Compiler) -> None:
    # folded bindings: the dispatch is bound to all 192 bytes and gets the offset as an operand
    text = """
      func.func @main(%v: i64, %a: tensor<3xi64>) -> (tensor<4x4xi64>, tensor<3xi64>) {
        %e = tensor.empty() : tensor<4x4xi64>
        %f = linalg.fill ins(%v : i64) outs(%e : tensor<4x4xi64>) -> tensor<4x4xi64>
        %0 = arith.addi %a, %a : tensor<3xi64>
        return %f, %0 : tensor<4x4xi64>, tensor<3xi64>
      }"""
    form = "__builtin_splat_i64"
    open_value = inspect(compiler, "a.mlir", text)
    assert fills(open_value) == [(form, "main", "result 0", "each call", 64, 128, None)]
    value = (-(2**40)).to_bytes(8, "little", signed=True)
    known = inspect(compiler, "a.mlir", text, scalars={"main": {0: value}})
    assert known.fills[0].value == "-1099511627776"


@pytest.mark.parametrize("flags", [(), DIRECT])
def test_narrowed_patterns_are_shown_as_the_elements_value(
    compiler: Compiler, reports: Path, flags: tuple[str, ...]
) -> None:
    inspection = look(compiler, reports / "12_fill_pattern_narrowing.mlir", *flags)
    found = {(o.pattern_type, o.element, o.value, o.offset_bytes, o.length_bytes) for o in inspection.fills}
    assert found == {
        ("i8", "i32", "16843009", 0, 16),
        ("i16", "i32", "65537", 64, 16),
        ("i8", "i64", "0", 128, 32),
        ("i8", "i64", "-1", 192, 32),
        ("i32", "i64", "8589934594", 256, 32),
        ("i64", "i64", "7", 320, 32),
    }
    assert {o.when for o in inspection.fills} == {"start-up"}
    assert [target for _, _, target, *_ in copies(inspection)] == [
        "result 0", "result 1", "result 0", "result 1", "result 2", "result 3",
    ]  # fmt: skip


def test_a_run_time_value_is_a_fill_of_unknown_value(compiler: Compiler, reports: Path) -> None:
    inspection = look(compiler, reports / "04_fill_f32_dynamic_value.mlir")
    assert fills(inspection) == [
        (BUFFER_FILL, "initializer", "global @__hoisted_tensor_6xf32", "start-up", 0, 24, "-0.0"),
        (
            BUFFER_FILL,
            "initializer",
            "global @__hoisted_tensor_6xf32",
            "start-up",
            64,
            24,
            "nan (0x7fc00001)",
        ),
        (QUEUE_FILL, "main", "result 0", "each call", 0, 4, None),
    ]
    known = look(compiler, reports / "04_fill_f32_dynamic_value.mlir", main={0: b"\xcd\xcc\x8c\x3f"})
    assert "1.1" in [operation.value for operation in known.fills]


def test_sub_byte_and_boolean_fills(compiler: Compiler, reports: Path) -> None:
    assert fills(look(compiler, reports / "07_fill_i1.mlir")) == [
        (QUEUE_FILL, "main", "result 0", "each call", 0, 9, "true")
    ]
    assert fills(look(compiler, reports / "08_fill_i4.mlir")) == [
        (QUEUE_FILL, "initializer", "global @__hoisted_tensor_4xi8", "start-up", 0, 4, "5"),
        (QUEUE_FILL, "widened", "transient", "each call", 0, 4, "-3"),
    ]


def test_unaligned_neighbours_and_the_copy_beside_them(compiler: Compiler, reports: Path) -> None:
    inspection = look(compiler, reports / "10_fill_unaligned.mlir")
    assert fills(inspection) == [
        (BUFFER_FILL, "main", "result 0", "each call", 0, 3, "7"),
        (BUFFER_FILL, "main", "result 0", "each call", 3, 6, "9"),
    ]
    assert copies(inspection) == [
        ("hal.command_buffer.copy_buffer", "main", "result 0", "each call", 9, 1, None)
    ]
    assert [fate.fate for fate in inspection.fates] == [
        f"{BUFFER_FILL} of bytes [0, 3) of result 0 at each call",
        f"{BUFFER_FILL} of bytes [3, 9) of result 0 at each call",
    ]


def test_a_pad_is_one_fill_of_all_with_a_byte_pattern(compiler: Compiler, reports: Path) -> None:
    inspection = look(compiler, reports / "11_fill_adjacent.mlir")
    assert fills(inspection) == [(BUFFER_FILL, "main", "result 0", "each call", 0, 32, "0")]
    assert (inspection.fills[0].pattern, inspection.fills[0].pattern_type) == (b"\0", "i8")
    assert inspection.fills[0].element == "i32"
    assert [fate.source_op for fate in inspection.fates] == ["tensor.pad"]


@pytest.mark.parametrize("flags", [(), DIRECT, ("--iree-hal-target-backends=llvm-cpu",)])
def test_a_fill_with_two_users_and_a_result_has_two_fates(
    compiler: Compiler, reports: Path, flags: tuple[str, ...]
) -> None:
    inspection = look(compiler, reports / "31_fill_two_users.mlir", *flags)
    assert fills(inspection) == [(BUFFER_FILL, "main", "result 2", "each call", 128, 64, "7")]
    (fate,) = inspection.fates
    assert fate.fate == (
        "fused into dispatch main_dispatch_0_matmul_4x4x4_i32 (matmul, run 2 times); "
        f"{BUFFER_FILL} of bytes [128, 192) of result 2 at each call"
    )
    assert fate.stage == "hal"


def test_splat_constants_are_fills_of_the_source_too(compiler: Compiler) -> None:
    text = """
      func.func @main(%a: tensor<4x4xi32>) -> (tensor<4x4xi32>, tensor<2x3xi32>, tensor<4xf32>) {
        %z = arith.constant dense<0> : tensor<4x4xi32>
        %0 = linalg.matmul ins(%a, %a : tensor<4x4xi32>, tensor<4x4xi32>) outs(%z : tensor<4x4xi32>)
          -> tensor<4x4xi32>
        %y = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
        %s = arith.constant dense<1.0> : tensor<4xf32>
        return %0, %y, %s : tensor<4x4xi32>, tensor<2x3xi32>, tensor<4xf32>
      }"""
    inspection = inspect(compiler, "a.mlir", text)
    assert [(fate.value, fate.fate) for fate in inspection.fates] == [
        ("0", "fused into dispatch main_dispatch_0_matmul_4x4x4_i32 (matmul)"),
        ("1.0", f"{BUFFER_FILL} of bytes [128, 144) of result 2 at each call"),
    ]
    assert fills(inspection) == [(BUFFER_FILL, "main", "result 2", "each call", 128, 16, "1.0")]
    assert [target for _, _, target, *_ in copies(inspection)] == ["result 1"]


def test_a_fill_that_nobody_needs_is_folded_away(compiler: Compiler) -> None:
    text = """
      func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
        %v = arith.constant 7 : i32
        %e = tensor.empty() : tensor<4xi32>
        %f = linalg.fill ins(%v : i32) outs(%e : tensor<4xi32>) -> tensor<4xi32>
        return %a : tensor<4xi32>
      }"""
    inspection = inspect(compiler, "a.mlir", text)
    assert inspection.fills == ()
    assert [fate.fate for fate in inspection.fates] == ["folded away: nothing is filled for it"]


def test_an_accumulator_argument_needs_no_fill_and_is_no_result_of_one(
    compiler: Compiler, reports: Path
) -> None:
    inspection = look(compiler, reports / "43_accumulator_argument_in_place.mlir")
    assert (inspection.operations, inspection.fates) == ((), ())
    assert inspection.dispatches == ("main_dispatch_0_matmul_8x8x8_i32",)


def test_what_is_constant_is_evaluated_by_iree_unless_a_flag_says_no(compiler: Compiler) -> None:
    text = """
      func.func @main() -> tensor<2x2xi32> {
        %x = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
        %z = arith.constant dense<0> : tensor<2x2xi32>
        %0 = linalg.matmul ins(%x, %x : tensor<2x2xi32>, tensor<2x2xi32>) outs(%z : tensor<2x2xi32>)
          -> tensor<2x2xi32>
        return %0 : tensor<2x2xi32>
      }"""
    evaluated = inspect(compiler, "a.mlir", text)
    assert evaluated.dispatches == ()
    assert [fate.fate for fate in evaluated.fates] == ["folded away: nothing is filled for it"]
    kept = inspect(compiler, "a.mlir", text, flags=["--iree-opt-const-eval=false"])
    assert len(kept.dispatches) == 1
    assert "fused into dispatch" in kept.fates[0].fate


def test_some_functions_can_be_looked_at_alone(compiler: Compiler, reports: Path) -> None:
    path = reports / "12_fill_pattern_narrowing.mlir"
    inspection = inspect(compiler, path.name, path.read_text(), functions=["i32_bytes"])
    assert [o.value for o in inspection.fills] == ["16843009", "65537"]
    with pytest.raises(CompileError, match="no public function @nope"):
        inspect(compiler, path.name, path.read_text(), functions=["nope"])


def test_errors_are_those_of_the_front_end(compiler: Compiler, reports: Path) -> None:
    with pytest.raises(CompileError, match=r"arith.constant of type tensor<4xcomplex<f64>>"):
        look(compiler, reports / "06c_fill_complex_f64.mlir")
    with pytest.raises(CompileError, match="memref arguments are not supported"):
        look(compiler, reports / "15_matmul_memref_operands.mlir")
    with pytest.raises(CompileError, match=r"foo\.bar"):
        look(compiler, reports / "bad" / "unregistered.mlir")
    with pytest.raises(UsageError, match="no-such-option"):
        look(compiler, SAMPLES / "matmul.mlir", "--no-such-option")
