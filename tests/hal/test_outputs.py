"""Where each result comes from: the sentences, and what they rest on."""

from __future__ import annotations

from pathlib import Path

from aiepipe.frontend.compiler import Compiler
from aiepipe.hal.inspection import inspect
from aiepipe.verdict import Inspection

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"


def look(compiler: Compiler, path: Path, *flags: str) -> Inspection:
    return inspect(compiler, path.name, path.read_text(), flags=flags)


def kinds(inspection: Inspection) -> list[list[str]]:
    return [[writer.kind for writer in output.writers] for output in inspection.outputs]


def test_nothing_fills_the_seeds_result(compiler: Compiler) -> None:
    inspection = look(compiler, SAMPLES / "matmul.mlir")
    (output,) = inspection.outputs
    name = "matmul_dispatch_0_matmul_64x64x16_i32"
    line = inspection.fates[0].location.line
    assert output.sentence == (
        "result 0 of @matmul is filled by nothing in the HAL IR: it is allocated uninitialised and written "
        f"by dispatch {name} (the linalg.fill of 7 ({line}:8) is inside it)"
    )
    assert kinds(inspection) == [["dispatch"]]
    assert (output.writers[0].offset_bytes, output.writers[0].length_bytes) == (0, 16384)
    assert inspection.sharing == ()


def test_a_hoisted_fill_is_followed_through_its_copy(compiler: Compiler) -> None:
    inspection = look(compiler, SAMPLES / "fill_bf16.mlir")
    (output,) = inspection.outputs
    assert output.sentence == (
        "result 0 of @fill is copied at each call (hal.device.queue.copy) from global "
        "@__hoisted_tensor_3x7xbf16, which was filled with 1.5 at start-up (hal.device.queue.fill)"
    )
    assert kinds(inspection) == [["copy"]]


def test_a_fill_beside_other_work_is_named_for_its_result_only(compiler: Compiler) -> None:
    inspection = look(compiler, SAMPLES / "fill_two_users.mlir")
    assert kinds(inspection) == [["dispatch"], ["dispatch"], ["fill"]]
    assert inspection.outputs[2].sentence == (
        "result 2 of @main is filled with 7 at each call (hal.command_buffer.fill_buffer)"
    )
    assert inspection.sharing == ("results 0, 1, 2 of @main lie in one buffer of 192 bytes",)


def test_a_pad_is_filled_and_then_copied_over(compiler: Compiler) -> None:
    inspection = look(compiler, SAMPLES / "pad.mlir")
    assert kinds(inspection) == [["fill", "copy"]]
    assert inspection.outputs[0].sentence == (
        "result 0 of @main is filled with 0 at each call (hal.command_buffer.fill_buffer), then copied at "
        "each call (hal.command_buffer.copy_buffer) from argument 0"
    )
    assert inspection.sharing == (
        "bytes of a result in @main are written by hal.command_buffer.fill_buffer and then by "
        "hal.command_buffer.copy_buffer",
    )


def test_an_accumulator_argument_is_written_in_place(compiler: Compiler) -> None:
    inspection = look(compiler, SAMPLES / "matmul_accumulate.mlir")
    (output,) = inspection.outputs
    assert output.buffer == "argument 2"
    assert kinds(inspection) == [["accumulation"]]
    assert "it is the caller's memory and read and overwritten by dispatch" in output.sentence
    assert "result 0 of @matmul is the buffer of argument 2" in inspection.sharing


def test_an_argument_that_is_returned_is_written_by_nothing(compiler: Compiler) -> None:
    text = "func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> { return %a : tensor<4xi32> }"
    (output,) = inspect(compiler, "a.mlir", text).outputs
    assert output.sentence == ("result 0 of @main is argument 0 itself; nothing fills, copies or writes it")


def test_indirect_and_direct_command_buffers_give_one_answer(compiler: Compiler) -> None:
    direct = ("--iree-hal-memoization=false", "--iree-hal-indirect-command-buffers=false")
    for sample in ("matmul.mlir", "fill_two_users.mlir", "pad.mlir"):
        assert look(compiler, SAMPLES / sample).outputs == look(compiler, SAMPLES / sample, *direct).outputs
