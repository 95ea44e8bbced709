"""Elementwise dispatches, copies, transposes and reductions on the emulated array, against the reference.

All run with the emulator's checks: nothing reads what nobody wrote, nothing races.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe import dtypes
from aiepipe.codegen import CompileOptions, compile_dispatch
from aiepipe.errors import UnsupportedOp
from aiepipe.program import Access, AffineResult, Dispatch, ScalarBody, ScalarOp, Structured, TensorType

from .dispatches import DispatchBuilder, projected
from .emulation import execute
from .generics import Operand, assert_same, check_elementwise, drawn, elementwise, expected, generic

INTEGER_OPS = (
    "arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori",
    "arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui",
)  # fmt: skip
FLOAT_OPS = (
    "arith.addf", "arith.subf", "arith.mulf", "arith.divf",
    "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf",
)  # fmt: skip
FLOAT_PREDICATES = (
    "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno",
)  # fmt: skip
CONVERSIONS = [
    (name, *pair.split("-"))
    for name, pairs in {
        "arith.extsi": "i1-i8 i8-i16 i8-i32 i16-i64 i1-i64",
        "arith.extui": "i1-i32 i8-i32 i16-i32 i32-i64",
        "arith.trunci": "i32-i8 i32-i16 i64-i32 i16-i1 i64-i8",
        "arith.sitofp": "i8-f32 i32-f32 i32-bf16 i16-bf16",
        "arith.uitofp": "i8-f32 i32-bf16 i1-f32",
        "arith.fptosi": "f32-i8 f32-i32 bf16-i16",
        "arith.fptoui": "f32-i8 bf16-i32",
        "arith.extf": "bf16-f32",
        "arith.truncf": "f32-bf16",
        "arith.negf": "bf16-bf16",
        "arith.bitcast": "i32-f32 i16-bf16",
        "math.absf": "f32-f32",
        "math.floor": "f32-f32 bf16-bf16",
        "math.roundeven": "f32-f32 bf16-bf16",
        "math.absi": "i32-i32 i64-i64",
    }.items()
    for pair in pairs.split()
]
# 1, a prime, a tile and one more and less (a tile of i32 is what 62 KiB hold three times), large, thin
SHAPES = ((1,), (13,), (1023,), (1024,), (1025,), (9001,), (1, 517), (517, 1), (7, 11, 13))


def check(dispatch: Dispatch, op: ScalarOp, element: str, operands: int = 2, cores: int = 1) -> None:
    body = ScalarBody((element,) * operands + (op.element,), (op,), (operands + 1,))
    check_elementwise(dispatch, body, cores=cores)


@pytest.mark.parametrize("element", ["i1", "i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("name", INTEGER_OPS)
def test_integer_ops(name: str, element: str) -> None:
    op = ScalarOp(name, (0, 1), element)
    check(elementwise(element, (5, 13), op), op, element)


@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("name", FLOAT_OPS)
def test_float_ops_to_the_last_bit(name: str, element: str) -> None:
    op = ScalarOp(name, (0, 1), element)
    check(elementwise(element, (5, 39), op), op, element)


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_integer_comparisons(predicate: str, element: str) -> None:
    op = ScalarOp("arith.cmpi", (0, 1), "i1", {"predicate": predicate})
    check(elementwise(element, (67,), op), op, element)


@pytest.mark.parametrize(
    "predicate",
    ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"],
)
def test_float_comparisons(predicate: str) -> None:
    op = ScalarOp("arith.cmpf", (0, 1), "i1", {"predicate": predicate})
    check(elementwise("f32", (67,), op), op, "f32")


@pytest.mark.parametrize(("name", "source", "target"), CONVERSIONS)
def test_conversions(name: str, source: str, target: str) -> None:
    op = ScalarOp(name, (0,), target)
    check(elementwise(source, (7, 31), op, operands=1), op, source, operands=1)


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64", "bf16", "f32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_on_all_cores_that_share(shape: tuple[int, ...], element: str) -> None:
    op = ScalarOp("arith.maximumf" if dtypes.is_float(element) else "arith.subi", (0, 1), element)
    check(elementwise(element, shape, op), op, element, cores=16)


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 8])
def test_steps_are_shared_out_to_cores(cores: int) -> None:
    """Each lane has a shim channel of its own: there are eight."""
    op = ScalarOp("arith.addi", (0, 1), "i32")
    dispatch = elementwise("i32", (4001,), op)
    artifact = compile_dispatch(dispatch, CompileOptions(cores=cores))
    assert len([name for name in artifact.files if name.endswith(".elf")]) == cores
    check(dispatch, op, "i32", cores=cores)


@pytest.mark.parametrize(("grid", "cores"), [((1, 4), 4), ((2, 1), 2), ((4, 2), 4)])
def test_a_grid_bounds_the_cores(grid: tuple[int, int], cores: int) -> None:
    dispatch = elementwise("i32", (4001,), ScalarOp("arith.addi", (0, 1), "i32"))
    artifact = compile_dispatch(dispatch, CompileOptions(grid=grid))
    assert len([name for name in artifact.files if name.endswith(".elf")]) == cores


@pytest.mark.parametrize("element", ["i8", "i16", "i32"])
@pytest.mark.parametrize("amount", [0, 1, 5, 7])
@pytest.mark.parametrize("name", ["arith.shli", "arith.shrsi", "arith.shrui"])
def test_shifts_by_a_constant(name: str, amount: int, element: str) -> None:
    data = amount.to_bytes(dtypes.storage_bits(element) // 8, "little")
    ops = (ScalarOp("arith.constant", (), element, {"value": data}), ScalarOp(name, (0, 2), element))
    body = ScalarBody((element, element), ops, (3,))
    check_elementwise(generic((40,), [Operand(element, (0,))], [Operand(element, (0,))], body), body)


@pytest.mark.parametrize("element", ["i8", "i32"])
@pytest.mark.parametrize("name", ["arith.divsi", "arith.remui"])
def test_divisions_by_a_constant(name: str, element: str) -> None:
    data = (7).to_bytes(dtypes.storage_bits(element) // 8, "little")
    ops = (ScalarOp("arith.constant", (), element, {"value": data}), ScalarOp(name, (0, 2), element))
    body = ScalarBody((element, element), ops, (3,))
    check_elementwise(generic((40,), [Operand(element, (0,))], [Operand(element, (0,))], body), body)


# --------------------------------------------------------------------------- nothing is loaded


@pytest.mark.parametrize("shape", [(1,), (35,), (4001,), (5, 7), (3, 4, 5, 6), (300, 40)], ids=str)
@pytest.mark.parametrize(("element", "cores"), [("i8", 1), ("i32", 1), ("i32", 8), ("i64", 3)])
def test_what_reads_no_tensor(shape: tuple[int, ...], element: str, cores: int) -> None:
    """Sums of the loops' indices: nothing arrives that could tell the core to begin."""
    dims = tuple(range(len(shape)))
    ops = [ScalarOp("linalg.index", (), "index", {"dim": d}) for d in dims]
    values = [1]  # the init comes first, then the ops
    for d in dims[1:]:
        values.append(1 + len(ops))
        ops.append(ScalarOp("arith.addi", (values[-2], 1 + d), "index"))
    ops.append(ScalarOp("arith.index_cast", (values[-1],), "i32" if element == "i8" else element))
    if element == "i8":
        ops.append(ScalarOp("arith.trunci", (len(ops),), "i8"))
    body = ScalarBody((element,), tuple(ops), (len(ops),))
    dispatch = generic(shape, [], [Operand(element, dims)], body)
    dtype: np.dtype[Any] = dtypes.numpy_dtype(element)
    want = np.indices(shape).sum(0).astype(dtype)
    artifact = compile_dispatch(dispatch, CompileOptions(cores=cores))
    found = execute(artifact, [np.zeros(shape, dtype)], repeat=2, check=True)
    for (result,) in found.runs:
        np.testing.assert_array_equal(result, want)


# --------------------------------------------------------------------------- accesses


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("size", [(1, 1), (33, 65), (64, 48), (130, 257), (5, 1000)], ids=str)
def test_transposes(size: tuple[int, int], element: str) -> None:
    body = ScalarBody((element, element), (), (0,))
    dispatch = generic(size, [Operand(element, (0, 1))], [Operand(element, (1, 0))], body)
    buffers = [drawn(binding.type, 3) for binding in dispatch.bindings]
    for run in execute(compile_dispatch(dispatch, CompileOptions()), buffers, repeat=2, check=True).runs:
        np.testing.assert_array_equal(run[1], buffers[0].T)


@pytest.mark.parametrize("size", [(4, 4), (33, 65), (200, 130)], ids=str)
def test_a_bias_per_column_and_a_scale_per_row(size: tuple[int, int]) -> None:
    ops = (
        ScalarOp("arith.muli", (0, 2), "i32"),
        ScalarOp("arith.addi", (4, 1), "i32"),
        ScalarOp("arith.trunci", (5,), "i8"),
    )
    body = ScalarBody(("i32", "i32", "i32", "i8"), ops, (6,))
    inputs = [Operand("i32", (0, 1)), Operand("i32", (1,)), Operand("i32", (0,))]
    dispatch = generic(size, inputs, [Operand("i8", (0, 1))], body)
    buffers = [drawn(binding.type, 5 + binding.index) for binding in dispatch.bindings]
    x, bias, scale = (buffer.astype(np.int64) for buffer in buffers[:3])
    want = (x * scale[:, None] + bias).astype(np.int8)
    for run in execute(compile_dispatch(dispatch, CompileOptions()), buffers, repeat=2, check=True).runs:
        np.testing.assert_array_equal(run[3], want)


def test_two_results_of_one_op() -> None:
    ops = (ScalarOp("arith.addi", (0, 1), "i32"), ScalarOp("arith.subi", (0, 1), "i32"))
    body = ScalarBody(("i32",) * 4, ops, (4, 5))
    outputs = [Operand("i32", (0, 1)), Operand("i32", (1, 0))]
    dispatch = generic((9, 14), [Operand("i32", (0, 1))] * 2, outputs, body)
    buffers = [drawn(binding.type, 7 + binding.index) for binding in dispatch.bindings]
    for run in execute(compile_dispatch(dispatch, CompileOptions()), buffers, repeat=2, check=True).runs:
        np.testing.assert_array_equal(run[2], buffers[0] + buffers[1])
        np.testing.assert_array_equal(run[3], (buffers[0] - buffers[1]).T)


def test_the_index_of_a_loop() -> None:
    """out[i, j] = in[i, j] + 100 * i + j, over several tiles."""
    hundred = ScalarOp("arith.constant", (), "index", {"value": (100).to_bytes(8, "little")})
    ops = (
        ScalarOp("linalg.index", (), "index", {"dim": 0}),  # 2
        ScalarOp("linalg.index", (), "index", {"dim": 1}),  # 3
        hundred,  # 4
        ScalarOp("arith.muli", (2, 4), "index"),  # 5
        ScalarOp("arith.addi", (5, 3), "index"),  # 6
        ScalarOp("arith.index_cast", (6,), "i32"),  # 7
        ScalarOp("arith.addi", (0, 7), "i32"),
    )
    body = ScalarBody(("i32", "i32"), ops, (8,))
    dispatch = generic((150, 97), [Operand("i32", (0, 1))], [Operand("i32", (0, 1))], body)
    buffers = [drawn(binding.type, 11) for binding in dispatch.bindings]
    want = buffers[0] + (100 * np.arange(150)[:, None] + np.arange(97)).astype(np.int32)
    for run in execute(compile_dispatch(dispatch, CompileOptions()), buffers, repeat=2, check=True).runs:
        np.testing.assert_array_equal(run[1], want)


@pytest.mark.parametrize("element", ["i8", "i16", "i32"])
@pytest.mark.parametrize("place", [(1, 2), (0, 0), (3, 1)], ids=str)
def test_a_copy_into_a_part_leaves_what_is_around_it(place: tuple[int, int], element: str) -> None:
    """IREE's slow_memcpy: tensor.pad and insert_slice become this."""
    builder = DispatchBuilder()
    source = builder.operand(7, 9, element=element)
    builder.binding(11, 13, element=element, access=Access.READ_WRITE)
    attributes = {"binding": 1, "offsets": place, "sizes": (7, 9), "strides": (1, 1)}
    builder.op("iree_tensor_ext.dispatch.tensor.store", (source,), None, None, **attributes)
    dispatch = builder.done()
    buffers = [drawn(binding.type, 13 + binding.index) for binding in dispatch.bindings]
    want = buffers[1].copy()
    want[place[0] : place[0] + 7, place[1] : place[1] + 9] = buffers[0]
    for run in execute(compile_dispatch(dispatch, CompileOptions()), buffers, repeat=2, check=True).runs:
        np.testing.assert_array_equal(run[1], want)


# --------------------------------------------------------------------------- reductions


def reduction(size: tuple[int, int], element: str, name: str, along: int, start: int) -> Dispatch:
    builder = DispatchBuilder()
    source = builder.operand(*size, element=element)
    kept = 1 - along
    target = builder.binding(size[kept], element=element, access=Access.WRITE)
    body = ScalarBody((element, element), (ScalarOp(name, (0, 1), element),), (2,))
    maps = (projected(2, 0, 1), projected(2, kept))
    iterators = ("reduction", "parallel") if along == 0 else ("parallel", "reduction")
    begin = builder.filled(start, size[kept], element=element)
    structured = Structured(1, maps, iterators, size, body)
    value = builder.op("linalg.generic", (source, begin), TensorType((size[kept],), element), structured)
    builder.store(value, target)
    return builder.done()


@pytest.mark.parametrize("along", [0, 1])
@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("size", [(1, 1), (13, 37), (96, 128), (3, 2049)], ids=str)
@pytest.mark.parametrize("name", ["arith.addi", "arith.maxsi", "arith.minui"])
def test_reductions_of_integers(name: str, size: tuple[int, int], element: str, along: int) -> None:
    dispatch = reduction(size, element, name, along, 5)
    buffers = [drawn(binding.type, 17 + binding.index) for binding in dispatch.bindings]
    dtype = buffers[0].dtype
    if name == "arith.addi":
        want = (buffers[0].sum(axis=along, dtype=dtype) + np.array(5, dtype)).astype(dtype)
    elif name == "arith.maxsi":
        want = np.maximum(buffers[0].max(axis=along), np.array(5, dtype))
    else:
        unsigned = np.dtype(f"u{dtype.itemsize}")
        want = np.minimum(buffers[0].view(unsigned).min(axis=along), np.array(5, unsigned)).view(dtype)
    for run in execute(compile_dispatch(dispatch, CompileOptions()), buffers, repeat=2, check=True).runs:
        np.testing.assert_array_equal(run[1], want)


@pytest.mark.parametrize("along", [0, 1])
def test_a_float_sum_in_order(along: int) -> None:
    """Added one after the other, each sum rounded: numpy's cumsum does so, too."""
    dispatch = reduction((21, 33), "f32", "arith.addf", along, 0)
    values = np.random.default_rng(19).standard_normal((21, 33)).astype(np.float32)
    buffers = [values, np.zeros(dispatch.bindings[1].type.shape, np.float32)]
    want = np.take(np.cumsum(values, axis=along, dtype=np.float32), -1, axis=along)
    for run in execute(compile_dispatch(dispatch, CompileOptions()), buffers, repeat=2, check=True).runs:
        assert_same(run[1], want)


def test_a_window_of_three_with_an_index_of_two_loops() -> None:
    """out[i] = in[i] + in[i + 1] + in[i + 2]"""
    builder = DispatchBuilder()
    source = builder.operand(40)
    target = builder.binding(38, access=Access.WRITE)
    body = ScalarBody(("i32", "i32"), (ScalarOp("arith.addi", (0, 1), "i32"),), (2,))
    maps = ((AffineResult((1, 1)),), projected(2, 0))
    structured = Structured(1, maps, ("parallel", "reduction"), (38, 3), body)
    begin = builder.filled(0, 38)
    builder.store(builder.op("linalg.generic", (source, begin), target.type, structured), target)
    dispatch = builder.done()
    buffers = [drawn(binding.type, 23) for binding in dispatch.bindings]
    want = buffers[0][:-2] + buffers[0][1:-1] + buffers[0][2:]
    for run in execute(compile_dispatch(dispatch, CompileOptions()), buffers, repeat=2, check=True).runs:
        np.testing.assert_array_equal(run[1], want)


# --------------------------------------------------------------------------- any expression

TREE_OPS = (*INTEGER_OPS, "arith.cmpi", "arith.select", "arith.extend")
WIDTHS = ("i8", "i16", "i32")


@st.composite
def bodies(draw: st.DrawFn) -> ScalarBody:
    """A random body over three arguments of random widths, and one result."""
    elements = [draw(st.sampled_from(WIDTHS)) for _ in range(3)]
    kinds = [*elements, draw(st.sampled_from(WIDTHS))]
    ops: list[ScalarOp] = []
    for _ in range(draw(st.integers(1, 14))):
        element = draw(st.sampled_from([kind for kind in kinds if kind != "i1"]))
        alike = [n for n, kind in enumerate(kinds) if kind == element and n != 3]
        truths = [n for n, kind in enumerate(kinds) if kind == "i1"]
        name = draw(st.sampled_from(TREE_OPS))
        if not alike:
            continue
        pair = (draw(st.sampled_from(alike)), draw(st.sampled_from(alike)))
        if name == "arith.cmpi":
            predicate = draw(st.sampled_from(("eq", "slt", "uge", "sgt")))
            ops.append(ScalarOp(name, pair, "i1", {"predicate": predicate}))
        elif name == "arith.select" and truths:
            ops.append(ScalarOp(name, (draw(st.sampled_from(truths)), *pair), element))
        elif name == "arith.extend" and element != "i32":
            wider = draw(st.sampled_from(WIDTHS[WIDTHS.index(element) + 1 :]))
            ops.append(ScalarOp(draw(st.sampled_from(("arith.extsi", "arith.extui"))), pair[:1], wider))
        elif name in INTEGER_OPS:
            ops.append(ScalarOp(name, pair, element))
        else:
            continue
        kinds.append(ops[-1].element)
    last = max((n for n, kind in enumerate(kinds) if kind != "i1" and n != 3), default=0)
    return ScalarBody((*elements, kinds[last]), tuple(ops), (last,))


@settings(max_examples=25, deadline=None)
@given(bodies(), st.integers(1, 90), st.integers(0, 2**31))
def test_any_expression(body: ScalarBody, size: int, seed: int) -> None:
    inputs = [Operand(element, (0,)) for element in body.arguments[:3]]
    dispatch = generic((size,), inputs, [Operand(body.arguments[3], (0,))], body)
    buffers = [drawn(binding.type, seed + binding.index) for binding in dispatch.bindings]
    want = expected(body, buffers)
    found = execute(compile_dispatch(dispatch, CompileOptions()), buffers, check=True)
    np.testing.assert_array_equal(found.runs[0][3], want)


# --------------------------------------------------------------------------- what is refused


def test_an_unknown_op_is_named_with_its_place_and_what_can_be_lowered() -> None:
    op = ScalarOp("math.exp", (0,), "f32")
    with pytest.raises(UnsupportedOp, match=r"math\.exp") as found:
        compile_dispatch(elementwise("f32", (8,), op, operands=1), CompileOptions())
    assert str(found.value.location) == "test.mlir:7:3"
    assert "arith.addf" in str(found.value.remedy)
