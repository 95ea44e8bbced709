"""The fill builder, and the hand-written samples of fills."""

from __future__ import annotations

from pathlib import Path

import pytest

from aiepipe.errors import UsageError
from aiepipe.frontend.compiler import Compiler
from aiepipe.kernels import fill
from aiepipe.program import TensorType

SAMPLES = Path(__file__).resolve().parents[2] / "mlir"


def test_the_samples_are_what_the_builder_prints() -> None:
    samples = {
        "fill.mlir": fill((4, 16), "i32", 7),
        "fill_i64.mlir": fill((5,), "i64", 4294967298),
        "fill_bf16.mlir": fill((3, 7), "bf16", 1.5),
    }
    for file, text in samples.items():
        assert (SAMPLES / file).read_text() == text, file


@pytest.mark.parametrize(
    ("shape", "element", "value"),
    [((), "f32", 1.0), ((0,), "i8", 1), ((3, 7), "bf16", 1.5), ((9,), "i1", 1), ((8,), "i4", -3)],
)
def test_every_shape_and_type_parses(
    compiler: Compiler, shape: tuple[int, ...], element: str, value: float
) -> None:
    (function,) = compiler.parse("a.mlir", fill(shape, element, value)).functions
    assert function.returns[0].type == TensorType(shape, element)
    assert [op.name for op in function.ops] == ["tensor.empty", "arith.constant", "linalg.fill"]


def test_a_value_that_does_not_fit_is_refused() -> None:
    for element, value in (("i1", 2), ("i4", 16), ("i8", 1000), ("i1", -1)):
        with pytest.raises(UsageError, match="does not fit"):
            fill((2,), element, value)


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.mlir")), ids=lambda path: path.name)
def test_every_sample_says_what_is_expected_and_compiles(compiler: Compiler, sample: Path) -> None:
    text = sample.read_text()
    header = [line for line in text.split("\n") if line.startswith("//")]
    assert header
    program = compiler.compile(sample.name, text)
    assert program.refused == ()
    (function,) = program.functions
    inputs = sum(line.startswith("// input: ") for line in header)
    outputs = sum(line.startswith("// output: ") for line in header)
    # a header without any is a test with random inputs, held to numpy
    assert inputs in (0, len(function.arguments))
    assert outputs in (0, len(function.results))
