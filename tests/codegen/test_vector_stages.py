"""Stages in vector code: the ops, types and broadcasts that have it, at sizes of whole vectors, against the
reference; and that the others are still right."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.program import Dispatch, ScalarBody, ScalarOp

from .emulation import Array, execute
from .generics import Operand, assert_same, check_elementwise, drawn, elementwise, expected, generic
from .test_stage_execution import CONVERSIONS, FLOAT_PREDICATES, INTEGER_OPS

SHAPE = (3, 32)
VECTOR_STORE = re.compile(r"\bvst(\.\w+)* ")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def is_vector(dispatch: Dispatch, cores: int = 1) -> bool:
    artifact = compile_dispatch(dispatch, CompileOptions(cores=cores))
    listings = [data.decode() for name, data in artifact.files.items() if name.endswith(".s")]
    return any(VECTOR_STORE.search(listing) for listing in listings)


def check(dispatch: Dispatch, body: ScalarBody, *, vector: bool = True, cores: int = 1) -> None:
    assert is_vector(dispatch, cores) is vector
    check_elementwise(dispatch, body, cores=cores)


def check_mixed(
    shape: tuple[int, ...],
    operands: list[Operand],
    body: ScalarBody,
    *,
    vector: bool | None = True,
    cores: int = 1,
) -> None:
    """Operands with fewer dimensions than the result, or in another order, are numpy views of its shape."""
    dims = tuple(range(len(shape)))
    dispatch = generic(shape, operands, [Operand(body.arguments[-1], dims)], body)
    assert vector is None or is_vector(dispatch, cores) is vector
    buffers = [drawn(binding.type, 1 + binding.index) for binding in dispatch.bindings]
    views: list[Array] = []
    for buffer, operand in zip(buffers, operands, strict=False):
        order = sorted(range(len(operand.dims)), key=operand.dims.__getitem__)
        sizes = [size if loop in operand.dims else 1 for loop, size in enumerate(shape)]
        views.append(np.broadcast_to(buffer.transpose(order).reshape(sizes), shape))
    want = expected(body, [*views, buffers[-1]])
    for run in execute(
        compile_dispatch(dispatch, CompileOptions(cores=cores)), buffers, repeat=2, check=True
    ).runs:
        assert_same(run[-1], want)


def unary(element: str, op: ScalarOp, operands: int, *, vector: bool = True) -> None:
    body = ScalarBody((element,) * operands + (op.element,), (op,), (operands + 1,))
    check(elementwise(element, SHAPE, op, operands), body, vector=vector)


@pytest.mark.parametrize("element", ["i1", "i8", "i16", "i32"])
@pytest.mark.parametrize("name", INTEGER_OPS)
def test_integer_ops(name: str, element: str) -> None:
    unary(element, ScalarOp(name, (0, 1), element), 2)


@pytest.mark.parametrize("element", ["i8", "i16", "i32"])
@pytest.mark.parametrize("predicate", PREDICATES)
def test_integer_comparisons(predicate: str, element: str) -> None:
    unary(element, ScalarOp("arith.cmpi", (0, 1), "i1", {"predicate": predicate}), 2)


@pytest.mark.parametrize("predicate", FLOAT_PREDICATES)
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_float_comparisons(predicate: str, element: str) -> None:
    unary(element, ScalarOp("arith.cmpf", (0, 1), "i1", {"predicate": predicate}), 2)


@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("name", ["arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"])
def test_extremes_of_floats(name: str, element: str) -> None:
    unary(element, ScalarOp(name, (0, 1), element), 2)


@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0)], ids=str)
@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("name", ["arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"])
def test_of_two_zeros_the_one_with_a_sign_is_below(
    name: str, element: str, zeros: tuple[float, float]
) -> None:
    """Whatever their order, and in the reference as well: a right result is never called wrong."""
    dtype = dtypes.numpy_dtype(element)
    buffers = [np.full(SHAPE, zero, dtype) for zero in (*zeros, 7.0)]
    body = ScalarBody((element,) * 3, (ScalarOp(name, (0, 1), element),), (3,))
    want = np.full(SHAPE, -0.0 if "min" in name else 0.0, dtype)
    assert_same(expected(body, buffers), want)
    artifact = compile_dispatch(elementwise(element, SHAPE, body.ops[0]), CompileOptions(cores=1))
    assert_same(execute(artifact, buffers, check=True).runs[0][-1], want)


@pytest.mark.parametrize("name", ["arith.addf", "arith.mulf"])
def test_arithmetic_of_floats_is_scalar_code(name: str) -> None:
    """The chip's own float sums are not IEEE's."""
    unary("f32", ScalarOp(name, (0, 1), "f32"), 2, vector=False)


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [c for c in CONVERSIONS if "i64" not in c and "itofp" not in c[0] and "fpto" not in c[0]],
)
def test_conversions(name: str, source: str, target: str) -> None:
    """Those without leading zeros or shifts by differing amounts."""
    scalar = name in ("math.floor", "math.roundeven")
    unary(source, ScalarOp(name, (0,), target), 1, vector=not scalar)


def clamped(elements: tuple[str, ...], target: str) -> ScalarBody:
    """max(a + b - c ..., 3), all in i32, cut to the target."""
    count = len(elements)
    ops: list[ScalarOp] = []

    def add(op: ScalarOp) -> int:
        ops.append(op)
        return count + len(ops)

    def wide(number: int) -> int:
        return number if elements[number] == "i32" else add(ScalarOp("arith.extsi", (number,), "i32"))

    value = wide(0)
    for number in range(1, count):
        value = add(ScalarOp(("arith.addi", "arith.subi")[number % 2], (value, wide(number)), "i32"))
    three = add(ScalarOp("arith.constant", (), "i32", {"value": (3).to_bytes(4, "little")}))
    value = add(ScalarOp("arith.maxsi", (value, three), "i32"))
    if target != "i32":
        value = add(ScalarOp("arith.trunci", (value,), target))
    return ScalarBody((*elements, target), tuple(ops), (value,))


@pytest.mark.parametrize("second", [(0, 1), (1,), (0,), ()], ids=str)
@pytest.mark.parametrize("target", ["i8", "i32"])
@pytest.mark.parametrize("element", ["i8", "i16", "i32"])
def test_broadcasts(element: str, target: str, second: tuple[int, ...]) -> None:
    """A whole tensor, one for the columns, one for the rows, a single element."""
    body = clamped((element, "i32"), target)
    check_mixed((7, 64), [Operand(element, (0, 1)), Operand("i32", second)], body)


@pytest.mark.parametrize("dims", [(), (0,)], ids=str)
@pytest.mark.parametrize("shift", [0, 16, 32, 45])
def test_either_word_of_an_element_that_stands_still(shift: int, dims: tuple[int, ...]) -> None:
    """x + the lower word of (y >> shift), y of 64 bits for all elements or for each row."""
    amount = ScalarOp("arith.constant", (), "i64", {"value": shift.to_bytes(8, "little")})
    ops = (
        amount,
        ScalarOp("arith.shrsi", (1, 3), "i64"),
        ScalarOp("arith.trunci", (4,), "i32"),
        ScalarOp("arith.addi", (0, 5), "i32"),
    )
    body = ScalarBody(("i32", "i64", "i32"), ops, (6,))
    check_mixed((7, 64), [Operand("i32", (0, 1)), Operand("i64", dims)], body)


def test_rows_that_begin_within_a_vector_are_scalar_code() -> None:
    """A row of 40 bytes: every second one begins at half a vector load."""
    body = clamped(("i8", "i8"), "i8")
    check_mixed((6, 40), [Operand("i8", (0, 1)), Operand("i8", (1,))], body, vector=False)


def test_a_transposed_operand_is_scalar_code() -> None:
    body = clamped(("i32", "i32"), "i32")
    check_mixed((32, 32), [Operand("i32", (0, 1)), Operand("i32", (1, 0))], body, vector=False)


@settings(max_examples=25, deadline=None)
@given(
    shape=st.sampled_from([(32,), (4096,), (9, 64), (70, 128), (3, 5, 32), (257, 32)]),
    elements=st.lists(st.sampled_from(("i8", "i16", "i32")), min_size=1, max_size=4),
    target=st.sampled_from(("i8", "i16", "i32")),
    cores=st.sampled_from((1, 2, 8)),
    data=st.data(),
)
def test_any_mixture(
    shape: tuple[int, ...], elements: list[str], target: str, cores: int, data: st.DataObject
) -> None:
    dims = tuple(range(len(shape)))
    subsets = [dims, dims[-1:], dims[:-1], ()]
    operands = [Operand(elements[0], dims)]
    operands += [Operand(element, data.draw(st.sampled_from(subsets))) for element in elements[1:]]
    check_mixed(shape, operands, clamped(tuple(elements), target), vector=None, cores=cores)
