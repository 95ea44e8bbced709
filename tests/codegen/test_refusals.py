"""What the built-in backend refuses: each with its op, its place and what to do instead."""

from __future__ import annotations

import pytest

from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.errors import UnsupportedOp
from aiepipe.program import Access, ScalarOp

from .dispatches import DispatchBuilder
from .generics import elementwise


@pytest.mark.parametrize(
    ("name", "element", "operands", "advice"),
    [
        ("arith.addf", "f16", 2, "bf16 or f32"),
        ("arith.divsi", "i64", 2, "divide in i32"),
        ("arith.remui", "i64", 2, "divide in i32"),
        ("math.exp", "f32", 1, "--backend"),
        ("math.sqrt", "f32", 1, "--backend"),
    ],
)
def test_a_body_that_cannot_be_lowered(name: str, element: str, operands: int, advice: str) -> None:
    op = ScalarOp(name, tuple(range(operands)), element)
    with pytest.raises(UnsupportedOp) as caught:
        compile_dispatch(elementwise(element, (8, 8), op, operands), CompileOptions())
    assert caught.value.op == "linalg.generic"
    assert caught.value.location is not None
    assert advice in str(caught.value.remedy)
    assert element in str(caught.value)


def test_softmax_is_to_be_written_out() -> None:
    builder = DispatchBuilder()
    value = builder.operand(8, 8, element="f32")
    result = builder.binding(8, 8, element="f32", access=Access.WRITE)
    builder.store(builder.op("linalg.softmax", (value,), result.type), result)
    with pytest.raises(UnsupportedOp) as caught:
        compile_dispatch(builder.done(), CompileOptions())
    assert caught.value.op == "linalg.softmax"
    assert caught.value.location is not None
    assert "write it out" in str(caught.value.remedy)
