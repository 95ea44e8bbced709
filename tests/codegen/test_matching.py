"""What is recognised in a dispatch, and what is refused with a message that helps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aiepipe.codegen.matching import match
from aiepipe.codegen.problem import Constant, Contraction, Fill, Nothing, Operand
from aiepipe.errors import UnsupportedOp
from aiepipe.program import Access, Dispatch, ScalarBody, ScalarOp, Structured, TensorType

from .dispatches import HERE, MATMUL, DispatchBuilder, batch_matmul, fill, matmul, projected


def contraction(dispatch: Dispatch) -> Contraction:
    found = match(dispatch)
    assert isinstance(found, Contraction)
    return found


def test_the_seed_program_is_a_contraction_that_begins_with_seven() -> None:
    found = contraction(matmul(64, 64, 16))
    assert found.loops == (64, 64, 16)
    assert (found.row, found.column, found.inner) == (0, 1, 2)
    assert found.left.strides == (16, 0, 1)
    assert found.right.strides == (0, 1, 64)
    assert found.result.strides == (64, 1, 0)
    assert found.initial == Constant(7)


def test_a_fill_value_is_signed() -> None:
    assert contraction(matmul(4, 4, 4, fill=-1)).initial == Constant(-1)


def test_an_accumulator_argument_is_read_in_place() -> None:
    found = contraction(matmul(4, 4, 4, fill=None))
    assert isinstance(found.initial, Operand)
    assert found.in_place


def test_an_accumulator_of_its_own_is_not_in_place() -> None:
    builder = DispatchBuilder()
    left, right, start = (builder.operand(4, 4) for _ in range(3))
    target = builder.binding(4, 4, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    builder.store(builder.contraction(left, right, start, maps, (4, 4, 4)), target)
    found = contraction(builder.done())
    assert isinstance(found.initial, Operand)
    assert found.initial.view.binding == 2
    assert not found.in_place


def test_an_empty_tensor_as_accumulator_is_a_sum_from_zero() -> None:
    builder = DispatchBuilder()
    left, right = builder.operand(4, 4), builder.operand(4, 4)
    target = builder.binding(4, 4, access=Access.WRITE)
    empty = builder.op("tensor.empty", (), TensorType((4, 4), "i32"))
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    builder.store(builder.contraction(left, right, empty, maps, (4, 4, 4)), target)
    assert contraction(builder.done()).initial == Constant(0)


def test_each_operand_has_its_own_signedness() -> None:
    found = contraction(matmul(2, 2, 2, operand="i8", signed=(False, True)))
    assert (found.left.view.signed, found.right.view.signed) == (False, True)


def test_transposed_operands_are_other_strides() -> None:
    found = contraction(matmul(2, 4, 3, transpose_a=True, transpose_b=True))
    assert found.left.strides == (1, 0, 2)
    assert found.right.strides == (0, 3, 1)


def test_a_broadcast_operand_keeps_rows_and_columns_apart() -> None:
    builder = DispatchBuilder()
    left, right = builder.operand(2, 3), builder.operand(3)
    target = builder.binding(2, 4, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2), projected(3, 0, 1))
    builder.store(builder.contraction(left, right, builder.filled(0, 2, 4), maps, (2, 4, 3)), target)
    found = contraction(builder.done())
    assert (found.row, found.column, found.inner) == (0, 1, 2)
    assert found.right.strides == (0, 0, 1)


def test_a_batch_is_an_outer_loop() -> None:
    found = contraction(batch_matmul(2, 3, 5, 4, operand="i8"))
    assert (found.row, found.column, found.inner) == (1, 2, 3)
    assert found.left.strides[0] == 12


def test_matvec_has_an_added_column_loop() -> None:
    builder = DispatchBuilder()
    left, right = builder.operand(6, 5), builder.operand(5)
    target = builder.binding(6, access=Access.WRITE)
    maps = (projected(2, 0, 1), projected(2, 1), projected(2, 0))
    start = builder.filled(0, 6)
    iterators = ("parallel", "reduction")
    builder.store(builder.contraction(left, right, start, maps, (6, 5), iterators), target)
    found = contraction(builder.done())
    assert found.loops == (6, 5, 1)
    assert (found.row, found.column, found.inner) == (0, 2, 1)
    assert found.reduction == (False, True, False)


def test_a_slice_of_a_binding_begins_at_its_offset() -> None:
    builder = DispatchBuilder()
    binding = builder.binding(8, 6)
    attributes = {"binding": 0, "offsets": (2, 1), "sizes": (4, 4), "strides": (1, 1)}
    left = builder.op(
        "iree_tensor_ext.dispatch.tensor.load", (), TensorType((4, 4), "i32"), None, **attributes
    )
    right = builder.operand(4, 4)
    target = builder.binding(4, 4, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    start = builder.filled(0, 4, 4)
    builder.store(builder.contraction(left, right, start, maps, (4, 4, 4)), target)
    view = contraction(builder.done()).left.view
    assert binding.type.size_bytes == view.buffer_bytes
    assert (view.base, view.strides) == (13, (6, 1))


def test_a_reshaped_operand_is_a_view() -> None:
    builder = DispatchBuilder()
    left = builder.op("tensor.expand_shape", (builder.operand(12),), TensorType((3, 4), "i32"))
    right = builder.operand(4, 4)
    target = builder.binding(3, 4, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    start = builder.filled(0, 3, 4)
    builder.store(builder.contraction(left, right, start, maps, (3, 4, 4)), target)
    assert contraction(builder.done()).left.strides == (4, 0, 1)


@pytest.mark.parametrize("extension", ["arith.extsi", "arith.extui"])
def test_an_extension_before_the_matmul_is_a_view(extension: str) -> None:
    builder = DispatchBuilder()
    narrow = builder.operand(4, 4, element="i8")
    empty = builder.op("tensor.empty", (), TensorType((4, 4), "i32"))
    maps = (projected(2, 1, 0), projected(2, 0, 1))  # and transposes
    body = ScalarBody(("i8", "i32"), (ScalarOp(extension, (0,), "i32"),), (2,))
    structured = Structured(1, maps, ("parallel", "parallel"), (4, 4), body)
    left = builder.op("linalg.generic", (narrow, empty), TensorType((4, 4), "i32"), structured)
    right = builder.operand(4, 4)
    target = builder.binding(4, 4, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    start = builder.filled(0, 4, 4)
    builder.store(builder.contraction(left, right, start, maps, (4, 4, 4)), target)
    found = contraction(builder.done()).left
    assert (found.element_bytes, found.view.signed) == (1, extension == "arith.extsi")
    assert found.strides == (1, 0, 4)


def test_no_inner_values_leave_the_fill() -> None:
    found = match(matmul(4, 3, 0, fill=7))
    assert isinstance(found, Fill)
    assert (found.count, found.pattern) == (12, (7).to_bytes(4, "little"))


def test_no_inner_values_and_an_accumulator_in_place_is_nothing() -> None:
    assert isinstance(match(matmul(4, 3, 0, fill=None)), Nothing)


def test_an_empty_result_is_nothing() -> None:
    assert isinstance(match(matmul(0, 3, 4)), Nothing)


def test_a_fill_of_64_bits() -> None:
    found = match(fill(4294967298, 5))  # shared/reports/01: 5 x 4294967298
    assert isinstance(found, Fill)
    assert (found.binding, found.offset_bytes, found.size_bytes) == (0, 0, 40)
    assert found.pattern == (4294967298).to_bytes(8, "little")


# ------------------------------------------------------------------ refused


def with_body(elements: tuple[str, str, str], ops: tuple[ScalarOp, ...], yields: int) -> Dispatch:
    """A 4x4x4 dispatch of linalg.generic with this body."""
    builder = DispatchBuilder()
    left, right = (builder.operand(4, 4, element=element) for element in elements[:2])
    target = builder.binding(4, 4, element=elements[2], access=Access.READ_WRITE)
    start = builder.load(target)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    structured = Structured(2, maps, MATMUL, (4, 4, 4), ScalarBody(elements, ops, (yields,)))
    value = builder.op("linalg.generic", (left, right, start), start.type, structured)
    builder.store(value, target)
    return builder.done()


I32 = ("i32", "i32", "i32")
REFUSED = {
    "a product of wide floats": with_body(
        ("f32", "f32", "f32"),
        (ScalarOp("arith.mulf", (0, 1), "f32"), ScalarOp("arith.addf", (2, 3), "f32")),
        4,
    ),
    "a difference": with_body(
        I32, (ScalarOp("arith.muli", (0, 1), "i32"), ScalarOp("arith.subi", (2, 3), "i32")), 4
    ),
    "a product that is truncated before it is added": with_body(
        ("i8", "i8", "i32"),
        (
            ScalarOp("arith.muli", (0, 1), "i8"),
            ScalarOp("arith.extsi", (3,), "i32"),
            ScalarOp("arith.addi", (2, 4), "i32"),
        ),
        5,
    ),
    "a sum in i16": with_body(
        ("i16", "i16", "i16"),
        (ScalarOp("arith.muli", (0, 1), "i16"), ScalarOp("arith.addi", (2, 3), "i16")),
        4,
    ),
    "a factor that is the accumulator": with_body(
        I32, (ScalarOp("arith.muli", (0, 2), "i32"), ScalarOp("arith.addi", (2, 3), "i32")), 4
    ),
    "a maximum": with_body(
        I32, (ScalarOp("arith.muli", (0, 1), "i32"), ScalarOp("arith.maxsi", (2, 3), "i32")), 4
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bodies_that_only_look_like_a_matmul_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedOp, match=r"cannot lower linalg\.generic \(tensor<4x4x") as caught:
        match(REFUSED[name])
    assert caught.value.op == "linalg.generic"
    assert caught.value.location == HERE
    assert caught.value.remedy is not None
    assert "matmul" in caught.value.remedy


@pytest.mark.parametrize("name", ["arith.maxsi", "math.ipowi"])
def test_what_follows_a_matmul_is_its_epilogue_or_named(name: str) -> None:
    builder = DispatchBuilder()
    left, right = builder.operand(4, 4), builder.operand(4, 4)
    target = builder.binding(4, 4, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    total = builder.contraction(left, right, builder.filled(0, 4, 4), maps, (4, 4, 4))
    body = ScalarBody(("i32", "i32"), (ScalarOp(name, (0, 0), "i32"),), (2,))
    relu = Structured(1, (projected(2, 0, 1),) * 2, ("parallel", "parallel"), (4, 4), body)
    empty = builder.op("tensor.empty", (), TensorType((4, 4), "i32"))
    builder.store(builder.op("linalg.elementwise", (total, empty), total.type, relu), target)
    if name == "arith.maxsi":
        epilogue = contraction(builder.done()).epilogue
        assert epilogue is not None
        assert (epilogue.op, epilogue.total, epilogue.operands) == ("linalg.elementwise", 0, ())
        return
    with pytest.raises(UnsupportedOp, match=r"linalg\.elementwise \(tensor<4x4xi32>.*math\.ipowi"):
        match(builder.done())


def test_a_product_of_two_constants_is_refused() -> None:
    builder = DispatchBuilder()
    left, right = (builder.constant(bytes(4), 4, 4, splat=True) for _ in range(2))
    target = builder.binding(4, 4, access=Access.WRITE)
    maps = (projected(3, 0, 2), projected(3, 2, 1), projected(3, 0, 1))
    builder.store(builder.contraction(left, right, builder.filled(0, 4, 4), maps, (4, 4, 4)), target)
    with pytest.raises(UnsupportedOp, match="product of two constants"):
        match(builder.done())


def test_two_results_are_refused() -> None:
    builder = DispatchBuilder()
    one, two = (builder.binding(4, access=Access.WRITE) for _ in range(2))
    builder.store(builder.filled(1, 4), one)
    builder.store(builder.filled(2, 4), two)
    with pytest.raises(UnsupportedOp, match="stores 2 results"):
        match(builder.done())


def test_an_index_that_is_two_loops_is_refused() -> None:
    dispatch = matmul(4, 4, 4)
    *ops, product, store = dispatch.ops
    assert product.structured is not None
    skewed = projected(3, 0, 2)[0]
    both = replace(skewed, coefficients=(1, 0, 1))
    maps = ((both, projected(3, 2)[0]), *product.structured.maps[1:])
    changed = replace(product, structured=replace(product.structured, maps=maps))
    with pytest.raises(UnsupportedOp, match="more than one loop"):
        match(replace(dispatch, ops=(*ops, changed, store)))
