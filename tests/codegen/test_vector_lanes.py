"""Bodies in vector code: each lane is what the graph of words means, in Python, for that lane's words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe.codegen.expressions import softfloat
from aiepipe.codegen.expressions.bodies import BodyGraph, evaluated
from aiepipe.codegen.expressions.words import Graph, signed
from aiepipe.codegen.stage_registers import Pool
from aiepipe.codegen.vector_lanes import (
    ALL_LANES,
    CROSS_PRODUCTS,
    HIGH_HALVES,
    LOW_HALVES,
    LOW_PRODUCTS,
    SHIFT_REGISTERS,
    LanesBody,
    LanesCode,
    Settings,
    lanes_body,
)
from aiepipe.isa.assembler import BundleStatement, Label, Statement, assemble
from tests.emulator.core.bench import Bench

LANES = 16
SETTINGS = Settings("r0", "r1", "s0", "r4", "r5", "r6", "r7", "r3")
BINARY = ("add", "sub", "mul", "and", "or", "xor", "lt", "ltu", "ge", "geu", "eq", "ne")
UNARY = ("extend.s8", "extend.u8", "extend.s16", "extend.u16")
EDGES = (0, 1, -1, 2, 127, 128, -128, 255, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 2**31 - 1, -(2**31))

words = st.one_of(st.sampled_from(EDGES), st.integers(-(2**31), 2**31 - 1))


@st.composite
def graphs(draw: st.DrawFn) -> BodyGraph:
    """Two inputs and up to ten operations on them, on constants and on one another."""
    graph = Graph()
    nodes = [graph.input(0), graph.input(1), *(graph.constant(draw(words)) for _ in range(2))]
    amounts = draw(st.lists(st.integers(-31, 31), min_size=3, max_size=3))
    for _ in range(draw(st.integers(1, 10))):
        pick = st.sampled_from(nodes)
        kind = draw(st.sampled_from(("binary", "unary", "shift", "select")))
        if kind == "binary":
            node = graph.op(draw(st.sampled_from(BINARY)), draw(pick), draw(pick))
        elif kind == "unary":
            node = graph.op(draw(st.sampled_from(UNARY)), draw(pick))
        elif kind == "shift":
            by = graph.constant(draw(st.sampled_from(amounts)))
            node = graph.op(draw(st.sampled_from(("lshl", "ashl"))), draw(pick), by)
        else:
            node = graph.select(draw(pick), draw(pick), draw(pick))
        nodes.append(node)
    return BodyGraph(graph, ((0, 0), (1, 0)), (), ((nodes[-1],),))


def vectors_of(body: LanesBody, columns: list[list[int]], in_vectors: int) -> list[int]:
    """What the code leaves in the result's lanes: constants beyond `in_vectors` are in scalar registers, and
    beyond eight of those nowhere."""
    constants = dict(zip(body.constants[:in_vectors], ("x10", "x11"), strict=False))
    scalars = {
        value: f"r{24 + n}" for n, value in enumerate(body.constants[len(constants) :]) if n < 2
    }  # few, so that the rest is made on the spot
    code = LanesCode(
        body,
        "op",
        Pool(tuple(f"x{n}" for n in range(10)), "vectors"),
        Pool(tuple(f"r{n}" for n in range(16, 24)), "truths"),
        Pool(tuple(map(str, range(8))), "accumulators"),
        constants,
        scalars,
        {},
        SETTINGS,
    )
    names = [code.vectors.take() for _ in body.inputs]
    statements, result = code.emit(dict(zip(body.inputs.values(), names, strict=True)))
    image = assemble([*statements, Label("end"), *[BundleStatement((), "")] * 10, Statement("done", "")])
    registers = {
        SETTINGS.all_lanes: ALL_LANES,
        SETTINGS.low_halves: LOW_HALVES,
        SETTINGS.high_halves: HIGH_HALVES,
        SETTINGS.cross_products: CROSS_PRODUCTS,
        SETTINGS.low_products: LOW_PRODUCTS,
        **dict(zip(SHIFT_REGISTERS, body.shifts, strict=False)),
        **{register: _number([value] * LANES) for value, register in constants.items()},
        **{register: value for value, register in scalars.items()},
        **{name: _number(columns[number]) for name, number in zip(names, body.inputs, strict=True)},
        "crSRSSign": 1,
        "crUPSSign": 1,
    }
    bench = Bench(image.code, "plain").set(registers)
    bench.core.run(10_000)
    value = bench[result]
    return [signed(value >> 32 * lane) for lane in range(LANES)]


def _number(lanes: list[int]) -> int:
    return sum((value & 0xFFFFFFFF) << 32 * lane for lane, value in enumerate(lanes))


@settings(max_examples=40, deadline=None)
@given(body=graphs(), data=st.data(), in_vectors=st.integers(0, 2))
def test_each_lane_is_what_the_graph_means(body: BodyGraph, data: st.DataObject, in_vectors: int) -> None:
    lanes = lanes_body(body, "i32")
    if lanes is None:  # folded to a constant
        assert body.graph.nodes[body.results[0][0]].op == "const" or len(_amounts(body)) > 3
        return
    columns = data.draw(st.lists(st.lists(words, min_size=LANES, max_size=LANES), min_size=2, max_size=2))
    found = vectors_of(lanes, columns, in_vectors)
    assert found == [evaluated(body, [columns[0][n], columns[1][n]])[0][0] for n in range(LANES)]


def _amounts(body: BodyGraph) -> set[int | None]:
    nodes = body.graph.nodes
    return {body.graph.value(node.operands[1]) for node in nodes if node.op in ("lshl", "ashl")}


@pytest.mark.parametrize("op", ["clz"])
def test_what_vectors_cannot_is_left_to_scalar_code(op: str) -> None:
    graph = Graph()
    result = graph.op(op, graph.input(0))
    assert lanes_body(BodyGraph(graph, ((0, 0),), (), ((result,),)), "i32") is None
    shifted = graph.op("lshl", graph.input(0), graph.input(1))
    assert lanes_body(BodyGraph(graph, ((0, 0), (1, 0)), (), ((shifted,),)), "i32") is None


def test_a_bf16_that_was_rounded_is_left_to_the_unit_that_rounds() -> None:
    graph = Graph()
    total = graph.add(graph.input(0), graph.input(1))
    stored = graph.right(softfloat.to_bfloat(graph, total), 16)
    found = lanes_body(BodyGraph(graph, ((0, 0), (1, 0)), (), ((stored,),)), "bf16")
    assert found is not None
    assert (found.rounds, found.result, found.order) == (True, total, (total,))
    cut = graph.right(total, 16)  # not rounded: the bits as they are
    found = lanes_body(BodyGraph(graph, ((0, 0), (1, 0)), (), ((cut,),)), "bf16")
    assert found is not None
    assert (found.rounds, found.result) == (False, cut)


def test_rounding_of_numpys_bf16_is_the_units() -> None:
    """What the test above rests on: to_bfloat is numpy's conversion (ml_dtypes), infinities included."""
    generator = np.random.default_rng(3)
    values = generator.integers(0, 2**32, 2000, dtype=np.uint32)
    values[:6] = [0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x3F808000, 0x3F818000]
    graph = Graph()
    stored = graph.right(softfloat.to_bfloat(graph, graph.input(0)), 16)
    body = BodyGraph(graph, ((0, 0),), (), ((stored,),))
    from aiepipe import dtypes  # noqa: PLC0415  (ml_dtypes is slow to import)

    floats = values.view(np.float32)
    with np.errstate(invalid="ignore"):
        wanted = floats.astype(dtypes.numpy_dtype("bf16")).view(np.uint16)
    found = [evaluated(body, [int(v)])[0][0] & 0xFFFF for v in values]
    numbers = ~np.isnan(floats)
    assert np.array_equal(np.array(found, np.uint16)[numbers], wanted[numbers])
