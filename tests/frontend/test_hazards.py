"""Which reads of an in-place binding need a copy."""

from __future__ import annotations

from aiepipe.frontend.hazards import LOAD, STORE, Split, split_reads
from aiepipe.program import (
    AffineResult,
    ScalarBody,
    SourceLocation,
    Structured,
    TensorOp,
    TensorType,
    Value,
)

HERE = SourceLocation("a.mlir", 1, 1)
TYPE = TensorType((4, 4), "i32")
BODY = ScalarBody(("i32", "i32"), (), (0,))
D0, D1 = AffineResult((1, 0)), AffineResult((0, 1))


def load(name: str, binding: int) -> TensorOp:
    return TensorOp(LOAD, (), (Value(name, TYPE),), HERE, {"binding": binding})


def store(name: str, binding: int) -> TensorOp:
    return TensorOp(STORE, (name,), (), HERE, {"binding": binding})


def generic(
    name: str,
    inputs: tuple[str, ...],
    init: str,
    *,
    transposed: bool = False,
    reduces: bool = False,
) -> TensorOp:
    input_map = (D1, D0) if transposed else (D0, D1)
    structured = Structured(
        len(inputs),
        (*[input_map] * len(inputs), (D0, D1)),
        ("parallel", "reduction" if reduces else "parallel"),
        (4, 4),
        BODY,
    )
    return TensorOp("linalg.generic", (*inputs, init), (Value(name, TYPE),), HERE, {}, structured)


def bindings_read(split: Split) -> dict[str, object]:
    return {op.results[0].id: op.attributes["binding"] for op in split.ops if op.name == LOAD}


def test_an_accumulator_alone_is_safe() -> None:
    ops = [load("%a", 0), load("%c", 1), generic("%r", ("%a",), "%c", reduces=True), store("%r", 1)]
    assert split_reads(ops, 1, 2) is None


def test_an_elementwise_op_in_place_is_safe() -> None:
    ops = [load("%c", 0), generic("%r", ("%c",), "%e"), store("%r", 0)]
    assert split_reads(ops, 0, 1) is None


def test_an_elementwise_arith_op_in_place_is_safe() -> None:
    add = TensorOp("arith.addi", ("%c", "%c"), (Value("%r", TYPE),), HERE)
    assert split_reads([load("%c", 0), add, store("%r", 0)], 0, 1) is None


def test_a_transposed_read_gets_a_copy() -> None:
    ops = [load("%c", 0), generic("%r", ("%c",), "%e", transposed=True), store("%r", 0)]
    split = split_reads(ops, 0, 1)
    assert split is not None
    assert bindings_read(split) == {"%c.copy": 1}
    assert not split.still_read, "the binding is only written"


def test_an_operand_that_is_also_the_accumulator_keeps_the_accumulator_in_place() -> None:
    ops = [load("%c", 0), generic("%r", ("%c",), "%c", reduces=True), store("%r", 0)]
    split = split_reads(ops, 0, 1)
    assert split is not None
    assert bindings_read(split) == {"%c": 0, "%c.copy": 1}
    assert split.ops[2].operands == ("%c.copy", "%c")
    assert split.still_read


def test_a_read_through_an_elementwise_op_counts() -> None:
    ops = [
        load("%c", 0),
        generic("%x", ("%c",), "%e"),
        generic("%r", ("%x",), "%f", reduces=True),
        store("%r", 0),
    ]
    split = split_reads(ops, 0, 1)
    assert split is not None
    assert bindings_read(split) == {"%c.copy": 1}


def test_a_read_through_the_accumulator_moves_the_accumulator_too() -> None:
    ops = [
        load("%c", 0),
        load("%a", 1),
        generic("%x", ("%a",), "%c", reduces=True),
        generic("%r", ("%x",), "%f", transposed=True),
        store("%r", 0),
    ]
    split = split_reads(ops, 0, 2)
    assert split is not None
    assert bindings_read(split) == {"%c.copy": 2, "%a": 1}


def test_an_op_that_moves_elements_gets_a_copy() -> None:
    slice_ = TensorOp("tensor.extract_slice", ("%c",), (Value("%r", TYPE),), HERE)
    split = split_reads([load("%c", 0), slice_, store("%r", 0)], 0, 1)
    assert split is not None
    assert bindings_read(split) == {"%c.copy": 1}


def test_a_binding_that_is_not_loaded_needs_nothing() -> None:
    assert split_reads([load("%a", 1), store("%a", 0)], 0, 2) is None
