"""Bodies as words, evaluated in Python, against numpy: what no scheduling or register can be at fault for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiepipe.codegen.expressions.bodies import body_graph, evaluated
from aiepipe.codegen.expressions.typed import Inexpressible
from aiepipe.program import ScalarBody, ScalarOp

Words = list[int]

BINARY = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
}
# zeros, infinities, NaN, the smallest and largest subnormal and normal numbers, ties
SPECIAL = [
    0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001, 0x80000001, 0x007FFFFF,
    0x00800000, 0x7F7FFFFF, 0x3F800000, 0xBF800000, 0x3F800001, 0x4B800001, 0x33800000, 0x00400000,
]  # fmt: skip

PATTERN = st.integers(0, 2**32 - 1)


def apply(op: ScalarOp, elements: tuple[str, ...], words: Words) -> list[int]:
    body = ScalarBody((*elements, op.element), (op,), (len(elements) + 1,))
    return evaluated(body_graph(body), [*words, 0, 0])[0]


def as_float(word: int) -> np.float32:
    return np.float32(np.array([word & 0xFFFFFFFF], np.uint32).view(np.float32)[0])


def bits_of(value: Any) -> int:
    return int(np.float32(value).view(np.uint32))


def same(word: int, want: np.float32) -> bool:
    return bool(np.isnan(as_float(word))) if np.isnan(want) else word & 0xFFFFFFFF == bits_of(want)


@pytest.mark.parametrize("name", sorted(BINARY))
def test_f32_special_numbers_as_ieee_has_them(name: str) -> None:
    with np.errstate(all="ignore"):
        for x in SPECIAL:
            for y in SPECIAL:
                found = apply(ScalarOp(name, (0, 1), "f32"), ("f32", "f32"), [x, y])
                assert same(found[0], BINARY[name](as_float(x), as_float(y))), (hex(x), hex(y))


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(BINARY)), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(-2, 2)
)
def test_f32_arithmetic_is_correctly_rounded(name: str, x: int, y: int, near: int) -> None:
    """numpy's float32 is the machine's IEEE arithmetic. Also for operands that nearly cancel."""
    op = ScalarOp(name, (0, 1), "f32")
    with np.errstate(all="ignore"):
        for other in (y, (x ^ 0x80000000) + near & 0xFFFFFFFF):
            want = BINARY[name](as_float(x), as_float(other))
            assert same(apply(op, ("f32", "f32"), [x, other])[0], want), (hex(x), hex(other))


@settings(max_examples=200, deadline=None)
@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1))
def test_conversions_of_f32(number: int, pattern: int) -> None:
    found = apply(ScalarOp("arith.sitofp", (0,), "f32"), ("i32",), [number])
    assert same(found[0], np.float32(number))
    found = apply(ScalarOp("arith.uitofp", (0,), "f32"), ("i32",), [number])
    assert same(found[0], np.float32(number & 0xFFFFFFFF))
    value = as_float(pattern)
    if abs(value) < 2**31:
        assert apply(ScalarOp("arith.fptosi", (0,), "i32"), ("f32",), [pattern]) == [int(value)]


def half_away(x: np.float32) -> np.float32:
    """Exact in float64: halves of float32 have room there."""
    return np.copysign(np.float32(np.floor(np.abs(np.float64(x)) + 0.5)), x)


WHOLE = {
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
    "math.round": half_away,
}
# 0.5 and 1 with their neighbours, halves, 2**22 + 0.5, 2**23 - 0.5, 2**23 + 1, and many like them
TIES = [0x3EFFFFFF, 0x3F000000, 0x3F000001, 0x3F7FFFFF, 0x3FC00000, 0x40200000, 0x4A800001, 0x4AFFFFFF]
NEAR_HALVES = st.integers(-(2**24), 2**24).filter(bool)


@pytest.mark.parametrize("name", sorted(WHOLE))
@settings(max_examples=300, deadline=None)
@given(st.sampled_from([*SPECIAL, *TIES]) | PATTERN, NEAR_HALVES, st.integers(-1, 1))
def test_whole_numbers_with_their_signs(name: str, x: int, halves: int, near: int) -> None:
    with np.errstate(all="ignore"):
        for word in (x, bits_of(halves / 2) + near):
            found = apply(ScalarOp(name, (0,), "f32"), ("f32",), [word])
            assert same(found[0], WHOLE[name](as_float(word))), hex(word)


@given(PATTERN)
def test_bitcasts_keep_all_bits(pattern: int) -> None:
    """Of signalling NaN, too."""
    (word,) = apply(ScalarOp("arith.bitcast", (0,), "i32"), ("f32",), [pattern])
    assert word & 0xFFFFFFFF == pattern
    (word,) = apply(ScalarOp("arith.bitcast", (0,), "i16"), ("bf16",), [pattern & 0xFFFF])
    assert word & 0xFFFF == pattern & 0xFFFF


I32 = st.integers(-(2**31), 2**31 - 1)


@settings(max_examples=200, deadline=None)
@given(I32, I32, st.sampled_from((8, 16, 32)))
def test_divisions(x: int, y: int, bits: int) -> None:
    """Python's, which round down: exact quotients tell which way to correct."""
    x, y = (value >> (32 - bits) for value in (x, y))
    element, mask = f"i{bits}", (1 << bits) - 1
    if y == 0 or (y == -1 and x == -(1 << (bits - 1))):
        return
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    for name, want in (
        ("arith.divsi", quotient),
        ("arith.remsi", x - quotient * y),
        ("arith.floordivsi", x // y),
        ("arith.ceildivsi", -(-x // y)),
        ("arith.divui", (x & mask) // (y & mask)),
        ("arith.remui", (x & mask) % (y & mask)),
    ):
        (word,) = apply(ScalarOp(name, (0, 1), element), (element, element), [x, y])
        assert word & mask == want & mask, name


U32 = st.integers(0, 2**32 - 1)


@settings(max_examples=100, deadline=None)
@given(U32, st.integers(1, 2**32 - 1) | st.integers(1, 40))
def test_divisions_in_64_bits_of_what_fits_into_32(x: int, y: int) -> None:
    """As of indices: their upper words are known to be 0, here by an extension."""
    for name, want in (
        ("arith.divsi", x // y),
        ("arith.divui", x // y),
        ("arith.remsi", x % y),
        ("arith.remui", x % y),
        ("arith.floordivsi", x // y),
        ("arith.ceildivsi", -(-x // y)),
    ):
        ops = (
            ScalarOp("arith.extui", (0,), "i64"),
            ScalarOp("arith.extui", (1,), "i64"),
            ScalarOp(name, (3, 4), "i64"),
        )
        low, high = evaluated(body_graph(ScalarBody(("i32", "i32", "i64"), ops, (5,))), [x, y, 0, 0])[0]
        assert (low & 0xFFFFFFFF, high) == (want, 0), name


I64 = st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=300, deadline=None)
@given(I64, I64, st.integers(0, 63))
def test_i64_is_two_words(x: int, y: int, amount: int) -> None:
    """Python's integers modulo 2**64 say what is right."""
    unsigned = x & (2**64 - 1)
    for name, other, want in (
        ("arith.addi", y, x + y),
        ("arith.subi", y, x - y),
        ("arith.muli", y, x * y),
        ("arith.xori", y, x ^ y),
        ("arith.maxsi", y, max(x, y)),
        ("arith.minui", y, min(unsigned, y & (2**64 - 1))),
        ("arith.shli", amount, x << amount),
        ("arith.shrsi", amount, x >> amount),
        ("arith.shrui", amount, unsigned >> amount),
    ):
        words = [x & 0xFFFFFFFF, x >> 32, other & 0xFFFFFFFF, other >> 32]
        low, high = apply(ScalarOp(name, (0, 1), "i64"), ("i64", "i64"), words)
        assert (low & 0xFFFFFFFF) + ((high & 0xFFFFFFFF) << 32) == want & (2**64 - 1), name


def test_an_op_that_is_not_lowered_is_named() -> None:
    with pytest.raises(Inexpressible, match=r"math\.exp is not lowered"):
        apply(ScalarOp("math.exp", (0,), "f32"), ("f32",), [0])
    with pytest.raises(Inexpressible, match=r"type f16"):
        apply(ScalarOp("arith.addf", (0, 1), "f16"), ("f16", "f16"), [0, 0])


def test_constants_are_folded_and_equal_nodes_shared() -> None:
    three = ScalarOp("arith.constant", (), "i32", {"value": (3).to_bytes(4, "little")})
    ops = (
        three,  # 2
        ScalarOp("arith.muli", (2, 2), "i32"),  # 3: nine
        ScalarOp("arith.addi", (0, 3), "i32"),  # 4
        ScalarOp("arith.addi", (3, 0), "i32"),  # 5: the same
        ScalarOp("arith.subi", (4, 5), "i32"),
    )
    graph = body_graph(ScalarBody(("i32", "i32"), ops, (6,))).graph
    assert [node.op for node in graph.nodes].count("add") == 1
    assert any(node.op == "const" and node.value == 9 for node in graph.nodes)
