"""The annotated assembly: every bundle says what it is there for, and the lines are the machine code."""

from __future__ import annotations

import re

import pytest

from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.formats.elf import parse as parse_elf

from .dispatches import fill, matmul

DISPATCHES = {
    "scalar": matmul(13, 11, 9),
    "accumulating": matmul(9, 7, 5, fill=None),
    "i8": matmul(256, 256, 512, operand="i8"),
    "turned": matmul(36, 52, 28, operand="i16", transpose_a=True, transpose_b=True),
    "bf16": matmul(64, 64, 64, operand="bf16", accumulator="f32"),
    "fill": fill(5, 100),
}


@pytest.mark.parametrize("name", list(DISPATCHES))
def test_every_bundle_says_what_it_is_for(name: str) -> None:
    artifact = compile_dispatch(DISPATCHES[name], CompileOptions())
    lines = artifact.files[f"{artifact.entry}.s"].decode().splitlines()
    bundles = [line for line in lines if line.startswith("0x")]
    assert bundles
    assert [line for line in bundles if not re.search(r"  // .+", line)] == []
    sizes = [int(line.split()[1]) for line in bundles]
    code = next(data for file, data in artifact.files.items() if file.endswith(".elf"))
    (text,) = [segment for segment in parse_elf(code).segments if segment.executable]
    assert sum(sizes) == len(text.data)


def test_the_kernels_phases_and_roles_are_named() -> None:
    artifact = compile_dispatch(DISPATCHES["i8"], CompileOptions())
    text = artifact.files[f"{artifact.entry}.s"].decode()
    for phase in ("begin prologue", "begin loop", "add loop", "add epilogue"):
        assert f"linalg.matmul {phase}: " in text, phase
    for line in text.splitlines():
        instructions, _, comment = line.partition("//")
        if " prologue: " in comment or " loop: " in comment:
            assert ("multiply-add" in comment) == ("vmac" in instructions), line
            assert ("store sums" in comment) == ("vst" in instructions), line
            assert ("load" in comment) == ("vlda" in instructions or "vldb" in instructions), line
    turned = compile_dispatch(DISPATCHES["turned"], CompileOptions())
    assert "turn A" in turned.files[f"{turned.entry}.s"].decode()


def test_the_source_op_is_named_with_its_place() -> None:
    artifact = compile_dispatch(DISPATCHES["i8"], CompileOptions())
    assert "test.mlir:7:3" in artifact.files[f"{artifact.entry}.s"].decode().splitlines()[0]
