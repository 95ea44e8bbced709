"""What the built-in backend refuses: each with its op, its place and what to do instead."""

from __future__ import annotations

import pytest

from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.codegen.remedies import remedies
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
        ("arith.ceildivui", "i64", 2, "divide in i32"),
        ("arith.mulf", "f64", 2, "compute in f32"),
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


def test_what_a_body_has_that_is_not_read_is_named() -> None:
    """A gather: the front end reads no body with a tensor in it."""
    builder = DispatchBuilder()
    value = builder.operand(8, element="i32")
    result = builder.binding(8, element="i32", access=Access.WRITE)
    gathered = builder.op(
        "linalg.generic", (value,), result.type, None, unread=True, unread_op="tensor.extract"
    )
    builder.store(gathered, result)
    with pytest.raises(UnsupportedOp, match=r"tensor\.extract in its body") as caught:
        compile_dispatch(builder.done(), CompileOptions())
    assert caught.value.op == "linalg.generic"
    assert "on the host" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("op", "elements", "said"),
    [
        ("arith.divsi", ("i64",), "divide in i32"),
        ("arith.divsi", ("i32",), ""),
        ("arith.addi", ("i64",), ""),
        ("linalg.softmax", ("f32",), "write it out"),
        ("linalg.fill", ("f16",), "the chip has no f16"),
        ("iree_tensor_ext.dispatch.tensor.load", ("i4",), "or pass them as i8"),
    ],
)
def test_a_remedy_hangs_on_the_op_and_its_types(op: str, elements: tuple[str, ...], said: str) -> None:
    found = remedies(op, elements)
    assert said in "".join(found)
    assert bool(found) == bool(said)


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
