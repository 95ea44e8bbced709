"""What stands for each fill after the phases input, flow, stream and hal.

The right values are IREE 3.13's own IR at those phases (iree-compile --compile-to=flow and =stream), read by
eye.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.frontend.compiler import Compiler
from aiepipe.hal.inspection import inspect
from aiepipe.verdict import FillFate, Inspection

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"
Stages = list[tuple[str, str, str]]


def look(compiler: Compiler, path: Path, *flags: str) -> Inspection:
    return inspect(compiler, path.name, path.read_text(), flags=flags)


def stages(fate: FillFate) -> Stages:
    return [(stage.phase, stage.form, stage.place) for stage in fate.history]


def test_the_seeds_fill_is_in_its_dispatch_from_flow_on(compiler: Compiler) -> None:
    (fate,) = look(compiler, SAMPLES / "matmul.mlir").fates
    dispatch = "dispatch matmul_dispatch_0_matmul_64x64x16_i32"
    assert stages(fate) == [
        ("input", "linalg.fill", "@matmul"),
        ("flow", "linalg.fill", dispatch),
        ("stream", "linalg.fill", dispatch),
        ("hal", "fused", dispatch),
    ]
    assert fate.role == "accumulator of linalg.matmul"
    assert fate.history[1].text.startswith("%3 = linalg.fill ins(%c7_i32 : i32)")
    assert all(stage.sure for stage in fate.history)


def test_a_lone_fill_is_hoisted_to_start_up_at_flow(compiler: Compiler) -> None:
    (fate,) = look(compiler, SAMPLES / "fill_bf16.mlir").fates
    assert stages(fate)[1:] == [
        ("flow", "flow.tensor.splat", "start-up"),
        ("stream", "stream.cmd.fill", "start-up"),
        ("hal", "hal.device.queue.fill", "start-up"),
    ]
    assert "%c16320_i16" in fate.history[2].text  # bf16 1.5 is 0x3FC0
    assert fate.role == "result 0"
    flag = "--iree-opt-const-expr-hoisting=false"
    (here,) = look(compiler, SAMPLES / "fill_bf16.mlir", flag).fates
    assert {stage.place for stage in here.history} == {"@fill"}


def test_a_fill_with_two_fates_has_both_at_each_phase(compiler: Compiler) -> None:
    (fate,) = look(compiler, SAMPLES / "fill_two_users.mlir").fates
    dispatch = "dispatch main_dispatch_0_matmul_4x4x4_i32"
    assert set(stages(fate)) == {
        ("input", "linalg.fill", "@main"),
        ("flow", "linalg.fill", dispatch),
        ("flow", "flow.tensor.splat", "@main"),
        ("stream", "linalg.fill", dispatch),
        ("stream", "stream.cmd.fill", "@main"),
        ("hal", "fused", dispatch),
        ("hal", "hal.command_buffer.fill_buffer", "@main"),
    }
    assert fate.role == "accumulator of linalg.matmul, result 2"


def test_a_pattern_over_four_bytes_becomes_a_dispatch_at_stream(compiler: Compiler) -> None:
    (fate,) = look(compiler, SAMPLES / "fill_i64.mlir").fates
    assert ("flow", "flow.tensor.splat", "start-up") in stages(fate)
    assert ("stream", "stream.cmd.dispatch", "start-up") in stages(fate)
    assert stages(fate)[-1] == ("hal", "__builtin_splat_i64", "start-up")


def test_a_pad_is_a_splat_and_an_update(compiler: Compiler) -> None:
    (fate,) = look(compiler, SAMPLES / "pad.mlir").fates
    assert stages(fate) == [
        ("input", "tensor.pad", "@main"),
        ("flow", "flow.tensor.splat", "@main"),
        ("stream", "stream.cmd.fill", "@main"),
        ("hal", "hal.command_buffer.fill_buffer", "@main"),
    ]


def test_a_zero_accumulator_written_as_a_constant_is_found_in_its_dispatch(compiler: Compiler) -> None:
    text = """
      func.func @main(%a: tensor<4x4xi32>) -> tensor<4x4xi32> {
        %z = arith.constant dense<0> : tensor<4x4xi32>
        %0 = linalg.matmul ins(%a, %a : tensor<4x4xi32>, tensor<4x4xi32>) outs(%z : tensor<4x4xi32>)
          -> tensor<4x4xi32>
        return %0 : tensor<4x4xi32>
      }"""
    (fate,) = inspect(compiler, "a.mlir", text).fates
    assert fate.role == "accumulator of linalg.matmul"
    assert {place for phase, _, place in stages(fate) if phase != "input"} == {
        "dispatch main_dispatch_0_matmul_4x4x4_i32"
    }


def test_what_nobody_needs_is_gone_at_flow(compiler: Compiler) -> None:
    text = """
      func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
        %v = arith.constant 7 : i32
        %e = tensor.empty() : tensor<4xi32>
        %f = linalg.fill ins(%v : i32) outs(%e : tensor<4xi32>) -> tensor<4xi32>
        return %a : tensor<4xi32>
      }"""
    (fate,) = inspect(compiler, "a.mlir", text).fates
    assert [form for _, form, _ in stages(fate)] == ["linalg.fill", "gone", "gone", "gone"]
    assert fate.role == "unused"


def test_what_only_its_users_tell_is_marked(compiler: Compiler, reports: Path) -> None:
    # tensor.concat takes the fills' places at stream: two stream.cmd.fill, and no telling which is whose
    inspection = look(compiler, reports / "10_fill_unaligned.mlir")
    for fate in inspection.fates:
        at_stream = [stage for stage in fate.history if stage.phase == "stream"]
        assert [(s.form, s.sure, s.text) for s in at_stream] == [("stream.cmd.fill", False, "")]


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.mlir")), ids=lambda path: path.name)
def test_every_fill_has_an_entry_for_every_phase(compiler: Compiler, sample: Path) -> None:
    for fate in look(compiler, sample).fates:
        phases = [stage.phase for stage in fate.history]
        assert list(dict.fromkeys(phases)) == ["input", "flow", "stream", "hal"]
